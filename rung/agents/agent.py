"""What an agent is: it is told of a match, asked for actions, and told how the match ended."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from rung.games.game import Actions, Game, State
from rung.games.rng import Rng
from rung.parameters import Parameter, Value, complete


class Seen(NamedTuple):
    """What a seat saw of one move."""

    seat: int
    """Who moved, or `CHANCE`."""
    label: int
    """The action as far as it could be seen."""


@dataclass(slots=True)
class View:
    """What a seat may know when it is asked to act. The true state is not in it."""

    game: Game
    seat: int
    observation: State
    seen: list[Seen]
    """Every move so far, as this seat saw it."""
    left_s: float
    """Seconds left on this seat's clock; infinite without one."""

    @property
    def legal(self) -> Actions:
        """The legal actions, ascending; empty when they are too many to list: then `sample` one, or ask `allows`."""
        return self.observation.legal()

    def allows(self, action: int) -> bool:
        return self.observation.allows(action)

    def sample(self, rng: Rng) -> int:
        """A uniformly drawn legal action."""
        return self.observation.sample(rng)

    def determinize(self, rng: Rng) -> State:
        """A full state, drawn uniformly among those this seat cannot tell apart."""
        return self.observation.determinize(self.seat, rng)


@dataclass(frozen=True)
class Outcome:
    """How a match ended, for the agents that played it."""

    payoffs: tuple[float, ...]
    scores: tuple[float, ...]
    ranks: tuple[int, ...]
    """1 for the best seats; seats that tie share the better rank."""
    forfeited: tuple[int, ...]
    """Seats that lost by a fault of their own."""


class Agent(ABC):
    """Plays one seat of one match at a time. A subclass declares its parameters; `self.values` holds their values."""

    name: ClassVar[str]
    summary: ClassVar[str]
    parameters: ClassVar[tuple[Parameter, ...]] = ()

    def __init__(self, **given: object) -> None:
        self.values: dict[str, Value] = complete(self.name, self.parameters, given)
        self.note = ""
        """One line on why it played its last action, for people who watch."""

    @classmethod  # noqa: B027
    def warm(cls, game: Game) -> None:
        """Compile what playing this game needs, before any clock runs."""

    def start(self, game: Game, seat: int, seed: int) -> None:  # noqa: B027
        """A match begins. The same seed and the same views must lead to the same actions."""

    @abstractmethod
    def act(self, view: View) -> int:
        """A legal action."""

    def end(self, outcome: Outcome) -> None:  # noqa: B027
        """The match is over."""
