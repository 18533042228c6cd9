"""Repeated rock-paper-scissors: both choose in secret, round after round.

Nathan Sturtevant, "Monte Carlo Tree Search and Related Algorithms for Games", sections 25.3 and 25.4.
"""

from __future__ import annotations

import numpy as np

from rung.games.compiled import KernelGame, KernelState, Shape
from rung.games.game import State
from rung.games.kernel import HIDDEN, OVER, Cells, Kernels, Reals, Rng, kernel
from rung.games.rng import below
from rung.parameters import Parameter

ROCK, PAPER, SCISSORS = range(3)
CHOICES = 3
NAMES = ("rock", "paper", "scissors")

# The state does not grow with the rounds:
#
#     ROUNDS  REWARD  │  ROUND  CHOICE  MARGIN  │  LAST  LAST + 1  │  COUNTS … COUNTS + 2   COUNTS + 3 … COUNTS + 5
#     as set up          played  └ seat 0's, until   └ of seat 0, 1      └ rock, paper, scissors of seat 0, of seat 1
#                                  seat 1 chooses
ROUNDS, REWARD, ROUND, CHOICE, MARGIN, LAST = range(6)  # MARGIN: rounds seat 0 has won minus rounds it has lost
COUNTS = LAST + 2
CELLS = COUNTS + 2 * CHOICES
NONE = -1  # no choice yet

DEFAULT_ROUNDS = 1000
MOST_ROUNDS = 100_000
_PARAM_ROUNDS, _PARAM_REWARD = range(2)
_MEAN = 0  # the first of the choices of `reward`
_GAIN = np.array([0, 1, -1])  # of a over b, by (a - b) modulo 3: each choice beats the one before it


@kernel
def setup(state: Cells, params: Cells, rng: Rng) -> None:
    for cell in range(CELLS):
        state[cell] = 0
    state[ROUNDS] = params[_PARAM_ROUNDS]
    state[REWARD] = params[_PARAM_REWARD]
    state[CHOICE] = NONE
    state[LAST] = NONE
    state[LAST + 1] = NONE


@kernel
def turn(state: Cells) -> int:
    if state[ROUND] == state[ROUNDS]:
        return OVER
    return 0 if state[CHOICE] == NONE else 1


@kernel
def legal(state: Cells, out: Cells) -> int:
    for choice in range(CHOICES):
        out[choice] = choice
    return CHOICES


@kernel
def apply(state: Cells, action: int, rng: Rng) -> None:
    if state[CHOICE] == NONE:
        state[CHOICE] = action
        return
    first = state[CHOICE]
    state[MARGIN] += _GAIN[(first - action + CHOICES) % CHOICES]
    state[LAST] = first
    state[LAST + 1] = action
    state[COUNTS + first] += 1
    state[COUNTS + CHOICES + action] += 1
    state[CHOICE] = NONE
    state[ROUND] += 1


@kernel
def payoff(state: Cells, out: Reals) -> None:
    mean = state[MARGIN] / state[ROUNDS]
    if state[REWARD] != _MEAN:
        mean = np.sign(mean)
    out[0] = (1.0 + mean) / 2.0
    out[1] = (1.0 - mean) / 2.0


@kernel
def score(state: Cells, out: Reals) -> None:
    out[0] = np.float64(state[MARGIN])
    out[1] = -np.float64(state[MARGIN])


@kernel
def observe(state: Cells, seat: int, out: Cells) -> None:
    for cell in range(CELLS):
        out[cell] = state[cell]
    if seat == 1 and state[CHOICE] != NONE:
        out[CHOICE] = HIDDEN


@kernel
def determinize(state: Cells, seat: int, rng: Rng) -> None:
    if state[CHOICE] == HIDDEN:
        state[CHOICE] = below(rng, CHOICES)


@kernel
def label(state: Cells, action: int, seat: int) -> int:
    if seat == 1 and state[CHOICE] == NONE:
        return HIDDEN
    return action


@kernel
def playout(state: Cells, rng: Rng) -> None:
    """Random choices make every round a win, a draw or a loss with equal chances, an open commitment or not."""
    for _ in range(state[ROUNDS] - state[ROUND]):
        state[MARGIN] += below(rng, CHOICES) - 1
    state[ROUND] = state[ROUNDS]


class RockPaperScissors(KernelGame):
    name = "rock_paper_scissors"
    version = 1
    summary = "Rock, paper or scissors, chosen at once and many times over; learn how the other chooses."
    parameters = (
        Parameter("rounds", DEFAULT_ROUNDS, "how many rounds a match has", 1, MOST_ROUNDS),
        Parameter(
            "reward",
            "mean",
            "mean: a round counts 1, 1/2 or 0 and the payoff is their mean; win: who won more rounds takes all",
            choices=("mean", "win"),
        ),
    )
    kernels = Kernels(
        setup=setup,
        turn=turn,
        legal=legal,
        apply=apply,
        payoff=payoff,
        score=score,
        observe=observe,
        determinize=determinize,
        label=label,
        playout=playout,
    )

    def shape(self) -> Shape:
        return Shape(seats=2, cells=CELLS, max_legal=CHOICES, max_moves=2 * int(self.values["rounds"]))

    def names_of_seats(self) -> tuple[str, ...]:
        return ("Left", "Right")

    def action_text(self, state: State, action: int) -> str:
        return NAMES[action]

    def render(self, state: State) -> str:
        assert isinstance(state, KernelState)
        cells = state.cells.tolist()
        lines = [f"{cells[ROUND]} of {cells[ROUNDS]} rounds played", ""]
        lines.append(" " * _NAME_WIDTH + "".join(f"{name:>10}" for name in NAMES))
        for seat, name in enumerate(self.seat_names):
            first = COUNTS + CHOICES * seat
            lines.append(f"{name:<{_NAME_WIDTH}}" + "".join(f"{count:10d}" for count in cells[first : first + CHOICES]))
        lines += ["", _balance(cells[MARGIN], cells[ROUNDS], self.seat_names)]
        if cells[LAST] != NONE:
            lines.append(f"Last round: {_round(cells[LAST], cells[LAST + 1], self.seat_names)}")
        if cells[CHOICE] != NONE:
            chosen = "in secret" if cells[CHOICE] == HIDDEN else NAMES[cells[CHOICE]]
            lines.append(f"This round: {self.seat_names[0]} has chosen {chosen}.")
        return "\n".join(lines)


_NAME_WIDTH = 8
_ARM = 20
"""Characters on each side of the balance."""


def _balance(margin: int, rounds: int, names: tuple[str, ...]) -> str:
    """A bar that grows towards whoever is ahead and is full where all rounds are won."""
    length = -(-abs(margin) * _ARM // rounds)
    left, right = ("█" * length, "") if margin > 0 else ("", "█" * length)
    lead = "even" if margin == 0 else f"{names[0 if margin > 0 else 1]} is {abs(margin)} ahead"
    return f"{names[0]} {left:·>{_ARM}}│{right:·<{_ARM}} {names[1]}   {lead}"


def _round(left: int, right: int, names: tuple[str, ...]) -> str:
    verdict = ("a draw", f"{names[0]} wins", f"{names[1]} wins")[(left - right) % CHOICES]
    return f"{NAMES[left]} against {NAMES[right]}, {verdict}."
