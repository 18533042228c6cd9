"""Evidence about the difference of two agents that stays valid while one looks after every match and chooses what to play.

All evidence is in e-values: bets against a hypothesis that pay 1 on average while it holds. A bet that has grown to 1/α
refutes the hypothesis at level α, whenever one looks (Ville 1939; Ramdas, Grünwald, Vovk and Shafer, "Game-theoretic
statistics and safe anytime-valid inference", 2023). 1/e is a p-value that is valid at all times. There are two bets.

*Direct*: only matches between the two agents count. It is exact for every pairing rule, every score in [0, 1] and every
pool, also where strength is not transitive: the hypothesis is about the expected score between these two.

*Pooled*: the joint refit's difference and variance, under a normal mixture of alternatives (Robbins 1970). It learns from
common opponents, so it needs several times fewer matches. It stands on the model and on the pairing: a rule that pairs
agents by their present ratings makes groups that met by luck look like groups of different strength (equal agents, paired
by the variance of their outcomes, "differed" in 20 to 100 % of ladders). So it counts only comparisons marked `fair`.

The stake is shared: half of it is on the pooled bet, which wins by a difference either way, and a quarter on each of the
direct bets that one of the two is better. The evidence is what the better of them has grown to.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rung.errors import UserError
from rung.jit import entry, jit
from rung.scheduler.bradley_terry import ELO, Fit, fit
from rung.scheduler.comparisons import Comparisons, Flags, Ints, Reals, compare, only

EXPECTED_ELO = 100.0
"""Width of the mixture of alternatives. A narrow one also keeps the pooled bet closed until a difference is known to about
so much: what few matches say early is where models and normal approximations err most."""
POOLED_SHARE, DIRECT_SHARE = log(1 / 2), log(1 / 4)
STAKES = 0.03 * (0.95 / 0.03) ** np.linspace(0, 1, 10)
"""What share of its capital each direct bet puts up, one for each size of difference that may turn out to be there."""
PAIR_ELO = 70.0
"""By about so much pairs are off where strength is not transitive."""
MISFIT_NEEDED = 1.0
"""As a logarithm. Where strength is transitive, the bet lost from the start in each of hundreds of simulated ladders."""
_NOTHING = -np.inf
_BISECTIONS = 50
_FARTHEST = 700.0
"""Nats: odds beyond this are out of the reach of double precision."""


class Records(NamedTuple):
    """What each pair that met did, once for each pair, low < high, in ascending order. Counted in matches: a score between
    is a draw and a part of a win or loss, which only weakens the bets; so does counting a weight above 1 as 1, as one row is
    one observation."""

    low: Ints
    high: Ints
    wins: Reals
    """Of the lower agent."""
    draws: Reals
    losses: Reals

    @property
    def met(self) -> Reals:
        """How much each pair played."""
        return self.wins + self.draws + self.losses


def records(comparisons: Comparisons) -> Records:
    """The comparisons by pair."""
    swapped = comparisons.first > comparisons.second
    low = np.where(swapped, comparisons.second, comparisons.first)
    high = np.where(swapped, comparisons.first, comparisons.second)
    edge = 2 * np.where(swapped, 1 - comparisons.score, comparisons.score) - 1
    weight = np.minimum(comparisons.weight, 1.0)
    counted = (weight * np.maximum(edge, 0), weight * (1 - np.abs(edge)), weight * np.maximum(-edge, 0))
    return _by_pair(comparisons.agents, Records(low, high, *counted))


def together(agents: int, known: Records, more: Records) -> Records:
    """What pairs did then and since."""
    return _by_pair(agents, Records(*(np.concatenate(both) for both in zip(known, more, strict=True))))


def _by_pair(agents: int, rows: Records) -> Records:
    keys, where = np.unique(rows.low * agents + rows.high, return_inverse=True)
    counts = (np.bincount(where, column, len(keys)).astype(np.float64) for column in rows[2:])
    return Records(*np.divmod(keys, max(agents, 1)), *counts)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known from a log."""

    pooled: Fit
    """Of the fair comparisons: what verdicts rest on."""
    records: Records
    """Of all comparisons."""
    joint: Fit
    """Of all comparisons: the best guess at every rating, to be shown and to be played by."""
    misfit: float
    """The logarithm of the evidence that no rating explains these results: that some agents do better against some others
    than their strength says, as in a circle of agents each of which beats the next."""

    @property
    def transitive(self) -> bool:
        """Whether one number for each agent may still explain all results; if not, nothing is claimed from pooled ones."""
        return self.misfit < MISFIT_NEEDED


