"""What a ladder believes, kept up to date with its log.

Matches of one group share their deal, so they make one observation: for each two agents the mean of their scores. A group
counts once all its matches are there; one that never gets complete, because a match was parked or withdrawn, says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
import numpy.typing as npt

from rung.platform.store.columns import LogColumns, comparisons_of, concatenated
from rung.scheduler import glicko2
from rung.scheduler.comparisons import Comparisons, Flags, Reals, compare
from rung.scheduler.evidence import Evidence, records, together, weigh
from rung.scheduler.separation import Separation, separate


def some_of(log: LogColumns, where: npt.NDArray[np.intp] | Flags) -> LogColumns:
    """These rows of it."""
    return LogColumns(*(getattr(log, f.name)[where] for f in fields(LogColumns)))


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
        self._pending: LogColumns | None = None
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

    def add(self, rows: LogColumns) -> None:
        """Take in finished matches, in the order given."""
        if not len(rows):
            return
        self.matches += len(rows)
        self.cost_s += float(rows.duration_s.sum())
        np.add.at(self._spent, rows.agents, rows.duration_s[:, None] / rows.agents.shape[1])
        np.add.at(self._seats, rows.agents, 1.0)
        self.ratings = glicko2.fold(self.ratings, self._compared(rows), self.glicko)
        self._observe(concatenated([self._pending, rows]) if self._pending is not None else rows)
        self._evidence = self._separation = None

    def copy_with(self, rows: LogColumns) -> Beliefs:
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

    def _compared(self, rows: LogColumns) -> Comparisons:
        """The rows as comparisons; match numbers are places among the rows."""
        return comparisons_of(replace(rows, seq=np.arange(len(rows))), self.teams, self.agents)

    def _observe(self, rows: LogColumns) -> None:
        _, where, size = np.unique(rows.group, return_inverse=True, return_counts=True)
        whole = (size >= self.group_size)[where]
        self._pending, ready = some_of(rows, ~whole), some_of(rows, whole)
        if not len(ready):
            return
        found = records(self._group_means(ready, fair_only=False))
        self._every = together(self.agents, self._every, found)
        self._all_fair &= bool(ready.fair.all())
        fair = found if ready.fair.all() else records(self._group_means(ready, fair_only=True))
        self._fair = together(self.agents, self._fair, fair)

    def _group_means(self, rows: LogColumns, fair_only: bool) -> Comparisons:
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
