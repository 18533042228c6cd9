"""Playing a recorded match again, move by move, by today's rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rung.errors import UserError
from rung.games.game import Game, State
from rung.games.rng import stream
from rung.platform.match import Forfeit, MatchResult, Standing, Void, game_of


@dataclass(frozen=True)
class Step:
    """A move about to be played."""

    number: int
    state: State
    action: int


def replay(result: MatchResult, where: str) -> Iterator[Step]:
    """Each move with the state it is played in; a `UserError` when the recording and the rules do not agree."""
    game = checked_game(result, where)
    nature = stream(result.spec.deal)
    state = game.new_state(nature)
    for number, action in enumerate(result.moves, start=1):
        if type(action) is not int or state.over or not state.allows(action):
            raise UserError(f"{where}: move {number} ({action!r:.40}) is not legal, so the recording is damaged.")
        yield Step(number, state, action)
        state.apply(action, nature)
    if _standing(game, state, result) != (result.payoffs, result.scores, result.ranks):
        raise UserError(f"{where}: the moves do not lead to the recorded result, so the recording is damaged.")
    yield Step(len(result.moves) + 1, state, -1)


def _standing(game: Game, state: State, result: MatchResult) -> Standing | None:
    """Who came where, by the rules and by how the match ended; None where it cannot have ended so."""
    if isinstance(result.ending, Forfeit):
        return Standing.of_forfeit(game, result.ending.seat)
    if isinstance(result.ending, Void):
        return Standing.of_nobody(game)
    return Standing.of_end(game, state) if state.over else None


def checked_game(result: MatchResult, where: str) -> Game:
    """The match's game, in the version and with the number of seats it was played in."""
    game = game_of(result.spec.game)
    if game.version != result.version:
        raise UserError(f"{where}: played by version {result.version} of {game.name}; this is version {game.version}.")
    if game.seats != len(result.spec.agents):
        raise UserError(f"{where}: {game.spec} seats {game.seats}, and {len(result.spec.agents)} are named in it.")
    return game
