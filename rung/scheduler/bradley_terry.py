"""Ratings from all comparisons at once, and how sure they are jointly: a Bradley-Terry model with a prior.

The score of `first` against `second` has mean 1 / (1 + exp(theta_second - theta_first)); a draw is half a win, and each
comparison counts by its weight (a quasi-likelihood: Wedderburn 1974, "Quasi-likelihood functions, generalized linear models,
and the Gauss-Newton method"). Every theta has the prior Normal(0, `prior_elo`²), so that agents without losses, without
matches or in pools that never met have finite ratings. The posterior is approximated around its mode by a normal
distribution with its full covariance (Laplace). Nothing depends on the order of the log.

Where matches can be drawn, scores vary less than won and lost ones would, by a factor: the dispersion, at most 1. It is
estimated, and every comparison says more by that factor.

A row of weight w stands for w matches that ended alike. The mean of several matches is one row of weight 1: the dispersion
finds out what such rows are worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rung.errors import UserError
from rung.jit import entry
from rung.scheduler.comparisons import Comparisons, Ints, Reals
from rung.scheduler.laplacian import DENSE_LIMIT, DENSE_SOLVE, Information

ELO = log(10) / 400
"""Nats in an Elo point."""
PRIOR_ELO = 350.0
DECIDED_MATCHES = 100
"""The dispersion is estimated as if so many more even matches, and one for every agent, had been won or lost: it starts at 1
and stays above the truth rather than below. The one for every agent makes up for probabilities fitted to the same matches."""
MOST_MATCHES = 1e9
"""No comparison and no pair counts for more, so that numbers stay within the reach of double precision."""
MOST_MATCHES_LARGE = 1e6
"""The same beyond `DENSE_LIMIT` agents, where more would be out of the reach of conjugate gradients."""
EMBEDDING = 200
"""Dimensions in which contrasts beyond `DENSE_LIMIT` are measured: a variance is right to 10 %, a deviation to 5 %."""
_EMBEDDING_SEED = 1
WIDEST_PRIOR_ELO = 10_000.0
"""Beyond that a prior says nothing any more, and pairs with `MOST_MATCHES` could not be solved for beside it."""
_ACCURACY = 1e-9
"""In nats: the last Newton step moves nobody by more, or by no more than rounding can."""
_NEWTON_STEPS = 200
_HALVINGS = 60
_LEAST_RISE = 1e-4
"""Of what the slope at the start of a step promises."""
_ROUNDING = 1e-12
_BLOCK = 16384


class _Pairs(NamedTuple):
    """The comparisons of each pair together: each pair once, low < high, in ascending order."""

    low: Ints
    high: Ints
    total: Reals
    """Weight."""
    won: Reals
    """Weight times score of the lower agent."""
    drawn: Reals
    """Weight times score times what is missing to 1: how far from won or lost the matches ended."""


class _Ratings:
    """What a joint fit and its running update answer alike."""

    theta: Reals

    def contrast_variance(self, i: npt.ArrayLike, j: npt.ArrayLike) -> Reals:
        """Var(theta_i - theta_j), in square nats, for agents or arrays of agents."""
        raise NotImplementedError

    def _pool_variance(self) -> Reals:
        """Of each theta less the mean of all."""
        raise NotImplementedError

    def rating(self, anchor_rating: float = 1500.0, anchor: int | None = None) -> Reals:
        """Ratings in Elo points: the mean of all agents, or the anchor agent, is at `anchor_rating`."""
        if not len(self.theta):
            return np.zeros(0)
        origin = self.theta.mean() if anchor is None else self.theta[self._known(anchor)]
        return anchor_rating + (self.theta - origin) / ELO

    def deviation(self, anchor: int | None = None) -> Reals:
        """Standard deviations, in Elo points, of `rating` with the same anchor; the anchor's own is 0."""
        if not len(self.theta):
            return np.zeros(0)
        if anchor is None:
            variance = self._pool_variance()
        else:
            variance = self.contrast_variance(np.arange(len(self.theta)), self._known(anchor))
        return np.sqrt(variance) / ELO

    def _known(self, agent: int) -> int:
        if not 0 <= agent < len(self.theta):
            raise UserError(f"The anchor must be one of the agents 0 to {len(self.theta) - 1}, not {agent}.")
        return agent


