"""Pools of synthetic agents whose true strength is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from rung.errors import UserError
from rung.scheduler.bradley_terry import ELO
from rung.scheduler.comparisons import Flags, Ints, Reals
from rung.scheduler.evidence import expected_scores


@dataclass(frozen=True, eq=False)
class World:
    """Agents as they truly are."""

    elo: Reals
    bonus: Reals = field(default_factory=lambda: np.zeros((0, 0)))
    """agents × agents, in Elo: what the row's agent has over the column's beyond its rating; empty for none."""
    cost_s: Reals = field(default_factory=lambda: np.zeros(0))
    """What each adds to the time of a match; empty for one second each."""
    joins: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """After how many matches each joins; empty for none."""
    seat_elo: float = 0.0
    """What moving first is worth. Seats are drawn."""
    draws: float = 0.0
    """Of the matches that neither side would surely win, the share that is drawn."""

    @property
    def agents(self) -> int:
        return len(self.elo)

    def costs(self) -> Reals:
        return self.cost_s if len(self.cost_s) else np.ones(self.agents)

    def active(self, matches: int) -> Ints:
        return np.flatnonzero(self.joins <= matches) if len(self.joins) else np.arange(self.agents)

    def differences(self) -> Reals:
        """agents × agents, in nats: the difference that explains the expected score of the two, seats drawn."""
        gap = (self.elo[:, None] - self.elo[None, :] + (self.bonus if len(self.bonus) else 0.0)) * ELO
        share = (expected_scores(gap + self.seat_elo * ELO) + expected_scores(gap - self.seat_elo * ELO)) / 2
        return np.asarray(np.log(share / (1 - share)))

    def better(self) -> Flags:
        """agents × agents: whether the row's agent is better than the column's. It is enough to score more than half
        against it, or more than it against everybody."""
        differences = self.differences()
        field_score = expected_scores(differences).mean(axis=1)
        return (differences > 1e-12) | (field_score[:, None] > field_score[None, :] + 1e-12)

    def play(self, first: Ints, second: Ints, source: np.random.Generator) -> Reals:
        """The first agents' scores."""
        gap = self.elo[first] - self.elo[second] + (self.bonus[first, second] if len(self.bonus) else 0.0)
        seat = np.where(source.random(len(first)) < 0.5, self.seat_elo, -self.seat_elo)
        share = expected_scores((gap + seat) * ELO)
        drawn = self.draws * 2 * np.minimum(share, 1 - share)
        luck = source.random(len(first))
        return np.where(luck < share - drawn / 2, 1.0, np.where(luck < share + drawn / 2, 0.5, 0.0))


Maker = Callable[[int, np.random.Generator], World]


def _normal(agents: int, source: np.random.Generator, sd: float = 250.0) -> Reals:
    return np.sort(source.normal(0.0, sd, agents))[::-1].copy()


def _cycle(agents: int, source: np.random.Generator) -> World:
    """Rock, paper and scissors: three kinds, each 150 points better against the next than its rating says."""
    kind = np.arange(agents) % 3
    ahead = (kind[None, :] - kind[:, None]) % 3
    return World(_normal(agents, source, 60.0), bonus=np.choose(ahead, [0.0, 150.0, -150.0]))


def _newcomer(agents: int, source: np.random.Generator) -> World:
    joins = np.zeros(agents, dtype=np.int64)
    newest = int(source.integers(agents))
    joins[newest] = 30 * agents
    return World(_normal(agents, source, 300.0), joins=joins)


def _gap(agents: int, source: np.random.Generator) -> World:
    elo = _normal(agents, source, 100.0)
    elo[: max(1, agents // 5)] += 700.0
    return World(elo)


WORLDS: dict[str, tuple[str, Maker]] = {
    "bias": (
        "normal, and moving first is worth 100 points",
        lambda n, source: World(_normal(n, source), seat_elo=100.0),
    ),
    "costs": (
        "normal, and agents take from 0.01 to 10 seconds a match",
        lambda n, source: World(_normal(n, source), cost_s=10 ** source.uniform(-2.0, 1.0, n)),
    ),
    "cycle": ("three kinds, each of which beats the next", _cycle),
    "draws": (
        "normal, and two matches of three between equals are drawn",
        lambda n, source: World(_normal(n, source), draws=2 / 3),
    ),
    "equal": ("all agents are equal", lambda n, source: World(np.zeros(n))),
    "even": (
        "each agent is 50 points better than the next",
        lambda n, source: World(-50.0 * np.arange(n, dtype=np.float64)),
    ),
    "gap": ("a fifth of the agents is 700 points above the others", _gap),
    "groups": (
        "groups of five equal agents, 120 points apart",
        lambda n, source: World(-120.0 * np.floor(np.arange(n) / 5.0)),
    ),
    "newcomer": ("normal, and one agent joins late", _newcomer),
    "normal": ("strengths are normal, with a deviation of 250 points", lambda n, source: World(_normal(n, source))),
}


def make_world(name: str, agents: int, seed: int) -> World:
    """The world of this name, the same for the same seed."""
    from rung.errors import unknown

    if name not in WORLDS:
        raise unknown("world", name, WORLDS)
    if agents < 1:
        raise UserError(f"A world has at least 1 agent, not {agents}.")
    return WORLDS[name][1](agents, np.random.Generator(np.random.PCG64([seed, 0])))
