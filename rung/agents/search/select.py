"""What to descend by: each rule picks a child of an expanded node at which a seat acts."""

from __future__ import annotations

from rung.agents.search.tree import Tree
from rung.jit import jit


@jit
def select(tree: Tree, node: int, exploration: float) -> int:
    """A child never visited, in the random order they were listed in; else the best by UCB1."""
    if tree.tried[node] < tree.children[node]:
        tree.tried[node] += 1
        return tree.first[node] + tree.tried[node] - 1
    return ucb1(tree, node, exploration)


@jit
def ucb1(tree: Tree, node: int, exploration: float) -> int:
    """The child with the largest mean + c sqrt(ln N / n) (Auer, Cesa-Bianchi and Fischer 2002; Kocsis and Szepesvári 2006)."""
    first = tree.first[node]
    scale = exploration * tree.root_log[node]
    best = first
    best_bound = -1.0
    for child in range(first, first + tree.children[node]):
        bound = tree.mean[child] + scale * tree.inverse_root[child]
        if bound > best_bound:
            best_bound = bound
            best = child
    return best
