"""Rules that need no ratings, or only their order: random, round robin, Swiss."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rung.scheduler.comparisons import Ints, Reals
from rung.scheduler.pairing.lineups import ALL_PAIRS_UP_TO, seat_more
from rung.scheduler.pairing.snapshot import Pick, Snapshot

_NEAREST = 3
"""A Swiss pairing takes the one met least among so many next in rating."""


def random(snapshot: Snapshot, k: int, source: np.random.Generator) -> list[Pick]:
    """Every line-up is equally likely."""
    lines = draw_lines(snapshot, k, source)
    return snapshot.picks(lines, "random", np.full(len(lines), 1.0), fair=True)


def draw_lines(snapshot: Snapshot, k: int, source: np.random.Generator) -> Ints:
    """Random line-ups of different active agents."""
    places = np.empty((k, snapshot.seats), dtype=np.int64)
    for seat in range(snapshot.seats):
        # The place among those still free: each of those taken, in ascending order, moves it on.
        places[:, seat] = source.integers(len(snapshot.active) - seat, size=k)
        for taken in np.sort(places[:, :seat], axis=1).T:
            places[:, seat] += places[:, seat] >= taken
    return snapshot.active[places]


def round_robin(snapshot: Snapshot, k: int, source: np.random.Generator) -> list[Pick]:
    """Who met least meets next."""
    if len(snapshot.active) <= ALL_PAIRS_UP_TO:
        pairs, met = _least_met(snapshot, k, source)
    else:
        pairs, met = _by_circle(snapshot, k)

    def wanted(first: Ints, second: Ints) -> Reals:
        return -snapshot.met(first, second)

    return snapshot.picks(seat_more(snapshot, pairs, wanted, source), "met least", met, fair=True)


def _least_met(snapshot: Snapshot, k: int, source: np.random.Generator) -> tuple[Ints, Reals]:
    """Fill up the pairs that met least, like water; where there is not enough for a whole level, it is drawn who gets it."""
    i, j = np.triu_indices(len(snapshot.active), 1)
    first, second = snapshot.active[i], snapshot.active[j]
    met = np.round(snapshot.met(first, second)).astype(np.int64)
    level = int(met.min())
    while np.maximum(level - met, 0).sum() < k:
        level += 1
    more = np.maximum(level - 1 - met, 0)
    top = np.flatnonzero(met <= level - 1)
    chosen = np.concatenate([np.repeat(np.arange(len(met)), more), source.permutation(top)])[:k]
    return np.stack([first[chosen], second[chosen]], axis=1), met[chosen].astype(np.float64)


def _by_circle(snapshot: Snapshot, k: int) -> tuple[Ints, Reals]:
    """The next matches of the circle schedule, in which each round pairs everybody once; its place is where the log ends."""
    n = len(snapshot.active)
    around = n - 1 + n % 2
    number = snapshot.played + np.arange(k)
    turn, seat = np.divmod(number, n // 2)
    seat += n % 2
    first = np.where(seat == 0, around, (turn + seat) % around)
    pairs = np.stack([first, (turn - seat) % around], axis=1)
    chosen = snapshot.active[pairs]
    return chosen, snapshot.met(chosen[:, 0], chosen[:, 1])


def swiss(snapshot: Snapshot, k: int, source: np.random.Generator) -> list[Pick]:
    """Round by round, everybody meets somebody next to it in rating that it met least."""

    def wanted(first: Ints, second: Ints) -> Reals:
        return -np.abs(snapshot.rating[first] - snapshot.rating[second])

    now, lines = snapshot, np.zeros((0, snapshot.seats), dtype=np.int64)
    while len(lines) < k:
        pairs = np.array(_swiss_round(now, source)[: k - len(lines)], dtype=np.int64)
        lines = np.concatenate([lines, seat_more(snapshot, pairs, wanted, source)])
        now = replace(snapshot, in_flight=np.concatenate([snapshot.in_flight, lines]))
    gap = np.abs(snapshot.rating[lines[:, 0]] - snapshot.rating[lines[:, 1]])
    return snapshot.picks(lines, "next in rating", gap, fair=False)


def _swiss_round(snapshot: Snapshot, source: np.random.Generator) -> list[tuple[int, int]]:
    who = source.permutation(snapshot.active)
    order = who[np.argsort(-snapshot.rating[who], kind="stable")]
    n = len(order)
    if n % 2:
        # Who sits out has played most.
        order = np.delete(order, int(np.argmax(snapshot.games[order])))
        n -= 1
    met = [snapshot.met(order[: n - step], order[step:]).tolist() for step in range(1, min(_NEAREST, n - 1) + 1)]
    left, pairs = list(range(n)), []
    while left:
        own = left.pop(0)
        near = [place for place in left[:_NEAREST] if place - own <= len(met)] or left[:1]
        other = min(near, key=lambda place: met[place - own - 1][own] if place - own <= len(met) else 0)
        left.remove(other)
        pairs.append((int(order[own]), int(order[other])))
    # Those who played least come first, in case a round is more than is asked for.
    return sorted(pairs, key=lambda pair: float(snapshot.games[pair[0]] + snapshot.games[pair[1]]))
