"""Bit tricks for games that keep a board in one cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numba import types
from numba.extending import intrinsic

from rung.jit import jit

_ONE = np.uint64(1)


def _popcount(typing: Any, board: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), code


def _lowest(typing: Any, board: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zero_is_undefined = context.get_constant(types.boolean, False)
        return builder.cttz(arguments[0], zero_is_undefined)

    return types.int64(types.uint64), code


popcount: Callable[[np.uint64], int] = cast(Any, intrinsic(_popcount))
"""How many bits are set."""

lowest: Callable[[np.uint64], int] = cast(Any, intrinsic(_lowest))
"""The index of the lowest set bit; 64 for an empty board."""


@jit
def nth(board: np.uint64, n: int) -> int:
    """The index of the n-th set bit, counted from 0 and from the lowest."""
    for _ in range(n):
        board &= board - _ONE
    return lowest(board)
