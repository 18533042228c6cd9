"""Stopping, softly or at once, leaves no task behind and no process."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from rung.errors import UserError
from rung.platform.runner import Done, open_runner
from tests.platform.runner.conftest import collect, let_go, numbers, playing, tasks, until, waiting


@pytest.mark.parametrize("address", ["serial", "pool"])
def test_stopping_softly_ends_what_has_begun(address: str, outsiders: Path, tmp_path: Path) -> None:
    """What has begun comes from `collect`, all else is given back, and nothing more is taken."""
    given = waiting(5, tmp_path)
    with open_runner(address, workers=2) as runner:
        runner.submit(given)
        begun = 0 if address == "serial" else len(playing(tmp_path, 2, runner))
        back = runner.stop(now=False)
        assert runner.room() == 0
        let_go(tmp_path)
        done = collect(runner, begun)
        assert all(one.result for one in done)
        assert numbers(done) + numbers(back) == [0, 1, 2, 3, 4]
        assert runner.collect(10.0) == []
        with pytest.raises(RuntimeError, match="no more"):
            runner.submit(given)


@pytest.mark.parametrize("address", ["pool", "local"])
def test_stopping_now_gives_all_back(address: str, outsiders: Path, tmp_path: Path) -> None:
    """Softly first, what has not begun is given back; then what was under way, and its workers are gone."""
    runner = open_runner(address, workers=2)
    runner.submit([*tasks(3), *waiting(3, tmp_path, first=3)])
    done: list[Done] = []
    until(lambda: len(done) == 3, lambda: done.extend(runner.collect(0.05)))
    pids = playing(tmp_path, 2, runner)
    soft = runner.stop(now=False)
    assert numbers(soft) == [5]
    assert numbers(runner.stop(now=True)) == [3, 4]
    assert runner.collect(10.0) == []
    assert runner.stop(now=True) == []
    until(lambda: not any(psutil.pid_exists(pid) for pid in pids))  # Ray's node ends its workers as it goes


def test_no_workers_is_a_mistake() -> None:
    with pytest.raises(UserError, match="at least one worker"):
        open_runner("pool", workers=0)


def test_ray_ends_who_takes_too_much_of_the_machine(outsiders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory monitor of a node costs the match, not the node, and the loss says so."""
    memory = psutil.virtual_memory()
    monkeypatch.setenv("RUNG_WORKER_MEMORY_MB", "8000")
    monkeypatch.setenv(
        "RAY_memory_usage_threshold", f"{(memory.total - memory.available + (800 << 20)) / memory.total:.3f}"
    )
    monkeypatch.setenv("RAY_memory_monitor_refresh_ms", "50")
    with open_runner("local", workers=1) as runner:
        runner.submit(tasks(1, ("first", "eats")))
        (done,) = collect(runner, 1)
    assert "memory" in done.lost
    assert done.alone
