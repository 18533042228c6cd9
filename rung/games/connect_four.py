"""Connect Four: drop discs into seven columns; four in a row, column or diagonal win. The kernel game to copy."""

from __future__ import annotations

import numpy as np

from rung.games.bits import popcount
from rung.games.compiled import KernelGame, KernelState, Shape
from rung.games.game import State
from rung.games.kernel import OVER, Cells, Kernels, Reals, Rng, kernel
from rung.games.rng import below
from rung.jit import jit

# One bit a square, column by column from the left, each column from the bottom, with an empty row on top so that lines
# do not run from one column into the next:
#
#     6 13 20 27 34 41 48   (always empty)
#     5 12 19 26 33 40 47
#     4 11 18 25 32 39 46
#     3 10 17 24 31 38 45
#     2  9 16 23 30 37 44
#     1  8 15 22 29 36 43
#     0  7 14 21 28 35 42
COLUMNS, ROWS, PITCH = 7, 6, 7
MINE, THEIRS, MOVES, WINNER, CELLS = range(5)  # discs of the seat to act and of the other; discs played; who has won
NOBODY = -1

_ONE = np.uint64(1)
_COLUMN = np.uint64((1 << ROWS) - 1)
_BOTTOM = np.uint64(sum(1 << (PITCH * column) for column in range(COLUMNS)))
_BOARD = np.uint64(int(_BOTTOM) * int(_COLUMN))
_DIRECTIONS = (np.uint64(1), np.uint64(PITCH - 1), np.uint64(PITCH), np.uint64(PITCH + 1))


@jit
def _has_four(discs: np.uint64) -> bool:
    for step in _DIRECTIONS:
        pairs = discs & (discs >> step)
        if pairs & (pairs >> (step + step)):
            return True
    return False


@jit
def _landing_squares(discs: np.uint64) -> np.uint64:
    """The lowest empty square of every column that is not full."""
    return (discs + _BOTTOM) & _BOARD


@kernel
def setup(state: Cells, params: Cells, rng: Rng) -> None:
    state[MINE] = 0
    state[THEIRS] = 0
    state[MOVES] = 0
    state[WINNER] = NOBODY


@kernel
def turn(state: Cells) -> int:
    if state[WINNER] != NOBODY or state[MOVES] == COLUMNS * ROWS:
        return OVER
    return state[MOVES] & 1


@kernel
def legal(state: Cells, out: Cells) -> int:
    landing = _landing_squares(np.uint64(state[MINE] | state[THEIRS]))
    n = 0
    for column in range(COLUMNS):
        if (landing >> np.uint64(PITCH * column)) & _COLUMN:
            out[n] = column
            n += 1
    return n


@kernel
def apply(state: Cells, action: int, rng: Rng) -> None:
    landing = _landing_squares(np.uint64(state[MINE] | state[THEIRS]))
    mine = np.uint64(state[MINE]) | (landing & (_COLUMN << np.uint64(PITCH * action)))
    if _has_four(mine):
        state[WINNER] = state[MOVES] & 1
    state[MINE] = state[THEIRS]
    state[THEIRS] = np.int64(mine)
    state[MOVES] += 1


@kernel
def payoff(state: Cells, out: Reals) -> None:
    out[0] = 0.5
    out[1] = 0.5
    if state[WINNER] != NOBODY:
        out[state[WINNER]] = 1.0
        out[1 - state[WINNER]] = 0.0


@kernel
def playout(state: Cells, rng: Rng) -> None:
    """The whole random playout on local variables: several times as fast as one kernel call a move."""
    if state[WINNER] != NOBODY:
        return
    mine = np.uint64(state[MINE])
    theirs = np.uint64(state[THEIRS])
    moves = state[MOVES]
    while moves < COLUMNS * ROWS:
        landing = _landing_squares(mine | theirs)
        skip = below(rng, popcount(landing))
        while skip > 0:
            landing &= landing - _ONE
            skip -= 1
        mine |= landing & (~landing + _ONE)
        if _has_four(mine):
            state[WINNER] = moves & 1
            break
        mine, theirs = theirs, mine
        moves += 1


class ConnectFour(KernelGame):
    name = "connect_four"
    version = 1
    summary = "Drop discs into seven columns; four in a line win."
    kernels = Kernels(setup=setup, turn=turn, legal=legal, apply=apply, payoff=payoff, playout=playout)

    def shape(self) -> Shape:
        return Shape(seats=2, cells=CELLS, max_legal=COLUMNS, max_moves=COLUMNS * ROWS)

    def names_of_seats(self) -> tuple[str, ...]:
        return ("X", "O")

    def action_text(self, state: State, action: int) -> str:
        return str(action + 1)

    def render(self, state: State) -> str:
        assert isinstance(state, KernelState)
        moved = int(state.cells[MOVES]) & 1
        boards = (int(state.cells[MINE]), int(state.cells[THEIRS]))
        discs = {"X": boards[moved], "O": boards[1 - moved]}
        rows = []
        for row in range(ROWS - 1, -1, -1):
            bits = [1 << (PITCH * column + row) for column in range(COLUMNS)]
            rows.append("│ " + " ".join(next((s for s, d in discs.items() if d & bit), "·") for bit in bits) + " │")
        return "\n".join(
            [*rows, "└" + "─" * (2 * COLUMNS + 1) + "┘", "  " + " ".join(str(c + 1) for c in range(COLUMNS))]
        )
