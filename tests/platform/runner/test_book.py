"""The books of a runner: what makes a batch, how much is wanted, and that every task is in one place."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rung.platform.match import MatchResult, MatchSpec, Played
from rung.platform.runner import Task
from rung.platform.runner.book import LARGEST_BATCH, Book, Underway
from rung.platform.runner.work import BATCH_S, Report, Reports
from tests.platform.runner.conftest import numbers

CORES = 2


def task(match: int, expected_s: float = 0.01, agents: tuple[str, str] = ("a", "b")) -> Task:
    return Task(match, 1, MatchSpec("game", agents, match, match), expected_s)


def result(one: Task) -> MatchResult:
    return MatchResult(one.spec, 1, Played(), (1.0, 0.0), (1.0, 0.0), (1, 2), (), ())


def hear(book: Book, handed: Underway, matches: int, seconds: float = 0.01, now: float = 1.0) -> None:
    """Its worker reports the first of those still open."""
    places = sorted(handed.open)[:matches]
    reports = tuple(Report(at, result(handed.open[at]), "", seconds) for at in places)
    book.hear(handed.number, Reports("host", 7, reports), now)


def next_batch(book: Book, core_free: bool = True, now: float = 0.0) -> Underway:
    handed = book.next_batch(CORES, core_free, now)
    assert handed
    return handed


def test_short_matches_go_together() -> None:
    """As many as make up a batch's time, by what is expected."""
    book = Book()
    book.add([task(match) for match in range(1000)])
    assert len(next_batch(book).open) == pytest.approx(BATCH_S / 0.01, abs=1)


def test_few_matches_are_shared_out() -> None:
    book = Book()
    book.add([task(match) for match in range(10)])
    assert [len(next_batch(book).open) for _ in range(2)] == [5, 2]


def test_long_matches_go_alone_and_wait_for_a_core() -> None:
    """So that a stop gives back all that no core has begun."""
    book = Book()
    book.add([task(match, 60.0) for match in range(3)])
    assert len(next_batch(book).open) == 1
    assert book.next_batch(CORES, core_free=False, now=0.0) is None
    assert next_batch(book).alone


def test_measured_durations_count_for_more_than_expected_ones() -> None:
    """Of the same game and agents, in whatever seats."""
    book = Book()
    book.add([task(0, 60.0)])
    hear(book, next_batch(book), 1, seconds=0.001)
    book.add([task(match, 60.0, ("b", "a")) for match in range(1, 1000)])
    assert len(next_batch(book).open) == LARGEST_BATCH


def test_room_is_two_batches_a_core() -> None:
    """Bounded, and as large as the matches are short."""
    book = Book()
    assert book.room(CORES) == 2 * CORES
    book.add([task(match) for match in range(5)])
    assert book.room(CORES) == 0
    hear(book, next_batch(book), 1, seconds=1e-6)
    assert book.room(CORES) == 2 * CORES * LARGEST_BATCH - 4
    assert book.room(0) == 0


def test_what_a_lost_batch_had_not_begun_is_not_lost() -> None:
    book = Book()
    book.add([task(match) for match in range(10)])
    handed = next_batch(book)
    book.lose(handed.number, "killed")
    assert book.take() == []
    assert numbers(list(book.waiting)) == list(range(10))
    assert [one.match for one in book.waiting] == list(range(10))


def test_what_is_lost_again_before_it_began_is_lost() -> None:
    """A node that can play nothing must not be tried for ever."""
    book = Book()
    book.add([task(0)])
    for _ in range(2):
        book.lose(next_batch(book).number, "nothing is installed there")
    (done,) = book.take()
    assert (done.lost, done.worker) == ("nothing is installed there", "")


def test_the_lost_go_alone_when_they_come_again() -> None:
    """So that whoever killed a worker takes nobody along twice; once played they are as any other."""
    book = Book()
    book.add([task(match) for match in range(10)])
    handed = next_batch(book)
    hear(book, handed, 2)
    book.lose(handed.number, "killed")
    done = book.take()
    assert [one.lost for one in done] == ["", "", "killed", "killed", "killed"]
    assert not any(one.alone for one in done)
    again = [replace(one.task, fence=2) for one in done if one.lost]
    book.give_back()
    book.add(again)
    for one in again:
        handed = next_batch(book)
        assert handed.alone
        assert numbers(list(handed.open.values())) == [one.match]
        hear(book, handed, 1)
    book.add([*again, *map(task, range(10, 20))])
    assert len(next_batch(book).open) > 1


def test_a_batch_cut_short_goes_on_elsewhere() -> None:
    book = Book()
    book.add([task(match) for match in range(4)])
    handed = next_batch(book)
    hear(book, handed, 1)
    book.end(handed.number)
    assert [one.match for one in book.waiting] == [1, 2, 3]


def test_busy_is_time_inside_matches() -> None:
    """Reported or still under way, of the last ten seconds."""
    book = Book()
    book.add([task(match, 2.0) for match in range(3)])
    first, second = next_batch(book, now=0.0), next_batch(book, now=0.0)
    hear(book, first, 0, now=0.0)
    hear(book, second, 0, now=0.0)
    assert book.busy(CORES, 0.0) == 0
    assert book.busy(CORES, 1.0) == 1
    hear(book, first, 1, seconds=2.0, now=2.0)
    book.end(first.number)
    assert book.busy(CORES, 4.0) == pytest.approx((2 + 4) / 8)
    assert book.busy(CORES, 30.0) == pytest.approx(1 / 2)
    assert book.busy(0, 30.0) == 0


def test_workers_not_heard_of_are_forgotten() -> None:
    book = Book()
    book.add([task(0)])
    handed = next_batch(book)
    hear(book, handed, 0, now=1.0)
    (state,) = book.workers(now=500.0)
    assert (state.name, state.host, state.busy, state.seen_s) == ("host/7", "host", True, 499.0)
    hear(book, handed, 1, now=500.0)
    assert not book.workers(now=501.0)[0].busy
    assert book.workers(now=600.0) == []


EVENTS = st.lists(st.sampled_from(["add", "hand", "begin", "report", "end", "lose", "stop"]), max_size=60)


@given(EVENTS, st.sampled_from([0.001, 0.2, 5.0]))
def test_every_task_comes_back_once(events: list[str], expected_s: float) -> None:
    """Whatever happens in whatever order: what is done, lost or given back is what was added."""
    book, added, back = Book(), 0, []
    for event in events:
        oldest = min(book.underway, default=None)
        if event == "add" and not book.stopping:
            book.add([task(added + extra, expected_s) for extra in range(5)])
            added += 5
        elif event == "hand":
            book.next_batch(CORES, core_free=True, now=0.0)
        elif event == "stop":
            book.stopping = True
            back += book.give_back()
        elif oldest is None:
            continue
        elif event in {"begin", "report"}:
            hear(book, book.underway[oldest], matches=2 * (event == "report"))
        else:
            book.end(oldest) if event == "end" else book.lose(oldest, "killed")
    back += book.give_back_all()
    assert sorted([one.task.match for one in book.take()] + [one.match for one in back]) == list(range(added))
