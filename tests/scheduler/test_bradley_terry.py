"""The joint fit against independent solutions of the same model, and what must hold of any such fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import choix
import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from rung.errors import UserError
from rung.scheduler import bradley_terry, laplacian
from rung.scheduler.bradley_terry import ELO, PRIOR_ELO, WIDEST_PRIOR_ELO, Fit, Online, fit, update
from rung.scheduler.comparisons import Comparisons, Ints, Reals, compare
from rung.scheduler.laplacian import DENSE_LIMIT, Information

PRIOR_VARIANCE = (PRIOR_ELO * ELO) ** 2
NEVER_DENSE = 0
"""As a limit of agents for dense solves."""


def pool(agents: int, matches: int, seed: int = 1, draws: float = 0.0, sd_elo: float = 200.0) -> Comparisons:
    """Random pairs of agents with normally distributed strengths; so large a share of the matches between equals is drawn,
    fewer between others, and the mean score is the model's."""
    random = np.random.default_rng(seed)
    theta = strengths(agents, seed, sd_elo)
    first = random.integers(0, agents, matches)
    second = (first + random.integers(1, agents, matches)) % agents
    p = chances(theta, first, second)
    drawn = 2 * draws * np.minimum(p, 1 - p)
    score = np.where(random.random(matches) < (p - drawn / 2) / (1 - drawn), 1.0, 0.0)
    score[random.random(matches) < drawn] = 0.5
    return compare(agents, first, second, score)


def strengths(agents: int, seed: int, sd_elo: float) -> Reals:
    return np.random.default_rng([seed, 7]).normal(0.0, sd_elo * ELO, agents)


def chances(theta: Reals, first: Ints, second: Ints) -> Reals:
    """Mean scores of the first agents."""
    return np.asarray(1 / (1 + np.exp(theta[second] - theta[first])))


def winners(made: Comparisons) -> list[tuple[int, int]]:
    """As choix wants it: winner and loser of each match."""
    return [
        (int(a), int(b)) if s == 1 else (int(b), int(a))
        for a, b, s in zip(made.first, made.second, made.score, strict=True)
    ]


def log_posterior(made: Comparisons, dispersion: float) -> Callable[[Reals], float]:
    """Written down once more, row by row, without a derivative."""

    def value(theta: Reals) -> float:
        difference = theta[made.first] - theta[made.second]
        likelihood = made.score * -np.logaddexp(0, -difference) + (1 - made.score) * -np.logaddexp(0, difference)
        return float(made.weight @ likelihood / dispersion - theta @ theta / (2 * PRIOR_VARIANCE))

    return value


def hessian(function: Callable[[Reals], float], at: Reals, step: float = 1e-3) -> Reals:
    """By central differences."""
    n = len(at)
    unit, found = np.eye(n) * step, np.empty((n, n))
    for i in range(n):
        for j in range(n):
            signs = [(a, b, a * b) for a in (1, -1) for b in (1, -1)]
            found[i, j] = sum(ab * function(at + a * unit[i] + b * unit[j]) for a, b, ab in signs) / (4 * step**2)
    return found


@st.composite
def comparisons(draw: st.DrawFn, most_agents: int = 6, most_rows: int = 25) -> Comparisons:
    """Any small log: disconnected pools, agents without matches, fractions and weights included."""
    agents = draw(st.integers(2, most_agents))
    pair = st.tuples(st.integers(0, agents - 1), st.integers(1, agents - 1))
    row = st.tuples(pair, st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.sampled_from([0.1, 1 / 3, 1.0, 2.0, 50.0]))
    rows = draw(st.lists(row, max_size=most_rows))
    first = [first for (first, _), _, _ in rows]
    second = [(first + ahead) % agents for (first, ahead), _, _ in rows]
    return compare(agents, first, second, [score for _, score, _ in rows], [weight for *_, weight in rows])


