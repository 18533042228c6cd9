"""Glicko-2 over arrays: what each agent's results say of its strength, and how sure that is.

By Mark Glickman, "Example of the Glicko-2 system" (2012 revision, http://www.glicko.net/glicko/glicko2.pdf); "step" below
is a step of that paper. Everything goes in and comes out on the public scale, where agents start at 1500; gaps and
deviations are divided by `SCALE` where the formulas need it. `_opinion` and `_rated` are the system; the rest is order.
Compiled code keeps the variance, which is the deviation squared: the formulas ask for nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, pi, sqrt
from typing import Literal, overload

import numpy as np

from rung.errors import UserError
from rung.jit import entry, jit
from rung.scheduler.comparisons import Comparisons, Ints, Reals

SCALE = 400 / log(10)
"""Rating points in one unit of Glickman's scale (he prints 173.7178)."""
START_RATING = 1500.0
START_DEVIATION = 350.0
START_VOLATILITY = 0.06
START_TAU = 0.5

_UNIT = 1 / SCALE
_DOUBT = 3 / (pi * SCALE) ** 2
"""How much of an opponent's variance counts in g(φ) (step 3)."""
_LARGEST = 1e6
_SURE = 100.0
"""Gaps beyond this, on Glickman's scale, count as this: the chance left, e^-100, is below what a float tells from none."""
_TOLERANCE = 1e-9
"""How well the logarithm of the squared volatility is found; Glickman proposes 1e-6."""
_LEAST = 1e-100
"""Information below this says nothing of a volatility, and its inverse could not be squared."""
_MOST_STEPS = 1000
"""The search for a volatility takes around ten steps; this only promises that it ends."""
_BEFORE, _AFTER, _NOTED = 0, 2, 4
"""Columns of a history: rating and deviation before, rating and deviation after."""

_Rows = tuple[Ints, Ints, Reals, Reals, Ints]
"""First, second, score, weight and period, by row."""
_Columns = tuple[Reals, Reals, Reals]
"""Rating, variance and volatility, by agent."""


@dataclass(frozen=True)
class Settings:
    """Where agents start (step 1), and how much their strength may change with time.

    A volatility of 0 means that strength never changes, so deviations only shrink, without a floor. A volatility above 0
    with a tau of 0 stays what it is; with a tau above 0 it follows from the results. An agent's own volatility is in its
    `Ratings`, so once it has started only tau matters.
    """

    rating: float = START_RATING
    deviation: float = START_DEVIATION
    volatility: float = 0.0
    tau: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.deviation <= _LARGEST:
            raise UserError(f"The setting deviation must be above 0 and at most {_LARGEST:.0f}, not {self.deviation}.")
        for name, value in (("rating", self.rating), ("volatility", self.volatility), ("tau", self.tau)):
            if not 0 <= value <= _LARGEST:
                raise UserError(f"The setting {name} must be from 0 to {_LARGEST:.0f}, not {value}.")


STATIC = Settings()
"""For programs, whose strength does not change: a new version is a new agent."""
DYNAMIC = Settings(volatility=START_VOLATILITY, tau=START_TAU)
"""For players who learn, as in Glickman's paper."""


@dataclass(frozen=True, eq=False)
class Ratings:
    """What is believed of each agent, as columns by agent."""

    rating: Reals
    deviation: Reals
    volatility: Reals


@dataclass(frozen=True, eq=False)
class History:
    """What was believed before and after the match of each comparison, by row: of the first agent and of the second."""

    rating_before: Reals
    deviation_before: Reals
    rating_after: Reals
    deviation_after: Reals


def start(agents: int, settings: Settings = STATIC) -> Ratings:
    """The ratings of agents that have not played (step 1)."""
    values = (settings.rating, settings.deviation, settings.volatility)
    return Ratings(*(np.full(agents, value, dtype=np.float64) for value in values))


