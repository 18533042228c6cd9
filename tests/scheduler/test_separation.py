"""Verdicts against a slow procedure over sets, against the paper's tables, and among agents whose strength is known."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from rung.errors import UserError
from rung.scheduler import separation
from rung.scheduler.bradley_terry import ELO, Fit
from rung.scheduler.comparisons import Comparisons, Ints, Reals, compare
from rung.scheduler.evidence import Evidence, about, gather, p_values, strongest
from rung.scheduler.laplacian import DENSE_LIMIT, Information
from rung.scheduler.separation import (
    BETTER,
    CIRCULAR,
    EQUAL,
    RANGE_PAPER,
    UNDECIDED,
    WORSE,
    Separation,
    adjusted_p,
    log_evidence,
    p_table,
    rating_intervals,
    separate,
    z_scores,
)

# --- the paper's figures ------------------------------------------------------------------------------------------------

RATING = np.array([1669.23, 1595.03, 1421.14, 1333.77, 1319.97, 1270.66, 1157.42])
DEVIATION = np.array([32.71, 30.23, 40.56, 28.46, 39.33, 27.29, 43.48])
"""Table 1, from Baseline to EMM."""
TINY = -1.0
"""Printed as "< 10^-4"."""
P_VALUES = [
    [],
    [0.0485],
    [TINY, 0.0003],
    [TINY, TINY, 0.0392],
    [TINY, TINY, 0.0367, 0.3897],
    [TINY, TINY, 0.0011, 0.0548, 0.1515],
    [TINY, TINY, TINY, 0.0003, 0.0028, 0.0139],
]
"""Table 2: the row's agents against the columns'."""
PRINTED = 5e-5
CUT = 0.01
"""The paper cut Z off after two decimals before it looked p up; so its p are up to 0.0016 above those of its ratings."""


def test_the_papers_second_table_follows_from_its_first() -> None:
    table = p_table(RATING, DEVIATION)
    cut = norm.cdf(np.trunc(z_scores(RATING, DEVIATION) / CUT) * CUT)
    for row, printed in enumerate(P_VALUES):
        for column, p in enumerate(printed):
            if p == TINY:
                assert table[row, column] < 1e-4
            else:
                assert cut[row, column] == pytest.approx(p, abs=PRINTED)
                assert p - 0.0017 < table[row, column] < p + PRINTED
    np.testing.assert_allclose(table + table.T, 1)
    assert np.diagonal(table).tolist() == [0.5] * 7


def test_z_is_the_papers_equation_with_a_sign() -> None:
    z = z_scores(RATING, DEVIATION)
    assert z[0, 1] == pytest.approx((1669.23 - 1595.03) / math.sqrt(32.71**2 + 30.23**2))
    np.testing.assert_array_equal(z, -z.T)
    assert (z[np.triu_indices(7, 1)] > 0).all()


def test_without_deviations_the_higher_is_surely_better() -> None:
    rating = np.array([1500.0, 1600.0, 1600.0])
    z = z_scores(rating, np.zeros(3))
    assert z.tolist() == [[0, -np.inf, -np.inf], [np.inf, 0, 0], [np.inf, 0, 0]]
    assert p_table(rating, np.zeros(3)).tolist() == [[0.5, 0, 0], [1, 0.5, 0.5], [1, 0.5, 0.5]]


@pytest.mark.parametrize("agents", [0, 1])
def test_few_agents_have_small_tables(agents: int) -> None:
    rating, deviation = np.full(agents, 1500.0), np.full(agents, 350.0)
    assert z_scores(rating, deviation).tolist() == [[0.0]] * agents
    assert p_table(rating, deviation).tolist() == [[0.5]] * agents
    assert [bound.tolist() for bound in rating_intervals(rating, deviation)] == [[814.0] * agents, [2186.0] * agents]


def test_rating_intervals_are_those_of_a_normal_distribution_or_the_papers() -> None:
    low, high = rating_intervals(RATING, DEVIATION)
    np.testing.assert_allclose(norm.cdf(high, RATING, DEVIATION) - norm.cdf(low, RATING, DEVIATION), 0.95, atol=1e-5)
    low, high = rating_intervals(RATING, DEVIATION, RANGE_PAPER)
    np.testing.assert_allclose([low, high], [RATING - 2 * DEVIATION, RATING + 2 * DEVIATION])


# --- the procedure, slowly ----------------------------------------------------------------------------------------------


def slow_verdicts(better: Reals, equal: Reals, alpha: float) -> npt.NDArray[np.int8]:
    """Holm's procedure and the closure, one claim at a time and over sets."""
    n = len(better)
    pairs = list(itertools.combinations(range(n), 2))
    beats: set[tuple[int, int]] = set()
    while True:
        apart = [(a, b) for a, b in pairs if (a, b) in beats or (b, a) in beats]
        needed = math.log(1 / alpha) + math.log(max(len(pairs) - len(apart), 1))
        claims = {(a, b) for a, b in itertools.permutations(range(n), 2) if better[a, b] >= needed} - beats
        if not claims:
            break
        beats.add(max(claims, key=lambda claim: float(better[claim])))
        grown = True
        while grown:
            follow = {(a, c) for a, b in beats for b2, c in beats if b == b2}
            grown = not follow <= beats
            beats |= follow
    found = np.zeros((n, n), dtype=np.int8)
    for a, b in pairs:
        if (a, b) in beats and (b, a) in beats:
            found[a, b] = found[b, a] = CIRCULAR
        elif (a, b) in beats or (b, a) in beats:
            found[a, b] = BETTER if (a, b) in beats else WORSE
            found[b, a] = -found[a, b]
        elif equal[a, b] >= needed:
            found[a, b] = found[b, a] = EQUAL
    return found


