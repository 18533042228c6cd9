"""Series: which matches, the same whoever plays them, and what they add up to."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rung.errors import UserError
from rung.platform.match import Clock, Ending, Forfeit, MatchResult, MatchSpec, Played, Void, game_of
from rung.platform.series import Planned, Tally, _next_size, parse_clock, plan, play_series, rate, seatings


@pytest.mark.parametrize(("seats", "orders"), [(1, 1), (2, 2), (3, 6), (4, 4), (5, 5)])
def test_a_group_puts_everybody_everywhere_alike(seats: int, orders: int) -> None:
    group = seatings(seats)
    assert len(set(group)) == len(group) == orders
    times = Counter((entrant, seat) for seating in group for seat, entrant in enumerate(seating))
    assert set(times.values()) == {orders // seats}
    assert len(times) == seats**2


def test_paired_matches_share_their_deal_and_nothing_else() -> None:
    planned = plan("sushi_go(players=3)", ["a", "b", "c"], 13, seed=7)
    assert len(planned) == 18
    for group in range(3):
        members = [match for match in planned if match.group == group]
        assert len(members) == 6
        assert len({match.spec.deal for match in members}) == 1
    assert len({match.spec.deal for match in planned}) == 3
    assert len({match.spec.seed for match in planned}) == 18
    for match in planned:
        assert match.spec.agents == tuple("abc"[entrant] for entrant in match.seating)


def test_unpaired_matches_have_each_their_deal() -> None:
    planned = plan("sushi_go", ["a", "b"], 13, seed=7, paired=False)
    assert len({match.spec.deal for match in planned}) == len({match.group for match in planned}) == 13
    assert Counter(match.seating for match in planned) == {(0, 1): 7, (1, 0): 6}


def test_a_longer_series_begins_like_a_shorter_one_and_seeds_differ() -> None:
    short, long = (plan("hex", ["a", "b"], matches, seed=7) for matches in (4, 40))
    assert long[:4] == short
    assert not {match.spec.deal for match in long} & {m.spec.deal for m in plan("hex", ["a", "b"], 40, seed=8)}


@pytest.mark.parametrize("game", ["sushi_go(players=3)", "rpg_battle"])
def test_results_do_not_depend_on_the_number_of_workers(game: str) -> None:
    agents = ["mcts(iterations=30)", "osla", "random"]
    planned = plan(game, agents[: game_of(game).seats], 24, seed=3)
    alone, three = ([replace(result, think_s=()) for result in play_series(planned, workers)] for workers in (1, 3))
    assert [result.spec for result in alone] == [match.spec for match in planned]
    assert alone == three


def result_of(match: Planned, payoffs: tuple[float, ...], ranks: tuple[int, ...], ending: Ending) -> MatchResult:
    return MatchResult(match.spec, 1, ending, payoffs, payoffs, ranks, (0, 0, 0), (0.0,) * 3)


def test_a_tally_by_hand() -> None:
    tally = Tally(["a", "b"])
    planned = plan("hex", ["a", "b"], 8, seed=1)
    story: list[tuple[tuple[float, float], tuple[int, int], Ending]] = [
        ((1.0, 0.0), (1, 2), Played()),  # a first: a wins
        ((0.5, 0.5), (1, 1), Played()),  # b first: a draw
        ((0.0, 1.0), (2, 1), Forfeit(0, "crash", "")),  # a first: a forfeits
        ((0.0, 0.0), (1, 1), Void("")),
        ((0.0, 0.0), (1, 1), Void("")),
        ((0.0, 1.0), (2, 1), Played()),  # b first: a wins
        ((0.0, 0.0), (1, 1), Void("")),
        ((0.0, 0.0), (1, 1), Void("")),
    ]
    for match, (payoffs, ranks, ending) in zip(planned, story, strict=True):
        tally.add(match, result_of(match, payoffs, ranks, ending))
    a, b = tally.entrants
    assert (a.wins, a.draws, a.losses, a.forfeits, a.ranks) == (2, 1, 1, 1, 5)
    assert (b.wins, b.draws, b.losses, b.forfeits, b.ranks) == (1, 1, 2, 0, 6)
    assert a.payoffs == [0.75, 0.0, 1.0]
    assert b.payoffs == [0.25, 1.0, 0.0]
    assert (tally.played, tally.voids, tally.moves) == (8, 4, 24)


def test_a_team_that_wins_together_wins() -> None:
    [match, *_] = plan("teams", ["a", "b", "c", "d"], 4, seed=1)
    tally = Tally("abcd", teams=(0, 1, 0, 1))
    tally.add(match, result_of(match, (0.0, 1.0, 0.0, 1.0), (3, 1, 3, 1), Played()))
    tally.add(match, result_of(match, (0.5,) * 4, (1,) * 4, Played()))
    assert [(e.wins, e.draws, e.losses) for e in tally.entrants] == [(0, 1, 1), (1, 1, 0), (0, 1, 1), (1, 1, 0)]


@pytest.mark.parametrize(
    ("matches", "took_s", "following"),
    [(1, 60.0, 1), (1, 0.001, 2), (8, 0.001, 16), (250, 0.001, 250), (10, 1.0, 2), (1, 0.0, 2), (100, 10.0, 2)],
)
def test_a_batch_is_many_short_matches_or_one_long_one(matches: int, took_s: float, following: int) -> None:
    assert _next_size(matches, took_s) == following


@given(st.lists(st.floats(0, 1), max_size=200))
def test_an_interval_is_within_range_and_holds_its_mean(payoffs: list[float]) -> None:
    found = rate(payoffs)
    assert 0.0 <= found.low <= found.mean + 1e-12
    assert found.mean - 1e-12 <= found.high <= 1.0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=100))
def test_intervals_are_the_same_seen_from_the_other_side(payoffs: list[float]) -> None:
    found, mirrored = rate(payoffs), rate([1.0 - payoff for payoff in payoffs])
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - found.high, 1 - found.low))


def test_more_of_the_same_says_more() -> None:
    widths = [(found := rate([0.0, 1.0, 1.0] * n)).high - found.low for n in (1, 10, 100, 1000)]
    assert all(later < earlier for earlier, later in pairwise(widths))


@pytest.mark.parametrize("n", [5, 20, 100])
def test_coverage_by_exact_enumeration(n: int) -> None:
    """Of all sequences of n won or lost groups, by their probability: how often the interval holds the truth."""
    found = [rate([1.0] * wins + [0.0] * (n - wins)) for wins in range(n + 1)]
    covered = []
    for percent in range(1, 100):
        p = percent / 100
        chances = [comb(n, wins) * p**wins * (1 - p) ** (n - wins) for wins in range(n + 1)]
        covered.append(sum(chance for chance, r in zip(chances, found, strict=True) if r.low <= p <= r.high))
    assert min(covered) > 0.90
    assert sum(covered) / len(covered) > 0.95


@pytest.mark.parametrize(
    ("text", "clock"), [("60", Clock(60.0)), ("60+0.5", Clock(60.0, 0.5)), ("1e2+0", Clock(100.0))]
)
def test_clocks(text: str, clock: Clock) -> None:
    assert parse_clock(text) == clock


@pytest.mark.parametrize("text", ["", "x", "0", "-1", "nan", "inf", "60+x", "60+-1", "60+nan", "60+1+1", "60+"])
def test_bad_clocks(text: str) -> None:
    with pytest.raises(UserError, match="written like 60"):
        parse_clock(text)


def test_a_match_knows_all_that_decides_it() -> None:
    match = plan("hex(size=3)", ["random", "random"], 2, seed=1, clock=Clock(5.0))[0]
    assert match.spec == MatchSpec("hex(size=3)", ("random", "random"), match.spec.deal, match.spec.seed, Clock(5.0))
