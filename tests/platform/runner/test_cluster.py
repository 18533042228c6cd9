"""A Ray cluster that others run: its nodes come and go, and it is joined by its address alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from rung.platform.runner import ClusterGone, Done, cluster, open_runner
from tests.platform.runner.conftest import Nodes, collect, let_go, numbers, playing, tasks, until, waiting


def test_nodes_come_and_go(nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that joins is used; one that is killed costs the match it was playing and nothing else. Without its head the
    cluster is gone, and what was under way is given back."""
    monkeypatch.setattr(cluster, "_GONE_S", 1.0)
    with open_runner(nodes.address) as runner:
        assert runner.cores == 1
        runner.submit(waiting(3, tmp_path))
        (first,) = playing(tmp_path, 1, runner)
        nodes.add()
        _, second = sorted(playing(tmp_path, 2, runner), key=lambda pid: pid != first)
        assert runner.cores == 2
        nodes.kill()
        (lost,) = collect(runner, 1)
        assert lost.worker.endswith(f"/{second}")
        assert lost.lost
        until(lambda: runner.cores == 1, lambda: runner.collect(0.1))
        let_go(tmp_path)
        assert numbers([lost, *collect(runner, 2)]) == [0, 1, 2]
        nodes.kill()
        done: list[Done] = []
        given = tasks(10, first=10)
        runner.submit(given)
        with pytest.raises(ClusterGone, match="has not answered"):
            until(lambda: False, meanwhile=lambda: done.extend(runner.collect(1.0)))
        done += runner.collect(0.0)
        assert sorted(numbers(done) + numbers(runner.stop(now=True))) == numbers(given)
