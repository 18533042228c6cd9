"""Breakthrough: two ranks of pawns a side that only go forward; reach the far rank, or capture everything, to win."""

from __future__ import annotations

import numpy as np

from rung.games.bits import lowest, nth, popcount
from rung.games.compiled import KernelGame, KernelState, Shape
from rung.games.game import State
from rung.games.kernel import OVER, Cells, Kernels, Reals, Rng, kernel
from rung.games.rng import below
from rung.jit import jit
from rung.parameters import Parameter

# One bit a square, eight to a row whatever the number of columns, from the top left. Black starts at the top, moves
# first and goes down the board. An action is 64 * direction + the square the pawn leaves.
#
#     8    0  1  2  3  4  5  6  7     b b b b b b b b      directions:
#     7    8  9 10 11 12 13 14 15     b b b b b b b b        LEFT   diagonally, towards column a
#     6   16 17 18 19 20 21 22 23     . . . . . . . .        AHEAD  straight, never capturing
#     ⋮                               ⋮                      RIGHT  diagonally, away from column a
#     1   56 57 58 59 60 61 62 63     w w w w w w w w
#          a  b  c  d  e  f  g  h
PITCH = 8
SQUARES = PITCH * PITCH
LEFT, AHEAD, RIGHT, DIRECTIONS = range(4)
BLACK, WHITE, NOBODY = 0, 1, -1
PAWNS, BOARD, MOVES, WINNER, CELLS = 0, 2, 3, 4, 5  # two cells of pawns, Black's and White's; BOARD: squares in play

FEWEST_ROWS, FEWEST_COLUMNS = 4, 2
DEEP_ROWS = 6
COLUMN_NAMES = "abcdefgh"


def ranks_for(rows: int) -> int:
    """How many ranks of pawns each side begins with."""
    return 2 if rows >= DEEP_ROWS else 1


_ONE = np.uint64(1)
_ROW = np.uint64((1 << PITCH) - 1)
_FIRST_COLUMN = np.uint64(sum(1 << (PITCH * row) for row in range(PITCH)))
_NOT_FIRST, _NOT_LAST = ~_FIRST_COLUMN, ~(_FIRST_COLUMN << np.uint64(PITCH - 1))
_SHORT, _STRAIGHT, _LONG = np.uint64(PITCH - 1), np.uint64(PITCH), np.uint64(PITCH + 1)
_ranks_for = jit(ranks_for)


@jit
def _targets(mine: np.uint64, theirs: np.uint64, board: np.uint64, seat: int) -> tuple[np.uint64, np.uint64, np.uint64]:
    """The squares that a seat's pawns can go to, by direction."""
    open_ = board & ~mine
    if seat == BLACK:
        left, ahead, right = mine << _SHORT, mine << _STRAIGHT, mine << _LONG
    else:
        left, ahead, right = mine >> _LONG, mine >> _STRAIGHT, mine >> _SHORT
    return left & open_ & _NOT_LAST, ahead & open_ & ~theirs, right & open_ & _NOT_FIRST


@jit
def _step(seat: int, direction: int) -> int:
    """How far a move goes, as a difference of squares."""
    return direction - AHEAD + (PITCH if seat == BLACK else -PITCH)


@jit
def _goal(board: np.uint64, seat: int) -> np.uint64:
    return board & ~(board >> _STRAIGHT) if seat == BLACK else board & _ROW


@kernel
def setup(state: Cells, params: Cells, rng: Rng) -> None:
    rows, columns = params[0], params[1]
    row = (_ONE << np.uint64(columns)) - _ONE
    board = np.uint64(0)
    for _ in range(rows):
        board = (board << _STRAIGHT) | row
    ranks = _ranks_for(rows)
    pawns = row | (row << _STRAIGHT) if ranks == 2 else row
    state[PAWNS + BLACK] = np.int64(pawns)
    state[PAWNS + WHITE] = np.int64(pawns << np.uint64(PITCH * (rows - ranks)))
    state[BOARD] = np.int64(board)
    state[MOVES] = 0
    state[WINNER] = NOBODY


@kernel
def turn(state: Cells) -> int:
    return OVER if state[WINNER] != NOBODY else state[MOVES] & 1


@jit
def _list_moves(targets: np.uint64, seat: int, direction: int, out: Cells, n: int) -> int:
    """Write the moves to these targets from `out[n]` on; returns how many there are then."""
    base = SQUARES * direction - _step(seat, direction)
    while targets:
        out[n] = base + lowest(targets)
        targets &= targets - _ONE
        n += 1
    return n


@kernel
def legal(state: Cells, out: Cells) -> int:
    seat = state[MOVES] & 1
    mine, theirs = np.uint64(state[PAWNS + seat]), np.uint64(state[PAWNS + 1 - seat])
    left, ahead, right = _targets(mine, theirs, np.uint64(state[BOARD]), seat)
    n = _list_moves(left, seat, LEFT, out, 0)
    n = _list_moves(ahead, seat, AHEAD, out, n)
    return _list_moves(right, seat, RIGHT, out, n)


