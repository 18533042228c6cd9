"""`rung play`: a series of matches from the shell."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rung.errors import UserError, is_interrupt

if TYPE_CHECKING:
    from rich.table import Table

    from rung.games.game import Game, State
    from rung.platform.match import MatchResult
    from rung.platform.series import Planned, Tally

INTERRUPTED, WORKER_DIED = 130, 1
_REFRESH_S = 0.2
_MOST_MATCHES = 1_000_000
_MOST_WORKERS_A_CORE = 16
_USUAL_MATCHES = 100


def play(
    game: Annotated[str, typer.Argument(help="What to play, like hex; `rung games` lists them.")],
    agents: Annotated[list[str], typer.Argument(help='One for each seat, like random or "mcts(iterations=500)".')],
    matches: Annotated[
        int | None, typer.Option(min=1, max=_MOST_MATCHES, help="How many; 100 by default, 1 with --show.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same matches.")] = 1,
    settings: Annotated[list[str] | None, typer.Option("--set", help="A parameter of the game, like size=7.")] = None,
    paired: Annotated[bool, typer.Option(help="Play each deal in every seating of the agents.")] = True,
    workers: Annotated[int, typer.Option(min=1, help="Processes to play in.")] = 1,
    clock: Annotated[
        str | None, typer.Option(help="Seconds a seat has for a match, like 60 or 60+0.5 (added a move).")
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Show every position and why it was played.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document for programs, and nothing else.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write the matches to this file, for rung replay.")] = None,
) -> None:
    """Let agents play a series of matches, and say who is better and how sure that is."""
    from rung.platform.recording import check_writable, write

    if show and json:
        raise UserError("--show is for people and --json for programs: give one of them.")
    _check_workers(workers)
    if out:
        check_writable(out)
    planned = _planned(game, agents, settings or [], matches or _USUAL_MATCHES, seed, paired, clock)
    if show and not matches:
        planned = planned[:1]
    _compile(planned[0], quiet=json)
    if matches and len(planned) != matches and not json:
        _say(f"{matches} rounded up to {len(planned)} matches, as every deal is played in all its seatings.")
    series = _Series(planned, workers, progress=not json and not show)
    try:
        code = series.run(show)
    finally:
        if out and series.results:
            write(out, series.results)
    if json:
        _print_document(series)
    else:
        _print_table(series)
        if out and series.results:
            _say(f"{_count(len(series.results), 'match')} in {out}; rung replay {out} shows the first.")
    if code:
        raise typer.Exit(code)


def _check_workers(workers: int) -> None:
    """More processes than this only take memory from each other."""
    most = _MOST_WORKERS_A_CORE * (os.cpu_count() or 1)
    if workers > most:
        raise UserError(
            f"--workers takes at most {most} on this machine, {_MOST_WORKERS_A_CORE} a core, not {workers}."
        )


def _say(sentence: str) -> None:
    sys.stderr.write(sentence + "\n")


def _planned(
    name: str, agents: list[str], settings: list[str], matches: int, seed: int, paired: bool, clock: str | None
) -> list[Planned]:
    from rung.agents.spec import normal
    from rung.games import GAMES
    from rung.parameters import parse_call, parse_settings
    from rung.platform.series import parse_clock, plan

    name, given = parse_call(name, "A game")
    kind = GAMES.load(name)
    game = kind(**{**given, **parse_settings(name, kind.parameters, settings)})
    specs = [normal(agent) for agent in agents]
    if len(specs) != game.seats:
        raise UserError(f"{game.spec} seats {_count(game.seats, 'agent')}, not {len(specs)}{_seats_hint(game)}.")
    limit = parse_clock(clock) if clock is not None else None
    return plan(game.spec, specs, matches, seed, paired, limit)


def _count(number: int, thing: str) -> str:
    plural = f"{thing}es" if thing.endswith("ch") else f"{thing}s"
    return f"{number} {thing if number == 1 else plural}"


def _seats_hint(game: Game) -> str:
    players = next((p for p in game.parameters if p.name == "players"), None)
    return f"; --set players=N takes {players.accepts}" if players else ""


def _compile(match: Planned, quiet: bool) -> None:
    """Compile before the first clock runs, and say so when it takes a while."""
    from rung.jit import first_use
    from rung.platform.match import prepare

    names = sorted({match.spec.game.partition("(")[0], *(agent.partition("(")[0] for agent in match.spec.agents)})
    with first_use("-".join(names)) as is_first:
        if is_first and not quiet:
            _say(f"Compiling {', '.join(names)}; this happens once.")
        prepare(match.spec)


class _Series:
    """A series being played, with its results so far."""

    def __init__(self, planned: list[Planned], workers: int, progress: bool) -> None:
        from rung.platform.match import game_of
        from rung.platform.series import Tally

        first = planned[0]
        agents = [first.spec.agents[first.seating.index(entrant)] for entrant in range(len(first.seating))]
        self.planned, self.workers, self.progress = planned, workers, progress
        self.tally: Tally = Tally(agents, game_of(first.spec.game).teams)
        self.results: list[MatchResult] = []
        self.seconds = 0.0
        self.stopped = ""

    def run(self, show: bool) -> int:
        """Play; the exit code."""
        from rung.platform.series import WorkerDied

        began = time.perf_counter()
        code = 0
        try:
            if show:
                self._show()
            elif self.progress:
                self._play_with_progress()
            else:
                self._play(lambda: None)
        except (KeyboardInterrupt, SystemError) as error:
            if not is_interrupt(error):
                raise
            code, self.stopped = INTERRUPTED, "Stopped by Ctrl-C"
        except WorkerDied:
            code, self.stopped = WORKER_DIED, "A worker process died"
        self.seconds = time.perf_counter() - began
        if self.stopped:
            _say(f"{self.stopped} after {len(self.results)} of {len(self.planned)} matches; this is what they say.")
        return code

    def _play(self, after_each: Any) -> None:
        from rung.platform.series import play_series

        for match, result in zip(self.planned, play_series(self.planned, self.workers), strict=True):
            self.results.append(result)
            self.tally.add(match, result)
            after_each()

    def _play_with_progress(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        from rung.platform.cli.console import Terminal

        columns = (BarColumn(20), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.fields[rates]}"))
        console = Terminal(stderr=True)
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task("", total=len(self.planned), rates="")
            shown_at = 0.0

            def after_each() -> None:
                nonlocal shown_at
                if time.perf_counter() - shown_at > _REFRESH_S:
                    shown_at = time.perf_counter()
                    progress.update(task, completed=len(self.results), rates=_rates(self.tally))

            self._play(after_each)

    def _show(self) -> None:
        from rung.platform.match import play

        for match in self.planned:
            result = play(match.spec, watch=_watch)
            self.results.append(result)
            self.tally.add(match, result)
            _print_ending(result)


def _rates(tally: Tally) -> str:
    from rung.platform.series import rate

    rates = [(entrant.agent, rate(entrant.payoffs)) for entrant in tally.entrants]
    return "  ".join(f"{agent} {r.mean:.1%} ({r.low:.0%}–{r.high:.0%})" for agent, r in rates)


def _watch(game: Game, state: State, action: int, note: str) -> None:
    from rung.platform.cli.show import move_text

    typer.echo(move_text(game, state, action, note))


def _print_ending(result: MatchResult) -> None:
    from rung.platform.cli.show import ending_text
    from rung.platform.match import game_of
    from rung.platform.replay import replay

    game = game_of(result.spec.game)
    *_, last = replay(result, "this match")
    typer.echo(game.render(last.state) + "\n" + ending_text(game, result))


def _print_table(series: _Series) -> None:
    from rung.platform.cli.console import Terminal

    tally = series.tally
    console = Terminal()
    console.print(_table(tally))
    speed = tally.moves / series.seconds if series.seconds else 0.0
    line = (
        f"{_count(tally.played, 'match')} of {series.planned[0].spec.game}, {tally.moves} moves, {speed:,.0f} moves/s"
    )
    if tally.voids:
        line += f", {tally.voids} void (not counted)"
    console.print(line, highlight=False)
    _say_faults(series)


def _table(tally: Tally) -> Table:
    from rich.table import Table

    from rung.platform.series import rate

    seats = len(tally.entrants)
    gap = 2 if seats <= 2 else 1  # so that a table with mean ranks fits a terminal, too
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0))
    table.add_column("agent", overflow="fold")
    headings = [*(["wins", "draws", "losses"] if seats > 1 else []), "rate (95 % interval)"]
    headings += ["mean rank"] if seats > 2 else []
    for heading in [*headings, "forfeits"]:
        table.add_column(heading, justify="right", no_wrap=True)
    for entrant in tally.entrants:
        r = rate(entrant.payoffs)
        cells = [f"{entrant.wins}", f"{entrant.draws}", f"{entrant.losses}"] if seats > 1 else []
        cells += [f"{r.mean:.1%} ({100 * r.low:.1f}–{100 * r.high:.1f})"]
        cells += [f"{entrant.ranks / max(1, entrant.matches):.2f}"] if seats > 2 else []
        table.add_row(entrant.agent, *cells, f"{entrant.forfeits}")
    return table


def _say_faults(series: _Series) -> None:
    """The first fault of each agent, and of the game: a person should not have to look for it."""
    from rung.platform.match import Forfeit, Void

    told = set()
    for number, result in enumerate(series.results, start=1):
        ending = result.ending
        if isinstance(ending, Forfeit):
            who, fault = result.spec.agents[ending.seat], f"forfeited match {number} ({ending.reason})"
        elif isinstance(ending, Void):
            who, fault = result.spec.game, f"left match {number} void"
        else:
            continue
        if who not in told:
            told.add(who)
            _say(f"{who} {fault}: {ending.detail}.")


def _print_document(series: _Series) -> None:
    import json
    from dataclasses import asdict

    from rung.platform.recording import as_document
    from rung.platform.series import rate

    entrants = [
        {
            "agent": entrant.agent,
            "wins": entrant.wins,
            "draws": entrant.draws,
            "losses": entrant.losses,
            "forfeits": entrant.forfeits,
            "mean_rank": entrant.ranks / max(1, entrant.matches),
            "rate": asdict(rate(entrant.payoffs)),
        }
        for entrant in series.tally.entrants
    ]
    document = {
        "game": series.planned[0].spec.game,
        "planned": len(series.planned),
        "played": len(series.results),
        "voids": series.tally.voids,
        "stopped": series.stopped or None,
        "seconds": round(series.seconds, 3),
        "agents": entrants,
        "matches": [
            {"group": match.group, "seating": match.seating, **as_document(result)}
            for match, result in zip(series.planned, series.results, strict=False)
        ],
    }
    typer.echo(json.dumps(document))