def rate_period(ratings: Ratings, comparisons: Comparisons, settings: Settings = STATIC) -> Ratings:
    """One rating period: all comparisons count as simultaneous, in whatever order (steps 2 to 8).

    The deviation of an agent without comparisons grows by its volatility (step 6).
    """
    rated, _ = _run(ratings, comparisons, np.zeros_like(comparisons.match), settings, history=False)
    idle = np.ones(comparisons.agents, dtype=np.bool_)
    idle[comparisons.first] = idle[comparisons.second] = False
    rated.deviation[idle] = np.hypot(rated.deviation, SCALE * rated.volatility)[idle]
    return rated


@overload
def fold(
    ratings: Ratings, comparisons: Comparisons, settings: Settings = ..., *, history: Literal[False] = ...
) -> Ratings: ...


@overload
def fold(
    ratings: Ratings, comparisons: Comparisons, settings: Settings = ..., *, history: Literal[True]
) -> tuple[Ratings, History]: ...


def fold(
    ratings: Ratings, comparisons: Comparisons, settings: Settings = STATIC, *, history: bool = False
) -> Ratings | tuple[Ratings, History]:
    """One match after another in the order of the log: each is a rating period of its agents; others are left alone.

    With `history` also what was believed before and after each match.
    """
    rated, noted = _run(ratings, comparisons, comparisons.match, settings, history)
    return (rated, History(*noted)) if history else rated


def _run(
    ratings: Ratings, comparisons: Comparisons, period: Ints, settings: Settings, history: bool
) -> tuple[Ratings, Reals]:
    agents, known = comparisons.agents, len(ratings.rating)
    if known != agents:
        raise UserError(f"Comparisons among {agents} agents need as many ratings, not {known}.")
    rating, volatility = (np.array(column, dtype=np.float64) for column in (ratings.rating, ratings.volatility))
    variance = np.square(ratings.deviation, dtype=np.float64)
    noted = np.empty((_NOTED, len(comparisons) if history else 0, 2))
    _rate_periods(
        (comparisons.first, comparisons.second, comparisons.score, comparisons.weight, period),
        (rating, variance, volatility),
        float(settings.tau),
        noted,
    )
    return Ratings(rating, np.sqrt(variance), volatility), noted


@entry
def _rate_periods(rows: _Rows, ratings: _Columns, tau: float, history: Reals) -> None:
    """Rate one run of rows with the same period after the other, in place; note them in the history if it has room."""
    period = rows[4]
    sums = np.zeros((len(ratings[0]), 2))  # by agent: information, surplus
    kept = history.shape[1] > 0
    begin = 0
    while begin < len(period):
        end = begin + 1
        while end < len(period) and period[end] == period[begin]:
            end += 1
        if kept:
            _note(begin, end, rows, ratings, history, _BEFORE)
        if end == begin + 1:
            _rate_pair(begin, rows, ratings, tau)
        else:
            _rate_many(begin, end, rows, ratings, tau, sums)
        if kept:
            _note(begin, end, rows, ratings, history, _AFTER)
        begin = end


@jit
def _note(begin: int, end: int, rows: _Rows, ratings: _Columns, history: Reals, when: int) -> None:
    for row in range(begin, end):
        for side, agent in enumerate((rows[0][row], rows[1][row])):
            history[when, row, side] = ratings[0][agent]
            history[when + 1, row, side] = sqrt(ratings[1][agent])


@jit
def _rate_pair(row: int, rows: _Rows, ratings: _Columns, tau: float) -> None:
    """A period of one row. `_rate_many` would say the same, but most matches are of two, and this takes 3/5 of the time."""
    first, second, score, weight, _ = rows
    rating, variance, volatility = ratings
    a, b, gap = first[row], second[row], rating[first[row]] - rating[second[row]]
    for_a = _opinion(gap, variance[b], score[row], weight[row])
    for_b = _opinion(-gap, variance[a], 1.0 - score[row], weight[row])
    rating[a], variance[a], volatility[a] = _rated(rating[a], variance[a], volatility[a], for_a, tau)
    rating[b], variance[b], volatility[b] = _rated(rating[b], variance[b], volatility[b], for_b, tau)