def rows_of(made: Comparisons, rows: Ints) -> Comparisons:
    return compare(made.agents, made.first[rows], made.second[rows], made.score[rows], made.weight[rows])


def assert_same(one: Fit, other: Fit, tolerance: float = 1e-9) -> None:
    assert np.allclose(one.theta, other.theta, rtol=0, atol=tolerance)
    assert np.allclose(one.covariance, other.covariance, rtol=0, atol=tolerance)
    assert one.dispersion == pytest.approx(other.dispersion, abs=tolerance)


# --- other people's solutions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [pool(8, 100), pool(20, 60), pool(30, 400, sd_elo=500)], ids=["8", "sparse", "wide"])
def test_the_mode_is_that_of_choix(case: Comparisons) -> None:
    """choix penalises alpha · sum theta², so that its prior variance is 1 / (2 alpha), not 1 / alpha as its text has it."""
    theirs = choix.opt_pairwise(case.agents, winners(case), alpha=1 / (2 * PRIOR_VARIANCE), tol=1e-10)
    assert np.allclose(fit(case).theta, theirs, atol=1e-6)


def test_without_a_prior_to_speak_of_it_is_the_maximum_likelihood_of_choix() -> None:
    case = pool(10, 500)
    found = fit(case, prior_elo=WIDEST_PRIOR_ELO)
    assert np.allclose(found.theta, choix.ilsr_pairwise(10, winners(case), alpha=0.0), atol=1e-3)


def test_expectation_propagation_finds_about_the_same_posterior() -> None:
    """Another approximation of the same posterior, around its mean rather than its mode: with many matches the two meet."""
    case = pool(5, 600)
    mean, covariance = choix.ep_pairwise(5, winners(case), alpha=1 / PRIOR_VARIANCE, model="logit")
    ours = fit(case)
    i, j = np.triu_indices(5, 1)
    variance = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
    apart = (ours.theta[i] - ours.theta[j]) - (mean[i] - mean[j])
    assert np.abs(apart / np.sqrt(variance)).max() < 0.15
    assert np.allclose(ours.contrast_variance(i, j), variance, rtol=0.07)


@pytest.mark.parametrize("dispersion", [1.0, 0.4])
def test_the_mode_and_curvature_of_the_posterior_by_brute_force(dispersion: float) -> None:
    case = pool(5, 40, draws=0.5)
    case = replace(case, weight=np.random.default_rng(3).uniform(0.1, 3, len(case)))
    value = log_posterior(case, dispersion)
    best = scipy.optimize.minimize(lambda theta: -value(theta), np.zeros(5), tol=1e-12)
    ours = fit(case, dispersion=dispersion)
    assert np.allclose(ours.theta, best.x, atol=1e-5)
    assert np.allclose(ours.covariance, np.linalg.inv(-hessian(value, ours.theta)), rtol=1e-4)


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (3, 2), (60, 40), (190, 10)])
def test_the_posterior_of_two_agents_is_close_to_the_integral(wins: int, losses: int) -> None:
    """The difference d has the prior Normal(0, 2 prior variance); its true posterior comes from a grid."""
    ours = fit(compare(2, [0] * (wins + losses), [1] * (wins + losses), [1] * wins + [0] * losses))
    d = np.linspace(-40, 40, 400_001)
    logs = -wins * np.logaddexp(0, -d) - losses * np.logaddexp(0, d) - d**2 / (4 * PRIOR_VARIANCE)
    density = np.exp(logs - logs.max())
    mean = (d @ density) / density.sum()
    sd = np.sqrt((d - mean) ** 2 @ density / density.sum())
    ours_sd = float(np.sqrt(ours.contrast_variance(0, 1)))
    assert abs(ours.theta[0] - ours.theta[1] - mean) < 0.15 * sd
    assert ours_sd == pytest.approx(sd, rel=0.1 if wins + losses < 100 else 0.05)


# --- properties -----------------------------------------------------------------------------------------------------------


