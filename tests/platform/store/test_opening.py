"""Opening databases of every kind and in every state, and what is said of those that cannot be used."""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.exc import DBAPIError

from rung.errors import UserError
from rung.platform.store import Store, Unavailable, open_store, opening
from rung.platform.store.faults import Place, told
from rung.platform.store.opening import alembic_config
from rung.platform.store.schema import REVISION, VERSION_TABLE, metadata
from tests.platform.store.conftest import LEASE_S, NOW, ladder_of, new, new_database, won

SECRET = "tr0ub4dor"
NOBODY = 65534


def said(url: str, **options: Any) -> str:
    """Why this cannot be opened."""
    with pytest.raises(UserError) as refusal:
        open_store(url, **options)
    sentence = str(refusal.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert SECRET not in sentence
    return sentence


# -- versions ---------------------------------------------------------------------------------------------------------


def test_migrations_make_what_the_code_expects(empty_url: str) -> None:
    with open_store(empty_url) as store, store._engine.connect() as c:
        options = {"compare_type": True, "version_table": VERSION_TABLE}
        assert compare_metadata(MigrationContext.configure(c, opts=options), metadata) == []
        assert ScriptDirectory.from_config(alembic_config(c)).get_current_head() == REVISION


def test_opening_twice_changes_nothing(empty_url: str) -> None:
    with open_store(empty_url) as store:
        ladder_of(store)
    with open_store(empty_url) as store:
        assert [ladder.name for ladder in store.ladders()] == ["ladder"]


def test_an_older_database_is_brought_up_to_date(
    empty_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(empty_url) as store:
        ladder_of(store)
    folder = tmp_path / "migrations"
    shutil.copytree(Path(opening.__file__).parent / "migrations", folder)
    (folder / "versions" / "0002_more.py").write_text(MIGRATION)
    monkeypatch.setattr(opening, "_MIGRATIONS", str(folder))
    monkeypatch.setattr(opening, "REVISION", "0002")
    for _ in range(2):
        with open_store(empty_url) as store, store._read() as c:
            assert store.ladder("ladder").name == "ladder"
            assert c.scalar(sa.text("SELECT colour FROM ladders")) == "red"


MIGRATION = """
import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("ladders", sa.Column("colour", sa.Text, nullable=False, server_default="red"))
"""


def test_a_newer_database_is_refused_untouched(empty_url: str) -> None:
    with open_store(empty_url) as store, store._engine.begin() as c:
        c.execute(sa.text(f"UPDATE {VERSION_TABLE} SET version_num = '0999'"))
    assert "was written by a newer Rung (its format is 0999, and this Rung knows 0001)" in said(empty_url)


def test_a_database_of_something_else_is_refused(empty_url: str) -> None:
    with open_store(empty_url) as store, store._engine.begin() as c:
        c.execute(sa.text(f"DROP TABLE {VERSION_TABLE}"))
    assert "is a database, but not one of Rung's" in said(empty_url)


# -- SQLite -----------------------------------------------------------------------------------------------------------


def test_sqlite_is_opened_for_safety(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "rung.db")) as store, store._read() as c:

        def pragma(name: str) -> Any:
            return c.exec_driver_sql(f"PRAGMA {name}").scalar()

        assert (pragma("journal_mode"), pragma("synchronous"), pragma("foreign_keys")) == ("wal", 2, 1)
        assert pragma("busy_timeout") == 30_000


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Not a database, but long enough to be one. " * 100)
    assert "notes.txt is not a database" in said(str(tmp_path / "notes.txt"))


def test_a_place_where_no_file_can_be_is_refused(tmp_path: Path) -> None:
    assert "is a folder: name a file" in said(str(tmp_path))
    assert "name a file in a folder that exists" in said(str(tmp_path / "nowhere" / "rung.db"))
    assert "There is no database" in said(str(tmp_path / "rung.db"), create=False)
    assert "in memory would be lost" in said("sqlite://")
    assert "in memory would be lost" in said(":memory:")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may see into."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def said_to_nobody(url: str) -> str:
    """What a user without rights is told."""
    ours, theirs = multiprocessing.Pipe()

    def work() -> None:
        if os.getuid() == 0:
            os.setuid(NOBODY)
        theirs.send(said(url))

    started = multiprocessing.get_context("fork").Process(target=work)
    started.start()
    theirs.close()
    started.join()
    return str(ours.recv())


def test_a_read_only_file_or_folder_is_refused(open_folder: Path) -> None:
    file = open_folder / "rung.db"
    open_store(str(file)).close()
    file.chmod(0o444)
    open_folder.chmod(0o555)
    assert said_to_nobody(str(file)) == f"{file} is read-only: name a file, in a folder, that is yours to write to."
    assert "is read-only" in said_to_nobody(str(open_folder / "new.db"))


def test_a_database_that_others_keep_locked_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "rung.db"
    with open_store(str(path), wait_s=0.05) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match=r"rung.db was kept locked by another process for 0.05 s"):
            ladder_of(store)
        assert store.ladders() == []  # reading goes on
        other.execute("ROLLBACK")
        assert ladder_of(store).name == "ladder"


