"""Search speed against OpenSpiel's C++ and Python MCTS, on one core, from the start position.

Simulations: whole decisions (`act`, `step`) of UCT with the same number of simulations, one random playout at a leaf and
the same exploration, without OpenSpiel's solver. Playouts: random matches to the end without a tree. OpenSpiel's C++
evaluator cannot be called from Python, so its playouts are those of a one-simulation search, which evaluates the root by
as many as it is told to. Its Python binding plays them by a loop over legal actions.

Rung's hex fills the whole board at once instead of playing move by move, which gives the same winners with the same odds.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
import pyspiel
from _peers import Work, cpp_bot, first_state, python_bot, rates, rung_agent, show, verdict, view_of

from rung.games.compiled import KernelGame, random_playouts
from rung.games.rng import stream
from rung.platform.match import game_of

SIMULATIONS = 1000
PLAYOUTS_A_CALL = 1000
ROUNDS = 5
SLOT_S = 0.4
RUNG, CPP, PYTHON = "Rung", "C++", "Python"
SEED = 1


@dataclass(frozen=True)
class Case:
    """A game in both systems, and how many times as fast as each peer Rung should search it."""

    rung: str
    openspiel: str
    aim_cpp: float
    aim_python: float = 120.0


CASES = (
    Case("connect_four", "connect_four", 15.0),
    Case("hex(size=7)", "hex(board_size=7)", 6.0),
    Case("breakthrough", "breakthrough", 6.0),
)


def searches(case: Case) -> dict[str, Work]:
    """One decision of each peer."""
    ours, theirs = game_of(case.rung), pyspiel.load_game(case.openspiel)
    agent, view = rung_agent(ours, SIMULATIONS, 0, SEED), view_of(ours, first_state(ours))
    cpp, python = cpp_bot(theirs, SIMULATIONS, SEED), python_bot(theirs, SIMULATIONS, SEED)
    state = theirs.new_initial_state()

    def rung_decides() -> int:
        agent.act(view)
        return SIMULATIONS

    def cpp_decides() -> int:
        cpp.step(state)
        return SIMULATIONS

    def python_decides() -> int:
        python.step(state)
        return SIMULATIONS

    return {RUNG: rung_decides, CPP: cpp_decides, PYTHON: python_decides}


def playouts(case: Case) -> dict[str, Work]:
    """Some random playouts of each peer."""
    ours, theirs = game_of(case.rung), pyspiel.load_game(case.openspiel)
    assert isinstance(ours, KernelGame)
    table, cells, rng, totals = ours.table, first_state(ours).cells, stream(SEED), np.zeros(ours.seats)
    cpp, start, random = cpp_bot(theirs, 1, SEED, PLAYOUTS_A_CALL), theirs.new_initial_state(), Random(SEED)

    def rung_plays() -> int:
        random_playouts(table, cells, rng, PLAYOUTS_A_CALL, totals)
        return PLAYOUTS_A_CALL

    def cpp_plays() -> int:
        cpp.mcts_search(start)
        return PLAYOUTS_A_CALL

    def python_plays() -> int:
        state = start.clone()
        while not state.is_terminal():
            state.apply_action(random.choice(state.legal_actions()))
        return 1

    return {RUNG: rung_plays, CPP: cpp_plays, PYTHON: python_plays}


def compared(name: str, found: dict[str, float]) -> list[str]:
    """The rates, and Rung's as a multiple of the others'."""
    ratios = [found[RUNG] / found[peer] for peer in (CPP, PYTHON)]
    return [name, *(f"{found[peer]:,.0f}" for peer in (RUNG, CPP, PYTHON)), *(f"{ratio:,.1f}x" for ratio in ratios)]


def main() -> None:
    head = ["", f"{RUNG}/s", f"{CPP}/s", f"{PYTHON}/s", f"/ {CPP}", f"/ {PYTHON}"]
    rows = []
    for case in CASES:
        found = rates(searches(case), ROUNDS, SLOT_S)
        met = [found[RUNG] / found[CPP] >= case.aim_cpp, found[RUNG] / found[PYTHON] >= case.aim_python]
        aims = [f">= {case.aim_cpp:.0f}x {verdict(met[0])}", f">= {case.aim_python:.0f}x {verdict(met[1])}"]
        rows.append([*compared(case.rung, found), *aims])
    show(f"UCT simulations a second, {SIMULATIONS} a decision", [*head, f"aim / {CPP}", f"aim / {PYTHON}"], rows)
    played = [compared(case.rung, rates(playouts(case), ROUNDS, SLOT_S)) for case in CASES]
    show("Random playouts a second", head, played)


if __name__ == "__main__":
    main()
