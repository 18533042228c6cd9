"""Pairing rules: what every rule owes its ladder, and what each of them is after."""

from __future__ import annotations

import importlib
import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from rung.errors import UserError
from rung.scheduler.bradley_terry import ELO
from rung.scheduler.comparisons import Comparisons, Ints, Reals, compare, pairs_of_match
from rung.scheduler.laplacian import DENSE_LIMIT
from rung.scheduler.pairing import RULES, Pick, Snapshot, look, pick
from rung.scheduler.pairing.gain import field_of
from rung.scheduler.pairing.plain import draw_lines
from rung.scheduler.pairing.rated import RANDOM_PHASE
from rung.scheduler.separation import UNDECIDED

EVERY_RULE = pytest.mark.parametrize("rule", RULES)
gain_module = importlib.import_module("rung.scheduler.pairing.gain")
lineups_module = importlib.import_module("rung.scheduler.pairing.lineups")
plain_module = importlib.import_module("rung.scheduler.pairing.plain")


def play(elo: Reals, pairs: Any, luck: np.random.Generator) -> Comparisons:
    """Matches of two between agents of these strengths."""
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    p = 1 / (1 + np.exp((elo[second] - elo[first]) * ELO))
    return compare(len(elo), first, second, luck.random(len(first)) < p)


def joined(one: Comparisons, other: Comparisons) -> Comparisons:
    both = ((getattr(one, name), getattr(other, name)) for name in ("first", "second", "score", "weight", "fair"))
    first, second, score, weight, fair = (np.concatenate(columns) for columns in both)
    return compare(one.agents, first, second, score, weight, fair=fair)


def pool(elo: Reals, matches: int, seed: int = 1) -> Comparisons:
    """A log of random pairs."""
    luck = np.random.default_rng(seed)
    first = luck.integers(0, len(elo), matches)
    return play(elo, np.stack([first, (first + luck.integers(1, len(elo), matches)) % len(elo)], axis=1), luck)


def seated(picks: Sequence[Pick]) -> Ints:
    return np.array([chosen.agents for chosen in picks], dtype=np.int64)


def evenly(agents: int, apart: float) -> Reals:
    return -apart * np.arange(agents, dtype=np.float64)


def never_explore(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gain_module, "EXPLORATION", 0.0)


NINE = pool(evenly(9, 60), 120)
FLYING = [[0, 1], [4, 2], [0, 1], [8, 3]]


# --- what every rule owes -----------------------------------------------------------------------------------------------


@EVERY_RULE
@pytest.mark.parametrize("seats", [2, 3, 4, 5])
@pytest.mark.parametrize("matches", [0, 120])
def test_line_ups_are_of_different_active_agents_and_say_why(rule: str, seats: int, matches: int) -> None:
    active, cost = [0, 2, 3, 5, 6, 7], np.linspace(0.5, 4.5, 9)
    log = NINE if matches else compare(9)
    flying = [list(range(seats)), list(range(3, 3 + seats))]
    snapshot = look(log, in_flight=flying, cost_s=cost, active=active, seats=seats)
    picks = pick(rule, snapshot, 25, 1)
    assert len(picks) == 25
    for chosen in picks:
        assert len(set(chosen.agents)) == seats
        assert set(chosen.agents) <= set(active)
        assert all(type(agent) is int for agent in chosen.agents)
        assert np.isfinite([chosen.value, chosen.expected, chosen.deviation, chosen.cost_s]).all()
        assert 0 < chosen.expected < 1
        assert chosen.deviation > 0
        assert chosen.cost_s == pytest.approx(cost[list(chosen.agents)].sum())
        assert type(chosen.fair) is bool
        assert chosen.reason.startswith(f"{chosen.why} (")
        assert "nan" not in chosen.reason
        assert "inf" not in chosen.reason.removeprefix(chosen.why)


@EVERY_RULE
@pytest.mark.parametrize("seats", [2, 3])
def test_the_same_seed_chooses_the_same(rule: str, seats: int) -> None:
    def chosen(log: Comparisons, seed: int) -> list[Pick]:
        return pick(rule, look(log, in_flight=[[0, 1, 2][:seats]], seats=seats), 30, seed)

    assert chosen(NINE, 5) == chosen(NINE, 5)
    assert any(chosen(compare(9), 5) != chosen(compare(9), seed) for seed in range(5))


