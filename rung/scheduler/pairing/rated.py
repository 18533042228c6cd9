"""Rules that look at the agents' present ratings: the Risk paper's, and KataGo's.

They concentrate on what looks close, and so bend what pooled evidence says (see `evidence.py`): but for their random phase,
their matches are marked as not fair, and count as direct evidence only.
"""

from __future__ import annotations

import numpy as np

from rung.scheduler.bradley_terry import ELO
from rung.scheduler.comparisons import Flags, Ints, Reals
from rung.scheduler.evidence import expected_scores
from rung.scheduler.pairing.lineups import candidates, seat_more
from rung.scheduler.pairing.plain import draw_lines
from rung.scheduler.pairing.snapshot import Pick, Snapshot

RANDOM_PHASE = 10
"""Matches that everybody plays against random opponents first, "to provide an initial indication of ratings"."""
RANDOM_SHARE = 0.1
"""Of the later matches, so that nobody is left behind and the pool stays connected."""
_UPPER = 2.0
"""Deviations above the rating that make KataGo's upper bound."""


def z(snapshot: Snapshot, k: int, source: np.random.Generator) -> list[Pick]:
    """The paper's rule: random at first, then pairs in which the evidence of a difference is weak, drawn by their one-sided p.

    The closest pair is not always taken: that would play equal agents for ever.
    """
    from scipy.special import log_ndtr, ndtr

    first, second, count = candidates(snapshot, source)
    spread = np.hypot(snapshot.deviation[first], snapshot.deviation[second])
    # Relative to the weakest evidence there is: beyond 38 deviations p itself is zero.
    log_weak = log_ndtr(-np.abs(snapshot.rating[first] - snapshot.rating[second]) / spread)
    weak = np.exp(log_weak - log_weak.max()) * count
    early, lines = _early(snapshot, k, source)
    chosen = source.choice(len(first), k, p=weak / weak.sum())
    lines[~early, 0], lines[~early, 1] = first[chosen[~early]], second[chosen[~early]]

    def wanted(one: Ints, other: Ints) -> Reals:
        apart = np.hypot(snapshot.deviation[one], snapshot.deviation[other])
        return np.asarray(ndtr(-np.abs(snapshot.rating[one] - snapshot.rating[other]) / apart))

    return _mixed(snapshot, lines, early, "weak evidence", wanted, source)


def katago(snapshot: Snapshot, k: int, source: np.random.Generator) -> list[Pick]:
    """As KataGo's rating games: the most uncertain agent, the one with fewest matches or the one with the highest upper bound
    in turn; its opponent is drawn by the variance of their outcome."""
    early, lines = _early(snapshot, k, source)
    games, who = snapshot.games.copy(), snapshot.active
    rated = games - np.bincount(snapshot.in_flight.ravel(), minlength=snapshot.agents)
    upper = snapshot.rating + _UPPER * snapshot.deviation
    aims = source.integers(3, size=k)
    for row in np.flatnonzero(~early).tolist():
        # Each match makes an agent less uncertain: about by the share it adds to those it has.
        coming = games[who] - rated[who]
        doubt = snapshot.deviation[who] / np.sqrt(1 + coming)
        aim = (doubt, -games[who], upper[who] - coming * snapshot.deviation[who])[aims[row]]
        best = np.flatnonzero(aim >= aim.max() - 1e-9)
        own = int(who[best[source.integers(len(best))]])
        weight = _outcome_variance(snapshot, who, np.full(len(who), own))
        weight[who == own] = 0.0
        other = int(source.choice(who, p=weight / weight.sum()))
        lines[row, 0], lines[row, 1] = own, other
        games[[own, other]] += 1

    def wanted(one: Ints, other: Ints) -> Reals:
        return _outcome_variance(snapshot, one, other)

    return _mixed(snapshot, lines, early, "uncertain, new or promising", wanted, source)


def _outcome_variance(snapshot: Snapshot, one: Ints, other: Ints) -> Reals:
    share = expected_scores((snapshot.rating[one] - snapshot.rating[other]) * ELO)
    return np.asarray(share * (1 - share))


def _early(snapshot: Snapshot, k: int, source: np.random.Generator) -> tuple[Flags, Ints]:
    """Which matches are random, and random line-ups for all: those of the first phase have a new agent in them."""
    lines = draw_lines(snapshot, k, source)
    missing = np.maximum(RANDOM_PHASE - snapshot.games[snapshot.active], 0).astype(np.int64)
    due = source.permutation(np.repeat(snapshot.active, missing))[:k]
    early = source.random(k) < RANDOM_SHARE
    early[: len(due)] = True
    for row, agent in enumerate(due.tolist()):
        if agent not in lines[row]:
            lines[row, 0] = agent
    return early, lines


def _mixed(
    snapshot: Snapshot, lines: Ints, early: Flags, why: str, wanted: object, source: np.random.Generator
) -> list[Pick]:
    assert callable(wanted)
    chosen = lines.copy()
    late = np.flatnonzero(~early)
    chosen[late] = seat_more(snapshot, lines[late][:, :2], wanted, source)
    value = np.asarray(wanted(chosen[:, 0], chosen[:, 1]), dtype=np.float64)
    return snapshot.picks(chosen, ["random" if flag else why for flag in early], value, fair=early)
