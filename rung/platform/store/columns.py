"""The log as arrays: what ratings and pairing are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from rung.scheduler.comparisons import Comparisons, Flags, Ints, Reals, compare

NOBODY = -1


@dataclass(frozen=True, eq=False)
class LogColumns:
    """Matches in the order of the log, a row each."""

    seq: Ints
    match: Ints
    group: Ints
    agents: Ints
    """(matches, seats): the number of the agent in each seat."""
    ranks: Ints
    """(matches, seats): 1 is best."""
    culprit: Ints
    """The agent that forfeited, or `NOBODY`."""
    fair: Flags
    duration_s: Reals

    def __len__(self) -> int:
        return len(self.seq)


def concatenated(parts: Sequence[LogColumns]) -> LogColumns:
    return LogColumns(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(LogColumns)))


def comparisons_of(log: LogColumns, teams: Sequence[int], agents: int) -> Comparisons:
    """The log read as `scheduler.comparisons.pairs_of_match` reads each of its matches; match numbers are the log's."""
    left, right = _opposing(teams)
    first, second = log.agents[:, left], log.agents[:, right]
    score = (1.0 + np.sign(log.ranks[:, right] - log.ranks[:, left])) / 2.0
    rows, columns = np.nonzero(first != second)
    return compare(
        agents,
        first[rows, columns],
        second[rows, columns],
        score[rows, columns],
        weight=np.full(len(rows), 1.0 / (len(teams) - 1)),
        match=log.seq[rows],
        fair=log.fair[rows],
    )


def _opposing(teams: Sequence[int]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The pairs of seats that play against each other."""
    left, right = np.triu_indices(len(teams), 1)
    team = np.asarray(teams)
    against = team[left] != team[right]
    return left[against], right[against]