@contextmanager
def told(better: Reals, equal: Reals) -> Iterator[Evidence]:
    """Evidence that is just this."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(separation, "log_evidence", lambda *_: (better, equal))
        yield gather(compare(len(better)))


@st.composite
def matrices(draw: st.DrawFn, most_agents: int = 6) -> tuple[Reals, Reals]:
    """Log-evidence, contradictions included; around what is needed for 1 to 15 pairs."""
    n = draw(st.integers(2, most_agents))
    value = st.sampled_from([-math.inf, 0.0, 2.9, 3.0, 3.5, 4.0, 4.3, 4.7, 5.0, 5.3, 5.6, 5.75, 9.0])
    row = st.lists(st.sampled_from([-math.inf]) | value, min_size=n, max_size=n)
    better, equal = (np.array(draw(st.lists(row, min_size=n, max_size=n))) for _ in range(2))
    equal = np.minimum(equal, equal.T)
    for made in (better, equal):
        np.fill_diagonal(made, -math.inf)
    return better, equal


@given(matrices(), st.sampled_from([0.01, 0.05, 0.2]))
@settings(max_examples=300)
def test_verdicts_are_those_of_the_slow_procedure(made: tuple[Reals, Reals], alpha: float) -> None:
    with told(*made) as evidence:
        found = separate(evidence, alpha)
    np.testing.assert_array_equal(found.verdicts, slow_verdicts(*made, alpha))


def assert_consistent(verdicts: npt.NDArray[np.int8]) -> None:
    n = len(verdicts)
    assert not np.diagonal(verdicts).any()
    mirrored = {BETTER: WORSE, WORSE: BETTER, EQUAL: EQUAL, CIRCULAR: CIRCULAR, UNDECIDED: UNDECIDED}
    for a, b in itertools.permutations(range(n), 2):
        assert verdicts[b, a] == mirrored[int(verdicts[a, b])]
    for a, b, c in itertools.permutations(range(n), 3):
        if verdicts[a, b] == BETTER and verdicts[b, c] in (BETTER, CIRCULAR):
            assert verdicts[a, c] == BETTER
        if verdicts[a, b] == CIRCULAR and verdicts[b, c] == CIRCULAR:
            assert verdicts[a, c] == CIRCULAR


def assert_adds_up(found: Separation) -> None:
    n = found.agents
    assert sum(found.counts.values()) == n * (n - 1) // 2
    assert found.unsettled.sum() == 2 * found.counts["undecided"]
    if n > 1:
        assert found.share == pytest.approx(1 - found.counts["undecided"] / (n * (n - 1) // 2))
    best, worst = found.ranks
    assert (best >= 1).all()
    assert (worst <= n).all()
    assert (best <= worst).all()
    for a, b in itertools.permutations(range(n), 2):
        if found.verdicts[a, b] == BETTER:
            assert best[a] < best[b]
            assert worst[a] < worst[b]


@given(matrices())
def test_verdicts_never_contradict_each_other(made: tuple[Reals, Reals]) -> None:
    with told(*made) as evidence:
        found = separate(evidence)
    assert_consistent(found.verdicts)
    assert_adds_up(found)


@given(matrices())
def test_a_greater_alpha_never_takes_a_verdict_back(made: tuple[Reals, Reals]) -> None:
    with told(*made) as evidence:
        strict, loose = separate(evidence, 0.01), separate(evidence, 0.05)
    assert not (strict.verdicts != UNDECIDED)[loose.verdicts == UNDECIDED].any()
    claimed = strict.verdicts == BETTER
    assert np.isin(loose.verdicts[claimed], [BETTER, CIRCULAR]).all()
    assert (loose.verdicts[strict.verdicts == CIRCULAR] == CIRCULAR).all()
    assert loose.needed < strict.needed


@given(matrices(), st.randoms(use_true_random=False))
def test_other_labels_relabel_the_verdicts(made: tuple[Reals, Reals], random: Any) -> None:
    n = len(made[0])
    label = np.array(random.sample(range(n), n))
    with told(*made) as evidence:
        found = separate(evidence).verdicts
    back = np.argsort(label)
    with told(*(matrix[np.ix_(back, back)] for matrix in made)) as evidence:
        moved = separate(evidence).verdicts
    np.testing.assert_array_equal(moved[np.ix_(label, label)], found)


@given(matrices())
def test_needed_is_what_settles_the_next_pair(made: tuple[Reals, Reals]) -> None:
    """A pair that is settled asks for no more; any other is settled by just so much."""
    better, equal = made
    with told(better, equal) as evidence:
        found = separate(evidence)
    apart = found.counts["separated"] + found.counts["circular"]
    pairs = found.agents * (found.agents - 1) // 2
    assert found.needed == pytest.approx(math.log(max(pairs - apart, 1) / 0.05))
    undecided = np.argwhere(found.verdicts == UNDECIDED)
    undecided = undecided[undecided[:, 0] != undecided[:, 1]]
    if len(undecided):
        a, b = undecided[0]
        assert max(better[a, b], better[b, a], equal[a, b]) < found.needed
        more = better.copy()
        more[a, b] = found.needed + 1e-9
        with told(more, equal) as evidence:
            assert separate(evidence).verdicts[a, b] in (BETTER, CIRCULAR)


def plain_holm(better: Reals, alpha: float) -> set[tuple[int, int]]:
    """Who is separated by its pair's own evidence, without what follows from it."""
    best = {(a, b): max(better[a, b], better[b, a]) for a, b in itertools.combinations(range(len(better)), 2)}
    left, found = len(best), set()
    for (a, b), evidence in sorted(best.items(), key=lambda item: -item[1]):
        if evidence < math.log(left / alpha):
            break
        found.add((a, b) if better[a, b] >= better[b, a] else (b, a))
        left -= 1
    return found


