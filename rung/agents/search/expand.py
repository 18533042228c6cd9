"""What to expand: how a leaf of the tree gets its children."""

from __future__ import annotations

from rung.agents.search.tree import Tree, add_children
from rung.agents.search.work import Work
from rung.games.kernel import CHANCE, OVER, TABLE_MAX_LEGAL, Table, call_legal, call_sample, call_turn
from rung.games.rng import Rng, shuffle
from rung.jit import jit


@jit
def expand(table: Table, tree: Tree, node: int, work: Work, rng: Rng) -> bool:
    """List the node's children: every action in random order, or every outcome of dice. False when the tree is full."""
    seat = call_turn(table, work.state)
    tree.seat[node] = seat
    if seat == OVER:
        tree.children[node] = 0
        return True
    n = call_legal(table, work.state, work.actions)
    if n > table[TABLE_MAX_LEGAL]:
        n = _candidates(table, work, rng)
    elif seat != CHANCE:
        shuffle(work.actions, n, rng)
    return add_children(tree, node, work.actions, n)


@jit
def _candidates(table: Table, work: Work, rng: Rng) -> int:
    """Different sampled actions, for a state with more of them than can be listed."""
    n = 0
    for _ in range(table[TABLE_MAX_LEGAL]):
        action = call_sample(table, work.state, rng)
        known = False
        for i in range(n):
            known = known or work.actions[i] == action
        if not known:
            work.actions[n] = action
            n += 1
    return n
