"""Scratch arrays of one search, made once so that a simulation allocates nothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rung.games.compiled import KernelGame
from rung.games.kernel import Cells, Reals, pointer
from rung.games.rng import Rng
from rung.jit import jit


class Work(NamedTuple):
    """What a simulation writes on."""

    state: Cells  # (cells) the position, moved on from the root
    fate: Rng  # (2) what `apply` draws from within the tree
    actions: Cells  # (max_legal)
    odds: Reals  # (max_legal)
    payoffs: Reals  # (seats)
    path: Cells  # (max_moves + 2) nodes from the root to the leaf


def workspace(game: KernelGame) -> Work:
    return Work(
        state=np.empty(game.cells, dtype=np.int64),
        fate=np.empty(2, dtype=np.uint64),
        actions=np.empty(game.max_legal, dtype=np.int64),
        odds=np.empty(game.max_legal),
        payoffs=np.empty(game.seats),
        path=np.empty(game.max_moves + 2, dtype=np.int64),
    )


@jit
def bare(work: Work) -> Work:
    """The same arrays as pointers, for compiled loops."""
    return Work(
        pointer(work.state),
        pointer(work.fate),
        pointer(work.actions),
        pointer(work.odds),
        pointer(work.payoffs),
        pointer(work.path),
    )