@given(matrices(), st.sampled_from([0.01, 0.05, 0.2]))
def test_adjusted_p_is_holms(made: tuple[Reals, Reals], alpha: float) -> None:
    better, _ = made
    with told(*made) as evidence:
        p, found = adjusted_p(evidence), separate(evidence, alpha)
    assert ((p > 0) & (p <= 1)).all()
    for a, b in itertools.permutations(range(len(better)), 2):
        if better[a, b] > better[b, a] and abs(p[a, b] - alpha) > 1e-12:
            assert (p[a, b] <= alpha) == ((a, b) in plain_holm(better, alpha))
        if p[a, b] <= alpha * (1 - 1e-12):
            assert found.verdicts[a, b] in (BETTER, CIRCULAR)


def test_adjusted_p_by_hand() -> None:
    better = np.full((3, 3), -np.inf)
    better[0, 1], better[0, 2], better[1, 2] = math.log(600), math.log(50), math.log(40)
    with told(better, np.full((3, 3), -np.inf)) as evidence:
        p = adjusted_p(evidence)
    np.testing.assert_allclose(p, np.array([[1.0, 3 / 600, 2 / 50], [1.0, 1.0, 2 / 50], [1.0, 1.0, 1.0]]))


@pytest.mark.parametrize("agents", [0, 1, 2])
def test_adjusted_p_of_few_agents_without_matches_is_one(agents: int) -> None:
    assert adjusted_p(gather(compare(agents))).tolist() == [[1.0] * agents] * agents