def test_a_full_disk_leaves_nothing_half_done(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "rung.db")) as store:
        ladder = ladder_of(store, 2)
        store.plan(ladder.id, [new(0, 1)] * 2000, NOW)
        batch = [won(claim) for claim in store.claim("worker", 2000, LEASE_S, NOW)]
        with room_for(store, pages=1), pytest.raises(Unavailable, match=r"disk of .*rung.db is full: make room"):
            store.finish(batch, NOW)
        assert (list(store.log(ladder.id)), store.counts(ladder.id).claimed, store.verify(ladder.id)) == ([], 2000, [])
        assert {receipt.status for receipt in store.finish(batch, NOW)} == {"recorded"}
        assert store.verify(ladder.id) == []


class room_for:  # noqa: N801 - reads as a sentence
    """While this lasts, the file may have so many pages, or as many as it has."""

    def __init__(self, store: Store, pages: int) -> None:
        self.engine, self.pages = store._engine, pages

    def limit(self, connection: Any, _: Any) -> None:
        connection.execute(f"PRAGMA max_page_count = {self.pages}")

    def __enter__(self) -> None:
        self.engine.dispose()
        sa.event.listen(self.engine, "connect", self.limit)

    def __exit__(self, *_: object) -> None:
        sa.event.remove(self.engine, "connect", self.limit)
        self.engine.dispose()


# -- Postgres ---------------------------------------------------------------------------------------------------------


def test_a_server_that_is_not_there_is_named_without_the_password() -> None:
    sentence = said(f"postgresql://rung:{SECRET}@127.0.0.1:1/ladders")
    assert sentence.startswith("Database ladders at 127.0.0.1:1 cannot be reached (")
    assert sentence.endswith("Connection refused): start the server, or give its address.")


def test_a_wrong_password_a_missing_user_and_a_missing_database_are_told_apart(postgres_server: str) -> None:
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        row = connection.execute("SHOW hba_file").fetchone()
        assert row
        hba = Path(row[0])
        if "picky" not in hba.read_text():
            connection.execute(f"CREATE USER picky PASSWORD '{SECRET}'".encode())
            hba.write_text("local all picky scram-sha-256\n" + hba.read_text())
            connection.execute("SELECT pg_reload_conf()")

    def of(user: str, database: str = "postgres") -> str:
        return postgres_server.replace("postgres:@/postgres", f"{user}@/{database}")

    assert "does not accept this user and password" in said(of(f"picky:{SECRET}x"))
    assert "does not accept this user and password" in said(of("picky"))
    assert "does not accept this user and password" in said(of("stranger"))
    assert "Database nothing at" in said(of("postgres:", "nothing"))
    assert "does not exist" in said(of("postgres:", "nothing"))
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    assert "does not let this user do that" in said(of(f"picky:{SECRET}"))


def test_a_server_that_others_keep_locked_is_given_up(postgres_server: str) -> None:
    url = new_database(postgres_server)
    with open_store(url, wait_s=0.05) as store, psycopg.connect(url) as other:
        ladder = ladder_of(store)
        other.execute("SELECT * FROM ladders FOR UPDATE")
        with pytest.raises(Unavailable, match=r"was kept locked by another process for 0.05 s"):
            store.plan(ladder.id, [new(0, 1)], NOW)


def test_a_connection_cut_in_mid_batch_loses_nothing(postgres_server: str) -> None:
    url = new_database(postgres_server)
    with open_store(url) as store, psycopg.connect(url, autocommit=True) as other:
        ladder = ladder_of(store)
        store.plan(ladder.id, [new(0, 1)] * 3, NOW)
        batch = [won(claim) for claim in store.claim("worker", 3, LEASE_S, NOW)]

        def cut(*call: Any) -> None:
            if "INSERT INTO rating_changes" in call[2]:
                other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")

        sa.event.listen(store._engine, "after_cursor_execute", cut)
        with pytest.raises(Unavailable, match="cannot be reached"):
            store.finish(batch, NOW)
        sa.event.remove(store._engine, "after_cursor_execute", cut)
        assert {receipt.status for receipt in store.finish(batch, NOW)} == {"recorded"}
        assert store.verify(ladder.id) == []


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (psycopg.errors.DiskFull, "has no room left on its disk"),
        (psycopg.errors.ReadOnlySqlTransaction, "is read-only"),
        (psycopg.errors.TooManyConnections, "has no connection left"),
        (psycopg.errors.DeadlockDetected, "broke off a transaction"),
        (psycopg.errors.AdminShutdown, "cannot be reached"),
    ],
)
def test_other_troubles_of_a_server_are_told(error: type[psycopg.Error], words: str) -> None:
    place = Place(sa.make_url(f"postgresql://rung:{SECRET}@host/ladders"), "Database ladders at host", 30)
    with pytest.raises(UserError, match=words) as refusal, told(place):
        raise DBAPIError("SELECT 1", {}, error(f"something with {SECRET}"))
    assert SECRET not in str(refusal.value)


def test_without_its_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert "pip install 'rung[postgres]'" in said(f"postgresql://rung:{SECRET}@host/ladders")


# -- addresses --------------------------------------------------------------------------------------------------------


def test_addresses_of_no_kind_are_refused() -> None:
    assert "Databases of the kind 'mysql' are not known" in said(f"mysql://rung:{SECRET}@host/ladders")
    assert "not the address of a database" in said(f"postgresql://rung:{SECRET}@host:port/ladders")


def test_bugs_are_not_told_as_mistakes(store: Store) -> None:
    with pytest.raises(DBAPIError, match=re.escape("nonsense")), store._read() as c:
        c.execute(sa.text("SELECT nonsense"))


def test_the_shell_starts_without_the_database_packages() -> None:
    code = "import sys, rung.platform.cli; sys.exit('sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
