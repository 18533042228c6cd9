"""A store: ladders, their matches and the log, in one database. Each call is one transaction, or as many reads.

A call that fails has changed nothing, and may be made again: `Unavailable` says that the trouble may pass. Threads may
share a store; each process opens its own. Times are in seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType

import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from rung.platform.match import MatchResult
from rung.platform.store import claiming, finishing, ladders, reading, verifying, workers
from rung.platform.store.columns import LogColumns, comparisons_of
from rung.platform.store.encoding import pack
from rung.platform.store.faults import Place, told
from rung.platform.store.rating import warm
from rung.platform.store.records import (
    AgentState,
    Claim,
    Counts,
    Finished,
    Held,
    Ladder,
    LadderAgent,
    LadderState,
    LogRow,
    Lost,
    Match,
    MatchState,
    NewMatch,
    RatingChange,
    Receipt,
    Settings,
    VoidAttempt,
    Worker,
)
from rung.scheduler.comparisons import Comparisons, Ints

WRITES = "rung_writes"
"""Execution option of a connection whose transaction will write."""
_DEFAULTS = Settings()


class Store:
    """Made by `open_store`."""

    def __init__(self, engine: Engine, place: Place) -> None:
        self._engine, self._place = engine, place

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._engine.dispose()

    @property
    def label(self) -> str:
        """What the database is called in messages; never with a password."""
        return self._place.label

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with told(self._place), self._engine.connect().execution_options(**{WRITES: True}) as c, c.begin():
            yield c

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        """All queries see the same moment."""
        options = {"isolation_level": "REPEATABLE READ"} if self._engine.dialect.name == "postgresql" else {}
        with told(self._place), self._engine.connect().execution_options(**options) as c, c.begin():
            yield c

    # -- ladders and agents -------------------------------------------------------------------------------------------

    def create_ladder(self, name: str, game: str, now: float, settings: Settings = _DEFAULTS) -> Ladder:
        """A new ladder for a game, which is given as a call."""
        with self._write() as c:
            return ladders.create_ladder(c, name, game, settings, now)

    def ladder(self, name: str) -> Ladder:
        """The ladder of this name; a `UserError` names the nearest."""
        with self._read() as c:
            return ladders.ladder_called(c, name)

    def reload(self, ladder: int) -> Ladder:
        """The ladder as it is now: the cheap question whether anything has changed."""
        with self._read() as c:
            return ladders.ladder_numbered(c, ladder)

    def ladders(self) -> list[Ladder]:
        with self._read() as c:
            return ladders.all_ladders(c)

    def set_ladder_state(self, ladder: int, state: LadderState, why: str = "") -> None:
        """Matches of a ladder that is not active are not handed out; what is being played still counts."""
        with self._write() as c:
            ladders.set_ladder_state(c, ladder, state, why)

    def remove_ladder(self, ladder: int) -> None:
        """Forget a ladder with all its matches, for ever."""
        with self._write() as c:
            ladders.remove_ladder(c, ladder)

    def add_agent(self, ladder: int, name: str, spec: str, now: float, parent: int | None = None) -> LadderAgent:
        """A new agent, with the next number; `parent` is the agent that it is the next version of."""
        with self._write() as c:
            return ladders.add_agent(c, ladder, name, spec, parent, now)

    def set_agent_state(self, ladder: int, agent: int, state: AgentState, reason: str = "") -> None:
        """Waiting matches of an agent that is not active are withdrawn. One made active again starts without faults."""
        with self._write() as c:
            ladders.set_agent_state(c, ladder, agent, state, reason)

    def agent(self, ladder: int, name: str) -> LadderAgent:
        """The agent of this name; a `UserError` names the nearest."""
        with self._read() as c:
            return ladders.agent_called(c, ladder, name)

    def agents(self, ladder: int) -> list[LadderAgent]:
        """All agents, by number."""
        with self._read() as c:
            return ladders.agents_of(c, ladder)

    def standings(self, ladder: int, limit: int | None = None, offset: int = 0) -> list[LadderAgent]:
        """The agents, the highest rating first."""
        with self._read() as c:
            return ladders.standings(c, ladder, limit, offset)

    # -- matches ------------------------------------------------------------------------------------------------------

    def plan(self, ladder: int, planned: Sequence[NewMatch], now: float) -> list[int]:
        """Put matches into the queue; their numbers. Those of agents that are not active are withdrawn at once."""
        with self._write() as c:
            return claiming.plan(c, ladder, planned, now)

    def claim(self, worker: str, n: int, lease_s: float, now: float, ladder: int | None = None) -> list[Claim]:
        """Up to so many waiting matches, for this worker alone until the lease ends: in the order of planning, and an
        equal share from each active ladder unless one is named."""
        with self._write() as c:
            return claiming.claim(c, worker, n, lease_s, now, ladder)

    def claims_of(self, worker: str) -> list[Claim]:
        """What a worker of this name holds: after a crash, to be given back at once."""
        with self._read() as c:
            return claiming.claims_of(c, worker)

    def renew(self, claims: Collection[Held], lease_s: float, now: float) -> set[int]:
        """Prolong leases; the matches that are still this worker's."""
        with self._write() as c:
            return claiming.renew(c, claims, lease_s, now)

    def release(self, claims: Collection[Held]) -> set[int]:
        """Give matches back unplayed, without counting an attempt; the matches that were still this worker's."""
        with self._write() as c:
            return claiming.release(c, claims)

    def finish(self, batch: Sequence[Finished], now: float) -> list[Receipt]:
        """Record results, rate their agents, and say what became of each. Void results count as `void`."""
        warm()
        packed = [pack(item.result.moves, item.result.think_s) for item in batch]
        with self._write() as c:
            return finishing.finish(c, batch, packed, now)

    def void(self, lost: Collection[Lost], now: float) -> list[Receipt]:
        """These matches came to nothing: keep the evidence, and play them again unless it happened too often."""
        with self._write() as c:
            return finishing.void(c, lost, now)

    def expire(self, now: float) -> list[Receipt]:
        """Void the matches whose lease has ended; what became of them."""
        with self._write() as c:
            return finishing.expire(c, now)

    def retry(self, ladder: int) -> int:
        """Let the parked matches of a ladder be played again, as if new; how many they were."""
        with self._write() as c:
            return finishing.retry(c, ladder)

    # -- reading ------------------------------------------------------------------------------------------------------

    def log(self, ladder: int, after: int = 0) -> Iterator[LogRow]:
        """The log from its beginning or after a number, a row at a time."""
        while True:
            with self._read() as c:
                rows = reading.log_lot(c, ladder, after)
            if not rows:
                return
            yield from rows
            after = rows[-1].seq

    def columns(self, ladder: int, after: int = 0) -> LogColumns:
        """The same as arrays."""
        with self._read() as c:
            return reading.log_columns(c, ladder, ladders.ladder_numbered(c, ladder).seats, after)

    def comparisons(self, ladder: int, after: int = 0) -> Comparisons:
        """The same as comparisons among all agents; match numbers are those of the log."""
        with self._read() as c:
            head = ladders.ladder_numbered(c, ladder)
            log = reading.log_columns(c, ladder, head.seats, after)
            return comparisons_of(log, head.teams, ladders.count_agents(c, ladder))

    def match(self, match: int) -> Match:
        with self._read() as c:
            return reading.match_numbered(c, match)

    def result(self, match: int) -> MatchResult:
        """A finished match with its moves, for replay."""
        with self._read() as c:
            return reading.result_of(c, match)

    def matches_in(self, ladder: int, state: MatchState, limit: int = 100) -> list[Match]:
        with self._read() as c:
            return reading.matches_in(c, ladder, state, limit)

    def matches_of(self, ladder: int, agent: int, limit: int = 100, before: int | None = None) -> list[int]:
        """The numbers of an agent's matches, the latest first, in whatever state; `before` turns the page."""
        with self._read() as c:
            return reading.matches_of_agent(c, ladder, agent, limit, before)

    def history(self, ladder: int, agent: int, after: int = 0) -> list[RatingChange]:
        """What each match did to an agent's rating."""
        with self._read() as c:
            return reading.history_of(c, ladder, agent, after)

    def faults(self, ladder: int, agent: int, limit: int = 100) -> list[LogRow]:
        """The matches that an agent forfeited, the latest first."""
        with self._read() as c:
            return reading.faults_of(c, ladder, agent, limit)

    def voids(self, match: int) -> list[VoidAttempt]:
        """The attempts at a match that came to nothing."""
        with self._read() as c:
            return reading.voids_of(c, match)

    def counts(self, ladder: int) -> Counts:
        with self._read() as c:
            return reading.counts(c, ladder)

    def in_flight(self, ladder: int) -> Ints:
        """(matches, seats): the agents of matches that are waiting or being played."""
        with self._read() as c:
            return reading.in_flight(c, ladder, ladders.ladder_numbered(c, ladder).seats)

    def next_group(self, ladder: int) -> int:
        """The first number that no group of planned matches has."""
        with self._read() as c:
            return reading.next_group(c, ladder)

    def planned(self, ladder: int) -> tuple[Ints, Ints, Ints]:
        """Of every match of the ladder that was planned, in the order of planning: its number, its group, and 1 while it is
        to be played or being played."""
        with self._read() as c:
            return reading.planned(c, ladder)

    def verify(self, ladder: int) -> list[str]:
        """Rate the whole log anew and compare with what is stored, to the last bit: the differences, in words."""
        with self._read() as c:
            return verifying.verify(c, ladders.ladder_numbered(c, ladder))

    # -- workers ------------------------------------------------------------------------------------------------------

    def beat(self, worker: str, host: str, busy: float, now: float) -> None:
        """A worker is there, and spent this share of its time in matches since it last said so."""
        with self._write() as c:
            workers.beat(c, Worker(worker, host, now, busy))

    def workers(self) -> list[Worker]:
        with self._read() as c:
            return workers.all_workers(c)

    def ping(self) -> None:
        """A `UserError` if the database does not answer."""
        with self._read() as c:
            c.execute(sa.select(1))
