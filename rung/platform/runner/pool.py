"""The pool: worker processes on this machine, each on a pipe."""

from __future__ import annotations

import atexit
import multiprocessing
import signal
import threading
import time
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from queue import SimpleQueue

from rung.errors import UserError
from rung.platform.runner.desk import Desk
from rung.platform.runner.processes import cores_here, end_myself, end_tree
from rung.platform.runner.work import Batch, Reports, become_worker, play_batch

_AHEAD = 2
"""Batches at a worker: one that it plays and one behind it, so that it need not wait for the driver."""
_FALSE_STARTS = 3

_spawn = multiprocessing.get_context("spawn")

Message = tuple[int, Reports | None]
"""Of a batch, by number; without reports: it is through."""


class PoolRunner(Desk):
    """Processes, replaced when they die."""

    def __init__(self, workers: int | None) -> None:
        super().__init__()
        self._wanted = workers or cores_here()
        self._false_starts = 0
        atexit.register(self._end)
        self._workers = [_Worker() for _ in range(self._wanted)]

    @property
    def cores(self) -> int:
        return self._wanted

    def _hand_out(self) -> None:
        for held in range(_AHEAD):
            for worker in self._workers:
                if len(worker.batches) != held:
                    continue
                handed = self._book.next_batch(self.cores, core_free=held == 0, now=time.monotonic())
                if handed is None:
                    return
                worker.give(handed.number, handed.batch)

    def _listen(self, timeout_s: float) -> None:
        wait([worker.pipe for worker in self._workers], timeout_s)
        for worker in list(self._workers):
            dead = worker.process.exitcode is not None
            try:
                while worker.pipe.poll():
                    self._enter(worker, worker.pipe.recv())
            except (EOFError, OSError):
                dead = True
            if dead:
                self._replace(worker)

    def _enter(self, worker: _Worker, message: Message) -> None:
        number, reports = message
        worker.started = True
        self._false_starts = 0
        if reports:
            self._book.hear(number, reports, time.monotonic())
        else:
            worker.batches.remove(number)
            self._book.end(number)

    def _replace(self, worker: _Worker) -> None:
        why = worker.close()
        self._workers.remove(worker)
        if not worker.started and not worker.killed:
            self._false_starts += 1
        if self._false_starts == _FALSE_STARTS:
            raise UserError(f"The workers of the pool end before they play: {why}; see what they say above.")
        for number in reversed(worker.batches):
            self._book.lose(number, why)
        self._workers.append(_Worker())

    def _end(self) -> None:
        atexit.unregister(self._end)
        for worker in self._workers:
            if worker.process.pid is not None:
                end_tree(worker.process.pid)
        for worker in self._workers:
            worker.close()
        self._workers = []


class _Worker:
    """A worker as its driver sees it."""

    def __init__(self) -> None:
        self.pipe, theirs = _spawn.Pipe()
        self.process: SpawnProcess = _spawn.Process(target=_serve, args=(theirs,), name="rung worker")
        self.process.start()
        theirs.close()
        self.batches: list[int] = []
        self.started = False

    def give(self, number: int, batch: Batch) -> None:
        self.batches.append(number)
        try:
            self.pipe.send((number, batch))
        except OSError:
            return  # it is dead, which the next listening finds

    def close(self) -> str:
        """Wait for its end; how it ended."""
        self.pipe.close()
        self.process.join()
        code = self.process.exitcode or 0
        if self.killed:
            return f"worker process {self.process.pid} was ended by {signal.Signals(-code).name}"
        return f"worker process {self.process.pid} ended by itself with exit code {code}"

    @property
    def killed(self) -> bool:
        """Whether a signal ended it."""
        return (self.process.exitcode or 0) < 0


def _serve(pipe: Connection) -> None:
    """A worker's whole life. Ctrl-C is the driver's business; a driver that is gone is the end, in mid-match too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    become_worker()
    inbox: SimpleQueue[tuple[int, Batch]] = SimpleQueue()
    threading.Thread(target=_receive, args=(pipe, inbox), daemon=True).start()
    while True:
        number, batch = inbox.get()
        for reports in play_batch(batch):
            pipe.send((number, reports))
        pipe.send((number, None))


def _receive(pipe: Connection, inbox: SimpleQueue[tuple[int, Batch]]) -> None:
    """Empties the pipe at once, so that the driver never waits for a worker that plays; and sees the driver's end."""
    while True:
        try:
            inbox.put(pipe.recv())
        except (EOFError, OSError):
            end_myself()
