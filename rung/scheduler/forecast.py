"""Beliefs about what is not settled yet: who may be first, and how many more matches a verdict takes. No claim rests on them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rung.jit import entry, jit
from rung.scheduler.bradley_terry import ELO, Fit
from rung.scheduler.comparisons import Ints, Reals
from rung.scheduler.evidence import DIRECT_SHARE, POOLED_SHARE, Evidence, about, bets_at, pooled, share_of
from rung.scheduler.laplacian import DENSE_LIMIT
from rung.scheduler.separation import Separation

_CONTENDERS_SIGMA = 6.0
_DRAWS = 20_000
_QUANTILES = np.array([-1.593219, -0.967422, -0.589456, -0.282216, 0.0, 0.282216, 0.589456, 0.967422, 1.593219])
"""Of the standard normal distribution, at (k + 1/2) / 9."""
_LEAST_VARIANCE = 1e-9
_HALF = 0.5
"""A match won and lost, before a pair's own record is all there is to go by (Jeffreys' prior)."""
_BISECTIONS = 60


def first_probability(found: Fit, seed: int = 0) -> Reals:
    """The probability of being first, by draws from the joint posterior: a belief, not a claim that holds at any time.

    Ratings far below the best are not drawn; so close to zero, the probability is given as zero.
    """
    theta = found.theta
    if not len(theta):
        return np.zeros(0)
    leader = int(np.argmax(theta))
    gap = np.sqrt(found.contrast_variance(np.arange(len(theta)), leader)) * _CONTENDERS_SIGMA
    contenders = np.flatnonzero(theta + gap >= theta[leader])
    drawn = _draws(found, contenders, np.random.Generator(np.random.PCG64(seed)))
    winners = np.bincount(np.argmax(drawn, axis=1), minlength=len(contenders))
    probability = np.zeros(len(theta))
    probability[contenders] = winners / len(drawn)
    return probability


def _draws(found: Fit, agents: Ints, source: np.random.Generator) -> Reals:
    many = len(found.theta) > DENSE_LIMIT
    factor = found.embedding()[agents] if many else np.linalg.cholesky(found.covariance[np.ix_(agents, agents)])
    count = max(1000, min(_DRAWS, 20_000_000 // len(agents)))
    return np.asarray(found.theta[agents] + source.standard_normal((count, factor.shape[1])) @ factor.T)


def matches_to_verdict(
    evidence: Evidence, separation: Separation, first: npt.ArrayLike, second: npt.ArrayLike
) -> Reals:
    """How many more matches between the two it takes to settle a pair, in the middle of what the posterior of their
    difference allows; 0 for settled pairs, infinity where more matches would not do."""
    i, j = (np.atleast_1d(np.asarray(side, dtype=np.int64)) for side in np.broadcast_arrays(first, second))
    pairs, spread = about(evidence, i, j), evidence.pooled.dispersion
    middle, width = pairs.difference, evidence.pooled.contrast_variance(i, j)
    if not evidence.transitive:
        won, lost = pairs.wins + pairs.draws / 2 + _HALF, pairs.losses + pairs.draws / 2 + _HALF
        middle, width = np.log(won / lost), 1 / won + 1 / lost
    margin = separation.margin_elo * ELO
    found = _matches_needed(middle, width, *pairs[1:], separation.needed, margin, spread)
    return np.where(separation.unsettled[i, j], found, 0.0)


@entry
def _matches_needed(
    middle: Reals,
    width: Reals,
    variance: Reals,
    wins: Reals,
    draws: Reals,
    losses: Reals,
    needed: float,
    margin: float,
    dispersion: float,
) -> Reals:
    found = np.empty(len(middle))
    times = np.empty(len(_QUANTILES))
    for e in range(len(found)):
        w, d, lost = wins[e], draws[e], losses[e]
        for q in range(len(_QUANTILES)):
            true = middle[e] + _QUANTILES[q] * np.sqrt(width[e])
            if true < 0:
                time = _until_better(-true, variance[e], lost, d, w, 0.0, needed, dispersion)
            else:
                time = _until_better(true, variance[e], w, d, lost, 0.0, needed, dispersion)
            if abs(true) < margin:
                above = _until_better(true, variance[e], w, d, lost, -margin, needed, dispersion)
                below = _until_better(-true, variance[e], lost, d, w, -margin, needed, dispersion)
                time = min(time, max(above, below))
            times[q] = time
        found[e] = np.median(times)
    return found


@jit
def _until_better(
    true: float,
    variance: float,
    wins: float,
    draws: float,
    losses: float,
    reference: float,
    needed: float,
    dispersion: float,
) -> float:
    """Matches until it is sure that the first agent is better by more than `reference`, if it is `true` nats better."""
    share = share_of(true)
    information = share * (1 - share) / dispersion
    soonest = np.inf
    if variance < np.inf:
        soonest = max(0.0, (1 / _enough(true - reference, needed - POOLED_SHARE) - 1 / variance) / information)
    drawn = 1 - dispersion if share * (1 - share) > 0 else 0.0
    drawn = min(drawn, 2 * min(share, 1 - share))
    bets = bets_at(reference)
    for k in range(len(bets)):
        win, draw, loss = bets[k]
        growth = (share - drawn / 2) * win + drawn * draw + (1 - share - drawn / 2) * loss
        if growth > 0:
            missing = needed - DIRECT_SHARE + np.log(len(bets)) - wins * win - draws * draw - losses * loss
            soonest = min(soonest, max(0.0, missing / growth))
    return soonest


@jit
def _enough(distance: float, needed: float) -> float:
    """The largest variance at which the pooled bet pays at this distance."""
    low, high = np.log(_LEAST_VARIANCE), np.log(distance**2 + _LEAST_VARIANCE)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if pooled(distance, np.exp(middle)) >= needed:
            low = middle
        else:
            high = middle
    return np.exp(low)
