"""The game that docs/adding-a-game.md builds works as it stands on the page."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rung.games.kernel import SIGNATURES

Blocks = Callable[[str, str], list[str]]
Install = Callable[..., Path]
Run = Callable[..., subprocess.CompletedProcess[str]]

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/adding-a-game.md"
KERNELS_OF_CLASS = "kernels = Kernels("


@pytest.fixture(scope="module")
def project(install: Install) -> Path:
    return install(PAGE)


@pytest.fixture
def checking(blocks: Blocks) -> str:
    return next(block for block in blocks(PAGE, "python") if "import check" in block)


@pytest.fixture
def with_playout(blocks: Blocks) -> str:
    """The game with the page's playout kernel, put in as the page says."""
    game = blocks(PAGE, "python")[0]
    playout = next(block for block in blocks(PAGE, "python") if "def playout" in block)
    page = (ROOT / PAGE).read_text()
    importing = "from rung.games.rng import below"
    naming = "playout=playout"
    assert f"`{importing}` at the top and `{naming}` in" in page
    assert game.count(KERNELS_OF_CLASS) == 1
    before, class_line, after = game.partition("class TicTacToe")
    before = before.replace("from rung.jit import jit", f"{importing}\nfrom rung.jit import jit")
    after = after.replace(KERNELS_OF_CLASS, f"{KERNELS_OF_CLASS}{naming}, ")
    return f"{before}{playout}\n\n{class_line}{after}"


def test_keeps_the_contract(project: Path, checking: str, run: Run, tmp_path: Path) -> None:
    done = run(["python", "-c", checking], tmp_path, project)
    assert done.returncode == 0, done.stderr


def test_plays_as_any_other_game(project: Path, run: Run, tmp_path: Path) -> None:
    done = run(["rung", "play", "tic_tac_toe", "mcts", "random", "--matches", "20", "--json"], tmp_path, project)
    assert done.returncode == 0, done.stderr
    series = json.loads(done.stdout)
    assert (series["played"], series["voids"]) == (20, 0)
    assert [agent["forfeits"] for agent in series["agents"]] == [0, 0]
    assert series["agents"][0]["rate"]["mean"] > 0.8


def test_describes_itself(project: Path, run: Run, tmp_path: Path) -> None:
    done = run(["rung", "games", "tic_tac_toe", "--json"], tmp_path, project)
    assert done.returncode == 0, done.stderr
    described = json.loads(done.stdout)
    assert (described["seat_names"], described["longest_match"]) == (["X", "O"], 9)
    assert [parameter["name"] for parameter in described["parameters"]] == ["misere"]


def test_playout_has_the_same_chances(
    with_playout: str, checking: str, install: Install, run: Run, tmp_path: Path
) -> None:
    project = install(PAGE, with_playout)
    there = "assert game.kernels.playout is not None"
    done = run(["python", "-c", f"{checking}\n{there}\n"], tmp_path, project)
    assert done.returncode == 0, done.stderr


def test_a_wrong_playout_is_found(with_playout: str, checking: str, install: Install, run: Run, tmp_path: Path) -> None:
    """What the page promises of `check`: a playout that never takes the last empty square is not the same."""
    right, wrong = "below(rng, SQUARES - state[MOVES])", "below(rng, max(1, SQUARES - state[MOVES] - 1))"
    assert right in with_playout
    done = run(["python", "-c", checking], tmp_path, install(PAGE, with_playout.replace(right, wrong)))
    assert "Broken: tic_tac_toe: playout is off" in done.stderr


def test_kernels_are_written_with_their_arguments(blocks: Blocks) -> None:
    written = {}
    for block in blocks(PAGE, "python"):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.FunctionDef) and any(ast.unparse(mark) == "kernel" for mark in node.decorator_list):
                written[node.name] = len(node.args.args)
    assert written == {name: len(SIGNATURES[name].args) for name in written}
    assert {"setup", "turn", "legal", "apply", "payoff", "odds", "playout"} <= set(written)


@pytest.mark.parametrize("name", SIGNATURES)
def test_every_kernel_is_explained(name: str, blocks: Blocks) -> None:
    page = (ROOT / PAGE).read_text()
    calls = re.findall(rf"`{name}\(([^)]*)\)`", page) + re.findall(rf"^def {name}\(([^)]*)\)", page, re.MULTILINE)
    assert calls
    assert {len(call.split(", ")) for call in calls} == {len(SIGNATURES[name].args)}


def test_the_game_that_hides_is_rungs_own(blocks: Blocks) -> None:
    shown = next(block for block in blocks(PAGE, "python") if "def determinize" in block)
    assert shown.strip() in (ROOT / "rung/games/rock_paper_scissors.py").read_text()