@given(comparisons(), st.randoms(use_true_random=False))
def test_the_order_of_the_log_is_irrelevant(made: Comparisons, random: Any) -> None:
    rows = np.array(random.sample(range(len(made)), len(made)), dtype=np.int64)
    assert_same(fit(made), fit(rows_of(made, rows)))


def test_the_order_of_a_long_log_is_irrelevant() -> None:
    made = pool(600, 30_000, draws=0.3)
    rows = np.random.default_rng(2).permutation(len(made))
    one, other = fit(made), fit(rows_of(made, rows))
    assert np.array_equal(one.information.first, other.information.first)
    assert np.array_equal(one.information.second, other.information.second)
    assert np.allclose(one.theta, other.theta, rtol=0, atol=1e-9)
    assert np.allclose(one.information.weight, other.information.weight, rtol=1e-9)


@given(comparisons(), st.randoms(use_true_random=False))
def test_other_labels_relabel(made: Comparisons, random: Any) -> None:
    label = np.array(random.sample(range(made.agents), made.agents), dtype=np.int64)
    one, other = fit(made), fit(replace(made, first=label[made.first], second=label[made.second]))
    assert np.allclose(one.theta, other.theta[label], atol=1e-9)
    assert np.allclose(one.covariance, other.covariance[np.ix_(label, label)], atol=1e-9)


@given(comparisons())
def test_a_comparison_may_be_told_from_either_side(made: Comparisons) -> None:
    assert_same(fit(made), fit(replace(made, first=made.second, second=made.first, score=1 - made.score)))


@given(comparisons())
def test_weight_two_is_two_rows(made: Comparisons) -> None:
    twice = np.repeat(np.arange(len(made)), 2)
    assert_same(fit(replace(made, weight=made.weight * 2)), fit(rows_of(made, twice)))


@given(comparisons(), st.integers(0, 5), st.integers(1, 5))
def test_another_win_never_lowers_the_winner(made: Comparisons, winner: int, ahead: int) -> None:
    winner %= made.agents
    loser = (winner + 1 + ahead % (made.agents - 1)) % made.agents
    first, second = np.append(made.first, winner), np.append(made.second, loser)
    more = compare(made.agents, first, second, np.append(made.score, 1.0), np.append(made.weight, 1.0))
    before, after = fit(made, dispersion=1.0), fit(more, dispersion=1.0)
    assert after.theta[winner] >= before.theta[winner] - 1e-9
    assert after.theta[loser] <= before.theta[loser] + 1e-9


@given(comparisons(), st.floats(-50, 50), st.integers(0, 6))
def test_a_start_changes_nothing(made: Comparisons, scale: float, length: int) -> None:
    """However far off, and also with fewer agents than now."""
    start = scale * np.cos(np.arange(length))
    assert_same(fit(made), fit(made, start=start))


def test_a_start_saves_newton_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0
    solve = Information.solve

    def counted(self: Information, right: Reals, dense_limit: int) -> Reals:
        nonlocal steps
        steps += 1
        return solve(self, right, dense_limit)

    monkeypatch.setattr(Information, "solve", counted)
    made = pool(30, 3000, sd_elo=500)
    cold = fit(made)
    took, steps = steps, 0
    fit(made, start=cold.theta)
    assert steps == 1 < took


@given(comparisons())
def test_the_ratings_are_centred_and_the_covariance_is_one(made: Comparisons) -> None:
    found = fit(made)
    assert abs(found.theta.sum()) < 1e-9
    assert np.array_equal(found.covariance, found.covariance.T)
    assert np.linalg.eigvalsh(found.covariance).min() > 0
    assert np.diagonal(found.covariance).max() <= PRIOR_VARIANCE * (1 + 1e-9)


@given(comparisons())
@settings(max_examples=30)
def test_conjugate_gradients_find_what_cholesky_finds(made: Comparisons) -> None:
    assert_same(fit(made), fit(made, _dense_solve=NEVER_DENSE), 1e-8)


