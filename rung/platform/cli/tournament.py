"""`rung tournament`: a field of agents plays until it is known who is better, and everything is kept."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rung.errors import UserError

if TYPE_CHECKING:
    from rich.console import Group

    from rung.platform.ladder import LadderLoop
    from rung.platform.rules import Rules
    from rung.platform.runner import Runner
    from rung.platform.store import Ladder, Store
    from rung.platform.tournament import Tournament

INTERRUPTED = 130
DEFAULT_DB = "rung.db"
_REFRESH_S = 1.0
_LINE_S = 10.0
_MOST_ROWS = 30
_TURN_S = 0.2


def tournament(
    file: Annotated[Path, typer.Argument(help="A TOML file: game, agents, pairing, stop.")],
    db: Annotated[str, typer.Option(help="Where results are kept: a file, or postgresql://…")] = DEFAULT_DB,
    address: Annotated[
        str, typer.Option(help="Who plays: local (Ray on this machine), pool, serial, or host:port of a Ray cluster.")
    ] = "local",
    workers: Annotated[int | None, typer.Option(min=1, help="Matches at a time; by default one a core.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the tournament of this name.")] = False,
) -> None:
    """Play a tournament until its stop rule holds. Ctrl-C ends it after the running matches, twice at once; --resume goes on."""
    from rung.platform.runner import open_runner
    from rung.platform.store import open_store
    from rung.platform.tournament import load

    plan = load(file)
    with open_store(db) as store:
        ladder = _ladder(store, plan, resume)
        _say(f"{plan.name}: {len(plan.agents)} agents, {plan.game}; results in {store.label}.")
        with open_runner(address, workers) as runner:
            code = _Show(store, runner, ladder, plan.rules).run()
    if code:
        raise typer.Exit(code)


def _say(sentence: str) -> None:
    sys.stderr.write(sentence + "\n")


def _ladder(store: Store, plan: Tournament, resume: bool) -> Ladder:
    """The tournament's ladder, new or, to resume, as it is."""
    from rung.platform.rules import Rules
    from rung.platform.store import Settings

    known = {ladder.name: ladder for ladder in store.ladders()}
    options = plan.rules.as_data()
    if not resume:
        if plan.name in known:
            raise UserError(
                f"There is a tournament called {plan.name} in {store.label} already: --resume goes on with it, another name"
                " begins a new one."
            )
        now = time.time()
        ladder = store.create_ladder(plan.name, plan.game, now, Settings(options=options))
        for entry in plan.agents:
            store.add_agent(ladder.id, entry.name, entry.spec, now)
        return store.reload(ladder.id)
    if plan.name not in known:
        raise UserError(f"There is no tournament called {plan.name} in {store.label} to resume: leave --resume out.")
    ladder = known[plan.name]
    field = [(agent.name, agent.spec) for agent in store.agents(ladder.id)]
    same = ladder.game == plan.game and field == [(entry.name, entry.spec) for entry in plan.agents]
    kept = Rules.of_data(ladder.settings.options)
    if not same or replace(kept, limits=plan.rules.limits) != plan.rules:
        raise UserError(
            f"The file does not describe the tournament {plan.name} of {store.label}: only what is under [stop] may change."
        )
    store.set_ladder_state(ladder.id, "active")
    return store.reload(ladder.id)


class _Show:
    """A tournament being played, and what is seen of it."""

    def __init__(self, store: Store, runner: Runner, ladder: Ladder, rules: Rules) -> None:
        from rung.platform.cli.console import Terminal
        from rung.platform.ladder import LadderLoop

        self.runner = runner
        self.loop: LadderLoop = LadderLoop(store, runner, ladder, rules=rules)
        self.console = Terminal()
        self.interrupts = 0
        self.began, self.matches_before = time.monotonic(), self.loop.beliefs().matches

    def run(self) -> int:
        """Play to the end; the exit code."""
        with self._interrupts_counted(), self._watched() as look:
            shown_at = 0.0
            while self.interrupts < 2 and self.loop.turn(_TURN_S):
                if self.interrupts and not self.loop.winding_up:
                    self.loop.wind_up("Stopped by Ctrl-C; --resume goes on.")
                if time.monotonic() - shown_at >= look.every_s:
                    look()
                    shown_at = time.monotonic()
        if self.interrupts:
            self.runner.stop(now=True)
            self.loop.hand_in(self.runner.collect(0.0))
            self.loop.give_back()
        else:
            self.loop.end(self.loop.closing)
        self._print_end()
        return INTERRUPTED if self.interrupts else 0

    @contextmanager
    def _interrupts_counted(self) -> Iterator[None]:
        def count(*_: object) -> None:
            self.interrupts += 1
            if self.interrupts == 1:
                _say(
                    "Finishing the matches that are running; Ctrl-C again stops at once, and loses none that is finished."
                )

        before = signal.signal(signal.SIGINT, count)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def _watched(self) -> Iterator[_Look]:
        """A live table on a terminal, a line now and then elsewhere."""
        if not self.console.is_terminal:
            yield _Look(lambda: _say(self._line()), _LINE_S)
            return
        from rich.live import Live

        with Live(console=self.console, auto_refresh=False, transient=True) as live:
            yield _Look(lambda: live.update(self._view(), refresh=True), _REFRESH_S)

    def _view(self) -> Group:
        from rich.console import Group

        from rung.platform.cli.standings import standings, standings_table, verdict_line

        beliefs = self.loop.beliefs()
        rows = standings(beliefs, self.loop.standing_agents())
        more = f"… and {len(rows) - _MOST_ROWS} more" if len(rows) > _MOST_ROWS else ""
        return Group(standings_table(rows, _MOST_ROWS), *([more] if more else []), verdict_line(beliefs), self._pace())

    def _line(self) -> str:
        from rung.platform.cli.standings import standings, verdict_line

        beliefs = self.loop.beliefs()
        if not beliefs.matches:
            return f"no match is finished yet; {self.runner.cores} cores"
        leader = standings(beliefs, self.loop.standing_agents())[0]
        return f"{self._pace()}; {verdict_line(beliefs)}; ahead: {leader.name}"

    def _pace(self) -> str:
        played = self.loop.beliefs().matches
        speed = (played - self.matches_before) / max(time.monotonic() - self.began, 1e-9)
        cores = self.runner.cores
        return f"{played:,} matches, {speed:,.1f} a second, {cores} cores {self.runner.busy():.0%} busy{self._left()}"

    def _left(self) -> str:
        """The time that the matches of the open pairs may take, if they are played one pair after the other."""
        from rung.platform.cli.standings import matches_left

        beliefs = self.loop.beliefs()
        played = beliefs.matches
        speed = (played - self.matches_before) / max(time.monotonic() - self.began, 1e-9)
        left = matches_left(beliefs, self.loop.rules.limits.matches)
        if not speed or left is None:
            return ""
        return f", about {_span(left / speed)} left" if left else ""

    def _print_end(self) -> None:
        from rung.platform.cli.standings import standings, standings_table, verdict_line

        beliefs = self.loop.beliefs()
        self.console.print(standings_table(standings(beliefs, self.loop.standing_agents())))
        self.console.print(f"{beliefs.matches:,} matches; {verdict_line(beliefs)}", highlight=False)
        self.console.print(self.loop.closing or "Stopped by Ctrl-C; --resume goes on.", highlight=False)


class _Look:
    def __init__(self, look: Callable[[], None], every_s: float) -> None:
        self._look, self.every_s = look, every_s

    def __call__(self) -> None:
        self._look()


def _span(seconds: float) -> str:
    for unit, size in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
