"""Ratings follow from the log, whatever its batches, and `verify` sees every bit that does not."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given, settings

from rung.platform.store import LogColumns, Settings, Store
from rung.platform.store.columns import comparisons_of
from rung.platform.store.rating import Book
from rung.platform.store.schema import matches, rating_changes, ratings, recordings, results, seats
from rung.scheduler import glicko2
from rung.scheduler.comparisons import compare, pairs_of_match
from tests.platform.store.conftest import LEASE_S, NOW, forfeit, ladder_of, new, play

TEAMS = ((0, 1), (0, 1, 2), (0, 1, 0, 1))


@st.composite
def logs(draw: st.DrawFn) -> tuple[LogColumns, tuple[int, ...], int]:
    """A log, the teams of its game, and how many agents there are."""
    teams = draw(st.sampled_from(TEAMS))
    agents = draw(st.integers(len(teams), 6))
    line = st.lists(st.integers(0, agents - 1), min_size=len(teams), max_size=len(teams))
    rank = st.lists(st.integers(1, len(teams)), min_size=len(teams), max_size=len(teams))
    rows = draw(st.lists(st.tuples(line, rank, st.booleans()), min_size=1, max_size=30))
    size = len(rows)
    log = LogColumns(
        seq=np.arange(1, size + 1),
        match=np.arange(100, 100 + size),
        group=np.arange(size),
        agents=np.array([row[0] for row in rows]),
        ranks=np.array([row[1] for row in rows]),
        culprit=np.full(size, -1),
        fair=np.array([row[2] for row in rows]),
        duration_s=np.ones(size),
    )
    return log, teams, agents


def some(log: LogColumns, begin: int, end: int) -> LogColumns:
    return LogColumns(*(getattr(log, f.name)[begin:end] for f in fields(LogColumns)))


@given(logs())
def test_comparisons_are_those_of_the_scheduler(made: tuple[LogColumns, tuple[int, ...], int]) -> None:
    log, teams, agents = made
    rows = [
        (*pair, int(seq), bool(fair))
        for seq, line, ranks, fair in zip(log.seq, log.agents, log.ranks, log.fair, strict=True)
        for pair in pairs_of_match(line.tolist(), ranks.tolist(), teams)
    ]
    right = compare(agents, *zip(*rows, strict=True)) if rows else compare(agents)
    found = comparisons_of(log, teams, agents)
    for f in fields(found):
        assert np.array_equal(getattr(found, f.name), getattr(right, f.name)), f.name


@settings(max_examples=50)
@given(logs(), st.sets(st.integers(1, 29)), st.sampled_from([glicko2.STATIC, glicko2.DYNAMIC]))
def test_batches_do_not_matter_to_the_last_bit(
    made: tuple[LogColumns, tuple[int, ...], int], cuts: set[int], how: glicko2.Settings
) -> None:
    log, teams, agents = made
    whole = Book.fresh(np.arange(agents), teams, how)
    changes = whole.enter(log)
    parts, after = Book.fresh(np.arange(agents), teams, how), []
    edges = sorted({0, len(log), *(cut for cut in cuts if cut < len(log))})
    for begin, end in pairwise(edges):
        after.append(parts.enter(some(log, begin, end)).after)
    assert whole.beliefs.tobytes() == parts.beliefs.tobytes()
    assert whole.tally.tobytes() == parts.tally.tobytes()
    assert np.concatenate(after).tobytes() == changes.after.tobytes()


@settings(max_examples=30)
@given(logs(), st.sampled_from([glicko2.STATIC, glicko2.DYNAMIC]))
def test_ratings_are_those_of_the_scheduler(
    made: tuple[LogColumns, tuple[int, ...], int], how: glicko2.Settings
) -> None:
    log, teams, agents = made
    book = Book.fresh(np.arange(agents), teams, how)
    book.enter(log)
    right = glicko2.fold(glicko2.start(agents, how), comparisons_of(log, teams, agents), how)
    np.testing.assert_allclose(book.beliefs, np.stack([right.rating, right.deviation, right.volatility], 1), rtol=1e-6)


def test_wins_draws_and_losses_go_by_team() -> None:
    log = LogColumns(
        seq=np.arange(1, 4),
        match=np.arange(3),
        group=np.arange(3),
        agents=np.array([[0, 1, 2, 3], [0, 1, 2, 3], [3, 2, 1, 0]]),
        ranks=np.array([[1, 3, 1, 3], [1, 1, 1, 1], [3, 1, 3, 1]]),
        culprit=np.array([-1, -1, 3]),
        fair=np.ones(3, dtype=np.bool_),
        duration_s=np.ones(3),
    )
    book = Book.fresh(np.arange(4), (0, 1, 0, 1), glicko2.STATIC)
    book.enter(log)
    assert book.tally.tolist() == [[3, 2, 1, 0, 0], [3, 0, 1, 2, 0], [3, 2, 1, 0, 0], [3, 0, 1, 2, 1]]


def test_changes_before_and_after_are_kept(store: Store) -> None:
    ladder = ladder_of(store, 3, settings=Settings(glicko=glicko2.DYNAMIC))
    play(store, ladder, [new(0, 1), new(1, 2), new(0, 2)], [(1, 2), (1, 2), (1, 1)])
    first, second = store.history(ladder.id, 0)
    assert (first.seq, second.seq) == (1, 3)
    assert (first.rating_before, first.deviation_before, first.volatility_before) == (1500.0, 350.0, 0.06)
    after = (first.rating_after, first.deviation_after, first.volatility_after)
    assert after == (second.rating_before, second.deviation_before, second.volatility_before)
    agent = store.agent(ladder.id, "agent 0")
    assert (second.rating_after, second.deviation_after, second.volatility_after) == (
        agent.rating,
        agent.deviation,
        agent.volatility,
    )
    assert store.history(ladder.id, 0, after=1) == [second]
    assert store.verify(ladder.id) == []


def test_a_match_against_oneself_counts_but_rates_nobody(store: Store) -> None:
    ladder = ladder_of(store, 2)
    play(store, ladder, [new(0, 0)], [(1, 2)])
    agent = store.agent(ladder.id, "agent 0")
    assert (agent.rating, agent.wins, agent.losses) == (1500.0, 1, 1)
    assert store.history(ladder.id, 0) == []
    assert store.verify(ladder.id) == []


def test_forfeits_count_as_results(store: Store) -> None:
    ladder = ladder_of(store)
    store.plan(ladder.id, [new(0, 1)], NOW)
    [claim] = store.claim("worker", 1, LEASE_S, NOW)
    store.finish([forfeit(claim, 0)], NOW)
    loser, winner = store.agents(ladder.id)
    assert loser.rating < 1500 < winner.rating
    assert (loser.losses, loser.faults, winner.wins, winner.faults) == (1, 1, 1, 0)


BENT: list[tuple[Any, str]] = [
    (sa.update(ratings).where(ratings.c.agent == 1).values(rating=ratings.c.rating + 1e-9), "the rating of agent 1 is"),
    (sa.update(ratings).where(ratings.c.agent == 0).values(wins=7), "the wins of agent 0 is"),
    (sa.delete(ratings).where(ratings.c.agent == 2), "agent 2 has no rating"),
    (
        sa.update(rating_changes).where(rating_changes.c.seq == 2).values(deviation_after=1.0),
        "result 2 took agent 1 from",
    ),
    (
        sa.delete(rating_changes).where(rating_changes.c.seq == 2),
        "result 2 changed the rating of agent 1, which is not",
    ),
    (sa.update(results).where(results.c.seq == 1).values(ranks="[2,1]"), "result 1 took agent 0 from"),
    (sa.update(results).where(results.c.seq == 3).values(seq=9), "the log has no result 3"),
    (sa.update(results).where(results.c.seq == 1).values(agents="[0,2]"), "result 1 is of agents [0, 2], match"),
    (sa.update(matches).values(state="waiting"), "is waiting, and result 1 of the log"),
    (sa.delete(results).where(results.c.seq == 3), "the log ends at 2, where the ladder says 3"),
    (sa.delete(results).where(results.c.seq == 3), "is finished, and not in the log"),
    (sa.delete(results).where(results.c.seq == 3), "agent 0 has a rating change for result 3, which is not in the log"),
    (sa.delete(recordings), "the moves of result 1 are not stored"),
    (sa.delete(seats), "was planned for []"),
]


@pytest.mark.parametrize(("statement", "words"), BENT)
def test_verify_says_what_is_bent(store: Store, statement: Any, words: str) -> None:
    ladder = ladder_of(store, 3)
    play(store, ladder, [new(0, 1), new(1, 2), new(2, 0)], [(1, 2), (1, 2), (1, 1)])
    assert store.verify(ladder.id) == []
    with store._write() as c:
        c.execute(statement)
    found = store.verify(ladder.id)
    assert any(words in difference for difference in found), found


def test_verify_stops_listing_somewhere(store: Store) -> None:
    ladder = ladder_of(store, 2)
    play(store, ladder, [new(0, 1)] * 120, [(1, 2)] * 120)
    with store._write() as c:
        c.execute(sa.delete(rating_changes))
    assert store.verify(ladder.id)[-1] == "and more"
    assert len(store.verify(ladder.id)) == 101