# --- from logs ----------------------------------------------------------------------------------------------------------


def duels(agents: int, pairs: list[tuple[int, int, int, int, int]]) -> Comparisons:
    """(first, second, wins, draws, losses)."""
    columns = [
        (a, b, s) for a, b, *counts in pairs for s, k in zip((1.0, 0.5, 0.0), counts, strict=True) for _ in range(k)
    ]
    first, second, score = zip(*columns, strict=True) if columns else ((), (), ())
    return compare(agents, first, second, score)


def pool(elo: Reals, matches: int, seed: int, draws: float = 0.0) -> Comparisons:
    """Random pairs of agents of these strengths."""
    random = np.random.default_rng(seed)
    first = random.integers(0, len(elo), matches)
    second = (first + random.integers(1, len(elo), matches)) % len(elo)
    p = 1 / (1 + np.exp((elo[second] - elo[first]) * ELO))
    drawn = draws * 2 * np.minimum(p, 1 - p)
    luck = random.random(matches)
    return compare(
        len(elo), first, second, np.where(luck < p - drawn / 2, 1.0, np.where(luck < p + drawn / 2, 0.5, 0.0))
    )


@st.composite
def logs(draw: st.DrawFn) -> Comparisons:
    """Small logs that are enough for verdicts, and unfair rows."""
    agents = draw(st.integers(2, 5))
    pairs = st.tuples(st.integers(0, agents - 1), st.integers(1, agents - 1))
    counts = st.tuples(st.sampled_from([0, 3, 60, 300]), st.sampled_from([0, 40]), st.sampled_from([0, 3, 60]))
    rows = draw(st.lists(st.tuples(pairs, counts, st.booleans()), max_size=5))
    made = duels(agents, [(a, (a + ahead) % agents, *count) for (a, ahead), count, _ in rows])
    return replace(
        made, fair=np.repeat([fair for *_, fair in rows], [sum(count) for _, count, _ in rows]).astype(np.bool_)
    )


@given(logs(), st.sampled_from([0.0, 35.0, 200.0]))
def test_verdicts_from_logs_never_contradict_each_other(made: Comparisons, margin: float) -> None:
    evidence = gather(made)
    found = separate(evidence, margin_elo=margin)
    assert_consistent(found.verdicts)
    assert_adds_up(found)
    better, equal = log_evidence(evidence, margin)
    np.testing.assert_array_equal(found.verdicts, slow_verdicts(better, equal, 0.05))


@given(logs(), st.randoms(use_true_random=False))
def test_other_labels_relabel_the_verdicts_of_a_log(made: Comparisons, random: Any) -> None:
    label = np.array(random.sample(range(made.agents), made.agents))
    found = separate(gather(made)).verdicts
    moved = separate(gather(replace(made, first=label[made.first], second=label[made.second]))).verdicts
    np.testing.assert_array_equal(moved[np.ix_(label, label)], found)


