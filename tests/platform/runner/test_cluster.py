"""A Ray cluster that others run: its nodes come and go, and it is joined by its address alone."""

from __future__ import annotations

from pathlib import Path

from rung.platform.runner import open_runner
from tests.platform.runner.conftest import Nodes, collect, let_go, numbers, playing, until, waiting


def test_nodes_come_and_go(nodes: Nodes, tmp_path: Path) -> None:
    """A node that joins is used; one that is killed costs the match it was playing and nothing else."""
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
