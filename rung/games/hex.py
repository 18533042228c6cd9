"""Hex: two players place stones on a rhombus of hexagons; whoever joins their own two opposite edges wins."""

from __future__ import annotations

import numpy as np

from rung.games.bits import lowest, nth, popcount
from rung.games.compiled import KernelGame, KernelState, Shape
from rung.games.game import State
from rung.games.kernel import OVER, Cells, Kernels, Reals, Rng, kernel
from rung.games.rng import below, draw
from rung.jit import jit
from rung.parameters import Parameter

# One bit a hexagon, row by row from the top left, 64 to a word; a hexagon touches the two beside it, two above and two
# below. Size 3, with its indices, which are also the actions:
#
#     0 1 2            Black joins top and bottom,
#      3 4 5           White joins left and right.
#       6 7 8
#
# The state: the size, the stones played, the winner, Black's words, then as many of White's.
SIZE, MOVES, WINNER, STONES = range(4)
BLACK, WHITE, NOBODY = 0, 1, -1
WORD = 64
SMALLEST, LARGEST = 2, 19
COLUMN_NAMES = "abcdefghijklmnopqrs"


def words_for(size: int) -> int:
    """How many words hold a board."""
    return (size * size + WORD - 1) // WORD


def _masks(keeps_last_column: bool) -> np.ndarray[tuple[int, int], np.dtype[np.uint64]]:
    """For every size, the words with the bits of the board set, with or without those of its last column."""
    masks = np.zeros((LARGEST + 1, words_for(LARGEST)), dtype=np.uint64)
    for size in range(SMALLEST, LARGEST + 1):
        for at in range(size * size):
            if keeps_last_column or at % size < size - 1:
                masks[size, at // WORD] |= np.uint64(1 << (at % WORD))
    return masks


_BOARD = _masks(keeps_last_column=True)
_HAS_RIGHT = _masks(keeps_last_column=False)
_NONE, _ALL = np.uint64(0), np.uint64((1 << WORD) - 1)
_ONE = np.uint64(1)
_words_for = jit(words_for)


@jit
def _spans(board: Cells, first: int, size: int) -> bool:
    """Whether the stones in the words from `first` join top and bottom; overwrites these words.

    Add a triangle of Black's stones under the board and one of White's stones to its right: that makes a triangular
    board of the game of Y with the same winner. Replacing every three mutually adjacent hexagons by one in the colour
    of the majority gives a triangle one smaller, again with the same winner (van Rijswijck, "Search and evaluation in
    Hex", 2002), until the one hexagon that is left says who it is. On words this takes no branches.

    Bits past the end of the board stand for the first of Black's added stones and must be set.
    """
    words = _words_for(size)
    row = np.uint64(size)
    for left in range(2 * size - 3, -1, -1):
        needed = min(words, (left * size) // WORD + 1)  # after this step only hexagons with row + column <= left matter
        for w in range(needed):
            here = np.uint64(board[first + w])
            after = np.uint64(board[first + w + 1]) if w + 1 < words else _ALL
            right = ((here >> _ONE) | (after << np.uint64(WORD - 1))) & _HAS_RIGHT[size, w]
            under = (here >> row) | (after << (np.uint64(WORD) - row))
            majority = (here & (right | under)) | (right & under)
            board[first + w] = np.int64(majority | ~_BOARD[size, w])
    return bool(board[first] & 1)


@jit
def _has_won(state: Cells, seat: int) -> bool:
    """Black wins by a chain of stones; White wins when not even all other hexagons would give Black a chain."""
    size = state[SIZE]
    words = _words_for(size)
    board = np.empty(words, dtype=np.int64)
    for w in range(words):
        stones = np.uint64(state[STONES + seat * words + w])
        board[w] = np.int64((stones if seat == BLACK else ~stones) | ~_BOARD[size, w])
    return _spans(board, 0, size) == (seat == BLACK)


@kernel
def setup(state: Cells, params: Cells, rng: Rng) -> None:
    state[SIZE] = params[0]
    state[MOVES] = 0
    state[WINNER] = NOBODY
    for w in range(2 * _words_for(params[0])):
        state[STONES + w] = 0


@kernel
def turn(state: Cells) -> int:
    return OVER if state[WINNER] != NOBODY else state[MOVES] & 1


@kernel
def legal(state: Cells, out: Cells) -> int:
    size = state[SIZE]
    words = _words_for(size)
    n = 0
    for w in range(words):
        empty = _BOARD[size, w] & ~np.uint64(state[STONES + w] | state[STONES + words + w])
        while empty:
            out[n] = WORD * w + lowest(empty)
            empty &= empty - _ONE
            n += 1
    return n


@kernel
def apply(state: Cells, action: int, rng: Rng) -> None:
    seat = state[MOVES] & 1
    state[STONES + seat * _words_for(state[SIZE]) + action // WORD] |= 1 << (action % WORD)
    state[MOVES] += 1
    if state[MOVES] > 2 * (state[SIZE] - 1) and _has_won(state, seat):  # a chain has a stone in every row
        state[WINNER] = seat


@kernel
def payoff(state: Cells, out: Reals) -> None:
    out[BLACK] = 0.5
    out[WHITE] = 0.5
    if state[WINNER] != NOBODY:
        out[state[WINNER]] = 1.0
        out[1 - state[WINNER]] = 0.0


@jit
def _recolour_one(state: Cells, words: int, from_black: bool, choices: int, rng: Rng) -> None:
    """In a playout, when White's words hold what was empty: make a random one of these black, or no longer black."""
    n = below(rng, choices)
    flip = _NONE if from_black else _ALL
    for w in range(words):
        candidates = np.uint64(state[STONES + words + w]) & (np.uint64(state[STONES + w]) ^ flip)
        here = popcount(candidates)
        if n < here:
            state[STONES + w] ^= 1 << nth(candidates, n)
            return
        n -= here


@kernel
def playout(state: Cells, rng: Rng) -> None:
    """Fill the board at once: playing on after a win does not change who has won, so uniformly random moves to the end
    have the same winner, and their result is a uniformly random choice of Black's share of the empty hexagons. That is
    drawn by a coin for every hexagon, put right by recolouring random ones until the number fits."""
    if state[WINNER] != NOBODY:
        return
    size = state[SIZE]
    words = _words_for(size)
    empties = size * size - state[MOVES]
    wanted = (empties + 1 - (state[MOVES] & 1)) // 2
    chosen = 0
    for w in range(words):
        black = np.uint64(state[STONES + w])
        empty = _BOARD[size, w] & ~(black | np.uint64(state[STONES + words + w]))
        blackened = empty & draw(rng)
        chosen += popcount(blackened)
        state[STONES + w] = np.int64(black | blackened | ~_BOARD[size, w])
        state[STONES + words + w] = np.int64(empty)
    for surplus in range(chosen, wanted, -1):
        _recolour_one(state, words, True, surplus, rng)
    for short in range(chosen, wanted):
        _recolour_one(state, words, False, empties - short, rng)
    state[WINNER] = BLACK if _spans(state, STONES, size) else WHITE


class Hex(KernelGame):
    name = "hex"
    version = 1
    summary = "Place stones on a rhombus of hexagons; join your two opposite edges to win."
    parameters = (Parameter("size", 11, "hexagons along an edge of the board", SMALLEST, LARGEST),)
    kernels = Kernels(setup=setup, turn=turn, legal=legal, apply=apply, payoff=payoff, playout=playout)

    def shape(self) -> Shape:
        size = int(self.values["size"])
        return Shape(seats=2, cells=STONES + 2 * words_for(size), max_legal=size * size, max_moves=size * size)

    def names_of_seats(self) -> tuple[str, ...]:
        return ("Black", "White")

    def action_text(self, state: State, action: int) -> str:
        row, column = divmod(action, int(self.values["size"]))
        return f"{COLUMN_NAMES[column]}{row + 1}"

    def render(self, state: State) -> str:
        assert isinstance(state, KernelState)
        size = int(self.values["size"])
        words = words_for(size)
        black, white = (
            sum(int(state.cells[STONES + seat * words + w]) % (1 << WORD) << (WORD * w) for w in range(words))
            for seat in (BLACK, WHITE)
        )
        lines = ["   " + " ".join(COLUMN_NAMES[:size])]
        for row in range(size):
            at = range(row * size, (row + 1) * size)
            stones = " ".join("●" if black >> i & 1 else "○" if white >> i & 1 else "·" for i in at)
            lines.append(f"{' ' * row}{row + 1:2} {stones}")
        return "\n".join([*lines, "● Black joins top and bottom, ○ White joins left and right"])
