"""`rung games` and `rung agents`: what there is, and every parameter of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rung.errors import UserError

if TYPE_CHECKING:
    from rung.games.game import Game
    from rung.parameters import Parameter
    from rung.registry import Registry

Json = Annotated[bool, typer.Option("--json", help="One JSON document for programs.")]


def games(
    name: Annotated[str | None, typer.Argument(help="One game, with its parameters.")] = None, json: Json = False
) -> None:
    """List the games, or describe one."""
    from rung.games import GAMES

    _show(GAMES, name, json, lambda kind: _facts_of_game(kind()))


def agents(
    name: Annotated[str | None, typer.Argument(help="One agent, with its parameters.")] = None, json: Json = False
) -> None:
    """List the agents, or describe one."""
    from rung.agents import AGENTS

    _show(AGENTS, name, json, lambda kind: {})


def _facts_of_game(game: Game) -> dict[str, Any]:
    """What holds under the default parameters."""
    return {
        "version": game.version,
        "seats": game.seats,
        "seat_names": list(game.seat_names),
        "hidden_information": game.hidden,
        "dice": game.chance,
        "longest_match": game.max_moves,
    }


def _show(registry: Registry[Any], name: str | None, as_json: bool, facts: Any) -> None:
    kinds = {name: registry.load(name)} if name else _all_that_load(registry)
    if as_json:
        import json

        documents = [
            {"name": each, "summary": kind.summary, **facts(kind), "parameters": _as_documents(kind.parameters)}
            for each, kind in kinds.items()
        ]
        typer.echo(json.dumps(documents[0] if name else documents, indent=2))
    elif name:
        _describe(name, kinds[name], facts(kinds[name]))
    else:
        _list(kinds, facts)


def _all_that_load(registry: Registry[Any]) -> dict[str, Any]:
    """Everything but what another package promised and does not keep, which is said."""
    kinds = {}
    for name in registry.names():
        try:
            kinds[name] = registry.load(name)
        except UserError as error:
            sys.stderr.write(f"rung: {error}\n")
    return kinds


def _as_documents(parameters: Sequence[Parameter]) -> list[dict[str, Any]]:
    return [{"name": p.name, "default": p.default, "accepts": p.accepts, "meaning": p.meaning} for p in parameters]


def _list(kinds: dict[str, Any], facts: Any) -> None:
    from rich.table import Table

    from rung.platform.cli.console import Terminal

    table = Table(box=None, pad_edge=False)
    for heading in ("name", "summary", "parameters"):
        table.add_column(heading, no_wrap=heading == "name")
    for name, kind in kinds.items():
        table.add_row(name, kind.summary, ", ".join(p.name for p in kind.parameters))
    Terminal().print(table)


def _describe(name: str, kind: Any, facts: dict[str, Any]) -> None:
    from rich.table import Table

    from rung.platform.cli.console import Terminal

    console = Terminal()
    console.print(f"[bold]{name}[/]: {kind.summary}", highlight=False)
    for fact, value in facts.items():
        text = (
            ", ".join(value)
            if isinstance(value, list)
            else {True: "yes", False: "no"}.get(value, value)
            if isinstance(value, bool)
            else value
        )
        console.print(f"  {fact.replace('_', ' ')}: {text}", highlight=False)
    if not kind.parameters:
        console.print("  no parameters")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2))
    for heading in ("parameter", "default", "accepts", "meaning"):
        table.add_column(heading, no_wrap=heading == "parameter")
    for p in kind.parameters:
        table.add_row(p.name, repr(p.default), p.accepts, p.meaning)
    console.print(table)