@given(logs(), st.sampled_from([0.0, 35.0, 200.0]))
def test_the_evidence_of_all_pairs_is_that_of_each(made: Comparisons, margin: float) -> None:
    evidence = gather(made)
    better, equal = log_evidence(evidence, margin)
    i, j = np.nonzero(~np.eye(made.agents, dtype=np.bool_))
    np.testing.assert_allclose(np.exp(np.minimum(0, -better[i, j])), p_values(evidence, i, j), rtol=1e-6)
    np.testing.assert_array_equal(equal, equal.T)
    most = np.maximum(np.maximum(better, better.T), equal)[i, j]
    np.testing.assert_allclose(strongest(about(evidence, i, j), margin * ELO), most, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("agents", [0, 1])
def test_a_pool_without_pairs_is_settled(agents: int) -> None:
    found = separate(gather(compare(agents)))
    assert found.verdicts.shape == (agents, agents)
    assert found.counts == {"separated": 0, "equal": 0, "circular": 0, "undecided": 0}
    assert found.share == 1
    assert [ranks.tolist() for ranks in found.ranks] == [[1] * agents, [1] * agents]
    assert not found.unsettled.any()


def test_a_pool_without_matches_is_undecided() -> None:
    found = separate(gather(compare(4)))
    assert not found.verdicts.any()
    assert found.share == 0
    assert [ranks.tolist() for ranks in found.ranks] == [[1] * 4, [4] * 4]
    assert found.needed == pytest.approx(math.log(6 / 0.05))


def test_who_wins_surely_is_better_and_through_common_opponents_too() -> None:
    found = separate(gather(duels(3, [(2, 0, 150, 0, 50), (0, 1, 150, 0, 50)])))
    assert found.verdicts.tolist() == [[0, BETTER, WORSE], [WORSE, 0, WORSE], [BETTER, BETTER, 0]]
    assert [ranks.tolist() for ranks in found.ranks] == [[2, 3, 1], [2, 3, 1]]
    assert found.counts == {"separated": 3, "equal": 0, "circular": 0, "undecided": 0}


@pytest.mark.parametrize("fair", [True, False])
def test_a_cycle_is_circular_and_ranks_nobody(fair: bool) -> None:
    rock_paper_scissors = [(0, 1, 150, 0, 50), (1, 2, 150, 0, 50), (2, 0, 150, 0, 50)]
    made = duels(4, [*rock_paper_scissors, *((each, 3, 190, 0, 10) for each in range(3))])
    found = separate(gather(replace(made, fair=np.full(len(made), fair))))
    circle = found.verdicts[:3, :3]
    assert (circle[~np.eye(3, dtype=np.bool_)] == CIRCULAR).all()
    assert found.verdicts[:3, 3].tolist() == [BETTER] * 3
    assert [ranks.tolist() for ranks in found.ranks] == [[1, 1, 1, 4], [3, 3, 3, 4]]
    assert found.counts == {"separated": 3, "equal": 0, "circular": 3, "undecided": 0}


def test_draws_show_sooner_that_two_are_practically_equal() -> None:
    def verdict(wins: int, draws: int, losses: int) -> int:
        return int(separate(gather(duels(2, [(0, 1, wins, draws, losses)]))).verdicts[0, 1])

    assert verdict(10, 580, 10) == EQUAL
    assert verdict(300, 0, 300) == UNDECIDED
    assert verdict(3000, 0, 3000) == EQUAL


@pytest.mark.parametrize("played", [(5, 9000, 5), (5000, 0, 5000)])
def test_without_a_margin_nobody_is_equal(played: tuple[int, int, int]) -> None:
    found = separate(gather(duels(2, [(0, 1, *played)])), margin_elo=0)
    assert found.verdicts.tolist() == [[0, 0], [0, 0]]


def test_within_an_endless_margin_everybody_is_equal() -> None:
    evidence = gather(duels(3, [(0, 1, 1, 0, 0)]))
    better, equal = log_evidence(evidence, 1e6)
    assert not np.isnan([better, equal]).any()
    assert separate(evidence, margin_elo=1e6).verdicts.tolist() == [
        [0, EQUAL, EQUAL],
        [EQUAL, 0, EQUAL],
        [EQUAL, EQUAL, 0],
    ]


def test_who_is_surely_better_within_the_margin_is_better() -> None:
    found = separate(gather(duels(2, [(0, 1, 52_000, 0, 48_000)])))
    assert found.verdicts[0, 1] == BETTER


def test_a_pair_that_is_practically_equal_keeps_its_part_of_alpha() -> None:
    """It can still be separated, wrongly."""
    n, needed = 3, math.log(3 / 0.05)
    equal = np.full((n, n), 50.0)
    better = np.full((n, n), -np.inf)
    better[0, 1] = needed - 1e-9
    with told(better, equal) as evidence:
        found = separate(evidence)
    assert (found.verdicts[~np.eye(n, dtype=np.bool_)] == EQUAL).all()
    assert found.needed == pytest.approx(needed)
    better[0, 1] = needed
    with told(better, equal) as evidence:
        assert separate(evidence).verdicts[0, 1] == BETTER


# --- whole ladders ------------------------------------------------------------------------------------------------------


def wrong(found: Separation, elo: Reals) -> bool:
    apart = elo[:, None] - elo[None, :]
    claims = (found.verdicts == BETTER) & (apart <= 0)
    claims |= (found.verdicts == EQUAL) & (np.abs(apart) >= found.margin_elo) | (found.verdicts == CIRCULAR)
    return bool(claims.any())


LADDERS = 60


class Gaussian:
    """Ladders whose every agent is measured by itself, which is what a joint fit comes to with many even matches."""

    def __init__(self, elo: Reals, seed: int) -> None:
        self.elo, self.random = elo, np.random.default_rng(seed)
        self.sum, self.information = np.zeros(len(elo)), 0.0

    def look(self, information: float) -> Separation:
        fresh = information - self.information
        self.sum += self.random.normal(self.elo * ELO * fresh, math.sqrt(fresh))
        self.information = information
        none: Ints = np.zeros(0, dtype=np.int64)
        n = len(self.elo)
        known = Fit(self.sum / information, 1.0, 350.0, Information(n, none, none, np.zeros(0), information))
        return separate(replace(gather(compare(n)), pooled=known, joint=known))


@pytest.mark.parametrize(
    "elo",
    [np.zeros(20), np.where(np.arange(20) < 10, 35.0, 0.0), np.where(np.arange(20) < 10, 0.0, 300.0 * np.arange(20))],
    ids=["equal", "at the margin", "half equal"],
)
def test_few_ladders_are_ever_wrong_however_long_they_go_on(elo: Reals) -> None:
    """Until long after most pairs are settled. Were the practically equal to give their part of α away, 6 to 18 % would be
    wrong."""
    looks = np.geomspace(1, 15_000, 60)
    ladders = (Gaussian(elo, seed) for seed in range(LADDERS))
    count = sum(any(wrong(ladder.look(information), elo) for information in looks) for ladder in ladders)
    assert count <= 0.05 * LADDERS


def test_agents_of_known_strength_are_separated_and_never_wrongly() -> None:
    elo: Reals = -80.0 * np.arange(8, dtype=np.float64)
    for seed in range(3):
        made = pool(elo, 8000, seed, draws=0.3)
        for matches in (100, 500, 2000, 8000):
            found = separate(gather(compare(8, *(c[:matches] for c in (made.first, made.second, made.score)))))
            assert not wrong(found, elo)
            best, worst = found.ranks
            assert (best <= np.arange(1, 9)).all()
            assert (worst >= np.arange(1, 9)).all()
        assert found.share == 1


# --- bad input ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 1.0, -1.0, 5.0, math.nan, math.inf])
def test_bad_levels_are_one_sentence(alpha: float) -> None:
    with pytest.raises(UserError, match=f"^alpha must be between 0 and 1, not {alpha}[.]$"):
        separate(gather(compare(2)), alpha)


@pytest.mark.parametrize("margin", [-1.0, math.nan, math.inf])
def test_bad_margins_are_one_sentence(margin: float) -> None:
    with pytest.raises(UserError, match=f"^The margin must be a number of at least 0 Elo, not {margin}[.]$"):
        separate(gather(compare(2)), margin_elo=margin)


def test_too_many_agents_are_one_sentence() -> None:
    with pytest.raises(UserError, match=rf"^Verdicts .* at most {DENSE_LIMIT} agents, not {DENSE_LIMIT + 1}\.$"):
        separate(gather(compare(DENSE_LIMIT + 1)))
