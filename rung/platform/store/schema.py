"""The tables. An agent is named by its ladder and its number there, from 0 without gaps: the number it has in all arrays.

`results` is the log, one row a finished match in the order in which they count; it is only ever added to. `ratings` and
`rating_changes` follow from it. Everything else says what is to be played, by whom, and what went wrong on the way.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import Boolean, Double, ForeignKey, ForeignKeyConstraint, Integer, LargeBinary, Text
from sqlalchemy.dialects import postgresql, sqlite

REVISION = "0001"
"""Of the newest migration; revisions are numbers that rise."""
VERSION_TABLE = "rung_version"

BigInt = sa.BigInteger().with_variant(Integer, "sqlite")
metadata = sa.MetaData()


def insert_unless_there(c: sa.Connection, table: sa.Table) -> Any:
    """An insert with `on_conflict_…`, which each kind of database has for itself."""
    return sqlite.insert(table) if c.dialect.name == "sqlite" else postgresql.insert(table)


def _ladder(primary_key: bool = False) -> sa.Column[int]:
    return sa.Column("ladder_id", Integer, ForeignKey("ladders.id"), primary_key=primary_key, nullable=False)


def _of_agent(column: str) -> ForeignKeyConstraint:
    return ForeignKeyConstraint(["ladder_id", column], ["agents.ladder_id", "agents.number"])


ladders = sa.Table(
    "ladders",
    metadata,
    sa.Column("id", Integer, primary_key=True),
    sa.Column("name", Text, nullable=False, unique=True),
    sa.Column("game", Text, nullable=False),
    sa.Column("game_version", Integer, nullable=False),
    sa.Column("teams", Text, nullable=False),  # JSON: the team of each seat
    sa.Column("settings", Text, nullable=False),  # JSON: see records.Settings
    sa.Column("state", Text, nullable=False),
    sa.Column("why", Text, nullable=False),
    sa.Column("log_length", BigInt, nullable=False),
    sa.Column("revision", BigInt, nullable=False),  # rises when the ladder's or an agent's state does
    sa.Column("created_at", Double, nullable=False),
    sqlite_autoincrement=True,
)

agents = sa.Table(
    "agents",
    metadata,
    _ladder(primary_key=True),
    sa.Column("number", Integer, primary_key=True, autoincrement=False),
    sa.Column("name", Text, nullable=False),
    sa.Column("spec", Text, nullable=False),
    sa.Column("version", Integer, nullable=False),
    sa.Column("parent", Integer),  # the agent that this one is the next version of
    sa.Column("state", Text, nullable=False),
    sa.Column("reason", Text, nullable=False),
    sa.Column("faults_in_a_row", Integer, nullable=False),
    sa.Column("joined", BigInt, nullable=False),  # length of the log at the time
    sa.Column("added_at", Double, nullable=False),
    sa.UniqueConstraint("ladder_id", "name"),
    _of_agent("parent"),
)

matches = sa.Table(
    "matches",
    metadata,
    sa.Column("id", BigInt, primary_key=True),
    _ladder(),
    sa.Column("deal", sa.BigInteger, nullable=False),
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("clock_base_s", Double),
    sa.Column("clock_increment_s", Double),
    sa.Column("group", BigInt, nullable=False),  # matches of one group share their deal
    sa.Column("state", Text, nullable=False),
    sa.Column("attempts", Integer, nullable=False),  # that came to nothing
    sa.Column("fence", Integer, nullable=False),  # rises with every claim
    sa.Column("lease_until", Double),  # of a claimed match only
    sa.Column("worker", Text),
    sa.Column("rule", Text, nullable=False),
    sa.Column("why", Text, nullable=False),
    sa.Column("value", Double, nullable=False),
    sa.Column("expected", Double, nullable=False),
    sa.Column("deviation", Double, nullable=False),
    sa.Column("cost_s", Double, nullable=False),
    sa.Column("fair", Boolean, nullable=False),
    sa.Column("planned_at", Double, nullable=False),
    sa.Index("matches_by_state", "ladder_id", "state", "id"),
    sa.Index("matches_by_group", "ladder_id", "group"),
    # Few rows, so that looking for expired leases costs nothing however long the log is.
    sa.Index(
        "matches_by_lease",
        "lease_until",
        sqlite_where=sa.text("lease_until IS NOT NULL"),
        postgresql_where=sa.text("lease_until IS NOT NULL"),
    ),
    sqlite_autoincrement=True,  # the number of a match that was removed never comes back
)

seats = sa.Table(
    "seats",
    metadata,
    sa.Column("match_id", BigInt, ForeignKey("matches.id"), primary_key=True),
    sa.Column("seat", Integer, primary_key=True),
    _ladder(),
    sa.Column("agent", Integer, nullable=False),
    sa.Column("place", Integer, nullable=False),  # of the agent in the rule's pick
    _of_agent("agent"),
    sa.Index("seats_by_agent", "ladder_id", "agent", "match_id"),
    sqlite_with_rowid=False,
)

results = sa.Table(
    "results",
    metadata,
    _ladder(primary_key=True),
    sa.Column("seq", BigInt, primary_key=True, autoincrement=False),  # 1, 2, 3 … in each ladder
    sa.Column("match_id", BigInt, ForeignKey("matches.id"), nullable=False, unique=True),
    sa.Column("group", BigInt, nullable=False),
    sa.Column("fence", Integer, nullable=False),
    sa.Column("agents", Text, nullable=False),  # JSON lists, a value a seat
    sa.Column("ranks", Text, nullable=False),
    sa.Column("payoffs", Text, nullable=False),
    sa.Column("scores", Text, nullable=False),
    sa.Column("ending", Text, nullable=False),
    sa.Column("ending_seat", Integer),
    sa.Column("reason", Text, nullable=False),
    sa.Column("detail", Text, nullable=False),
    sa.Column("culprit", Integer),  # the agent that forfeited
    sa.Column("fair", Boolean, nullable=False),
    sa.Column("moves", Integer, nullable=False),
    sa.Column("duration_s", Double, nullable=False),
    sa.Column("worker", Text, nullable=False),
    sa.Column("at", Double, nullable=False),
    sa.Index(
        "results_by_culprit",
        "ladder_id",
        "culprit",
        "seq",
        sqlite_where=sa.text("culprit IS NOT NULL"),
        postgresql_where=sa.text("culprit IS NOT NULL"),
    ),
    sqlite_with_rowid=False,
)

recordings = sa.Table(
    "recordings",
    metadata,
    sa.Column("match_id", BigInt, ForeignKey("matches.id"), primary_key=True, autoincrement=False),
    sa.Column("packed", LargeBinary, nullable=False),  # see encoding.pack
)

rating_changes = sa.Table(
    "rating_changes",
    metadata,
    _ladder(primary_key=True),
    sa.Column("seq", BigInt, primary_key=True, autoincrement=False),
    sa.Column("agent", Integer, primary_key=True, autoincrement=False),
    sa.Column("rating_before", Double, nullable=False),
    sa.Column("deviation_before", Double, nullable=False),
    sa.Column("volatility_before", Double, nullable=False),
    sa.Column("rating_after", Double, nullable=False),
    sa.Column("deviation_after", Double, nullable=False),
    sa.Column("volatility_after", Double, nullable=False),
    sa.Index("rating_changes_by_agent", "ladder_id", "agent", "seq"),
    sqlite_with_rowid=False,
)

ratings = sa.Table(
    "ratings",
    metadata,
    _ladder(primary_key=True),
    sa.Column("agent", Integer, primary_key=True, autoincrement=False),
    sa.Column("rating", Double, nullable=False),
    sa.Column("deviation", Double, nullable=False),
    sa.Column("volatility", Double, nullable=False),
    sa.Column("matches", BigInt, nullable=False),
    sa.Column("wins", BigInt, nullable=False),
    sa.Column("draws", BigInt, nullable=False),
    sa.Column("losses", BigInt, nullable=False),
    sa.Column("faults", BigInt, nullable=False),
    _of_agent("agent"),
    sa.Index("ratings_by_rating", "ladder_id", "rating"),
)

voids = sa.Table(
    "voids",
    metadata,
    sa.Column("match_id", BigInt, ForeignKey("matches.id"), primary_key=True),
    sa.Column("fence", Integer, primary_key=True),
    sa.Column("attempt", Integer, nullable=False),
    sa.Column("detail", Text, nullable=False),
    sa.Column("worker", Text, nullable=False),
    sa.Column("at", Double, nullable=False),
)

workers = sa.Table(
    "workers",
    metadata,
    sa.Column("name", Text, primary_key=True),
    sa.Column("host", Text, nullable=False),
    sa.Column("last_seen", Double, nullable=False),
    sa.Column("busy", Double, nullable=False),  # share of its time since the last word
)
