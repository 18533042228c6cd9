"""The shell as people use it: in a process, with pipes, a terminal and mistakes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pexpect
import pytest

from rung.agents import AGENTS
from rung.games import GAMES
from rung.platform.recording import read
from tests.conftest import RUNG, Run, write_package

SERIES = ("play", "connect_four", "random", "first", "--matches", "20")

SUICIDE = """
import os
from rung.agents.agent import Agent

class Suicide(Agent):
    name, summary = "suicide", "Ends its process."

    def act(self, view):
        os._exit(9)

class Stumbles(Agent):
    name, summary = "stumbles", "Plays an illegal action."

    def act(self, view):
        return -7
"""


def without_compiling(said: str) -> list[str]:
    """The lines but for the one that says, on a new machine, that something is compiled."""
    return [line for line in said.splitlines() if not line.startswith("Compiling ")]


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("plya", "No such command 'plya'. Did you mean 'play'"),
        ("--bogus", "No such option: --bogus"),
        ("play", "Missing argument 'game'"),
        ("play connect_four", "Missing argument 'agents"),
        ("play conect_four random random", "There is no game called 'conect_four'. Did you mean connect_four?"),
        ("play Conect_Four random random", "Did you mean connect_four?"),
        ("play hex(size=20) random random", "size must be a whole number from 2 to 19, not 20"),
        ("play hex( random random", "A game is written like name or name(parameter=value)"),
        ("play connect_four random mtcs", "There is no agent called 'mtcs'. Did you mean mcts?"),
        ("play connect_four random mcts(iteration=5)", "Did you mean iterations?"),
        ("play connect_four random mcts(iterations=0)", "iterations must be a whole number from 1"),
        ("play connect_four random mcts(", "written like name or name(parameter=value)"),
        ("play connect_four random", "connect_four seats 2 agents, not 1"),
        ("play sushi_go random random random", "--set players=N takes a whole number from 2 to 5"),
        ("play rpg_battle random random", "rpg_battle seats 1 agent, not 2"),
        ("play hex random random --set size=20", "size must be a whole number from 2 to 19, not 20"),
        ("play hex random random --set sise=7", "Did you mean size?"),
        ("play hex random random --set size", "--set takes NAME=VALUE"),
        ("play hex random random --matches 0", "greater than or equal to 1"),
        ("play hex random random --matches 10000000", "less than or equal to 1000000"),
        ("play hex random random --workers 99999", "--workers takes at most"),
        ("play hex random random --clock=", "written like 60 or 60+0.5"),
        ("play hex random random --matches many", "Invalid value for '--matches'"),
        ("play hex random random --workers 0", "greater than or equal to 1"),
        ("play hex random random --clock 0", "written like 60 or 60+0.5"),
        ("play hex random random --match 5", "No such option: --match"),
        ("play hex random random --show --json", "--show is for people and --json for programs"),
        ("play hex random random --out no/such/folder", "cannot be written: name a file in a folder that exists"),
        ("play sushi_go mcts(reuse=True) random", "reuse must be False in sushi_go"),
        ("games hexx", "Did you mean hex?"),
        ("agents rnadom", "Did you mean random?"),
        ("replay nothing", "nothing cannot be read: No such file"),
        ("replay nothing --match 0", "greater than or equal to 1"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(command: str, complaint: str, rung: Run) -> None:
    done = rung(*command.split(" "))
    assert done.returncode == 2
    assert done.stdout == ""
    [sentence] = without_compiling(done.stderr)
    assert sentence.startswith("rung: ")
    assert complaint in sentence


def test_help_imports_nothing_heavy() -> None:
    command = [sys.executable, "-X", "importtime", str(RUNG), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "rung" in imported
    assert not imported & {"ray", "numba", "scipy", "numpy"}
    assert "Rung ranks game-playing agents" in done.stdout


@pytest.mark.parametrize("command", ["", "games", "agents", "play", "replay"])
def test_every_command_explains_itself(command: str, rung: Run) -> None:
    done = rung(*command.split(), "--help")
    assert done.returncode == 0
    assert "Usage: rung" in done.stdout
    assert "--help" in done.stdout


def test_the_bare_command_and_the_version(rung: Run) -> None:
    assert rung().stdout == rung("--help").stdout
    assert rung("--version").stdout.startswith("rung ")


@pytest.mark.parametrize(("kind", "registry"), [("games", GAMES), ("agents", AGENTS)])
def test_the_catalogue_names_everything(kind: str, registry: Any, rung: Run) -> None:
    listing = rung(kind).stdout
    documents = json.loads(rung(kind, "--json").stdout)
    assert [document["name"] for document in documents] == registry.names()
    for name in registry.names():
        assert name in listing
    name = "mcts" if kind == "agents" else "rpg_battle"
    described, document = rung(kind, name).stdout, json.loads(rung(kind, name, "--json").stdout)
    declared = registry.load(name).parameters
    assert [parameter["name"] for parameter in document["parameters"]] == [p.name for p in declared]
    for parameter in declared:
        assert parameter.name in described
        assert repr(parameter.default) in described


def test_a_series_ends_with_a_table(rung: Run) -> None:
    done = rung(*SERIES)
    assert done.returncode == 0
    heading, *rows, last = done.stdout.splitlines()
    assert heading.split() == ["agent", "wins", "draws", "losses", "rate", "(95", "%", "interval)", "forfeits"]
    assert [row.split()[0] for row in rows] == ["random", "first"]
    assert sum(int(row.split()[1]) for row in rows) == 20
    assert last.startswith("20 matches of connect_four, ")
    assert last.endswith(" moves/s")


def test_three_seats_have_mean_ranks(rung: Run) -> None:
    done = rung("play", "sushi_go", "first", "random", "osla", "--set", "players=3", "--matches", "6")
    assert "mean rank" in done.stdout.splitlines()[0]


def test_json_is_one_document_and_nothing_else_and_repeats_exactly(rung: Run) -> None:
    first, second, other = (
        rung(*SERIES, "--json", "--seed", seed, "--workers", workers)
        for seed, workers in (("3", "1"), ("3", "2"), ("4", "1"))
    )
    assert first.stderr == second.stderr == ""
    documents = [json.loads(done.stdout) for done in (first, second, other)]
    for document in documents:
        assert document["played"] == document["planned"] == len(document["matches"]) == 20
        assert document["stopped"] is None
        document.pop("seconds")
        for match in document["matches"]:
            assert len(match.pop("think_s")) == len(match["moves"])
    assert documents[0] == documents[1]
    assert documents[0]["matches"] != documents[2]["matches"]
    agent = documents[0]["agents"][0]
    assert agent["wins"] + agent["draws"] + agent["losses"] == 20
    assert agent["rate"]["low"] <= agent["rate"]["mean"] <= agent["rate"]["high"]


def test_paired_series_are_rounded_up_and_say_so(rung: Run) -> None:
    done = rung("play", "connect_four", "random", "first", "--matches", "3")
    assert "3 rounded up to 4 matches" in done.stderr
    alone = rung("play", "connect_four", "random", "first", "--matches", "3", "--no-paired")
    assert "3 matches of connect_four" in alone.stdout
    assert "rounded" not in alone.stderr


def test_show_shows_one_match_from_start_to_end(rung: Run) -> None:
    done = rung("play", "connect_four", "mcts(iterations=50)", "first", "--show")
    assert done.stdout.startswith("X: ")
    assert "simulations" in done.stdout
    assert "1 match of connect_four" in done.stdout


def test_a_recorded_series_can_be_replayed(rung: Run, tmp_path: Path) -> None:
    assert rung(*SERIES, "--out", "matches.jsonl").returncode == 0
    results = list(read(tmp_path / "matches.jsonl"))
    assert len(results) == 20
    done = rung("replay", "matches.jsonl", "--match", "3")
    assert done.returncode == 0
    assert done.stdout.startswith("1. X: ")
    assert f"\n{len(results[2].moves)}. " in done.stdout
    assert "(random), score" in done.stdout
    beyond = rung("replay", "matches.jsonl", "--match", "21")
    assert beyond.returncode == 2
    assert "holds 20 matches; there is no match 21" in beyond.stderr


def test_step_waits_for_enter_and_stops_at_q(rung: Run) -> None:
    rung(*SERIES, "--out", "matches.jsonl")
    done = rung("replay", "matches.jsonl", "--step", text="\n\nq\n")
    assert "\n3. X: " in done.stdout
    assert "\n4. O: " not in done.stdout
    assert done.returncode == 0


def test_a_damaged_file_is_named(rung: Run, tmp_path: Path) -> None:
    rung(*SERIES, "--out", "matches.jsonl")
    file = tmp_path / "matches.jsonl"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0], lines[1][:100], *lines[2:]]))
    done = rung("replay", "matches.jsonl")
    assert done.returncode == 2
    assert done.stderr == "rung: matches.jsonl, line 2: this is not a match as rung play --out writes it.\n"


@pytest.mark.parametrize("arguments", [("games",), ("agents", "mcts"), (*SERIES, "--show"), (*SERIES, "--json")])
def test_a_closed_pipe_is_no_traceback(arguments: tuple[str, ...]) -> None:
    with subprocess.Popen(
        [str(RUNG), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == 2
    assert without_compiling(said) == ["rung: The output was closed, or its disk is full, before it was all written."]


def test_without_an_output_a_sentence_is_all() -> None:
    done = subprocess.run(["sh", "-c", f'"{RUNG}" games >&-'], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "rung: There is no standard output to write to.\n")
    done = subprocess.run(["sh", "-c", f'"{RUNG}" nothing 2>&-'], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")


def test_a_terminal_that_knows_few_characters_gets_the_rest(rung: Run) -> None:
    done = subprocess.run(
        [str(RUNG), *SERIES],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.stdout.replace("?", "–").splitlines()[:3] == rung(*SERIES).stdout.splitlines()[:3]


def test_a_game_can_be_named_as_results_name_it(rung: Run) -> None:
    done = rung("play", "hex(size=3)", "random", "first", "--matches", "2")
    assert "2 matches of hex(size=3), " in done.stdout


def test_a_closed_pipe_loses_no_finished_match(rung: Run, tmp_path: Path) -> None:
    shell = f'"{RUNG}" {" ".join(SERIES)} --matches 2000 --show --out matches.jsonl | head -n 400 > /dev/null'
    subprocess.run(["sh", "-c", shell], cwd=tmp_path, check=True, capture_output=True)
    kept = list(read(tmp_path / "matches.jsonl"))
    assert 0 < len(kept) < 2000


@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_shows_what_was_played_so_far(workers: str, tmp_path: Path) -> None:
    command = [
        *SERIES[:3],
        "mcts(iterations=2000)",
        "--matches",
        "100000",
        "--workers",
        workers,
        "--out",
        "matches.jsonl",
    ]
    child = pexpect.spawn(str(RUNG), command, cwd=str(tmp_path), encoding="utf-8", timeout=100, dimensions=(24, 200))
    child.expect(r"random \d+\.\d% \(\d+%–\d+%\)")
    child.sendintr()
    child.expect(r"Stopped by Ctrl-C after (\d+) of 100000 matches; this is what they say\.")
    played = int(child.match.group(1))
    child.expect("rate .95 % interval")
    child.expect(rf"{played} match(es)? of connect_four")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert "Traceback" not in child.before
    assert len(list(read(tmp_path / "matches.jsonl"))) == played > 0
    assert [file.name for file in tmp_path.iterdir()] == ["matches.jsonl"]


def test_ctrl_c_while_stepping(rung: Run, tmp_path: Path) -> None:
    rung(*SERIES, "--out", "matches.jsonl")
    child = pexpect.spawn(
        str(RUNG), ["replay", "matches.jsonl", "--step"], cwd=str(tmp_path), encoding="utf-8", timeout=60
    )
    child.expect("1. X: ")
    child.sendintr()
    child.expect("rung: Stopped.")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130


@pytest.fixture
def outsiders(tmp_path: Path) -> Path:
    folder = tmp_path / "installed"
    folder.mkdir()
    points = {"suicide": "outsider_agents:Suicide", "stumbles": "outsider_agents:Stumbles"}
    write_package(folder, {"outsider_agents.py": SUICIDE}, {"rung.agents": points})
    return folder


def test_a_package_that_does_not_load_is_named_and_the_others_are_listed(rung: Run, tmp_path: Path) -> None:
    folder = tmp_path / "installed"
    folder.mkdir()
    write_package(folder, {}, {"rung.games": {"go": "not_there:Go"}})
    listing = rung("games", path=folder)
    assert listing.returncode == 0
    assert "connect_four" in listing.stdout
    assert listing.stderr == "rung: The game go (not_there:Go) cannot be loaded: No module named 'not_there'.\n"
    assert rung("games", "go", path=folder).returncode == 2


def test_a_forfeit_is_told_once_with_its_reason(rung: Run, outsiders: Path) -> None:
    done = rung("play", "connect_four", "random", "stumbles", "--matches", "10", path=outsiders)
    assert done.returncode == 0
    assert done.stderr.count("stumbles forfeited match 1 (illegal action): -7 is not legal at move 2.") == 1
    assert done.stdout.splitlines()[2].split()[-1] == "10"


def test_a_worker_that_dies_loses_no_finished_match(rung: Run, outsiders: Path) -> None:
    done = rung("play", "connect_four", "random", "suicide", "--matches", "10", "--workers", "2", path=outsiders)
    assert done.returncode == 1
    assert "A worker process died after 0 of 10 matches" in done.stderr
    assert "Traceback" not in done.stderr
