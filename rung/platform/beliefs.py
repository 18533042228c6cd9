"""What a ladder believes, kept up to date with its log.

Matches of one group share their deal, so they make one observation: for each two agents the mean of their scores. A group
counts once all its matches are there; one that never gets complete, because a match was parked or withdrawn, says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from rung.platform.store.columns import LogColumns, comparisons_of, concatenated
from rung.scheduler import glicko2
from rung.scheduler.comparisons import Comparisons, Flags, Ints, Reals, compare
from rung.scheduler.evidence import Evidence, records, together, weigh
from rung.scheduler.separation import Separation, separate


@dataclass(frozen=True, eq=False)
class Rows:
    """Finished matches, with the group each belongs to."""

    log: LogColumns
    group: Ints

    def __len__(self) -> int:
        return len(self.group)

    def take(self, where: npt.NDArray[np.int64] | Flags) -> Rows:
        return Rows(LogColumns(*(getattr(self.log, f.name)[where] for f in fields(LogColumns))), self.group[where])

    def joined(self, other: Rows) -> Rows:
        return Rows(concatenated([self.log, other.log]), np.concatenate([self.group, other.group]))


def no_rows(seats: int) -> Rows:
    none, nobody = np.empty(0, dtype=np.int64), np.empty((0, seats), dtype=np.int64)
    log = LogColumns(none, none, nobody, nobody, none, none.astype(np.bool_), none.astype(np.float64))
    return Rows(log, none)


def logged_rows(log: LogColumns, ids: Ints, groups: Ints) -> Rows:
    """The log with its groups, from the numbers of all planned matches, ascending, and the group of each."""
    return Rows(log, groups[np.searchsorted(ids, log.match)])


class Beliefs:
    """Records, ratings, evidence and verdicts of one ladder."""

    def __init__(
        self, teams: Sequence[int], group_size: int, glicko: glicko2.Settings, alpha: float, margin_elo: float
    ) -> None:
        self.teams, self.group_size, self.glicko = tuple(teams), group_size, glicko
        self.alpha, self.margin_elo = alpha, margin_elo
        self.agents = self.matches = 0
        self.cost_s = 0.0
        self.ratings = glicko2.start(0, glicko)
        self._pending = no_rows(len(self.teams))
        nothing = records(compare(0))
        self._every, self._fair, self._all_fair = nothing, nothing, True
        self._spent, self._seats = np.zeros(0), np.zeros(0)
        self._evidence: Evidence | None = None
        self._separation: Separation | None = None

    def grow(self, agents: int) -> None:
        """Room for agents that have joined."""
        more = agents - self.agents
        if more <= 0:
            return
        new = glicko2.start(more, self.glicko)
        self.ratings = glicko2.Ratings(
            *(np.concatenate([getattr(self.ratings, f.name), getattr(new, f.name)]) for f in fields(new))
        )
        self._spent, self._seats = (np.concatenate([column, np.zeros(more)]) for column in (self._spent, self._seats))
        self.agents = agents
        self._evidence = self._separation = None

    def add(self, rows: Rows) -> None:
        """Take in finished matches, in the order given."""
        if not len(rows):
            return
        self.matches += len(rows)
        self.cost_s += float(rows.log.duration_s.sum())
        np.add.at(self._spent, rows.log.agents, rows.log.duration_s[:, None] / rows.log.agents.shape[1])
        np.add.at(self._seats, rows.log.agents, 1.0)
        self.ratings = glicko2.fold(self.ratings, self._compared(rows), self.glicko)
        self._observe(self._pending.joined(rows))
        self._evidence = self._separation = None

    def copy_with(self, rows: Rows) -> Beliefs:
        """What would be believed with these matches too."""
        made = Beliefs(self.teams, self.group_size, self.glicko, self.alpha, self.margin_elo)
        made.__dict__.update(self.__dict__)
        made._spent, made._seats = self._spent.copy(), self._seats.copy()
        made.add(rows)
        return made

    @property
    def evidence(self) -> Evidence:
        if self._evidence is None:
            fair = self._every if self._all_fair else self._fair
            self._evidence = weigh(self.agents, self._every, fair)
        return self._evidence

    @property
    def separation(self) -> Separation:
        if self._separation is None:
            self._separation = separate(self.evidence, self.alpha, self.margin_elo)
        return self._separation

    def costs(self) -> Reals:
        """What a seat of each agent has cost in seconds, on average; for new agents what one of all did."""
        overall = self._spent.sum() / max(self._seats.sum(), 1.0)
        known = (self._spent + overall) / (self._seats + 1.0)
        return np.maximum(known, 1e-6)

    def _compared(self, rows: Rows) -> Comparisons:
        """The rows as comparisons; match numbers are places among the rows."""
        return comparisons_of(replace(rows.log, seq=np.arange(len(rows))), self.teams, self.agents)

    def _observe(self, rows: Rows) -> None:
        _, where, size = np.unique(rows.group, return_inverse=True, return_counts=True)
        whole = (size >= self.group_size)[where]
        self._pending, ready = rows.take(~whole), rows.take(whole)
        if not len(ready):
            return
        found = records(self._group_means(ready, fair_only=False))
        self._every = together(self.agents, self._every, found)
        self._all_fair &= bool(ready.log.fair.all())
        fair = found if ready.log.fair.all() else records(self._group_means(ready, fair_only=True))
        self._fair = together(self.agents, self._fair, fair)

    def _group_means(self, rows: Rows, fair_only: bool) -> Comparisons:
        """A row for each two agents of a group, with the mean of their scores."""
        made = self._compared(rows)
        swapped = made.first > made.second
        low, high = np.minimum(made.first, made.second), np.maximum(made.first, made.second)
        score = np.where(swapped, 1.0 - made.score, made.score)
        kept = made.fair if fair_only else np.ones(len(made), dtype=np.bool_)
        columns = np.stack([rows.group[made.match], low, high], axis=1)[kept]
        keys, where = np.unique(columns, axis=0, return_inverse=True)
        count = np.bincount(where.ravel(), minlength=len(keys))
        mean = np.bincount(where.ravel(), score[kept], len(keys)) / np.maximum(count, 1)
        weight = np.full(len(keys), 1.0 / (len(self.teams) - 1))
        return compare(self.agents, keys[:, 1], keys[:, 2], np.clip(mean, 0.0, 1.0), weight)
