"""Evidence against bets worked out by hand, integrals, and streams of matches that are looked at after every one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import binom, norm

from rung.errors import UserError
from rung.scheduler.bradley_terry import ELO, PRIOR_ELO, fit
from rung.scheduler.comparisons import Comparisons, Flags, Reals, compare, only, pairs_of_match
from rung.scheduler.evidence import (
    EXPECTED_ELO,
    STAKES,
    Evidence,
    Records,
    about,
    bets_at,
    direct,
    gather,
    intervals,
    log_better,
    log_equal,
    p_values,
    pooled,
    records,
    refuted,
    together,
    weigh,
)

WIDTH = (EXPECTED_ELO * ELO) ** 2
DIFFERENCES = st.sampled_from([-3.0, -1.0, -0.2, 0.0, 0.2, 1.0, 3.0])
"""In nats."""
COUNTS = st.integers(0, 40)
LEVELS = [0.3, 0.05, 0.01, 1e-4]


def share(difference: float) -> float:
    return 1 / (1 + math.exp(-difference))


def capital(scores: Sequence[float], weights: Sequence[float], difference: float) -> float:
    """What the direct bet pays on these rows between agents 0 and 1."""
    rows = records(compare(2, [0] * len(scores), [1] * len(scores), scores, weights))
    wins, draws, losses = (float(column[0]) for column in (rows.wins, rows.draws, rows.losses))
    return math.exp(direct(wins, draws, losses, bets_at(difference)))


@st.composite
def logs(draw: st.DrawFn, most_agents: int = 5, most_rows: int = 25) -> Comparisons:
    """Any small log, with weights, fractions and unfair rows."""
    agents = draw(st.integers(2, most_agents))
    pair = st.tuples(st.integers(0, agents - 1), st.integers(1, agents - 1))
    score, weight = st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.sampled_from([0.25, 0.5, 1.0, 3.0])
    rows = draw(st.lists(st.tuples(pair, score, weight, st.booleans()), max_size=most_rows))
    first = [first for (first, _), *_ in rows]
    second = [(first + ahead) % agents for (first, ahead), *_ in rows]
    scores, weights, fair = ([row[column] for row in rows] for column in (1, 2, 3))
    return compare(agents, first, second, scores, weights, fair=fair)


def duels(wins: Any, losses: Any, fair: bool = True) -> Evidence:
    """What is known when agents 0 and 1, 2 and 3 and so on met so often, and nobody else did."""
    won, lost = np.atleast_1d(wins).astype(np.float64), np.atleast_1d(losses).astype(np.float64)
    low = 2 * np.arange(len(won))
    every = Records(low, low + 1, won, np.zeros(len(won)), lost)
    return weigh(2 * len(won), every, every if fair else records(compare(0)))


def both(agents: int) -> tuple[Any, Any]:
    """Every ordered pair of different agents."""
    i, j = np.nonzero(~np.eye(agents, dtype=np.bool_))
    return i, j


def rows_of(made: Comparisons, rows: Any) -> Comparisons:
    return compare(
        made.agents, made.first[rows], made.second[rows], made.score[rows], made.weight[rows], fair=made.fair[rows]
    )


def assert_same_records(one: Records, other: Records) -> None:
    assert one.low.tolist() == other.low.tolist()
    assert one.high.tolist() == other.high.tolist()
    for ours, theirs in zip(one[2:], other[2:], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)


# --- the direct bet -----------------------------------------------------------------------------------------------------


@given(DIFFERENCES, COUNTS, COUNTS, COUNTS)
def test_the_direct_bet_is_the_mean_over_stakes_of_what_each_grows_to(
    difference: float, wins: int, draws: int, losses: int
) -> None:
    even = share(difference)

    def factor(stake: float, score: float) -> float:
        return 1 + stake * (score - even) / even

    grown = [factor(s, 1) ** wins * factor(s, 0.5) ** draws * factor(s, 0) ** losses for s in STAKES.tolist()]
    ours = direct(float(wins), float(draws), float(losses), bets_at(difference))
    assert ours == pytest.approx(math.log(sum(grown) / len(grown)), rel=1e-9, abs=1e-9)


def mean_capital(chances: Sequence[tuple[float, float]], weights: Sequence[float], difference: float) -> float:
    """Over all outcomes; each match ends with each score by its chance."""
    total = 0.0
    for outcome in itertools.product(chances, repeat=len(weights)):
        chance = math.prod(p for _, p in outcome)
        total += chance * capital([score for score, _ in outcome], weights, difference)
    return total


@pytest.mark.parametrize("matches", [1, 2, 7])
@pytest.mark.parametrize("difference", [-2.0, 0.0, 0.5])
def test_the_direct_bet_is_fair(difference: float, matches: int) -> None:
    p = share(difference)
    assert mean_capital([(1, p), (0, 1 - p)], [1] * matches, difference) == pytest.approx(1, abs=1e-12)
    drawn = min(p, 1 - p)
    with_draws = [(1, p - drawn / 2), (0.5, drawn), (0, 1 - p - drawn / 2)]
    assert mean_capital(with_draws, [1] * min(matches, 4), difference) == pytest.approx(1, abs=1e-12)


@given(
    DIFFERENCES,
    st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.8, 1.0]), st.floats(0.01, 1)), min_size=1, max_size=5),
    st.lists(st.sampled_from([0.2, 1 / 3, 1.0, 7.0]), min_size=1, max_size=3),
)
@settings(max_examples=40)
def test_the_direct_bet_never_gains_on_who_is_not_better_however_matches_end(
    difference: float, ends: list[tuple[float, float]], weights: list[float]
) -> None:
    total = sum(chance for _, chance in ends)
    chances = [(score, chance / total) for score, chance in ends]
    assume(sum(score * chance for score, chance in chances) <= share(difference))
    assert mean_capital(chances, weights, difference) <= 1 + 1e-12


@pytest.mark.parametrize("p", [0.0, 0.1, 0.4])
def test_the_direct_bet_loses_on_average_against_who_is_worse(p: float) -> None:
    assert mean_capital([(1, p), (0, 1 - p)], [1] * 5, 0.0) < 1


@given(DIFFERENCES, st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_fractions_count_no_more_than_betting_on_them(difference: float, scores: list[float]) -> None:
    even = share(difference)
    exact = np.mean([math.prod(1 + stake * (score - even) / even for score in scores) for stake in STAKES.tolist()])
    assert capital(scores, [1] * len(scores), difference) <= exact * (1 + 1e-9)


@given(DIFFERENCES, COUNTS, COUNTS, COUNTS)
def test_a_better_result_is_more_evidence(difference: float, wins: int, draws: int, losses: int) -> None:
    bets = bets_at(difference)
    lost = direct(float(wins), float(draws), losses + 1.0, bets)
    drawn = direct(float(wins), draws + 1.0, float(losses), bets)
    won = direct(wins + 1.0, float(draws), float(losses), bets)
    before = direct(float(wins), float(draws), float(losses), bets)
    assert lost < drawn < won
    assert lost < before < won


@given(COUNTS, COUNTS, COUNTS, DIFFERENCES, DIFFERENCES)
def test_a_bolder_claim_has_less_evidence(wins: int, draws: int, losses: int, one: float, other: float) -> None:
    low, high = sorted((one, other))
    columns = float(wins), float(draws), float(losses)
    assert direct(*columns, bets_at(high)) <= direct(*columns, bets_at(low)) + 1e-12


def test_no_matches_are_no_evidence() -> None:
    assert direct(0.0, 0.0, 0.0, bets_at(0.0)) == 0
    assert log_better(0.0, 1.0, 0.0, 0.0, 0.0, 0.0, bets_at(0.0)) == -np.inf


@pytest.mark.parametrize("difference", [-1e6, -800.0, -40.0, 40.0, 800.0, 1e6])
def test_bets_at_any_difference_are_numbers(difference: float) -> None:
    assert np.isfinite(bets_at(difference)).all()
    assert np.isfinite(direct(3.0, 2.0, 1.0, bets_at(difference)))


# --- the pooled bet -----------------------------------------------------------------------------------------------------


@given(st.floats(-2, 2), st.floats(0.02, 5))
def test_the_pooled_bet_is_the_mixture_of_likelihood_ratios(distance: float, variance: float) -> None:
    sd = math.sqrt(variance)

    def integrand(alternative: float) -> float:
        mixture = norm.pdf(alternative, scale=math.sqrt(WIDTH))
        return float(mixture * np.exp(((distance**2) - (distance - alternative) ** 2) / (2 * variance)))

    middle = distance * WIDTH / (WIDTH + variance)
    reach = 12 * math.sqrt(WIDTH * variance / (WIDTH + variance)) + 1e-3 * sd
    ratio, _ = quad(integrand, middle - reach, middle + reach, epsabs=0, epsrel=1e-10, limit=200)
    assert pooled(distance, variance) == pytest.approx(math.log(ratio), abs=1e-7)


def mean_under(variance: float, value: Callable[[float], float]) -> float:
    """The expectation over a normal estimate around a true distance of zero."""
    sd = math.sqrt(variance)

    def integrand(estimate: float) -> float:
        return math.exp(value(estimate) - estimate**2 / (2 * variance)) / (sd * math.sqrt(2 * math.pi))

    reach = 12 * math.sqrt(variance + WIDTH)
    return float(quad(integrand, -reach, reach, epsabs=0, epsrel=1e-9, limit=500, points=[-sd, 0, sd])[0])


@pytest.mark.parametrize("variance", [1e-3, 0.05, WIDTH, 4.0])
def test_the_pooled_bet_is_fair(variance: float) -> None:
    assert mean_under(variance, lambda estimate: pooled(estimate, variance)) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("now", [-0.4, 0.0, 1.1])
@pytest.mark.parametrize(("before", "fresh"), [(1.0, 0.5), (0.1, 2.0), (0.05, 0.05)])
def test_the_pooled_bet_stays_what_it_is_on_average_as_matches_come_in(now: float, before: float, fresh: float) -> None:
    after = 1 / (1 / before + 1 / fresh)

    def later(result: float) -> float:
        return pooled(after * (now / before + result / fresh), after)

    assert mean_under(fresh, later) == pytest.approx(math.exp(pooled(now, before)), rel=1e-6)


@given(st.floats(0, 3), st.floats(0, 3), st.floats(1e-3, 5))
def test_the_pooled_bet_grows_with_the_distance(one: float, other: float, variance: float) -> None:
    near, far = sorted((one, other))
    assert pooled(near, variance) <= pooled(far, variance)
    assert pooled(-far, variance) == pooled(far, variance)


# --- both bets together -------------------------------------------------------------------------------------------------


@given(DIFFERENCES, st.floats(1e-3, 4), COUNTS, COUNTS, COUNTS, DIFFERENCES)
def test_the_stake_is_shared(
    difference: float, variance: float, wins: int, draws: int, losses: int, reference: float
) -> None:
    bets = bets_at(reference)
    found = log_better(difference, variance, float(wins), float(draws), float(losses), reference, bets)
    own = direct(float(wins), float(draws), float(losses), bets) - math.log(4) if wins + draws else -math.inf
    joint = pooled(difference - reference, variance) - math.log(2) if difference > reference else -math.inf
    assert found == pytest.approx(max(own, joint), rel=1e-9)


@given(DIFFERENCES, st.floats(1e-3, 4), COUNTS, COUNTS, COUNTS, st.sampled_from([0.0, 0.1, 0.5]))
def test_practically_equal_reads_the_same_from_either_side(
    difference: float, variance: float, wins: int, draws: int, losses: int, margin: float
) -> None:
    below = bets_at(-margin)
    w, d, lost = float(wins), float(draws), float(losses)
    one = log_equal(difference, variance, w, d, lost, margin, below)
    assert one == log_equal(-difference, variance, lost, d, w, margin, below)
    wider = log_equal(difference, variance, w, d, lost, margin + 0.1, bets_at(-margin - 0.1))
    assert wider >= one - 1e-12


@given(logs())
def test_p_values_and_intervals_tell_the_same(made: Comparisons) -> None:
    evidence, (i, j) = gather(made), both(made.agents)
    p = p_values(evidence, i, j)
    assert ((p >= 0) & (p <= 1)).all()
    for alpha in LEVELS:
        low, _ = intervals(evidence, i, j, alpha)
        clear = np.abs(low) > 1e-6
        assert ((p <= alpha) == (low > 0))[clear].all()


@given(logs())
def test_intervals_read_the_same_from_either_side_and_widen_with_confidence(made: Comparisons) -> None:
    evidence, (i, j) = gather(made), both(made.agents)
    narrower = None
    for alpha in LEVELS:
        low, high = intervals(evidence, i, j, alpha)
        assert np.isfinite(low).all()
        assert np.isfinite(high).all()
        back_low, back_high = intervals(evidence, j, i, alpha)
        np.testing.assert_array_equal(low, -back_high)
        np.testing.assert_array_equal(high, -back_low)
        if narrower is not None:
            assert (low <= narrower[0]).all()
            assert (high >= narrower[1]).all()
        narrower = low, high


@given(logs(), st.floats(-5, 5))
def test_refuted_is_outside_the_interval(made: Comparisons, difference: float) -> None:
    evidence, (i, j) = gather(made), both(made.agents)
    low, high = intervals(evidence, i, j, 0.05)
    at = difference / ELO
    clear = (np.abs(at - low) > 1e-6) & (np.abs(at - high) > 1e-6)
    outside = (at < low) | (at > high)
    found = refuted(about(evidence, i, j), np.full(len(i), difference))
    assert (found == outside)[clear].all()


@pytest.mark.parametrize("agents", [2, 7])
def test_where_nothing_is_known_the_prior_bounds_differences_far_out(agents: int) -> None:
    low, high = intervals(gather(compare(agents)), 0, 1)
    variance, width = 2 * PRIOR_ELO**2, EXPECTED_ELO**2
    needed = math.log(20) + math.log(2) + math.log1p(width / variance) / 2
    reach = math.sqrt(2 * variance * (variance + width) / width * needed)
    assert high[0] == pytest.approx(reach, rel=1e-9)
    assert low[0] == pytest.approx(-reach, rel=1e-9)
    assert reach > 5000


def test_no_pairs_and_no_agents_have_empty_answers() -> None:
    for agents in (0, 1, 3):
        evidence = gather(compare(agents))
        assert len(p_values(evidence, [], [])) == 0
        assert [len(bound) for bound in intervals(evidence, [], [])] == [0, 0]


def test_an_agent_is_level_with_itself() -> None:
    evidence = gather(compare(3, [0, 0], [1, 2], [1, 1]))
    assert [bound.tolist() for bound in intervals(evidence, [0, 2], [0, 2])] == [[0, 0], [0, 0]]
    assert p_values(evidence, 0, 0).tolist() == [1]


@pytest.mark.parametrize(("first", "second"), [(-1, 0), (0, 3), ([0, 1], [1, -2])])
def test_unknown_agents_are_one_sentence(first: Any, second: Any) -> None:
    evidence = gather(compare(3, [0], [1], [1]))
    for ask in (p_values, intervals, about):
        with pytest.raises(UserError, match=r"^Every agent must be one of 0 to 2\.$"):
            ask(evidence, first, second)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, 2.0, math.nan])
def test_a_level_is_between_0_and_1(alpha: float) -> None:
    evidence = gather(compare(2))
    with pytest.raises(UserError, match=f"^alpha must be between 0 and 1, not {alpha}[.]$"):
        intervals(evidence, 0, 1, alpha)
    with pytest.raises(UserError, match=f"^alpha must be between 0 and 1, not {alpha}[.]$"):
        refuted(about(evidence, 0, 1), np.zeros(1), alpha)


@pytest.mark.parametrize(("wins", "losses"), [(1e9, 0), (1e9, 1e9), (1e6, 1)])
def test_huge_records_stay_finite(wins: float, losses: float) -> None:
    evidence = duels(wins, losses)
    low, high = intervals(evidence, 0, 1)
    assert np.isfinite([low, high]).all()
    assert low[0] <= high[0]
    assert np.isfinite(p_values(evidence, [0, 1], [1, 0])).all()


# --- records ------------------------------------------------------------------------------------------------------------


@given(logs())
def test_records_are_those_of_a_dictionary(made: Comparisons) -> None:
    wanted: dict[tuple[int, int], list[float]] = {}
    for a, b, score, weight in zip(made.first, made.second, made.score, made.weight, strict=True):
        low, high = min(a, b), max(a, b)
        won = score if a == low else 1 - score
        row = wanted.setdefault((int(low), int(high)), [0.0, 0.0, 0.0])
        counted = min(weight, 1.0)
        row[0] += counted * max(0.0, 2 * won - 1)
        row[1] += counted * (1 - abs(2 * won - 1))
        row[2] += counted * max(0.0, 1 - 2 * won)
    found = records(made)
    assert list(zip(found.low.tolist(), found.high.tolist(), strict=True)) == sorted(wanted)
    rows = [wanted[pair] for pair in sorted(wanted)]
    np.testing.assert_allclose(np.stack(found[2:], axis=1), np.reshape(rows, (-1, 3)), atol=1e-12)
    np.testing.assert_allclose(found.met, np.sum(np.reshape(rows, (-1, 3)), axis=1), atol=1e-12)


@given(logs(), st.lists(st.integers(0, 25), max_size=4))
def test_a_log_may_come_in_parts(made: Comparisons, cuts: list[int]) -> None:
    ends = [0, *sorted(min(cut, len(made)) for cut in cuts), len(made)]
    every = fair = records(compare(made.agents))
    for begin, end in itertools.pairwise(ends):
        part = rows_of(made, np.arange(begin, end))
        every = together(made.agents, every, records(part))
        fair = together(made.agents, fair, records(only(part, part.fair)))
    assert_same_records(every, records(made))
    whole, parts = gather(made), weigh(made.agents, every, fair)
    assert_same_records(parts.records, whole.records)
    np.testing.assert_allclose(parts.pooled.theta, whole.pooled.theta, atol=1e-9)
    np.testing.assert_allclose(parts.pooled.covariance, whole.pooled.covariance, atol=1e-9)
    np.testing.assert_allclose(parts.joint.theta, whole.joint.theta, atol=1e-9)


@given(logs(), st.randoms(use_true_random=False))
def test_the_order_of_the_log_and_the_side_told_first_are_irrelevant(made: Comparisons, random: Any) -> None:
    order = np.array(random.sample(range(len(made)), len(made)), dtype=np.int64)
    mixed = rows_of(made, order)
    turned = replace(mixed, first=mixed.second, second=mixed.first, score=1 - mixed.score)
    for other in (mixed, turned):
        assert_same_records(records(other), records(made))
        np.testing.assert_allclose(gather(other).pooled.theta, gather(made).pooled.theta, atol=1e-9)


@given(logs())
def test_unfair_rows_count_directly_only(made: Comparisons) -> None:
    evidence = gather(made)
    fair = only(made, made.fair)
    one_match_each = replace(fair, weight=np.minimum(fair.weight, 1.0))
    np.testing.assert_allclose(evidence.pooled.theta, gather(fair).pooled.theta, atol=1e-9)
    assert_same_records(evidence.records, records(replace(made, fair=np.ones(len(made), dtype=np.bool_))))
    if not ((made.score > 0) & (made.score < 1)).any():
        np.testing.assert_allclose(evidence.pooled.theta, fit(one_match_each).theta, atol=1e-8)


def test_unfair_matches_convince_by_themselves_but_not_through_others() -> None:
    rows = 200
    first, second = np.repeat([0, 1], rows), np.repeat([1, 2], rows)
    score = np.tile([1.0, 1.0, 1.0, 0.0], rows // 2)
    chain = compare(3, first, second, score, fair=np.zeros(2 * rows, dtype=np.bool_))
    assert (p_values(gather(chain), [0, 1], [1, 2]) < 1e-4).all()
    assert p_values(gather(chain), 0, 2).tolist() == [1]
    assert p_values(gather(replace(chain, fair=~chain.fair)), 0, 2)[0] < 1e-4


@pytest.mark.parametrize("seats", [2, 3, 4, 6])
def test_a_match_of_many_seats_is_as_many_games_for_each_as_it_has_matches(seats: int) -> None:
    rows = pairs_of_match(list(range(seats)), list(range(1, seats + 1)))
    first, second, score, weight = zip(*rows, strict=True)
    found = records(compare(seats, first, second, score, weight, match=[0] * len(rows)))
    assert len(found.low) == seats * (seats - 1) // 2
    assert found.wins == pytest.approx(1 / (seats - 1))
    ends = np.concatenate([found.low, found.high])
    np.testing.assert_allclose(np.bincount(ends, np.tile(found.met, 2)), 1)


def test_a_heavy_row_is_one_observation() -> None:
    assert_same_records(records(compare(2, [0], [1], [1], [5.0])), records(compare(2, [0], [1], [1])))


@given(logs())
def test_about_finds_a_pair_from_either_side(made: Comparisons) -> None:
    evidence, (i, j) = gather(made), both(made.agents)
    known = {
        (int(low), int(high)): counts
        for low, high, *counts in zip(*(column.tolist() for column in evidence.records), strict=True)
    }
    found = about(evidence, i, j)
    for at, (a, b) in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
        wins, draws, losses = known.get((min(a, b), max(a, b)), [0.0, 0.0, 0.0])
        assert found.draws[at] == draws
        assert [found.wins[at], found.losses[at]] == ([wins, losses] if a < b else [losses, wins])
    theta, covariance = evidence.pooled.theta, evidence.pooled.covariance
    np.testing.assert_allclose(found.difference, theta[i] - theta[j])
    np.testing.assert_allclose(found.variance, covariance[i, i] + covariance[j, j] - 2 * covariance[i, j], atol=1e-9)


@given(logs(), st.integers(0, 4), st.integers(1, 4))
def test_another_win_never_weakens_what_was_won_directly(made: Comparisons, winner: int, ahead: int) -> None:
    winner %= made.agents
    loser = (winner + 1 + ahead % (made.agents - 1)) % made.agents
    unfair = replace(made, fair=np.zeros(len(made), dtype=np.bool_))
    more = compare(
        made.agents,
        np.append(made.first, winner),
        np.append(made.second, loser),
        np.append(made.score, 1.0),
        np.append(made.weight, 1.0),
        fair=np.zeros(len(made) + 1, dtype=np.bool_),
    )
    assert p_values(gather(more), winner, loser)[0] <= p_values(gather(unfair), winner, loser)[0]


# --- looking after every match ------------------------------------------------------------------------------------------

STREAMS, MATCHES, ALPHA = 400, 500, 0.05
TOGETHER = 50
BY_LUCK = int(binom.ppf(0.999, STREAMS, ALPHA))
"""More of the streams than this are wrong in one test of a thousand, if each is by a chance of ALPHA."""


def streams(elo: float, seed: int) -> tuple[Reals, Reals]:
    """Wins and losses of the first of two agents after each match, stream by stream."""
    won = np.random.default_rng(seed).random((STREAMS, MATCHES)) < share(elo * ELO)
    return won.cumsum(axis=1).astype(np.float64), (~won).cumsum(axis=1).astype(np.float64)


def ever(wins: Reals, losses: Reals, wrong: Callable[[Reals, Reals], Flags]) -> int:
    """In how many streams it was ever so; records that occur again are looked at once, and many of them together."""
    looks, where = np.unique(np.stack([wins.ravel(), losses.ravel()], axis=1), axis=0, return_inverse=True)
    parts = np.array_split(looks, len(looks) // TOGETHER)
    seen = np.concatenate([wrong(part[:, 0], part[:, 1]) for part in parts])
    return int(seen[where.ravel()].reshape(wins.shape).any(axis=1).sum())


def better(wins: Reals, losses: Reals) -> Flags:
    upper = 2 * np.arange(len(wins))
    return np.asarray(p_values(duels(wins, losses), upper, upper + 1) <= ALPHA)


@pytest.mark.parametrize("fair", [True, False], ids=["pooled", "direct"])
@pytest.mark.parametrize("elo", [0.0, 120.0])
def test_at_most_a_share_alpha_of_streams_ever_refutes_the_truth(elo: float, fair: bool) -> None:
    def wrong(wins: Reals, losses: Reals) -> Flags:
        upper = 2 * np.arange(len(wins))
        pairs = about(duels(wins, losses, fair), upper, upper + 1)
        return refuted(pairs, np.full(len(wins), elo * ELO), ALPHA)

    assert ever(*streams(elo, 1), wrong) <= BY_LUCK


def test_equal_agents_are_told_apart_in_at_most_a_share_alpha_of_streams() -> None:
    assert ever(*streams(0.0, 2), lambda wins, losses: better(wins, losses) | better(losses, wins)) <= BY_LUCK


def test_a_plain_z_looked_at_after_every_match_would_not_pass() -> None:
    def apart(wins: Reals, losses: Reals) -> Flags:
        return np.asarray(np.abs(wins - losses) / np.sqrt(wins + losses) > 1.96)

    assert ever(*streams(0.0, 2), apart) > 4 * BY_LUCK


def test_agents_that_differ_are_told_apart_in_most_streams() -> None:
    assert ever(*streams(120.0, 3), better) > 0.9 * STREAMS
