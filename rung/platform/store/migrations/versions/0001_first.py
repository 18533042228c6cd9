"""The first tables. A migration is history: it says what they were, and never changes with `schema.py`."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    _ladders()
    _workers()
    _agents()
    _matches()
    _rating_changes()
    _ratings()
    _recordings()
    _results()
    _seats()
    _voids()


def _only(condition: str) -> dict[str, Any]:
    """An index of some of the rows."""
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


def _ladders() -> None:
    op.create_table(
        "ladders",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("game", sa.Text, nullable=False),
        sa.Column("game_version", sa.Integer, nullable=False),
        sa.Column("teams", sa.Text, nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("log_length", BIG, nullable=False),
        sa.Column("revision", BIG, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
        sqlite_autoincrement=True,
    )


def _workers() -> None:
    op.create_table(
        "workers",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("last_seen", sa.Double, nullable=False),
        sa.Column("busy", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )


def _agents() -> None:
    op.create_table(
        "agents",
        sa.Column("ladder_id", sa.Integer, nullable=False),
        sa.Column("number", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("spec", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("parent", sa.Integer),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("faults_in_a_row", sa.Integer, nullable=False),
        sa.Column("joined", BIG, nullable=False),
        sa.Column("added_at", sa.Double, nullable=False),
        sa.ForeignKeyConstraint(["ladder_id", "parent"], ["agents.ladder_id", "agents.number"]),
        sa.ForeignKeyConstraint(["ladder_id"], ["ladders.id"]),
        sa.PrimaryKeyConstraint("ladder_id", "number"),
        sa.UniqueConstraint("ladder_id", "name"),
    )


def _matches() -> None:
    op.create_table(
        "matches",
        sa.Column("id", BIG, nullable=False),
        sa.Column("ladder_id", sa.Integer, nullable=False),
        sa.Column("deal", sa.BigInteger, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("clock_base_s", sa.Double),
        sa.Column("clock_increment_s", sa.Double),
        sa.Column("group", BIG, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("fence", sa.Integer, nullable=False),
        sa.Column("lease_until", sa.Double),
        sa.Column("worker", sa.Text),
        sa.Column("rule", sa.Text, nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("value", sa.Double, nullable=False),
        sa.Column("expected", sa.Double, nullable=False),
        sa.Column("deviation", sa.Double, nullable=False),
        sa.Column("cost_s", sa.Double, nullable=False),
        sa.Column("fair", sa.Boolean, nullable=False),
        sa.Column("planned_at", sa.Double, nullable=False),
        sa.ForeignKeyConstraint(["ladder_id"], ["ladders.id"]),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("matches_by_group", "matches", ["ladder_id", "group"])
    op.create_index("matches_by_lease", "matches", ["lease_until"], **_only("lease_until IS NOT NULL"))
    op.create_index("matches_by_state", "matches", ["ladder_id", "state", "id"])


def _rating_changes() -> None:
    op.create_table(
        "rating_changes",
        sa.Column("ladder_id", sa.Integer, nullable=False),
        sa.Column("seq", BIG, autoincrement=False, nullable=False),
        sa.Column("agent", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("rating_before", sa.Double, nullable=False),
        sa.Column("deviation_before", sa.Double, nullable=False),
        sa.Column("volatility_before", sa.Double, nullable=False),
        sa.Column("rating_after", sa.Double, nullable=False),
        sa.Column("deviation_after", sa.Double, nullable=False),
        sa.Column("volatility_after", sa.Double, nullable=False),
        sa.ForeignKeyConstraint(["ladder_id"], ["ladders.id"]),
        sa.PrimaryKeyConstraint("ladder_id", "seq", "agent"),
        sqlite_with_rowid=False,
    )
    op.create_index("rating_changes_by_agent", "rating_changes", ["ladder_id", "agent", "seq"])


def _ratings() -> None:
    op.create_table(
        "ratings",
        sa.Column("ladder_id", sa.Integer, nullable=False),
        sa.Column("agent", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("rating", sa.Double, nullable=False),
        sa.Column("deviation", sa.Double, nullable=False),
        sa.Column("volatility", sa.Double, nullable=False),
        sa.Column("matches", BIG, nullable=False),
        sa.Column("wins", BIG, nullable=False),
        sa.Column("draws", BIG, nullable=False),
        sa.Column("losses", BIG, nullable=False),
        sa.Column("faults", BIG, nullable=False),
        sa.ForeignKeyConstraint(["ladder_id", "agent"], ["agents.ladder_id", "agents.number"]),
        sa.ForeignKeyConstraint(["ladder_id"], ["ladders.id"]),
        sa.PrimaryKeyConstraint("ladder_id", "agent"),
    )
    op.create_index("ratings_by_rating", "ratings", ["ladder_id", "rating"])


def _recordings() -> None:
    op.create_table(
        "recordings",
        sa.Column("match_id", BIG, autoincrement=False, nullable=False),
        sa.Column("packed", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(["match_id"], ["matches.id"]),
        sa.PrimaryKeyConstraint("match_id"),
    )


def _results() -> None:
    op.create_table(
        "results",
        sa.Column("ladder_id", sa.Integer, nullable=False),
        sa.Column("seq", BIG, autoincrement=False, nullable=False),
        sa.Column("match_id", BIG, nullable=False),
        sa.Column("group", BIG, nullable=False),
        sa.Column("fence", sa.Integer, nullable=False),
        sa.Column("agents", sa.Text, nullable=False),
        sa.Column("ranks", sa.Text, nullable=False),
        sa.Column("payoffs", sa.Text, nullable=False),
        sa.Column("scores", sa.Text, nullable=False),
        sa.Column("ending", sa.Text, nullable=False),
        sa.Column("ending_seat", sa.Integer),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("culprit", sa.Integer),
        sa.Column("fair", sa.Boolean, nullable=False),
        sa.Column("moves", sa.Integer, nullable=False),
        sa.Column("duration_s", sa.Double, nullable=False),
        sa.Column("worker", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.ForeignKeyConstraint(["ladder_id"], ["ladders.id"]),
        sa.ForeignKeyConstraint(["match_id"], ["matches.id"]),
        sa.PrimaryKeyConstraint("ladder_id", "seq"),
        sa.UniqueConstraint("match_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("results_by_culprit", "results", ["ladder_id", "culprit", "seq"], **_only("culprit IS NOT NULL"))


def _seats() -> None:
    op.create_table(
        "seats",
        sa.Column("match_id", BIG, nullable=False),
        sa.Column("seat", sa.Integer, nullable=False),
        sa.Column("ladder_id", sa.Integer, nullable=False),
        sa.Column("agent", sa.Integer, nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(["ladder_id", "agent"], ["agents.ladder_id", "agents.number"]),
        sa.ForeignKeyConstraint(["ladder_id"], ["ladders.id"]),
        sa.ForeignKeyConstraint(["match_id"], ["matches.id"]),
        sa.PrimaryKeyConstraint("match_id", "seat"),
        sqlite_with_rowid=False,
    )
    op.create_index("seats_by_agent", "seats", ["ladder_id", "agent", "match_id"])


def _voids() -> None:
    op.create_table(
        "voids",
        sa.Column("match_id", BIG, nullable=False),
        sa.Column("fence", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("worker", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.ForeignKeyConstraint(["match_id"], ["matches.id"]),
        sa.PrimaryKeyConstraint("match_id", "fence"),
    )
