"""The checks catch what they are there for: games with one planted defect each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rung.games import make
from rung.games.compiled import KernelGame, KernelState, Shape
from rung.games.conformance import Broken, check, check_ends, check_hides, check_labels, check_uniform, count_tree
from rung.games.connect_four import ConnectFour
from rung.games.kernel import Cells, Kernels, Rng, kernel
from rung.games.rng import below, stream
from rung.games.rock_paper_scissors import RockPaperScissors


def variant(base: type[KernelGame], **changed: object) -> KernelGame:
    """A game with some kernels replaced."""
    given = {name: getattr(base.kernels, name) for name in Kernels.__dataclass_fields__}
    kernels = Kernels(**{**given, **changed})
    return type("Variant", (base,), {"kernels": kernels})()


@kernel
def observe(state: Cells, seat: int, out: Cells) -> None:
    """Leaks: it shows everything."""
    for cell in range(CELLS):
        out[cell] = state[cell]


CELLS = RockPaperScissors().cells
leaking_observe = observe


def committed() -> list[KernelState]:
    """The three states after the first seat's hidden choice."""
    game = RockPaperScissors(rounds=3)
    states = []
    for choice in range(3):
        state = game.new_state(stream(1))
        state.apply(choice, stream(1))
        states.append(state)
    return states


def test_a_leaking_observe_is_caught() -> None:
    honest, leaking = RockPaperScissors(rounds=3), variant(RockPaperScissors, observe=leaking_observe)
    check_hides(honest, list(committed()), seat=1)
    with pytest.raises(Broken, match="leaks"):
        check_hides(leaking, [leaking.state_of(state.cells) for state in committed()], seat=1)
    with pytest.raises(Broken, match="sees more"):
        check_labels(leaking, matches=1, seed=1)


def _hidden_cell() -> int:
    seen = committed()[0].observe(1)
    return int(np.flatnonzero(seen.cells == HIDDEN)[0])


HIDDEN = -(1 << 62)
HIDDEN_CELL = _hidden_cell()
CHOICES = sorted(int(state.cells[HIDDEN_CELL]) for state in committed())
ONE, TWO, THREE = CHOICES


@kernel
def determinize(state: Cells, seat: int, rng: Rng) -> None:
    """Biased: it guesses one choice twice as often as another."""
    if state[HIDDEN_CELL] == HIDDEN:
        drawn = below(rng, 4)
        state[HIDDEN_CELL] = ONE if drawn < 2 else TWO if drawn == 2 else THREE


def test_a_biased_determinize_is_caught() -> None:
    biased = variant(RockPaperScissors, determinize=determinize)
    expected = {state.save(): 1.0 for state in committed()}
    check_uniform(committed()[0].observe(1), 1, expected, draws=3000, seed=1)
    with pytest.raises(Broken, match="not uniform"):
        check_uniform(biased.state_of(committed()[0].observe(1).cells), 1, expected, draws=3000, seed=1)


@kernel
def apply(state: Cells, action: int, rng: Rng) -> None:
    """Connect Four in which only columns win: a line is missing, the other three are too."""
    mine, theirs = np.uint64(state[0]), np.uint64(state[1])
    landing = ((mine | theirs) + np.uint64(BOTTOM)) & (np.uint64(0b111111) << np.uint64(7 * action))
    mine |= landing
    pairs = mine & (mine >> np.uint64(1))
    if pairs & (pairs >> np.uint64(2)):
        state[3] = state[2] & 1
    state[0] = np.int64(theirs)
    state[1] = np.int64(mine)
    state[2] += 1


BOTTOM = sum(1 << (7 * column) for column in range(7))


def count_by_hand(moves: list[int], depth: int) -> int:
    """Connect Four on plain lists, counted without Rung."""
    columns: list[list[int]] = [[] for _ in range(7)]
    for number, column in enumerate(moves):
        columns[column].append(number % 2)
    return _count(columns, len(moves) % 2, depth)


def _count(columns: list[list[int]], seat: int, depth: int) -> int:
    if depth == 0:
        return 1
    total = 0
    for column in range(7):
        if len(columns[column]) < 6:
            columns[column].append(seat)
            ended = _wins(columns, column, seat)
            total += (depth == 1) if ended else _count(columns, 1 - seat, depth - 1)
            columns[column].pop()
    return total


def _wins(columns: list[list[int]], column: int, seat: int) -> bool:
    row = len(columns[column]) - 1

    def held(x: int, y: int) -> bool:
        return 0 <= x < 7 and 0 <= y < len(columns[x]) and columns[x][y] == seat

    for dx, dy in ((0, 1), (1, 0), (1, 1), (1, -1)):
        for shift in range(4):
            line = [(column + (k - shift) * dx, row + (k - shift) * dy) for k in range(4)]
            if all(held(x, y) for x, y in line):
                return True
    return False


def test_a_missing_winning_line_is_caught() -> None:
    broken = variant(ConnectFour, apply=apply, playout=None)
    moves = [0, 1, 1, 2, 2, 3, 2, 3, 3, 6]  # the next disc on the fourth column completes a diagonal
    for game, agrees in ((make("connect_four"), True), (broken, False)):
        state = game.new_state(stream(1))
        for move in moves:
            state.apply(move, stream(1))
        assert (count_tree(state, 3)[-1] == count_by_hand(moves, 3)) is agrees


@kernel
def turn(state: Cells) -> int:
    """Never ends."""
    return state[2] & 1


@kernel
def legal(state: Cells, out: Cells) -> int:
    out[0] = 0
    return 1


def test_a_game_that_does_not_end_is_caught() -> None:
    endless = variant(ConnectFour, turn=turn, legal=legal, playout=None)
    with pytest.raises(Broken, match="longer than max_moves"):
        check_ends(endless, matches=1, seed=1)


def test_other_defects_are_caught() -> None:
    class Loud(ConnectFour):
        def action_text(self, state: object, action: int) -> str:
            return "drop"

    class Shared(ConnectFour):
        def teams_of_seats(self) -> tuple[int, ...]:
            return (0, 0)

    class Narrow(ConnectFour):
        def shape(self) -> Shape:
            return Shape(seats=2, cells=super().shape().cells, max_legal=5, max_moves=42)

    class Small(ConnectFour):
        def shape(self) -> Shape:
            return Shape(seats=2, cells=super().shape().cells - 1, max_legal=7, max_moves=42)

    class Alone(ConnectFour):
        def shape(self) -> Shape:
            return Shape(seats=1, cells=super().shape().cells, max_legal=7, max_moves=42)

    cases: list[tuple[Callable[[], KernelGame], str]] = [
        (Loud, "one text"),
        (Shared, "does not share"),
        (Narrow, "legal writes more than max_legal = 5"),
        (Small, "writes outside its"),
        (Alone, "payoff writes more than 1"),
    ]
    for build, complaint in cases:
        with pytest.raises(Broken, match=complaint):
            check(build(), matches=2)


def test_kernels_must_be_what_they_are_given_as() -> None:
    with pytest.raises(TypeError, match="is called"):
        variant(ConnectFour, turn=legal)
    with pytest.raises(TypeError, match="both observe and determinize"):
        variant(RockPaperScissors, determinize=None)
