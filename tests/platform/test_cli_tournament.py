"""`rung tournament`, `ladders`, `rank` and `verify` as people use them."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from pathlib import Path

import pexpect
import pytest

from tests.conftest import RUNG, Run

CUP = """
game = "connect_four"
agents = ["random", "first", "mcts(iterations=200)"]
[stop]
matches = 60
"""


@pytest.fixture
def cup(tmp_path: Path) -> Path:
    file = tmp_path / "cup.toml"
    file.write_text(CUP)
    return file


def test_a_tournament_from_its_file_to_its_ranking(rung: Run, cup: Path) -> None:
    done = rung("tournament", "cup.toml", "--address", "serial")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("cup: 3 agents, connect_four; results in rung.db.")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["rank", "agent", "rating", "95", "%", "interval", "wins", "draws", "losses"]
    assert "mcts(iterations=200)" in lines[1]
    assert "●" in lines[1]
    assert lines[4].startswith("60 matches; 3 pairs: ")
    assert lines[5].startswith("The budget is used up: 60 matches are played")
    assert max(map(len, lines)) <= 80

    listed = json.loads(rung("ladders", "--json").stdout)
    assert [(row["name"], row["state"], row["finished"], row["agents"]) for row in listed] == [("cup", "ended", 60, 3)]
    assert "cup" in rung("ladders").stdout

    ranked = json.loads(rung("rank", "cup", "--json").stdout)
    assert ranked["matches"] == 60
    assert ranked["standings"][0]["name"] == "mcts(iterations=200)"
    assert sum(row["matches"] for row in ranked["standings"]) == 120
    table = list(csv.DictReader(io.StringIO(rung("rank", "cup", "--csv").stdout)))
    assert [float(row["rating"]) for row in table] == [row["rating"] for row in ranked["standings"]]
    assert rung("rank", "cup").stdout.splitlines()[1:4] == lines[1:4]

    assert rung("verify", "cup").stdout == "cup: 60 matches, and every rating follows from them.\n"
    with sqlite3.connect(cup.parent / "rung.db") as database:
        database.execute("update ratings set rating = rating + 1e-9 where agent = 1")
    broken = rung("verify", "cup")
    assert broken.returncode == 1
    assert "the rating of agent 1 is " in broken.stderr


def test_resuming_with_a_larger_budget(rung: Run, cup: Path) -> None:
    assert rung("tournament", "cup.toml", "--address", "serial").returncode == 0
    again = rung("tournament", "cup.toml", "--address", "serial")
    assert again.returncode == 2
    assert "There is a tournament called cup in rung.db already: --resume goes on with it" in again.stderr
    cup.write_text(CUP.replace("60", "90"))
    more = rung("tournament", "cup.toml", "--address", "serial", "--resume")
    assert more.returncode == 0, more.stderr
    assert "90 matches; " in more.stdout
    cup.write_text(CUP.replace("first", "osla"))
    other = rung("tournament", "cup.toml", "--address", "serial", "--resume")
    assert other.returncode == 2
    assert "only what is under [stop] may change" in other.stderr
    assert rung("verify", "cup").returncode == 0


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("tournament none.toml", "The tournament file none.toml cannot be read: No such file or directory."),
        ("tournament cup.toml --address nowhere", "'nowhere' is no address of a runner"),
        ("tournament cup.toml --address serial --resume", "There is no tournament called cup in rung.db to resume"),
        ("tournament cup.toml --workers 0", "greater than or equal to 1"),
        ("tournament cup.toml --db nowhere/rung.db --address serial", "nowhere"),
        ("rank cup", "There is no database rung.db"),
        ("verify cup --db nothing.db", "There is no database nothing.db"),
        ("rank cup --json --csv", "Give --json or --csv, not both."),
    ],
)
def test_mistakes_are_one_sentence(rung: Run, cup: Path, command: str, complaint: str) -> None:
    done = rung(*command.split())
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") <= 2


def test_unknown_ladders_are_named_with_the_nearest(rung: Run, cup: Path) -> None:
    assert rung("tournament", "cup.toml", "--address", "serial").returncode == 0
    assert "There is no ladder called 'cpu'. Did you mean cup?" in rung("rank", "cpu").stderr


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_keeps_what_was_played(rung: Run, cup: Path, times: int) -> None:
    cup.write_text('game = "hex"\nagents = ["mcts(iterations=2000)", "mcts(iterations=2001)"]\n')
    child = pexpect.spawn(
        str(RUNG), ["tournament", "cup.toml", "--address", "pool"], cwd=str(cup.parent), encoding="utf-8", timeout=60
    )
    child.expect(r"[1-9]\d*(\x1b\[0m)? matches, ")
    child.sendintr()
    child.expect("Finishing the matches that are running")
    if times == 2:
        child.sendintr()
    child.expect(r"Stopped by Ctrl-C; --resume goes on\.")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert "Traceback" not in (child.before or "")
    (row,) = json.loads(rung("ladders", "--json").stdout)
    assert row["state"] == "active"
    assert row["claimed"] == 0
    assert row["finished"] > 0
    assert rung("verify", "cup").returncode == 0