@EVERY_RULE
def test_where_no_match_is_possible_none_is_chosen(rule: str) -> None:
    assert pick(rule, look(NINE), 0, 1) == []
    for agents in (0, 1):
        assert pick(rule, look(compare(agents)), 3, 1) == []
    assert pick(rule, look(NINE, active=[]), 3, 1) == []
    assert pick(rule, look(NINE, active=[4]), 3, 1) == []
    assert pick(rule, look(NINE, active=[4, 2, 7], seats=4), 3, 1) == []
    assert len(pick(rule, look(compare(4), seats=4), 3, 1)) == 3


@EVERY_RULE
@pytest.mark.parametrize("agents", [2, 3, 4])
def test_more_matches_than_pairs_are_possible(rule: str, agents: int) -> None:
    picks = pick(rule, look(compare(agents)), 60, 1)
    assert len(picks) == 60
    counts = Counter(tuple(sorted(chosen.agents)) for chosen in picks)
    assert len(counts) == agents * (agents - 1) // 2
    assert min(counts.values()) >= 3


@EVERY_RULE
def test_repeated_agents_in_active_count_once(rule: str) -> None:
    one, other = look(NINE, active=[5, 1, 5, 3]), look(NINE, active=[1, 3, 5])
    assert pick(rule, one, 10, 1) == pick(rule, other, 10, 1)


def test_an_unknown_rule_names_the_nearest() -> None:
    with pytest.raises(UserError, match=r"no pairing rule called 'round-robin'\. Did you mean round_robin\?"):
        pick("round-robin", look(NINE), 1, 1)


def test_bad_input_is_one_sentence() -> None:
    with pytest.raises(UserError, match=r"^The number of matches to choose must be at least 0, not -1\.$"):
        pick("gain", look(NINE), -1, 1)
    for seats in (1, 0, -2):
        with pytest.raises(UserError, match=f"^A match to be paired has at least 2 seats, not {seats}[.]$"):
            look(NINE, seats=seats)
    for cost in ([1.0] * 8, [0.0] + [1.0] * 8, [math.nan] * 9, [math.inf] * 9, [-1.0] * 9, 3.0, np.ones((9, 2))):
        with pytest.raises(UserError, match=r"^Every agent's cost must be a number of seconds above 0\.$"):
            look(NINE, cost_s=cost)
    for active in ([9], [-1, 2]):
        with pytest.raises(UserError, match=r"^Every active agent must be one of 0 to 8\.$"):
            look(NINE, active=active)
    flying: Any
    for flying in ([[0, 9]], [[0, 1], [-1, 2]]):
        with pytest.raises(UserError, match=r"^Every agent in flight must be one of 0 to 8\.$"):
            look(NINE, in_flight=flying)
    for flying in ([[0, 1], [2, 3], [4, 5]], [[0, 1, 2], [3, 4]], np.zeros((3, 4), dtype=np.int64)):
        with pytest.raises(UserError, match=r"^Every match in flight must have 3 agents\.$"):
            look(NINE, in_flight=flying, seats=3)
    with pytest.raises(UserError, match=r"^alpha must be between 0 and 1, not 1\.5\.$"):
        look(NINE, alpha=1.5)


# --- what a snapshot knows ----------------------------------------------------------------------------------------------


def test_matches_in_flight_count_as_played_and_met() -> None:
    snapshot = look(NINE, in_flight=FLYING)
    assert snapshot.played == 124
    games, met = Counter[int](), Counter[tuple[int, int]]()
    for pair in [*zip(NINE.first.tolist(), NINE.second.tolist(), strict=True), *FLYING]:
        games.update(pair)
        met[min(pair), max(pair)] += 1
    assert snapshot.games.tolist() == [games[agent] for agent in range(9)]
    i, j = np.nonzero(~np.eye(9, dtype=np.bool_))
    assert snapshot.met(i, j).tolist() == [
        met[min(a, b), max(a, b)] for a, b in zip(i.tolist(), j.tolist(), strict=True)
    ]


