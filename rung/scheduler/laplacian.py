"""What comparisons say about differences, as a matrix: a graph's Laplacian, plus a prior on every agent.

The posterior precision of a joint fit is `prior` on the diagonal and, for every pair i, j that met, its weight times
(e_i - e_j)(e_i - e_j)'. Few agents are handled densely, by LAPACK; many, by conjugate gradients over the list of pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rung.jit import entry
from rung.scheduler import cholesky
from rung.scheduler.comparisons import Ints, Reals

Bits = npt.NDArray[np.uint64]

DENSE_LIMIT = 5000
"""Up to so many agents, an n × n matrix is worth making: 200 MB, and seconds to invert."""
DENSE_SOLVE = 500
"""Up to so many agents, a Cholesky solve is no slower than conjugate gradients."""
SOLVE_TOLERANCE = 1e-7
_EMBEDDING_TOLERANCE = 1e-5
"""Moves no embedded contrast's deviation by more than about this times the root of the number of agents."""
_STEPS = 2000
_COLUMNS = 8
"""Solved together: eight doubles are one line of the cache."""


@dataclass(frozen=True, eq=False)
class Information:
    """A posterior precision, in nats to the minus two."""

    agents: int
    first: Ints
    """With `second` the pairs that met: each once, first < second, in ascending order."""
    second: Ints
    weight: Reals
    prior: float

    @cached_property
    def diagonal(self) -> Reals:
        """The precision of each agent if all others were known."""
        ends = np.concatenate([self.first, self.second])
        found = np.bincount(ends, np.concatenate([self.weight, self.weight]), self.agents)
        return np.asarray(found, dtype=np.float64) + self.prior

    def inverse(self) -> Reals:
        """The posterior covariance."""
        return cholesky.inverse(self._factor()) if self.agents else np.zeros((0, 0))

    def solve(self, right: Reals, dense_limit: int = DENSE_SOLVE) -> Reals:
        """The x with precision · x = `right`."""
        if self.agents == 0:
            return np.zeros(0)
        if self.agents > dense_limit:
            found, done = _conjugate_gradients(*self._arrays, right[:, None], SOLVE_TOLERANCE, _STEPS)
            if done or self.agents > DENSE_LIMIT:
                return np.ascontiguousarray(found[:, 0])
        return cholesky.solve(self._factor(), right)

    def solve_columns(self, right: Reals) -> Reals:
        """The X with precision · X = `right`, to the accuracy of an embedding."""
        found = np.empty_like(right)
        for column in range(0, right.shape[1], _COLUMNS):
            block = np.ascontiguousarray(right[:, column : column + _COLUMNS])
            found[:, column : column + _COLUMNS] = _conjugate_gradients(
                *self._arrays, block, _EMBEDDING_TOLERANCE, _STEPS
            )[0]
        return found

    def embedding(self, k: int, seed: int) -> Reals:
        """Points Z, one row an agent, with E |Z_i - Z_j|² = Var(theta_i - theta_j) and a relative error with a standard
        deviation of at most sqrt(2 / k).

        Spielman and Srivastava, "Graph sparsification by effective resistances" (2011), section 4: the precision is A'A
        with a row of A for each pair and each prior; the columns of Z are those of precision⁻¹ A' Q, signs Q at random
        over sqrt(k).
        """
        bits = np.random.PCG64(seed)
        points = np.empty((self.agents, k))
        for column in range(0, k, _COLUMNS):
            signs = bits.random_raw(len(self.weight) + self.agents)
            right = np.zeros((self.agents, _COLUMNS))
            _spread(self.first, self.second, self.weight, self.prior, signs, right)
            found, _ = _conjugate_gradients(*self._arrays, right, _EMBEDDING_TOLERANCE, _STEPS)
            points[:, column : column + _COLUMNS] = found[:, : k - column]
        points /= np.sqrt(k)
        return points

    @property
    def _arrays(self) -> tuple[Ints, Ints, Reals, Reals]:
        return self.first, self.second, self.weight, self.diagonal

    def _factor(self) -> Reals:
        """The Cholesky factor, in the lower triangle."""
        matrix = np.zeros((self.agents, self.agents), order="F")
        matrix[self.second, self.first] = -self.weight
        np.fill_diagonal(matrix, self.diagonal)
        return cholesky.factor(matrix)


@entry
def _conjugate_gradients(
    first: Ints, second: Ints, weight: Reals, diagonal: Reals, right: Reals, tolerance: float, steps: int
) -> tuple[Reals, bool]:
    """Solve for each column of `right`, preconditioned by the diagonal; also whether all became as exact as asked."""
    agents, columns = right.shape
    x, r, p, q = np.zeros_like(right), right.copy(), np.empty_like(right), np.empty_like(right)
    size, curve, factor = np.zeros(columns), np.empty(columns), np.empty(columns)
    for i in range(agents):
        for c in range(columns):
            p[i, c] = r[i, c] / diagonal[i]
            size[c] += r[i, c] * p[i, c]
    enough = size * tolerance**2
    for _ in range(steps):
        if np.all(size <= enough):
            return x, True
        for i in range(agents):
            for c in range(columns):
                q[i, c] = diagonal[i] * p[i, c]
        for e in range(len(weight)):
            i, j, w = first[e], second[e], weight[e]
            for c in range(columns):
                q[i, c] -= w * p[j, c]
                q[j, c] -= w * p[i, c]
        curve[:] = 0.0
        for i in range(agents):
            for c in range(columns):
                curve[c] += p[i, c] * q[i, c]
        for c in range(columns):
            factor[c] = size[c] / curve[c] if curve[c] > 0.0 and size[c] > enough[c] else 0.0
            curve[c] = 0.0
        for i in range(agents):
            for c in range(columns):
                x[i, c] += factor[c] * p[i, c]
                r[i, c] -= factor[c] * q[i, c]
                curve[c] += r[i, c] * r[i, c] / diagonal[i]
        for c in range(columns):
            factor[c] = curve[c] / size[c] if size[c] > 0.0 else 0.0
            size[c] = curve[c]
        for i in range(agents):
            for c in range(columns):
                p[i, c] = r[i, c] / diagonal[i] + factor[c] * p[i, c]
    return x, bool(np.all(size <= enough))


@entry
def _spread(first: Ints, second: Ints, weight: Reals, prior: float, signs: Bits, right: Reals) -> None:
    """right = A' Q, up to its scale; bit c of the signs is for column c."""
    pairs = len(weight)
    for e in range(pairs):
        root = np.sqrt(weight[e])
        for c in range(right.shape[1]):
            step = root if (signs[e] >> np.uint64(c)) & np.uint64(1) else -root
            right[first[e], c] += step
            right[second[e], c] -= step
    root = np.sqrt(prior)
    for i in range(len(right)):
        for c in range(right.shape[1]):
            right[i, c] += root if (signs[pairs + i] >> np.uint64(c)) & np.uint64(1) else -root
