"""Connect Four against OpenSpiel, against published tree counts, and against a second implementation without bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from rung.errors import UserError
from rung.games.compiled import KernelState
from rung.games.conformance import check, check_recorded, count_tree
from rung.games.connect_four import ConnectFour
from rung.games.game import OVER
from rung.games.rng import stream

RECORDED = Path(__file__).parent / "recorded" / "connect_four.txt"
FROM_THE_START = [7, 49, 343, 2401, 16807, 117649, 823536, 5673234]


def after(*columns: int) -> KernelState:
    """The state after discs in these columns, counted from 1."""
    state = ConnectFour().new_state(stream(1))
    for column in columns:
        assert state.allows(column - 1)
        state.apply(column - 1, stream(1))
    return state


# -- the second implementation: seven strings, and lines walked disc by disc -------------------------------------------

Columns = tuple[str, ...]


def drop(board: Columns, column: int, disc: str) -> Columns:
    return (*board[:column], board[column] + disc, *board[column + 1 :])


def disc_at(board: Columns, column: int, row: int) -> str:
    return board[column][row] if 0 <= column < 7 and 0 <= row < len(board[column]) else ""


def wins(board: Columns, column: int) -> bool:
    """Whether the top disc of the column is in a line of four."""
    row = len(board[column]) - 1
    disc = board[column][row]
    for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)):
        length = 1
        for sign in (1, -1):
            x, y = column + sign * dx, row + sign * dy
            while disc_at(board, x, y) == disc:
                length, x, y = length + 1, x + sign * dx, y + sign * dy
        if length >= 4:
            return True
    return False


@cache
def sequences(board: Columns, mover: str, depth: int) -> tuple[int, ...]:
    """How many sequences of 1, 2, … depth moves there are."""
    if depth == 0:
        return ()
    counts = [0] * depth
    for column in range(7):
        if len(board[column]) < 6:
            counts[0] += 1
            then = drop(board, column, mover)
            if not wins(then, column):
                for i, count in enumerate(sequences(then, "XO"[mover == "X"], depth - 1)):
                    counts[i + 1] += count
    return tuple(counts)


def board_after(*columns: int) -> tuple[Columns, str]:
    board: Columns = ("",) * 7
    for number, column in enumerate(columns):
        board = drop(board, column - 1, "XO"[number % 2])
    return board, "XO"[len(columns) % 2]


# -- tree counts -------------------------------------------------------------------------------------------------------


def test_tree_from_the_start() -> None:
    assert count_tree(after(), 8) == FROM_THE_START
    assert list(sequences(*board_after(), 7)) == FROM_THE_START[:7]


@pytest.mark.parametrize(
    "columns",
    [
        (1, 2, 2, 3, 3, 4, 3, 4, 4, 7),  # X has three on a rising diagonal, the fourth square is free
        (7, 6, 6, 5, 5, 4, 5, 4, 4, 1),  # and on a falling one
        (2, 3, 3, 4, 4, 5, 4, 5, 6, 5, 1),  # diagonals that touch neither edge
        (4, 4, 4, 4, 4, 4, 3, 5, 3, 5, 3, 5),  # one full column, two threats upwards
        (1, 1, 1, 1, 1, 1, 7, 7, 7, 7, 7, 7, 2, 3, 2, 3),  # both edges full: lines must not run around the board
        (1, 2, 1, 2, 2, 1, 2, 1, 3, 4, 3, 4, 4, 3, 4, 3, 5, 6, 5, 6, 6, 5, 6, 5, 7, 2, 2, 1),  # nearly full
    ],
)
def test_tree_from_the_middle(columns: tuple[int, ...]) -> None:
    state = after(*columns)
    assert not state.over
    assert count_tree(state, 6) == list(sequences(*board_after(*columns), 6))


# -- ends --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "winner"),
    [
        ((1, 7, 1, 7, 1, 7, 1), 0),  # upright
        ((1, 1, 2, 2, 3, 3, 4), 0),  # level
        ((7, 1, 1, 2, 2, 3, 3, 4), 1),  # level, for the second seat
        ((1, 2, 2, 3, 3, 4, 3, 4, 4, 7, 4), 0),  # rising
        ((7, 6, 6, 5, 5, 4, 5, 4, 4, 1, 4), 0),  # falling
    ],
)
def test_four_in_a_line_win(columns: tuple[int, ...], winner: int) -> None:
    assert not after(*columns[:-1]).over
    state = after(*columns)
    assert state.turn == OVER
    assert state.payoffs().tolist() == [1.0 - winner, float(winner)]
    assert state.legal().tolist() == []


def test_lines_do_not_run_around_the_edge() -> None:
    # Three discs on top of column 1 and the one at the bottom of column 2 are neighbours in memory, not on the board.
    assert not after(1, 1, 1, 7, 7, 1, 7, 1, 2, 1, 7).over


def test_full_board_is_a_draw() -> None:
    fill = [1, 2, 1, 2, 1, 2, 2, 1, 2, 1, 2, 1, 3, 4, 3, 4, 3, 4, 4, 3, 4, 3, 4, 3, 5, 6, 5, 6, 5, 6, 6, 5, 6, 5, 6, 5]
    state = after(*fill, *[7] * 6)
    assert state.turn == OVER
    assert state.payoffs().tolist() == [0.5, 0.5]


def test_full_column_is_illegal() -> None:
    state = after(4, 4, 4, 4, 4, 4)
    assert state.legal().tolist() == [0, 1, 2, 4, 5, 6]
    assert not state.allows(3)
    with pytest.raises(UserError, match="'4' is not a legal action"):
        state.game.parse_action(state, "4")


# -- the rest ----------------------------------------------------------------------------------------------------------


def test_same_as_openspiel(compare_with_openspiel: Callable[..., None]) -> None:
    compare_with_openspiel(ConnectFour(), "connect_four", matches=3000)


def test_contract() -> None:
    check(ConnectFour())


def test_takes_no_parameters() -> None:
    with pytest.raises(UserError, match="parameter of connect_four"):
        ConnectFour(size=7)


def test_rendering() -> None:
    state = after(4, 4, 3)
    assert state.game.render(state).splitlines() == [
        *["│ · · · · · · · │"] * 4,
        "│ · · · O · · · │",
        "│ · · X X · · · │",
        "└───────────────┘",
        "  1 2 3 4 5 6 7",
    ]
    discs = Counter(state.game.render(after(4, 4)))
    assert discs["X"] == discs["O"] == 1


def test_recorded_match() -> None:
    check_recorded(ConnectFour(), RECORDED.read_text())
