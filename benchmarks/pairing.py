"""Pairing rules side by side, on synthetic agents whose strength is known: what is claimed, and what it takes.

    python benchmarks/pairing.py                                  all sections, 20 ladders each: some minutes
    python benchmarks/pairing.py --repetitions 200 --out folder   as in the documentation: about an hour; plots too
    python benchmarks/pairing.py --section settle scale

A rule with a "!" is the same rule with all its matches counted as pooled evidence, though its choices bend that evidence:
what it would need if one did not care, and how often it would then be wrong.

`asap` is a rule like ASAP (Mikhailiuk et al. 2020): batches of a spanning tree that is best by the information of each pair.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import fmean, median

import numpy as np

from rung.scheduler.bradley_terry import ELO
from rung.scheduler.comparisons import compare
from rung.scheduler.evidence import expected_scores
from rung.scheduler.pairing import RULES, Pick, Rule, Snapshot, look, pick
from rung.scheduler.simulate import Plan, Run, run

SHARES = (0.5, 0.8, 0.9, 0.95, 1.0)
WORLDS = ("even", "normal", "gap", "draws")
GROWTH = 0.02
AIMS = {"random": 0.4, "round_robin": 0.4, "z": 0.8, "katago": 1.0, "asap": 1.0}
Runs = dict[str, list[Run]]


def asap(snapshot: Snapshot, k: int, source: np.random.Generator) -> list[Pick]:
    """Spanning trees of the pairs with the largest information gain, played whole, one after the other."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import minimum_spanning_tree

    who = snapshot.active
    i, j = np.triu_indices(len(who), 1)
    theta = snapshot.evidence.joint.theta
    share = expected_scores(theta[who[i]] - theta[who[j]])
    gain = share * (1 - share) * snapshot.evidence.joint.contrast_variance(who[i], who[j]) + 1e-12
    pairs: list[tuple[int, int]] = []
    while len(pairs) < k:
        jittered = gain * (1 + 0.2 * source.random(len(gain)) * bool(pairs) + 1e-6 * source.random(len(gain)))
        tree = minimum_spanning_tree(csr_matrix((-jittered, (i, j)), shape=(len(who), len(who)))).tocoo()
        pairs += zip(who[tree.row].tolist(), who[tree.col].tolist(), strict=True)
    lines = np.array(pairs[:k])
    return snapshot.picks(lines, "information", np.ones(len(lines)), fair=False)


def counted_as_fair(rule: Rule) -> Rule:
    def chosen(snapshot: Snapshot, k: int, source: np.random.Generator) -> list[Pick]:
        return [made._replace(fair=True) for made in rule(snapshot, k, source)]

    return chosen


RULES["asap"] = asap
RULES.update({f"{name}!": counted_as_fair(RULES[name]) for name in ("asap", "katago", "swiss", "z")})


def simulate(plan: Plan) -> Run:
    return run(plan, time.process_time)


def simulate_all(pool: ProcessPoolExecutor, plans: Iterable[Plan]) -> Runs:
    listed = list(plans)
    found: Runs = {}
    for plan, result in zip(listed, pool.map(simulate, listed, chunksize=2), strict=True):
        name = plan.rule + (" (cost-blind)" if plan.cost_blind else "")
        found.setdefault(name, []).append(result)
    return found


def shown(number: float) -> str:
    return "–" if number == float("inf") else f"{number:,.0f}"


def verdict(met: bool) -> str:
    return "met" if met else "MISSED"


# -- sections --------------------------------------------------------------------------------------------------------


def honesty(pool: ProcessPoolExecutor, repetitions: int, out: Path | None) -> None:
    """Equal agents, looked at after every match: every "separated" is wrong."""
    everybody = ("gain", "random", "z", "katago", "z!")
    for agents, rules, each in ((20, everybody, True), (100, ("gain", "random"), False)):
        plans = [
            Plan("equal", agents, rule, seed, 3000, 10, look_each=each)
            for rule in rules
            for seed in range(1, repetitions + 1)
        ]
        found = simulate_all(pool, plans)
        how = "each match" if each else "10 matches"
        print(f"\n{agents} equal agents, 3,000 matches, a look after {how}, {repetitions} ladders")
        print(f"{'rule':14}{'wrong ladders':>15}{'with Z > 1.96':>15}{'covered, worst look':>21}{'ever outside':>14}")
        for rule, runs in found.items():
            wrong, plain = fmean(r.wrong > 0 for r in runs), fmean(r.plain_wrong > 0 for r in runs)
            covered, outside = fmean(r.covered for r in runs), 1 - fmean(r.always_covered for r in runs)
            says = "" if rule.endswith("!") else verdict(wrong <= 0.05 and covered >= 0.95)
            print(f"{rule:14}{wrong:15.1%}{plain:15.1%}{covered:21.1%}{outside:14.1%}  {says}")