@pytest.mark.parametrize("seats", [2, 3, 4, 5])
def test_matches_of_many_seats_are_counted_as_matches(seats: int) -> None:
    lines = [list(np.random.default_rng(seed).permutation(7)[:seats].tolist()) for seed in range(11)]
    rows = [row for line in lines[:8] for row in pairs_of_match(line, list(range(seats)))]
    first, second, score, weight = zip(*rows, strict=True)
    snapshot = look(compare(7, first, second, score, weight), in_flight=lines[8:], seats=seats)
    assert snapshot.played == 11
    played = Counter(agent for line in lines for agent in line)
    np.testing.assert_allclose(snapshot.games, [played[agent] for agent in range(7)])
    met = Counter(tuple(sorted(pair)) for line in lines for pair in itertools.combinations(line, 2))
    i, j = np.triu_indices(7, 1)
    np.testing.assert_allclose(snapshot.met(i, j), [met[pair] for pair in zip(i.tolist(), j.tolist(), strict=True)])


# --- nobody starves -----------------------------------------------------------------------------------------------------


@EVERY_RULE
@pytest.mark.parametrize(("seats", "batch"), [(2, 1), (2, 8), (3, 4)])
def test_every_agent_is_reached_soon(rule: str, seats: int, batch: int) -> None:
    """In a new pool, within five matches each."""
    count, log = 0, compare(8)
    seen: set[int] = set()
    luck = np.random.default_rng(1)
    while count < 20 and len(seen) < 8:
        picks = pick(rule, look(log, seats=seats), batch, count)
        count += len(picks)
        seen.update(seated(picks).ravel().tolist())
        for chosen in picks:
            rows = pairs_of_match(chosen.agents, luck.permutation(seats).tolist())
            first, second, score, weight = zip(*rows, strict=True)
            log = joined(log, compare(8, first, second, score, weight, fair=[chosen.fair] * len(rows)))
    assert seen == set(range(8))


@EVERY_RULE
def test_a_gap_that_isolates_the_top_starves_nobody(rule: str) -> None:
    """Two of ten are 700 points above the others, who are 20 points apart; whoever is not settled plays soon: at the latest
    by chance, in the share of matches that rules keep for that."""
    elo = evenly(10, 20)
    elo[:2] += 700
    luck, log, last = np.random.default_rng(2), compare(10), np.zeros(10)
    longest = 60 if rule == "gain" else 20
    for number in range(120):
        snapshot = look(log)
        assert snapshot.separation is not None
        settled = ~snapshot.separation.unsettled.any(axis=1)
        last[settled] = number
        picks = pick(rule, snapshot, 10, number)
        last[seated(picks).ravel()] = number
        assert (number - last <= longest).all()
        played = play(elo, seated(picks), luck)
        log = joined(log, replace(played, fair=np.array([chosen.fair for chosen in picks])))
    assert (look(log).games >= 25).all()


# --- random -------------------------------------------------------------------------------------------------------------


def test_every_line_up_is_equally_likely() -> None:
    snapshot = look(compare(7), active=[0, 2, 3, 5, 6], seats=3)
    lines = draw_lines(snapshot, 12_000, np.random.default_rng(1))
    counts = Counter(map(tuple, lines.tolist()))
    assert set(counts) == set(itertools.permutations([0, 2, 3, 5, 6], 3))
    assert chisquare(list(counts.values())).pvalue > 1e-3


def test_as_many_seats_as_agents_are_no_matter_of_luck() -> None:
    picks = pick("random", look(compare(20), seats=20), 100, 1)
    assert all(sorted(chosen.agents) == list(range(20)) for chosen in picks)


# --- round robin --------------------------------------------------------------------------------------------------------


