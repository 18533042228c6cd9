"""The dense solver against numpy's, and the one thread it keeps to."""

from __future__ import annotations

import numpy as np
import pytest

from rung.scheduler import cholesky
from rung.scheduler.comparisons import Reals


def positive_definite(n: int) -> Reals:
    half = np.random.default_rng(n).normal(size=(n, n))
    return np.asfortranarray(half @ half.T + np.eye(n))


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 200])
def test_solutions_and_inverses_are_numpys(n: int) -> None:
    matrix, right = positive_definite(n), np.arange(n, dtype=np.float64)
    lower = np.asfortranarray(np.tril(matrix))
    factored = cholesky.factor(lower.copy(order="F"))
    assert np.allclose(np.tril(factored), np.linalg.cholesky(matrix))
    assert np.allclose(cholesky.solve(factored, right), np.linalg.solve(matrix, right))
    found = cholesky.inverse(factored)
    assert np.allclose(found, np.linalg.inv(matrix))
    assert np.array_equal(found, found.T)


def test_a_matrix_that_is_not_positive_definite_is_no_nan() -> None:
    with pytest.raises(ArithmeticError, match="positive definite"):
        cholesky.factor(np.array([[1.0, 2.0], [2.0, 1.0]], order="F"))


def test_lapack_keeps_to_one_thread_meanwhile() -> None:
    threads = cholesky._threads()

    def counts() -> list[int]:
        return [library["num_threads"] for library in threads.info() if library["user_api"] == "blas"]

    with threads.limit(limits=2, user_api="blas"):
        before = counts()
        if not before or max(before) < 2:
            pytest.skip("no BLAS with threads beneath SciPy")
        with cholesky.one_thread():
            assert set(counts()) == {1}
        assert counts() == before
