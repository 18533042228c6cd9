"""From pairs to line-ups, for games of more than two seats."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rung.scheduler.comparisons import Ints, Reals
from rung.scheduler.pairing.snapshot import Snapshot

Affinity = Callable[[Ints, Ints], Reals]
"""How much a rule wants each of the first agents to meet the second ones."""


def seat_more(
    snapshot: Snapshot,
    pairs: Ints,
    wanted: Affinity,
    source: np.random.Generator,
    seated: Callable[[Ints], None] | None = None,
) -> Ints:
    """Fill each pair up to the game's seats: each seat gets the agent that the rule most wants to meet those already there;
    among equals it is drawn. Each line-up is `seated` before the next is filled, so that the rule can want something else."""
    missing = snapshot.seats - 2
    if missing == 0:
        return pairs
    lines = []
    for first, second in pairs.tolist():
        line = [first, second]
        for _ in range(missing):
            free = np.setdiff1d(snapshot.active, line)
            total = np.sum([wanted(free, np.full(len(free), member)) for member in line], axis=0)
            best = np.flatnonzero(total >= total.max() - 1e-12)
            line.append(int(free[best[source.integers(len(best))]]))
        lines.append(line)
        if seated is not None:
            seated(np.array(line))
    return np.array(lines, dtype=np.int64).reshape(-1, snapshot.seats)


def candidates(snapshot: Snapshot, source: np.random.Generator) -> tuple[Ints, Ints, Reals]:
    """Pairs worth weighing, and how many pairs each stands for: all of them in a small pool; in a large one each agent with
    its neighbours in rating, and with one agent each from ever wider rings around them."""
    n = len(snapshot.active)
    if n <= ALL_PAIRS_UP_TO:
        i, j = np.triu_indices(n, 1)
        return snapshot.active[i], snapshot.active[j], np.ones(len(i))
    order = snapshot.active[np.argsort(snapshot.evidence.pooled.theta[snapshot.active], kind="stable")]
    places, offsets, counts = [], [], []
    low = 1
    while low < n:
        high = low + 1 if low < NEIGHBOURS else min(2 * low, n)
        place = np.arange(n - low)
        places.append(place)
        offsets.append(np.minimum(source.integers(low, high, len(place)), n - 1 - place))
        counts.append(np.full(len(place), float(high - low)))
        low = high
    where, step = np.concatenate(places), np.concatenate(offsets)
    return order[where], order[where + step], np.concatenate(counts)


ALL_PAIRS_UP_TO = 300
NEIGHBOURS = 8
