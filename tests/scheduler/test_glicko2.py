"""Glicko-2 against Glickman's example, PyPI's `glicko2`, a plain second implementation, and what must hold of any ratings."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple, replace
from itertools import groupby
from typing import Any

import glicko2 as pypi
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rung.errors import UserError
from rung.scheduler.comparisons import Comparisons, compare, pairs_of_match
from rung.scheduler.glicko2 import DYNAMIC, SCALE, STATIC, Ratings, Settings, fold, rate_period, start

AGENTS = 5
FIXED = Settings(volatility=0.06, tau=0)
MODES = pytest.mark.parametrize("settings", [STATIC, FIXED, DYNAMIC], ids=["static", "fixed", "dynamic"])
Method = Callable[[Ratings, Comparisons, Settings], Ratings]
BOTH = pytest.mark.parametrize("method", [fold, rate_period])


def ratings_of(*agents: tuple[float, float, float]) -> Ratings:
    return Ratings(*np.array(agents, dtype=np.float64).reshape(-1, 3).T.copy())


def same(found: Ratings, wanted: Ratings, tolerance: float = 1e-9) -> None:
    for ours, theirs in zip(columns(found), columns(wanted), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def columns(ratings: Ratings) -> tuple[npt.NDArray[np.float64], ...]:
    return ratings.rating, ratings.deviation, ratings.volatility


def rows_of(made: Comparisons) -> list[tuple[int, int, float, float, int]]:
    listed = (made.first, made.second, made.score, made.weight, made.match)
    return list(zip(*(column.tolist() for column in listed), strict=True))


def from_rows(agents: int, rows: list[tuple[int, int, float, float, int]]) -> Comparisons:
    return compare(agents, *zip(*rows, strict=True)) if rows else compare(agents)


# Glickman's example.

EXAMPLE = ratings_of((1500, 200, 0.06), (1400, 30, 0.06), (1550, 100, 0.06), (1700, 300, 0.06))
GAMES = compare(4, [0, 0, 0], [1, 2, 3], [1, 0, 0])


def test_glickmans_example() -> None:
    rated = rate_period(EXAMPLE, GAMES, DYNAMIC)
    # He rounds on the way, which shows in the second decimal of the rating: 1464.06, where exact steps give 1464.05.
    assert rated.rating[0] == pytest.approx(1464.06, abs=0.011)
    assert rated.deviation[0] == pytest.approx(151.52, abs=0.006)
    assert rated.volatility[0] == pytest.approx(0.05999, abs=0.00001)


def test_glickmans_intermediate_numbers_follow_from_a_static_period() -> None:
    before = 200 / SCALE
    rated = rate_period(replace(EXAMPLE, volatility=np.zeros(4)), GAMES)
    after = rated.deviation[0] / SCALE
    v = 1 / (after**-2 - before**-2)
    delta = v * (rated.rating[0] - 1500) / SCALE / after**2
    assert v == pytest.approx(1.7785, abs=0.001)
    assert delta == pytest.approx(-0.4834, abs=0.001)


# A second implementation: Glickman's steps one by one on his scale, the volatility by bisection.


def plain_period(players: list[Any], games: list[Any], tau: float, idle_too: bool) -> list[Any]:
    rated = []
    for me, (rating, deviation, volatility) in enumerate(players):
        mine = [(b, s, w) for a, b, s, w, _ in games if a == me]
        mine += [(a, 1 - s, w) for a, b, s, w, _ in games if b == me]
        mu, phi, sigma = (rating - 1500) / SCALE, deviation / SCALE, volatility
        if not mine:
            grown = math.sqrt(phi**2 + sigma**2) * SCALE if idle_too else deviation
            rated.append((rating, grown, volatility))
            continue
        information = total = 0.0
        for other, share, weight in mine:
            g = 1 / math.sqrt(1 + 3 * (players[other][1] / SCALE) ** 2 / math.pi**2)
            expected = 1 / (1 + math.exp(-g * (mu - (players[other][0] - 1500) / SCALE)))
            information += weight * g**2 * expected * (1 - expected)
            total += weight * g * (share - expected)
        if sigma > 0 and tau > 0:
            sigma = plain_volatility(phi, sigma, 1 / information, total / information, tau)
        phi = 1 / math.sqrt(1 / (phi**2 + sigma**2) + information)
        rated.append((1500 + SCALE * (mu + phi**2 * total), SCALE * phi, sigma))
    return rated


def plain_volatility(phi: float, sigma: float, v: float, delta: float, tau: float) -> float:
    a = math.log(sigma**2)

    def f(x: float) -> float:
        ex = math.exp(x)
        return ex * (delta**2 - phi**2 - v - ex) / (2 * (phi**2 + v + ex) ** 2) - (x - a) / tau**2

    below, above = a, a
    while f(below) < 0:
        below -= tau
    while f(above) > 0:
        above += tau / 100
    for _ in range(100):
        middle = (below + above) / 2
        below, above = (middle, above) if f(middle) > 0 else (below, middle)
    return math.exp(below / 2)


def plain_fold(players: list[Any], games: list[Any], tau: float) -> list[Any]:
    for _, match in groupby(games, key=lambda row: row[4]):
        players = plain_period(players, list(match), tau, idle_too=False)
    return players


@st.composite
def some_ratings(draw: st.DrawFn, settings: Settings = STATIC) -> Ratings:
    volatility = st.floats(0.03, 0.1) if settings.volatility > 0 else st.just(0.0)
    agent = st.tuples(st.floats(1000, 2000), st.floats(30, 350), volatility)
    return ratings_of(*draw(st.lists(agent, min_size=AGENTS, max_size=AGENTS)))


@st.composite
def some_matches(draw: st.DrawFn) -> Comparisons:
    """Matches of two to five, ties, teams and weights of every kind."""
    rows = []
    for match in draw(st.lists(st.integers(0, 30), max_size=6, unique=True).map(sorted)):
        seats = draw(st.permutations(range(AGENTS)))[: draw(st.integers(2, AGENTS))]
        ranks = draw(st.lists(st.integers(1, 3), min_size=len(seats), max_size=len(seats)))
        teams = draw(st.none() | st.just([0] + [1] * (len(seats) - 1)))
        worth = draw(st.sampled_from([1.0, 0.3, 4.0]))
        rows += [(a, b, s, w * worth, match) for a, b, s, w in pairs_of_match(seats, ranks, teams)]
    return from_rows(AGENTS, rows)


@MODES
@given(st.data())
def test_both_methods_agree_with_the_plain_one(settings: Settings, data: st.DataObject) -> None:
    ratings, made = data.draw(some_ratings(settings)), data.draw(some_matches())
    players = list(zip(*(column.tolist() for column in columns(ratings)), strict=True))
    folded = plain_fold(players, rows_of(made), settings.tau)
    same(fold(ratings, made, settings), ratings_of(*folded), 1e-7)
    period = plain_period(players, rows_of(made), settings.tau, idle_too=True)
    same(rate_period(ratings, made, settings), ratings_of(*period), 1e-7)


# PyPI's glicko2, where it is right and where it is not.

PYPI_SCALE = 173.7178
"""It rounds Glickman's scale as he prints it, so its points are a little shorter than ours."""


