"""How a ladder pairs and when it stops: what a tournament file says, and what is kept with the ladder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rung.platform.match import Clock
from rung.scheduler import stopping
from rung.scheduler.separation import ALPHA, MARGIN_ELO
from rung.scheduler.stopping import Stop


@dataclass(frozen=True)
class Limits:
    """When to stop: as soon as one of these holds; never, without any."""

    settled: float | None = None
    """Share of the pairs."""
    top: int | None = None
    pair: tuple[str, str] | None = None
    matches: int | None = None
    time_s: float | None = None
    cost_s: float | None = None

    def stop(self, names: Sequence[str]) -> Stop:
        """All of them as one rule, for agents of these names."""
        rules = []
        if self.pair:
            first, second = (names.index(name) for name in self.pair)
            rules.append(stopping.pair_settled(first, second))
        rules += [stopping.top_settled(self.top)] if self.top else []
        rules += [stopping.all_settled(self.settled)] if self.settled else []
        rules += [stopping.matches_played(self.matches)] if self.matches else []
        return stopping.any_of(*rules, self.stop_for_time())

    def stop_for_time(self) -> Stop:
        """Those that can hold at any moment."""
        rules = [stopping.time_passed(self.time_s)] if self.time_s else []
        rules += [stopping.cost_spent(self.cost_s)] if self.cost_s else []
        return stopping.any_of(*rules)


@dataclass(frozen=True)
class Rules:
    """All that decides what a ladder plays. With budgets in iterations, and without `costs`, it is exactly repeatable."""

    seed: int = 1
    paired: bool = True
    clock: Clock | None = None
    rule: str = "gain"
    alpha: float = ALPHA
    margin_elo: float = MARGIN_ELO
    costs: bool = False
    """Whether pairing reckons with measured time; then what is played depends on the machine."""
    limits: Limits = Limits()

    def as_data(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return asdict(self)

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> Rules:
        given = dict(data)
        given["clock"] = Clock(**given["clock"]) if given.get("clock") else None
        limits = dict(given.get("limits", {}))
        limits["pair"] = tuple(limits["pair"]) if limits.get("pair") else None
        return cls(**{**given, "limits": Limits(**limits)})
