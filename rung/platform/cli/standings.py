"""Standings as tables: for a running tournament, and for `rung rank`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from rung.platform.beliefs import Beliefs
    from rung.platform.store import LadderAgent

_BAR = 20
_RANGE_95 = 1.96


@dataclass(frozen=True)
class Standing:
    """One agent's line. Ratings are those of the joint refit, whose deviations are honest under any pairing."""

    name: str
    spec: str
    state: str
    best_rank: int
    worst_rank: int
    rating: float
    deviation: float
    matches: int
    wins: int
    draws: int
    losses: int
    faults: int

    @property
    def low(self) -> float:
        return self.rating - _RANGE_95 * self.deviation

    @property
    def high(self) -> float:
        return self.rating + _RANGE_95 * self.deviation


def standings(beliefs: Beliefs, agents: Sequence[LadderAgent]) -> list[Standing]:
    """Best first."""
    joint = beliefs.evidence.joint
    rating, deviation = joint.rating(), joint.deviation()
    best, worst = beliefs.separation.ranks
    rows = [
        Standing(
            agent.name,
            agent.spec,
            agent.state,
            int(best[agent.number]),
            int(worst[agent.number]),
            float(rating[agent.number]),
            float(deviation[agent.number]),
            agent.matches,
            agent.wins,
            agent.draws,
            agent.losses,
            agent.faults,
        )
        for agent in agents
    ]
    return sorted(rows, key=lambda row: (-row.rating, row.name))


def standings_table(rows: Sequence[Standing], most: int | None = None) -> Table:
    """A row an agent, with its interval drawn to one scale."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("agent", overflow="fold")
    table.add_column("rating", justify="right", no_wrap=True)
    table.add_column("95 % interval", no_wrap=True)
    for heading in ("wins", "draws", "losses"):
        table.add_column(heading, justify="right", no_wrap=True)
    if not rows:
        return table
    low, high = min(row.low for row in rows), max(row.high for row in rows)
    for row in rows[:most]:
        rank = f"{row.best_rank}" if row.best_rank == row.worst_rank else f"{row.best_rank}–{row.worst_rank}"
        name = row.name if row.state == "active" else f"{row.name} ({row.state})"
        rating = f"{row.rating:.0f} ± {_RANGE_95 * row.deviation:.0f}"
        counts = (f"{number:,}" for number in (row.wins, row.draws, row.losses))
        table.add_row(rank, name, rating, bar(row, low, high), *counts)
    return table


def bar(row: Standing, low: float, high: float) -> str:
    """`···├──●──┤···`: where the interval lies between the lowest and the highest end of all."""

    def place(value: float) -> int:
        return round((value - low) / max(high - low, 1e-9) * (_BAR - 1))

    left, middle, right = place(row.low), place(row.rating), place(row.high)
    cells = ["─" if left < at < right else " " for at in range(_BAR)]
    cells[left], cells[right] = "├", "┤"
    cells[middle] = "●"
    return "".join(cells)


def verdict_line(beliefs: Beliefs) -> str:
    """What is settled, in words."""
    counts = beliefs.separation.counts
    words = {"separated": "separated", "equal": "practically equal", "circular": "circular", "undecided": "undecided"}
    told = [f"{counts[kind]} {word}" for kind, word in words.items() if counts[kind] or kind == "separated"]
    return f"{sum(counts.values())} pairs: {', '.join(told)}"


def document(rows: Sequence[Standing]) -> list[dict[str, Any]]:
    return [{**vars(row), "low": row.low, "high": row.high} for row in rows]


def matches_left(beliefs: Beliefs, budget: int | None) -> float | None:
    """Matches until all is settled, if each open pair is settled by its own: too many, as matches serve several pairs; and
    no more than the budget allows. None where that cannot be said."""
    import numpy as np

    from rung.scheduler.forecast import matches_to_verdict

    first, second = np.nonzero(np.triu(beliefs.separation.unsettled))
    total = float(matches_to_verdict(beliefs.evidence, beliefs.separation, first, second).sum()) * beliefs.group_size
    if budget is not None:
        total = min(total, max(0.0, budget - beliefs.matches))
    return total if total < float("inf") else None
