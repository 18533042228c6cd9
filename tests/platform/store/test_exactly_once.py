"""Whatever is claimed, finished, voided, given back or forgotten, in any order: each match counts once, as it was played.

A model of a few lines says what a store must hold; hypothesis looks for a history after which it does not. A store that
does not look at fences must be caught by the same look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import hypothesis.strategies as st
import pytest
import sqlalchemy as sa
from hypothesis import settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy.exc import IntegrityError

from rung.platform.match import Forfeit, Void
from rung.platform.store import Claim, Finished, Receipt, Settings, Store
from rung.platform.store.schema import matches, ratings
from tests.platform.store.conftest import LEASE_S, NOW, forfeit, ladder_of, new, void, won

AGENTS, FAULT_LIMIT, ATTEMPTS = 3, 2, 3
_names = count()

picks = st.integers(0, 10_000)
OUTCOMES = {
    "first": lambda claim: won(claim, (1, 2)),
    "second": lambda claim: won(claim, (2, 1)),
    "draw": lambda claim: won(claim, (1, 1)),
    "forfeit": lambda claim: forfeit(claim, 0),
    "void": void,
}


@dataclass
class Expected:
    """What a match should be."""

    agents: tuple[int, int]
    state: str = "waiting"
    fence: int = 0
    attempts: int = 0
    until: float = 0.0


@dataclass
class Model:
    """What a store should hold."""

    matches: dict[int, Expected] = field(default_factory=dict)
    log: list[tuple[int, tuple[int, ...], int]] = field(default_factory=list)
    """Match, ranks and fence."""
    in_a_row: list[int] = field(default_factory=lambda: [0] * AGENTS)
    gone: set[int] = field(default_factory=set)

    def holds(self, match: int, fence: int) -> bool:
        return self.matches[match].state == "claimed" and self.matches[match].fence == fence

    def finish(self, batch: list[Finished]) -> list[Receipt]:
        first: dict[int, int] = {}
        for index, item in enumerate(batch):
            if self.holds(item.match, item.fence):
                first.setdefault(item.match, index)
        lost = [match for match, index in first.items() if isinstance(batch[index].result.ending, Void)]
        for match, index in first.items():
            if match not in lost:
                self._record(batch[index])
        self.withdraw()
        for match in lost:
            self.void(match)
        return [self._receipt(item, first.get(item.match) == index) for index, item in enumerate(batch)]

    def _record(self, item: Finished) -> None:
        match, ending = self.matches[item.match], item.result.ending
        match.state = "finished"
        self.log.append((item.match, item.result.ranks, item.fence))
        for seat, agent in enumerate(match.agents):
            failed = isinstance(ending, Forfeit) and ending.seat == seat
            self.in_a_row[agent] = self.in_a_row[agent] + 1 if failed else 0
            if self.in_a_row[agent] >= FAULT_LIMIT:
                self.gone.add(agent)

    def _receipt(self, item: Finished, first: bool) -> Receipt:
        if first and isinstance(item.result.ending, Void):
            return Receipt(item.match, self.matches[item.match].state)  # type: ignore[arg-type]
        places = [seq for seq, row in enumerate(self.log, start=1) if (row[0], row[2]) == (item.match, item.fence)]
        if not places:
            return Receipt(item.match, "late")
        return Receipt(item.match, "recorded" if first else "repeated", places[0])

    def void(self, number: int) -> None:
        match = self.matches[number]
        match.attempts += 1
        match.state = "parked" if match.attempts == ATTEMPTS else "waiting"
        self.withdraw()

    def withdraw(self) -> None:
        for match in self.matches.values():
            if match.state == "waiting" and self.gone & set(match.agents):
                match.state = "withdrawn"


class Histories(RuleBasedStateMachine):
    """Everything that can happen to matches."""

    opened: Store

    def __init__(self) -> None:
        super().__init__()
        self.model, self.now = Model(), NOW
        self.claims: list[Claim] = []
        """All that were ever given, whether they still hold or not."""

    @initialize()
    def begin(self) -> None:
        limits = Settings(fault_limit=FAULT_LIMIT, attempts=ATTEMPTS)
        self.ladder = ladder_of(self.opened, AGENTS, name=f"ladder {next(_names)}", settings=limits)

    @rule(pairs=st.lists(st.permutations(range(AGENTS)), min_size=1, max_size=4))
    def plan(self, pairs: list[list[int]]) -> None:
        planned = [new(*pair[:2]) for pair in pairs]
        for match, made in zip(self.opened.plan(self.ladder.id, planned, self.now), planned, strict=True):
            self.model.matches[match] = Expected((made.agents[0], made.agents[1]))
        self.model.withdraw()

    @rule(n=st.integers(1, 5), lease=st.sampled_from([1.0, LEASE_S]))
    def claim(self, n: int, lease: float) -> None:
        claims = self.opened.claim("worker", n, lease, self.now, self.ladder.id)
        waiting = [match for match, expected in self.model.matches.items() if expected.state == "waiting"]
        assert [claim.match for claim in claims] == waiting[:n]
        for claim in claims:
            match = self.model.matches[claim.match]
            match.state, match.fence, match.until = "claimed", match.fence + 1, self.now + lease
            assert claim.fence == match.fence
        self.claims += claims

    @precondition(lambda self: self.claims)
    @rule(chosen=st.lists(st.tuples(picks, st.sampled_from(sorted(OUTCOMES))), min_size=1, max_size=5))
    def finish(self, chosen: list[tuple[int, str]]) -> None:
        batch = [OUTCOMES[outcome](self._claim(pick)) for pick, outcome in chosen]
        assert self.opened.finish(batch, self.now) == self.model.finish(batch)

    @precondition(lambda self: self.claims)
    @rule(pick=picks)
    def lose(self, pick: int) -> None:
        claim = self._claim(pick)
        held = self.model.holds(claim.match, claim.fence)
        if held:
            self.model.void(claim.match)
        [receipt] = self.opened.void([claim.lost("node lost")], self.now)
        assert receipt.status == (self.model.matches[claim.match].state if held else "late")

    @precondition(lambda self: self.claims)
    @rule(pick=picks)
    def release(self, pick: int) -> None:
        claim = self._claim(pick)
        held = self.model.holds(claim.match, claim.fence)
        assert self.opened.release([claim]) == ({claim.match} if held else set())
        if held:
            self.model.matches[claim.match].state = "waiting"
            self.model.withdraw()

    @precondition(lambda self: self.claims)
    @rule(pick=picks)
    def renew(self, pick: int) -> None:
        claim = self._claim(pick)
        held = self.model.holds(claim.match, claim.fence)
        assert self.opened.renew([claim], LEASE_S, self.now) == ({claim.match} if held else set())
        if held:
            self.model.matches[claim.match].until = self.now + LEASE_S

    @rule(later=st.sampled_from([0.5, 2.0, LEASE_S]))
    def expire(self, later: float) -> None:
        self.now += later
        over = {
            match
            for match, expected in self.model.matches.items()
            if expected.state == "claimed" and expected.until <= self.now
        }
        for match in over:
            self.model.void(match)
        assert over <= {receipt.match for receipt in self.opened.expire(self.now)}

    def _claim(self, pick: int) -> Claim:
        return self.claims[pick % len(self.claims)]

    @invariant()
    def all_is_as_it_should_be(self) -> None:
        if not hasattr(self, "ladder"):
            return
        log = list(self.opened.log(self.ladder.id))
        assert [row.seq for row in log] == list(range(1, len(log) + 1))
        assert [(row.match, row.ranks) for row in log] == [row[:2] for row in self.model.log]
        states = list(self.model.matches.values())
        counts = self.opened.counts(self.ladder.id)
        for state in ("waiting", "claimed", "finished", "parked", "withdrawn"):
            assert getattr(counts, state) == sum(match.state == state for match in states)
        agents = self.opened.agents(self.ladder.id)
        assert {agent.number for agent in agents if agent.state == "suspended"} == self.model.gone
        assert [agent.faults_in_a_row for agent in agents] == self.model.in_a_row
        assert self.opened.verify(self.ladder.id) == []


def histories(store: Store) -> type[Histories]:
    return type("TheseHistories", (Histories,), {"opened": store})


def test_each_match_counts_once_whatever_happens(store: Store) -> None:
    run_state_machine_as_test(histories(store), settings=settings(max_examples=15, stateful_step_count=20))


# -- stores with a fault, and a history that shows it -----------------------------------------------------------------


class Unfenced(Store):
    """Takes whatever comes as the newest claim's."""

    def finish(self, batch: Sequence[Finished], now: float) -> list[Receipt]:
        with self._read() as c:
            newest = {row.id: row.fence for row in c.execute(sa.select(matches))}
        return super().finish([replace(item, fence=newest[item.match]) for item in batch], now)


