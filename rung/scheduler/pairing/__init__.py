"""Pairing rules: which matches to play next. A rule is a function of a snapshot; nothing else knows how it chooses."""

from __future__ import annotations

import numpy as np

from rung.errors import UserError, unknown
from rung.scheduler.pairing.gain import gain
from rung.scheduler.pairing.plain import random, round_robin, swiss
from rung.scheduler.pairing.rated import katago, z
from rung.scheduler.pairing.snapshot import Pick, Rule, Snapshot, look, snapshot_of

RULES: dict[str, Rule] = {
    "gain": gain,
    "katago": katago,
    "random": random,
    "round_robin": round_robin,
    "swiss": swiss,
    "z": z,
}

_SEEDS = 1 << 64

__all__ = ["RULES", "Pick", "Rule", "Snapshot", "look", "pick", "snapshot_of"]


def pick(rule: str, snapshot: Snapshot, k: int, seed: int) -> list[Pick]:
    """The next k matches by this rule, the same ones for the same seed; none where there are too few agents for one, and
    fewer than k where no more are worth playing."""
    if rule not in RULES:
        raise unknown("pairing rule", rule, RULES)
    if k < 0:
        raise UserError(f"The number of matches to choose must be at least 0, not {k}.")
    if k == 0 or len(snapshot.active) < snapshot.seats:
        return []
    return RULES[rule](snapshot, k, np.random.Generator(np.random.PCG64(seed % _SEEDS)))