def gather(comparisons: Comparisons, start: npt.ArrayLike | None = None) -> Evidence:
    """The evidence in a log; `start`, the theta of an earlier fit, saves time."""
    every = records(comparisons)
    fair = every if comparisons.fair.all() else records(only(comparisons, comparisons.fair))
    return weigh(comparisons.agents, every, fair, start)


def weigh(agents: int, every: Records, fair: Records, start: npt.ArrayLike | None = None) -> Evidence:
    """The evidence in what pairs did, and in what of it was fair: for callers who keep these up to date. Where all was fair,
    that is one and the same object."""
    pooled = _fit(agents, fair, start)
    joint = pooled if every is fair else _fit(agents, every, start)
    return Evidence(pooled, every, joint, _misfit(pooled.theta, pooled.dispersion, fair))


def _fit(agents: int, known: Records, start: npt.ArrayLike | None) -> Fit:
    first, second = np.tile(known.low, 3), np.tile(known.high, 3)
    score = np.repeat([1.0, 0.5, 0.0], len(known.low))
    weight = np.concatenate([known.wins, known.draws, known.losses])
    there = weight > 0
    return fit(compare(agents, first[there], second[there], score[there], weight[there]), start=start)


@entry
def _misfit(theta: Reals, dispersion: float, fair: Records) -> float:
    """The bet that each pair's difference is off by a normal amount of its own. What a pair won more than its ratings say is
    its score statistic, so its factor is (1 + s² v)^-1/2 exp(r² s² / (2 (1 + s² v))), with r and v in units of information;
    that the ratings were fitted to the same matches only makes r smaller."""
    width = (PAIR_ELO * ELO) ** 2
    total = 0.0
    for e in range(len(fair.low)):
        share = share_of(theta[fair.low[e]] - theta[fair.high[e]])
        met = fair.wins[e] + fair.draws[e] + fair.losses[e]
        more = (fair.wins[e] + fair.draws[e] / 2 - met * share) / dispersion
        known = met * share * (1 - share) / dispersion
        total += -0.5 * np.log1p(width * known) + more**2 * width / (2 * (1 + width * known))
    return total


@jit
def bets_at(difference: float) -> Reals:
    """For each size of bet that the true difference is larger: what a win, a draw and a loss do to its logarithm."""
    share = share_of(max(difference, -_FARTHEST))
    found = np.empty((len(STAKES), 3))
    for k in range(len(STAKES)):
        found[k, 0] = np.log1p(STAKES[k] * (1 - share) / share)
        found[k, 1] = np.log1p(STAKES[k] * (0.5 - share) / share)
        found[k, 2] = np.log1p(-STAKES[k])
    return found


@jit
def direct(wins: float, draws: float, losses: float, bets: Reals) -> float:
    """The logarithm of what these bets, made with equal shares, have grown to."""
    most, total = _NOTHING, 0.0
    for k in range(len(bets)):
        grown = wins * bets[k, 0] + draws * bets[k, 1] + losses * bets[k, 2]
        if grown > most:
            total = total * np.exp(most - grown) + 1.0
            most = grown
        else:
            total += np.exp(grown - most)
    return most + np.log(total / len(bets))