@dataclass(frozen=True, eq=False)
class Fit(_Ratings):
    """The posterior of all ratings; its arrays are not to be written to."""

    theta: Reals
    """In nats; the prior's mean, and the mean of all agents, is 0."""
    dispersion: float
    prior_elo: float
    information: Information

    @cached_property
    def covariance(self) -> Reals:
        """Of `theta`, in square nats, for at most `DENSE_LIMIT` agents."""
        if len(self.theta) > DENSE_LIMIT:
            raise ValueError(f"The covariance of more than {DENSE_LIMIT} agents is not made; use contrast_variance.")
        return self.information.inverse()

    def contrast_variance(self, i: npt.ArrayLike, j: npt.ArrayLike) -> Reals:
        """Var(theta_i - theta_j), in square nats, for agents or arrays of agents. Beyond `DENSE_LIMIT` agents it is measured
        in an embedding, always the same one, with a relative error of sqrt(2 / `EMBEDDING`) (one sigma)."""
        if len(self.theta) <= DENSE_LIMIT:
            return _contrasts(self.covariance, i, j)
        return _distances(self._embedded, i, j)

    def embedding(self, k: int = EMBEDDING, seed: int = _EMBEDDING_SEED) -> Reals:
        """Points Z, one row an agent, with Var(theta_i - theta_j) ≈ |Z_i - Z_j|²: unbiased, with a relative error of
        sqrt(2 / k) (one sigma)."""
        return self.information.embedding(k, seed)

    @cached_property
    def _embedded(self) -> Reals:
        return self.embedding()

    def _pool_variance(self) -> Reals:
        if len(self.theta) <= DENSE_LIMIT:
            return _centred(self.covariance)
        return np.asarray(((self._embedded - self._embedded.mean(axis=0)) ** 2).sum(axis=1))


def fit(
    comparisons: Comparisons,
    *,
    prior_elo: float = PRIOR_ELO,
    dispersion: float | None = None,
    start: npt.ArrayLike | None = None,
    _dense_solve: int = DENSE_SOLVE,
) -> Fit:
    """The posterior of all ratings. `start`, an earlier fit's theta (agents may have joined since), saves time and changes
    nothing. A `dispersion` of 1 is the plain binomial model; without one it is estimated."""
    if not 0 < prior_elo <= WIDEST_PRIOR_ELO:
        raise UserError(f"The prior deviation must be above 0 and at most {WIDEST_PRIOR_ELO:.0f} Elo, not {prior_elo}.")
    if dispersion is not None and not 0 < dispersion <= 1:
        raise UserError(f"The dispersion must be above 0 and at most 1, not {dispersion}.")
    agents, prior = comparisons.agents, (prior_elo * ELO) ** -2
    pairs = _together(comparisons)
    theta = _started(agents, start)
    if dispersion is None:
        dispersion = 1.0
        if pairs.drawn.any():
            plain = _mode(agents, _scaled(agents, pairs, 1.0), prior, theta, _dense_solve)
            theta, dispersion = plain.theta, _dispersion(plain.theta, pairs)
    found = _mode(agents, _scaled(agents, pairs, dispersion), prior, theta, _dense_solve)
    return Fit(found.theta, dispersion, prior_elo, found.information)


def _together(comparisons: Comparisons) -> _Pairs:
    made = comparisons
    return _Pairs(*_merged(made.agents, made.first, made.second, made.score, made.weight, MOST_MATCHES))


def _scaled(agents: int, pairs: _Pairs, dispersion: float) -> _Pairs:
    """The pairs, weighed as the dispersion says they are worth."""
    most = MOST_MATCHES if agents <= DENSE_LIMIT else MOST_MATCHES_LARGE
    factor = np.minimum(pairs.total / dispersion, most) / pairs.total
    return pairs._replace(total=pairs.total * factor, won=pairs.won * factor)


def _started(agents: int, start: npt.ArrayLike | None) -> Reals:
    theta = np.zeros(agents)
    if start is not None:
        given = np.asarray(start, dtype=np.float64)[:agents]
        theta[: len(given)] = given
    return theta


