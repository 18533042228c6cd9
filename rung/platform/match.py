"""One match, from its spec to its result. An agent's fault is a result; so is a failure of the game."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rung.agents import AGENTS
from rung.agents.agent import Agent, Outcome, Seen, View
from rung.agents.spec import make as make_agent
from rung.errors import UserError, is_interrupt
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
    """The match ends here, and how."""

    def __init__(self, ending: Forfeit | Void) -> None:
        self.ending = ending


class _Unplayable(Exception):
    """An agent cannot play this game at all: the user's mistake, not a result."""

    def __init__(self, cause: UserError) -> None:
        self.cause = cause


def _blamed(seat: int, error: Exception) -> _Fault:
    """The forfeit of an agent that raised this; Ctrl-C is nobody's fault."""
    if is_interrupt(error):
        raise KeyboardInterrupt from None
    return _Fault(Forfeit(seat, "memory" if isinstance(error, MemoryError) else "crash", _one_line(error)))


@lru_cache(maxsize=64)
def game_of(spec: str) -> Game:
    """The game a spec describes. Games never change, so all matches share one."""
    name, values = parse_call(spec, "A game")
    return GAMES.load(name)(**values)


class _Rehearsal(Agent):
    """Asks of a game all that agents may ask of it, and plays at random."""

    name = "rehearsal"

    def start(self, game: Game, seat: int, seed: int) -> None:
        self.rng = stream(seed)

    def act(self, view: View) -> int:
        guess = view.determinize(self.rng).copy()
        guess.value(view.seat)
        guess.apply(guess.sample(self.rng), self.rng)
        return view.sample(self.rng)


def prepare(spec: MatchSpec) -> None:
    """Compile what the match needs, in this process too, so that no clock pays for it."""
    game = game_of(spec.game)
    rehearsal = _Match(game, [_Rehearsal() for _ in range(game.seats)], replace(spec, clock=None))
    for _ in rehearsal.run():
        pass
    for agent in spec.agents:
        AGENTS.load(parse_call(agent, "An agent")[0]).warm(game)


def play(spec: MatchSpec, watch: Watcher | None = None) -> MatchResult:
    """Play one match. A spec that cannot be played is a `UserError`; all that happens later is in the result."""
    game = game_of(spec.game)
    if len(spec.agents) != game.seats:
        raise UserError(f"The agents of {game.spec} must be {game.seats} in number, not {len(spec.agents)}.")
    match = _Match(game, [make_agent(agent) for agent in spec.agents], spec)
    for state, action, note in match.run():
        if watch:
            watch(game, state, action, note)
    result = match.result()
    for seat in range(match.started):
        _tell(match.agents[seat], seat, result)
    return result


