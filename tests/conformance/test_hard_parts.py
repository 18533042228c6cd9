"""What later games need and none here has: teams of unequal sides, thousands of legal actions, actions only sampled."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType

import pytest

from rung.agents.agent import View
from rung.agents.search import tree as trees
from rung.agents.search.agent import Mcts
from rung.errors import UserError
from rung.games import GAMES
from rung.games.compiled import KernelGame, KernelState, Shape
from rung.games.conformance import check, check_hides, check_uniform
from rung.games.game import State
from rung.games.kernel import HIDDEN, OVER, Cells, Kernels, Reals, Rng, kernel
from rung.games.rng import below, stream
from rung.platform.match import MatchSpec, Played, play
from rung.platform.replay import replay
from rung.platform.series import Tally, plan, play_series
from tests.agents.test_agents import LARGEST, Sampled

# A keeper hides a treasure in one of 4000 caves, unseen; then two scouts, who win or lose together, each search the caves
# of one of three valleys. A scout who searches where the other already did is of no use.

CAVES, VALLEYS, NOT_YET = 4000, 3, -1
SCOUT, MATE, KEEPER = range(3)


@kernel
def setup(state: Cells, params: Cells, rng: Rng) -> None:
    state[SCOUT] = state[MATE] = state[KEEPER] = NOT_YET


@kernel
def turn(state: Cells) -> int:
    if state[KEEPER] == NOT_YET:
        return KEEPER
    if state[SCOUT] == NOT_YET:
        return SCOUT
    return MATE if state[MATE] == NOT_YET else OVER


@kernel
def legal(state: Cells, out: Cells) -> int:
    n = CAVES if state[KEEPER] == NOT_YET else VALLEYS
    for action in range(n):
        out[action] = action
    return n


@kernel
def apply(state: Cells, action: int, rng: Rng) -> None:
    seat = KEEPER if state[KEEPER] == NOT_YET else SCOUT if state[SCOUT] == NOT_YET else MATE
    state[seat] = action


@kernel
def payoff(state: Cells, out: Reals) -> None:
    valley = state[KEEPER] % VALLEYS
    found = state[SCOUT] == valley or state[MATE] == valley
    out[SCOUT] = out[MATE] = 1.0 if found else 0.0
    out[KEEPER] = 0.0 if found else 1.0


@kernel
def observe(state: Cells, seat: int, out: Cells) -> None:
    for cell in range(3):
        out[cell] = state[cell]
    if seat != KEEPER and state[KEEPER] != NOT_YET:
        out[KEEPER] = HIDDEN


@kernel
def determinize(state: Cells, seat: int, rng: Rng) -> None:
    if state[KEEPER] == HIDDEN:
        state[KEEPER] = below(rng, CAVES)


@kernel
def label(state: Cells, action: int, seat: int) -> int:
    return HIDDEN if seat != KEEPER and state[KEEPER] == NOT_YET else action


class Treasure(KernelGame):
    name = "treasure"
    version = 1
    summary = "Two scouts look for what one keeper hid."
    kernels = Kernels(setup, turn, legal, apply, payoff, observe=observe, determinize=determinize, label=label)

    def shape(self) -> Shape:
        return Shape(seats=3, cells=3, max_legal=CAVES, max_moves=3)

    def names_of_seats(self) -> tuple[str, ...]:
        return ("Scout", "Mate", "Keeper")

    def teams_of_seats(self) -> tuple[int, ...]:
        return (0, 0, 1)

    def render(self, state: State) -> str:
        assert isinstance(state, KernelState)
        return " ".join("?" if cell == HIDDEN else str(cell) for cell in state.cells)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("hard_parts")
    for kind in (Treasure, Sampled):
        setattr(module, kind.__name__, kind)
        monkeypatch.setitem(GAMES._targets, kind.name, f"{module.__name__}:{kind.__name__}")
    monkeypatch.setitem(sys.modules, module.__name__, module)


def after(game: KernelGame, actions: Sequence[int]) -> KernelState:
    state = game.new_state(stream(1))
    for action in actions:
        state.apply(action, stream(1))
    return state


def decided(game: KernelGame, state: State, seat: int, seed: int = 1, **given: object) -> tuple[int, Mcts]:
    agent = Mcts(**given)
    agent.start(game, seat, seed)
    return agent.act(View(game, seat, state.observe(seat), [], float("inf"))), agent


def test_both_games_keep_the_contract() -> None:
    check(Treasure(), matches=5)
    check(Sampled(), matches=5)


def test_what_the_keeper_hid_is_hidden_and_guessed_evenly() -> None:
    game = Treasure()
    hidden = [after(game, [cave]) for cave in range(CAVES)]
    for seat in (SCOUT, MATE):
        check_hides(game, list(hidden), seat)
        check_uniform(hidden[0].observe(seat), seat, {state.save(): 1.0 for state in hidden}, draws=40_000, seed=seat)


@pytest.mark.parametrize("searched", range(VALLEYS))
def test_a_search_helps_its_team(searched: int) -> None:
    game = Treasure()
    for seed in range(5):
        action, _ = decided(game, after(game, [7, searched]), MATE, seed, iterations=600, roots=200)
        assert action != searched


def test_a_search_among_thousands_of_actions_stays_within_its_memory() -> None:
    game = Treasure()
    for iterations in (1, 500, 20_000):
        action, agent = decided(game, after(game, []), KEEPER, iterations=iterations, roots=1, memory_mb=1)
        assert 0 <= action < CAVES
        assert agent.tree.visits[trees.ROOT] == iterations
        assert sum(array.nbytes for array in agent.tree) <= 1_000_000


@pytest.mark.parametrize(
    ("game", "agents"),
    [
        ("treasure", ("mcts(iterations=100)", "osla(samples=1)", "random")),
        ("treasure", ("first", "random", "mcts(iterations=300, memory_mb=1)")),
        ("sampled", ("mcts(iterations=200)", "osla(width=20)")),
    ],
)
def test_matches_repeat_and_replay(game: str, agents: tuple[str, ...]) -> None:
    first, second = (play(MatchSpec(game, agents, 3, 4)) for _ in range(2))
    assert first.ending == Played()
    assert first.moves == second.moves
    *_, last = replay(first, "the match")
    assert last.state.over


def test_a_series_counts_a_team_as_one_side() -> None:
    planned = plan("treasure", ["random"] * 3, 60, seed=1)
    tally = Tally(["a", "b", "c"], Treasure().teams)
    for match, result in zip(planned, play_series(planned, workers=1), strict=True):
        tally.add(match, result)
        assert set(result.ranks) == {1, 2} or set(result.ranks) == {1, 3}
        assert result.ranks[SCOUT] == result.ranks[MATE]
    assert all(entrant.draws == 0 and entrant.wins > 0 and entrant.losses > 0 for entrant in tally.entrants)


def test_actions_never_listed_are_still_checked() -> None:
    state = Sampled().new_state(stream(1))
    assert [state.allows(action) for action in (-1, 0, LARGEST - 1, LARGEST, 10**30)] == [
        False,
        True,
        True,
        False,
        False,
    ]


def test_memory_that_cannot_hold_one_listing_is_refused() -> None:
    class Wide(Treasure):
        def shape(self) -> Shape:
            return Shape(seats=3, cells=3, max_legal=5 * CAVES, max_moves=3)

    with pytest.raises(UserError, match="memory_mb must be at least 2"):
        decided(Wide(), Wide().new_state(stream(1)), KEEPER, memory_mb=1)
