"""Every runner plays the same matches, loses only what dies, and stops as it was told."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from rung.platform.match import Clock, Forfeit, MatchSpec
from rung.platform.runner import Done, Runner, Task, open_runner
from rung.platform.runner.book import LARGEST_BATCH
from tests.platform.runner.conftest import collect, let_go, numbers, playing, tasks, until, waiting

MIXED = [("random", "first"), ("mcts(iterations=20)", "random"), ("osla", "mcts(iterations=10)")]


def mixed(number: int) -> list[Task]:
    return [
        Task(match, 1, MatchSpec("connect_four", MIXED[match % len(MIXED)], match, match), 0.05)
        for match in range(number)
    ]


def test_same_results_everywhere(runner: Runner) -> None:
    """The same tasks give the same matches on every runner, each once."""
    given = mixed(60)
    with open_runner("serial") as serial:
        serial.submit(given)
        expected = {done.task.match: done.result for done in collect(serial, len(given))}
    runner.submit(given)
    done = collect(runner, len(given))
    assert numbers(done) == list(range(len(given)))
    for one in done:
        right = expected[one.task.match]
        assert one.result
        assert right
        assert not one.lost
        assert one.seconds > 0
        assert (one.result.moves, one.result.payoffs, one.result.ranks, one.result.scores) == (
            right.moves,
            right.payoffs,
            right.ranks,
            right.scores,
        )
    assert runner.collect(0.0) == []


def test_a_killed_worker_loses_what_it_played(runner: Runner, tmp_path: Path) -> None:
    """kill -9 of one of two workers: its match is lost, the other's is not, and the runner goes on with two workers."""
    runner.submit(waiting(2, tmp_path))
    first, _ = playing(tmp_path, 2, runner)
    os.kill(first, signal.SIGKILL)
    (lost,) = collect(runner, 1)
    assert lost.result is None
    assert lost.lost
    assert lost.alone
    assert lost.worker.endswith(f"/{first}")
    runner.submit(waiting(1, tmp_path, first=10))
    assert len(playing(tmp_path, 3, runner)) == 3
    let_go(tmp_path)
    assert numbers(collect(runner, 2)) == sorted([1 - lost.task.match, 10])


def test_a_killed_batch_loses_what_it_had_not_reported(runner: Runner, tmp_path: Path) -> None:
    """Matches before the one at which a worker dies are done, that one and those behind it are lost, those not begun are
    played by others; and played again, each of the lost goes alone."""
    runner.submit(
        [
            *tasks(5),
            *waiting(1, tmp_path, 5, 0.01),
            *tasks(5, first=6),
            *waiting(1, tmp_path, 11, 0.01),
            *tasks(5, first=12),
        ]
    )
    done: list[Done] = []
    until(lambda: len(list(tmp_path.iterdir())) == 2, lambda: done.extend(runner.collect(0.05)))
    for worker in list(tmp_path.iterdir()):
        os.kill(int(worker.name), signal.SIGKILL)
    done += collect(runner, 17 - len(done))
    assert numbers(done) == list(range(17))
    lost = [one for one in done if one.lost]
    died_at = {one.worker: one.task.match for one in lost if one.task.match in {5, 11}}
    assert len(died_at) == 2
    for one in done:
        assert (one.result is None) == bool(one.lost)
        if one.worker in died_at:
            assert bool(one.lost) == (one.task.match >= died_at[one.worker])
    let_go(tmp_path)
    runner.submit([one.task for one in lost])
    assert all(one.result and one.alone for one in collect(runner, len(lost)))


@pytest.mark.parametrize("agent", ["exits", "segfaults"])
def test_agents_that_kill_their_worker(runner: Runner, agent: str) -> None:
    """Their own match never counts, and costs the others of the batch no more than being played again."""
    left = [*tasks(10), *tasks(1, (agent, "first"), first=10), *tasks(10, first=11)]
    runner.submit(left)
    got: set[int] = set()
    blamed = 0
    while len(got) < 20 or not blamed:
        for one in runner.collect(1.0):
            if one.result:
                got.add(one.task.match)
            elif one.task.match == 10 and one.alone:
                blamed += 1
            else:
                runner.submit([one.task])
    assert got == set(range(21)) - {10}


def test_a_pool_tells_how_its_worker_ended(outsiders: Path) -> None:
    with open_runner("pool", workers=1) as pool:
        pool.submit(tasks(1, ("exits", "first")))
        assert "exit code 7" in collect(pool, 1)[0].lost
        pool.submit(tasks(1, ("segfaults", "first")))
        assert "SIGSEGV" in collect(pool, 1)[0].lost


def test_an_agent_that_eats_memory_forfeits(outsiders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker may take its share only, so that the agent fails before the machine does."""
    monkeypatch.setenv("RUNG_WORKER_MEMORY_MB", "600")
    with open_runner("pool", workers=1) as pool:
        pool.submit(tasks(1, ("first", "eats")))
        (done,) = collect(pool, 1)
    assert done.result
    assert isinstance(done.result.ending, Forfeit)
    assert (done.result.ending.seat, done.result.ending.reason) == (1, "memory")


def test_workers_compute_with_one_thread(runner: Runner) -> None:
    runner.submit(tasks(1, ("threads", "random")))
    (done,) = collect(runner, 1)
    assert done.result
    assert set(done.result.moves[0::2]) == {1}


def test_a_spec_that_cannot_be_played_says_why(runner: Runner) -> None:
    """One that names what is not there, or too few agents, does not count; the rest of its batch does."""
    wrong = Task(1, 1, MatchSpec("connect_four", ("nobody", "first"), 1, 1), 0.01)
    few = Task(2, 1, MatchSpec("connect_four", ("first",), 1, 1), 0.01)
    runner.submit([*tasks(1), wrong, few])
    by_match = {one.task.match: one for one in collect(runner, 3)}
    assert by_match[0].result
    assert "nobody" in by_match[1].lost
    assert "2 in number" in by_match[2].lost


def test_clocks_are_kept(runner: Runner) -> None:
    """A clock that runs out is the agent's own fault when its worker had a core, and nobody's when it had none."""
    spec = MatchSpec("connect_four", ("mcts(iterations=200000)", "first"), 0, 0, Clock(0.05))
    runner.submit([Task(0, 1, spec, 0.1)])
    (done,) = collect(runner, 1)
    assert done.result
    assert isinstance(done.result.ending, Forfeit)
    assert done.result.ending.reason == "time"


def test_workers_and_room(runner: Runner, tmp_path: Path) -> None:
    """Workers that play are shown as busy, and no more is asked for than two batches a core."""
    assert runner.cores == 2
    given = waiting(4, tmp_path)
    runner.submit(given)
    pids = playing(tmp_path, 2, runner)
    busy = {state.name: state for state in runner.workers() if state.busy}
    assert sorted(int(name.split("/")[1]) for name in busy) == sorted(pids)
    assert runner.room() <= 2 * runner.cores * LARGEST_BATCH
    assert 0 < runner.busy() <= 1
    let_go(tmp_path)
    collect(runner, 4)
    assert not any(state.busy for state in runner.workers())