class Counting(Store):
    """Adds to counters whatever comes, instead of following the log."""

    def finish(self, batch: Sequence[Finished], now: float) -> list[Receipt]:
        receipts = super().finish(batch, now)
        with self._write() as c:
            for receipt in receipts:
                if receipt.status == "repeated":
                    c.execute(sa.update(ratings).values(matches=ratings.c.matches + 1))
        return receipts


class Doubling(Store):
    """Plays on as if nobody had finished the match yet."""

    def finish(self, batch: Sequence[Finished], now: float) -> list[Receipt]:
        with self._write() as c:
            c.execute(sa.update(matches).values(state="claimed", worker="w", lease_until=now))
        return super().finish(batch, now)


def late_and_twice(store: Store) -> Histories:
    """A result that comes when the match is somebody else's, and one that comes twice."""
    history = histories(store)()
    history.begin()
    history.plan(pairs=[[0, 1, 2], [1, 2, 0]])
    history.claim(n=1, lease=1.0)
    history.expire(later=2.0)
    history.claim(n=2, lease=LEASE_S)
    for chosen in ([(0, "second")], [(2, "first")], [(2, "first")], [(1, "draw")]):
        history.finish(chosen=chosen)
        history.all_is_as_it_should_be()
    return history


@pytest.fixture
def mutant(request: pytest.FixtureRequest, store: Store) -> Store:
    store.__class__ = request.param
    return store


def test_a_sound_store_stands_late_and_repeated_results(store: Store) -> None:
    late_and_twice(store)


@pytest.mark.parametrize("mutant", [Unfenced, Counting], indirect=True)
def test_a_store_without_fences_or_with_counters_is_caught(mutant: Store) -> None:
    with pytest.raises(AssertionError):
        late_and_twice(mutant)


@pytest.mark.parametrize("mutant", [Doubling], indirect=True)
def test_the_log_itself_refuses_a_second_result(mutant: Store) -> None:
    with pytest.raises(IntegrityError, match="match_id"):
        late_and_twice(mutant)
