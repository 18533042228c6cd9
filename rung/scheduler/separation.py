"""Who is better than whom: the Risk paper's figures beside claims that hold while one looks all the time.

The paper's Z and p (Brand and Kroon 2014, section 4) take the agents' deviations as independent and the moment of looking as
fixed beforehand. They are shown as the paper defines them, but nothing is claimed by them. Verdicts come from e-values
(`evidence.py`), for all pairs together: in at most a share α of whole ladders is any verdict ever wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Final

import numpy as np
import numpy.typing as npt

from rung.errors import UserError
from rung.jit import entry, jit
from rung.scheduler.bradley_terry import ELO
from rung.scheduler.comparisons import Ints, Reals
from rung.scheduler.evidence import Evidence, Records, bets_at, log_better, log_equal
from rung.scheduler.laplacian import DENSE_LIMIT

UNDECIDED: Final = 0
BETTER: Final = 1
WORSE: Final = -1
EQUAL: Final = 2
"""Practically: the ratings differ by less than the margin."""
CIRCULAR: Final = 3
"""Each of the two is surely better than the other, directly or through others: no ranking of the pool is true."""

ALPHA = 0.05
MARGIN_ELO = 35.0
"""Who is 35 points better scores 55 %."""
RANGE_95 = 1.96
RANGE_PAPER = 2.0

Verdicts = npt.NDArray[np.int8]
"""agents × agents: what the row's agent is to the column's."""


# -- as the paper defines them ---------------------------------------------------------------------------------------


def z_scores(rating: Reals, deviation: Reals) -> Reals:
    """Z of every pair (equation 2): positive where the row's agent has the higher rating. Zero where nothing is known."""
    gap = rating[:, None] - rating[None, :]
    spread = np.hypot(deviation[:, None], deviation[None, :])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gap == 0, 0.0, gap / spread)


def p_table(rating: Reals, deviation: Reals) -> Reals:
    """The paper's one-sided p of every pair, as in its table 2: of "the column's agent is no stronger than the row's"."""
    from scipy.special import ndtr

    return np.asarray(ndtr(z_scores(rating, deviation)))


def rating_intervals(rating: Reals, deviation: Reals, width: float = RANGE_95) -> tuple[Reals, Reals]:
    """The rating less and plus so many deviations: 1.96 of them for 95 %; the paper takes 2."""
    return rating - width * deviation, rating + width * deviation


