"""What ratings cost: results of a log turned into ratings, on one core, after compiling.

Fold: the same stream of matches of two, one after the other, by Rung's `fold` and by PyPI's `glicko2`, whose players know
one mode only: a volatility that follows from the results.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle

import glicko2 as pypi
import numpy as np
from _peers import Work, rates, show, verdict

from rung.scheduler.comparisons import Comparisons, compare
from rung.scheduler.glicko2 import DYNAMIC, STATIC, Settings, fold, start

AGENTS = 50
MATCHES = 1_000_000
STRENGTHS_SPREAD = 200.0
SEED = 1
ROUNDS = 9
SLOT_S = 0.3
PEER = "PyPI glicko2"
PEER_BATCH = 500
AIM_RATIO, AIM_MATCHES = 200.0, 1e6


def stream() -> Comparisons:
    """Matches of agents drawn at random, won as often as their strengths say."""
    random = np.random.default_rng(SEED)
    strength = random.normal(0, STRENGTHS_SPREAD, AGENTS)
    first = random.integers(0, AGENTS, MATCHES)
    second = (first + random.integers(1, AGENTS, MATCHES)) % AGENTS
    chance = 1 / (1 + 10 ** ((strength[second] - strength[first]) / 400))
    return compare(AGENTS, first, second, random.random(MATCHES) < chance)


def rung_fold(matches: Comparisons, settings: Settings, history: bool = False) -> Work:
    """The whole stream, from the start."""

    def work() -> int:
        if history:
            fold(start(AGENTS, settings), matches, settings, history=True)
        else:
            fold(start(AGENTS, settings), matches, settings)
        return len(matches)

    return work


def pypi_fold(matches: Comparisons) -> Work:
    """A batch of the stream, going on where the last ended; the stream is in Python's own numbers beforehand."""
    players = [pypi.Player() for _ in range(AGENTS)]
    columns = (matches.first, matches.second, matches.score)
    coming: Iterator[tuple[int, int, float]] = cycle(zip(*(column.tolist() for column in columns), strict=True))

    def work() -> int:
        for _ in range(PEER_BATCH):
            a, b, score = next(coming)
            first, second = players[a], players[b]
            before = [first.rating], [first.rd]
            first.update_player([second.rating], [second.rd], [score])
            second.update_player(*before, [1 - score])
        return PEER_BATCH

    return work


def fold_section() -> None:
    matches = stream()
    of_three = replace(matches, weight=np.full(MATCHES, 0.5), match=np.arange(MATCHES) // 3)
    found = rates(
        {
            "Rung, static": rung_fold(matches, STATIC),
            "Rung, static, with history": rung_fold(matches, STATIC, history=True),
            "Rung, static, three rows a match": rung_fold(of_three, STATIC),
            "Rung, dynamic": rung_fold(matches, DYNAMIC),
            PEER: pypi_fold(matches),
        },
        ROUNDS,
        SLOT_S,
    )
    rows = []
    for name, rate in found.items():
        ratio = rate / found[PEER]
        # The aim of a ratio is for the default; the others are there to be seen.
        of_ratio = verdict(ratio >= AIM_RATIO) if name == "Rung, static" else ""
        rows.append(
            [name, f"{rate:,.0f}", verdict(rate >= AIM_MATCHES) if name != PEER else "", f"{ratio:,.1f}", of_ratio]
        )
    head = ["", "comparisons/s", f">= {AIM_MATCHES:,.0f}", "times the peer", f">= {AIM_RATIO:.0f}"]
    show(f"Fold of {MATCHES:,} comparisons of {AGENTS} agents", head, rows)


SECTIONS = (fold_section,)


def main() -> None:
    for section in SECTIONS:
        section()


if __name__ == "__main__":
    main()
