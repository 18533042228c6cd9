"""Rating the whole log anew, and what differs from what is stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy import Connection

from rung.platform.store.columns import LogColumns
from rung.platform.store.rating import Book, Changes
from rung.platform.store.reading import log_columns
from rung.platform.store.records import Ladder
from rung.platform.store.schema import agents, matches, rating_changes, ratings, recordings, results, seats

_LOT = 10_000
_MOST = 100
"""Differences that are listed; a log that is off once is off ever after."""
_BELIEF = ("rating", "deviation", "volatility")
_TALLY = ("matches", "wins", "draws", "losses", "faults")


def verify(c: Connection, ladder: Ladder) -> list[str]:
    found: list[str] = []
    for difference in _differences(c, ladder):
        if len(found) == _MOST:
            return [*found, "and more"]
        found.append(difference)
    return found


def _differences(c: Connection, ladder: Ladder) -> Iterator[str]:
    numbers = np.array(
        c.scalars(sa.select(agents.c.number).where(agents.c.ladder_id == ladder.id).order_by(agents.c.number)).all(),
        dtype=np.int64,
    )
    book, after = Book.fresh(numbers, ladder.teams, ladder.settings.glicko), 0
    while len(log := log_columns(c, ladder.id, ladder.seats, after, after + _LOT)):
        yield from _gaps(log, after)
        yield from _compare_changes(book.enter(log), _stored(c, ladder.id, after, int(log.seq[-1])))
        yield from _compare_line_ups(c, ladder.id, log)
        after = int(log.seq[-1])
    if after != ladder.log_length:
        yield f"the log ends at {after}, where the ladder says {ladder.log_length}"
    for row in _stored(c, ladder.id, after, None):
        yield f"agent {row[1]} has a rating change for result {row[0]}, which is not in the log"
    yield from _compare_standings(c, ladder.id, book)
    yield from _matches(c, ladder.id)


def _gaps(log: LogColumns, after: int) -> Iterator[str]:
    expected = after + 1 + np.arange(len(log))
    if not np.array_equal(log.seq, expected):
        at = int(expected[np.argmax(log.seq != expected)])
        yield f"the log has no result {at}"


def _stored(c: Connection, ladder: int, after: int, until: int | None) -> Sequence[Any]:
    t = rating_changes.c
    query = sa.select(*list(rating_changes.columns)[1:]).where(t.ladder_id == ladder, t.seq > after)
    if until is not None:
        query = query.where(t.seq <= until)
    return c.execute(query.order_by(t.seq, t.agent)).cursor.fetchall()


def _compare_changes(anew: Changes, stored: Sequence[Any]) -> Iterator[str]:
    right = np.column_stack([anew.seq, anew.agent, anew.before, anew.after])
    if _same(np.array(stored, dtype=np.float64).reshape(-1, right.shape[1]), right):
        return
    theirs = {(row[0], row[1]): tuple(row[2:]) for row in stored}
    ours = {(int(row[0]), int(row[1])): tuple(row[2:]) for row in right.tolist()}
    for seq, agent in sorted(theirs.keys() | ours.keys()):
        then, now = theirs.get((seq, agent)), ours.get((seq, agent))
        if then is None:
            yield f"result {seq} changed the rating of agent {agent}, which is not stored"
        elif now is None:
            yield f"agent {agent} has a rating change for result {seq}, which did not change it"
        elif not _same(np.array(then), np.array(now)):
            yield f"result {seq} took agent {agent} from {now[:3]} to {now[3:]}, stored is from {then[:3]} to {then[3:]}"


def _same(one: Any, other: Any) -> bool:
    """To the last bit."""
    return one.shape == other.shape and one.tobytes() == other.tobytes()


def _compare_line_ups(c: Connection, ladder: int, log: LogColumns) -> Iterator[str]:
    """Whether the agents of the log are those who were to sit there."""
    t = results.c
    query = sa.select(t.seq, seats.c.agent).join(seats, seats.c.match_id == t.match_id)
    query = query.where(t.ladder_id == ladder, t.seq >= int(log.seq[0]), t.seq <= int(log.seq[-1]))
    sat = np.array(c.execute(query.order_by(t.seq, seats.c.seat)).cursor.fetchall(), dtype=np.int64).reshape(-1, 2)
    played = np.column_stack([np.repeat(log.seq, log.agents.shape[1]), log.agents.ravel()])
    if _same(sat, played):
        return
    for seq, match, line in zip(log.seq.tolist(), log.match.tolist(), log.agents.tolist(), strict=True):
        planned = sat[sat[:, 0] == seq, 1].tolist()
        if planned != line:
            yield f"result {seq} is of agents {line}, match {match} was planned for {planned}"


def _compare_standings(c: Connection, ladder: int, book: Book) -> Iterator[str]:
    rows = {row.agent: row for row in c.execute(sa.select(ratings).where(ratings.c.ladder_id == ladder))}
    for number, belief, tally in zip(book.numbers.tolist(), book.beliefs.tolist(), book.tally.tolist(), strict=True):
        row = rows.get(number)
        if row is None:
            yield f"agent {number} has no rating"
            continue
        for name, right in zip((*_BELIEF, *_TALLY), (*belief, *tally), strict=True):
            stored = getattr(row, name)
            if stored != right:
                yield f"the {name} of agent {number} is {right!r}, stored is {stored!r}"


def _matches(c: Connection, ladder: int) -> Iterator[str]:
    """What the log and the tables about matches say of each other."""
    logged = results.c.match_id == matches.c.id
    state = sa.select(matches.c.id, matches.c.state, results.c.seq).select_from(matches.outerjoin(results, logged))
    finished = matches.c.state == "finished"
    wrong = sa.or_(finished & results.c.seq.is_(None), ~finished & results.c.seq.is_not(None))
    for match, stands, seq in c.execute(state.where(matches.c.ladder_id == ladder, wrong).order_by(matches.c.id)):
        yield f"match {match} is {stands}, and {'not in the log' if seq is None else f'result {seq} of the log'}"
    recorded = sa.select(recordings.c.match_id).where(recordings.c.match_id == results.c.match_id).exists()
    for seq in c.scalars(sa.select(results.c.seq).where(results.c.ladder_id == ladder, ~recorded)):
        yield f"the moves of result {seq} are not stored"
