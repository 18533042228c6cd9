"""The platform's face of a kernel game: what `game.py` asks for, answered by the kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rung.errors import UserError
from rung.games.game import Actions, Game, Numbers, State
from rung.games.kernel import (
    ALLOWS,
    CHANCE,
    OVER,
    PLAYOUT,
    SAMPLE,
    SCORE,
    TABLE_MAX_LEGAL,
    TABLE_MAX_MOVES,
    VALUE,
    Cells,
    Kernels,
    Reals,
    Table,
    call_allows,
    call_apply,
    call_determinize,
    call_label,
    call_legal,
    call_observe,
    call_odds,
    call_payoff,
    call_playout,
    call_sample,
    call_score,
    call_setup,
    call_turn,
    call_value,
    pointer,
    table,
)
from rung.games.rng import Rng, below, pick
from rung.jit import entry, jit

_LEAST_ACTION, _LARGEST_ACTION = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class Shape:
    """The sizes of a game under its parameters."""

    seats: int
    cells: int
    """Length of the state array."""
    max_legal: int
    """Most legal actions that are listed; a state with more is played by sampled actions."""
    max_moves: int
    """No match is longer, dice included."""


class KernelGame(Game):
    """A game given by its kernels. A subclass declares facts, sizes and a rendering."""

    kernels: ClassVar[Kernels]
    shuffles: ClassVar[bool] = False
    """Whether `apply` ever draws from its rng; if not, the same action leads from the same state to the same state."""

    def __init__(self, **given: object) -> None:
        super().__init__(**given)
        shape = self.shape()
        self.seats, self.cells = shape.seats, shape.cells
        self.max_legal, self.max_moves = shape.max_legal, shape.max_moves
        self.seat_names = self.names_of_seats()
        self.teams = self.teams_of_seats()
        self.hidden = self.kernels.observe is not None
        self.chance = self.kernels.odds is not None

    def shape(self) -> Shape:
        raise NotImplementedError

    def names_of_seats(self) -> tuple[str, ...]:
        return tuple(f"Player {seat + 1}" for seat in range(self.seats))

    def teams_of_seats(self) -> tuple[int, ...]:
        return tuple(range(self.seats))

    def numbers(self) -> Cells:
        """The parameters as `setup` reads them, in the order of their declaration; choices by their index."""
        declared = [(p, self.values[p.name]) for p in self.parameters]
        return np.array([p.choices.index(str(v)) if p.choices else int(v) for p, v in declared], dtype=np.int64)

    @cached_property
    def table(self) -> Table:
        """The game for compiled code. Compiles the kernels, the first time ever."""
        return table(self.kernels, self.cells, self.seats, self.max_legal, self.max_moves)

    def new_state(self, rng: Rng) -> KernelState:
        state = KernelState(self, np.zeros(self.cells, dtype=np.int64))
        state.turn, state.n_legal = start(self.table, state.cells, self.numbers(), rng, state.actions)
        return state

    def state_of(self, cells: Cells) -> KernelState:
        """The state with these cells."""
        state = KernelState(self, cells)
        state.turn, state.n_legal = look(self.table, cells, state.actions)
        return state

    def load_state(self, data: bytes) -> KernelState:
        if len(data) != 8 * self.cells:
            raise UserError(f"A saved state of {self.spec} has {8 * self.cells} bytes, not {len(data)}.")
        return self.state_of(np.frombuffer(data, dtype="<i8").astype(np.int64))


class KernelState(State):
    """One position of a kernel game."""

    __slots__ = ("actions", "cells", "game", "n_legal", "turn")

    def __init__(self, game: KernelGame, cells: Cells) -> None:
        self.game = game
        self.cells = cells
        self.actions = np.empty(game.max_legal, dtype=np.int64)
        self.turn = OVER
        self.n_legal = 0

    def legal(self) -> Actions:
        return self.actions[: self.n_legal] if self.n_legal <= self.game.max_legal else self.actions[:0]

    def odds(self) -> Numbers:
        out = np.empty(self.n_legal)
        read_odds(self.game.table, self.cells, out)
        return out

    def allows(self, action: int) -> bool:
        fits = _LEAST_ACTION <= action <= _LARGEST_ACTION  # compiled code takes no other
        return fits and bool(is_legal(self.game.table, self.cells, action, self.actions, self.n_legal))

    def sample(self, rng: Rng) -> int:
        return draw_action(self.game.table, self.cells, rng)

    def apply(self, action: int, rng: Rng) -> None:
        self.turn, self.n_legal = advance(self.game.table, self.cells, action, rng, self.actions)

    def payoffs(self) -> Numbers:
        out = np.zeros(self.game.seats)
        read_payoff(self.game.table, self.cells, out)
        return out

    def scores(self) -> Numbers:
        out = np.zeros(self.game.seats)
        read_score(self.game.table, self.cells, out)
        return out

    def value(self, seat: int) -> float:
        return read_value(self.game.table, self.cells, seat)

    def observe(self, seat: int) -> KernelState:
        seen = KernelState(self.game, self.cells.copy())
        if self.game.hidden:
            read_observation(self.game.table, self.cells, seat, seen.cells)
        seen.turn = self.turn
        if self.turn == seat or not self.game.hidden:
            seen.n_legal = self.n_legal
            seen.actions[:] = self.actions
        return seen

    def determinize(self, seat: int, rng: Rng) -> KernelState:
        cells = self.cells.copy()
        if self.game.hidden:
            fill_hidden(self.game.table, cells, seat, rng)
        return self.game.state_of(cells)

    def label(self, action: int, seat: int) -> int:
        if self.game.kernels.label is None:
            return action
        return read_label(self.game.table, self.cells, action, seat)

    def copy(self) -> KernelState:
        return self.game.state_of(self.cells.copy())

    def save(self) -> bytes:
        return self.cells.astype("<i8").tobytes()


# -- what compiled code and Python both do with a game ---------------------------------------------------------------


@jit
def sample_chance(table: Table, state: Cells, rng: Rng, actions: Cells, odds: Reals) -> int:
    """An outcome of chance, by its odds; `actions` and `odds` are scratch."""
    n = call_legal(table, state, pointer(actions))
    call_odds(table, state, pointer(odds))
    return actions[pick(odds, n, rng)]


@jit
def sample_legal(table: Table, state: Cells, rng: Rng, actions: Cells) -> int:
    """A uniformly drawn legal action; `actions` is scratch."""
    if table[SAMPLE] != 0:
        return call_sample(table, state, rng)
    n = call_legal(table, state, pointer(actions))
    return actions[below(rng, n)]


@jit
def play_out(table: Table, state: Cells, rng: Rng, actions: Cells, odds: Reals) -> int:
    """Play uniformly random actions to the end; returns how many, or -1 where the game's own kernel did it."""
    if table[PLAYOUT] != 0:
        call_playout(table, state, rng)
        return -1
    for moves in range(table[TABLE_MAX_MOVES] + 1):
        turn = call_turn(table, state)
        if turn == OVER:
            return moves
        if turn == CHANCE:
            action = sample_chance(table, state, rng, actions, odds)
        else:
            action = sample_legal(table, state, rng, actions)
        call_apply(table, state, action, rng)
    return table[TABLE_MAX_MOVES] + 1