@pytest.mark.parametrize("chain", [False, True])
def test_conjugate_gradients_find_what_cholesky_finds_in_a_larger_pool(chain: bool) -> None:
    made = pool(200, 20_000, draws=0.2)
    if chain:
        made = replace(made, first=made.first % 199, second=made.first % 199 + 1, weight=made.weight * 100)
    assert_same(fit(made, _dense_solve=10_000), fit(made, _dense_solve=NEVER_DENSE), 1e-8)


def test_where_conjugate_gradients_give_up_cholesky_steps_in(monkeypatch: pytest.MonkeyPatch) -> None:
    made = pool(50, 500)
    exact = fit(made)
    monkeypatch.setattr(laplacian, "_STEPS", 0)
    assert_same(fit(made, _dense_solve=NEVER_DENSE), exact)


@pytest.mark.parametrize("agents", [1, 64, 150])
def test_the_covariance_is_the_inverse_of_the_information(agents: int) -> None:
    found = fit(pool(agents, 1000 if agents > 1 else 0))
    told = found.information
    precision = np.diag(told.diagonal)
    precision[told.first, told.second] = precision[told.second, told.first] = -told.weight
    assert np.allclose(found.covariance, np.linalg.inv(precision), rtol=1e-9, atol=1e-12)


def test_columns_are_solved_for_together() -> None:
    told = fit(pool(40, 400)).information
    right = np.random.default_rng(1).normal(size=(40, 11))
    assert np.allclose(told.solve_columns(right), told.inverse() @ right, atol=1e-4)


# --- never NaN -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agents", [0, 1, 3])
def test_no_comparisons_leave_the_prior(agents: int) -> None:
    found = fit(compare(agents))
    assert found.theta.shape == (agents,)
    assert np.array_equal(found.theta, np.zeros(agents))
    assert np.allclose(found.covariance, PRIOR_VARIANCE * np.eye(agents))
    assert np.array_equal(found.rating(1000.0), np.full(agents, 1000.0))
    assert np.allclose(found.deviation(), PRIOR_ELO * np.sqrt(1 - 1 / max(agents, 1)))
    assert found.embedding(3, 1).shape == (agents, 3)
    assert found.dispersion == 1.0


def test_pools_that_never_met_are_apart_by_the_prior_alone() -> None:
    """Each pool keeps its own centre, as if it were alone, and the centres are as uncertain as the prior."""
    one, other = pool(4, 50, seed=1), pool(5, 80, seed=2)
    first, second = np.append(one.first, other.first + 4), np.append(one.second, other.second + 4)
    both = fit(compare(9, first, second, np.append(one.score, other.score)))
    alone = fit(one), fit(other)
    assert np.allclose(both.theta, np.append(alone[0].theta, alone[1].theta), atol=1e-9)
    assert np.allclose(both.covariance[:4, :4], alone[0].covariance)
    assert np.allclose(both.covariance[:4, 4:], 0)


WEIGHTS = st.sampled_from([5e-324, 1e-200, 1e-9, 1.0, 1e9, 1e17, 1e308])


@given(
    comparisons(most_agents=8),
    st.lists(WEIGHTS, min_size=25, max_size=25),
    st.sampled_from([1e-3, 350.0, WIDEST_PRIOR_ELO]),
)
def test_every_answer_is_finite(made: Comparisons, weights: list[float], prior_elo: float) -> None:
    found = fit(replace(made, weight=np.array(weights[: len(made)])), prior_elo=prior_elo)
    online = Online.of(found)
    online.add(0, 1, 1.0, weights[-1])
    for answer in (found, online):
        assert np.isfinite(answer.theta).all()
        assert np.isfinite(answer.covariance).all()
        assert np.isfinite(answer.deviation()).all()
        assert np.isfinite(answer.deviation(0)).all()
        assert np.isfinite(answer.rating(anchor=0)).all()
    assert 0 < found.dispersion <= 1