class FixedVolatility(pypi.Player):  # type: ignore[misc]
    """PyPI's player without its step for the volatility, which is where it is wrong."""

    def _newVol(self, *_: object) -> float:  # noqa: N802
        return float(self.vol)


def players_of(ratings: Ratings, kind: type[Any]) -> list[Any]:
    points = PYPI_SCALE / SCALE
    listed = zip(*(column.tolist() for column in columns(ratings)), strict=True)
    return [kind(1500 + (rating - 1500) * points, rd * points, volatility) for rating, rd, volatility in listed]


def pypi_period(players: list[Any], rows: list[Any]) -> None:
    before = [(player.rating, player.rd) for player in players]
    for me, player in enumerate(players):
        mine = [(*before[b], s) for a, b, s, *_ in rows if a == me]
        mine += [(*before[a], 1 - s) for a, b, s, *_ in rows if b == me]
        if mine:
            player.update_player(*(list(column) for column in zip(*mine, strict=True)))
        else:
            player.did_not_compete()


def ratings_in(players: list[Any]) -> Ratings:
    points = SCALE / PYPI_SCALE
    listed = [(player.rating, player.rd, player.vol) for player in players]
    return ratings_of(*((1500 + (rating - 1500) * points, rd * points, vol) for rating, rd, vol in listed))


