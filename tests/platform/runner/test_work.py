"""What a worker makes of a batch."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import rung
from rung.platform.match import Clock, Forfeit, MatchSpec, play
from rung.platform.runner import work
from rung.platform.runner.work import Batch, Report, play_batch, play_one
from tests.platform.runner.conftest import until

OVER_ITS_CLOCK = MatchSpec("connect_four", ("mcts(iterations=20000)", "first"), 0, 0, Clock(1e-6))


@pytest.fixture(autouse=True)
def no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' own process keeps its threads and its memory."""
    monkeypatch.setattr(work, "become_worker", lambda: None)


def batch(number: int, expected_s: float, version: str = rung.__version__) -> Batch:
    specs = tuple(MatchSpec("connect_four", ("random", "random"), match, match) for match in range(number))
    return Batch(version, specs, (expected_s,) * number)


def reports(given: Batch) -> list[list[Report]]:
    return [list(reports.reports) for reports in play_batch(given)]


def test_the_first_word_is_that_it_has_begun() -> None:
    assert [[report.at for report in some] for some in reports(batch(3, 1.0))] == [[], [0], [1], [2]]


def test_short_matches_are_reported_together() -> None:
    """Many to a report, in order, none left out."""
    some = reports(batch(200, 1e-6))
    assert [report.at for one in some for report in one] == list(range(200))
    assert len(some) < 100


def test_a_batch_that_takes_too_long_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "BATCH_S", 1e-9)
    assert [[report.at for report in some] for some in reports(batch(3, 0.0))] == [[], [0]]


def test_another_version_plays_nothing() -> None:
    """Results of different sources would not be of one ladder."""
    (_, some) = reports(batch(2, 0.0, version="0.0.1"))
    assert all(report.result is None and "0.0.1" in report.lost and rung.__version__ in report.lost for report in some)


def test_a_clock_that_ran_out_by_our_own_lag_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Excused is what the worker waited for a core, and no more."""
    monkeypatch.setattr(work, "_waited_s", iter([1.0, 1.0, 1.0, 1000.0]).__next__)
    fault, excused = play_one(0, OVER_ITS_CLOCK), play_one(0, OVER_ITS_CLOCK)
    assert fault.result
    assert isinstance(fault.result.ending, Forfeit)
    assert excused.result is None
    assert "999.000 s for a core" in excused.lost


def test_how_far_over_a_clock_is_known() -> None:
    """And nothing else is ever excused."""
    assert 0 < work.over_s(play(OVER_ITS_CLOCK)) < 60
    assert work.over_s(play(MatchSpec("connect_four", ("first", "first"), 0, 0, Clock(60.0)))) == float("inf")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts how long a thread waits for a core")
def test_waiting_for_a_core_is_counted() -> None:
    """Two that want one core make each other wait."""
    cores = os.sched_getaffinity(0)
    spinning = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        for process in (0, spinning.pid):
            os.sched_setaffinity(process, {min(cores)})
        before = work._waited_s()
        until(lambda: work._waited_s() > before + 0.05, meanwhile=lambda: sum(range(100_000)))
    finally:
        os.sched_setaffinity(0, cores)
        spinning.kill()
        spinning.wait()
