"""The search loop: select, expand, play out, back up. Nothing else knows their order.

The tree stores no positions: each simulation starts at the root and plays the actions again. Hidden cards are drawn once
for a whole tree (`roots` trees make an agent of several guesses), and so is what `apply` shuffles: within the tree it draws
from the same `fate` each time, so that the same actions always lead to the same position.
"""

from __future__ import annotations

from rung.agents.search import tree as tree_module
from rung.agents.search import work as work_module
from rung.agents.search.backup import backup
from rung.agents.search.expand import expand
from rung.agents.search.select import select
from rung.agents.search.tree import ROOT, UNEXPANDED, Tree
from rung.agents.search.work import Work
from rung.games.compiled import play_out
from rung.games.kernel import CHANCE, OVER, Cells, Table, call_apply, call_legal, call_odds, call_payoff, pointer
from rung.games.rng import Rng, pick
from rung.jit import entry, jit


@entry
def search(
    table: Table, root: Cells, fate: Rng, tree: Tree, work: Work, exploration: float, rng: Rng, simulations: int
) -> None:
    """Run this many simulations from the root position, on top of those the tree already holds."""
    game, nodes, scratch = pointer(table), tree_module.bare(tree), work_module.bare(work)
    for _ in range(simulations):
        for cell in range(len(root)):
            scratch.state[cell] = root[cell]
        scratch.fate[0], scratch.fate[1] = fate[0], fate[1]
        depth = descend(game, nodes, scratch, exploration, pointer(rng))
        play_out(game, scratch.state, pointer(rng), scratch.actions, scratch.odds)
        call_payoff(game, scratch.state, scratch.payoffs)
        backup(nodes, scratch, depth)


@jit
def descend(table: Table, tree: Tree, work: Work, exploration: float, rng: Rng) -> int:
    """Walk down to a leaf, leaving the path and the position in `work`; returns the leaf's depth.

    A leaf is expanded on its second visit, so a visit more finds one position more and no memory goes to leaves that are
    never seen again. When the tree is full its leaves stay leaves, and simulations go on from there.
    """
    node = ROOT
    depth = 0
    work.path[0] = ROOT
    while node == ROOT or tree.visits[node] > 0:
        if tree.children[node] == UNEXPANDED and not expand(table, tree, node, work, rng):
            break
        if tree.seat[node] == OVER:
            break
        node = step(table, tree, node, work, exploration, rng)
        call_apply(table, work.state, tree.action[node], work.fate)
        depth += 1
        work.path[depth] = node
    return depth


@jit
def step(table: Table, tree: Tree, node: int, work: Work, exploration: float, rng: Rng) -> int:
    """The child to go to: dice decide by their odds, a seat by the selection rule."""
    if tree.seat[node] == CHANCE:
        n = call_legal(table, work.state, work.actions)
        call_odds(table, work.state, work.odds)
        return tree.first[node] + pick(work.odds, n, rng)
    return select(tree, node, exploration)
