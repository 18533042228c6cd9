"""Beliefs against formulas of the normal distribution, and forecasts against matches that are then played."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm

from rung.errors import UserError
from rung.scheduler.bradley_terry import ELO, PRIOR_ELO, Fit, fit
from rung.scheduler.comparisons import compare
from rung.scheduler.evidence import Evidence, Records, gather, records, weigh
from rung.scheduler.forecast import first_probability, matches_to_verdict
from rung.scheduler.laplacian import DENSE_LIMIT
from rung.scheduler.separation import separate


def duel(wins: float, losses: float, draws: float = 0.0, fair: bool = True) -> Evidence:
    """What is known of two agents that met so often."""
    counts = [np.array([float(count)]) for count in (wins, draws, losses)]
    every = Records(np.array([0]), np.array([1]), counts[0], counts[1], counts[2])
    return weigh(2, every, every if fair else records(compare(0)))


def joint(agents: int, matches: int, seed: int = 1) -> Fit:
    """Of a pool in which lower agents are better."""
    random = np.random.default_rng(seed)
    first = random.integers(0, agents, matches)
    second = (first + random.integers(1, agents, matches)) % agents
    p = 1 / (1 + np.exp(60.0 * ELO * (first - second)))
    return fit(compare(agents, first, second, random.random(matches) < p))


def expected_matches(evidence: Evidence, margin_elo: float = 35.0) -> float:
    return float(matches_to_verdict(evidence, separate(evidence, margin_elo=margin_elo), 0, 1)[0])


# --- who is first -------------------------------------------------------------------------------------------------------

DRAWN = 4 / math.sqrt(20_000)
"""Eight deviations of a probability near 1/2, found by as many draws."""


@pytest.mark.parametrize("agents", [0, 1, 2, 7, 400])
@pytest.mark.parametrize("matches", [0, 500])
def test_somebody_is_first(agents: int, matches: int) -> None:
    probability = first_probability(joint(agents, matches if agents > 1 else 0))
    assert probability.shape == (agents,)
    assert (probability >= 0).all()
    assert probability.sum() == pytest.approx(1 if agents else 0)


@pytest.mark.parametrize("agents", [1, 2, 5, 20])
def test_among_equals_everybody_may_be_first(agents: int) -> None:
    np.testing.assert_allclose(first_probability(fit(compare(agents))), 1 / agents, atol=DRAWN)


@given(st.integers(0, 40), st.integers(0, 40))
def test_of_two_the_probability_is_that_of_their_difference(wins: int, losses: int) -> None:
    known = duel(wins, losses).pooled
    sd = math.sqrt(float(known.contrast_variance(0, 1)))
    exact = norm.cdf((known.theta[0] - known.theta[1]) / sd)
    assert first_probability(known)[0] == pytest.approx(exact, abs=DRAWN)


def test_of_three_the_probability_is_the_integral() -> None:
    """The first is first when both its differences are positive; they are correlated."""
    known = joint(3, 40)
    contrasts = np.array([[1.0, -1.0, 0.0], [1.0, 0.0, -1.0]])
    below = multivariate_normal(-contrasts @ known.theta, contrasts @ known.covariance @ contrasts.T).cdf(np.zeros(2))
    assert first_probability(known)[0] == pytest.approx(float(below), abs=DRAWN)


def test_the_same_seed_has_the_same_answer() -> None:
    known = joint(9, 60)
    assert first_probability(known, 3).tolist() == first_probability(known, 3).tolist()
    assert first_probability(known, 3).tolist() != first_probability(known, 4).tolist()


def test_who_is_far_behind_is_not_first() -> None:
    probability = first_probability(joint(30, 20_000))
    assert probability[0] > 0.99
    assert (probability[5:] == 0).all()


def test_a_very_large_pool_stays_within_memory() -> None:
    agents = DENSE_LIMIT + 1
    known = fit(compare(agents))
    tracemalloc.start()
    try:
        probability = first_probability(known)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert probability.sum() == pytest.approx(1)
    assert probability.max() < 0.01
    assert most < 4e8


# --- how many matches a verdict takes -----------------------------------------------------------------------------------


def test_what_is_settled_takes_no_matches() -> None:
    made = compare(4, [0] * 60 + [2] * 4000, [1] * 60 + [3] * 4000, [1] * 60 + [0, 1] * 2000)
    evidence = gather(made)
    separation = separate(evidence)
    assert separation.counts == {"separated": 1, "equal": 1, "circular": 0, "undecided": 4}
    found = matches_to_verdict(evidence, separation, [0, 1, 2, 3, 0], [1, 0, 3, 2, 0])
    assert found.tolist() == [0] * 5
    assert (matches_to_verdict(evidence, separation, [0, 0, 1, 1], [2, 3, 2, 3]) >= 1).all()


def test_a_pair_may_be_told_from_either_side() -> None:
    made = compare(3, [0, 0, 1, 1], [1, 1, 2, 2], [1, 0.5, 0, 0.5])
    evidence = gather(made)
    separation = separate(evidence)
    one = matches_to_verdict(evidence, separation, [0, 0, 1], [1, 2, 2])
    other = matches_to_verdict(evidence, separation, [1, 2, 2], [0, 0, 1])
    np.testing.assert_allclose(one, other, rtol=1e-9)
    assert np.isfinite(one).all()
    np.testing.assert_array_equal(matches_to_verdict(evidence, separation, 0, 1), one[:1])
    assert len(matches_to_verdict(evidence, separation, [], [])) == 0


def test_the_more_is_known_the_fewer_matches_are_missing() -> None:
    found = [expected_matches(duel(6 * k, 4 * k)) for k in (5, 10, 15, 20, 25)]
    assert found == sorted(found, reverse=True)
    assert found[-1] > 0


def test_the_greater_the_difference_the_fewer_matches_are_missing() -> None:
    found = [expected_matches(duel(50 + ahead, 50 - ahead)) for ahead in (8, 10, 12, 14)]
    assert found == sorted(found, reverse=True)


def test_a_greater_margin_takes_fewer_matches() -> None:
    found = [expected_matches(duel(50, 50), margin) for margin in (10, 20, 35, 60)]
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("played", [20, 50, 500])
def test_equals_take_many_matches_with_a_margin_and_endless_ones_without(played: int) -> None:
    evidence = duel(played, played)
    assert 1 <= expected_matches(evidence) < 1e4
    assert expected_matches(evidence, 0.0) > expected_matches(evidence)
    even = duel(10**7, 10**7)
    assert expected_matches(even, 0.0) > 1e7


def test_draws_settle_sooner_who_is_equal() -> None:
    assert expected_matches(duel(25, 25, 150)) < 0.6 * expected_matches(duel(100, 100))


def test_without_matches_it_is_what_the_prior_expects() -> None:
    """Differences are then some 300 points in the middle, and those take about 25 matches."""
    assert 10 < expected_matches(duel(0, 0)) < 60


@pytest.mark.parametrize("agents", [1, 3])
def test_unknown_agents_are_one_sentence(agents: int) -> None:
    evidence = gather(compare(agents))
    with pytest.raises(UserError, match=f"^Every agent must be one of 0 to {agents - 1}[.]$"):
        matches_to_verdict(evidence, separate(evidence), 0, agents)


def played_until_settled(elo: float, wins: int, losses: int, luck: np.random.Generator) -> float:
    """More matches that it took, looked at after every twentieth part."""
    p, more = 1 / (1 + math.exp(-elo * ELO)), 0
    while separate(duel(wins, losses)).counts["undecided"]:
        step = 1 + more // 20
        won = int(luck.binomial(step, p))
        wins, losses, more = wins + won, losses + step - won, more + step
    return float(more)


@pytest.mark.parametrize("known", [10, 60])
def test_forecasts_are_about_what_it_takes(known: int) -> None:
    """Pairs whose differences are those that the prior expects, each after a few matches: half of them take less than was
    forecast and half take more, and the middle is right within a factor of two."""
    luck = np.random.default_rng(known)
    ratios: list[float] = []
    while len(ratios) < 60:
        elo = float(luck.normal(0, PRIOR_ELO * math.sqrt(2)))
        wins = int(luck.binomial(known, 1 / (1 + math.exp(-elo * ELO))))
        expected = expected_matches(duel(wins, known - wins))
        if expected:
            ratios.append(max(1.0, played_until_settled(elo, wins, known - wins, luck)) / expected)
    assert 0.5 < np.median(ratios) < 2
