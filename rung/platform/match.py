"""One match, from its spec to its result. An agent's fault is a result; so is a failure of the game."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Literal, TypeAlias

import numpy as np

from rung.agents import AGENTS
from rung.agents.agent import Agent, Outcome, Seen, View
from rung.agents.spec import make as make_agent
from rung.errors import UserError
from rung.games import GAMES
from rung.games.game import CHANCE, Game, State
from rung.games.rng import derive, stream
from rung.parameters import parse_call

log = logging.getLogger("rung.match")

Reason = Literal["illegal action", "crash", "time", "memory"]


@dataclass(frozen=True)
class Clock:
    """Time for a seat's whole match, and what each of its moves adds."""

    base_s: float
    increment_s: float = 0.0


@dataclass(frozen=True)
class MatchSpec:
    """All that decides a match. Budgets in iterations make it exactly repeatable."""

    game: str
    """The game as a call: `sushi_go(players=3)`."""
    agents: tuple[str, ...]
    """A spec string for each seat."""
    deal: int
    """Seed of what nature does: cards, dice."""
    seed: int
    """Seed of what the agents draw."""
    clock: Clock | None = None


@dataclass(frozen=True)
class Played:
    """The match came to its end."""


@dataclass(frozen=True)
class Forfeit:
    """A seat lost by its own fault."""

    seat: int
    reason: Reason
    detail: str


@dataclass(frozen=True)
class Void:
    """The match says nothing about its agents and is never rated."""

    detail: str


Ending: TypeAlias = Played | Forfeit | Void


@dataclass(frozen=True)
class MatchResult:
    """How a match went."""

    spec: MatchSpec
    version: int
    """Of the game; results of different versions never mix."""
    ending: Ending
    payoffs: tuple[float, ...]
    scores: tuple[float, ...]
    ranks: tuple[int, ...]
    moves: tuple[int, ...]
    """Every action in order, outcomes of dice included."""
    think_s: tuple[float, ...]
    """How long each took to choose."""


Watcher: TypeAlias = Callable[[Game, State, int, str], None]
"""Called before an action is played: the game, the true state, the action, and what the agent says of it."""


class _Fault(Exception):
    def __init__(self, ending: Forfeit | Void) -> None:
        self.ending = ending


@lru_cache(maxsize=64)
def game_of(spec: str) -> Game:
    """The game a spec describes. Games never change, so all matches share one."""
    name, values = parse_call(spec, "A game")
    return GAMES.load(name)(**values)


def prepare(spec: MatchSpec) -> None:
    """Compile what the match needs, so that no clock pays for it."""
    game = game_of(spec.game)
    game.new_state(stream(0))
    for agent in spec.agents:
        AGENTS.load(parse_call(agent, "An agent")[0]).warm(game)


def play(spec: MatchSpec, watch: Watcher | None = None) -> MatchResult:
    """Play one match. A spec that cannot be played is a `UserError`; all that happens later is in the result."""
    game = game_of(spec.game)
    if len(spec.agents) != game.seats:
        raise UserError(f"{game.spec} seats {game.seats} agents, not {len(spec.agents)}.")
    agents = [make_agent(agent) for agent in spec.agents]
    for seat, agent in enumerate(agents):
        agent.start(game, seat, derive(spec.seed, seat))
    match = _Match(game, agents, spec)
    try:
        match.run(watch)
    except _Fault as fault:
        match.ending = fault.ending
    result = match.result()
    for seat, agent in enumerate(agents):
        _tell(agent, seat, result)
    return result