def _dispersion(theta: Reals, pairs: _Pairs) -> float:
    """How much scores vary, relative to wins and losses of the same mean: sum of w (s - p)² over sum of w p (1 - p).

    With (s - p)² = p (1 - p) - s (1 - s) + (s - p)(1 - 2 p), whose last term is 0 on average if the model fits, only the
    middle term is used, unless the last one speaks for a greater dispersion. Wins and losses alone so give exactly 1.
    """
    p = 1 / (1 + np.exp(theta[pairs.high] - theta[pairs.low]))
    prior = (DECIDED_MATCHES + len(theta)) / 4
    expected = float((pairs.total * p * (1 - p)).sum()) + prior
    misfit = float(((pairs.won - pairs.total * p) * (1 - 2 * p)).sum())
    return min(1.0, (expected - float(pairs.drawn.sum()) + max(0.0, misfit)) / expected)


class _Mode(NamedTuple):
    theta: Reals
    information: Information


def _mode(agents: int, pairs: _Pairs, prior: float, theta: Reals, dense_solve: int) -> _Mode:
    """The mode of the posterior by Newton's method; a step that leads too little upwards is halved (Armijo's rule)."""
    gradient, weight = np.empty(agents), np.empty(len(pairs.total))

    def slopes(at: Reals) -> float:
        return _slopes(at, pairs.low, pairs.high, pairs.total, pairs.won, prior, gradient, weight)

    ends, weights = np.concatenate([pairs.low, pairs.high]), np.concatenate([pairs.total, pairs.total])
    rounding = np.finfo(np.float64).eps * np.bincount(ends, weights, agents).max(initial=0.0)
    enough = _ACCURACY + rounding / prior
    value = slopes(theta)
    for _ in range(_NEWTON_STEPS):
        step = Information(agents, pairs.low, pairs.high, weight, prior).solve(gradient, dense_solve)
        before, rise = value - _ROUNDING * abs(value), _LEAST_RISE * (gradient * step).sum()
        for _ in range(_HALVINGS):
            if (value := slopes(theta + step)) >= before + rise:
                break
            step, rise = step / 2, rise / 2
        theta = theta + step
        if np.abs(step).max(initial=0.0) <= enough:
            return _Mode(theta, Information(agents, pairs.low, pairs.high, weight, prior))
    raise ArithmeticError("The ratings did not settle.")


def _contrasts(covariance: Reals, i: npt.ArrayLike, j: npt.ArrayLike) -> Reals:
    a, b = np.asarray(i), np.asarray(j)
    return np.maximum(covariance[a, a] + covariance[b, b] - 2 * covariance[a, b], 0.0)


