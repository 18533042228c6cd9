"""Matches as text for people, shared by `play --show` and `replay`."""

from __future__ import annotations

from rung.games.game import CHANCE, Game, State
from rung.platform.match import Forfeit, MatchResult, Void


def move_text(game: Game, state: State, action: int, note: str = "") -> str:
    """The position, and what is played in it."""
    mover = "chance" if state.turn == CHANCE else game.seat_names[state.turn]
    why = f"   ({note})" if note else ""
    return f"{mover}: {game.action_text(state, action)}{why}\n{game.render(state)}\n"


def ending_text(game: Game, result: MatchResult) -> str:
    """How the match ended, and who came where."""
    lines = []
    if isinstance(result.ending, Forfeit):
        lines.append(
            f"{game.seat_names[result.ending.seat]} forfeits ({result.ending.reason}): {result.ending.detail}."
        )
    if isinstance(result.ending, Void):
        lines.append(f"Void: {result.ending.detail}.")
    seats = zip(game.seat_names, result.spec.agents, result.scores, result.ranks, strict=True)
    lines += [f"{rank}. {name} ({agent}), score {score:g}" for name, agent, score, rank in seats]
    return "\n".join(lines) + "\n"
