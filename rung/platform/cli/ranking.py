"""`rung rank`, `rung verify` and `rung ladders`: what a database knows."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rung.errors import UserError
from rung.platform.cli.tournament import DEFAULT_DB

if TYPE_CHECKING:
    from rung.platform.beliefs import Beliefs
    from rung.platform.store import Ladder, Store

_Db = Annotated[str, typer.Option(help="Where results are kept: a file, or postgresql://…")]
_Json = Annotated[bool, typer.Option("--json", help="One JSON document for programs, and nothing else.")]


def ladders(db: _Db = DEFAULT_DB, json: _Json = False) -> None:
    """List the ladders and tournaments of a database."""
    from rung.platform.store import open_store

    with open_store(db, create=False) as store:
        found = [(ladder, store.counts(ladder.id), len(store.agents(ladder.id))) for ladder in store.ladders()]
    if json:
        import json as formats

        rows: list[dict[str, Any]] = [
            {
                "name": ladder.name,
                "game": ladder.game,
                "state": ladder.state,
                "why": ladder.why,
                "agents": agents,
                **vars(counts),
            }
            for ladder, counts, agents in found
        ]
        typer.echo(formats.dumps(rows))
        return
    from rich.table import Table

    from rung.platform.cli.console import Terminal

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading, justify in (("name", "left"), ("game", "left"), ("state", "left"), ("agents", "right")):
        table.add_column(heading, justify="right" if justify == "right" else "left")
    for heading in ("matches", "parked"):
        table.add_column(heading, justify="right")
    table.add_column("why", overflow="fold")
    for ladder, counts, agents in found:
        numbers = (f"{agents:,}", f"{counts.finished:,}", f"{counts.parked:,}")
        table.add_row(ladder.name, ladder.game, ladder.state, *numbers, ladder.why)
    Terminal().print(table)


def rank(
    ladder: Annotated[str, typer.Argument(help="Its name; `rung ladders` lists them.")],
    db: _Db = DEFAULT_DB,
    json: _Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="Comma-separated values with a heading.")] = False,
) -> None:
    """Say who is better in a ladder, and how sure that is."""
    from rung.platform.cli.standings import document, standings, standings_table, verdict_line
    from rung.platform.store import open_store

    if json and csv:
        raise UserError("Give --json or --csv, not both.")
    with open_store(db, create=False) as store:
        found = store.ladder(ladder)
        beliefs = believed(store, found)
        rows = standings(beliefs, store.agents(found.id))
    if json:
        import json as formats

        about = {"ladder": found.name, "game": found.game, "state": found.state, "why": found.why}
        settled = {"matches": beliefs.matches, "pairs": beliefs.separation.counts}
        typer.echo(formats.dumps({**about, **settled, "standings": document(rows)}))
    elif csv:
        _print_csv(document(rows))
    else:
        from rung.platform.cli.console import Terminal

        console = Terminal()
        console.print(standings_table(rows))
        console.print(f"{beliefs.matches:,} matches of {found.game}; {verdict_line(beliefs)}", highlight=False)
        if found.why:
            console.print(found.why, highlight=False)


def verify(
    ladder: Annotated[str, typer.Argument(help="Its name; `rung ladders` lists them.")], db: _Db = DEFAULT_DB
) -> None:
    """Rebuild every rating of a ladder from its log, and compare to the last bit."""
    from rung.platform.store import open_store

    with open_store(db, create=False) as store:
        found = store.ladder(ladder)
        differences = store.verify(found.id)
    for difference in differences:
        sys.stderr.write(f"{difference}\n")
    if differences:
        raise typer.Exit(1)
    matches = f"{found.log_length:,} match" + ("" if found.log_length == 1 else "es")
    typer.echo(f"{found.name}: {matches}, and every rating follows from them.")


def believed(store: Store, ladder: Ladder) -> Beliefs:
    """What a ladder's log says."""
    from rung.platform.beliefs import Beliefs
    from rung.platform.rules import Rules
    from rung.platform.series import seatings

    rules = Rules.of_data(ladder.settings.options)
    size = len(seatings(ladder.seats)) if rules.paired else 1
    beliefs = Beliefs(ladder.teams, size, ladder.settings.glicko, rules.alpha, rules.margin_elo)
    beliefs.grow(len(store.agents(ladder.id)))
    beliefs.add(store.columns(ladder.id))
    return beliefs


def _print_csv(rows: list[dict[str, Any]]) -> None:
    import csv as formats

    if rows:
        writer = formats.DictWriter(sys.stdout, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
