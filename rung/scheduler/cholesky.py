"""Cholesky's factor of a symmetric positive definite matrix, and what follows from it, by LAPACK on one thread.

LAPACK's threads wait for each other in busy loops. While all cores play matches, as in a ladder they do, that takes the
inverse of a 100 × 100 matrix from 0.1 ms to 110 ms, and of a 1000 × 1000 one from 24 ms to 1.9 s. On one thread an idle
machine inverts at half the speed, a busy one at no less, and any number of cores gives the same digits.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from rung.jit import entry
from rung.scheduler.comparisons import Reals

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

_TILE = 64


def factor(matrix: Reals) -> Reals:
    """The factor, in the lower triangle, of a matrix of which only the lower triangle is read; may write to the matrix."""
    from scipy.linalg.lapack import dpotrf

    with one_thread():
        found, failed = dpotrf(matrix, lower=1, overwrite_a=1, clean=0)
    if failed:
        raise ArithmeticError("The matrix is not positive definite within double precision.")
    return np.asarray(found)


def solve(factored: Reals, right: Reals) -> Reals:
    """The x with matrix · x = `right`."""
    from scipy.linalg.lapack import dpotrs

    with one_thread():
        found, failed = dpotrs(factored, right, lower=1)
    assert not failed
    return np.asarray(found)


def inverse(factored: Reals) -> Reals:
    """The inverse of the matrix, in rows; may write to the factor."""
    from scipy.linalg.lapack import dpotri

    with one_thread():
        found, failed = dpotri(factored, lower=1, overwrite_c=1)
    assert not failed
    # LAPACK's lower triangle by columns is numpy's upper triangle by rows.
    full: Reals = found.T
    _mirror(full)
    return full


def one_thread() -> AbstractContextManager[object]:
    """While this lasts, dense algebra takes one thread."""
    return _threads().limit(limits=1, user_api="blas")


@cache
def _threads() -> ThreadpoolController:
    import scipy.linalg.lapack  # noqa: F401 - the controller finds what is loaded
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@entry
def _mirror(matrix: Reals) -> None:
    """Copy the upper triangle onto the lower one, tile by tile."""
    n = len(matrix)
    for top in range(0, n, _TILE):
        for left in range(0, top + 1, _TILE):
            for i in range(top, min(top + _TILE, n)):
                for j in range(left, min(left + _TILE, i)):
                    matrix[i, j] = matrix[j, i]
