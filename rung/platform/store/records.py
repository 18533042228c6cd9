"""What goes into the store and comes out of it. Times are in seconds since 1970 and always given by the caller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from rung.errors import UserError
from rung.platform.match import Clock, Ending, MatchResult, MatchSpec, game_of
from rung.scheduler import glicko2

if TYPE_CHECKING:
    from rung.scheduler.pairing.snapshot import Pick

LadderState = Literal["active", "paused", "ended"]
AgentState = Literal["active", "retired", "suspended"]
MatchState = Literal["waiting", "claimed", "finished", "parked", "withdrawn"]
"""Parked: came to nothing too often, an operator must look. Withdrawn: one of its agents left before it was played."""
Status = Literal["recorded", "waiting", "parked", "withdrawn", "late", "repeated"]


@dataclass(frozen=True)
class Settings:
    """What a ladder was made with."""

    glicko: glicko2.Settings = glicko2.STATIC
    fault_limit: int = 10
    """An agent is suspended after this many forfeits in a row."""
    attempts: int = 3
    """A match is parked after this many attempts that came to nothing."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Anything else, as plain data for JSON; the store only keeps it."""

    def __post_init__(self) -> None:
        for name, value in (("fault_limit", self.fault_limit), ("attempts", self.attempts)):
            if value < 1:
                raise UserError(f"The setting {name} must be at least 1, not {value}.")


@dataclass(frozen=True)
class Ladder:
    id: int
    name: str
    game: str
    """The game as a call."""
    game_version: int
    teams: tuple[int, ...]
    """The team of each seat."""
    settings: Settings
    state: LadderState
    why: str
    """Why it was paused or ended."""
    log_length: int
    """Sequence number of the last result."""
    revision: int
    """Rises whenever the ladder's state, or any agent's, has changed."""
    created_at: float

    @property
    def seats(self) -> int:
        return len(self.teams)

    def check_game(self) -> None:
        """A `UserError` if this Rung would play by other rules than the log was played by."""
        version = game_of(self.game).version
        if version != self.game_version:
            raise UserError(
                f"Ladder {self.name} was played by version {self.game_version} of {self.game} and this Rung has version"
                f" {version}, whose results do not mix with those: make a new ladder."
            )


@dataclass(frozen=True)
class LadderAgent:
    """An agent of a ladder, and where it stands."""

    ladder: int
    number: int
    """In its ladder, from 0: its place in all arrays."""
    name: str
    spec: str
    version: int
    parent: int | None
    """The agent that this one is the next version of."""
    state: AgentState
    reason: str
    """Why it was retired or suspended."""
    faults_in_a_row: int
    joined: int
    """Length of the log when it came."""
    added_at: float
    rating: float
    deviation: float
    volatility: float
    matches: int
    """Seats it has played; so are wins, draws and losses."""
    wins: int
    draws: int
    losses: int
    faults: int
    """Matches it forfeited."""


@dataclass(frozen=True)
class NewMatch:
    """A match to be planned."""

    pick: Pick
    rule: str
    """The rule that picked it."""
    deal: int
    seed: int
    group: int
    """Matches of one group share their deal and make one observation."""
    seating: tuple[int, ...] | None = None
    """For each seat the place of its agent in the pick; without, they sit down in the pick's order."""
    clock: Clock | None = None

    @property
    def agents(self) -> tuple[int, ...]:
        """The number of the agent in each seat."""
        return self.pick.agents if self.seating is None else tuple(self.pick.agents[place] for place in self.seating)


class Held(Protocol):
    """Something about a claimed match by whoever says to hold it."""

    @property
    def match(self) -> int: ...
    @property
    def fence(self) -> int: ...


@dataclass(frozen=True)
class Claim:
    """A match to play, for one worker, until the lease ends."""

    match: int
    fence: int
    """Rises with every claim of the match; only the newest counts."""
    ladder: int
    spec: MatchSpec
    lease_until: float

    def finished(self, result: MatchResult, duration_s: float) -> Finished:
        return Finished(self.match, self.fence, result, duration_s)

    def lost(self, detail: str) -> Lost:
        return Lost(self.match, self.fence, detail)


@dataclass(frozen=True)
class Finished:
    """A claimed match has a result."""

    match: int
    fence: int
    result: MatchResult
    duration_s: float


@dataclass(frozen=True)
class Lost:
    """A claimed match came to nothing, by no fault of its agents."""

    match: int
    fence: int
    detail: str
    """The evidence, for the operator."""


@dataclass(frozen=True)
class Receipt:
    """What became of a match that was handed in.

    Recorded: it is in the log. Waiting: it was void and will be played again; parked: so often that it will not; withdrawn:
    nor with this field. Late: somebody else holds the match by now, nothing was changed. Repeated: this very result was
    recorded before, nothing was changed.
    """

    match: int
    status: Status
    seq: int | None = None
    """Its place in the log, of recorded and repeated ones."""


@dataclass(frozen=True)
class LogRow:
    """A finished match as the log has it."""

    seq: int
    match: int
    group: int
    agents: tuple[int, ...]
    ranks: tuple[int, ...]
    payoffs: tuple[float, ...]
    scores: tuple[float, ...]
    ending: Ending
    fair: bool
    """Whether its pick may stand as evidence about other pairs."""
    moves: int
    duration_s: float
    worker: str
    at: float


@dataclass(frozen=True)
class RatingChange:
    """What a match did to an agent's rating."""

    seq: int
    agent: int
    rating_before: float
    deviation_before: float
    volatility_before: float
    rating_after: float
    deviation_after: float
    volatility_after: float


@dataclass(frozen=True)
class VoidAttempt:
    """An attempt at a match that came to nothing, and the evidence."""

    match: int
    attempt: int
    detail: str
    worker: str
    at: float


@dataclass(frozen=True)
class Match:
    """A match, whatever has become of it."""

    id: int
    ladder: int
    spec: MatchSpec
    agents: tuple[int, ...]
    group: int
    state: MatchState
    attempts: int
    fence: int
    lease_until: float | None
    worker: str | None
    rule: str
    pick: Pick
    planned_at: float


@dataclass(frozen=True)
class Counts:
    """How many matches of a ladder are in each state."""

    waiting: int = 0
    claimed: int = 0
    finished: int = 0
    parked: int = 0
    withdrawn: int = 0


@dataclass(frozen=True)
class Worker:
    name: str
    host: str
    last_seen: float
    busy: float
    """Share of its time, from 0 to 1, that went into matches."""
