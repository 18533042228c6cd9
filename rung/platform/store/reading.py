"""Reading the log, matches and what else there is to see. Long answers come in lots, so that no query stays open."""

from __future__ import annotations

from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy import Connection

from rung.errors import UserError
from rung.platform.match import MatchResult
from rung.platform.store.claiming import specs_of
from rung.platform.store.columns import NOBODY, LogColumns, concatenated
from rung.platform.store.encoding import ending_of, from_list, table, unpack
from rung.platform.store.records import Counts, LogRow, Match, RatingChange, VoidAttempt
from rung.platform.store.schema import (
    ladders,
    matches,
    rating_changes,
    recordings,
    results,
    seats,
    voids,
)
from rung.scheduler.comparisons import Ints

_ROWS = 1_000
"""In a lot of objects."""
_COLUMN_ROWS = 50_000
"""In a lot of arrays."""


def log_lot(c: Connection, ladder: int, after: int) -> list[LogRow]:
    """The next rows of the log; none at its end."""
    query = sa.select(results).where(results.c.ladder_id == ladder, results.c.seq > after)
    return [_log_row(row) for row in c.execute(query.order_by(results.c.seq).limit(_ROWS))]


def _log_row(row: Any) -> LogRow:
    return LogRow(
        seq=row.seq,
        match=row.match_id,
        group=row.group,
        agents=from_list(row.agents),
        ranks=from_list(row.ranks),
        payoffs=from_list(row.payoffs),
        scores=from_list(row.scores),
        ending=ending_of(row),
        fair=row.fair,
        moves=row.moves,
        duration_s=row.duration_s,
        worker=row.worker,
        at=row.at,
    )


def log_columns(c: Connection, ladder: int, seats: int, after: int, until: int | None = None) -> LogColumns:
    """The log after one number and up to another as arrays."""
    parts = [_empty(seats)]
    while True:
        part = _columns_lot(c, ladder, seats, after, until)
        if not len(part):
            return concatenated(parts)
        parts.append(part)
        after = int(part.seq[-1])


def _columns_lot(c: Connection, ladder: int, seats: int, after: int, until: int | None) -> LogColumns:
    t = results.c
    query = sa.select(t.seq, t.match_id, t.group, t.agents, t.ranks, t.culprit, t.fair, t.duration_s)
    query = query.where(t.ladder_id == ladder, t.seq > after).order_by(t.seq).limit(_COLUMN_ROWS)
    if until is not None:
        query = query.where(t.seq <= until)
    rows = c.execute(query).cursor.fetchall()  # the driver's own rows: three times as fast
    if not rows:
        return _empty(seats)
    seq, match, group, agents, ranks, culprit, fair, duration_s = zip(*rows, strict=True)
    return LogColumns(
        seq=np.array(seq, dtype=np.int64),
        match=np.array(match, dtype=np.int64),
        group=np.array(group, dtype=np.int64),
        agents=table(agents, seats),
        ranks=table(ranks, seats),
        culprit=np.array([NOBODY if agent is None else agent for agent in culprit], dtype=np.int64),
        fair=np.array(fair, dtype=np.bool_),
        duration_s=np.array(duration_s, dtype=np.float64),
    )


def _empty(seats: int) -> LogColumns:
    none, nobody = np.empty(0, dtype=np.int64), np.empty((0, seats), dtype=np.int64)
    return LogColumns(none, none, none, nobody, nobody, none, none.astype(np.bool_), none.astype(np.float64))


# -- matches ----------------------------------------------------------------------------------------------------------


def match_numbered(c: Connection, match: int) -> Match:
    from rung.scheduler.pairing.snapshot import Pick

    row = c.execute(sa.select(matches).where(matches.c.id == match)).one_or_none()
    if row is None:
        raise UserError(f"There is no match number {match}.")
    sitting = c.execute(
        sa.select(seats.c.agent, seats.c.place).where(seats.c.match_id == match).order_by(seats.c.seat)
    ).all()
    picked = tuple(agent for agent, _ in sorted(sitting, key=lambda seat: seat.place))
    return Match(
        id=match,
        ladder=row.ladder_id,
        spec=specs_of(c, [match])[match],
        agents=tuple(agent for agent, _ in sitting),
        group=row.group,
        state=row.state,
        attempts=row.attempts,
        fence=row.fence,
        lease_until=row.lease_until,
        worker=row.worker,
        rule=row.rule,
        pick=Pick(picked, row.fair, row.why, row.value, row.expected, row.deviation, row.cost_s),
        planned_at=row.planned_at,
    )


