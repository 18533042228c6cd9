"""Ratings from the log: each match is one rating period of its agents, in the order of the log.

Each match starts from the ratings as they are stored, so it does not matter how the log is cut into batches: any way of
folding it gives the same numbers to the last bit. (`glicko2.fold` over many matches keeps a variance between two matches
of an agent, where the store keeps its root; hence the waves.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from rung.platform.store.columns import LogColumns, comparisons_of
from rung.scheduler import glicko2
from rung.scheduler.comparisons import Comparisons, Ints, Reals

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
        wave_of = dict(zip(log.seq.tolist(), _waves(log.agents), strict=True))
        rows = _sorted_by_wave(made, wave_of)
        seq, agent, ends = _ends(made, wave_of)
        before, after = np.empty((len(seq), BELIEFS)), np.empty((len(seq), BELIEFS))
        begin = begin_row = 0
        for end, end_row in zip(ends.tolist(), rows.ends.tolist(), strict=True):
            who = agent[begin:end]
            before[begin:end] = self.beliefs[who]
            self._fold(_slice(rows.made, begin_row, end_row))
            after[begin:end] = self.beliefs[who]
            begin, begin_row = end, end_row
        order = np.lexsort((agent, seq))
        return Changes(seq[order], self.numbers[agent[order]], before[order], after[order])

    def _fold(self, made: Comparisons) -> None:
        """Matches none of which share an agent."""
        rated = glicko2.fold(glicko2.Ratings(*self.beliefs.T), made, self.settings)
        self.beliefs = np.stack([rated.rating, rated.deviation, rated.volatility], axis=1)


@dataclass(frozen=True, eq=False)
class _Waved:
    made: Comparisons
    ends: Ints
    """Where each wave ends."""


def _waves(agents: Ints) -> list[int]:
    """For each match the earliest wave that comes after those of all earlier matches of its agents."""
    last: dict[int, int] = {}
    waves = []
    for line in agents.tolist():
        wave = 1 + max(last.get(agent, -1) for agent in line)
        for agent in line:
            last[agent] = wave
        waves.append(wave)
    return waves


def _sorted_by_wave(made: Comparisons, wave_of: dict[int, int]) -> _Waved:
    waves = np.array([wave_of[seq] for seq in made.match.tolist()], dtype=np.int64)
    order = np.argsort(waves, kind="stable")
    return _Waved(_slice(made, order), _ends_of_runs(waves[order]))


def _ends(made: Comparisons, wave_of: dict[int, int]) -> tuple[Ints, Ints, Ints]:
    """Each match and agent that was compared in it, once, by wave; and where each wave ends."""
    pairs = np.unique(
        np.concatenate([np.stack([made.match, made.first]), np.stack([made.match, made.second])], axis=1), axis=1
    )
    waves = np.array([wave_of[seq] for seq in pairs[0].tolist()], dtype=np.int64)
    order = np.argsort(waves, kind="stable")
    return pairs[0][order], pairs[1][order], _ends_of_runs(waves[order])


def _ends_of_runs(values: Ints) -> Ints:
    return np.append(np.flatnonzero(np.diff(values)) + 1, len(values)) if len(values) else np.empty(0, dtype=np.int64)


def _slice(made: Comparisons, begin: int | Ints, end: int | None = None) -> Comparisons:
    rows = slice(begin, end) if isinstance(begin, int) else begin
    return Comparisons(made.agents, *(getattr(made, f.name)[rows] for f in fields(made) if f.name != "agents"))
