"""What the runners with workers elsewhere share: the books, and driving them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from rung.errors import UserError
from rung.platform.runner import Done, Task, WorkerState
from rung.platform.runner.book import Book


class Desk(ABC):
    """A runner whose matches are played by others. What it has of them is `_hand_out`, `_listen` and `_end`."""

    def __init__(self) -> None:
        self._book = Book()
        self._ended = False

    @property
    @abstractmethod
    def cores(self) -> int: ...

    @abstractmethod
    def _hand_out(self) -> None:
        """Start as many batches as should be under way."""

    @abstractmethod
    def _listen(self, timeout_s: float) -> None:
        """Enter into the books all that has come; wait this long for something."""

    @abstractmethod
    def _end(self) -> None:
        """End every worker. Nothing of this runner is left running."""

    def submit(self, tasks: Sequence[Task]) -> None:
        self._book.add(tasks)
        self._hand_out()

    def room(self) -> int:
        return self._book.room(self.cores)

    def collect(self, timeout_s: float) -> list[Done]:
        deadline = time.monotonic() + timeout_s
        left_s = timeout_s
        while not self._ended and (self._book.underway or self._book.waiting):
            self._listen(0.0 if self._book.ready else max(0.0, left_s))
            self._hand_out()
            left_s = deadline - time.monotonic()
            if self._book.ready or left_s <= 0:
                break
        return self._book.take()

    def busy(self) -> float:
        return self._book.busy(self.cores, time.monotonic())

    def workers(self) -> list[WorkerState]:
        return self._book.workers(time.monotonic())

    def stop(self, now: bool) -> list[Task]:
        self._book.stopping = True
        if not now:
            return self._book.give_back()
        if not self._ended:
            with suppress(UserError):  # whatever keeps it from playing on does not keep it from ending
                self._listen(0.0)
            self._close()
        return self._book.give_back_all()

    def _close(self) -> None:
        self._book.stopping = self._ended = True
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._ended:
            self._close()