def settle(pool: ProcessPoolExecutor, repetitions: int, out: Path | None) -> None:
    """Matches until a share of all pairs is settled, and how often a verdict was wrong on the way."""
    quick, all_rules = (
        ("gain", "random", "round_robin", "z"),
        ("gain", "random", "z", "katago", "asap", "z!", "katago!", "asap!"),
    )
    for world, agents, rules, until, most in (
        *((world, 20, quick, 1.0, 100_000) for world in WORLDS),
        *((world, 20, all_rules, 0.9, 20_000) for world in ("even", "normal")),
        ("normal", 100, ("gain", "random"), 0.9, 100_000),
    ):
        plans = [
            Plan(world, agents, rule, seed, most, 10, GROWTH, until=until)
            for rule in rules
            for seed in range(1, repetitions + 1)
        ]
        found = simulate_all(pool, plans)
        shares = [share for share in SHARES if share <= until]
        print(f"\n{world}, {agents} agents, {repetitions} ladders: median matches until this share of pairs is settled")
        print(f"{'rule':14}" + "".join(f"{share:>10.0%}" for share in shares) + f"{'wrong ladders':>15}{'τ':>7}")
        for rule, runs in found.items():
            row = "".join(f"{shown(median(r.matches_until(share) for r in runs)):>10}" for share in shares)
            print(f"{rule:14}{row}{fmean(r.wrong > 0 for r in runs):15.1%}{fmean(r.tau[-1][1] for r in runs):7.3f}")
        _ratios(found, shares, float(most))
        if out:
            _plot(found, out / f"settled_{world}_{agents}_{most}.png", f"{world}, {agents} agents")


def _ratios(found: Runs, shares: list[float], most: float) -> None:
    """Matches of `gain` over those of each other rule; where that one did not get there, at most so much."""
    print(f"{'gain against':14}" + "".join(f"{share:>10.0%}" for share in shares))
    for rule, aim in AIMS.items():
        if rule not in found:
            continue
        cells, met = "", []
        for share in shares:
            own = median(r.matches_until(share) for r in found["gain"])
            other = median(r.matches_until(share) for r in found[rule])
            if own == float("inf"):
                cells += f"{'–':>10}"
                continue
            bound = "≤ " if other == float("inf") else ""
            ratio = own / min(other, most)
            cells += f"{bound}{ratio:.2f}".rjust(10)
            met.append(ratio <= aim)
        print(f"{rule:14}{cells}  aim ≤ {aim}: met at {sum(met)} of {len(met)} shares")


def costs(pool: ProcessPoolExecutor, repetitions: int, out: Path | None) -> None:
    """Agents that take from 0.01 to 10 seconds a match: what is gained by knowing that."""
    plans = [
        Plan("costs", 20, "gain", seed, 100_000, 10, GROWTH, until=0.95, cost_blind=blind)
        for blind in (False, True)
        for seed in range(1, repetitions + 1)
    ]
    found = simulate_all(pool, plans)
    print(f"\ncosts, 20 agents, {repetitions} ladders: median seconds in matches until this share of pairs is settled")
    for rule, runs in found.items():
        cells = "".join(f"{shown(median(r.seconds_until(share) for r in runs)):>12}" for share in SHARES[:4])
        print(f"{rule:20}{cells}{fmean(r.wrong > 0 for r in runs):10.1%} wrong")
    aware, blind = found["gain"], found["gain (cost-blind)"]
    ratios = [
        median(a.seconds_until(share) for a in aware) / median(b.seconds_until(share) for b in blind)
        for share in SHARES[:4]
    ]
    print(f"{'ratio':20}" + "".join(f"{r:>12.2f}" for r in ratios) + f"  aim ≤ 0.6: {verdict(max(ratios) <= 0.6)}")


