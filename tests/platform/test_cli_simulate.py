"""`rung simulate` as people use it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.conftest import RUNG, Run

SMALL = ("simulate", "normal", "--agents", "6", "--matches", "300", "--repetitions", "3")


def document(said: str) -> Any:
    """The document without what depends on the machine's speed."""
    found = json.loads(said)
    for rule in found["rules"]:
        del rule["cpu_us_per_match"]
    return found


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("simulate norml", "There is no world called 'norml'. Did you mean normal?"),
        ("simulate --rule gian", "There is no pairing rule called 'gian'. Did you mean gain?"),
        ("simulate --rule gain --rule gain", "Each --rule is to be given once."),
        ("simulate --agents 1", "greater than or equal to 2"),
        ("simulate --matches 0", "greater than or equal to 1"),
        ("simulate --settle 1.5", "The share of pairs to settle must be above 0 and at most 1, not 1.5."),
        ("simulate --settle nan", "not nan"),
        ("simulate --alpha 0", "alpha must be between 0 and 1, not 0.0."),
        ("simulate --margin -1", "The margin must be a number of at least 0 Elo, not -1.0."),
        ("simulate --plot settled.gif", "--plot writes .png, .svg or .pdf, not settled.gif."),
        ("simulate --plot nowhere/settled.png", "nowhere"),
    ],
)
def test_mistakes_are_one_sentence(rung: Run, command: str, complaint: str) -> None:
    done = rung(*command.split())
    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
    assert not done.stdout


def test_the_same_whatever_the_workers(rung: Run) -> None:
    one, two = (rung(*SMALL, "--rule", "gain", "--rule", "z", "--json", "--workers", workers) for workers in "12")
    assert one.returncode == two.returncode == 0, one.stderr + two.stderr
    assert document(one.stdout) == document(two.stdout)
    assert [rule["ladders"] for rule in document(one.stdout)["rules"]] == [3, 3]
    assert (
        document(rung(*SMALL, "--rule", "gain", "--json", "--seed", "9").stdout)["rules"]
        != document(one.stdout)["rules"][:1]
    )


def test_the_table_fits_80_columns_and_lists_every_rule(rung: Run) -> None:
    done = rung(*SMALL)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[:7]] == ["rule", "gain", "katago", "random", "round_robin", "swiss", "z"]
    assert max(len(line) for line in lines) <= 80
    assert "…" not in done.stdout


@pytest.mark.parametrize(("name", "magic"), [("p.png", b"\x89PNG"), ("p.svg", b"<?xml"), ("p.pdf", b"%PDF")])
def test_plots(rung: Run, tmp_path: Path, name: str, magic: bytes) -> None:
    done = rung(*SMALL, "--rule", "gain", "--plot", name)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / name).read_bytes().startswith(magic)


def test_ctrl_c_shows_what_was_simulated(tmp_path: Path) -> None:
    child = pexpect.spawn(
        str(RUNG), ["simulate", "normal", "--repetitions", "100000"], cwd=tmp_path, encoding="utf-8", timeout=120
    )
    child.expect(r"[1-9]\d*/600000")
    child.sendintr()
    child.expect(r"Stopped by Ctrl-C after \d+ of 600000 ladders; this is what they say.")
    child.expect("gain")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
