"""Several processes at one database, and processes killed at every step of recording results."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Engine

from rung.platform.store import open_store
from tests.platform.store.conftest import GAME, LEASE_S, NOW, PATIENCE_S, ladder_of, new, won

_FORK = multiprocessing.get_context("fork")
_MOST_STEPS = 60
"""More statements than any batch takes."""


@contextmanager
def process(work: Callable[[Connection], None]) -> Iterator[tuple[int, Connection]]:
    """Another process at this work, and the line to it. Killed, if it is still there, at the end."""
    ours, theirs = _FORK.Pipe()
    started = _FORK.Process(target=work, args=(theirs,))
    started.start()
    theirs.close()
    try:
        yield started.pid or 0, ours
    finally:
        started.kill()
        started.join()


# -- side by side -----------------------------------------------------------------------------------------------------


def claim_and_finish(url: str, name: str) -> Callable[[Connection], None]:
    """Take matches and finish them until there are none; tell which."""

    def work(line: Connection) -> None:
        taken: list[int] = []
        with open_store(url, wait_s=PATIENCE_S) as store:
            line.send("ready")
            line.recv()
            while claims := store.claim(name, 7, LEASE_S, NOW):
                taken += [claim.match for claim in claims]
                receipts = store.finish([won(claim) for claim in claims], NOW)
                assert {receipt.status for receipt in receipts} == {"recorded"}
        line.send(taken)

    return work


def test_processes_side_by_side_share_no_match(url: str) -> None:
    with open_store(url) as store:
        ladder = ladder_of(store, 6)
        ids = store.plan(ladder.id, [new(n % 6, (n + 1 + n // 6 % 5) % 6) for n in range(300)], NOW)
    with process(claim_and_finish(url, "a")) as (_, one), process(claim_and_finish(url, "b")) as (_, other):
        for line in (one, other):
            line.recv()
        for line in (one, other):
            line.send("go")
        taken = [*one.recv(), *other.recv()]
    assert sorted(taken) == ids
    with open_store(url) as store:
        assert sorted(row.match for row in store.log(ladder.id)) == ids
        assert store.verify(ladder.id) == []


def test_processes_may_make_the_same_database_at_once(empty_url: str) -> None:
    def work(line: Connection) -> None:
        line.send("ready")
        line.recv()
        open_store(empty_url, wait_s=PATIENCE_S).close()
        line.send("open")

    with process(work) as (_, one), process(work) as (_, other), process(work) as (_, third):
        for line in (one, other, third):
            line.recv()
        for line in (one, other, third):
            line.send("go")
        assert [line.recv() for line in (one, other, third)] == ["open"] * 3
    with open_store(empty_url) as store:
        assert store.ladders() == []


# -- killed -----------------------------------------------------------------------------------------------------------


def finish_step_by_step(url: str, ladder: int, now: float) -> Callable[[Connection], None]:
    """Finish a batch, asking for leave after every statement and before the commit; then tell what was recorded."""

    def work(line: Connection) -> None:
        def ask(*_: Any) -> None:
            line.send("step")
            line.recv()

        with open_store(url, wait_s=PATIENCE_S) as store:
            claims = store.claim("doomed", 6, LEASE_S, now, ladder)
            for moment in ("after_cursor_execute", "commit"):
                sa.event.listen(Engine, moment, ask)
            receipts = store.finish([won(claim) for claim in claims], now)
        line.send(json.dumps([receipt.match for receipt in receipts]))

    return work


def killed_after(url: str, ladder: int, steps: int, now: float) -> list[int] | None:
    """Kill a process after so many steps; what it had recorded if it was done before that."""
    with process(finish_step_by_step(url, ladder, now)) as (pid, line):
        for _ in range(steps):
            word = line.recv()
            if word != "step":
                return list(json.loads(word))
            line.send("go on")
        word = line.recv()
        if word != "step":
            return list(json.loads(word))
        os.kill(pid, signal.SIGKILL)
    return None


def test_a_process_killed_at_any_step_of_a_batch_loses_and_doubles_nothing(url: str) -> None:
    with open_store(url) as store:
        ladder = ladder_of(store, 4)
        ids = store.plan(ladder.id, [new(n % 4, (n + 1) % 4) for n in range(6)], NOW)
        now, recorded = NOW, None
        for steps in range(_MOST_STEPS):
            recorded = killed_after(url, ladder.id, steps, now)
            if recorded is not None:
                break
            assert list(store.log(ladder.id)) == []  # nothing of the batch is there: the commit had not come
            now += LEASE_S
            assert {receipt.match for receipt in store.expire(now)} == set(ids)
            assert store.verify(ladder.id) == []
            store.retry(ladder.id)
        assert recorded == ids
        assert [row.match for row in store.log(ladder.id)] == ids
        assert store.verify(ladder.id) == []


def test_what_was_committed_before_a_kill_is_not_taken_twice(url: str) -> None:
    """The worst moment: recorded, but nobody was told."""
    with open_store(url) as store:
        ladder = ladder_of(store, game=GAME)
        store.plan(ladder.id, [new(0, 1)] * 6, NOW)
        claims = store.claim("doomed", 6, LEASE_S, NOW)
        batch = [won(claim) for claim in claims]

        def work(line: Connection) -> None:
            with open_store(url) as theirs:
                theirs.finish(batch, NOW)
                line.send("done")
                line.recv()

        with process(work) as (pid, line):
            line.recv()
            os.kill(pid, signal.SIGKILL)
        assert {receipt.status for receipt in store.finish(batch, NOW)} == {"repeated"}
        assert len(list(store.log(ladder.id))) == 6
        assert store.verify(ladder.id) == []
