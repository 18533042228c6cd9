"""What a pairing rule sees, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from rung.errors import UserError
from rung.scheduler import glicko2
from rung.scheduler.bradley_terry import ELO
from rung.scheduler.comparisons import Comparisons, Flags, Ints, Reals
from rung.scheduler.evidence import Evidence, about, expected_scores, gather, strongest
from rung.scheduler.laplacian import DENSE_LIMIT
from rung.scheduler.separation import ALPHA, MARGIN_ELO, Separation, separate

if TYPE_CHECKING:
    from rung.scheduler.pairing.gain import Field

_DIMENSIONS = 64
"""Of the embedding in which a very large pool's variances are measured: to 18 %."""


class Pick(NamedTuple):
    """A match to play, and why."""

    agents: tuple[int, ...]
    fair: bool
    """Whether results could not bend this choice, so that it may stand as pooled evidence (see `evidence.py`)."""
    why: str
    """What the rule was after: its own aim, "exploration" or "minimum"."""
    value: float
    """What the rule weighed; the unit is the rule's own."""
    expected: float
    """Score that the first agent is expected to make against the second."""
    deviation: float
    """Of the difference of these two ratings, in Elo points."""
    cost_s: float

    @property
    def reason(self) -> str:
        """All of that as one sentence."""
        return (
            f"{self.why} ({self.value:.3g}): expected score {self.expected:.0%}, difference known to ±{self.deviation:.0f}"
            f" Elo, {self.cost_s:.3g} s"
        )


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The state of a ladder at the moment of choosing; made by `look`."""

    in_flight: Ints
    """(matches, seats): the agents of matches that are being played."""
    cost_s: Reals
    """What each agent adds to the time of a match, in seconds."""
    active: Ints
    """The agents that may be paired, ascending."""
    seats: int
    rating: Reals
    deviation: Reals
    """Glicko's, in Elo points: each agent by itself."""
    evidence: Evidence
    separation: Separation | None
    """None for more agents than verdicts on all pairs are made for."""
    alpha: float
    margin_elo: float

    @property
    def agents(self) -> int:
        return len(self.rating)

    @cached_property
    def played(self) -> int:
        """Matches so far, those in flight included."""
        return round(float(self.evidence.records.met.sum()) / (self.seats / 2)) + len(self.in_flight)

    @cached_property
    def games(self) -> Reals:
        """Matches of each agent, those in flight included."""
        known = self.evidence.records
        ends = np.concatenate([known.low, known.high])
        played = np.bincount(ends, np.concatenate([known.met, known.met]), self.agents)
        flying = np.bincount(self.in_flight.ravel(), minlength=self.agents)
        return np.asarray(played + flying, dtype=np.float64)

    @cached_property
    def pairs_in_flight(self) -> tuple[Ints, Ints]:
        """Each pair of opponents in flight."""
        left, right = np.triu_indices(self.in_flight.shape[1], 1)
        return self.in_flight[:, left].ravel(), self.in_flight[:, right].ravel()

    @property
    def needed(self) -> float:
        """The evidence, as a logarithm, that settles the next pair."""
        pairs = self.agents * (self.agents - 1) / 2
        return self.separation.needed if self.separation else log(max(pairs, 1) / self.alpha)

    def variance(self, first: Ints, second: Ints) -> Reals:
        """Of these differences, in square nats; in a very large pool about, which is enough to choose by."""
        if self.separation:
            return self.evidence.pooled.contrast_variance(first, second)
        return np.asarray(((self._points[first] - self._points[second]) ** 2).sum(axis=1))

    @cached_property
    def _points(self) -> Reals:
        return self.evidence.pooled.embedding(_DIMENSIONS)

    def unsettled(self, first: Ints, second: Ints, variance: Reals) -> Flags:
        """Which of these pairs are worth more matches."""
        if self.separation:
            return self.separation.unsettled[first, second]
        pairs = about(self.evidence, first, second, variance)
        return strongest(pairs, self.margin_elo * ELO) < self.needed

    @cached_property
    def gain_field(self) -> Field:
        """What the rule `gain` works on."""
        from rung.scheduler.pairing.gain import field_of

        return field_of(self)

    def met(self, first: Ints, second: Ints) -> Reals:
        """How often these pairs met or are about to."""
        keys, counts = self._meetings
        wanted = np.minimum(first, second) * self.agents + np.maximum(first, second)
        if not len(keys):
            return np.zeros(len(wanted))
        where = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[where] == wanted, counts[where], 0.0)

    @cached_property
    def _meetings(self) -> tuple[Ints, Reals]:
        known, flying = self.evidence.records, self.pairs_in_flight
        first, second = np.concatenate([known.low, flying[0]]), np.concatenate([known.high, flying[1]])
        keys, where = np.unique(
            np.minimum(first, second) * self.agents + np.maximum(first, second), return_inverse=True
        )
        counts = np.concatenate([known.met * (self.seats - 1), np.ones(len(flying[0]))])
        return keys, np.bincount(where, counts, len(keys)).astype(np.float64)

    def picks(self, agents: Ints, why: str | Sequence[str], value: Reals, fair: bool | Flags) -> list[Pick]:
        """Line-ups as picks, with the numbers that are the same for every rule."""
        first, second = agents[:, 0], agents[:, 1]
        joint = self.evidence.joint
        expected = expected_scores(joint.theta[first] - joint.theta[second])
        variance = joint.contrast_variance(first, second) if self.separation else self.variance(first, second)
        deviation = np.sqrt(variance) / ELO
        cost = self.cost_s[agents].sum(axis=1)
        whys = [why] * len(agents) if isinstance(why, str) else why
        fairs = np.broadcast_to(fair, len(agents))
        columns = (fairs.tolist(), whys, value.tolist(), expected.tolist(), deviation.tolist(), cost.tolist())
        return [Pick(tuple(row), *rest) for row, *rest in zip(agents.tolist(), *columns, strict=True)]


