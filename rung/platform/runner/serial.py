"""The serial runner: matches one after the other in this process. Whatever kills a match kills the driver too."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rung.platform.runner import Done, Task, WorkerState
from rung.platform.runner.book import Book
from rung.platform.runner.work import Reports, play_one


class SerialRunner:
    """Plays while it is asked to collect."""

    cores = 1

    def __init__(self) -> None:
        self._book = Book(largest=1)
        self._host, self._pid = socket.gethostname(), os.getpid()

    def submit(self, tasks: Sequence[Task]) -> None:
        self._book.add(tasks)

    def room(self) -> int:
        return self._book.room(self.cores)

    def collect(self, timeout_s: float) -> list[Done]:
        deadline = time.monotonic() + timeout_s
        while self._book.waiting:
            self._play_next()
            if time.monotonic() >= deadline:
                break
        return self._book.take()

    def _play_next(self) -> None:
        """One match. Interrupted in it, the task is under way and given back by `stop`."""
        handed = self._book.next_batch(self.cores, core_free=True, now=time.monotonic())
        if handed is None:
            return
        self._book.hear(handed.number, Reports(self._host, self._pid, ()), time.monotonic())
        report = play_one(0, handed.batch.specs[0])
        self._book.hear(handed.number, Reports(self._host, self._pid, (report,)), time.monotonic())
        self._book.end(handed.number)

    def busy(self) -> float:
        return self._book.busy(self.cores, time.monotonic())

    def workers(self) -> list[WorkerState]:
        return self._book.workers(time.monotonic())

    def stop(self, now: bool) -> list[Task]:
        self._book.stopping = True
        return self._book.give_back_all() if now else self._book.give_back()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(now=True)