@jit
def pooled(distance: float, variance: float) -> float:
    """The logarithm of the bet that the true difference is not the one at this distance from the estimate."""
    width = (EXPECTED_ELO * ELO) ** 2
    return -0.5 * np.log1p(width / variance) + distance**2 * width / (2 * variance * (variance + width))


def expected_scores(differences: Reals) -> Reals:
    """Of the first agents, by their differences in nats."""
    return np.asarray(1.0 / (1.0 + np.exp(-differences)))


@jit
def share_of(difference: float) -> float:
    return 1.0 / (1.0 + np.exp(-difference))


@jit
def log_better(
    difference: float, variance: float, wins: float, draws: float, losses: float, reference: float, bets: Reals
) -> float:
    """The logarithm of the evidence that the first agent is more than `reference` nats better than the second; `bets` are
    those at the reference."""
    best = _NOTHING
    if wins + draws > 0:
        best = direct(wins, draws, losses, bets) + DIRECT_SHARE
    if difference > reference:
        best = max(best, pooled(difference - reference, variance) + POOLED_SHARE)
    return best


@jit
def log_equal(
    difference: float, variance: float, wins: float, draws: float, losses: float, margin: float, bets: Reals
) -> float:
    """The logarithm of the evidence that the two differ by less than `margin` nats, either way; `bets` are those at
    -`margin`."""
    from_below = log_better(difference, variance, wins, draws, losses, -margin, bets)
    from_above = log_better(-difference, variance, losses, draws, wins, -margin, bets)
    return min(from_below, from_above)


class Pairs(NamedTuple):
    """What is known of some pairs, as columns: differences in nats, of the first agent less the second."""

    difference: Reals
    variance: Reals
    wins: Reals
    draws: Reals
    losses: Reals


def about(evidence: Evidence, first: npt.ArrayLike, second: npt.ArrayLike, variance: Reals | None = None) -> Pairs:
    """What is known of these pairs; the variance of their differences may be known already. Where no rating explains the
    results, pooled differences have an infinite variance: they say nothing."""
    i, j = (np.atleast_1d(np.asarray(side, dtype=np.int64)) for side in np.broadcast_arrays(first, second))
    theta, met = evidence.pooled.theta, evidence.records
    if len(i) and not (min(i.min(), j.min()) >= 0 and max(i.max(), j.max()) < len(theta)):
        raise UserError(f"Every agent must be one of 0 to {len(theta) - 1}.")
    keys, wanted = met.low * len(theta) + met.high, np.minimum(i, j) * len(theta) + np.maximum(i, j)
    where = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    known = keys[where] == wanted if len(keys) else np.zeros(len(i), dtype=np.bool_)

    def column(upright: Reals, swapped: Reals) -> Reals:
        if not len(keys):
            return np.zeros(len(i))
        return np.where(known, np.where(i < j, upright[where], swapped[where]), 0.0)

    if variance is None:
        variance = evidence.pooled.contrast_variance(i, j)
    return Pairs(
        theta[i] - theta[j],
        variance if evidence.transitive else np.full(len(i), np.inf),
        column(met.wins, met.losses),
        column(met.draws, met.draws),
        column(met.losses, met.wins),
    )


def p_values(evidence: Evidence, first: npt.ArrayLike, second: npt.ArrayLike) -> Reals:
    """For each pair the always-valid p-value of "the first is no better than the second": at most α just when the interval
    at that α is above 0."""
    return np.exp(np.minimum(0.0, -_better_column(*about(evidence, first, second), 0.0)))


def intervals(
    evidence: Evidence, first: npt.ArrayLike, second: npt.ArrayLike, alpha: float = 0.05
) -> tuple[Reals, Reals]:
    """Bounds, in Elo points, of rating differences, the first less the second: whenever and however often one looks, a pair's
    true difference is within its bounds all the time, but for one pair in 1/α. Where nothing is known, the prior alone keeps
    them finite, thousands of points wide."""
    pairs, needed = about(evidence, first, second), needed_at(alpha)
    low = _lower_bounds(*pairs, needed)
    high = -_lower_bounds(-pairs.difference, pairs.variance, pairs.losses, pairs.draws, pairs.wins, needed)
    return low / ELO, high / ELO