def test_huge_weights_are_finite_among_many_agents() -> None:
    agents = DENSE_LIMIT + 1
    found = fit(
        compare(
            agents, np.arange(agents - 1), np.arange(1, agents), np.arange(agents - 1) % 2, np.full(agents - 1, 1e300)
        )
    )
    assert np.isfinite(found.theta).all()
    assert np.isfinite(found.embedding(8)).all()


def test_an_agent_that_always_wins_is_finite_and_rises_with_every_win() -> None:
    tops = [fit(compare(2, [0] * wins, [1] * wins, [1] * wins)).rating()[0] for wins in (1, 10, 1000, 100_000)]
    assert np.isfinite(tops).all()
    assert sorted(tops) == tops


@pytest.mark.parametrize("wrong", [{"dispersion": 0.0}, {"dispersion": 1.1}, {"prior_elo": 0.0}, {"prior_elo": np.inf}])
def test_options_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UserError, match=str(next(iter(wrong.values())))):
        fit(compare(2), **wrong)  # type: ignore[arg-type]


# --- the dispersion --------------------------------------------------------------------------------------------------------


@given(comparisons())
def test_wins_and_losses_alone_have_dispersion_one(made: Comparisons) -> None:
    assert fit(replace(made, score=np.round(made.score + 0.01))).dispersion == 1.0


@given(comparisons())
def test_the_dispersion_is_a_share(made: Comparisons) -> None:
    assert 0 < fit(made).dispersion <= 1


@given(comparisons())
def test_the_dispersion_is_never_below_what_residuals_or_draws_say(made: Comparisons) -> None:
    """Also where the model does not fit, as when A beats B and both draw with C."""
    p = chances(fit(made, dispersion=1.0).theta, made.first, made.second)
    residuals, expected = made.weight @ (made.score - p) ** 2, made.weight @ (p * (1 - p))
    missing = made.weight @ (made.score * (1 - made.score))
    if len(made):
        assert fit(made).dispersion >= min(1.0, float(max(residuals, expected - missing) / expected)) - 1e-9


def test_a_model_that_does_not_fit_adds_to_the_dispersion() -> None:
    made = compare(3, [0, 0, 1], [1, 2, 2], [1.0, 0.5, 0.5], [1e6, 1e6, 1e6])
    p = chances(fit(made, dispersion=1.0).theta, made.first, made.second)
    assert fit(made).dispersion == pytest.approx(((made.score - p) ** 2).sum() / (p * (1 - p)).sum(), rel=1e-3)


@pytest.mark.parametrize("draws", [0.2, 0.5, 0.9])
def test_the_dispersion_of_equals_is_the_share_of_decided_matches(draws: float) -> None:
    """Drawing so often halves the variance as often: the truth is 1 - draws. The estimate errs upwards while matches are few."""
    few, many = (fit(pool(20, matches, draws=draws, sd_elo=0)).dispersion for matches in (500, 40_000))
    assert many == pytest.approx(1 - draws, abs=0.015)
    assert 1 - draws < few < 1


def test_means_of_two_matches_are_worth_two() -> None:
    """The mean of two matches varies half as much, the dispersion finds, and so its row weighs as the two did."""
    singles = pool(2, 40_000, sd_elo=100)
    pairs = singles.score.reshape(-1, 2).mean(axis=1)
    oriented = replace(singles, first=np.zeros(40_000, dtype=np.int64), second=np.ones(40_000, dtype=np.int64))
    found = fit(compare(2, oriented.first[::2], oriented.second[::2], pairs))
    assert found.dispersion == pytest.approx(0.5, abs=0.02)
    assert found.contrast_variance(0, 1) == pytest.approx(float(fit(oriented).contrast_variance(0, 1)), rel=0.05)


