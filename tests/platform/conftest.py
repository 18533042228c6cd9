"""Agents and games with faults, registered for one test at a time."""

from __future__ import annotations

import sys
import time
from types import ModuleType
from typing import ClassVar

import pytest

from rung.agents import AGENTS
from rung.agents.agent import Agent, Outcome, View
from rung.games import GAMES
from rung.games.compiled import KernelGame, KernelState, Shape
from rung.games.connect_four import ConnectFour
from rung.games.game import Game, State
from rung.games.kernel import OVER, Cells, Kernels, Reals, Rng, kernel
from rung.parameters import Parameter

FAILING_MOVE = 3


class Returns(Agent):
    """Returns one thing, whatever is asked."""

    name, summary = "returns", "Always the same."
    thing: object = None

    def act(self, view: View) -> int:
        return self.thing  # type: ignore[return-value]


class Outside(Returns):
    name, thing = "outside", 99


class Huge(Returns):
    name, thing = "huge", 10**30


class Text(Returns):
    name, thing = "text", "3"


class Truth(Returns):
    name, thing = "truth", True


class Crashes(Agent):
    name, summary = "crashes", "Raises."
    parameters = (Parameter("at", 0, "the move it raises at, counted from 0", 0, 100),)

    def start(self, game: Game, seat: int, seed: int) -> None:
        self.moves = 0

    def act(self, view: View) -> int:
        self.moves += 1
        if self.moves > int(self.values["at"]):
            raise ValueError("a first line\nand a second")
        return int(view.legal[0])


class Hungry(Agent):
    name, summary = "hungry", "Takes more memory than there is."

    def act(self, view: View) -> int:
        raise MemoryError("out of memory")


class Slow(Agent):
    name, summary = "slow", "Thinks until its clock has run out."

    def act(self, view: View) -> int:
        began = time.perf_counter()
        while time.perf_counter() - began <= view.left_s:
            pass
        return int(view.legal[0])


class FailsToStart(Agent):
    name, summary = "fails_to_start", "Raises before the match."

    def start(self, game: Game, seat: int, seed: int) -> None:
        raise RuntimeError("no weights")

    def act(self, view: View) -> int:
        return int(view.legal[0])


class Noteless(Agent):
    name, summary = "noteless", "Forgets what the base class needs."

    def __init__(self) -> None:
        pass

    def act(self, view: View) -> int:
        return int(view.legal[0])


class FailsAtTheEnd(Agent):
    name, summary = "fails_at_the_end", "Raises when the match is over."

    def act(self, view: View) -> int:
        return int(view.legal[0])

    def end(self, outcome: Outcome) -> None:
        raise RuntimeError("cannot save")


class Witness(Agent):
    """Keeps what it was shown."""

    name, summary = "witness", "Plays the first action and remembers."
    views: ClassVar[list[View]] = []
    outcomes: ClassVar[list[Outcome]] = []

    def act(self, view: View) -> int:
        Witness.views.append(View(view.game, view.seat, view.observation, list(view.seen), view.left_s))
        return int(view.legal[0])

    def end(self, outcome: Outcome) -> None:
        Witness.outcomes.append(outcome)


class FailingState(KernelState):
    """A position whose third move cannot be played."""

    def apply(self, action: int, rng: Rng) -> None:
        if self.cells[2] == FAILING_MOVE - 1:
            raise ZeroDivisionError("division by zero")
        super().apply(action, rng)


class Failing(ConnectFour):
    name = "failing"

    def new_state(self, rng: Rng) -> KernelState:
        state = super().new_state(rng)
        failing = FailingState(self, state.cells)
        failing.turn, failing.n_legal, failing.actions = state.turn, state.n_legal, state.actions
        return failing


@kernel
def setup(state: Cells, params: Cells, rng: Rng) -> None:
    state[0] = 0


@kernel
def turn(state: Cells) -> int:
    return OVER if state[0] == 4 else state[0]


@kernel
def legal(state: Cells, out: Cells) -> int:
    out[0] = 0
    return 1


@kernel
def apply(state: Cells, action: int, rng: Rng) -> None:
    state[0] += 1


@kernel
def payoff(state: Cells, out: Reals) -> None:
    for seat in range(4):
        out[seat] = 1.0 if seat % 2 == 1 else 0.0


@kernel
def score(state: Cells, out: Reals) -> None:
    for seat in range(4):
        out[seat] = 10.0 * seat


class Teams(KernelGame):
    """Four seats in two teams; every seat moves once, and the second team wins."""

    name, version, summary = "teams", 1, "Two against two."
    kernels = Kernels(setup=setup, turn=turn, legal=legal, apply=apply, payoff=payoff, score=score)

    def shape(self) -> Shape:
        return Shape(seats=4, cells=1, max_legal=1, max_moves=4)

    def teams_of_seats(self) -> tuple[int, ...]:
        return (0, 1, 0, 1)

    def render(self, state: State) -> str:
        return "two teams"


class Endless(Teams):
    """Says it takes fewer moves than it does."""

    name = "endless"

    def shape(self) -> Shape:
        return Shape(seats=4, cells=1, max_legal=1, max_moves=3)


AGENT_KINDS: tuple[type[Agent], ...] = (
    Outside,
    Huge,
    Text,
    Truth,
    Crashes,
    Hungry,
    Slow,
    FailsToStart,
    Noteless,
    FailsAtTheEnd,
    Witness,
)
GAME_KINDS: tuple[type[Game], ...] = (Failing, Endless, Teams)


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes them known by name, as an installed package would."""
    module = ModuleType("faulty_things")
    for kind in (*AGENT_KINDS, *GAME_KINDS):
        setattr(module, kind.__name__, kind)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for agent in AGENT_KINDS:
        monkeypatch.setitem(AGENTS._targets, agent.name, f"{module.__name__}:{agent.__name__}")
    for game in GAME_KINDS:
        monkeypatch.setitem(GAMES._targets, game.name, f"{module.__name__}:{game.__name__}")
    Witness.views, Witness.outcomes = [], []