def result_of(c: Connection, match: int) -> MatchResult:
    """A finished match with all its moves."""
    joined = sa.select(results, recordings.c.packed, ladders.c.game_version).select_from(
        results.join(recordings, recordings.c.match_id == results.c.match_id).join(ladders)
    )
    row = c.execute(joined.where(results.c.match_id == match)).one_or_none()
    if row is None:
        state = match_numbered(c, match).state
        raise UserError(f"Match {match} is {state}: only a finished match can be replayed.")
    moves, think_s = unpack(row.packed)
    return MatchResult(
        spec=specs_of(c, [match])[match],
        version=row.game_version,
        ending=ending_of(row),
        payoffs=from_list(row.payoffs),
        scores=from_list(row.scores),
        ranks=from_list(row.ranks),
        moves=moves,
        think_s=think_s,
    )


def matches_in(c: Connection, ladder: int, state: str, limit: int) -> list[Match]:
    query = sa.select(matches.c.id).where(matches.c.ladder_id == ladder, matches.c.state == state)
    return [match_numbered(c, match) for match in c.scalars(query.order_by(matches.c.id).limit(limit)).all()]


def matches_of_agent(c: Connection, ladder: int, agent: int, limit: int, before: int | None) -> list[int]:
    query = sa.select(seats.c.match_id).distinct().where(seats.c.ladder_id == ladder, seats.c.agent == agent)
    if before is not None:
        query = query.where(seats.c.match_id < before)
    return list(c.scalars(query.order_by(seats.c.match_id.desc()).limit(limit)))


def faults_of(c: Connection, ladder: int, agent: int, limit: int) -> list[LogRow]:
    query = sa.select(results).where(results.c.ladder_id == ladder, results.c.culprit == agent)
    return [_log_row(row) for row in c.execute(query.order_by(results.c.seq.desc()).limit(limit))]


def voids_of(c: Connection, match: int) -> list[VoidAttempt]:
    query = sa.select(voids).where(voids.c.match_id == match).order_by(voids.c.fence)
    return [VoidAttempt(row.match_id, row.attempt, row.detail, row.worker, row.at) for row in c.execute(query)]


def history_of(c: Connection, ladder: int, agent: int, after: int) -> list[RatingChange]:
    t = rating_changes.c
    query = sa.select(rating_changes).where(t.ladder_id == ladder, t.agent == agent, t.seq > after).order_by(t.seq)
    return [RatingChange(*row[1:]) for row in c.execute(query)]


# -- the state of things ----------------------------------------------------------------------------------------------


def counts(c: Connection, ladder: int) -> Counts:
    t = matches.c
    length = c.scalar(sa.select(ladders.c.log_length).where(ladders.c.id == ladder)) or 0
    found = {"finished": length}
    for state in ("waiting", "claimed", "parked", "withdrawn"):
        query = sa.select(sa.func.count()).select_from(matches).where(t.ladder_id == ladder, t.state == state)
        found[state] = c.scalar(query) or 0
    return Counts(**found)


def in_flight(c: Connection, ladder: int, seats_of_game: int) -> Ints:
    """(matches, seats): the agents of matches that are waiting or being played."""
    query = sa.select(seats.c.agent).join(matches, matches.c.id == seats.c.match_id)
    mine = (matches.c.ladder_id == ladder, matches.c.state.in_(("waiting", "claimed")))
    agents = c.scalars(query.where(*mine).order_by(seats.c.match_id, seats.c.seat)).all()
    return np.array(agents, dtype=np.int64).reshape(-1, seats_of_game)


def next_group(c: Connection, ladder: int) -> int:
    last = c.scalar(sa.select(sa.func.max(matches.c.group)).where(matches.c.ladder_id == ladder))
    return 0 if last is None else last + 1


def planned(c: Connection, ladder: int) -> tuple[Ints, Ints, Ints]:
    """Of every match of the ladder that was planned, in the order of planning: its number, its group, and 1 while it is to be
    played or being played."""
    unplayed = matches.c.state.in_(("waiting", "claimed"))
    query = sa.select(matches.c.id, matches.c.group, sa.case((unplayed, 1), else_=0))
    rows = c.execute(query.where(matches.c.ladder_id == ladder).order_by(matches.c.id)).all()
    columns = np.array([tuple(row) for row in rows], dtype=np.int64).reshape(-1, 3)
    return columns[:, 0], columns[:, 1], columns[:, 2]
