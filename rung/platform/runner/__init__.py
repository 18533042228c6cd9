"""Runners: whoever plays the matches, in this process, in processes of this machine, or on a Ray cluster.

A runner is handed tasks and hands back what became of each: a result, or why the platform lost it. It keeps no state worth
saving; whoever drives it decides what counts and what is played again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from rung.errors import UserError
from rung.platform.match import MatchResult, MatchSpec

SERIAL, POOL, LOCAL = "serial", "pool", "local"
_KNOWN = "serial (in this process), pool (processes), local (Ray on this machine) or host:port (a Ray cluster)"


@dataclass(frozen=True)
class Task:
    """A match to be played, as its claim names it."""

    match: int
    fence: int
    spec: MatchSpec
    expected_s: float
    """How long it may take, as far as the driver knows: what runners have measured counts for more."""


@dataclass(frozen=True)
class Done:
    """What became of a task: a result, or why the platform lost it."""

    task: Task
    result: MatchResult | None
    lost: str
    """Why there is no result; empty when there is one."""
    worker: str
    """Who played it; empty when nobody did."""
    seconds: float
    """How long it was played, compiling not counted."""
    alone: bool
    """Whether no other match was under way beside it on its worker: then what killed the worker may have been this one."""


@dataclass(frozen=True)
class WorkerState:
    """A process that plays, as last heard of."""

    name: str
    """Unique: host/process id."""
    host: str
    busy: bool
    seen_s: float
    """Seconds since it was last heard of."""


class ClusterGone(UserError):
    """The Ray cluster no longer answers. Nothing more will come from this runner."""


class Runner(Protocol):
    """Plays tasks side by side. One thread drives it; as a context manager it stops at once at the end of the block.

    Ctrl-C reaches no worker. A driver that wants to go on after it handles the signal: once a `KeyboardInterrupt` has come
    out of a call, only leaving the block is safe.
    """

    @property
    def cores(self) -> int:
        """How many matches it can play at a time now. Nodes join and leave."""

    def submit(self, tasks: Sequence[Task]) -> None:
        """Take these on. None is played twice; each comes back from `collect` or from `stop`."""

    def room(self) -> int:
        """How many more tasks it wants now, to keep every core busy until the next call a moment later."""

    def collect(self, timeout_s: float) -> list[Done]:
        """What has become of tasks. Waits this long for at least one, unless none is left to wait for."""

    def busy(self) -> float:
        """The share of its cores' time of the last seconds that was spent inside matches."""

    def workers(self) -> list[WorkerState]:
        """The processes heard of lately."""

    def stop(self, now: bool) -> list[Task]:
        """Begin no more matches; the tasks this gives back were not played.

        Not `now`: what has begun goes on and comes from `collect`. `now`: that is ended and given back too, nothing is left
        running, and `collect` only hands out what had arrived.
        """

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def open_runner(address: str, workers: int | None = None) -> Runner:
    """The runner at this address, with at most this many matches at a time: by default one a core.

    The address is what is given here, never what the environment says.
    """
    if workers is not None and workers < 1:
        raise UserError(f"A runner needs at least one worker, not {workers}.")
    if address in {POOL, LOCAL}:
        from rung.platform.runner.work import memory_limit

        memory_limit()
    if address == SERIAL:
        from rung.platform.runner.serial import SerialRunner

        return SerialRunner()
    if address == POOL:
        from rung.platform.runner.pool import PoolRunner

        return PoolRunner(workers)
    if address == LOCAL:
        from rung.platform.runner.local import local_runner

        return local_runner(workers)
    if address.startswith("ray://"):
        raise UserError(
            f"A ladder outlives a Ray client's connection, so {address} does not do; run it on a machine of the cluster"
            " with --address host:port, the port being that of `ray start --head` (6379 unless told otherwise)."
        )
    host, colon, port = address.rpartition(":")
    if not (host and colon and port.isdigit() and 0 < int(port) < 65536):
        raise UserError(f"{address!r} is no address of a runner; give {_KNOWN}.")
    from rung.platform.runner.cluster import join_cluster

    return join_cluster(host, int(port), workers)