@pytest.mark.parametrize("settings", [STATIC, FIXED], ids=["static", "fixed"])
@given(st.data())
def test_a_period_agrees_with_pypi_when_volatility_is_fixed(settings: Settings, data: st.DataObject) -> None:
    ratings, made = data.draw(some_ratings(settings)), data.draw(some_matches())
    made = replace(made, weight=np.ones(len(made)))
    players = players_of(ratings, FixedVolatility)
    pypi_period(players, rows_of(made))
    same(rate_period(ratings, made, settings), ratings_in(players))


@pytest.mark.parametrize("settings", [STATIC, FIXED], ids=["static", "fixed"])
def test_a_long_fold_agrees_with_pypi_when_volatility_is_fixed(settings: Settings) -> None:
    made = random_matches(AGENTS, 2000)
    players = players_of(start(AGENTS, settings), FixedVolatility)
    for a, b, score, _, _ in rows_of(made):
        pair = [players[a], players[b]]
        pypi_period(pair, [(0, 1, score)])
    same(fold(start(AGENTS, settings), made, settings), ratings_in(players))


@given(st.floats(30, 350), st.floats(1000, 2000), st.sampled_from([0, 0.5, 1]))
def test_pypis_volatility_agrees_where_its_formula_happens_to_be_right(
    deviation: float, opponent: float, score: float
) -> None:
    """It squares the rating where Glickman squares the deviation; on his scale the two are equal here."""
    ratings = ratings_of((1500 + deviation, deviation, 0.06), (opponent, 100, 0.06))
    made = compare(2, [0], [1], [score])
    players = players_of(ratings, pypi.Player)
    pypi_period(players, rows_of(made))
    theirs, ours = columns(ratings_in(players)), columns(rate_period(ratings, made, DYNAMIC))
    np.testing.assert_allclose([column[0] for column in ours], [column[0] for column in theirs], rtol=1e-6)


def test_pypis_volatility_depends_on_where_the_scale_begins_and_ours_does_not() -> None:
    shifted = replace(EXAMPLE, rating=EXAMPLE.rating + 1000)
    theirs = []
    for ratings in (EXAMPLE, shifted):
        players = players_of(ratings, pypi.Player)
        pypi_period(players, rows_of(GAMES))
        theirs.append(players[0].vol)
    assert abs(theirs[0] - theirs[1]) > 1e-6
    ours = [rate_period(ratings, GAMES, DYNAMIC).volatility[0] for ratings in (EXAMPLE, shifted)]
    assert ours[0] == pytest.approx(ours[1], rel=1e-12)


def test_pypi_cannot_keep_strength_fixed() -> None:
    with pytest.raises(ValueError, match="math domain error"):
        pypi.Player(1500, 200, 0).update_player([1400], [30], [1])
    assert rate_period(start(4), GAMES, DYNAMIC).volatility.tolist() == [0] * 4


# What must hold of any ratings.


def random_matches(agents: int, rows: int) -> Comparisons:
    random = np.random.default_rng(1)
    first = random.integers(0, agents, rows)
    second = (first + random.integers(1, agents, rows)) % agents
    return compare(agents, first, second, random.integers(0, 3, rows) / 2)


@BOTH
@given(some_ratings(), some_matches())
def test_static_deviations_fall_with_a_game_and_never_rise(method: Method, ratings: Ratings, made: Comparisons) -> None:
    played = np.isin(np.arange(AGENTS), np.concatenate([made.first, made.second]))
    after = method(ratings, made, STATIC)
    assert (after.deviation[played] < ratings.deviation[played]).all()
    assert after.deviation[~played].tolist() == ratings.deviation[~played].tolist()
    assert after.rating[~played].tolist() == ratings.rating[~played].tolist()
    assert not after.volatility.any()


@MODES
@given(st.data())
def test_only_a_period_ages_those_who_did_not_play(settings: Settings, data: st.DataObject) -> None:
    ratings = data.draw(some_ratings(settings))
    made = compare(AGENTS, [0, 1], [1, 0], [1, 1])
    assert fold(ratings, made, settings).deviation[2:].tolist() == ratings.deviation[2:].tolist()
    aged = np.sqrt(ratings.deviation**2 + (SCALE * ratings.volatility) ** 2)
    np.testing.assert_allclose(rate_period(ratings, made, settings).deviation[2:], aged[2:], rtol=1e-12)