@jit
def _survey(table: Table, state: Cells, actions: Cells) -> tuple[int, int]:
    turn = call_turn(table, state)
    if turn == OVER:
        return turn, 0
    return turn, call_legal(table, state, pointer(actions))


@entry
def start(table: Table, cells: Cells, parameters: Cells, rng: Rng, actions: Cells) -> tuple[int, int]:
    call_setup(table, pointer(cells), pointer(parameters), pointer(rng))
    return _survey(table, pointer(cells), actions)


@entry
def look(table: Table, cells: Cells, actions: Cells) -> tuple[int, int]:
    return _survey(table, pointer(cells), actions)


@entry
def advance(table: Table, cells: Cells, action: int, rng: Rng, actions: Cells) -> tuple[int, int]:
    call_apply(table, pointer(cells), action, pointer(rng))
    return _survey(table, pointer(cells), actions)


@entry
def is_legal(table: Table, cells: Cells, action: int, actions: Cells, n: int) -> bool:
    if table[ALLOWS] != 0:
        return call_allows(table, pointer(cells), action) != 0
    if n > table[TABLE_MAX_LEGAL]:
        return False
    for i in range(n):
        if actions[i] == action:
            return True
    return False


@entry
def draw_action(table: Table, cells: Cells, rng: Rng) -> int:
    actions = np.empty(table[TABLE_MAX_LEGAL], dtype=np.int64)
    if call_turn(table, pointer(cells)) == CHANCE:
        return sample_chance(table, pointer(cells), pointer(rng), actions, np.empty(len(actions)))
    return sample_legal(table, pointer(cells), pointer(rng), actions)


