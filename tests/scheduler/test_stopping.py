"""When ladders stop, and what they say then."""

from __future__ import annotations

import numpy as np
import pytest

from rung.errors import UserError
from rung.scheduler import stopping
from rung.scheduler.separation import BETTER, CIRCULAR, EQUAL, UNDECIDED, Separation
from rung.scheduler.stopping import Progress, Stop

NAMES = ("ann", "bob", "cy")


def progress(
    ann_bob: int = UNDECIDED,
    ann_cy: int = UNDECIDED,
    bob_cy: int = UNDECIDED,
    matches: int = 10,
    seconds: float = 20.0,
    cost_s: float = 30.0,
) -> Progress:
    verdicts = np.zeros((3, 3), dtype=np.int8)
    for (i, j), verdict in {(0, 1): ann_bob, (0, 2): ann_cy, (1, 2): bob_cy}.items():
        verdicts[i, j] = verdict
        verdicts[j, i] = -verdict if abs(verdict) == BETTER else verdict
    separation = Separation(verdicts, 5.0, 0.05, 35.0)
    return Progress(separation, np.array([1600.0, 1500.0, 1400.0]), matches, seconds, cost_s, NAMES)


@pytest.mark.parametrize(
    ("rule", "state", "why"),
    [
        (stopping.all_settled(), progress(BETTER, BETTER), None),
        (
            stopping.all_settled(),
            progress(BETTER, BETTER, EQUAL),
            "All 3 pairs are settled (2 separated, 1 practically equal).",
        ),
        (stopping.all_settled(), progress(CIRCULAR, CIRCULAR, CIRCULAR), "All 3 pairs are settled (3 circular)."),
        (
            stopping.all_settled(0.6),
            progress(BETTER, BETTER),
            "2 of 3 pairs are settled, 60% were asked for (2 separated, 1 undecided).",
        ),
        (stopping.top_settled(1), progress(BETTER), None),
        (stopping.top_settled(1), progress(BETTER, BETTER), "The best is settled: ann."),
        (stopping.top_settled(2), progress(BETTER, BETTER), None),
        (
            stopping.top_settled(2),
            progress(EQUAL, BETTER, BETTER),
            "The best 2 are settled against everybody: ann, bob.",
        ),
        (stopping.pair_settled(1, 2), progress(BETTER, BETTER), None),
        (stopping.pair_settled(1, 0), progress(BETTER), "ann is better than bob."),
        (stopping.pair_settled(0, 1), progress(BETTER), "ann is better than bob."),
        (
            stopping.pair_settled(0, 1),
            progress(EQUAL),
            "ann and bob are practically equal: they differ by less than 35 Elo.",
        ),
        (
            stopping.pair_settled(0, 1),
            progress(CIRCULAR),
            "ann and bob each beat the other through others: no order of the two is true.",
        ),
        (stopping.matches_played(11), progress(), None),
        (
            stopping.matches_played(10),
            progress(),
            "The budget is used up: 10 matches are played, and 3 pairs stay undecided.",
        ),
        (
            stopping.time_passed(20),
            progress(BETTER, BETTER),
            "The budget is used up: 20 seconds have passed, and 1 pair stays undecided.",
        ),
        (
            stopping.cost_spent(1.5),
            progress(BETTER, BETTER, BETTER),
            "The budget is used up: 30 seconds are spent on matches, and all is settled.",
        ),
    ],
)
def test_what_is_said(rule: Stop, state: Progress, why: str | None) -> None:
    assert rule(state) == why


def test_combinations() -> None:
    budget, top = stopping.matches_played(10), stopping.top_settled(1)
    assert stopping.any_of(top, budget)(progress()) == budget(progress())
    assert stopping.any_of(top, stopping.matches_played(11))(progress()) is None
    assert stopping.all_of(top, budget)(progress()) is None
    done = progress(BETTER, BETTER)
    assert stopping.all_of(top, budget)(done) == f"{top(done)} {budget(done)}"
    assert stopping.any_of()(done) is None
    assert stopping.all_of()(done) is None


def test_one_agent_has_nothing_to_settle() -> None:
    alone = Progress(Separation(np.zeros((1, 1), dtype=np.int8), 3.0, 0.05, 35.0), np.zeros(1), 0, 0.0, 0.0, ["ann"])
    assert stopping.all_settled()(alone) == "There is no pair to settle."
    assert stopping.top_settled(1)(alone) == "The best is settled: ann."


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: stopping.all_settled(0.0), "The share of pairs to settle must be above 0 and at most 1, not 0.0."),
        (lambda: stopping.top_settled(0), "The number of best agents to settle must be at least 1, not 0."),
        (lambda: stopping.top_settled(4)(progress()), "The best 4 cannot be settled among 3 agents."),
        (lambda: stopping.pair_settled(1, 1), "A pair to settle is two different agents, not 1 and 1."),
        (lambda: stopping.pair_settled(0, 3)(progress()), "There is no agent 3 among 3."),
        (lambda: stopping.matches_played(0), "A budget's number of matches must be above 0, not 0."),
        (lambda: stopping.time_passed(float("nan")), "A budget's time in seconds must be above 0, not nan."),
        (lambda: stopping.cost_spent(-1), "A budget's cost in seconds must be above 0, not -1."),
    ],
)
def test_what_cannot_be_meant(make: Stop, sentence: str) -> None:
    with pytest.raises(UserError) as refused:
        make()  # type: ignore[call-arg]
    assert str(refused.value) == sentence