def newcomer(pool: ProcessPoolExecutor, repetitions: int, out: Path | None) -> None:
    """One agent joins a ladder of 20 after 600 matches: until it is known to ±75 Elo."""
    plans = [
        Plan("newcomer", 20, rule, seed, 5000, 5, until=1.0)
        for rule in ("gain", "random")
        for seed in range(1, repetitions + 1)
    ]
    found = simulate_all(pool, plans)
    print(f"\nnewcomer, 20 agents, {repetitions} ladders: median matches until it is known to ±75 Elo")
    own, ladder = {}, {}
    for rule, runs in found.items():
        known = [r.newcomer for r in runs if r.newcomer]
        own[rule], ladder[rule] = median(k[0] for k in known), median(k[1] for k in known)
        print(
            f"{rule:10}{own[rule]:8.0f} of its own{ladder[rule]:8.0f} of the ladder ({len(known)} of {len(runs)} known)"
        )
    ratio = ladder["gain"] / ladder["random"]
    print(
        f"ratio: {own['gain'] / own['random']:.2f} of its own, {ratio:.2f} of the ladder; aim ≤ 0.5: {verdict(ratio <= 0.5)}"
    )


def scale(pool: ProcessPoolExecutor, repetitions: int, out: Path | None) -> None:
    """Time to choose 1,000 matches by `gain`, and what it rests on, which is made once for each look."""
    print("\nchoosing 1,000 matches by gain, one core, 30 matches an agent played: seconds")
    print(f"{'agents':>10}{'believe':>10}{'prepare':>10}{'choose':>10}")
    choose: dict[int, float] = {}
    for agents in (100, 1_000, 10_000, 100_000):
        source = np.random.default_rng(1)
        theta = source.normal(0, 250, agents) * ELO
        rows = 15 * agents
        first = source.integers(agents, size=rows)
        second = (first + source.integers(1, agents, rows)) % agents
        score = (source.random(rows) < expected_scores(theta[first] - theta[second])).astype(np.float64)
        log = compare(agents, first, second, score)
        times = []
        for attempt in range(2 if agents <= 10_000 else 1):
            began = time.perf_counter()
            snapshot = look(log)
            believed = time.perf_counter()
            assert len(snapshot.gain_field.first)
            prepared = time.perf_counter()
            assert len(pick("gain", snapshot, 1000, attempt)) == 1000
            chosen = min(_timed(partial(pick, "gain", snapshot, 1000, seed)) for seed in range(3))
            times = [believed - began, prepared - believed, chosen]
        choose[agents] = times[2]
        print(f"{agents:>10,}" + "".join(f"{seconds:10.3f}" for seconds in times))
    growth = choose[100_000] / choose[1_000]
    print(f"10,000 agents: {choose[10_000] * 1000:.0f} ms, aim ≤ 100 ms: {verdict(choose[10_000] <= 0.1)}")
    print(f"from 1,000 to 100,000 agents: {growth:.0f} times the time; n log n is 167 times: {verdict(growth <= 167)}")


def _timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def _plot(found: Runs, file: Path, title: str) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    shares = np.linspace(0.02, 1, 50)
    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    for rule, runs in found.items():
        until = np.array([[r.matches_until(share) for share in shares] for r in runs])
        axes.plot(
            np.quantile(until, 0.5, axis=0, method="inverted_cdf"),
            shares,
            "--" if rule.endswith("!") else "-",
            label=rule,
        )
    axes.set(xscale="log", ylim=(0, 1), xlabel="matches", ylabel="share of pairs settled", title=title)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(file, dpi=110)
    pyplot.close(figure)


SECTIONS = {f.__name__: f for f in (honesty, settle, costs, newcomer, scale)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--section", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, help="folder for plots")
    chosen = parser.parse_args()
    if chosen.out:
        chosen.out.mkdir(parents=True, exist_ok=True)
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # workers have small matrices, and keep the cores busy without
    with ProcessPoolExecutor(chosen.workers, multiprocessing.get_context("spawn")) as pool:
        for name in chosen.section:
            SECTIONS[name](pool, chosen.repetitions, chosen.out)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
