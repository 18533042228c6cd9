"""Ladders of synthetic agents: what a pairing rule needs to find out what is true, and how often it is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from rung.errors import UserError, unknown
from rung.scheduler import glicko2
from rung.scheduler.bradley_terry import ELO
from rung.scheduler.comparisons import Flags, Ints, Reals, compare
from rung.scheduler.evidence import Evidence, Records, about, refuted, weigh
from rung.scheduler.pairing import RULES, Snapshot, pick, snapshot_of
from rung.scheduler.separation import (
    ALPHA,
    BETTER,
    EQUAL,
    MARGIN_ELO,
    RANGE_95,
    UNDECIDED,
    Separation,
    separate,
    z_scores,
)
from rung.scheduler.worlds import World, make_world

KNOWN_ELO = 75.0
"""Deviation at which a newcomer counts as known."""
_CHECKPOINTS = 12
_Clock = Callable[[], float]


@dataclass(frozen=True)
class Plan:
    """One simulated ladder."""

    world: str
    agents: int
    rule: str
    seed: int
    """Of the world and of the luck; rules are compared on the same seeds."""
    matches: int = 20_000
    """At most; the ladder ends when `until` is settled."""
    batch: int = 10
    """Matches chosen together and looked at together, at least."""
    growth: float = 0.0
    """Batches grow to this share of the matches so far, which saves time in long ladders."""
    look_each: bool = False
    """Look after every match, though they are chosen in batches."""
    until: float = 1.0
    """Share of the pairs."""
    alpha: float = ALPHA
    margin_elo: float = MARGIN_ELO
    cost_blind: bool = False
    """The rule is not told what agents cost."""

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise unknown("pairing rule", self.rule, RULES)
        if self.matches < 1:
            raise UserError(f"The number of matches must be at least 1, not {self.matches}.")
        if self.batch < 1:
            raise UserError(f"A batch must have at least 1 match, not {self.batch}.")
        if not 0 <= self.growth <= 1:
            raise UserError(f"Batches may grow to a share of 0 to 1 of the matches so far, not {self.growth}.")
        if not 0 < self.until <= 1:
            raise UserError(f"The share of pairs to settle must be above 0 and at most 1, not {self.until}.")


@dataclass
class Run:
    """What happened in one ladder."""

    plan: Plan
    matches: int = 0
    seconds: float = 0.0
    """Spent in matches."""
    looks: int = 0
    settled: list[tuple[float, int, float]] = field(default_factory=list)
    """(share of pairs, matches, seconds) whenever more was settled than before."""
    tau: list[tuple[int, float]] = field(default_factory=list)
    """(matches, Kendall's τ between the refit's order and the true one)."""
    wrong: int = 0
    """Pairs on which a verdict was ever wrong."""
    plain_wrong: int = 0
    """Pairs of equal agents on which plain |Z| > 1.96, of Glicko deviations, was ever seen."""
    covered: float = 1.0
    """Least share, over all looks, of pairs whose true difference was within its interval."""
    always_covered: float = 1.0
    """Share of pairs whose true difference was within its interval at every look."""
    waited: float = 0.0
    """The longest that an agent with unsettled pairs waited for a match, in matches of the ladder for each agent in it."""
    newcomer: tuple[int, int] | None = None
    """Matches, of its own and of the ladder, until the last to join was known to ±`KNOWN_ELO`."""
    cpu_s: float = 0.0
    """Spent on beliefs and on choosing."""

    def matches_until(self, share: float) -> float:
        """Infinite when the ladder ended before."""
        return next((float(matches) for reached, matches, _ in self.settled if reached >= share), float("inf"))

    def seconds_until(self, share: float) -> float:
        return next((seconds for reached, _, seconds in self.settled if reached >= share), float("inf"))


def run(plan: Plan, clock: _Clock = lambda: 0.0) -> Run:
    """Run one ladder; `clock` tells the CPU time, for who wants to know it."""
    ladder = _Ladder(plan, make_world(plan.world, plan.agents, plan.seed))
    while ladder.step(clock):
        pass
    return ladder.finished()


class _Ladder:
    def __init__(self, plan: Plan, world: World) -> None:
        n = world.agents
        self.plan, self.world, self.run = plan, world, Run(plan)
        self.luck = np.random.Generator(np.random.PCG64([plan.seed, 1]))
        self.counts, self.fair = np.zeros((3, n, n)), np.zeros((3, n, n))
        self.all_fair = True
        self.ratings = glicko2.start(n)
        self.first, self.second = np.triu_indices(n, 1)
        self.true = world.differences()[self.first, self.second]
        self.better = world.better()
        self.was_wrong, self.was_out, self.was_apart = (np.zeros(len(self.true), dtype=np.bool_) for _ in range(3))
        self.played_at, self.games = np.zeros(n), np.zeros(n)
        self.newest = int(np.argmax(world.joins)) if len(world.joins) else -1
        self.joined_at = int(world.joins[self.newest]) if len(world.joins) else 0
        self.checkpoints = list(np.unique(np.geomspace(5 * n, plan.matches, _CHECKPOINTS).astype(int)))
        self.evidence, self.separation = self._believe()

    def step(self, clock: _Clock) -> bool:
        """Choose, play and look; whether to go on."""
        began = clock()
        wanted = max(self.plan.batch, int(self.plan.growth * self.run.matches))
        picks = pick(self.plan.rule, self._snapshot(), min(wanted, self._left()), self.run.matches)
        self.run.cpu_s += clock() - began
        if not picks:
            return self._skip_to_newcomer()
        pairs = np.array([chosen.agents for chosen in picks], dtype=np.int64)
        fair = np.array([chosen.fair for chosen in picks])
        scores = self.world.play(pairs[:, 0], pairs[:, 1], self.luck)
        size = 1 if self.plan.look_each else len(pairs)
        for at in range(0, len(pairs), size):
            self._record(pairs[at : at + size], scores[at : at + size], fair[at : at + size])
            began = clock()
            self.evidence, self.separation = self._believe()
            self.run.cpu_s += clock() - began
            self._look()
            if self.separation.share >= self.plan.until and not self._awaited():
                return False
        return self._left() > 0

    def finished(self) -> Run:
        self.run.wrong = int(self.was_wrong.sum())
        self.run.plain_wrong = int(self.was_apart.sum())
        self.run.always_covered = 1.0 - float(self.was_out.mean()) if len(self.was_out) else 1.0
        return self.run

    def _left(self) -> int:
        return self.plan.matches - self.run.matches

    def _awaited(self) -> bool:
        return self.run.matches < self.joined_at or (self.newest >= 0 and self.run.newcomer is None)

    def _skip_to_newcomer(self) -> bool:
        """Nothing is worth playing before the next agent joins."""
        if self.run.matches >= self.joined_at:
            return False
        self.run.matches = self.joined_at
        return True

    def _snapshot(self) -> Snapshot:
        cost = np.ones(self.world.agents) if self.plan.cost_blind else self.world.costs()
        return snapshot_of(
            self.evidence,
            self.ratings,
            self.separation,
            cost_s=cost,
            active=self.world.active(self.run.matches),
            alpha=self.plan.alpha,
            margin_elo=self.plan.margin_elo,
        )

    def _record(self, pairs: Ints, scores: Reals, fair: Flags) -> None:
        low, high = pairs.min(axis=1), pairs.max(axis=1)
        kind = np.round(2 - 2 * np.where(pairs[:, 0] == low, scores, 1 - scores)).astype(np.int64)
        np.add.at(self.counts, (kind, low, high), 1.0)
        self.all_fair &= bool(fair.all())
        np.add.at(self.fair, (kind, low, high), fair.astype(np.float64))
        rows = compare(self.world.agents, pairs[:, 0], pairs[:, 1], scores)
        self.ratings = glicko2.fold(self.ratings, rows)
        self.run.matches += len(pairs)
        self.run.seconds += float(self.world.costs()[pairs].sum())
        self.played_at[pairs] = self.run.matches
        np.add.at(self.games, pairs.ravel(), 1.0)

    def _believe(self) -> tuple[Evidence, Separation]:
        start = self.evidence.joint.theta if self.run.matches else None
        every = _records(self.counts)
        fair = every if self.all_fair else _records(self.fair)
        evidence = weigh(self.world.agents, every, fair, start)
        return evidence, separate(evidence, self.plan.alpha, self.plan.margin_elo)

    def _look(self) -> None:
        run, verdicts = self.run, self.separation.verdicts[self.first, self.second]
        run.looks += 1
        if not run.settled or self.separation.share > run.settled[-1][0]:
            run.settled.append((self.separation.share, run.matches, run.seconds))
        margin = self.plan.margin_elo * ELO
        self.was_wrong |= (verdicts == BETTER) & ~self.better[self.first, self.second]
        self.was_wrong |= (verdicts == -BETTER) & ~self.better[self.second, self.first]
        self.was_wrong |= (verdicts == EQUAL) & (np.abs(self.true) >= margin)
        apart = np.abs(z_scores(self.ratings.rating, self.ratings.deviation))[self.first, self.second] > RANGE_95
        self.was_apart |= apart & (self.true == 0)
        out = refuted(about(self.evidence, self.first, self.second), self.true, self.plan.alpha)
        self.was_out |= out
        run.covered = min(run.covered, 1.0 - float(out.mean()) if len(out) else 1.0)
        waiting = (self.separation.verdicts == UNDECIDED).sum(axis=1) > 1
        waiting[np.setdiff1d(np.arange(self.world.agents), self.world.active(run.matches))] = False
        self.played_at[~waiting] = run.matches
        run.waited = max(run.waited, float((run.matches - self.played_at).max()) / self.world.agents)
        if self.checkpoints and run.matches >= self.checkpoints[0]:
            self.checkpoints = [later for later in self.checkpoints if later > run.matches]
            run.tau.append((run.matches, kendall(self.evidence.joint.theta, self.world.elo)))
        if self.newest >= 0 and run.newcomer is None and run.matches > self.joined_at:
            deviation = float(self.evidence.joint.deviation()[self.newest])
            if deviation <= KNOWN_ELO:
                run.newcomer = int(self.games[self.newest]), run.matches - self.joined_at


def _records(counts: Reals) -> Records:
    low, high = np.nonzero(counts.sum(axis=0))
    return Records(low, high, *counts[:, low, high])


def kendall(believed: Reals, true: Reals) -> float:
    """Kendall's τ-b; pairs that are truly equal take no part. 1 where there is nothing to order."""
    first, second = np.triu_indices(len(true), 1)
    order = np.sign(true[first] - true[second])
    differing = order != 0
    if not differing.any():
        return 1.0
    return float((np.sign(believed[first] - believed[second]) * order)[differing].mean())
