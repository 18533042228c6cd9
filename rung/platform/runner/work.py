"""What a worker does: play a batch of matches and report as it goes."""

from __future__ import annotations

import logging
import os
import re
import resource
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import psutil
import threadpoolctl

import rung
from rung.errors import UserError
from rung.platform.match import Forfeit, MatchResult, MatchSpec, play, prepare

log = logging.getLogger("rung.runner")

BATCH_S = 0.5
"""Work in a batch: long enough that handing it out costs nothing, short enough that few matches go with a worker."""
REPORT_S = 0.01
"""Matches shorter than this are reported together: a report costs a tenth of a millisecond."""
OVERTIME = 4.0
"""A batch that takes this many times as long as it should is cut short, and what is left of it handed out anew."""
MEMORY_SETTING = "RUNG_WORKER_MEMORY_MB"
_MEMORY_SHARE = 0.8
_LEAST_MEMORY, _LEAST_SETTING = 1 << 30, 400 << 20
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@dataclass(frozen=True)
class Batch:
    """Matches to play one after the other, as they travel to a worker."""

    version: str
    """Of the Rung that sends it; another one must not play it."""
    specs: tuple[MatchSpec, ...]
    expected_s: tuple[float, ...]
    """Of each match."""


@dataclass(frozen=True)
class Report:
    """What became of one match of the batch: a result or, if that is missing, why."""

    at: int
    result: MatchResult | None
    lost: str
    seconds: float


@dataclass(frozen=True)
class Reports:
    """What became of matches since the last time. The first of a batch is empty: it says who has begun to play."""

    host: str
    pid: int
    reports: tuple[Report, ...]


def play_batch(batch: Batch) -> Iterator[Reports]:
    """Play in order and report every few milliseconds, so that little is lost with a worker. What it says nothing of at
    the end was not played."""
    become_worker()
    host, pid = socket.gethostname(), os.getpid()
    yield Reports(host, pid, ())
    waiting: list[Report] = []
    reported = time.perf_counter()
    left_s = OVERTIME * max(BATCH_S, sum(batch.expected_s))
    for at, (spec, expected_s) in enumerate(zip(batch.specs, batch.expected_s, strict=True)):
        if waiting and time.perf_counter() - reported + expected_s >= REPORT_S:
            yield Reports(host, pid, tuple(waiting))
            waiting, reported = [], time.perf_counter()
        waiting.append(play_one(at, spec) if batch.version == rung.__version__ else _refused(at, batch.version))
        left_s -= waiting[-1].seconds
        if left_s < 0:
            break
    yield Reports(host, pid, tuple(waiting))


def _refused(at: int, version: str) -> Report:
    return Report(at, None, f"{socket.gethostname()} has Rung {rung.__version__}, and the driver {version}", 0.0)


def play_one(at: int, spec: MatchSpec) -> Report:
    """Play it. A spec that cannot be played here, a bug, and a clock that ran out by our own lag are no results."""
    began = time.perf_counter()
    try:
        _prepare_once(spec.game, tuple(sorted(set(spec.agents))), len(spec.agents))
        began = time.perf_counter()
        waited_s = _waited_s() if spec.clock else 0.0
        result = play(spec)
        seconds = time.perf_counter() - began
        lag_s = _waited_s() - waited_s if spec.clock else 0.0
    except UserError as error:
        return Report(at, None, str(error), time.perf_counter() - began)
    except Exception as error:
        log.exception("match %s failed", spec)
        return Report(at, None, f"{type(error).__name__}: {error}", time.perf_counter() - began)
    if over_s(result) < lag_s:
        return Report(at, None, f"its worker had to wait {lag_s:.3f} s for a core while a clock ran out", seconds)
    return Report(at, result, "", seconds)


@lru_cache(maxsize=4096)
def _prepare_once(game: str, agents: tuple[str, ...], seats: int) -> None:
    prepare(MatchSpec(game, tuple(agents[seat % len(agents)] for seat in range(seats)), 0, 0))


@lru_cache(maxsize=1)
def become_worker() -> None:
    """Make this process a good one among many: one thread, and no more than its share of the machine's memory."""
    for name in _ONE_THREAD:
        os.environ[name] = "1"
    threadpoolctl.threadpool_limits(1)
    _limit_memory()


def _limit_memory() -> None:
    """An agent that takes too much shall fail with a `MemoryError` of its own, before the machine is out of memory."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = memory_limit() if most == resource.RLIM_INFINITY else min(memory_limit(), most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, most))


def memory_limit() -> int:
    """Bytes that a worker may take: as the setting says, else a fair share of the machine."""
    setting = os.environ.get(MEMORY_SETTING)
    if setting is None:
        return max(_LEAST_MEMORY, int(_MEMORY_SHARE * psutil.virtual_memory().total / (psutil.cpu_count() or 1)))
    if not (setting.isdigit() and int(setting) << 20 >= _LEAST_SETTING):
        raise UserError(
            f"{MEMORY_SETTING} must be a number of megabytes of at least {_LEAST_SETTING >> 20}, not {setting!r}."
        )
    return int(setting) << 20


_OVER = re.compile(r"([0-9.]+) s over its clock")


def over_s(result: MatchResult) -> float:
    """By how much a seat forfeited on time; infinite when none did, since nothing excuses that."""
    if isinstance(result.ending, Forfeit) and result.ending.reason == "time":
        found = _OVER.match(result.ending.detail)
        if found:
            return float(found[1])
    return float("inf")


def _waited_s() -> float:
    """How long this thread has waited for a core since it began, as the kernel counts; 0 where it does not."""
    try:
        with open("/proc/thread-self/schedstat") as counters:
            return int(counters.read().split()[1]) / 1e9
    except OSError:
        return 0.0