@BOTH
@MODES
@given(st.data())
def test_relabelled_agents_have_relabelled_ratings(method: Method, settings: Settings, data: st.DataObject) -> None:
    ratings, made = data.draw(some_ratings(settings)), data.draw(some_matches())
    label = np.array(data.draw(st.permutations(range(AGENTS))))
    relabelled = Ratings(*(column[np.argsort(label)] for column in columns(ratings)))
    moved = method(relabelled, replace(made, first=label[made.first], second=label[made.second]), settings)
    same(Ratings(*(column[label] for column in columns(moved))), method(ratings, made, settings))


@BOTH
@MODES
@given(st.data())
def test_a_comparison_reads_the_same_from_either_side(method: Method, settings: Settings, data: st.DataObject) -> None:
    ratings, made = data.draw(some_ratings(settings)), data.draw(some_matches())
    swapped = replace(made, first=made.second, second=made.first, score=1 - made.score)
    same(method(ratings, swapped, settings), method(ratings, made, settings))


@MODES
@given(st.data())
def test_a_win_raises_the_winner_and_lowers_the_loser(settings: Settings, data: st.DataObject) -> None:
    ratings = data.draw(some_ratings(settings))
    before = fold(ratings, data.draw(some_matches()), settings)
    after = fold(before, compare(AGENTS, [0], [1], [1]), settings)
    assert after.rating[0] > before.rating[0]
    assert after.rating[1] < before.rating[1]


@BOTH
@MODES
@given(st.data())
def test_weight_two_is_two_comparisons_at_once(method: Method, settings: Settings, data: st.DataObject) -> None:
    ratings, made = data.draw(some_ratings(settings)), data.draw(some_matches())
    twice = from_rows(AGENTS, [row for row in rows_of(made) for _ in range(2)])
    same(method(ratings, replace(made, weight=2 * made.weight), settings), method(ratings, twice, settings))


@BOTH
@given(some_ratings())
def test_without_comparisons_ratings_stay(method: Method, ratings: Ratings) -> None:
    same(method(ratings, compare(AGENTS), STATIC), ratings, 0)
    same(method(start(0), compare(0), STATIC), start(0), 0)


@BOTH
@MODES
@given(st.data())
def test_shifting_everyone_shifts_the_ratings(method: Method, settings: Settings, data: st.DataObject) -> None:
    ratings, made = data.draw(some_ratings(settings)), data.draw(some_matches())
    shifted = method(replace(ratings, rating=ratings.rating + 1000), made, settings)
    same(replace(shifted, rating=shifted.rating - 1000), method(ratings, made, settings))


@MODES
@given(st.data())
def test_a_fold_is_a_period_of_each_match_for_those_in_it(settings: Settings, data: st.DataObject) -> None:
    ratings, made = data.draw(some_ratings(settings)), data.draw(some_matches())
    wanted = ratings
    for _, match in groupby(rows_of(made), key=lambda row: row[4]):
        rows = list(match)
        rated = rate_period(wanted, from_rows(AGENTS, rows), settings)
        played = np.isin(np.arange(AGENTS), [agent for row in rows for agent in row[:2]])
        pairs = zip(columns(rated), columns(wanted), strict=True)
        wanted = Ratings(*(np.where(played, new, old) for new, old in pairs))
    same(fold(ratings, made, settings), wanted, 1e-12)


@given(some_ratings(DYNAMIC), some_matches())
def test_history_is_what_folding_that_far_gives(ratings: Ratings, made: Comparisons) -> None:
    last, history = fold(ratings, made, DYNAMIC, history=True)
    same(last, fold(ratings, made, DYNAMIC), 0)
    rows = rows_of(made)
    for row, (first, second, _, _, match) in enumerate(rows):
        before = fold(ratings, from_rows(AGENTS, [each for each in rows if each[4] < match]), DYNAMIC)
        after = fold(ratings, from_rows(AGENTS, [each for each in rows if each[4] <= match]), DYNAMIC)
        both = [first, second]
        assert history.rating_before[row].tolist() == before.rating[both].tolist()
        assert history.deviation_before[row].tolist() == before.deviation[both].tolist()
        assert history.rating_after[row].tolist() == after.rating[both].tolist()
        assert history.deviation_after[row].tolist() == after.deviation[both].tolist()


def test_history_of_nothing_is_empty() -> None:
    _, history = fold(start(3), compare(3), history=True)
    assert history.rating_before.shape == history.deviation_after.shape == (0, 2)