# -- claims ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Separation:
    """What is settled in a pool."""

    verdicts: Verdicts
    needed: float
    """The evidence, as a logarithm, at which the next pair is settled."""
    alpha: float
    margin_elo: float

    @property
    def agents(self) -> int:
        return len(self.verdicts)

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many pairs have which verdict."""
        above = self.verdicts[np.triu_indices(self.agents, 1)]
        separated = int(np.sum(np.abs(above) == BETTER))
        kinds = {"equal": EQUAL, "circular": CIRCULAR, "undecided": UNDECIDED}
        return {"separated": separated, **{name: int(np.sum(above == kind)) for name, kind in kinds.items()}}

    @cached_property
    def unsettled(self) -> npt.NDArray[np.bool_]:
        """agents × agents: the pairs that are worth more matches."""
        found = self.verdicts == UNDECIDED
        np.fill_diagonal(found, False)
        return found

    @property
    def share(self) -> float:
        """The part of all pairs that is settled."""
        pairs = self.agents * (self.agents - 1) // 2
        return 1.0 if pairs == 0 else 1.0 - self.counts["undecided"] / pairs

    @cached_property
    def ranks(self) -> tuple[Ints, Ints]:
        """The best and the worst rank each agent may have: all ranks hold together, in 1 - α of ladders."""
        surely_better = (self.verdicts == WORSE).sum(axis=1)
        surely_worse = (self.verdicts == BETTER).sum(axis=1)
        return 1 + surely_better, self.agents - surely_worse


def separate(evidence: Evidence, alpha: float = ALPHA, margin_elo: float = MARGIN_ELO) -> Separation:
    """The verdict on every pair.

    Evidence of U/α settles a pair, with U the number of pairs not separated yet (Holm 1979: a pair that is separated cannot be
    separated wrongly any more, so it takes no part of α; one that is practically equal still can be, and keeps its part: among
    twenty equal agents, 18 % of ladders were wrong otherwise). What follows from two verdicts, a over b and b over c, is a
    verdict, as long as one number for each agent may explain the results; where none does, only what pairs did themselves
    counts, and agents that surely beat each other in a circle are said to.
    """
    check(alpha, margin_elo)
    theta = evidence.pooled.theta
    if len(theta) > DENSE_LIMIT:
        raise UserError(f"Verdicts on all pairs are made for at most {DENSE_LIMIT} agents, not {len(theta)}.")
    if len(theta) < 2:
        return Separation(np.zeros((len(theta), len(theta)), dtype=np.int8), log(1 / alpha), alpha, margin_elo)
    better, equal = log_evidence(evidence, margin_elo)
    verdicts = np.zeros(better.shape, dtype=np.int8)
    unseparated = _settle(better, equal, log(1 / alpha), evidence.transitive, verdicts)
    return Separation(verdicts, log(max(unseparated, 1) / alpha), alpha, margin_elo)


def log_evidence(evidence: Evidence, margin_elo: float = MARGIN_ELO) -> tuple[Reals, Reals]:
    """For every pair the logarithm of the evidence that the row's agent is better than the column's, and that the two are
    practically equal."""
    n = len(evidence.pooled.theta)
    better, equal = np.full((n, n), -np.inf), np.full((n, n), -np.inf)
    trust = 1.0 if evidence.transitive else np.inf
    _weigh(evidence.pooled.theta, evidence.pooled.covariance, trust, evidence.records, margin_elo * ELO, better, equal)
    return better, equal


def adjusted_p(evidence: Evidence) -> Reals:
    """agents × agents: Holm's adjusted always-valid p of "the row's agent is no better than the column's". At most α means
    that the pair would be separated among all pairs at level α by its own evidence alone."""
    better, _ = log_evidence(evidence)
    n = len(better)
    above = np.triu_indices(n, 1)
    strongest = np.maximum(better, better.T)[above]
    order = np.argsort(-strongest, kind="stable")
    raised = np.log(np.arange(len(order), 0, -1.0)) - strongest[order]
    made = np.empty(len(order))
    made[order] = np.maximum.accumulate(raised)
    adjusted = np.zeros((n, n))
    adjusted[above] = made
    adjusted += adjusted.T
    # A verdict's own direction has its p; evidence the other way is no stronger than it is by itself.
    pairs = max(len(order), 1)
    own = np.where(better >= better.T, adjusted, np.maximum(adjusted, log(pairs) - better))
    np.fill_diagonal(own, 0.0)
    return np.exp(np.minimum(own, 0.0))


def check(alpha: float, margin_elo: float) -> None:
    """Refuse what cannot be meant."""
    if not 0 < alpha < 1:
        raise UserError(f"alpha must be between 0 and 1, not {alpha}.")
    if not 0 <= margin_elo < np.inf:
        raise UserError(f"The margin must be a number of at least 0 Elo, not {margin_elo}.")


@entry
def _weigh(
    theta: Reals, covariance: Reals, trust: float, met: Records, margin: float, better: Reals, equal: Reals
) -> None:
    """First by what is pooled, with its variances times `trust`, then, for those that met, by their matches too."""
    even, below = bets_at(0.0), bets_at(-margin)
    for i in range(len(theta)):
        for j in range(i + 1, len(theta)):
            d, v = theta[i] - theta[j], trust * (covariance[i, i] + covariance[j, j] - 2 * covariance[i, j])
            better[i, j] = log_better(d, v, 0.0, 0.0, 0.0, 0.0, even)
            better[j, i] = log_better(-d, v, 0.0, 0.0, 0.0, 0.0, even)
            equal[i, j] = equal[j, i] = log_equal(d, v, 0.0, 0.0, 0.0, margin, below)
    for e in range(len(met.low)):
        i, j, wins, draws, losses = met.low[e], met.high[e], met.wins[e], met.draws[e], met.losses[e]
        d, v = theta[i] - theta[j], trust * (covariance[i, i] + covariance[j, j] - 2 * covariance[i, j])
        better[i, j] = log_better(d, v, wins, draws, losses, 0.0, even)
        better[j, i] = log_better(-d, v, losses, draws, wins, 0.0, even)
        equal[i, j] = equal[j, i] = log_equal(d, v, wins, draws, losses, margin, below)


@entry
def _settle(better: Reals, equal: Reals, base: float, transitive: bool, verdicts: Verdicts) -> int:
    """Write the verdicts; returns how many pairs are not separated."""
    n = len(better)
    words = (n + 63) // 64
    beats = np.zeros((n, words), dtype=np.uint64)
    unseparated = n * (n - 1) // 2
    while True:
        needed = base + np.log(max(unseparated, 1))
        for i in range(n):
            for j in range(n):
                if i != j and better[i, j] >= needed:
                    beats[i, j >> 6] |= np.uint64(1) << np.uint64(j & 63)
        reached = beats.copy()
        _close(reached)
        if transitive:
            beats = reached
        left = 0
        for i in range(n):
            for j in range(i + 1, n):
                verdict = _verdict(beats, reached, i, j, equal[i, j] >= needed)
                verdicts[i, j] = verdict
                verdicts[j, i] = -verdict if abs(verdict) == BETTER else verdict
                left += verdict in (UNDECIDED, EQUAL)
        if left == unseparated:
            return left
        unseparated = left


@jit
def _close(beats: npt.NDArray[np.uint64]) -> None:
    """Who beats somebody beats everybody that one beats (Warshall, on rows of bits)."""
    for via in range(len(beats)):
        bit = np.uint64(1) << np.uint64(via & 63)
        for i in range(len(beats)):
            if beats[i, via >> 6] & bit:
                for word in range(beats.shape[1]):
                    beats[i, word] |= beats[via, word]


@jit
def _verdict(beats: npt.NDArray[np.uint64], reached: npt.NDArray[np.uint64], i: int, j: int, equal: bool) -> int:
    if _bit(reached, i, j) and _bit(reached, j, i):
        return CIRCULAR
    if _bit(beats, i, j):
        return BETTER
    if _bit(beats, j, i):
        return WORSE
    return EQUAL if equal else UNDECIDED


@jit
def _bit(rows: npt.NDArray[np.uint64], i: int, j: int) -> bool:
    return (rows[i, j >> 6] >> np.uint64(j & 63)) & np.uint64(1) != 0
