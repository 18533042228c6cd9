"""The ladder's loop: hand in results, believe, choose, plan, claim, hand out. All that lasts is in the store.

Matches are planned in **rounds**. A round is chosen from the results of all rounds but the one before it, which may still be
being played: so cores need not wait for each other, and yet what is played does not depend on who plays it or how fast. With
budgets in iterations, the same ladder has the same matches with the same results on any runner, and after any interruption.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from rung.games.rng import derive
from rung.platform.beliefs import Beliefs, some_of
from rung.platform.rules import Rules
from rung.platform.runner import Done, Runner, Task
from rung.platform.series import seatings
from rung.platform.store import Claim, Finished, Ladder, LadderAgent, Lost, NewMatch, Receipt, Store
from rung.platform.store.columns import concatenated
from rung.scheduler import stopping
from rung.scheduler.comparisons import Ints
from rung.scheduler.pairing import Pick, pick, snapshot_of
from rung.scheduler.stopping import Progress

ROUND = 16
"""Groups of matches in the first rounds."""
GROWTH = 0.02
"""Later rounds have this share of all groups so far."""
LEASE_S = 30.0
_RENEW_S = LEASE_S / 4
_IN_ROUND = 1 << 24
"""A group's number tells its round: round · `_IN_ROUND` + its place there."""
_MOST_CLAIMED = 100_000
_UNKNOWN_S = 0.05
"""What a match is thought to take before any was played."""


