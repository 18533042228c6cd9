"""The compiled code's cache: used again by a new process, and never by changed rules."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from rung import jit

GAME = """
from rung.games.compiled import KernelGame, Shape
from rung.games.kernel import OVER, Cells, Kernels, Reals, Rng, kernel
from race.rules import step

@kernel
def setup(state: Cells, params: Cells, rng: Rng) -> None:
    state[0] = 0

@kernel
def turn(state: Cells) -> int:
    return OVER if state[0] >= 12 else 0

@kernel
def legal(state: Cells, out: Cells) -> int:
    out[0] = 0
    return 1

@kernel
def apply(state: Cells, action: int, rng: Rng) -> None:
    step(state)

@kernel
def payoff(state: Cells, out: Reals) -> None:
    out[0] = 1.0

class Race(KernelGame):
    name, version, summary = "race", 1, "Run twelve steps."
    kernels = Kernels(setup=setup, turn=turn, legal=legal, apply=apply, payoff=payoff)

    def shape(self) -> Shape:
        return Shape(seats=1, cells=1, max_legal=1, max_moves=12)

    def render(self, state):
        return str(state.cells[0])
"""
RULES = """
from rung.jit import jit

@jit
def step(state):
    state[0] += {step}
"""
COUNT_MOVES = """
from race.game import Race
from rung.games.rng import stream
state, moves = Race().new_state(stream(1)), 0
while not state.over:
    state.apply(0, stream(1))
    moves += 1
print(moves)
"""


def run(folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    command = [sys.executable, "-c", COUNT_MOVES]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.strip()


def compiled(folder: Path) -> set[Path]:
    return set(folder.rglob("*.nbc"))


def test_a_changed_helper_in_another_file_changes_the_game(tmp_path: Path) -> None:
    package = tmp_path / "race"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "game.py").write_text(GAME)
    (package / "rules.py").write_text(RULES.format(step=1))
    assert run(tmp_path) == "12"
    first = compiled(tmp_path)
    assert first, "nothing was kept on disk"
    assert run(tmp_path) == "12"
    assert compiled(tmp_path) == first, "a second process compiled again"
    (package / "rules.py").write_text(RULES.format(step=3))
    assert run(tmp_path) == "4"


def test_the_parts_have_folders_by_what_they_are_compiled_from() -> None:
    ours = Path(jit.__file__).parent
    games, agents = (jit.folder_for(ours / part / "module.py") for part in ("games", "agents"))
    assert games != agents
    assert games.parent == agents.parent


def test_the_folder_is_left_as_it_was_found() -> None:
    numba: Any = import_module("numba")
    before = numba.config.CACHE_DIR
    with jit.cache_folder(run):
        assert before != numba.config.CACHE_DIR
    assert before == numba.config.CACHE_DIR
    with pytest.raises(ZeroDivisionError), jit.cache_folder(run):
        raise ZeroDivisionError
    assert before == numba.config.CACHE_DIR


def test_a_cache_that_cannot_be_written_is_replaced_by_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setattr(jit, "user_cache_path", lambda name: blocked / name)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "elsewhere"))
    jit._prepared.cache_clear()
    try:
        folder = jit._prepared("0123456789abcdef")
        assert folder.is_dir()
        assert folder.is_relative_to(tmp_path / "elsewhere")
    finally:
        jit._prepared.cache_clear()


def test_folders_unused_for_a_month_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "user_cache_path", lambda name: tmp_path)
    old, young = tmp_path / "compiled" / "old", tmp_path / "compiled" / "young"
    for folder in (old, young):
        folder.mkdir(parents=True)
        (folder / "code.nbc").touch()
    os.utime(old, (0, 0))
    jit._prepared.cache_clear()
    try:
        jit._prepared("0123456789abcdef")
    finally:
        jit._prepared.cache_clear()
    assert not old.exists()
    assert (young / "code.nbc").exists()
