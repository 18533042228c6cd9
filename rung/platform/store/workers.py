"""Who plays."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite

from rung.platform.store.encoding import clean
from rung.platform.store.records import Worker
from rung.platform.store.schema import workers


def beat(c: Connection, worker: Worker) -> None:
    row = {"name": clean(worker.name), "host": clean(worker.host), "last_seen": worker.last_seen, "busy": worker.busy}
    insert: Any = sqlite.insert(workers) if c.dialect.name == "sqlite" else postgresql.insert(workers)
    c.execute(insert.values(row).on_conflict_do_update(index_elements=["name"], set_=row))


def all_workers(c: Connection) -> list[Worker]:
    return [Worker(*row) for row in c.execute(sa.select(workers).order_by(workers.c.name))]