class _Match:
    def __init__(self, game: Game, agents: list[Agent], spec: MatchSpec) -> None:
        self.game, self.agents, self.spec = game, agents, spec
        self.ending: Ending = Played()
        self.nature, self.dice = stream(spec.deal), stream(derive(spec.deal, 0))
        self.state = game.new_state(self.nature)
        self.seen: list[list[Seen]] = [[] for _ in agents]
        self.left_s = [spec.clock.base_s if spec.clock else inf] * len(agents)
        self.moves: list[int] = []
        self.think_s: list[float] = []

    def run(self, watch: Watcher | None) -> None:
        state = self.state
        while not state.over:
            if len(self.moves) == self.game.max_moves:
                raise _Fault(Void(f"{self.game.spec} did not end within its {self.game.max_moves} moves"))
            if state.turn == CHANCE:
                action, note = state.sample(self.dice), ""
                self.think_s.append(0.0)
            else:
                action = self._ask(state.turn)
                note = self.agents[state.turn].note
            if watch:
                watch(self.game, state, action, note)
            self._apply(action)

    def _ask(self, seat: int) -> int:
        """The seat's action, checked, its clock charged."""
        agent = self.agents[seat]
        view = View(self.game, seat, self.state.observe(seat), self.seen[seat], self.left_s[seat])
        began = time.perf_counter()
        try:
            action = agent.act(view)
        except MemoryError as error:
            raise _Fault(Forfeit(seat, "memory", _one_line(error))) from error
        except Exception as error:
            raise _Fault(Forfeit(seat, "crash", _one_line(error))) from error
        used_s = time.perf_counter() - began
        self.left_s[seat] -= used_s
        if self.left_s[seat] < 0:
            raise _Fault(Forfeit(seat, "time", f"{-self.left_s[seat]:.3f} s over its clock"))
        if self.spec.clock:
            self.left_s[seat] += self.spec.clock.increment_s
        if type(action) is not int and not isinstance(action, np.integer):
            raise _Fault(Forfeit(seat, "illegal action", f"{action!r:.80} is not a whole number"))
        if not self.state.allows(action):
            raise _Fault(Forfeit(seat, "illegal action", f"{action} is not legal at move {len(self.moves) + 1}"))
        self.think_s.append(used_s)
        return int(action)

    def _apply(self, action: int) -> None:
        state = self.state
        for seat, seen in enumerate(self.seen):
            seen.append(Seen(state.turn, state.label(action, seat)))
        self.moves.append(action)
        state.apply(action, self.nature)

    def result(self) -> MatchResult:
        payoffs, scores, ranks = _standing(self.game, self.state, self.ending)
        think_s = tuple(self.think_s[: len(self.moves)])
        moves = tuple(self.moves)
        return MatchResult(self.spec, self.game.version, self.ending, payoffs, scores, ranks, moves, think_s)


def _standing(game: Game, state: State, ending: Ending) -> tuple[tuple[float, ...], tuple[float, ...], tuple[int, ...]]:
    """Payoffs, scores and ranks. Who forfeits comes last, with its team; all others share the first place."""
    if isinstance(ending, Void):
        return (0.0,) * game.seats, (0.0,) * game.seats, (1,) * game.seats
    if isinstance(ending, Forfeit):
        loser = game.teams[ending.seat]
        others = len(set(game.teams)) - 1
        payoffs = tuple(0.0 if team == loser else 1.0 / others for team in game.teams)
        ranks = tuple(1 + sum(team != loser for team in game.teams) if t == loser else 1 for t in game.teams)
        return payoffs, payoffs, ranks
    payoffs = tuple(state.payoffs().tolist())
    scores = tuple(state.scores().tolist())
    alone = len(set(game.teams)) == game.seats
    order = list(zip(payoffs, scores, strict=True)) if alone else [(payoff, 0.0) for payoff in payoffs]
    return payoffs, scores, tuple(1 + sum(other > own for other in order) for own in order)


def _tell(agent: Agent, seat: int, result: MatchResult) -> None:
    """Tell an agent how it ended. What it does with that cannot change the result any more."""
    forfeited = (result.ending.seat,) if isinstance(result.ending, Forfeit) else ()
    try:
        agent.end(Outcome(result.payoffs, result.scores, result.ranks, forfeited))
    except Exception as error:
        log.warning("%s in seat %d crashed after its match: %s", result.spec.agents[seat], seat, _one_line(error))


def _one_line(error: BaseException) -> str:
    first = str(error).strip().splitlines()
    return f"{type(error).__name__}: {first[0][:200]}" if first else type(error).__name__
