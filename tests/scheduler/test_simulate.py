"""Simulated ladders: that they are what they say, that the measures measure, and what the rules promise."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

import numpy as np
import pytest
from scipy.stats import kendalltau

from rung.errors import UserError
from rung.scheduler import simulate
from rung.scheduler.bradley_terry import ELO
from rung.scheduler.evidence import Evidence, expected_scores
from rung.scheduler.pairing import RULES
from rung.scheduler.separation import Separation
from rung.scheduler.simulate import Plan, Run, kendall, run
from rung.scheduler.worlds import WORLDS, World, make_world

QUICK = Plan("normal", 8, "gain", 1, matches=600, batch=10)


def ladders(plan: Plan, count: int) -> list[Run]:
    return [run(replace(plan, seed=seed)) for seed in range(count)]


# -- worlds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WORLDS)
def test_scores_have_the_mean_the_differences_say(name: str) -> None:
    world = make_world(name, 7, 3)
    source = np.random.default_rng(1)
    first, second = (column.ravel() for column in np.nonzero(~np.eye(7, dtype=bool)))
    count = 4000
    scores = world.play(np.repeat(first, count), np.repeat(second, count), source).reshape(-1, count)
    expected = expected_scores(world.differences()[first, second])
    assert np.allclose(scores.mean(axis=1), expected, atol=4.5 * 0.5 / count**0.5)
    assert set(np.unique(scores)) <= {0.0, 0.5, 1.0}


@pytest.mark.parametrize("name", WORLDS)
def test_worlds_are_the_same_for_the_same_seed(name: str) -> None:
    one, same, other = (make_world(name, 6, seed) for seed in (4, 4, 5))
    assert np.array_equal(one.elo, same.elo)
    assert np.array_equal(one.costs(), same.costs())
    assert name in ("even", "equal", "groups") or not np.array_equal(one.elo, other.elo)


def test_truth_of_plain_worlds_is_the_order_of_strength() -> None:
    world = World(np.array([100.0, 50.0, 50.0]))
    assert world.better().tolist() == [[False, True, True], [False, False, False], [False, False, False]]
    assert np.allclose(world.differences()[0] / ELO, [0.0, 50.0, 50.0])


def test_a_cycle_has_no_loser_to_call_wrong() -> None:
    better = make_world("cycle", 9, 1).better()
    assert better[0, 1]
    assert better[1, 2]
    assert better[2, 0]


def test_unknown_worlds_and_empty_ones() -> None:
    with pytest.raises(UserError, match="Did you mean groups"):
        make_world("group", 5, 1)
    with pytest.raises(UserError, match="at least 1 agent"):
        make_world("even", 0, 1)


# -- ladders ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_same_plan_same_ladder(rule: str) -> None:
    plan = replace(QUICK, rule=rule, matches=300)
    one, same = run(plan), run(plan)
    assert (one.settled, one.tau, one.waited, one.covered) == (same.settled, same.tau, same.waited, same.covered)
    assert run(replace(plan, seed=2)).tau != one.tau


def test_a_ladder_ends_when_enough_is_settled_or_its_matches_are_played() -> None:
    plan = Plan("even", 4, "gain", 1, matches=20_000, until=0.5)
    ended = run(plan)
    assert ended.settled[-1][0] >= 0.5
    assert ended.matches == ended.settled[-1][1] == ended.matches_until(0.5) < 20_000
    assert ended.seconds == 2 * ended.matches  # one second for each of the two
    assert ended.seconds_until(0.5) == ended.seconds
    short = run(replace(plan, until=1.0, matches=30))
    assert short.matches == 30
    assert short.matches_until(1.0) == float("inf")


def test_looking_after_each_match_sees_every_state() -> None:
    seldom, each = run(replace(QUICK, matches=200)), run(replace(QUICK, matches=200, look_each=True))
    assert (seldom.looks, each.looks) == (20, 200)


def test_batches_grow() -> None:
    assert (
        run(replace(QUICK, rule="random", matches=600, growth=0.5)).looks
        < 15
        < run(replace(QUICK, rule="random")).looks
    )


@pytest.mark.parametrize("n", [2, 9])
def test_kendall_is_scipys(n: int) -> None:
    source = np.random.default_rng(n)
    believed, true = source.normal(size=n), source.normal(size=n)
    assert kendall(believed, true) == pytest.approx(kendalltau(believed, true).statistic)
    assert kendall(believed, np.zeros(n)) == 1.0


def test_the_measures_see_a_verdict_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is ahead at the moment is called better: among equal agents that is wrong, among very unequal ones soon right."""

    def whoever_is_ahead(evidence: Evidence, alpha: float, margin_elo: float) -> Separation:
        theta = evidence.pooled.theta
        return Separation(np.sign(theta[:, None] - theta[None, :]).astype(np.int8), 0.0, alpha, margin_elo)

    monkeypatch.setattr(simulate, "separate", whoever_is_ahead)
    plan = Plan("equal", 6, "random", 1, matches=200, until=1.0)
    assert run(plan).wrong > 10
    monkeypatch.setattr(simulate, "make_world", lambda *_: World(np.array([0.0, -2000.0])))
    assert run(replace(plan, agents=2)).wrong == 0


