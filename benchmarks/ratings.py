"""What ratings cost: results of a log turned into ratings, after compiling; the fold on one core.

Fold: the same stream of matches of two, one after the other, by Rung's `fold` and by PyPI's `glicko2`, whose players know
one mode only: a volatility that follows from the results.

Refit: all matches at once, by Rung's `fit` and by PyPI's `choix`. Its Newton method finds the same ratings as Rung's; its
spectral method, from the rows or from a matrix of wins made beforehand, has another penalty. None but Rung gives a covariance.
Scale: one refit of many matches, and the covariance of all ratings (on one thread) against numpy's inverse of the same matrix
(on as many as it takes).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import cycle

import choix
import glicko2 as pypi
import numpy as np
from _peers import Work, rates, show, verdict

from rung.scheduler.bradley_terry import ELO, PRIOR_ELO, fit
from rung.scheduler.comparisons import Comparisons, Reals, compare
from rung.scheduler.glicko2 import DYNAMIC, STATIC, Settings, fold, start
from rung.scheduler.laplacian import DENSE_LIMIT

AGENTS = 50
MATCHES = 1_000_000
STRENGTHS_SPREAD = 200.0
SEED = 1
ROUNDS = 9
SLOT_S = 0.3
PEER = "PyPI glicko2"
PEER_BATCH = 500
AIM_RATIO, AIM_MATCHES = 200.0, 1e6
REFIT_AGENTS, REFIT_MATCHES = 100, 20_000
AIM_REFIT = 100.0
SCALE = ((1000, 100_000), (5000, 1_000_000), (100_000, 1_000_000))
AIM_FIT_S, AIM_COVARIANCE_S = 5.0, 10.0
EMBEDDING = 48


def stream(agents: int = AGENTS, matches: int = MATCHES) -> Comparisons:
    """Matches of agents drawn at random, won as often as their strengths say."""
    random = np.random.default_rng(SEED)
    strength = random.normal(0, STRENGTHS_SPREAD, agents)
    first = random.integers(0, agents, matches)
    second = (first + random.integers(1, agents, matches)) % agents
    chance = 1 / (1 + 10 ** ((strength[second] - strength[first]) / 400))
    return compare(agents, first, second, random.random(matches) < chance)


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


def refits(matches: Comparisons) -> dict[str, Work]:
    """One refit by each; choix's penalty is on squares, so that Rung's prior is half the inverse of its variance there."""
    first_won = matches.score == 1
    winners = np.where(first_won, matches.first, matches.second)
    losers = np.where(first_won, matches.second, matches.first)
    data = list(zip(winners.tolist(), losers.tolist(), strict=True))
    wins = np.zeros((matches.agents, matches.agents))
    np.add.at(wins, (winners, losers), 1)
    alpha = 1 / (2 * (PRIOR_ELO * ELO) ** 2)

    def rung() -> int:
        fit(matches)
        return 1

    def rung_with_covariance() -> int:
        assert fit(matches).covariance.shape
        return 1

    def choix_newton() -> int:
        choix.opt_pairwise(matches.agents, data, alpha=alpha)
        return 1

    def choix_spectral() -> int:
        choix.ilsr_pairwise(matches.agents, data, alpha=alpha)
        return 1

    def choix_spectral_matrix() -> int:
        choix.ilsr_pairwise_dense(wins, alpha=alpha)
        return 1

    return {
        "Rung": rung,
        "Rung, with the covariance": rung_with_covariance,
        "choix, Newton": choix_newton,
        "choix, spectral": choix_spectral,
        "choix, spectral, matrix": choix_spectral_matrix,
    }


def refit_section() -> None:
    found = rates(refits(stream(REFIT_AGENTS, REFIT_MATCHES)), ROUNDS, SLOT_S)
    peers = [name for name in found if name.startswith("choix")]
    rows = []
    for name, rate in found.items():
        met = "" if name in peers else verdict(rate / found[peers[0]] >= AIM_REFIT)
        rows.append([name, f"{1e3 / rate:,.1f}", *(f"{rate / found[peer]:,.1f}" for peer in peers), met])
    head = ["", "ms", *(f"times {peer}" for peer in peers), f">= {AIM_REFIT:.0f} times {peers[0]}"]
    show(f"Refit of {REFIT_MATCHES:,} matches of {REFIT_AGENTS} agents", head, rows)


def seconds(work: Callable[..., object], *arguments: object) -> float:
    began = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - began


def numpy_inverse(precision: Reals) -> Reals:
    return np.asarray(np.linalg.inv(precision))


def scale_row(agents: int, matches: int) -> list[str]:
    log = stream(agents, matches)
    fit_s = seconds(fit, log)
    found = fit(log)
    row = [f"{agents:,} agents, {matches:,} matches", f"{fit_s:.2f}", verdict(fit_s <= AIM_FIT_S)]
    if agents > DENSE_LIMIT:
        row += ["-"] * 3
    else:
        told, precision = found.information, np.diag(found.information.diagonal)
        precision[told.first, told.second] = precision[told.second, told.first] = -told.weight
        covariance_s, numpy_s = seconds(told.inverse), seconds(numpy_inverse, precision)
        row += [f"{covariance_s:.2f}", verdict(covariance_s <= AIM_COVARIANCE_S), f"{numpy_s / covariance_s:.1f}"]
    return [*row, f"{seconds(found.embedding, EMBEDDING):.2f}"]


def scale_section() -> None:
    head = [
        "",
        "fit, s",
        f"<= {AIM_FIT_S:.0f}",
        "covariance, s",
        f"<= {AIM_COVARIANCE_S:.0f}",
        "numpy's inverse / that",
    ]
    show(
        "Refits of large pools",
        [*head, f"embedding of {EMBEDDING}, s"],
        [scale_row(*size) for size in SCALE],
    )


SECTIONS = (fold_section, refit_section, scale_section)


def main() -> None:
    for section in SECTIONS:
        section()


if __name__ == "__main__":
    main()