@entry
def random_playouts(table: Table, cells: Cells, rng: Rng, count: int, totals: Reals) -> None:
    """Add up the payoffs of `count` random playouts from this state."""
    actions = np.empty(table[TABLE_MAX_LEGAL], dtype=np.int64)
    odds = np.empty(table[TABLE_MAX_LEGAL])
    payoffs = np.empty(len(totals))
    state = np.empty_like(cells)
    for _ in range(count):
        state[:] = cells
        play_out(pointer(table), pointer(state), pointer(rng), pointer(actions), pointer(odds))
        call_payoff(table, pointer(state), pointer(payoffs))
        totals += payoffs


@entry
def read_odds(table: Table, cells: Cells, out: Reals) -> None:
    call_odds(table, pointer(cells), pointer(out))


@entry
def read_payoff(table: Table, cells: Cells, out: Reals) -> None:
    call_payoff(table, pointer(cells), pointer(out))


@entry
def read_score(table: Table, cells: Cells, out: Reals) -> None:
    if table[SCORE] != 0:
        call_score(table, pointer(cells), pointer(out))
    else:
        call_payoff(table, pointer(cells), pointer(out))


@entry
def read_value(table: Table, cells: Cells, seat: int) -> float:
    if table[VALUE] != 0:
        return call_value(table, pointer(cells), seat)
    return 0.5


@entry
def read_observation(table: Table, cells: Cells, seat: int, out: Cells) -> None:
    call_observe(table, pointer(cells), seat, pointer(out))


@entry
def fill_hidden(table: Table, cells: Cells, seat: int, rng: Rng) -> None:
    call_determinize(table, pointer(cells), seat, pointer(rng))


@entry
def read_label(table: Table, cells: Cells, action: int, seat: int) -> int:
    return call_label(table, pointer(cells), action, seat)


@entry
def count_sequences(table: Table, cells: Cells, depth: int, rng: Rng, counts: Cells) -> None:
    """Add to `counts[d]` how many sequences of d + 1 actions (outcomes of dice included) there are, for d < depth."""
    width = table[TABLE_MAX_LEGAL]
    states = np.empty((depth + 1, len(cells)), dtype=np.int64)
    actions = np.empty((depth, width), dtype=np.int64)
    left = np.zeros(depth, dtype=np.int64)
    states[0] = cells
    left[0] = _survey(table, pointer(states[0]), actions[0])[1]
    at = 0
    while at >= 0:
        if left[at] == 0:
            at -= 1
            continue
        left[at] -= 1
        counts[at] += 1
        if at + 1 < depth:
            states[at + 1] = states[at]
            call_apply(table, pointer(states[at + 1]), actions[at, left[at]], pointer(rng))
            left[at + 1] = _survey(table, pointer(states[at + 1]), actions[at + 1])[1]
            at += 1
