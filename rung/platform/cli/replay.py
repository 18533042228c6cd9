"""`rung replay`: watch a recorded match."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rung.errors import UserError

if TYPE_CHECKING:
    from rung.platform.match import MatchResult


def replay(
    file: Annotated[Path, typer.Argument(help="What rung play --out wrote.")],
    match: Annotated[int, typer.Option(min=1, help="Which match of the file.")] = 1,
    step: Annotated[bool, typer.Option("--step", help="Wait for Enter after each move; q and Enter stops.")] = False,
) -> None:
    """Play a recorded match again, move by move, and check it against the rules."""
    from rung.platform.recording import read

    results = list(read(file))
    if match > len(results):
        raise UserError(f"{file} holds {len(results)} matches; there is no match {match}.")
    _show(results[match - 1], f"{file}, match {match}", step)


def _show(result: MatchResult, where: str, step: bool) -> None:
    from rung.platform.cli.show import ending_text, move_text
    from rung.platform.replay import checked_game, replay

    game = checked_game(result, where)
    for move in replay(result, where):
        if move.number > len(result.moves):
            typer.echo(game.render(move.state) + "\n" + ending_text(game, result))
            return
        typer.echo(f"{move.number}. {move_text(game, move.state, move.action)}")
        if step and not _wants_more():
            return


def _wants_more() -> bool:
    try:
        return input().strip().lower() != "q"
    except EOFError:
        return False
