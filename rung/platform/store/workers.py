"""Who plays."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Connection

from rung.platform.store.encoding import clean
from rung.platform.store.records import Worker
from rung.platform.store.schema import insert_unless_there, workers


def beat(c: Connection, worker: Worker) -> None:
    row = {"name": clean(worker.name), "host": clean(worker.host), "last_seen": worker.last_seen, "busy": worker.busy}
    insert = insert_unless_there(c, workers)
    c.execute(insert.values(row).on_conflict_do_update(index_elements=["name"], set_=row))


def all_workers(c: Connection) -> list[Worker]:
    return [Worker(*row) for row in c.execute(sa.select(workers).order_by(workers.c.name))]
