"""Adding results to a ladder's log, and to all that follows from the log. Called by whoever holds the ladder's lock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy import Connection

from rung.platform.store.claiming import change_matches, lots, withdraw
from rung.platform.store.columns import NOBODY, LogColumns
from rung.platform.store.encoding import as_list, ending_columns, from_list, settings_of
from rung.platform.store.rating import Book, Changes
from rung.platform.store.records import Finished
from rung.platform.store.schema import agents, ladders, rating_changes, ratings, recordings, results, seats

_CHANGED = [column.name for column in rating_changes.columns if column.name != "ladder_id"]
_STOOD = [column.name for column in ratings.columns if column.name not in ("ladder_id", "agent")]


@dataclass(frozen=True)
class _Entry:
    """A result on its way into the log."""

    seq: int
    row: Any
    """Of its match."""
    agents: tuple[int, ...]
    item: Finished
    packed: bytes

    @cached_property
    def ended(self) -> dict[str, Any]:
        return ending_columns(self.item.result.ending, self.agents)


def append(c: Connection, ladder: Any, new: Sequence[tuple[Any, Finished, bytes]], now: float) -> None:
    """Add these matches (row, result and packed recording) to the log in their order."""
    lines = _line_ups(c, [row.id for row, _, _ in new])
    numbered = enumerate(new, start=ladder.log_length + 1)
    entries = [_Entry(seq, row, lines[row.id], item, packed) for seq, (row, item, packed) in numbered]
    c.execute(sa.insert(results), [_result_row(entry, now) for entry in entries])
    c.execute(sa.insert(recordings), [{"match_id": entry.row.id, "packed": entry.packed} for entry in entries])
    change_matches(c, [entry.row.id for entry in entries], {"state": "finished", "lease_until": None})
    _rate(c, ladder, _columns(entries))
    suspended = _count_faults(c, ladder, entries)
    head = {"log_length": entries[-1].seq, "revision": ladder.revision + suspended}
    c.execute(sa.update(ladders).where(ladders.c.id == ladder.id).values(head))


def _line_ups(c: Connection, ids: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """The agents of each match, by seat."""
    found: dict[int, list[int]] = {match: [] for match in ids}
    for some in lots(ids):
        query = sa.select(seats.c.match_id, seats.c.agent).where(seats.c.match_id.in_(some))
        for match, agent in c.execute(query.order_by(seats.c.match_id, seats.c.seat)).all():
            found[match].append(agent)
    return {match: tuple(line) for match, line in found.items()}


def _result_row(entry: _Entry, now: float) -> dict[str, Any]:
    row, result = entry.row, entry.item.result
    return {
        "ladder_id": row.ladder_id,
        "seq": entry.seq,
        "match_id": row.id,
        "group": row.group,
        "fence": row.fence,
        "agents": as_list(entry.agents),
        "ranks": as_list(result.ranks),
        "payoffs": as_list(result.payoffs),
        "scores": as_list(result.scores),
        **entry.ended,
        "fair": row.fair,
        "moves": len(result.moves),
        "duration_s": entry.item.duration_s,
        "worker": row.worker,
        "at": now,
    }


def _columns(entries: Sequence[_Entry]) -> LogColumns:
    culprits = (entry.ended["culprit"] for entry in entries)
    return LogColumns(
        seq=np.array([entry.seq for entry in entries], dtype=np.int64),
        match=np.array([entry.row.id for entry in entries], dtype=np.int64),
        group=np.array([entry.row.group for entry in entries], dtype=np.int64),
        agents=np.array([entry.agents for entry in entries], dtype=np.int64),
        ranks=np.array([entry.item.result.ranks for entry in entries], dtype=np.int64),
        culprit=np.array([NOBODY if culprit is None else culprit for culprit in culprits], dtype=np.int64),
        fair=np.array([entry.row.fair for entry in entries], dtype=np.bool_),
        duration_s=np.array([entry.item.duration_s for entry in entries], dtype=np.float64),
    )


# -- ratings ----------------------------------------------------------------------------------------------------------


def _rate(c: Connection, ladder: Any, log: LogColumns) -> None:
    book = _open_book(c, ladder, np.unique(log.agents))
    changes = book.enter(log)
    if len(changes.seq):
        c.execute(sa.insert(rating_changes), _change_rows(ladder.id, changes))
    mine = (ratings.c.ladder_id == ladder.id, ratings.c.agent == sa.bindparam("number"))
    lines = zip(book.numbers.tolist(), book.beliefs.tolist(), book.tally.tolist(), strict=True)
    values = [{"number": number, **dict(zip(_STOOD, belief + tally, strict=True))} for number, belief, tally in lines]
    c.execute(sa.update(ratings).where(*mine).values({name: sa.bindparam(name) for name in _STOOD}), values)


def _open_book(c: Connection, ladder: Any, numbers: Any) -> Book:
    """Where these agents stand now."""
    rows: list[Any] = []
    for some in lots(numbers.tolist()):
        mine = (ratings.c.ladder_id == ladder.id, ratings.c.agent.in_(some))
        rows += c.execute(sa.select(ratings).where(*mine).order_by(ratings.c.agent)).all()
    beliefs = np.array([(row.rating, row.deviation, row.volatility) for row in rows], dtype=np.float64)
    tally = np.array([(row.matches, row.wins, row.draws, row.losses, row.faults) for row in rows], dtype=np.int64)
    return Book(numbers, beliefs, tally, from_list(ladder.teams), settings_of(ladder.settings).glicko)


def _change_rows(ladder: int, changes: Changes) -> list[dict[str, Any]]:
    numbers = zip(changes.seq.tolist(), changes.agent.tolist(), strict=True)
    beliefs = zip(changes.before.tolist(), changes.after.tolist(), strict=True)
    return [
        {"ladder_id": ladder, **dict(zip(_CHANGED, (seq, agent, *before, *after), strict=True))}
        for (seq, agent), (before, after) in zip(numbers, beliefs, strict=True)
    ]


# -- faults -----------------------------------------------------------------------------------------------------------


def _count_faults(c: Connection, ladder: Any, entries: Sequence[_Entry]) -> int:
    """Count forfeits in a row, suspend who has too many, and say how many those are."""
    limit = settings_of(ladder.settings).fault_limit
    rows: dict[int, Any] = {}
    for some in lots(sorted({agent for entry in entries for agent in entry.agents})):
        query = sa.select(agents).where(agents.c.ladder_id == ladder.id, agents.c.number.in_(some))
        rows.update((row.number, row) for row in c.execute(query).all())
    in_a_row = {number: row.faults_in_a_row for number, row in rows.items()}
    reasons: dict[int, str] = {}
    for entry in entries:
        for agent in set(entry.agents):
            in_a_row[agent] = in_a_row[agent] + 1 if agent == entry.ended["culprit"] else 0
            if in_a_row[agent] >= limit and rows[agent].state == "active":
                last = f"{entry.ended['reason']}: {entry.ended['detail']}"
                reasons.setdefault(agent, f"forfeited {limit} matches in a row, the last by {last}")
    counts = [{"who": agent, "n": n} for agent, n in in_a_row.items() if n != rows[agent].faults_in_a_row]
    mine = (agents.c.ladder_id == ladder.id, agents.c.number == sa.bindparam("who"))
    if counts:
        c.execute(sa.update(agents).where(*mine).values(faults_in_a_row=sa.bindparam("n")), counts)
    if reasons:
        suspended = [{"who": agent, "why": why} for agent, why in reasons.items()]
        c.execute(sa.update(agents).where(*mine).values(state="suspended", reason=sa.bindparam("why")), suspended)
        withdraw(c, ladder.id)
    return len(reasons)