@given(st.integers(2, 7), st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 3))
@settings(max_examples=30)
def test_a_round_robin_is_even_at_any_time(agents: int, batches: list[int], seed: int) -> None:
    """Also while matches are in flight."""
    luck, log, flying = np.random.default_rng(seed), compare(agents), np.zeros((0, 2), dtype=np.int64)
    for number, batch in enumerate(batches):
        fresh = seated(pick("round_robin", look(log, in_flight=flying), batch, seed + number))
        log, flying = joined(log, play(np.zeros(agents), flying, luck)), fresh
        met = look(log, in_flight=flying).met(*np.triu_indices(agents, 1))
        assert met.max() - met.min() <= 1


def test_a_newcomer_catches_up_in_a_round_robin() -> None:
    met_often = [pair for pair in itertools.combinations(range(5), 2) for _ in range(4)]
    picks = pick("round_robin", look(play(np.zeros(6), met_often, np.random.default_rng(1))), 20, 1)
    assert Counter(tuple(sorted(chosen.agents)) for chosen in picks) == {(other, 5): 4 for other in range(5)}
    assert {chosen.value for chosen in picks} == {0.0}


@pytest.mark.parametrize("agents", [301, 302])
def test_a_large_round_robin_pairs_everybody_once_a_round_and_all_pairs_in_a_cycle(agents: int) -> None:
    a_round, rounds = agents // 2, agents - 1 + agents % 2
    flying = np.zeros((0, 2), dtype=np.int64)
    for part in (7, a_round, rounds * a_round - a_round - 7):
        flying = np.concatenate([flying, seated(pick("round_robin", look(compare(agents), in_flight=flying), part, 1))])
    assert (np.bincount(flying[:a_round].ravel(), minlength=agents) <= 1).all()
    assert (np.bincount(flying[a_round : 2 * a_round].ravel(), minlength=agents) <= 1).all()
    pairs = np.unique(np.sort(flying, axis=1), axis=0)
    assert len(pairs) == len(flying) == agents * (agents - 1) // 2


def test_the_place_in_a_large_round_robin_is_where_the_log_ends() -> None:
    whole = seated(pick("round_robin", look(compare(304), active=range(2, 304)), 200, 1))
    log = play(np.zeros(304), whole[:130], np.random.default_rng(1))
    rest = seated(pick("round_robin", look(log, active=range(2, 304), in_flight=whole[130:150]), 50, 9))
    assert rest.tolist() == whole[150:].tolist()


