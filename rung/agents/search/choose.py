"""How to choose at the end, from what all roots together saw."""

from __future__ import annotations

from collections.abc import Mapping

RULES = ("visits", "mean")


def choose(rule: str, found: Mapping[int, tuple[int, float]]) -> int:
    """Of actions with their visits and total payoff: the most visited or the best on average, by each other among equals."""

    def measure(action: int) -> tuple[float, float]:
        visits, total = found[action]
        mean = total / visits if visits else -1.0
        return (visits, mean) if rule == "visits" else (mean, visits)

    return max(found, key=measure)
