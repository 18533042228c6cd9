"""What the benchmarks share: peers set up alike, rates measured in turns, and tables.

Rung's payoffs lie in [0, 1] and OpenSpiel's in [-1, 1], so the same UCB1 rule needs twice the constant there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from math import inf
from statistics import median
from typing import Any

from rung.agents.agent import Agent, View
from rung.agents.spec import make as make_agent
from rung.games.compiled import KernelState
from rung.games.game import Game
from rung.games.rng import stream

EXPLORATION = 0.7
OPENSPIEL_EXPLORATION = 2 * EXPLORATION
_MEMORY_MB = 4000
"""More than any search here fills, so that OpenSpiel never clears its tree."""

Work = Callable[[], int]
"""Does some of what is measured and says how much."""


def rung_agent(game: Game, simulations: int, seat: int, seed: int) -> Agent:
    """Rung's `mcts`, ready for a match."""
    agent = make_agent(f"mcts(iterations={simulations}, exploration={EXPLORATION})")
    agent.start(game, seat, seed)
    return agent


def first_state(game: Game) -> KernelState:
    state = game.new_state(stream(0))
    assert isinstance(state, KernelState)
    return state


def view_of(game: Game, state: KernelState) -> View:
    """What the seat to act sees, without a clock."""
    return View(game, state.turn, state.observe(state.turn), [], inf)


def cpp_bot(game: Any, simulations: int, seed: int, playouts: int = 1) -> Any:
    """OpenSpiel's C++ UCT, without its solver; this many random playouts at a leaf."""
    import pyspiel

    evaluator = pyspiel.RandomRolloutEvaluator(playouts, seed)
    return pyspiel.MCTSBot(game, evaluator, OPENSPIEL_EXPLORATION, simulations, _MEMORY_MB, False, seed, False)


def python_bot(game: Any, simulations: int, seed: int) -> Any:
    """OpenSpiel's Python UCT, without its solver."""
    import numpy as np
    from open_spiel.python.algorithms import mcts

    random = np.random.RandomState(seed)
    evaluator = mcts.RandomRolloutEvaluator(1, random)
    return mcts.MCTSBot(game, OPENSPIEL_EXPLORATION, simulations, evaluator, solve=False, random_state=random)


def rates(peers: Mapping[str, Work], rounds: int, slot_s: float) -> dict[str, float]:
    """What each peer does a second: the median of its rounds, in which all take turns, so that a disturbance of the
    machine hits all of them or is outvoted."""
    for work in peers.values():
        work()
    measured: dict[str, list[float]] = {name: [] for name in peers}
    for _ in range(rounds):
        for name, work in peers.items():
            measured[name].append(_rate(work, slot_s))
    return {name: median(values) for name, values in measured.items()}


def _rate(work: Work, slot_s: float) -> float:
    done = 0
    began = time.perf_counter()
    used_s = 0.0
    while used_s < slot_s:
        done += work()
        used_s = time.perf_counter() - began
    return done / used_s


def show(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: the first column to the left, the others to the right."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    print(f"\n{title}")
    for row in (head, *rows):
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        print("  ".join([row[0].ljust(widths[0]), *cells]).rstrip())


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"
