"""Opening a database: SQLite or Postgres, made or brought up to date where needed."""

from __future__ import annotations

import os
import sqlite3
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import ArgumentError

from rung.errors import UserError
from rung.platform.store.faults import Place, told
from rung.platform.store.schema import REVISION, VERSION_TABLE
from rung.platform.store.store import WRITES, Store

WAIT_S = 30.0
_CONNECT_S = 10
_SHORT_S = 0.02
_MIGRATIONS = "rung.platform.store:migrations"
_ONE_AT_A_TIME = 7283541
"""Number of the advisory lock under which a Postgres database is brought up to date."""
sqlite3.register_adapter(np.int64, int)  # SQLite would take a number out of an array for a BLOB
_RIGHT = "a database is a file, sqlite:///file or postgresql://user@host/name"


def open_store(url: str, *, create: bool = True, wait_s: float = WAIT_S) -> Store:
    """Open the database at a URL or path, and make it or bring it up to date first if it needs that.

    Whoever is kept from writing by others waits for `wait_s`. Without `create`, a missing SQLite file is a mistake.
    """
    place = _place(url, wait_s)
    if place.url.get_backend_name() == "sqlite":
        engine = _sqlite(place, create)
    else:
        engine = _postgres(place)
    try:
        with told(place):
            _bring_up_to_date(engine, place)
    except BaseException:
        engine.dispose()
        raise
    return Store(engine, place)


def _place(text: str, wait_s: float) -> Place:
    scheme, separator, _ = text.partition("://")
    if not separator:
        return _file(sa.URL.create("sqlite", database=text), wait_s)
    try:
        url = sa.make_url(text)
    except (ArgumentError, ValueError):
        raise UserError(f"This is not the address of a database; {_RIGHT}.") from None
    if scheme == "sqlite":
        return _file(url, wait_s)
    if scheme in ("postgresql", "postgres", "postgresql+psycopg"):
        where = url.host or url.query.get("host") or "this machine"
        port = f":{url.port}" if url.port else ""
        return Place(url.set(drivername="postgresql+psycopg"), f"Database {url.database} at {where}{port}", wait_s)
    raise UserError(f"Databases of the kind {scheme!r} are not known; {_RIGHT}.")


def _file(url: sa.URL, wait_s: float) -> Place:
    if not url.database or url.database == ":memory:":
        raise UserError(f"A database in memory would be lost; {_RIGHT}.")
    return Place(url, url.database, wait_s)


# -- SQLite -----------------------------------------------------------------------------------------------------------


def _sqlite(place: Place, create: bool) -> Engine:
    path = Path(place.label)
    if not create and not path.exists():
        raise UserError(f"There is no database {path}: name the file of one.")
    if path.is_dir():
        raise UserError(f"{path} is a folder: name a file.")
    for needed in (path, path.parent):
        if needed.exists() and not os.access(needed, os.W_OK):
            raise UserError(f"{path} is read-only: name a file, in a folder, that is yours to write to.")
    engine = sa.create_engine(place.url, connect_args={"timeout": place.wait_s})
    sa.event.listen(engine, "connect", partial(_on_connect, place))
    sa.event.listen(engine, "begin", _on_begin)
    return engine


def _on_connect(place: Place, connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say
    connection.execute(f"PRAGMA busy_timeout = {int(place.wait_s * 1000)}")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")  # what is recorded survives a power cut
    connection.execute("PRAGMA cache_size = -32768")  # kB
    # Pages written before they are moved to their places, 64 MB: small batches into a long log go 1.7 times as fast.
    connection.execute("PRAGMA wal_autocheckpoint = 16384")


def _on_begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get(WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _write_ahead(engine: Engine, place: Place) -> None:
    """Readers and a writer side by side. The file remembers it; switching does not wait for locks as other writes do."""
    give_up = time.monotonic() + place.wait_s
    with engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        connection.rollback()
        while driver.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            try:
                driver.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > give_up:
                    raise
                time.sleep(_SHORT_S)


# -- Postgres ---------------------------------------------------------------------------------------------------------


def _postgres(place: Place) -> Engine:
    try:
        import psycopg
    except ImportError:
        raise UserError("A Postgres database needs the package psycopg: pip install 'rung[postgres]'.") from None
    del psycopg
    wait = {} if "connect_timeout" in place.url.query else {"connect_timeout": _CONNECT_S}
    engine = sa.create_engine(place.url, connect_args=wait, pool_pre_ping=True)
    sa.event.listen(engine, "connect", partial(_limit_waiting, place))
    return engine


def _limit_waiting(place: Place, connection: Any, _: Any) -> None:
    connection.autocommit = True
    connection.execute(f"SET lock_timeout = {int(place.wait_s * 1000)}")
    connection.autocommit = False


# -- versions ---------------------------------------------------------------------------------------------------------


def _bring_up_to_date(engine: Engine, place: Place) -> None:
    with engine.connect() as connection:
        current = _is_current(connection, place)
    if engine.dialect.name == "sqlite":
        _write_ahead(engine, place)
    if current:
        return
    with engine.connect().execution_options(**{WRITES: True}) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ONE_AT_A_TIME)))
        if not _is_current(connection, place):  # somebody may have been first
            _upgrade(connection)


def _is_current(connection: Connection, place: Place) -> bool:
    inspector = sa.inspect(connection)
    if not inspector.has_table(VERSION_TABLE):
        if inspector.get_table_names():
            raise UserError(f"{place.label} is a database, but not one of Rung's: name another, or an empty one.")
        return False
    found = connection.scalar(sa.text(f"SELECT version_num FROM {VERSION_TABLE}"))
    if found == REVISION:
        return True
    if not str(found).isdecimal() or int(found) > int(REVISION):
        raise UserError(
            f"{place.label} was written by a newer Rung (its format is {found}, and this Rung knows {REVISION}):"
            " install the newer one."
        )
    return False


def _upgrade(connection: Connection) -> None:
    from alembic import command

    command.upgrade(alembic_config(connection), "head")


def alembic_config(connection: Connection) -> Any:
    """Alembic's view of the package's migrations, run on this connection."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", _MIGRATIONS)
    config.attributes["connection"] = connection
    return config
