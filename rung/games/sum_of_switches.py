"""Sum of Switches: take numbers of unknown value in turn; made by Tom and Müller as a near-ideal case for RAVE.

David Tom and Martin Müller, "A Study of UCT and its Enhancements in an Artificial Game", 2009.
"""

from __future__ import annotations

import numpy as np

from rung.games.bits import lowest, nth
from rung.games.compiled import KernelGame, KernelState, Shape
from rung.games.game import State
from rung.games.kernel import OVER, Cells, Kernels, Reals, Rng, kernel
from rung.games.rng import below
from rung.jit import jit
from rung.parameters import Parameter

# Moves are bits, so that one cell holds all that a seat has taken:
#
#     N  MOVES  MARGIN  FIRST  SECOND  │  VALUES … VALUES + n - 1
#                       └ bit i: that seat took move i        └ the value of move i
N, MOVES, MARGIN, FIRST, SECOND, VALUES = range(6)  # MARGIN: what seat 0 has taken minus what seat 1 has taken
MOST_MOVES = 64  # as many as a cell has bits
DEFAULT_MOVES = 10

_PARAM_N, _PARAM_VALUES = range(2)
_SHUFFLED = 0  # the first of the choices of `values`

_ONE = np.uint64(1)
_ALL = np.uint64((1 << MOST_MOVES) - 1)


@jit
def _free(state: Cells) -> np.uint64:
    """The moves nobody has taken."""
    playable = _ALL >> np.uint64(MOST_MOVES - state[N])
    return playable & ~np.uint64(state[FIRST] | state[SECOND])


@kernel
def setup(state: Cells, params: Cells, rng: Rng) -> None:
    n = params[_PARAM_N]
    state[N] = n
    state[MOVES] = 0
    state[MARGIN] = 0
    state[FIRST] = 0
    state[SECOND] = 0
    for move in range(n):
        state[VALUES + move] = move
    if params[_PARAM_VALUES] == _SHUFFLED:
        for move in range(n - 1, 0, -1):
            other = below(rng, move + 1)
            value = state[VALUES + move]
            state[VALUES + move] = state[VALUES + other]
            state[VALUES + other] = value


@kernel
def turn(state: Cells) -> int:
    if state[MOVES] == state[N]:
        return OVER
    return int(state[MOVES] & 1)


@kernel
def legal(state: Cells, out: Cells) -> int:
    free = _free(state)
    n = 0
    while free:
        out[n] = lowest(free)
        free &= free - _ONE
        n += 1
    return n


@kernel
def allows(state: Cells, action: int) -> int:
    if action < 0 or action >= state[N]:
        return 0
    return int((_free(state) >> np.uint64(action)) & _ONE)


@kernel
def sample(state: Cells, rng: Rng) -> int:
    return nth(_free(state), below(rng, state[N] - state[MOVES]))


@kernel
def apply(state: Cells, action: int, rng: Rng) -> None:
    seat = state[MOVES] & 1
    state[FIRST + seat] |= np.int64(_ONE << np.uint64(action))
    state[MARGIN] += (1 - 2 * seat) * state[VALUES + action]
    state[MOVES] += 1


@kernel
def payoff(state: Cells, out: Reals) -> None:
    komi = state[N] // 2
    out[0] = 1.0 if state[MARGIN] >= komi else 0.0
    out[1] = 1.0 - out[0]


@kernel
def score(state: Cells, out: Reals) -> None:
    out[0] = np.float64(state[MARGIN])
    out[1] = -np.float64(state[MARGIN])


@kernel
def playout(state: Cells, rng: Rng) -> None:
    """Random play gives seat 0 a random set of the free moves, whatever their order: one pass draws it.

    Selection sampling (Knuth, The Art of Computer Programming 3.4.2, algorithm S).
    """
    free = _free(state)
    left = state[N] - state[MOVES]
    wanted = (state[N] + 1) // 2 - (state[MOVES] + 1) // 2  # what seat 0 takes in all minus what it has
    while left > 0:
        move = lowest(free)
        free &= free - _ONE
        seat = 1
        if below(rng, left) < wanted:
            wanted -= 1
            seat = 0
        state[FIRST + seat] |= np.int64(_ONE << np.uint64(move))
        state[MARGIN] += (1 - 2 * seat) * state[VALUES + move]
        left -= 1
    state[MOVES] = state[N]


class SumOfSwitches(KernelGame):
    name = "sum_of_switches"
    version = 1
    summary = "Take numbers of unknown value in turn; the larger sum wins, less a head start for the second player."
    parameters = (
        Parameter("n", DEFAULT_MOVES, "how many moves there are, with the values 0 to n - 1", 2, MOST_MOVES),
        Parameter(
            "values",
            "shuffled",
            "what move i is worth: a random value (shuffled) or i (identity)",
            choices=("shuffled", "identity"),
        ),
    )
    kernels = Kernels(
        setup=setup,
        turn=turn,
        legal=legal,
        apply=apply,
        payoff=payoff,
        score=score,
        allows=allows,
        sample=sample,
        playout=playout,
    )

    def shape(self) -> Shape:
        n = int(self.values["n"])
        return Shape(seats=2, cells=VALUES + n, max_legal=n, max_moves=n)

    def names_of_seats(self) -> tuple[str, ...]:
        return ("First", "Second")

    def action_text(self, state: State, action: int) -> str:
        return str(action)

    def render(self, state: State) -> str:
        """Who took which move and what it turned out to be worth; the free ones keep their secret."""
        assert isinstance(state, KernelState)
        n = int(state.cells[N])
        taken = [[move for move in range(n) if int(state.cells[cell]) >> move & 1] for cell in (FIRST, SECOND)]
        values = state.cells[VALUES:].tolist()
        sums = [sum(values[move] for move in moves) for moves in taken]
        lines = _table(values, taken)
        for mark, name, total in zip("●○", self.seat_names, sums, strict=True):
            lines.append(f"{mark} {name:<6} {total:5d}")
        margin, komi = sums[0] - sums[1], n // 2
        lines.append(f"  margin {margin:+5d}   ({self.seat_names[0]} needs {komi:+d})")
        if state.over:
            lines.append(f"{self.seat_names[0 if margin >= komi else 1]} wins.")
        return "\n".join(lines)


_A_ROW = 16
"""Moves that are shown side by side."""


def _table(values: list[int], taken: list[list[int]]) -> list[str]:
    """Three lines for every few moves: their numbers, who took them, and what they were worth."""
    lines = []
    for start in range(0, len(values), _A_ROW):
        moves = range(start, min(len(values), start + _A_ROW))
        marks = ["●" if move in taken[0] else "○" if move in taken[1] else "·" for move in moves]
        worth = ["?" if mark == "·" else str(values[move]) for move, mark in zip(moves, marks, strict=True)]
        for title, entries in (("move", [str(move) for move in moves]), ("taken", marks), ("value", worth)):
            lines.append(f"  {title:<5} │" + "".join(f"{entry:>4}" for entry in entries))
        lines.append("")
    return lines