@pytest.mark.parametrize("draws", [0.0, 0.6])
def test_intervals_cover_the_truth(draws: float) -> None:
    """The squared errors of differences are on average what the variances say, in 20 pools of 12 agents; 95 % intervals hold
    about 95 %. The plain binomial model would put them too wide where matches are drawn."""
    i, j = np.triu_indices(12, 1)
    squares: list[Reals] = []
    plain: list[Reals] = []
    for seed in range(20):
        made, truth = pool(12, 4000, seed, draws), strengths(12, seed, 200.0)
        for found, told in ((fit(made), squares), (fit(made, dispersion=1.0), plain)):
            error = found.theta[i] - found.theta[j] - (truth[i] - truth[j])
            told.append(error**2 / found.contrast_variance(i, j))
    assert np.mean(squares) == pytest.approx(1, abs=0.25)
    assert np.mean(np.array(squares) < 1.96**2) == pytest.approx(0.95, abs=0.03)
    assert draws == 0 or np.mean(plain) < 0.7


# --- contrasts and ratings -------------------------------------------------------------------------------------------------


def test_a_contrast_has_the_variance_the_covariance_gives() -> None:
    found = fit(pool(7, 60))
    i, j = np.meshgrid(np.arange(7), np.arange(7))
    for a, b in [(0, 3), (2, 2)]:
        along = np.eye(7)[a] - np.eye(7)[b]
        assert found.contrast_variance(i, j)[b, a] == pytest.approx(along @ found.covariance @ along)
    assert np.array_equal(np.diagonal(found.contrast_variance(i, j)), np.zeros(7))


def test_ratings_and_deviations_about_the_pool_and_about_an_anchor() -> None:
    found = fit(pool(6, 100))
    assert found.rating(1200.0).mean() == pytest.approx(1200)
    assert np.allclose(np.diff(found.rating()) * ELO, np.diff(found.theta))
    centre = np.eye(6) - 1 / 6
    assert np.allclose((found.deviation() * ELO) ** 2, np.diagonal(centre @ found.covariance @ centre))
    assert found.rating(2000.0, anchor=4)[4] == 2000
    assert found.deviation(4)[4] == 0
    assert found.deviation(4)[1] * ELO == pytest.approx(np.sqrt(found.contrast_variance(1, 4)))


@pytest.mark.parametrize("anchor", [-1, 6])
def test_an_anchor_is_one_of_the_agents(anchor: int) -> None:
    with pytest.raises(UserError, match="one of the agents 0 to 5"):
        fit(compare(6)).rating(anchor=anchor)


@pytest.mark.parametrize("k", [50, 203])
def test_an_embedding_is_as_exact_as_it_says(k: int) -> None:
    """Unbiased, with a relative error of sqrt(2 / k): over 45 000 contrasts, whose errors go together somewhat."""
    found = fit(pool(300, 3000, draws=0.3))
    i, j = np.triu_indices(300, 1)
    points = found.embedding(k, seed=5)
    relative = ((points[i] - points[j]) ** 2).sum(axis=1) / found.contrast_variance(i, j) - 1
    assert points.shape == (300, k)
    assert abs(relative.mean()) < 0.5 * np.sqrt(2 / k)
    assert np.sqrt((relative**2).mean()) == pytest.approx(np.sqrt(2 / k), rel=0.25)


def test_an_embedding_repeats_with_its_seed() -> None:
    found = fit(pool(20, 100))
    assert np.array_equal(found.embedding(16, 1), found.embedding(16, 1))
    assert not np.array_equal(found.embedding(16, 1), found.embedding(16, 2))