def _distances(points: Reals, i: npt.ArrayLike, j: npt.ArrayLike) -> Reals:
    """Squared distances, in blocks, so that a million pairs fit into memory."""
    a, b = np.broadcast_arrays(np.asarray(i), np.asarray(j))
    found, left, right = np.empty(a.size), a.ravel(), b.ravel()
    for start in range(0, a.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        found[block] = ((points[left[block]] - points[right[block]]) ** 2).sum(axis=1)
    return found.reshape(a.shape)


def _centred(covariance: Reals) -> Reals:
    """The variances of what is left when the mean of all is taken away. Comparisons say nothing of that mean, so that every
    agent's covariance with it is the same: the prior's."""
    return np.maximum(np.diagonal(covariance) - covariance[0].mean(), 0.0)


@dataclass(eq=False)
class Online(_Ratings):
    """A posterior that takes one comparison after the other: close to the joint fit, in a fraction of the time. It drifts
    from the fit as ratings move on, so that the joint fit is to be made again now and then."""

    theta: Reals
    covariance: Reals
    dispersion: float = 1.0

    @classmethod
    def of(cls, found: Fit) -> Online:
        return cls(found.theta.copy(), found.covariance.copy(), found.dispersion)

    def add(self, first: int, second: int, score: float, weight: float = 1.0) -> None:
        update(self.theta, self.covariance, first, second, score, weight / self.dispersion)

    def contrast_variance(self, i: npt.ArrayLike, j: npt.ArrayLike) -> Reals:
        return _contrasts(self.covariance, i, j)

    def _pool_variance(self) -> Reals:
        return _centred(self.covariance)


def update(theta: Reals, covariance: Reals, first: int, second: int, score: float, weight: float) -> None:
    """Add one comparison, in place: the mode and the covariance, linearised there, of the normal distribution given times
    the comparison's likelihood. The weight is to be divided by the dispersion beforehand."""
    _update(theta, covariance, int(first), int(second), float(score), min(float(weight), MOST_MATCHES))


@entry
def _update(theta: Reals, covariance: Reals, first: int, second: int, score: float, weight: float) -> None:
    """All moves along covariance · (e_first - e_second): by t, the one root of t = weight (score - p(difference + spread t)),
    which lies between what the scores 0 and 1 would give. The covariance follows by Sherman and Morrison's formula."""
    along = covariance[first] - covariance[second]
    spread, difference = along[first] - along[second], theta[first] - theta[second]
    low, high = weight * (score - 1.0), weight * score
    t, information = 0.0, 0.0
    for _ in range(100):
        p = 1.0 / (1.0 + np.exp(-(difference + spread * t)))
        information = weight * p * (1.0 - p)
        excess = t - weight * (score - p)
        if excess > 0.0:
            high = t
        else:
            low = t
        better = t - excess / (1.0 + spread * information)
        if not low <= better <= high:
            better = (low + high) / 2
        if abs(better - t) <= 1e-14 * (abs(t) + 1e-14):
            break
        t = better
    theta += along * t
    along *= np.sqrt(information / (1.0 + spread * information))
    for i in range(len(theta)):
        for j in range(len(theta)):
            covariance[i, j] -= along[i] * along[j]


@entry
def _slopes(
    theta: Reals, low: Ints, high: Ints, total: Reals, won: Reals, prior: float, gradient: Reals, weight: Reals
) -> float:
    """The logarithm of the posterior density; also its gradient and, for each pair, minus its second derivative."""
    value = 0.0
    for i in range(len(theta)):
        gradient[i] = -prior * theta[i]
        value -= prior * theta[i] ** 2 / 2
    for e in range(len(total)):
        difference = theta[low[e]] - theta[high[e]]
        small = np.exp(-abs(difference))
        p = small / (1.0 + small)
        weight[e] = total[e] * p / (1.0 + small)
        if difference > 0.0:
            missing = total[e] - won[e]
            rest = total[e] * p - missing
            value -= missing * difference
        else:
            rest = won[e] - total[e] * p
            value += won[e] * difference
        value -= total[e] * np.log1p(small)
        gradient[low[e]] += rest
        gradient[high[e]] -= rest
    return value


@entry
def _merged(
    agents: int, first: Ints, second: Ints, score: Reals, weight: Reals, most: float
) -> tuple[Ints, Ints, Reals, Reals, Reals]:
    """The columns of `_Pairs`. Rows are put in order by counting: by their higher agent, then, keeping that, by the lower."""
    rows = len(first)
    order, ordered = np.arange(rows), np.empty(rows, dtype=np.int64)
    for key in range(2):
        place = np.zeros(agents + 1, dtype=np.int64)
        for row in range(rows):
            agent = min(first[row], second[row]) if key else max(first[row], second[row])
            place[agent + 1] += 1
        place = np.cumsum(place)
        for r in order:
            agent = min(first[r], second[r]) if key else max(first[r], second[r])
            ordered[place[agent]] = r
            place[agent] += 1
        order, ordered = ordered, order
    low, high = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
    total, won, drawn = np.zeros(rows), np.zeros(rows), np.zeros(rows)
    pair = -1
    for r in order:
        a, b, share = first[r], second[r], score[r]
        if a > b:
            a, b, share = b, a, 1.0 - share
        if pair < 0 or low[pair] != a or high[pair] != b:
            pair += 1
            low[pair], high[pair] = a, b
        worth = min(weight[r], most)
        total[pair] += worth
        won[pair] += worth * share
        drawn[pair] += worth * share * (1.0 - share)
    kept = pair + 1
    return low[:kept].copy(), high[:kept].copy(), total[:kept].copy(), won[:kept].copy(), drawn[:kept].copy()