@pytest.mark.parametrize("rule", RULES)
def test_equal_agents_are_not_separated(rule: str) -> None:
    """12 ladders of 10 equal agents, looked at after every match: at a true rate of 5 %, 3 wrong ones come up in 2 %."""
    found = ladders(Plan("equal", 10, rule, 0, matches=400, look_each=True), 12)
    assert sum(r.wrong > 0 for r in found) <= 2
    assert np.mean([r.covered for r in found]) >= 0.95
    assert sum(r.plain_wrong > 0 for r in found) >= 3  # what plain Z > 1.96 does in the same ladders


@pytest.mark.parametrize("world", ["normal", "groups", "draws", "gap", "bias"])
def test_verdicts_are_right_in_many_worlds(world: str) -> None:
    found = ladders(Plan(world, 10, "gain", 0, matches=4000, growth=0.05), 8)
    assert sum(r.wrong > 0 for r in found) <= 2
    assert np.mean([r.always_covered for r in found]) >= 0.95


def test_cycles_are_not_ranked() -> None:
    for rule in ("gain", "random"):
        assert sum(r.wrong > 0 for r in ladders(Plan("cycle", 6, rule, 0, matches=3000, growth=0.05), 6)) <= 1


def test_gain_needs_fewer_matches_than_pairing_at_random() -> None:
    plan = Plan("even", 10, "gain", 0, matches=40_000, growth=0.03, until=0.95)
    own = median(r.matches_until(0.95) for r in ladders(plan, 7))
    blind = median(r.matches_until(0.95) for r in ladders(replace(plan, rule="random"), 7))
    assert own < 0.6 * blind


def test_knowing_costs_saves_seconds() -> None:
    """Worlds differ much in what they cost, so the two are compared world by world."""
    plan = Plan("costs", 8, "gain", 0, matches=40_000, growth=0.03, until=0.8)
    aware, blind = ladders(plan, 7), ladders(replace(plan, cost_blind=True), 7)
    assert median(a.seconds_until(0.8) / b.seconds_until(0.8) for a, b in zip(aware, blind, strict=True)) < 0.85


def test_a_newcomer_is_soon_known() -> None:
    plan = Plan("newcomer", 10, "gain", 0, matches=2000, batch=5)
    own = [r.newcomer for r in ladders(plan, 5)]
    blind = [r.newcomer for r in ladders(replace(plan, rule="random"), 5)]
    assert all(own)
    assert all(blind)
    assert median(o[1] for o in own if o) < 0.5 * median(b[1] for b in blind if b)


@pytest.mark.parametrize("rule", RULES)
def test_nobody_waits_for_ever(rule: str) -> None:
    assert max(r.waited for r in ladders(replace(QUICK, world="gap", rule=rule, matches=2000), 3)) < 100


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"rule": "gian"}, "There is no pairing rule called 'gian'. Did you mean gain?"),
        ({"matches": 0}, "The number of matches must be at least 1, not 0."),
        ({"batch": -3}, "A batch must have at least 1 match, not -3."),
        ({"growth": 2.0}, "Batches may grow to a share of 0 to 1 of the matches so far, not 2.0."),
        ({"until": 0.0}, "The share of pairs to settle must be above 0 and at most 1, not 0.0."),
    ],
)
def test_what_cannot_be_meant(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(UserError) as refused:
        replace(QUICK, **change)  # type: ignore[arg-type]
    assert str(refused.value).startswith(sentence)
