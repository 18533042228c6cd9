"""Ratings from the log: each match is one rating period of its agents, in the order of the log.

Each match starts from the ratings as they are stored, so it does not matter how the log is cut into batches: any way of
folding it gives the same numbers to the last bit. (`glicko2.fold` over many matches keeps a variance between two matches
of an agent, where the store keeps its root; hence the waves.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache

import numpy as np

from rung.platform.store.columns import LogColumns, comparisons_of
from rung.scheduler import glicko2
from rung.scheduler.comparisons import Comparisons, Ints, Reals, compare

MATCHES, WINS, DRAWS, LOSSES, FAULTS = range(5)
"""Columns of a tally."""
TALLIES = 5
BELIEFS = 3
"""Rating, deviation, volatility."""


@dataclass(frozen=True, eq=False)
class Changes:
    """What matches did to ratings: a row an agent and match, in the order of the log and then of agents."""

    seq: Ints
    agent: Ints
    before: Reals
    """(rows, 3): rating, deviation and volatility."""
    after: Reals


@dataclass
class Book:
    """Where some agents stand. Entering matches moves them."""

    numbers: Ints
    """The agents, ascending."""
    beliefs: Reals
    """(agents, 3): rating, deviation and volatility."""
    tally: Ints
    """(agents, 5): matches, wins, draws, losses, faults."""
    teams: Sequence[int]
    settings: glicko2.Settings

    @classmethod
    def fresh(cls, numbers: Ints, teams: Sequence[int], settings: glicko2.Settings) -> Book:
        """The book of agents that have not played."""
        start = (settings.rating, settings.deviation, settings.volatility)
        tally = np.zeros((len(numbers), TALLIES), dtype=np.int64)
        return cls(numbers, np.tile(np.array(start, dtype=np.float64), (len(numbers), 1)), tally, teams, settings)

    def enter(self, log: LogColumns) -> Changes:
        """Count these matches, the next of the log."""
        places = np.searchsorted(self.numbers, log.agents)
        self._count(log, places)
        return self._rate(replace(log, agents=places))

    def _count(self, log: LogColumns, places: Ints) -> None:
        first = log.ranks == 1
        winners = sum((first & (np.asarray(self.teams) == team)).any(axis=1) for team in set(self.teams))
        alone = (np.asarray(winners) == 1)[:, None]
        outcomes = ((MATCHES, np.ones_like(first)), (WINS, first & alone), (DRAWS, first & ~alone), (LOSSES, ~first))
        for column, seats in outcomes:
            np.add.at(self.tally[:, column], places[seats], 1)
        np.add.at(self.tally[:, FAULTS], np.searchsorted(self.numbers, log.culprit[log.culprit >= 0]), 1)

    def _rate(self, log: LogColumns) -> Changes:
        made = comparisons_of(log, self.teams, len(self.numbers))
        seq, agent = _compared(made)
        waves = _waves(log.agents)
        rows, row_ends = _by_wave(waves[np.searchsorted(log.seq, made.match)])
        changes, change_ends = _by_wave(waves[np.searchsorted(log.seq, seq)])
        made = _some(made, rows)
        before, after = np.empty((len(seq), BELIEFS)), np.empty((len(seq), BELIEFS))
        row = change = 0
        for row_end, change_end in zip(row_ends, change_ends, strict=True):
            now = changes[change:change_end]
            before[now] = self.beliefs[agent[now]]
            self._fold(_some(made, slice(row, row_end)))
            after[now] = self.beliefs[agent[now]]
            row, change = row_end, change_end
        return Changes(seq, self.numbers[agent], before, after)

    def _fold(self, made: Comparisons) -> None:
        """Matches none of which share an agent."""
        rated = glicko2.fold(glicko2.Ratings(*self.beliefs.T), made, self.settings)
        self.beliefs = np.stack([rated.rating, rated.deviation, rated.volatility], axis=1)


@lru_cache(maxsize=1)
def warm() -> None:
    """Load what rates, or compile it, now: the first time takes seconds, which nobody should wait for with a lock."""
    glicko2.fold(glicko2.start(2), compare(2, [0], [1], [1.0]))


def _compared(made: Comparisons) -> tuple[Ints, Ints]:
    """Each match and agent that was compared in it, once, in the order of the log and then of agents."""
    ends = np.concatenate([np.stack([made.match, made.first]), np.stack([made.match, made.second])], axis=1)
    seq, agent = np.unique(ends, axis=1)
    return seq, agent


def _waves(agents: Ints) -> Ints:
    """For each match the earliest wave that comes after those of all earlier matches of its agents."""
    last: dict[int, int] = {}
    waves = []
    for line in agents.tolist():
        wave = 1 + max(last.get(agent, -1) for agent in line)
        for agent in line:
            last[agent] = wave
        waves.append(wave)
    return np.array(waves, dtype=np.int64)


def _by_wave(waves: Ints) -> tuple[Ints, list[int]]:
    """The places in the order of their waves, and where in it each wave ends."""
    order = np.argsort(waves, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(waves[order])) + 1, len(waves)) if len(waves) else np.empty(0, np.int64)
    return order, ends.tolist()


def _some(made: Comparisons, rows: Ints | slice) -> Comparisons:
    return Comparisons(made.agents, *(getattr(made, f.name)[rows] for f in fields(made) if f.name != "agents"))
