"""When to stop: rules over what is known, and the words that say why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rung.errors import UserError
from rung.scheduler.comparisons import Reals
from rung.scheduler.separation import BETTER, CIRCULAR, EQUAL, WORSE, Separation


@dataclass(frozen=True, eq=False)
class Progress:
    """Where a ladder stands."""

    separation: Separation
    rating: Reals
    """Of the joint refit: who are the best k is read from it."""
    matches: int
    seconds: float
    """Since the start, by the clock on the wall."""
    cost_s: float
    """Spent on matches, added up over workers."""
    names: Sequence[str]


Stop = Callable[[Progress], str | None]
"""The reason to stop now, as a sentence, or None."""


def all_settled(share: float = 1.0) -> Stop:
    """Stop when this share of all pairs is settled: separated, practically equal or circular."""
    if not 0 < share <= 1:
        raise UserError(f"The share of pairs to settle must be above 0 and at most 1, not {share}.")

    def rule(progress: Progress) -> str | None:
        separation = progress.separation
        if separation.share < share:
            return None
        counts = separation.counts
        total = sum(counts.values())
        words = {
            "separated": "separated",
            "equal": "practically equal",
            "circular": "circular",
            "undecided": "undecided",
        }
        listing = ", ".join(f"{counts[kind]} {word}" for kind, word in words.items() if counts[kind])
        if counts["undecided"] == 0:
            pairs = "The one pair is" if total == 1 else f"All {total} pairs are"
            return f"{pairs} settled ({listing})." if total else "There is no pair to settle."
        return f"{total - counts['undecided']} of {total} pairs are settled, {share:.0%} were asked for ({listing})."

    return rule


def top_settled(k: int) -> Stop:
    """Stop when each of the best k is settled against everybody."""
    if k < 1:
        raise UserError(f"The number of best agents to settle must be at least 1, not {k}.")

    def rule(progress: Progress) -> str | None:
        agents = progress.separation.agents
        if k > agents:
            raise UserError(f"The best {k} cannot be settled among {agents} agents.")
        best = np.argsort(-progress.rating, kind="stable")[:k]
        if progress.separation.unsettled[best].any():
            return None
        names = ", ".join(progress.names[agent] for agent in best)
        return f"The best {k} are settled against everybody: {names}." if k > 1 else f"The best is settled: {names}."

    return rule


def pair_settled(first: int, second: int) -> Stop:
    """Stop when it is settled which of these two is better, or that they are practically equal."""
    if first == second or first < 0 or second < 0:
        raise UserError(f"A pair to settle is two different agents, not {first} and {second}.")

    def rule(progress: Progress) -> str | None:
        if max(first, second) >= progress.separation.agents:
            raise UserError(f"There is no agent {max(first, second)} among {progress.separation.agents}.")
        one, other = progress.names[first], progress.names[second]
        margin = progress.separation.margin_elo
        return {
            BETTER: f"{one} is better than {other}.",
            WORSE: f"{other} is better than {one}.",
            EQUAL: f"{one} and {other} are practically equal: they differ by less than {margin:g} Elo.",
            CIRCULAR: f"{one} and {other} each beat the other through others: no order of the two is true.",
        }.get(int(progress.separation.verdicts[first, second]))

    return rule


def matches_played(limit: int) -> Stop:
    """Stop after so many matches."""
    return _budget("number of matches", limit, lambda progress: progress.matches, "{:,.0f} matches are played")


def time_passed(limit_s: float) -> Stop:
    """Stop after so much time on the wall."""
    return _budget("time in seconds", limit_s, lambda progress: progress.seconds, "{:,.0f} seconds have passed")


def cost_spent(limit_s: float) -> Stop:
    """Stop after so much time spent in matches, added up over workers."""
    return _budget("cost in seconds", limit_s, lambda progress: progress.cost_s, "{:,.0f} seconds are spent on matches")


def _budget(what: str, limit: float, spent: Callable[[Progress], float], words: str) -> Stop:
    if not 0 < limit < float("inf"):
        raise UserError(f"A budget's {what} must be above 0, not {limit}.")

    def rule(progress: Progress) -> str | None:
        if spent(progress) < limit:
            return None
        undecided = progress.separation.counts["undecided"]
        left = f"{undecided} pairs stay undecided" if undecided != 1 else "1 pair stays undecided"
        return f"The budget is used up: {words.format(spent(progress))}, and {left if undecided else 'all is settled'}."

    return rule


def any_of(*rules: Stop) -> Stop:
    """Stop as soon as one of them says so, and say what it says."""

    def rule(progress: Progress) -> str | None:
        return next((why for one in rules if (why := one(progress))), None)

    return rule


def all_of(*rules: Stop) -> Stop:
    """Stop when all of them say so."""

    def rule(progress: Progress) -> str | None:
        whys = [why for one in rules if (why := one(progress))]
        return " ".join(whys) if rules and len(whys) == len(rules) else None

    return rule