def look(
    comparisons: Comparisons,
    *,
    in_flight: Sequence[Sequence[int]] | Ints = (),
    cost_s: npt.ArrayLike | None = None,
    active: npt.ArrayLike | None = None,
    seats: int = 2,
    alpha: float = ALPHA,
    margin_elo: float = MARGIN_ELO,
) -> Snapshot:
    """The state of a ladder, from its log."""
    n, evidence = comparisons.agents, gather(comparisons)
    return snapshot_of(
        evidence,
        glicko2.fold(glicko2.start(n), comparisons),
        separate(evidence, alpha, margin_elo) if n <= DENSE_LIMIT else None,
        in_flight=in_flight,
        cost_s=cost_s,
        active=active,
        seats=seats,
        alpha=alpha,
        margin_elo=margin_elo,
    )


def snapshot_of(
    evidence: Evidence,
    ratings: glicko2.Ratings,
    separation: Separation | None,
    *,
    in_flight: Sequence[Sequence[int]] | Ints = (),
    cost_s: npt.ArrayLike | None = None,
    active: npt.ArrayLike | None = None,
    seats: int = 2,
    alpha: float = ALPHA,
    margin_elo: float = MARGIN_ELO,
) -> Snapshot:
    """The same, for callers who keep evidence, ratings and verdicts up to date."""
    if seats < 2:
        raise UserError(f"A match to be paired has at least 2 seats, not {seats}.")
    if any(len(line) != seats for line in in_flight):
        raise UserError(f"Every match in flight must have {seats} agents.")
    n = len(ratings.rating)
    flying = np.asarray(in_flight, dtype=np.int64).reshape(-1, seats)
    cost = np.ones(n) if cost_s is None else np.asarray(cost_s, dtype=np.float64)
    who = np.arange(n) if active is None else np.unique(np.asarray(active, dtype=np.int64))
    if cost.shape != (n,) or not np.all((cost > 0) & np.isfinite(cost)):
        raise UserError("Every agent's cost must be a number of seconds above 0.")
    for name, ids in (("active agent", who), ("agent in flight", flying.ravel())):
        if len(ids) and not (ids.min() >= 0 and ids.max() < n):
            raise UserError(f"Every {name} must be one of 0 to {n - 1}.")
    rating, deviation = ratings.rating, ratings.deviation
    return Snapshot(flying, cost, who, seats, rating, deviation, evidence, separation, alpha, margin_elo)


Rule = Callable[[Snapshot, int, np.random.Generator], list[Pick]]
"""The next matches: as many as asked for, chosen together; fewer when no more are worth playing."""
