"""What to back up, and into which nodes."""

from __future__ import annotations

from math import log, sqrt

from rung.agents.search.tree import Tree
from rung.agents.search.work import Work
from rung.games.kernel import CHANCE
from rung.jit import jit


@jit
def backup(tree: Tree, work: Work, depth: int) -> None:
    """Add the payoffs to every node of the path; each node counts for the seat that chose it."""
    count_visit(tree, work.path[0])
    for at in range(1, depth + 1):
        node = work.path[at]
        visits = count_visit(tree, node)
        chooser = tree.seat[work.path[at - 1]]
        if chooser != CHANCE:
            tree.total[node] += work.payoffs[chooser]
            tree.mean[node] = tree.total[node] / visits


@jit
def count_visit(tree: Tree, node: int) -> int:
    visits = tree.visits[node] + 1
    tree.visits[node] = visits
    tree.inverse_root[node] = 1.0 / sqrt(visits)
    if tree.children[node] > 0:
        tree.root_log[node] = sqrt(log(visits))
    return visits