@kernel
def apply(state: Cells, action: int, rng: Rng) -> None:
    seat = state[MOVES] & 1
    origin = action % SQUARES
    target = _ONE << np.uint64(origin + _step(seat, action // SQUARES))
    theirs = np.uint64(state[PAWNS + 1 - seat]) & ~target
    state[PAWNS + seat] ^= np.int64(target | (_ONE << np.uint64(origin)))
    state[PAWNS + 1 - seat] = np.int64(theirs)
    state[MOVES] += 1
    if not theirs or target & _goal(np.uint64(state[BOARD]), seat):
        state[WINNER] = seat


@kernel
def payoff(state: Cells, out: Reals) -> None:
    out[BLACK] = 0.5
    out[WHITE] = 0.5
    if state[WINNER] != NOBODY:
        out[state[WINNER]] = 1.0
        out[1 - state[WINNER]] = 0.0


@jit
def _random_move(
    mine: np.uint64, theirs: np.uint64, board: np.uint64, seat: int, rng: Rng
) -> tuple[np.uint64, np.uint64]:
    """The square a uniformly random move leaves and the one it goes to, as bits."""
    left, ahead, right = _targets(mine, theirs, board, seat)
    n_left, n_ahead = popcount(left), popcount(ahead)
    n = below(rng, n_left + n_ahead + popcount(right))
    chosen, skip, direction = left, n, LEFT
    if n >= n_left:
        chosen, skip, direction = ahead, n - n_left, AHEAD
    if n >= n_left + n_ahead:
        chosen, skip, direction = right, n - n_left - n_ahead, RIGHT
    target = _ONE << np.uint64(nth(chosen, skip))
    if seat == BLACK:
        return target >> np.uint64(_step(seat, direction)), target
    return target << np.uint64(-_step(seat, direction)), target


@kernel
def playout(state: Cells, rng: Rng) -> None:
    """The whole random playout on local variables."""
    if state[WINNER] != NOBODY:
        return
    board = np.uint64(state[BOARD])
    black, white = np.uint64(state[PAWNS + BLACK]), np.uint64(state[PAWNS + WHITE])
    black_goal, white_goal = _goal(board, BLACK), _goal(board, WHITE)
    blacks_turn = (state[MOVES] & 1) == BLACK
    while True:
        if blacks_turn:
            origin, target = _random_move(black, white, board, BLACK, rng)
            black ^= origin | target
            white &= ~target
            if target & black_goal or not white:
                state[WINNER] = BLACK
                return
        blacks_turn = True
        origin, target = _random_move(white, black, board, WHITE, rng)
        white ^= origin | target
        black &= ~target
        if target & white_goal or not black:
            state[WINNER] = WHITE
            return


class Breakthrough(KernelGame):
    name = "breakthrough"
    version = 1
    summary = "Pawns that only go forward: reach the far rank, or capture every pawn, to win."
    parameters = (
        Parameter("rows", 8, "rows of the board", FEWEST_ROWS, PITCH),
        Parameter("columns", 8, "columns of the board", FEWEST_COLUMNS, PITCH),
    )
    kernels = Kernels(setup=setup, turn=turn, legal=legal, apply=apply, payoff=payoff, playout=playout)

    def shape(self) -> Shape:
        rows, columns = int(self.values["rows"]), int(self.values["columns"])
        ranks = ranks_for(rows)
        # Every move takes a pawn one row on, and all but the winning one stop short of the far rank.
        steps = columns * sum(rows - 2 - rank for rank in range(ranks))
        return Shape(seats=2, cells=CELLS, max_legal=DIRECTIONS * ranks * columns, max_moves=2 * steps + 1)

    def names_of_seats(self) -> tuple[str, ...]:
        return ("Black", "White")

    def action_text(self, state: State, action: int) -> str:
        assert isinstance(state, KernelState)
        seat = int(state.cells[MOVES]) & 1
        direction, origin = divmod(action, SQUARES)
        target = origin + direction - AHEAD + (PITCH if seat == BLACK else -PITCH)
        captures = int(state.cells[PAWNS + 1 - seat]) >> target & 1
        return f"{self._square(origin)}{'x' if captures else '-'}{self._square(target)}"

    def _square(self, at: int) -> str:
        row, column = divmod(at, PITCH)
        return f"{COLUMN_NAMES[column]}{int(self.values['rows']) - row}"

    def render(self, state: State) -> str:
        assert isinstance(state, KernelState)
        rows, columns = int(self.values["rows"]), int(self.values["columns"])
        black, white = (int(state.cells[PAWNS + seat]) for seat in (BLACK, WHITE))
        lines = []
        for row in range(rows):
            at = range(PITCH * row, PITCH * row + columns)
            pawns = " ".join("●" if black >> i & 1 else "○" if white >> i & 1 else "·" for i in at)
            lines.append(f"{rows - row} {pawns}")
        return "\n".join([*lines, "  " + " ".join(COLUMN_NAMES[:columns]), "● Black goes down, ○ White goes up"])