def refuted(pairs: Pairs, differences: Reals, alpha: float = 0.05) -> Flags:
    """For each pair whether it is refuted that the true difference, in nats, is this one: whether it is outside the interval
    at `alpha`."""
    return _refuted(*pairs, differences, needed_at(alpha))


def needed_at(alpha: float) -> float:
    """The logarithm of the evidence that refutes a hypothesis at this level."""
    if not 0 < alpha < 1:
        raise UserError(f"alpha must be between 0 and 1, not {alpha}.")
    return log(1 / alpha)


def strongest(pairs: Pairs, margin: float) -> Reals:
    """For each pair the logarithm of the strongest evidence for any verdict."""
    return _strongest(*pairs, margin)


@entry
def _strongest(difference: Reals, variance: Reals, wins: Reals, draws: Reals, losses: Reals, margin: float) -> Reals:
    found = np.empty(len(difference))
    even, below = bets_at(0.0), bets_at(-margin)
    for e in range(len(found)):
        d, v, w, drawn, lost = difference[e], variance[e], wins[e], draws[e], losses[e]
        better = max(log_better(d, v, w, drawn, lost, 0.0, even), log_better(-d, v, lost, drawn, w, 0.0, even))
        found[e] = max(better, log_equal(d, v, w, drawn, lost, margin, below))
    return found


@entry
def _refuted(
    difference: Reals, variance: Reals, wins: Reals, draws: Reals, losses: Reals, true: Reals, needed: float
) -> Flags:
    found = np.empty(len(difference), dtype=np.bool_)
    for e in range(len(found)):
        d, v, w, drawn, lost = difference[e], variance[e], wins[e], draws[e], losses[e]
        above = log_better(d, v, w, drawn, lost, true[e], bets_at(true[e]))
        below = log_better(-d, v, lost, drawn, w, -true[e], bets_at(-true[e]))
        found[e] = max(above, below) >= needed
    return found


@entry
def _better_column(
    difference: Reals, variance: Reals, wins: Reals, draws: Reals, losses: Reals, reference: float
) -> Reals:
    found = np.empty(len(difference))
    bets = bets_at(reference)
    for e in range(len(found)):
        found[e] = log_better(difference[e], variance[e], wins[e], draws[e], losses[e], reference, bets)
    return found


@entry
def _lower_bounds(difference: Reals, variance: Reals, wins: Reals, draws: Reals, losses: Reals, needed: float) -> Reals:
    """The largest reference that each first agent is still surely better than; the evidence falls as the reference rises."""
    found = np.empty(len(difference))
    for e in range(len(found)):
        pooled_bound = difference[e] - _pooled_reach(variance[e], needed - POOLED_SHARE)
        found[e] = max(pooled_bound, _direct_bound(wins[e], draws[e], losses[e], needed - DIRECT_SHARE))
    return found


@jit
def _pooled_reach(variance: float, needed: float) -> float:
    """The distance at which the pooled bet pays: none of an agent to itself."""
    if variance == 0.0:
        return 0.0
    width = (EXPECTED_ELO * ELO) ** 2
    return np.sqrt(2 * variance * (variance + width) / width * (needed + 0.5 * np.log1p(width / variance)))


@jit
def _direct_bound(wins: float, draws: float, losses: float, needed: float) -> float:
    if wins + draws == 0:
        return _NOTHING
    low, high = -40.0, 40.0
    if direct(wins, draws, losses, bets_at(low)) < needed:
        return _NOTHING
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if direct(wins, draws, losses, bets_at(middle)) >= needed:
            low = middle
        else:
            high = middle
    return low
