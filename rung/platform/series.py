"""A series: the same agents meet again and again. Which matches to play, playing them, and what they add up to."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import permutations
from math import sqrt

from rung.errors import UserError
from rung.games.rng import derive
from rung.platform.match import Clock, Forfeit, MatchResult, MatchSpec, Void, play, prepare

_ALL_SEATINGS_UP_TO = 3
"""Seats; with more, agents move round the table instead of taking every order."""
_BATCH_S = 0.25
"""How long a batch should take: many short matches, or a single long one."""
_LARGEST_BATCH = 250
_AHEAD = 3
"""Batches waiting for each worker: enough to keep it busy, few enough to forget on Ctrl-C."""


class WorkerDied(Exception):
    """A worker process was killed; what it was playing is lost, what was played before is not."""


@dataclass(frozen=True)
class Planned:
    """One match of a series."""

    spec: MatchSpec
    group: int
    """Matches of one group share their deal and make one observation."""
    seating: tuple[int, ...]
    """The entrant in each seat."""


def seatings(seats: int) -> list[tuple[int, ...]]:
    """The seatings of one paired group: every order of up to three entrants, else everybody in every seat once."""
    if seats <= _ALL_SEATINGS_UP_TO:
        return list(permutations(range(seats)))
    return [tuple((shift + seat) % seats for seat in range(seats)) for shift in range(seats)]


def plan(
    game: str, agents: Sequence[str], matches: int, seed: int, paired: bool = True, clock: Clock | None = None
) -> list[Planned]:
    """The matches of a series. Paired, the number is rounded up to whole groups; else each match has its own deal."""
    orders = seatings(len(agents))
    if paired:
        matches = -(-matches // len(orders)) * len(orders)
    planned = []
    for number in range(matches):
        group = number // len(orders) if paired else number
        seating = orders[number % len(orders)]
        seats = tuple(agents[entrant] for entrant in seating)
        spec = MatchSpec(game, seats, derive(seed, 0, group), derive(seed, 1, number), clock)
        planned.append(Planned(spec, group, seating))
    return planned


def play_series(planned: Sequence[Planned], workers: int) -> Iterator[MatchResult]:
    """The results in the planned order, each as soon as it and all before it are there."""
    if workers == 1 or len(planned) == 1:
        for match in planned:
            yield play(match.spec)
        return
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_become_worker)
    try:
        yield from _in_order(pool, planned, _AHEAD * workers)
    except BrokenProcessPool as error:
        raise WorkerDied from error
    finally:
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()
        # Waited for, or Python's own clean-up at the end may meet a pool that is half gone.
        pool.shutdown(wait=True, cancel_futures=True)


def _in_order(pool: ProcessPoolExecutor, planned: Sequence[Planned], ahead: int) -> Iterator[MatchResult]:
    waiting: deque[Future[tuple[list[MatchResult], float]]] = deque()
    at, size = 0, 1
    while at < len(planned) or waiting:
        while at < len(planned) and len(waiting) < ahead:
            waiting.append(pool.submit(_play_batch, [match.spec for match in planned[at : at + size]]))
            at += size
        results, took_s = waiting.popleft().result()
        yield from results
        size = _next_size(len(results), took_s)


def _next_size(matches: int, took_s: float) -> int:
    """How many matches the next batch should have, after one of this many that took so long."""
    wanted = int(matches * _BATCH_S / max(took_s, 1e-9))
    return max(1, min(wanted, 2 * matches, _LARGEST_BATCH))


def _play_batch(specs: list[MatchSpec]) -> tuple[list[MatchResult], float]:
    """The results, and how long they took."""
    _prepare_once(specs[0].game, tuple(sorted(specs[0].agents)))
    began = time.perf_counter()
    return [play(spec) for spec in specs], time.perf_counter() - began


@lru_cache
def _prepare_once(game: str, agents: tuple[str, ...]) -> None:
    prepare(MatchSpec(game, agents, 0, 0))


def _become_worker() -> None:
    """Ctrl-C reaches every process of the terminal; a worker just goes, the parent says what there is to say."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


# -- what the results add up to --------------------------------------------------------------------------------------


@dataclass
class Entrant:
    """What one agent has reached in a series."""

    agent: str
    wins: int = 0
    draws: int = 0
    losses: int = 0
    forfeits: int = 0
    ranks: int = 0
    payoffs: list[float] = field(default_factory=list)
    """The mean payoff of each group that counts."""

    @property
    def matches(self) -> int:
        return self.wins + self.draws + self.losses


class Tally:
    """Adds up a series' results in their order."""

    def __init__(self, agents: Sequence[str], teams: Sequence[int] | None = None) -> None:
        self.entrants = [Entrant(agent) for agent in agents]
        self.teams = teams or range(len(agents))
        """The team of each seat; each seat is its own unless told otherwise."""
        self.played = 0
        self.moves = 0
        self.voids = 0
        self._group = -1
        self._open: list[list[float]] = [[] for _ in agents]

    def add(self, match: Planned, result: MatchResult) -> None:
        self.played += 1
        self.moves += len(result.moves)
        if isinstance(result.ending, Void):
            self.voids += 1
            return
        if match.group != self._group:
            self._group = match.group
            self._open = [[] for _ in self.entrants]
        winners = {team for team, rank in zip(self.teams, result.ranks, strict=True) if rank == 1}
        for seat, number in enumerate(match.seating):
            entrant = self.entrants[number]
            rank = result.ranks[seat]
            entrant.ranks += rank
            entrant.wins += rank == 1 and len(winners) == 1
            entrant.draws += rank == 1 and len(winners) > 1
            entrant.losses += rank > 1
            entrant.forfeits += isinstance(result.ending, Forfeit) and result.ending.seat == seat
            self._count(number, result.payoffs[seat])

    def _count(self, number: int, payoff: float) -> None:
        payoffs, opened = self.entrants[number].payoffs, self._open[number]
        if opened:
            payoffs.pop()
        opened.append(payoff)
        payoffs.append(sum(opened) / len(opened))


@dataclass(frozen=True)
class Rate:
    """A mean payoff with its 95 % interval."""

    mean: float
    low: float
    high: float


_Z95 = 1.959963984540054
_PSEUDO = 2
"""Groups added at either end, after Agresti and Coull (1998), so that few or one-sided results do not look certain."""


def rate(payoffs: Sequence[float]) -> Rate:
    """The mean of independent groups' payoffs, and where it may well lie."""
    n = len(payoffs)
    if n == 0:
        return Rate(0.5, 0.0, 1.0)
    padded = [*payoffs, *[0.0] * _PSEUDO, *[1.0] * _PSEUDO]
    centre = sum(padded) / len(padded)
    variance = sum((payoff - centre) ** 2 for payoff in padded) / len(padded)
    half = _Z95 * sqrt(variance / len(padded))
    return Rate(sum(payoffs) / n, max(0.0, centre - half), min(1.0, centre + half))


def parse_clock(text: str) -> Clock:
    """`60` or `60+0.5`: seconds for the match, and seconds added a move."""
    base, plus, increment = text.partition("+")
    try:
        clock = Clock(float(base), float(increment) if plus else 0.0)
    except ValueError:
        clock = Clock(-1)
    if not (0 < clock.base_s < float("inf") and 0 <= clock.increment_s < float("inf")):
        raise UserError(f"A clock is written like 60 or 60+0.5 (seconds, and seconds added a move), not {text!r}.")
    return clock
