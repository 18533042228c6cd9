"""Breakthrough against OpenSpiel, and against a second implementation on rows of letters."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from rung.errors import UserError
from rung.games.breakthrough import (
    AHEAD,
    BLACK,
    DIRECTIONS,
    LEFT,
    MOVES,
    PAWNS,
    PITCH,
    RIGHT,
    SQUARES,
    WHITE,
    Breakthrough,
)
from rung.games.compiled import KernelState, random_playouts
from rung.games.conformance import check, check_recorded, count_tree
from rung.games.rng import stream

RECORDED = Path(__file__).parent / "recorded" / "breakthrough.txt"
PLAYOUTS = 40_000
SIGMAS = 5.0
SHAPES = [(4, 2), (5, 3), (6, 2), (7, 5), (8, 2), (5, 8), (8, 8)]


def position(mover: int, *rows: str) -> KernelState:
    """The state that a drawing shows, from the top."""
    game = Breakthrough(rows=len(rows), columns=len(rows[0]))
    cells = game.new_state(stream(1)).cells
    for seat, letter in ((BLACK, "b"), (WHITE, "w")):
        squares = [PITCH * y + x for y, row in enumerate(rows) for x, pawn in enumerate(row) if pawn == letter]
        cells[PAWNS + seat] = np.uint64(sum(1 << square for square in squares)).astype(np.int64)
    cells[MOVES] = mover
    return game.state_of(cells)


def texts(state: KernelState) -> list[str]:
    return sorted(state.game.action_text(state, action) for action in state.legal().tolist())


# -- the second implementation: rows of letters ------------------------------------------------------------------------

Rows = tuple[str, ...]
Move = tuple[int, int, int]  # row, column, columns to the right


def first_rows(rows: int, columns: int) -> Rows:
    ranks = 2 if rows >= 6 else 1
    return ("b" * columns,) * ranks + ("." * columns,) * (rows - 2 * ranks) + ("w" * columns,) * ranks


def moves(board: Rows, mover: str) -> list[Move]:
    ahead, enemy = (1, "w") if mover == "b" else (-1, "b")
    pawns = [(y, x) for y, row in enumerate(board) for x, pawn in enumerate(row) if pawn == mover]
    return [
        (y, x, aside)
        for y, x in pawns
        for aside in (-1, 0, 1)
        if 0 <= x + aside < len(board[y]) and board[y + ahead][x + aside] in ("." if aside == 0 else "." + enemy)
    ]


def play(board: Rows, mover: str, move: Move) -> Rows:
    grid = [list(row) for row in board]
    y, x, aside = move
    grid[y][x] = "."
    grid[y + (1 if mover == "b" else -1)][x + aside] = mover
    return tuple("".join(row) for row in grid)


def has_won(board: Rows, mover: str) -> bool:
    far, enemy = (board[-1], "w") if mover == "b" else (board[0], "b")
    return mover in far or not any(enemy in row for row in board)


@cache
def sequences(board: Rows, mover: str, depth: int) -> tuple[int, ...]:
    """How many sequences of 1, 2, … depth moves there are."""
    if depth == 0:
        return ()
    counts = [0] * depth
    for move in moves(board, mover):
        counts[0] += 1
        then = play(board, mover, move)
        if not has_won(then, mover):
            for i, count in enumerate(sequences(then, "bw"[mover == "b"], depth - 1)):
                counts[i + 1] += count
    return tuple(counts)


@cache
def black_chance(board: Rows, mover: str) -> float:
    """The probability that Black wins when both play uniformly at random."""
    options = moves(board, mover)
    total = 0.0
    for move in options:
        then = play(board, mover, move)
        total += mover == "b" if has_won(then, mover) else black_chance(then, "bw"[mover == "b"])
    return total / len(options)


# -- tree counts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "columns", "depth"),
    [(4, 2, 9), (5, 2, 13), (4, 3, 7), (5, 3, 7), (6, 2, 8), (6, 6, 5), (7, 5, 5), (8, 2, 8), (5, 8, 4), (8, 8, 4)],
)
def test_tree_from_the_start(rows: int, columns: int, depth: int) -> None:
    state = Breakthrough(rows=rows, columns=columns).new_state(stream(1))
    assert count_tree(state, depth) == list(sequences(first_rows(rows, columns), "b", depth))


@pytest.mark.parametrize("mover", [BLACK, WHITE])
@pytest.mark.parametrize(
    "rows",
    [
        # along both edges
        ("b......b", "b......b", "...bb...", "w..ww..w", "b..bb..b", "...ww...", "w......w", "w......w"),
        # all in touch
        (".b.b.b.b", "........", "w.w.w.w.", ".b.b.b.b", "w.w.w.w.", ".b.b.b.b", "........", "w.w.w.w."),
        # about to win
        ("........", "w.......", "........", "...b....", "....w...", "........", ".......b", "........"),
        ("b.b.b", "wbwbw", "bwbwb", "w.w.w", "....."),
        ("bb", "wb", "bw", "ww"),
    ],
)
def test_tree_from_the_middle(rows: Rows, mover: int) -> None:
    assert count_tree(position(mover, *rows), 4) == list(sequences(rows, "bw"[mover], 4))


# -- rules -------------------------------------------------------------------------------------------------------------


def test_straight_only_onto_empty_and_diagonals_capture() -> None:
    state = position(BLACK, "........", "...b....", "..ww....", "........", ".......w")
    assert texts(state) == ["d4-e3", "d4xc3"]
    state.apply(state.game.parse_action(state, "d4xc3"), stream(1))
    assert state.turn == WHITE
    assert texts(state) == ["d3-c4", "d3-d4", "d3-e4", "h1-g2", "h1-h2"]


def test_own_pawns_block() -> None:
    state = position(WHITE, "b...", "....", "www.", ".w..")
    forward = ["a2-a3", "a2-b3", "b2-a3", "b2-b3", "b2-c3", "c2-b3", "c2-c3", "c2-d3"]
    assert texts(state) == forward  # nothing from b1


@pytest.mark.parametrize(("mover", "move"), [(BLACK, "b2-a1"), (WHITE, "c3-c4")])
def test_far_rank_wins(mover: int, move: str) -> None:
    state = position(mover, "b..", "..w", ".b.", "..w")
    state.apply(state.game.parse_action(state, move), stream(1))
    assert state.over
    assert state.payoffs().tolist() == [1.0 - mover, float(mover)]


def test_capturing_everything_wins() -> None:
    state = position(BLACK, "b...", "....", "...b", "..w.", "....")
    state.apply(state.game.parse_action(state, "d3xc2"), stream(1))
    assert state.over
    assert state.payoffs().tolist() == [1.0, 0.0]


def test_there_is_always_a_move() -> None:
    """The foremost pawn has no own pawn before it, so it can go diagonally: blocked ranks still move."""
    state = position(BLACK, "bb", "ww", "..", "..")
    assert texts(state) == ["a4xb3", "b4xa3"]


# -- random playouts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "mover"),
    [
        (first_rows(4, 2), "b"),
        (first_rows(4, 3), "b"),
        (first_rows(5, 3), "b"),
        (("bb.b", "....", ".w..", "ww.."), "w"),
        (("b..", "..w", ".b.", "w.."), "w"),
    ],
)
def test_playout_has_the_exact_chances(rows: Rows, mover: str) -> None:
    state = position("bw".index(mover), *rows)
    chance = black_chance(rows, mover)
    totals = np.zeros(2)
    random_playouts(state.game.table, state.cells, stream(1), PLAYOUTS, totals)
    assert abs(totals[BLACK] / PLAYOUTS - chance) < SIGMAS * sqrt(chance * (1 - chance) / PLAYOUTS)
    assert totals.sum() == PLAYOUTS


# -- the rest ----------------------------------------------------------------------------------------------------------


def to_openspiel(state: KernelState, action: int) -> int:
    """OpenSpiel counts by square, then by direction (Black's three, White's three), then quiet before capturing."""
    columns = int(state.game.values["columns"])
    direction, origin = divmod(action, SQUARES)
    row, column = divmod(origin, PITCH)
    to_row, to_column = row + (1, -1)[state.turn], column + {LEFT: -1, AHEAD: 0, RIGHT: 1}[direction]
    captures = int(state.cells[PAWNS + 1 - state.turn]) >> (PITCH * to_row + to_column) & 1
    return ((row * columns + column) * 2 * DIRECTIONS + DIRECTIONS * state.turn + direction) * 2 + captures


@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_same_as_openspiel(compare_with_openspiel: Callable[..., None], rows: int, columns: int) -> None:
    peer = f"breakthrough(rows={rows},columns={columns})"
    compare_with_openspiel(Breakthrough(rows=rows, columns=columns), peer, 1000, to_openspiel)


@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_contract(rows: int, columns: int) -> None:
    check(Breakthrough(rows=rows, columns=columns), matches=3)


@pytest.mark.parametrize("given", [{"rows": 3}, {"rows": 9}, {"columns": 1}, {"columns": 9}, {"columns": "8"}])
def test_bad_parameters(given: dict[str, object]) -> None:
    with pytest.raises(UserError, match=f"{next(iter(given))} must be a whole number from"):
        Breakthrough(**given)


def test_unknown_parameter() -> None:
    with pytest.raises(UserError, match="parameter of breakthrough"):
        Breakthrough(size=8)


def test_illegal_text() -> None:
    state = Breakthrough().new_state(stream(1))
    with pytest.raises(UserError, match="'a8-a7' is not a legal action"):
        state.game.parse_action(state, "a8-a7")


def test_sizes() -> None:
    game = Breakthrough()
    assert (game.spec, game.cells, game.max_legal, game.max_moves) == ("breakthrough", 5, 48, 177)
    # On 4 x 2 the bound is reached: the longest match there has nine moves.
    small = Breakthrough(rows=4, columns=2)
    assert count_tree(small.new_state(stream(1)), small.max_moves)[-1] > 0


def test_rendering() -> None:
    state = Breakthrough(rows=5, columns=4).new_state(stream(1))
    state.apply(state.game.parse_action(state, "B5-C4"), stream(1))
    assert state.game.render(state).splitlines() == [
        "5 ● · ● ●",
        "4 · · ● ·",
        "3 · · · ·",
        "2 · · · ·",
        "1 ○ ○ ○ ○",
        "  a b c d",
        "● Black goes down, ○ White goes up",
    ]


def test_recorded_match() -> None:
    check_recorded(Breakthrough(), RECORDED.read_text())
