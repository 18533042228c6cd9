"""What a game is to the rest of Rung: a `Game` holds facts that never change, a `State` is one position.

Any game can implement these two in plain Python. Most are kernel games (`compiled.py`) and get both for free.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from rung.errors import UserError
from rung.games.rng import Rng
from rung.parameters import Parameter, Value, call_text, complete

Actions = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]

CHANCE: Final = -1
OVER: Final = -2


class Game(ABC):
    """The rules under one choice of parameters."""

    name: ClassVar[str]
    version: ClassVar[int]
    """Rises with any change of the rules; results of different versions never mix."""
    summary: ClassVar[str]
    parameters: ClassVar[tuple[Parameter, ...]] = ()

    seats: int
    max_moves: int
    """No match is longer, dice included."""
    seat_names: tuple[str, ...]
    teams: tuple[int, ...]
    """The team of each seat; team mates share their payoff."""
    hidden: bool
    """Whether some seat ever knows less than everything."""
    chance: bool
    """Whether dice with listed odds decide anything."""

    def __init__(self, **given: object) -> None:
        self.values: dict[str, Value] = complete(self.name, self.parameters, given)

    @abstractmethod
    def new_state(self, rng: Rng) -> State:
        """The start of a match; what is dealt is drawn from `rng`."""

    @abstractmethod
    def load_state(self, data: bytes) -> State:
        """The state that `State.save` wrote."""

    @abstractmethod
    def render(self, state: State) -> str:
        """The position for a person, as text; unknown things of an observation are shown as unknown."""

    def action_text(self, state: State, action: int) -> str:
        """A legal action as a person writes it; different in one state for different actions."""
        return str(action)

    def parse_action(self, state: State, text: str) -> int:
        """The action a person wrote."""
        wanted = text.strip().lower()
        for action in state.legal():
            if self.action_text(state, int(action)).lower() == wanted:
                return int(action)
        raise UserError(f"{text.strip()!r} is not a legal action here.")

    @property
    def spec(self) -> str:
        """The game as a call with its parameters."""
        return call_text(self.name, self.values, self.parameters)


class State(ABC):
    """One position, or what one seat can see of it."""

    turn: int
    """The seat to act, `CHANCE`, or `OVER`."""

    @abstractmethod
    def legal(self) -> Actions:
        """The legal actions, or the outcomes of chance, ascending; empty when they are too many to list."""

    @abstractmethod
    def odds(self) -> Numbers:
        """The probability of each outcome that `legal` lists; only where `turn` is `CHANCE`."""

    @abstractmethod
    def allows(self, action: int) -> bool:
        """Whether the action is legal; any whole number may be asked about."""

    @abstractmethod
    def sample(self, rng: Rng) -> int:
        """A uniformly drawn legal action, or an outcome of chance by its odds."""

    @abstractmethod
    def apply(self, action: int, rng: Rng) -> None:
        """Play a legal action. What it shuffles is drawn from `rng`."""

    @abstractmethod
    def payoffs(self) -> Numbers:
        """The utility in [0, 1] of each seat, at the end."""

    @abstractmethod
    def scores(self) -> Numbers:
        """The raw score of each seat, at the end."""

    def value(self, seat: int) -> float:
        """How good an unfinished position is for the seat, in [0, 1]; one half where the game has no opinion."""
        return 0.5

    @abstractmethod
    def observe(self, seat: int) -> State:
        """What this seat may know of the position; legal actions of its own turn are part of that."""

    @abstractmethod
    def determinize(self, seat: int, rng: Rng) -> State:
        """Of an observation: a full state drawn uniformly among those the seat cannot tell apart."""

    @abstractmethod
    def label(self, action: int, seat: int) -> int:
        """What this seat sees of the action being played now."""

    @abstractmethod
    def copy(self) -> State: ...

    @abstractmethod
    def save(self) -> bytes: ...

    @property
    def over(self) -> bool:
        return self.turn == OVER
