"""`rung simulate`: pairing rules side by side, on agents whose strength is known."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rung.errors import UserError, is_interrupt

if TYPE_CHECKING:
    from rich.table import Table

    from rung.scheduler.simulate import Plan, Run

INTERRUPTED = 130
_MOST_AGENTS = 1000
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Small matrices lose by more threads, and workers already keep the cores busy."""


def simulate(
    world: Annotated[
        str, typer.Argument(help="bias, costs, cycle, draws, equal, even, gap, groups, newcomer or normal.")
    ] = ("normal"),
    rules: Annotated[
        list[str] | None,
        typer.Option(
            "--rule", help="gain, katago, random, round_robin, swiss or z; give it again for more; all of them without."
        ),
    ] = None,
    agents: Annotated[int, typer.Option(min=2, max=_MOST_AGENTS, help="How many.")] = 20,
    matches: Annotated[int, typer.Option(min=1, help="At most, in a ladder.")] = 20_000,
    repetitions: Annotated[int, typer.Option(min=1, help="Ladders for each rule.")] = 20,
    settle: Annotated[float, typer.Option(help="Share of the pairs to settle; then a ladder ends.")] = 0.95,
    batch: Annotated[int, typer.Option(min=1, help="Matches chosen together.")] = 10,
    alpha: Annotated[float, typer.Option(help="Share of ladders in which a verdict may be wrong.")] = 0.05,
    margin: Annotated[float, typer.Option(help="Elo points within which two agents are practically equal.")] = 35.0,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same ladders.")] = 1,
    workers: Annotated[int, typer.Option(min=1, max=1024, help="Processes to simulate in.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="One JSON document for programs, and nothing else.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw what is settled against matches, as PNG, SVG or PDF.")] = None,
) -> None:
    """Simulate ladders of agents with known strength, and say what each pairing rule needs and how often it is wrong."""
    if plot:
        _check_plot(plot)
    plans = _plans(world, rules or [], agents, matches, repetitions, settle, batch, alpha, margin, seed)
    found = _Found(plans)
    code = found.collect(workers, quiet=json)
    if json:
        _print_document(found, settle)
    else:
        _print_table(found, settle)
    if plot and found.runs:
        _draw(found, plot)
        if not json:
            sys.stderr.write(f"Drawn in {plot}.\n")
    if code:
        raise typer.Exit(code)


def _plans(
    world: str,
    rules: list[str],
    agents: int,
    matches: int,
    repetitions: int,
    settle: float,
    batch: int,
    alpha: float,
    margin: float,
    seed: int,
) -> list[Plan]:
    from rung.scheduler.pairing import RULES
    from rung.scheduler.separation import check
    from rung.scheduler.simulate import Plan
    from rung.scheduler.worlds import make_world

    check(alpha, margin)
    make_world(world, agents, seed)
    if len(set(rules)) < len(rules):
        raise UserError("Each --rule is to be given once.")
    return [
        Plan(world, agents, rule, seed + repetition, matches, batch, 0.02, until=settle, alpha=alpha, margin_elo=margin)
        for repetition in range(repetitions)
        for rule in rules or RULES
    ]


class _Found:
    """The ladders so far."""

    def __init__(self, plans: list[Plan]) -> None:
        self.plans = plans
        self.runs: list[Run] = []

    @property
    def rules(self) -> list[str]:
        return list(dict.fromkeys(plan.rule for plan in self.plans))

    def of(self, rule: str) -> list[Run]:
        return [run for run in self.runs if run.plan.rule == rule]

    def collect(self, workers: int, quiet: bool) -> int:
        """Run the ladders; the exit code."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        from rung.platform.cli.console import Terminal

        console = Terminal(stderr=True)
        columns = (BarColumn(20), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
        try:
            with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
                task = bar.add_task("compiling", total=len(self.plans))
                for run in _simulated(self.plans, workers):
                    self.runs.append(run)
                    bar.update(task, advance=1, description=f"ladders of {run.plan.world}")
        except (KeyboardInterrupt, SystemError) as error:
            if not is_interrupt(error):
                raise
            done = f"{len(self.runs)} of {len(self.plans)} ladders"
            sys.stderr.write(f"Stopped by Ctrl-C after {done}; this is what they say.\n")
            return INTERRUPTED
        return 0


def _simulated(plans: list[Plan], workers: int) -> Iterator[Run]:
    """The runs in the order of their plans."""
    if workers == 1:
        yield from map(_simulate, plans)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    for name in _ONE_THREAD:
        os.environ.setdefault(name, "1")
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_become_worker)
    try:
        yield from pool.map(_simulate, plans)
    finally:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)


def _simulate(plan: Plan) -> Run:
    from rung.scheduler.simulate import run

    return run(plan, time.process_time)


def _become_worker() -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)


# -- what is shown ---------------------------------------------------------------------------------------------------


def summary(runs: list[Run], settle: float) -> dict[str, Any]:
    """What the ladders of one rule say."""
    from statistics import fmean, median

    def number(value: float) -> float | None:
        return None if value == float("inf") else value

    shares = sorted({0.5, 0.8, settle})
    newcomers = [run.newcomer for run in runs if run.newcomer]
    return {
        "rule": runs[0].plan.rule,
        "ladders": len(runs),
        "matches_until": {f"{share:g}": number(median(run.matches_until(share) for run in runs)) for share in shares},
        "seconds_until": {f"{share:g}": number(median(run.seconds_until(share) for run in runs)) for share in shares},
        "tau": [
            [round(fmean(at for at, _ in column)), fmean(tau for _, tau in column)]
            for column in zip(*(run.tau for run in runs), strict=False)
        ],
        "wrong": fmean(run.wrong > 0 for run in runs),
        "plain_wrong": fmean(run.plain_wrong > 0 for run in runs),
        "covered": fmean(run.covered for run in runs),
        "always_covered": fmean(run.always_covered for run in runs),
        "longest_wait": max(run.waited for run in runs),
        "newcomer_matches": median(own for own, _ in newcomers) if newcomers else None,
        "cpu_us_per_match": 1e6 * sum(run.cpu_s for run in runs) / max(1, sum(run.matches for run in runs)),
    }


def _print_table(found: _Found, settle: float) -> None:
    from rung.platform.cli.console import Terminal

    if not found.runs:
        return
    console = Terminal()
    console.print(_table(found, settle))
    plan = found.plans[0]
    console.print(
        f"{plan.world}: {plan.agents} agents, {len(found.runs)} ladders of at most {plan.matches:,} matches. Under each "
        "percentage: matches until that share of pairs is settled, the median; – where half of the ladders ended before.",
        highlight=False,
    )


def _table(found: _Found, settle: float) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("rule", no_wrap=True)
    shares = sorted({0.5, 0.8, settle})
    for heading in [*(f"{share:.0%}" for share in shares), "τ", "wrong", "by Z", "covered", "always", "wait", "µs"]:
        table.add_column(heading, justify="right", no_wrap=True)
    for rule in found.rules:
        runs = found.of(rule)
        if not runs:
            continue
        says = summary(runs, settle)
        until = [says["matches_until"][f"{share:g}"] for share in shares]
        cells = [f"{matches:,.0f}" if matches is not None else "–" for matches in until]
        cells += [f"{says['tau'][-1][1]:.2f}" if says["tau"] else "–"]
        cells += [f"{100 * says[name]:.1f}" for name in ("wrong", "plain_wrong", "covered", "always_covered")]
        table.add_row(rule, *cells, f"{says['longest_wait']:.1f}", f"{says['cpu_us_per_match']:.0f}")
    return table


def _print_document(found: _Found, settle: float) -> None:
    import json
    from dataclasses import asdict

    plan = asdict(found.plans[0])
    settings = {name: plan[name] for name in ("world", "agents", "matches", "batch", "alpha", "margin_elo", "seed")}
    rules = [summary(runs, settle) for rule in found.rules if (runs := found.of(rule))]
    stopped = None if len(found.runs) == len(found.plans) else "Stopped by Ctrl-C"
    typer.echo(json.dumps({**settings, "settle": settle, "stopped": stopped, "rules": rules}))


def _check_plot(file: Path) -> None:
    from importlib.util import find_spec

    from rung.platform.recording import check_writable

    if file.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise UserError(f"--plot writes .png, .svg or .pdf, not {file.name}.")
    if find_spec("matplotlib") is None:
        raise UserError("--plot needs matplotlib: pip install 'rung[plot]'.")
    check_writable(file)


def _draw(found: _Found, file: Path) -> None:
    """The share of pairs that is settled, against matches: the median over ladders, and their middle half."""
    import matplotlib as mpl
    import numpy as np

    mpl.use("agg")
    from matplotlib import pyplot

    shares = np.linspace(0.02, 1.0, 50)
    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    for rule in found.rules:
        runs = found.of(rule)
        if not runs:
            continue
        until = np.array([[run.matches_until(share) for share in shares] for run in runs])
        low, middle, high = np.quantile(until, [0.25, 0.5, 0.75], axis=0, method="inverted_cdf")
        (line,) = axes.plot(middle, shares, label=rule)
        inside = np.isfinite(high)
        axes.fill_betweenx(shares[inside], low[inside], high[inside], color=line.get_color(), alpha=0.15)
    plan = found.plans[0]
    axes.set(xscale="log", ylim=(0, 1), xlabel="matches", ylabel="share of pairs settled")
    axes.set_title(f"{plan.world}: {plan.agents} agents, {len(found.of(found.rules[0]))} ladders for each rule")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(file, dpi=120)
    pyplot.close(figure)