class LadderLoop:
    """Drives one ladder. `turn` is called again and again until it says that the ladder has ended."""

    def __init__(
        self,
        store: Store,
        runner: Runner,
        ladder: Ladder,
        *,
        rules: Rules | None = None,
        standing: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        ladder.check_game()
        self.store, self.runner, self.ladder, self.now = store, runner, ladder, now
        self.standing = standing
        """Whether it waits for newcomers when nothing is left to play."""
        self.rules = rules or Rules.of_data(ladder.settings.options)
        self.seatings = seatings(ladder.seats) if self.rules.paired else [tuple(range(ladder.seats))]
        self.name = f"{socket.gethostname()}/{os.getpid()}"
        self.began = now()
        self.closing = ""
        """Why no more is planned; the loop goes on until what is planned has been played, or has begun when winding up."""
        self.winding_up = False
        self._claims: dict[int, Claim] = {}
        self._renewed = self.began
        self.seen_revision = -1
        self._beliefs = Beliefs(
            ladder.teams, len(self.seatings), ladder.settings.glicko, self.rules.alpha, self.rules.margin_elo
        )
        """Of whole rounds, in the order they were planned: what is chosen by."""
        self._recent = store.columns(ladder.id, ladder.log_length)
        """Results of the rounds that are not whole yet."""
        self._group_of: dict[int, int] = {}
        self._open: set[int] = set()
        """Matches to be played or being played."""
        self._taken = 0  # rounds in the beliefs
        self._round = 0  # the next to be planned
        self._dry = False  # the rule has nothing to play, as things are
        self._groups = 0
        self._seq = 0
        self._refresh()
        self._load()

    # -- what is believed ---------------------------------------------------------------------------------------------

    def beliefs(self) -> Beliefs:
        """From all results so far."""
        return self._beliefs.copy_with(self._recent) if len(self._recent) else self._beliefs

    def standing_agents(self) -> list[LadderAgent]:
        """The agents with what they have played, from the store."""
        return self.store.agents(self.ladder.id)

    @property
    def unplayed(self) -> int:
        """Matches that are planned and have no result yet."""
        return len(self._open)

    # -- one turn -----------------------------------------------------------------------------------------------------

    def turn(self, timeout_s: float = 0.2) -> bool:
        """Do what can be done now, and wait a little for results; False once the ladder has ended."""
        if not self.winding_up:
            self._fill()
        if self.closing and not (self._claims if self.winding_up else self._open):
            return False
        dones = self.runner.collect(timeout_s)
        if not dones and not self._claims:
            time.sleep(timeout_s)  # nothing is being played here: what there is, others hold, or must come first
        self.hand_in(dones)
        self._keep_leases()
        self._advance()
        if not self.winding_up and (why := self._out_of_time()):
            self.wind_up(why)
        return True

    def hand_in(self, dones: Sequence[Done]) -> list[Receipt]:
        """Record what has become of matches of this ladder."""
        own = [done for done in dones if done.task.match in self._claims]
        if not own:
            return []
        claims = {done.task.match: self._claims.pop(done.task.match) for done in own}
        finished = [
            Finished(done.task.match, claims[done.task.match].fence, done.result, done.seconds)
            for done in own
            if done.result is not None
        ]
        lost = [Lost(done.task.match, claims[done.task.match].fence, done.lost) for done in own if done.result is None]
        receipts = self.store.finish(finished, self.now()) if finished else []
        receipts += self.store.void(lost, self.now()) if lost else []
        self._open -= {receipt.match for receipt in receipts if receipt.status not in ("waiting", "late")}
        self._read_log()
        return receipts

    def wind_up(self, why: str) -> None:
        """Play what has begun to its end, and nothing else."""
        self.closing, self.winding_up = why, True
        tasks = self.runner.stop(now=False)
        self.store.release([self._claims.pop(task.match) for task in tasks if task.match in self._claims])

    def give_back(self) -> None:
        """Release what is claimed and will not be played by this process."""
        self.store.release(list(self._claims.values()))
        self._claims.clear()

    def end(self, why: str) -> None:
        self.store.set_ladder_state(self.ladder.id, "ended", why)

    # -- parts of a turn ----------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Keep the runner busy."""
        room = self.runner.room()
        if room <= 0:
            return
        while len(self._open) - len(self._claims) < room and self._may_plan():
            self._dry = not self._plan()
        claims = self.store.claim(self.name, room, LEASE_S, self.now(), self.ladder.id)
        self._claims.update((claim.match, claim) for claim in claims)
        typical = self._beliefs.cost_s / self._beliefs.matches if self._beliefs.matches else _UNKNOWN_S
        self.runner.submit([Task(claim.match, claim.fence, claim.spec, typical) for claim in claims])

    def _may_plan(self) -> bool:
        """A round is planned from all results but those of the round before it, never from more or fewer."""
        self._advance()
        return not self.closing and not self._dry and self._taken >= self._round - 1

    def _plan(self) -> bool:
        """Plan the next round; False when there is nothing worth playing."""
        beliefs, seats = self._beliefs, self.ladder.seats
        wanted = max(ROUND, int(GROWTH * self._groups))
        if self.rules.limits.matches:
            left = self.rules.limits.matches - self._groups * len(self.seatings)
            wanted = min(wanted, -(-left // len(self.seatings)))
        active = [agent.number for agent in self.agents if agent.state == "active"]
        if wanted <= 0 or len(active) < max(2, seats):
            return False
        snapshot = snapshot_of(
            beliefs.evidence,
            beliefs.ratings,
            beliefs.separation,
            in_flight=self._last_lines,
            cost_s=beliefs.costs() if self.rules.costs else None,
            active=active,
            seats=seats,
            alpha=self.rules.alpha,
            margin_elo=self.rules.margin_elo,
        )
        picks = pick(self.rules.rule, snapshot, wanted, derive(self.rules.seed, 2, self._round))
        if picks:
            self._enter(picks)
        return bool(picks)

    def _enter(self, picks: Sequence[Pick]) -> None:
        planned = []
        for place, chosen in enumerate(picks):
            group = self._round * _IN_ROUND + place
            for number, seating in enumerate(self.seatings):
                deal, seed = derive(self.rules.seed, 0, group), derive(self.rules.seed, 1, group, number)
                planned.append(NewMatch(chosen, self.rules.rule, deal, seed, group, seating, self.rules.clock))
        ids = self.store.plan(self.ladder.id, planned, self.now())
        self._group_of.update(zip(ids, (new.group for new in planned), strict=True))
        self._open.update(ids)
        self._groups += len(picks)
        self._round += 1
        self._last_lines = np.array([chosen.agents for chosen in picks], dtype=np.int64).reshape(-1, self.ladder.seats)

    def _advance(self) -> None:
        """Take whole rounds into the beliefs that are chosen by, as soon as the round after them is planned or there is
        nothing to plan, and see whether they are enough."""
        while self._taken < self._round - (0 if self._dry or self.closing else 1) and not self._open_in(self._taken):
            self._take(self._taken + 1)
            self._dry = False
            if not self.closing:
                self.closing = self._stop(self._progress()) or ""
        if self._dry and not self.standing and self._taken == self._round:
            settled = stopping.all_settled()(self._progress())
            self.closing = self.closing or settled or "Nothing is left that is worth playing."

    def _take(self, rounds: int) -> None:
        """Believe the results of the rounds before this number."""
        recent = self._recent
        mine = recent.group // _IN_ROUND < rounds
        rows = some_of(recent, mine)
        self._recent = some_of(recent, ~mine)
        self._beliefs.add(some_of(rows, np.argsort(rows.match)))
        for match in rows.match.tolist():
            self._group_of.pop(match, None)
        self._taken = rounds

    def _open_in(self, number: int) -> bool:
        return any(self._group_of[match] // _IN_ROUND == number for match in self._open)

    def _progress(self) -> Progress:
        beliefs = self._beliefs
        names = [agent.name for agent in self.agents]
        rating = beliefs.evidence.joint.rating()
        elapsed = self.now() - self.began
        return Progress(beliefs.separation, rating, beliefs.matches, elapsed, beliefs.cost_s, names)

    def _out_of_time(self) -> str | None:
        """Budgets of time end the ladder between rounds too; the matches of a round are long in some games."""
        cost_s = self._beliefs.cost_s + float(self._recent.duration_s.sum())
        return self.rules.limits.stop_for_time()(replace(self._progress(), cost_s=cost_s))

    def _keep_leases(self) -> None:
        now = self.now()
        if now - self._renewed > _RENEW_S:
            self._renewed = now
            held = self.store.renew(list(self._claims.values()), LEASE_S, now)
            self._claims = {match: claim for match, claim in self._claims.items() if match in held}
            self.store.beat(self.name, socket.gethostname(), self.runner.busy(), now)
            self.store.expire(now)
            self._refresh()

    def _refresh(self) -> None:
        """Notice agents that came or went, and matches that will not be played."""
        ladder = self.store.reload(self.ladder.id)
        if ladder.revision == self.seen_revision:
            return
        self.ladder, self.seen_revision, self._dry = ladder, ladder.revision, False
        self.agents = self.store.agents(ladder.id)
        self._beliefs.grow(len(self.agents))
        self._stop = self.rules.limits.stop([agent.name for agent in self.agents])
        ids, _, unplayed = self.store.planned(ladder.id)
        self._open &= set(ids[unplayed == 1].tolist())

    # -- the past -----------------------------------------------------------------------------------------------------

    def _load(self) -> None:
        """Where the ladder stands, from the store alone."""
        self._take_back()
        ids, groups, unplayed = self.store.planned(self.ladder.id)
        self._group_of = dict(zip(ids.tolist(), groups.tolist(), strict=True))
        self._open = set(ids[unplayed == 1].tolist())
        self._round = int(groups.max() // _IN_ROUND) + 1 if len(groups) else 0
        self._groups = len(np.unique(groups))
        self._last_lines = self._lines(ids[groups // _IN_ROUND == self._round - 1])
        self._read_log()
        oldest = min((self._group_of[match] // _IN_ROUND for match in self._open), default=self._round)
        self._take(max(0, min(oldest, self._round - 1)))
        if self._taken:
            self.closing = self._stop(self._progress()) or ""

    def _take_back(self) -> None:
        """Free what was claimed by processes of this machine that are gone; others keep theirs until the lease ends. Should
        one live after all, its results come late and change nothing."""
        self.store.expire(self.now())
        claimed = self.store.matches_in(self.ladder.id, "claimed", _MOST_CLAIMED)
        for worker in {match.worker for match in claimed if match.worker and _is_gone(match.worker)}:
            self.store.release(self.store.claims_of(worker))

    def _lines(self, ids: Ints) -> Ints:
        """The line-ups of the last round, as its picks had them."""
        first: dict[int, int] = {}
        for match in ids.tolist():
            first.setdefault(self._group_of[match], match)
        lines = [self.store.match(match).pick.agents for match in first.values()]
        return np.array(lines, dtype=np.int64).reshape(-1, self.ladder.seats)

    def _read_log(self) -> None:
        log = self.store.columns(self.ladder.id, self._seq)
        if not len(log):
            return
        self._seq = int(log.seq[-1])
        self._recent = concatenated([self._recent, log])


def _is_gone(name: str) -> bool:
    """Whether the process that claims under this name was one of this machine, and runs no more."""
    host, _, process = name.rpartition("/")
    if host != socket.gethostname() or not process.isdigit():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
