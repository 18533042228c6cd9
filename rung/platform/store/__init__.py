"""Where ladders are kept: SQLite or Postgres. Importing this imports SQLAlchemy."""

from rung.platform.store.columns import LogColumns
from rung.platform.store.faults import Unavailable
from rung.platform.store.opening import open_store
from rung.platform.store.records import (
    Claim,
    Counts,
    Finished,
    Ladder,
    LadderAgent,
    LogRow,
    Lost,
    Match,
    NewMatch,
    RatingChange,
    Receipt,
    Settings,
    VoidAttempt,
    Worker,
)
from rung.platform.store.store import Store

__all__ = [
    "Claim",
    "Counts",
    "Finished",
    "Ladder",
    "LadderAgent",
    "LogColumns",
    "LogRow",
    "Lost",
    "Match",
    "NewMatch",
    "RatingChange",
    "Receipt",
    "Settings",
    "Store",
    "Unavailable",
    "VoidAttempt",
    "Worker",
    "open_store",
]