@BOTH
def test_ratings_given_are_left_as_they_are(method: Method) -> None:
    ratings = start(4, DYNAMIC)
    method(ratings, GAMES, DYNAMIC)
    same(ratings, start(4, DYNAMIC), 0)


@BOTH
def test_whole_numbers_are_ratings_too(method: Method) -> None:
    whole = Ratings(np.array([1500, 1600]), np.array([100, 200]), np.array([0, 0]))
    exact = ratings_of((1500, 100, 0), (1600, 200, 0))
    made = compare(2, [0], [1], [1])
    same(method(whole, made, Settings(tau=0)), method(exact, made, STATIC), 0)


# Numerical safety.


@BOTH
@given(st.data())
def test_extremes_stay_finite(method: Method, data: st.DataObject) -> None:
    agent = st.tuples(st.floats(-10_000, 10_000), st.floats(1e-3, 5000), st.just(0.0) | st.floats(1e-6, 2))
    ratings = ratings_of(*data.draw(st.lists(agent, min_size=AGENTS, max_size=AGENTS)))
    made = data.draw(some_matches())
    weight = data.draw(st.lists(st.floats(1e-9, 1e9), min_size=len(made), max_size=len(made)))
    settings = Settings(tau=data.draw(st.sampled_from([0, 1e-200, 1e-20, 1e-9, 1e-3, 0.5, 3])))
    after = method(ratings, replace(made, weight=np.array(weight, dtype=np.float64)), settings)
    assert all(np.isfinite(column).all() for column in columns(after))
    assert (after.deviation > 0).all()


@MODES
@pytest.mark.parametrize("score", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("gap", [3_000, 10_000, 1_000_000])
def test_even_the_greatest_upset_moves_ratings_the_right_way_by_little(
    gap: float, score: float, settings: Settings
) -> None:
    ratings = ratings_of((1500 + gap, 50, settings.volatility), (1500, 50, settings.volatility))
    after = fold(ratings, compare(2, [0], [1], [score]), settings)
    assert (1500 + gap >= after.rating[0]) if score < 1 else (1500 + gap <= after.rating[0])
    np.testing.assert_allclose(after.rating, ratings.rating, atol=20)
    np.testing.assert_allclose(after.deviation, ratings.deviation, rtol=0.03)


def first_against_second(score: npt.NDArray[np.float64]) -> Comparisons:
    first = np.zeros(len(score), dtype=np.int64)
    return compare(2, first, first + 1, score)


@MODES
def test_a_million_matches(settings: Settings) -> None:
    rows = 1_000_000
    made = random_matches(20, rows)
    after = fold(start(20, settings), made, settings)
    assert all(np.isfinite(column).all() for column in columns(after))
    one_sided = fold(start(2, settings), first_against_second(np.ones(rows)), settings)
    assert all(np.isfinite(column).all() for column in columns(one_sided))
    assert one_sided.rating[0] > 2500
    assert one_sided.rating[1] < 500


def test_static_deviation_has_no_floor() -> None:
    even = np.tile([0.0, 1.0], 500_000)
    after = fold(start(2), first_against_second(even))
    # A match of equals is worth 1/4, so n of them leave a deviation of 2 / sqrt(n).
    np.testing.assert_allclose(after.deviation / SCALE, 2 / math.sqrt(len(even)), rtol=0.01)


# Settings.


@pytest.mark.parametrize("name", ["rating", "deviation", "volatility", "tau"])
@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf, -1.0])
def test_bad_settings_are_one_sentence(name: str, wrong: float) -> None:
    with pytest.raises(UserError, match=f"^The setting {name} must be .*, not {wrong}[.]$"):
        Settings(**{name: wrong})


def test_a_deviation_of_zero_is_refused() -> None:
    with pytest.raises(UserError, match=r"deviation must be above 0 .*, not 0\.$"):
        Settings(deviation=0)


def test_where_agents_start() -> None:
    assert astuple(STATIC) == (1500, 350, 0, 0)
    assert astuple(DYNAMIC) == (1500, 350, 0.06, 0.5)
    same(start(2, Settings(1200, 100, 0.05)), ratings_of((1200, 100, 0.05), (1200, 100, 0.05)), 0)


@BOTH
def test_as_many_ratings_as_agents(method: Method) -> None:
    with pytest.raises(UserError, match="among 4 agents need as many ratings, not 3"):
        method(start(3), GAMES, STATIC)
