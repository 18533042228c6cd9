"""Declared parameters: what is written can be read back, and what is wrong is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rung.errors import UserError
from rung.parameters import Parameter, Value, call_text, complete, parse_call, parse_settings

DECLARED = (
    Parameter("count", 3, "how many", 1, 1_000_000),
    Parameter("share", 0.25, "how much", 0, 1),
    Parameter("open", False, "whether"),
    Parameter("rule", "win", "which", choices=("win", "score")),
    Parameter("title", "", "what it is called"),
)
VALUES = st.fixed_dictionaries(
    {},
    optional={
        "count": st.integers(1, 1_000_000),
        "share": st.floats(0, 1),
        "open": st.booleans(),
        "rule": st.sampled_from(("win", "score")),
        "title": st.text(),
    },
)


@given(VALUES)
def test_a_call_reads_back_as_the_values_it_was_written_from(given: dict[str, Value]) -> None:
    values = complete("thing", DECLARED, given)
    name, read = parse_call(call_text("thing", values, DECLARED), "A thing")
    assert name == "thing"
    assert complete("thing", DECLARED, read) == values
    assert all(read[key] != parameter.default for parameter in DECLARED for key in read if key == parameter.name)


@given(st.text())
def test_any_text_is_a_call_or_one_sentence(text: str) -> None:
    try:
        name, _ = parse_call(text, "A thing")
    except UserError:
        return
    assert name.isidentifier()


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"count": 0}, "count must be a whole number from 1 to 1,000,000, not 0"),
        ({"count": 1.0}, "whole number"),
        ({"count": True}, "whole number"),
        ({"share": float("nan")}, "a number from 0 to 1, not nan"),
        ({"share": 1.01}, "a number from 0 to 1"),
        ({"open": 1}, "True or False"),
        ({"rule": "wins"}, "'win' or 'score'"),
        ({"title": 5}, "text"),
        ({"coun": 5}, "Did you mean count"),
    ],
)
def test_a_wrong_value_is_told_what_would_be_right(given: dict[str, object], complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        complete("thing", DECLARED, given)


def test_whole_numbers_serve_where_a_number_is_asked_for() -> None:
    value = complete("thing", DECLARED, {"share": 1})["share"]
    assert value == 1.0
    assert isinstance(value, float)


def test_settings_as_typed() -> None:
    typed = ["count=1_000", "share=.5", "open=TRUE", "rule=score", "title=a=b"]
    assert parse_settings("thing", DECLARED, typed) == {
        "count": 1000,
        "share": 0.5,
        "open": True,
        "rule": "score",
        "title": "a=b",
    }


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (["count"], "NAME=VALUE"),
        (["count=5", "count=6"], "twice"),
        (["count=five"], "whole number"),
        (["open=yes"], "True or False"),
        (["cuont=5"], "Did you mean count"),
    ],
)
def test_wrong_settings(settings: list[str], complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        parse_settings("thing", DECLARED, settings)


@pytest.mark.parametrize(
    "text",
    ["a(*b)", "a(**b)", "a.b(c=1)", "a(b=[1])", "a(b=None)", "a(b=-c)", "a(b=c)", "a(b=1, b=2)", "1", "a b", "(" * 500],
)
def test_a_call_takes_constants_only(text: str) -> None:
    with pytest.raises(UserError, match="written like"):
        parse_call(text, "A thing")
