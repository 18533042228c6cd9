"""The books of a runner: what waits, what is under way, what has come back. Decides what makes a batch; does nothing else."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

import rung
from rung.platform.runner import Done, Task, WorkerState
from rung.platform.runner.work import BATCH_S, Batch, Report, Reports

LARGEST_BATCH = 250
_LONG_S = 1.0
"""A batch longer than this is never handed out before a core is free for it."""
_WINDOW_S = 10.0
"""What `busy` looks back over."""
_FORGET_S = 60.0
"""A worker not heard of for this long is no longer shown."""
_TOLERANCE = 1.001
"""Sums of durations are not exact."""
_KEYS = 50_000
_LEARN = 0.3

Key = tuple[str, tuple[str, ...]]


class Durations:
    """How long matches take, learned for each game and field of agents."""

    def __init__(self) -> None:
        self._learned: OrderedDict[Key, float] = OrderedDict()
        self.typical_s: float | None = None
        """Of the last matches of all kinds."""

    def of(self, task: Task) -> float:
        learned = self._learned.get(_key(task))
        return max(task.expected_s, 0.0) if learned is None else learned

    def learn(self, task: Task, seconds: float) -> None:
        key = _key(task)
        self._learned[key] = _mixed(self._learned.get(key), seconds, _LEARN)
        self._learned.move_to_end(key)
        if len(self._learned) > _KEYS:
            self._learned.popitem(last=False)
        self.typical_s = _mixed(self.typical_s, seconds, _LEARN / 10)


def _key(task: Task) -> Key:
    return task.spec.game, tuple(sorted(task.spec.agents))


def _mixed(before: float | None, new: float, weight: float) -> float:
    return new if before is None else (1 - weight) * before + weight * new


@dataclass
class Underway:
    """A batch that was handed out."""

    number: int
    batch: Batch
    open: dict[int, Task]
    """By place in the batch: those not reported yet."""
    alone: bool
    worker: str = ""
    """Who plays it; empty until somebody has begun."""
    heard: float = 0.0


@dataclass
class _Heard:
    host: str
    at: float
    batch: int | None


@dataclass
class Book:
    """Every task is in one place: waiting, in a batch under way, or in what is ready to be collected."""

    waiting: deque[Task] = field(default_factory=deque)
    underway: dict[int, Underway] = field(default_factory=dict)
    ready: list[Done] = field(default_factory=list)
    stopping: bool = False
    largest: int = LARGEST_BATCH
    durations: Durations = field(default_factory=Durations)
    _numbers: count[int] = field(default_factory=count)
    _lost: OrderedDict[int, None] = field(default_factory=OrderedDict)
    _returned: set[int] = field(default_factory=set)
    _heard: dict[str, _Heard] = field(default_factory=dict)
    _played: deque[tuple[float, float]] = field(default_factory=deque)
    _began: float | None = None

    def add(self, tasks: Sequence[Task]) -> None:
        if self.stopping:
            raise RuntimeError("a runner that was stopped takes no more tasks")
        self.waiting.extend(tasks)

    def room(self, cores: int) -> int:
        """Two batches a core: one that is played and one that waits behind it."""
        typical_s = self.durations.typical_s
        size = 1 if not typical_s else max(1, min(LARGEST_BATCH, round(BATCH_S / typical_s)))
        held = len(self.waiting) + sum(len(batch.open) for batch in self.underway.values())
        return 0 if self.stopping else max(0, 2 * size * cores - held)

    def next_batch(self, cores: int, core_free: bool, now: float) -> Underway | None:
        """The next batch to hand out, if there should be one. Behind a busy core only short ones wait."""
        if not self.waiting or (not core_free and self.durations.of(self.waiting[0]) > _LONG_S):
            return None
        tasks = self._cut(self._fair_s(cores))
        expected_s = tuple(self.durations.of(task) for task in tasks)
        batch = Batch(rung.__version__, tuple(task.spec for task in tasks), expected_s)
        handed = Underway(next(self._numbers), batch, dict(enumerate(tasks)), len(tasks) == 1, heard=now)
        self.underway[handed.number] = handed
        self._began = now if self._began is None else self._began
        return handed

    def _fair_s(self, cores: int) -> float:
        """What a batch should take: less when what waits would not give every core that much."""
        total_s = 0.0
        for task in self.waiting:
            total_s += self.durations.of(task)
            if total_s >= BATCH_S * cores:
                return BATCH_S
        return total_s / max(cores, 1)

    def _cut(self, aim_s: float) -> list[Task]:
        """Tasks from the front that take about this long. One whose worker died before goes alone."""
        tasks = [self.waiting.popleft()]
        total_s = self.durations.of(tasks[0])
        if tasks[0].match in self._lost:
            return tasks
        while self.waiting and len(tasks) < self.largest and self.waiting[0].match not in self._lost:
            next_s = self.durations.of(self.waiting[0])
            if total_s + next_s > _TOLERANCE * aim_s:
                break
            tasks.append(self.waiting.popleft())
            total_s += next_s
        return tasks

    def hear(self, number: int, reports: Reports, now: float) -> None:
        """A worker has begun the batch, or reports of matches in it."""
        handed = self.underway[number]
        handed.worker, handed.heard = f"{reports.host}/{reports.pid}", now
        self._heard[handed.worker] = _Heard(reports.host, now, number)
        for report in reports.reports:
            self._settle(handed, report)
        if not handed.open:
            self._rest(handed)
        if reports.reports:
            self._played.append((now, sum(report.seconds for report in reports.reports)))

    def _settle(self, handed: Underway, report: Report) -> None:
        task = handed.open.pop(report.at)
        self._returned.discard(task.match)
        if report.result:
            self.durations.learn(task, report.seconds)
            self._lost.pop(task.match, None)
        self.ready.append(Done(task, report.result, report.lost, handed.worker, report.seconds, handed.alone))

    def end(self, number: int) -> None:
        """The worker is through with the batch; what it left out waits again."""
        handed = self.underway.pop(number)
        self._rest(handed)
        if self.stopping:
            self._give_up(handed, "the runner was stopped before it was played")
        else:
            self.waiting.extendleft(reversed(handed.open.values()))

    def lose(self, number: int, why: str) -> None:
        """The worker is gone: what it had begun is lost. What it had not waits again, the first time."""
        handed = self.underway.pop(number)
        self._heard.pop(handed.worker, None)
        if not handed.worker and not self.stopping:
            again = {at: task for at, task in handed.open.items() if task.match not in self._returned}
            self.waiting.extendleft(reversed(again.values()))
            self._returned.update(task.match for task in again.values())
            for at in again:
                del handed.open[at]
        for task in handed.open.values():
            self._lost[task.match] = None
        while len(self._lost) > _KEYS:
            self._lost.popitem(last=False)
        self._give_up(handed, why)

    def _give_up(self, handed: Underway, why: str) -> None:
        for task in handed.open.values():
            self._returned.discard(task.match)
            self.ready.append(Done(task, None, why, handed.worker, 0.0, handed.alone))

    def _rest(self, handed: Underway) -> None:
        heard = self._heard.get(handed.worker)
        if heard and heard.batch == handed.number:
            heard.batch = None

    def gone(self, worker: str) -> None:
        """Show this worker no more."""
        self._heard.pop(worker, None)

    def take(self) -> list[Done]:
        """What is ready, to be handed on."""
        ready, self.ready = self.ready, []
        return ready

    def give_back(self) -> list[Task]:
        """All that waits."""
        waiting = list(self.waiting)
        self.waiting.clear()
        return waiting

    def give_back_all(self) -> list[Task]:
        """All that waits or is under way."""
        open_tasks = [task for handed in self.underway.values() for task in handed.open.values()]
        self.underway.clear()
        self._heard.clear()
        return open_tasks + self.give_back()

    def busy(self, cores: int, now: float) -> float:
        """Matches that are under way count up to now."""
        since = max(now - _WINDOW_S, now if self._began is None else self._began)
        while self._played and self._played[0][0] < since:
            self._played.popleft()
        spans = [(at - seconds, at) for at, seconds in self._played]
        spans += [(handed.heard, now) for handed in self.underway.values() if handed.worker]
        inside_s = sum(max(0.0, end - max(start, since)) for start, end in spans)
        return min(1.0, inside_s / (cores * (now - since))) if cores and now > since else 0.0

    def workers(self, now: float) -> list[WorkerState]:
        for name in [name for name, heard in self._heard.items() if heard.batch is None and now - heard.at > _FORGET_S]:
            del self._heard[name]
        return [
            WorkerState(name, heard.host, heard.batch is not None, now - heard.at)
            for name, heard in sorted(self._heard.items())
        ]
