"""What the platform adds to the matches it runs. Sections, all or some by `--section`:

`overhead`: the share of core time spent inside matches of some 50 ms, and random connect_four matches a second, through the
pool and through local Ray, beside a bare `multiprocessing` pool that plays the same specs and does nothing else. All of them
are open at the same time and take turns.

The file is not called after what it measures since a `platform.py` here would hide Python's own from every benchmark.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from itertools import count
from multiprocessing.pool import Pool
from statistics import median

from _peers import show, verdict

from rung.platform.match import MatchResult, MatchSpec, play, prepare
from rung.platform.runner import Runner, Task, open_runner
from rung.platform.runner.processes import cores_here
from rung.platform.runner.work import become_worker

GAME = "connect_four"
RUNNERS = ("pool", "local")
BARE = "multiprocessing.Pool"
ROUNDS = 3
MATCH_S = 0.05
SHARE_AIM = 0.9
LONG_MATCHES, SHORT_MATCHES = 160, 12_000
BARE_CHUNK = 50

Specs = Callable[[int], list[MatchSpec]]
Play = Callable[[list[MatchSpec]], float]
"""Plays them all and says for how many seconds it was inside matches."""


def searches(number: int, iterations: int, seeds: Iterator[int]) -> list[MatchSpec]:
    agent = f"mcts(iterations={iterations})"
    return [MatchSpec(GAME, (agent, agent), seed, seed) for _, seed in zip(range(number), seeds, strict=False)]


def random_matches(number: int, seeds: Iterator[int]) -> list[MatchSpec]:
    return [MatchSpec(GAME, ("random", "random"), seed, seed) for _, seed in zip(range(number), seeds, strict=False)]


def iterations_of(match_s: float) -> int:
    """With how many simulations a move a match takes about this long here."""
    specs = searches(10, 1000, count())
    prepare(specs[0])
    began = time.perf_counter()
    for spec in specs:
        play(spec)
    return round(1000 * match_s * len(specs) / (time.perf_counter() - began))


def through(runner: Runner) -> Play:
    """Keep the runner as full as it wants to be, until all is played."""
    numbers = count()

    def play_all(specs: list[MatchSpec]) -> float:
        tasks = [Task(next(numbers), 1, spec, MATCH_S) for spec in specs]
        handed = done = 0
        inside_s = 0.0
        while done < len(tasks):
            room = runner.room()
            runner.submit(tasks[handed : handed + room])
            handed = min(handed + room, len(tasks))
            for one in runner.collect(1.0):
                assert one.result, one.lost
                done += 1
                inside_s += one.seconds
        return inside_s

    return play_all


def bare(pool: Pool) -> Play:
    def play_all(specs: list[MatchSpec]) -> float:
        chunk = max(1, min(BARE_CHUNK, len(specs) // 40))
        return sum(seconds for _, seconds in pool.imap_unordered(_timed, specs, chunk))

    return play_all


def _timed(spec: MatchSpec) -> tuple[MatchResult, float]:
    began = time.perf_counter()
    result = play(spec)
    return result, time.perf_counter() - began


def in_turns(peers: Mapping[str, Play], specs: Callable[[], list[MatchSpec]]) -> dict[str, tuple[float, float]]:
    """Of each the share of its cores' time inside matches, and matches a second: medians of rounds in turn."""
    for play_all in peers.values():
        play_all(specs())
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in peers}
    for _ in range(ROUNDS):
        for name, play_all in peers.items():
            given = specs()
            began = time.perf_counter()
            inside_s = play_all(given)
            took_s = time.perf_counter() - began
            found[name].append((inside_s / (cores_here() * took_s), len(given) / took_s))
    return {
        name: (median(one[0] for one in rounds), median(one[1] for one in rounds)) for name, rounds in found.items()
    }


def overhead() -> None:
    iterations = iterations_of(MATCH_S)
    seeds = count()
    with ExitStack() as stack:
        pool = stack.enter_context(multiprocessing.get_context("spawn").Pool(cores_here(), become_worker))
        peers = {BARE: bare(pool)}
        peers |= {name: through(stack.enter_context(open_runner(name))) for name in RUNNERS}
        shares = in_turns(peers, lambda: searches(LONG_MATCHES, iterations, seeds))
        rates = in_turns(peers, lambda: random_matches(SHORT_MATCHES, seeds))
    rows = [
        [
            name,
            f"{shares[name][0]:.1%}",
            verdict(shares[name][0] >= SHARE_AIM) if name != BARE else "",
            f"{shares[name][1]:.1f}",
            f"{rates[name][1]:,.0f}",
            f"{rates[name][1] / rates[BARE][1]:.2f}",
        ]
        for name in peers
    ]
    head = ["", "inside matches", f">= {SHARE_AIM:.0%}", "matches/s", "random matches/s", "of the bare pool's"]
    show(
        f"Overhead on {cores_here()} cores: {GAME}, matches of some {MATCH_S * 1000:.0f} ms and random ones", head, rows
    )


SECTIONS: Mapping[str, Callable[[], None]] = {"overhead": overhead}


def main() -> None:
    parser = argparse.ArgumentParser(description="What the platform adds to the matches it runs.")
    parser.add_argument("--section", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    for section in parser.parse_args().section:
        SECTIONS[section]()


if __name__ == "__main__":
    main()