class _Match:
    def __init__(self, game: Game, agents: list[Agent], spec: MatchSpec) -> None:
        self.game, self.agents, self.spec = game, agents, spec
        self.started = 0
        self.ending: Ending = Played()
        self.standing = Standing.of_nobody(game)
        self.seen: list[list[Seen]] = [[] for _ in agents]
        self.left_s = [spec.clock.base_s if spec.clock else inf] * len(agents)
        self.moves: list[int] = []
        self.think_s: list[float] = []

    def run(self) -> Iterator[tuple[State, int, str]]:
        """Each action, in its state, before it is played. At the end of it the match is over, one way or another.

        What goes wrong here is a fault of an agent or of the game and decides the match. What goes wrong where the
        actions are shown is neither, and is not caught.
        """
        try:
            self._start()
            yield from self._moves()
            self.standing = Standing.of_end(self.game, self.state)
        except _Fault as fault:
            self.ending = fault.ending
            if isinstance(self.ending, Forfeit):
                self.standing = Standing.of_forfeit(self.game, self.ending.seat)
        except _Unplayable as error:
            raise error.cause from None
        except Exception as error:
            if is_interrupt(error):
                raise KeyboardInterrupt from None
            log.exception("%s failed", self.game.spec)
            self.ending = Void(f"{self.game.spec} failed: {_one_line(error)}")

    def _start(self) -> None:
        for seat, agent in enumerate(self.agents):
            try:
                agent.start(self.game, seat, derive(self.spec.seed, seat))
            except UserError as error:
                raise _Unplayable(error) from error
            except Exception as error:
                raise _blamed(seat, error) from error
            self.started += 1

    def _moves(self) -> Iterator[tuple[State, int, str]]:
        nature, dice = stream(self.spec.deal), stream(derive(self.spec.deal, 0))
        self.state = state = self.game.new_state(nature)
        while not state.over:
            if len(self.moves) == self.game.max_moves:
                raise _Fault(Void(f"{self.game.spec} did not end within its {self.game.max_moves} moves"))
            if state.turn == CHANCE:
                action, note = state.sample(dice), ""
                self.think_s.append(0.0)
            else:
                action, note = self._ask(state.turn)
            yield state, action, note
            for seat, seen in enumerate(self.seen):
                seen.append(Seen(state.turn, state.label(action, seat)))
            state.apply(action, nature)
            self.moves.append(action)

    def _ask(self, seat: int) -> tuple[int, str]:
        """The seat's action, checked, its clock charged; and what it says of it."""
        agent = self.agents[seat]
        view = View(self.game, seat, self.state.observe(seat), self.seen[seat], self.left_s[seat])
        began = time.perf_counter()
        try:
            action, note = agent.act(view), agent.note
        except Exception as error:
            raise _blamed(seat, error) from error
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
        return int(action), note

    def result(self) -> MatchResult:
        standing = self.standing
        return MatchResult(
            spec=self.spec,
            version=self.game.version,
            ending=self.ending,
            payoffs=standing.payoffs,
            scores=standing.scores,
            ranks=standing.ranks,
            moves=tuple(self.moves),
            think_s=tuple(self.think_s[: len(self.moves)]),
        )


class Standing(NamedTuple):
    """Who came where."""

    payoffs: tuple[float, ...]
    scores: tuple[float, ...]
    ranks: tuple[int, ...]

    @classmethod
    def of_nobody(cls, game: Game) -> Standing:
        """A match that says nothing."""
        return cls((0.0,) * game.seats, (0.0,) * game.seats, (1,) * game.seats)

    @classmethod
    def of_forfeit(cls, game: Game, seat: int) -> Standing:
        """Who forfeits comes last, with its team; all others share the first place."""
        loser = game.teams[seat]
        others = len(set(game.teams)) - 1
        payoffs = tuple(0.0 if team == loser else 1.0 / others for team in game.teams)
        last = 1 + sum(team != loser for team in game.teams)
        return cls(payoffs, payoffs, tuple(last if team == loser else 1 for team in game.teams))

    @classmethod
    def of_end(cls, game: Game, state: State) -> Standing:
        """By payoff; among equal payoffs by score, unless team mates share it."""
        payoffs = tuple(state.payoffs().tolist())
        scores = tuple(state.scores().tolist())
        alone = len(set(game.teams)) == game.seats
        order = list(zip(payoffs, scores, strict=True)) if alone else [(payoff, 0.0) for payoff in payoffs]
        return cls(payoffs, scores, tuple(1 + sum(other > own for other in order) for own in order))


def _tell(agent: Agent, seat: int, result: MatchResult) -> None:
    """Tell an agent how it ended. What it does with that cannot change the result any more."""
    forfeited = (result.ending.seat,) if isinstance(result.ending, Forfeit) else ()
    try:
        agent.end(Outcome(result.payoffs, result.scores, result.ranks, forfeited))
    except Exception as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from None
        log.warning("%s in seat %d crashed after its match: %s", result.spec.agents[seat], seat, _one_line(error))


def _one_line(error: BaseException) -> str:
    first = str(error).strip().splitlines()
    return f"{type(error).__name__}: {first[0][:200]}" if first else type(error).__name__
