"""The search tree as flat arrays. A node is an index; its children are a block of neighbouring indices after it."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from rung.games.kernel import Cells, Reals, pointer
from rung.jit import entry, jit

Ints = npt.NDArray[np.int32]

ROOT: Final = 0
UNEXPANDED: Final = -1
"""`children` of a node whose actions were never listed; a node at the end of the match has 0."""

_DROPPED: Final = -1
_KEPT: Final = -2


class Tree(NamedTuple):
    """One search tree. All arrays but `size` are indexed by node."""

    visits: Cells
    total: Reals  # payoffs of the seat that chose this node, added up
    mean: Reals  # total / visits
    inverse_root: Reals  # 1 / sqrt(visits), so that choosing needs neither division nor root
    root_log: Reals  # sqrt(ln(visits)), for the children's sake
    action: Cells  # what leads here from the parent
    seat: Ints  # who acts here, CHANCE or OVER; only known once expanded
    first: Ints  # first child
    children: Ints  # how many
    tried: Ints  # how many of them were ever visited: always the first ones
    moved: Ints  # scratch of `keep_below`
    size: Cells  # (2) nodes in use, and the most there can be


NODE_BYTES: Final = 6 * 8 + 5 * 4
FIXED_BYTES: Final = 2 * 8


def allocate(capacity: int) -> Tree:
    """Room for this many nodes. The system hands out memory as it is touched, so unused room costs nothing."""

    def wide() -> Cells:
        return np.empty(capacity, dtype=np.int64)

    def real() -> Reals:
        return np.empty(capacity)

    def narrow() -> Ints:
        return np.empty(capacity, dtype=np.int32)

    return Tree(
        visits=wide(),
        total=real(),
        mean=real(),
        inverse_root=real(),
        root_log=real(),
        action=wide(),
        seat=narrow(),
        first=narrow(),
        children=narrow(),
        tried=narrow(),
        moved=narrow(),
        size=np.array([0, capacity]),
    )


@jit
def bare(tree: Tree) -> Tree:
    """The same tree as pointers, for compiled loops."""
    return Tree(
        pointer(tree.visits),
        pointer(tree.total),
        pointer(tree.mean),
        pointer(tree.inverse_root),
        pointer(tree.root_log),
        pointer(tree.action),
        pointer(tree.seat),
        pointer(tree.first),
        pointer(tree.children),
        pointer(tree.tried),
        pointer(tree.moved),
        pointer(tree.size),
    )


@jit
def add_node(tree: Tree, node: int, action: int) -> None:
    tree.visits[node] = 0
    tree.total[node] = 0.0
    tree.mean[node] = 0.0
    tree.inverse_root[node] = 0.0
    tree.root_log[node] = 0.0
    tree.action[node] = action
    tree.children[node] = UNEXPANDED
    tree.tried[node] = 0


@entry
def plant(tree: Tree) -> None:
    """An empty tree: just the root."""
    add_node(tree, ROOT, 0)
    tree.size[0] = 1


@jit
def add_children(tree: Tree, node: int, actions: Cells, n: int) -> bool:
    """Give the node its children, one an action; False, and nothing changed, when there is no room."""
    first = tree.size[0]
    if first + n > tree.size[1]:
        return False
    for i in range(n):
        add_node(tree, first + i, actions[i])
    tree.first[node] = first
    tree.children[node] = n
    tree.size[0] = first + n
    return True


@entry
def child_by_action(tree: Tree, node: int, action: int) -> int:
    """The visited child that this action leads to, or -1."""
    for i in range(max(tree.children[node], 0)):
        child = tree.first[node] + i
        if tree.action[child] == action and tree.visits[child] > 0:
            return child
    return -1


@entry
def keep_below(tree: Tree, new_root: int) -> None:
    """Make this node the root and forget all that is not below it, in place.

    Children stand after their parents, so one pass upward finds all that stays. Numbered in the order it stands in, it only
    ever moves down, and never onto what is still to be moved.
    """
    size = tree.size[0]
    tree.moved[:size] = _DROPPED
    tree.moved[new_root] = _KEPT
    for node in range(new_root, size):
        if tree.moved[node] == _KEPT:
            for i in range(max(tree.children[node], 0)):
                tree.moved[tree.first[node] + i] = _KEPT
    kept = 0
    for node in range(new_root, size):
        if tree.moved[node] == _KEPT:
            tree.moved[node] = kept
            kept += 1
    _slide(tree, new_root, size)
    tree.size[0] = kept


@jit
def _slide(tree: Tree, new_root: int, size: int) -> None:
    for node in range(new_root, size):
        to = tree.moved[node]
        if to == _DROPPED:
            continue
        tree.visits[to], tree.total[to], tree.mean[to] = tree.visits[node], tree.total[node], tree.mean[node]
        tree.inverse_root[to], tree.root_log[to] = tree.inverse_root[node], tree.root_log[node]
        tree.action[to], tree.seat[to] = tree.action[node], tree.seat[node]
        tree.children[to], tree.tried[to] = tree.children[node], tree.tried[node]
        if tree.children[node] > 0:
            tree.first[to] = tree.moved[tree.first[node]]
