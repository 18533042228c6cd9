"""What the scheduler accepts as comparisons, and how a match becomes some."""

from __future__ import annotations

from itertools import combinations
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rung.errors import UserError
from rung.scheduler.comparisons import compare, only, pairs_of_match

GOOD: dict[str, list[Any]] = {
    "first": [0, 1, 0],
    "second": [1, 2, 2],
    "score": [1, 0.5, 0],
    "weight": [1, 0.5, 2],
    "match": [0, 0, 7],
    "fair": [True, False, True],
}


def test_good_columns_are_kept_in_order() -> None:
    made = compare(3, **GOOD)
    assert len(made) == 3
    assert made.agents == 3
    for name, column in GOOD.items():
        assert getattr(made, name).tolist() == column


def test_without_more_each_row_is_one_fair_match_of_weight_one() -> None:
    made = compare(2, [0, 1], [1, 0], [1, 0])
    assert made.weight.tolist() == [1, 1]
    assert made.match.tolist() == [0, 1]
    assert made.fair.tolist() == [True, True]


def test_some_rows_keep_all_their_columns() -> None:
    made = compare(3, **GOOD)
    some = only(made, made.fair)
    assert some.agents == 3
    for name, column in GOOD.items():
        assert getattr(some, name).tolist() == [column[0], column[2]]


@pytest.mark.parametrize("agents", [0, 1, 5])
def test_no_comparisons_are_comparisons(agents: int) -> None:
    made = compare(agents)
    assert len(made) == len(made.second) == len(made.score) == len(made.weight) == len(made.match) == 0


@pytest.mark.parametrize("row", [0, 1, 2])
@pytest.mark.parametrize(
    ("column", "wrong", "shown", "rule"),
    [
        ("score", nan, "nan", "score"),
        ("score", 1.2, "1.2", "score"),
        ("score", -0.1, "-0.1", "score"),
        ("score", inf, "inf", "score"),
        ("weight", 0, "0.0", "weight"),
        ("weight", -1, "-1.0", "weight"),
        ("weight", nan, "nan", "weight"),
        ("weight", inf, "inf", "weight"),
        ("first", 3, "3", "first agent"),
        ("first", -1, "-1", "first agent"),
        ("second", 3, "3", "second agent"),
        ("second", -1, "-1", "second agent"),
    ],
)
def test_a_wrong_value_is_named_with_its_row(row: int, column: str, wrong: float, shown: str, rule: str) -> None:
    columns = {name: list(values) for name, values in GOOD.items()}
    columns[column][row] = wrong
    with pytest.raises(UserError, match=f"^Comparison {row}: .*{rule}.*, not {shown}[.]$"):
        compare(3, **columns)


@pytest.mark.parametrize("row", [0, 1, 2])
def test_an_agent_against_itself_is_named_with_its_row(row: int) -> None:
    second = list(GOOD["second"])
    second[row] = agent = GOOD["first"][row]
    with pytest.raises(UserError, match=f"^Comparison {row}: .*itself, not {agent}[.]$"):
        compare(3, **{**GOOD, "second": second})


def test_falling_match_numbers_are_named_with_the_row_that_falls() -> None:
    with pytest.raises(UserError, match=r"^Comparison 2: .*never fall, not 6\.$"):
        compare(3, **{**GOOD, "match": [7, 7, 6]})


def test_the_first_wrong_row_is_named() -> None:
    with pytest.raises(UserError, match=r"^Comparison 1: "):
        compare(3, **{**GOOD, "score": [1, nan, 2]})


@pytest.mark.parametrize("column", sorted(GOOD))
def test_columns_of_different_lengths_are_refused(column: str) -> None:
    with pytest.raises(UserError, match="as many"):
        compare(3, **{**GOOD, column: GOOD[column][:2]})


def test_zero_agents_have_no_comparisons() -> None:
    with pytest.raises(UserError, match=r"^Comparison 0: "):
        compare(0, [0], [1], [1])


@pytest.mark.parametrize(("ranks", "score"), [((1, 2), 1.0), ((2, 1), 0.0), ((1, 1), 0.5)], ids=["win", "loss", "draw"])
def test_a_match_of_two_is_one_comparison(ranks: tuple[int, int], score: float) -> None:
    assert pairs_of_match([4, 7], ranks) == [(4, 7, score, 1.0)]


def test_a_match_of_three_with_a_tie() -> None:
    assert pairs_of_match([5, 3, 8], [2, 1, 2]) == [(5, 3, 0.0, 0.5), (5, 8, 0.5, 0.5), (3, 8, 1.0, 0.5)]


@given(st.integers(2, 5).flatmap(lambda seats: st.lists(st.integers(1, seats), min_size=seats, max_size=seats)))
def test_each_pair_of_seats_is_compared_once_and_each_seat_weighs_one_match(ranks: list[int]) -> None:
    seats = len(ranks)
    agents = [10 + seat for seat in range(seats)]
    rows = pairs_of_match(agents, ranks)
    assert [row[:2] for row in rows] == list(combinations(agents, 2))
    for agent in agents:
        assert sum(weight for a, b, _, weight in rows if agent in (a, b)) == pytest.approx(1)
    for a, b, score, _ in rows:
        assert score == (1 + np.sign(ranks[b - 10] - ranks[a - 10])) / 2


def test_team_mates_are_not_compared() -> None:
    landlord_loses = pairs_of_match([0, 1, 2], [2, 1, 1], teams=[0, 1, 1])
    assert landlord_loses == [(0, 1, 0.0, 0.5), (0, 2, 0.0, 0.5)]


def test_two_teams_of_two_are_four_comparisons() -> None:
    rows = pairs_of_match([0, 1, 2, 3], [1, 2, 1, 2], teams=[0, 1, 0, 1])
    assert [row[:3] for row in rows] == [(0, 1, 1.0), (0, 3, 1.0), (1, 2, 0.0), (2, 3, 1.0)]


def test_seats_of_one_agent_are_not_compared() -> None:
    assert pairs_of_match([0, 0, 1], [1, 3, 2]) == [(0, 1, 1.0, 0.5), (0, 1, 0.0, 0.5)]


@given(st.data())
def test_matches_in_the_order_of_the_log_are_accepted(data: st.DataObject) -> None:
    rows, match = [], []
    for number in range(data.draw(st.integers(0, 4))):
        seats = data.draw(st.permutations(range(5)).map(lambda order: order[:3]))
        pairs = pairs_of_match(seats, data.draw(st.tuples(*[st.integers(1, 3)] * 3)))
        rows += pairs
        match += [number] * len(pairs)
    first, second, score, weight = zip(*rows, strict=True) if rows else ((),) * 4
    assert len(compare(5, first, second, score, weight, match)) == len(rows)