# --- Swiss --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agents", [6, 7, 20, 21])
def test_a_swiss_round_seats_everybody_next_to_a_neighbour(agents: int) -> None:
    snapshot = look(pool(evenly(agents, 50), 15 * agents))
    picks = pick("swiss", snapshot, agents // 2, 1)
    lines = seated(picks)
    assert len(np.unique(lines)) == 2 * (agents // 2)
    place = np.argsort(np.argsort(-snapshot.rating))
    apart = np.abs(place[lines[:, 0]] - place[lines[:, 1]])
    assert np.median(apart) <= 3
    assert apart.max() <= 6
    assert not any(chosen.fair for chosen in picks)
    np.testing.assert_allclose([chosen.value for chosen in picks], np.abs(np.diff(snapshot.rating[lines])).ravel())


def test_swiss_rounds_chosen_together_do_not_repeat_each_other() -> None:
    lines = seated(pick("swiss", look(compare(4)), 6, 1))
    assert len({tuple(sorted(line)) for line in lines.tolist()}) == 6
    assert np.bincount(lines.ravel()).tolist() == [3] * 4


def test_with_an_odd_number_who_played_most_sits_out() -> None:
    log = play(np.zeros(5), [(0, 1), (0, 2), (0, 3), (0, 4)], np.random.default_rng(1))
    assert 0 not in seated(pick("swiss", look(log), 2, 1))


# --- z and katago -------------------------------------------------------------------------------------------------------

TWENTY = pool(evenly(20, 40), 600)


@pytest.mark.parametrize("rule", ["z", "katago"])
def test_everybody_starts_with_random_matches_and_those_are_fair(rule: str) -> None:
    agents = 12
    picks = pick(rule, look(compare(agents)), agents * RANDOM_PHASE, 1)
    assert {(chosen.why, chosen.fair) for chosen in picks} == {("random", True)}
    games = np.bincount(seated(picks).ravel(), minlength=agents)
    assert (games >= RANDOM_PHASE).all()
    newcomer = look(joined(replace(TWENTY, agents=21), compare(21)))
    picks = pick(rule, newcomer, RANDOM_PHASE, 1)
    assert all(20 in chosen.agents and chosen.fair for chosen in picks)
    flying = [[20, other] for other in range(RANDOM_PHASE)]
    later = pick(rule, look(replace(TWENTY, agents=21), in_flight=flying), 200, 1)
    assert 5 <= sum(chosen.fair for chosen in later) <= 40


@pytest.mark.parametrize("rule", ["z", "katago"])
def test_later_matches_follow_the_ratings_and_are_not_fair(rule: str) -> None:
    snapshot = look(TWENTY)
    picks = pick(rule, snapshot, 400, 1)
    assert all(chosen.fair == (chosen.why == "random") for chosen in picks)
    share = np.mean([chosen.fair for chosen in picks])
    assert 0.05 < share < 0.16

    def apart(chosen: Sequence[Pick]) -> float:
        return float(np.abs(np.diff(snapshot.rating[seated(chosen)])).mean())

    bent, straight = ([chosen for chosen in picks if chosen.fair == fair] for fair in (False, True))
    assert apart(bent) < 0.75 * apart(straight)


def test_z_plays_pairs_by_how_weak_the_evidence_is() -> None:
    """As often as their one-sided p, in the long run."""
    snapshot = look(pool(evenly(5, 60), 200))
    picks = [chosen for chosen in pick("z", snapshot, 6000, 1) if not chosen.fair]
    pairs = list(itertools.combinations(range(5), 2))
    gap = np.array([abs(snapshot.rating[a] - snapshot.rating[b]) for a, b in pairs])
    spread = np.array([math.hypot(snapshot.deviation[a], snapshot.deviation[b]) for a, b in pairs])
    p = np.array([0.5 * math.erfc(z / math.sqrt(2)) for z in gap / spread])
    counts = Counter(tuple(sorted(chosen.agents)) for chosen in picks)
    found = np.array([counts[pair] for pair in pairs])
    large = p / p.sum() > 1e-3
    assert chisquare(found[large], p[large] / p[large].sum() * found[large].sum()).pvalue > 1e-3
    by_pair = dict(zip(pairs, p, strict=True))
    for chosen in picks:
        low, high = sorted(chosen.agents)
        assert chosen.value == pytest.approx(by_pair[low, high])


@EVERY_RULE
def test_pairs_that_are_sure_beyond_measure_can_still_be_played(rule: str) -> None:
    """Evidence beyond 38 deviations has a p of zero in double precision."""
    luck = np.random.default_rng(0)
    log = compare(2, np.zeros(60_000, dtype=np.int64), np.ones(60_000, dtype=np.int64), luck.random(60_000) < 0.93)
    picks = pick(rule, look(log), 20, 1)
    assert len(picks) == (0 if rule == "gain" else 20)
    assert np.isfinite([chosen.value for chosen in picks]).all()


def test_katago_turns_to_the_uncertain_the_new_and_the_promising() -> None:
    others = list(itertools.permutations(range(1, 20), 2))
    snapshot = look(joined(TWENTY, play(np.zeros(20), others, np.random.default_rng(4))))
    assert np.argmin(snapshot.games) == 0
    deviation, rating = np.full(20, 50.0), np.full(20, 1500.0)
    deviation[5], rating[9] = 60.0, 1600.0
    bent = replace(snapshot, deviation=deviation, rating=rating)
    turns = Counter(
        chosen.agents[0] for seed in range(400) for chosen in pick("katago", bent, 1, seed) if not chosen.fair
    )
    assert set(turns) == {0, 5, 9}
    assert chisquare(list(turns.values())).pvalue > 1e-3


def test_katago_turns_to_who_is_uncertain_and_counts_what_is_in_flight() -> None:
    log = joined(replace(TWENTY, agents=21), play(np.zeros(21), [(20, k) for k in range(10)], np.random.default_rng(4)))
    idle = pick("katago", look(log), 60, 1)
    busy = pick("katago", look(log, in_flight=[[20, k % 20] for k in range(80)]), 60, 1)
    often, seldom = (sum(20 in chosen.agents for chosen in picks) for picks in (idle, busy))
    assert often > 2.5 * 60 * 2 / 21
    assert seldom < often / 2


# --- gain ---------------------------------------------------------------------------------------------------------------


def objective(snapshot: Snapshot) -> tuple[list[tuple[int, int]], Reals]:
    """The unsettled pairs and their weights."""
    assert snapshot.separation is not None
    theta, covariance = snapshot.evidence.pooled.theta, snapshot.evidence.pooled.covariance
    pairs, weights = [], []
    for a, b in itertools.combinations(snapshot.active.tolist(), 2):
        if snapshot.separation.verdicts[a, b] == UNDECIDED:
            variance = covariance[a, a] + covariance[b, b] - 2 * covariance[a, b]
            apart = abs(theta[a] - theta[b])
            distance = max(apart, snapshot.margin_elo * ELO - apart)
            settled_at = (distance**2 + variance) / (2 * (snapshot.needed + 2))
            pairs.append((a, b))
            weights.append(min(1.0, settled_at / variance) / variance)
    return pairs, np.array(weights)


def after(snapshot: Snapshot, covariance: Reals, a: int, b: int) -> Reals:
    """The covariance when a and b have met once more: the inverse of the precision with that match in it."""
    theta = snapshot.evidence.pooled.theta
    p = 1 / (1 + math.exp(theta[b] - theta[a]))
    contrast = np.zeros(len(theta))
    contrast[a], contrast[b] = 1, -1
    information = p * (1 - p) / snapshot.evidence.pooled.dispersion
    return np.asarray(np.linalg.inv(np.linalg.inv(covariance) + information * np.outer(contrast, contrast)))


def unknown(covariance: Reals, pairs: list[tuple[int, int]], weights: Reals) -> float:
    a, b = np.array(pairs).T
    return float(weights @ (covariance[a, a] + covariance[b, b] - 2 * covariance[a, b]))


def greedy(snapshot: Snapshot, k: int) -> list[tuple[tuple[int, int], float]]:
    """The best match and its worth, as if those in flight had been played; then the best as if that had; and so on."""
    pairs, weights = objective(snapshot)
    covariance = snapshot.evidence.pooled.covariance
    for a, b in snapshot.in_flight.tolist():
        covariance = after(snapshot, covariance, a, b)
    chosen = []
    for _ in range(k):
        now = unknown(covariance, pairs, weights)
        worth = {
            (a, b): (now - unknown(after(snapshot, covariance, a, b), pairs, weights))
            / (snapshot.cost_s[a] + snapshot.cost_s[b])
            for a, b in pairs
        }
        best = max(worth, key=lambda pair: worth[pair])
        chosen.append((best, worth[best]))
        covariance = after(snapshot, covariance, *best)
    return chosen


@pytest.mark.parametrize("seed", range(4))
def test_gain_chooses_as_the_greedy_rule_by_brute_force(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    never_explore(monkeypatch)
    luck = np.random.default_rng(seed)
    log = pool(luck.normal(0, 150, 6), 150, seed)
    log = replace(log, score=np.where(luck.random(len(log)) < 0.3, 0.5, log.score))
    snapshot = look(
        log, in_flight=[[0, 3], [5, 1]], cost_s=luck.uniform(0.5, 3, 6), active=[0, 1, 2, 3, 4, 5][: 6 - seed % 2]
    )
    picks, wanted = pick("gain", snapshot, 8, 1), greedy(snapshot, 8)
    assert [chosen.agents for chosen in picks] == [pair for pair, _ in wanted]
    np.testing.assert_allclose([chosen.value for chosen in picks], [worth for _, worth in wanted], rtol=1e-5)
    assert all(chosen.fair and chosen.why == "gain" for chosen in picks)


def test_gain_chooses_one_after_the_other_as_it_chooses_together(monkeypatch: pytest.MonkeyPatch) -> None:
    never_explore(monkeypatch)
    flying: list[tuple[int, ...]] = []
    for number in range(12):
        flying += [chosen.agents for chosen in pick("gain", look(NINE, in_flight=flying), 1, number)]
    together = pick("gain", look(NINE), 12, 99)
    assert flying == [chosen.agents for chosen in together]


@pytest.mark.parametrize("large", [False, True])
def test_gain_does_not_pile_onto_what_is_in_flight(large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    never_explore(monkeypatch)
    if large:
        for module in (gain_module, lineups_module):
            monkeypatch.setattr(module, "ALL_PAIRS_UP_TO", 3)
    best = pick("gain", look(NINE), 1, 1)[0].agents
    later = pick("gain", look(NINE, in_flight=[best] * 30), 8, 1)
    assert best not in [chosen.agents for chosen in later]


@pytest.mark.parametrize("margin", [0.0, 35.0])
def test_gain_spreads_over_a_pool_of_which_nothing_is_known(margin: float) -> None:
    picks = pick("gain", look(compare(8), margin_elo=margin), 56, 1)
    counts = Counter(tuple(sorted(chosen.agents)) for chosen in picks)
    assert len(counts) == 28
    assert max(counts.values()) <= 4


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("seats", [3, 4, 5])
def test_gain_spreads_over_further_seats_too(seats: int, large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if large:
        for module in (gain_module, lineups_module):
            monkeypatch.setattr(module, "ALL_PAIRS_UP_TO", 3)
    picks = pick("gain", look(compare(10), seats=seats), 40, 1)
    games = np.bincount(seated(picks).ravel(), minlength=10)
    assert games.min() > 0.6 * games.mean()
    assert games.max() < 1.6 * games.mean()


def settled_partly() -> Comparisons:
    """0 is better than 1, 2 and 3 are equal, and the two groups hardly met."""
    log = compare(4, [0] * 60 + [2] * 4000 + [0], [1] * 60 + [3] * 4000 + [2], [1] * 60 + [0, 1] * 2000 + [1])
    found = look(log).separation
    assert found is not None
    assert found.counts == {"separated": 1, "equal": 1, "circular": 0, "undecided": 4}
    return log


def test_gain_plays_no_pair_that_is_settled() -> None:
    picks = pick("gain", look(settled_partly()), 100, 1)
    assert len(picks) == 100
    assert not {tuple(sorted(chosen.agents)) for chosen in picks} & {(0, 1), (2, 3)}


def test_gain_plays_no_settled_pair_in_a_ladder_and_stops_when_all_is_settled() -> None:
    elo, luck, log = np.array([250.0, 0.0, 0.0, -250.0]), np.random.default_rng(3), compare(4)
    for number in range(200):
        snapshot = look(log, margin_elo=100)
        assert snapshot.separation is not None
        picks = pick("gain", snapshot, 20, number)
        lines = seated(picks)
        if not len(lines):
            break
        assert snapshot.separation.unsettled[lines[:, 0], lines[:, 1]].all()
        log = joined(log, play(elo, lines, luck))
    assert snapshot.separation is not None
    assert snapshot.separation.share == 1
    assert snapshot.separation.counts == {"separated": 5, "equal": 1, "circular": 0, "undecided": 0}


def test_gain_plays_the_cheaper_of_two_equal_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    never_explore(monkeypatch)
    cost = np.array([5.0, 1.0, 5.0, 1.0])
    snapshot = look(compare(4), cost_s=cost)
    assert pick("gain", snapshot, 1, 1)[0].agents == (1, 3)
    spent = seated(pick("gain", snapshot, 30, 1))
    games = np.bincount(spent.ravel(), minlength=4)
    assert games[[1, 3]].min() > games[[0, 2]].max() > 0


@pytest.mark.parametrize("place", [0, 6, 12])
def test_gain_brings_a_newcomer_near_its_place(place: int) -> None:
    """It is played at once; after twelve matches of its own it mostly meets those next to it."""
    places = np.delete(np.arange(13), place)
    elo = np.empty(13)
    elo[:12], elo[12] = -70.0 * places, -70.0 * place
    luck = np.random.default_rng(5)
    log = replace(pool(elo[:12], 2500, 5), agents=13)
    met: list[int] = []
    first_batch = seated(pick("gain", look(log), 5, 0))
    assert (first_batch == 12).any(axis=1).sum() >= 4
    while len(met) < 40:
        lines = seated(pick("gain", look(log), 2, len(log)))
        met += [int(line.sum()) - 12 for line in lines if 12 in line]
        log = joined(log, play(elo, lines, luck))
    apart = np.abs(places[met[12:]] - place)
    by_chance = np.abs(places - place).mean()
    assert np.mean(apart) < 0.8 * by_chance
    assert np.mean(apart <= 4) > 0.6


@given(st.randoms(use_true_random=False), st.integers(0, 3))
@settings(max_examples=15)
def test_other_labels_relabel_what_gain_weighs(random: Any, seed: int) -> None:
    log = pool(np.random.default_rng(seed).normal(0, 100, 7), 200, seed)
    label = np.array(random.sample(range(7), 7))
    one, other = look(log), look(replace(log, first=label[log.first], second=label[log.second]))
    ours, theirs = field_of(one), field_of(other)
    np.testing.assert_allclose(theirs.points[np.ix_(label, label)], ours.points, rtol=1e-6, atol=1e-9)
    pairs = {tuple(sorted(label[[a, b]].tolist())) for a, b in zip(ours.first, ours.second, strict=True)}
    assert pairs == {tuple(sorted(pair)) for pair in zip(theirs.first.tolist(), theirs.second.tolist(), strict=True)}


def exact_gain(snapshot: Snapshot) -> dict[tuple[int, int], float]:
    pairs, weights = objective(snapshot)
    covariance = snapshot.evidence.pooled.covariance
    now = unknown(covariance, pairs, weights)
    return {pair: now - unknown(after(snapshot, covariance, *pair), pairs, weights) for pair in pairs}


@pytest.mark.parametrize("seed", range(3))
def test_in_a_large_pool_gain_comes_near_the_best(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Known by projections and for part of the pairs only. Some agents are new, so that there is something to find."""
    never_explore(monkeypatch)
    elo = np.random.default_rng(seed).normal(0, 150, 40)
    log = replace(pool(elo[:36], 1500, seed), agents=40)
    worth = exact_gain(look(log))
    small = pick("gain", look(log), 12, 1)
    for module in (gain_module, lineups_module):
        monkeypatch.setattr(module, "ALL_PAIRS_UP_TO", 20)
    large = pick("gain", look(log), 12, 1)
    assert worth[small[0].agents] == pytest.approx(max(worth.values()))  # type: ignore[index]
    low, high = sorted(large[0].agents)
    assert worth[low, high] > 0.6 * max(worth.values())
    snapshot = look(log)
    pairs, weights = objective(snapshot)
    left = []
    for picks in (small, large):
        covariance = snapshot.evidence.pooled.covariance
        for line in seated(picks).tolist():
            covariance = after(snapshot, covariance, *line)
        left.append(unknown(snapshot.evidence.pooled.covariance, pairs, weights) - unknown(covariance, pairs, weights))
    assert left[1] > 0.6 * left[0]


def test_gain_explores_a_little() -> None:
    picks = pick("gain", look(NINE), 400, 1)
    explored = sum(chosen.why == "exploration" for chosen in picks)
    assert 5 <= explored <= 40
    assert all(chosen.fair for chosen in picks)


# --- very large pools ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def very_large() -> Snapshot:
    """More agents than verdicts on all pairs are made for."""
    agents = DENSE_LIMIT + 1
    luck = np.random.default_rng(1)
    return look(pool(luck.normal(0, 200, agents), 4 * agents), in_flight=[[0, 1], [2, 3]])


@EVERY_RULE
def test_a_very_large_pool_is_paired_too(rule: str, very_large: Snapshot) -> None:
    picks = pick(rule, very_large, 50, 1)
    assert len(picks) == 50
    lines = seated(picks)
    assert (lines[:, 0] != lines[:, 1]).all()
    assert np.isfinite([[chosen.value, chosen.expected, chosen.deviation] for chosen in picks]).all()
    assert picks == pick(rule, very_large, 50, 1)