def test_beyond_the_dense_limit_contrasts_come_from_the_embedding(monkeypatch: pytest.MonkeyPatch) -> None:
    made = pool(60, 2000)
    dense = fit(made)
    i, j = np.triu_indices(60, 1)
    exact, pooled, anchored = dense.contrast_variance(i, j), dense.deviation(), dense.deviation(3)
    monkeypatch.setattr(bradley_terry, "DENSE_LIMIT", 10)
    monkeypatch.setattr(bradley_terry, "_BLOCK", 100)
    large = fit(made)
    assert np.allclose(large.contrast_variance(i, j), exact, rtol=5 * 0.1)
    assert np.sqrt(np.mean((large.contrast_variance(i, j) / exact - 1) ** 2)) < 1.5 * 0.1
    assert np.allclose(large.deviation(), pooled, rtol=5 * 0.05)
    assert np.allclose(large.deviation(3), anchored, rtol=5 * 0.05)
    assert large.contrast_variance(5, 5) == 0
    with pytest.raises(ValueError, match="contrast_variance"):
        _ = large.covariance


def test_many_agents_need_no_matrix() -> None:
    agents = 4 * DENSE_LIMIT
    made, truth = pool(agents, 10 * agents), strengths(agents, 1, 200.0)
    found = fit(made)
    error = found.theta - (truth - truth.mean())
    i = np.arange(0, agents, 100)
    variance = ((points := found.embedding(48, 1)) - points.mean(axis=0))[i].__pow__(2).sum(axis=1)
    assert np.mean(error[i] ** 2 / variance) == pytest.approx(1, abs=0.4)


# --- one comparison after the other ---------------------------------------------------------------------------------------


def test_updates_keep_the_exact_inverse_of_what_they_added() -> None:
    """Each update adds weight · p (1 - p) at the mode it arrives at; the sum of those, inverted at once, is the covariance."""
    made = pool(10, 300, draws=0.3)
    theta, covariance = np.zeros(10), PRIOR_VARIANCE * np.eye(10)
    precision = np.eye(10) / PRIOR_VARIANCE
    for a, b, score in zip(made.first, made.second, made.score, strict=True):
        update(theta, covariance, a, b, score, 0.7)
        p = 1 / (1 + np.exp(theta[b] - theta[a]))
        along = np.eye(10)[a] - np.eye(10)[b]
        precision += 0.7 * p * (1 - p) * np.outer(along, along)
    assert np.allclose(covariance, np.linalg.inv(precision), rtol=1e-9, atol=1e-12)
    assert np.array_equal(covariance, covariance.T)


@pytest.mark.parametrize("score", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("weight", [0.5, 1.0, 40.0, 1e6])
def test_the_first_update_is_the_fit(score: float, weight: float) -> None:
    """From the prior alone, one comparison leads to the very mode and covariance of the joint fit."""
    online = Online.of(fit(compare(3)))
    online.add(2, 0, score, weight)
    exact = fit(compare(3, [2], [0], [score], [weight]), dispersion=1.0)
    assert np.allclose(online.theta, exact.theta, atol=1e-8)
    assert np.allclose(online.covariance, exact.covariance, atol=1e-8)


def test_many_updates_stay_near_the_fit() -> None:
    made = pool(15, 3000, draws=0.4)
    online = Online.of(fit(rows_of(made, np.arange(300))))
    later = np.arange(300, 3000)
    for a, b, score in zip(made.first[later], made.second[later], made.score[later], strict=True):
        online.add(int(a), int(b), float(score))
    exact = fit(made, dispersion=online.dispersion)
    i, j = np.triu_indices(15, 1)
    sd = np.sqrt(exact.contrast_variance(i, j))
    error = (online.theta[i] - online.theta[j]) - (exact.theta[i] - exact.theta[j])
    assert np.abs(error / sd).max() < 0.35
    assert np.allclose(np.sqrt(online.contrast_variance(i, j)), sd, rtol=0.03)
    assert np.allclose(online.deviation(), exact.deviation(), rtol=0.03)


def test_an_update_leaves_the_fit_it_came_from_alone() -> None:
    found = fit(pool(4, 20))
    theta, covariance = found.theta.copy(), found.covariance.copy()
    Online.of(found).add(0, 1, 1.0)
    assert np.array_equal(found.theta, theta)
    assert np.array_equal(found.covariance, covariance)