@jit
def _rate_many(begin: int, end: int, rows: _Rows, ratings: _Columns, tau: float, sums: Reals) -> None:
    """A period of several rows: all opinions first, from the ratings before it. Finds and leaves the sums at 0."""
    first, second, score, weight, _ = rows
    rating, variance, volatility = ratings
    for row in range(begin, end):
        a, b, gap = first[row], second[row], rating[first[row]] - rating[second[row]]
        for_a = _opinion(gap, variance[b], score[row], weight[row])
        for_b = _opinion(-gap, variance[a], 1.0 - score[row], weight[row])
        sums[a, 0], sums[a, 1] = sums[a, 0] + for_a[0], sums[a, 1] + for_a[1]
        sums[b, 0], sums[b, 1] = sums[b, 0] + for_b[0], sums[b, 1] + for_b[1]
    for row in range(begin, end):
        for agent in (first[row], second[row]):
            if sums[agent, 0] > 0:  # else it was rated at an earlier row
                opinions = (sums[agent, 0], sums[agent, 1])
                rating[agent], variance[agent], volatility[agent] = _rated(
                    rating[agent], variance[agent], volatility[agent], opinions, tau
                )
            sums[agent, 0] = sums[agent, 1] = 0.0


@jit
def _opinion(gap: float, opponents_variance: float, share: float, weight: float) -> tuple[float, float]:
    """One comparison's terms in the sums of steps 3 and 4: information, g² E (1 - E), and surplus, g (share - E)."""
    g = 1.0 / sqrt(1.0 + _DOUBT * opponents_variance)
    exponent = min(max(g * gap * _UNIT, -_SURE), _SURE)
    odds_against = exp(-exponent)
    win = 1.0 / (1.0 + odds_against)
    loss = odds_against * win
    return weight * g * g * win * loss, weight * g * (share * loss - (1.0 - share) * win)


@jit
def _rated(
    rating: float, variance: float, volatility: float, opinions: tuple[float, float], tau: float
) -> tuple[float, float, float]:
    """An agent after a period: its rating, variance and volatility (steps 5 to 8), from the sums of its opinions.

    Step 7's 1 / (1/φ*² + 1/v) is written as a quotient that rounding cannot lift above φ*².
    """
    information, surplus = opinions  # 1 / v, and what Δ is v times of
    if volatility > 0:
        if tau > _TOLERANCE and information > _LEAST:
            volatility = _new_volatility(variance * _UNIT**2, volatility, information, surplus, tau)
        variance += (SCALE * volatility) ** 2
    variance /= 1.0 + variance * _UNIT**2 * information
    return rating + variance * _UNIT * surplus, variance, volatility


@jit
def _new_volatility(phi_squared: float, volatility: float, information: float, surplus: float, tau: float) -> float:
    """The volatility after a period (step 5), by the Illinois variant of regula falsi."""
    v = 1.0 / information
    settled = phi_squared + v
    excess = (v * surplus) ** 2 - settled
    a = 2.0 * log(volatility)
    low, low_value = a, _slope(a, a, excess, settled, tau)
    if excess > 0:
        high = log(excess)
    else:
        high = a - tau
        while _slope(high, a, excess, settled, tau) < 0:
            high -= tau
    high_value = _slope(high, a, excess, settled, tau)
    for _ in range(_MOST_STEPS):
        if abs(high - low) <= _TOLERANCE:
            break
        middle = low + (low - high) * low_value / (high_value - low_value)
        middle_value = _slope(middle, a, excess, settled, tau)
        if middle_value * high_value <= 0:
            low, low_value = high, high_value
        else:
            low_value /= 2.0
        high, high_value = middle, middle_value
    return exp(low / 2.0)


@jit
def _slope(x: float, a: float, excess: float, settled: float, tau: float) -> float:
    """Glickman's f(x), with excess = Δ² - φ² - v and settled = φ² + v."""
    square = exp(x)
    return square * (excess - square) / (2.0 * (settled + square) ** 2) - (x - a) / (tau * tau)
