"""`mcts`: Monte Carlo tree search as an agent."""

from __future__ import annotations

import time

from rung.agents.agent import Agent, View
from rung.agents.search import tree as trees
from rung.agents.search.choose import RULES, choose
from rung.agents.search.search import search
from rung.agents.search.work import Work, workspace
from rung.errors import UserError
from rung.games.compiled import KernelGame, KernelState
from rung.games.game import Game
from rung.games.rng import Rng, derive, stream
from rung.parameters import Parameter

_HIDDEN_ROOTS = 10
"""Guesses at hidden things a decision rests on, unless told otherwise."""
_MOST_AT_ONCE = 20_000
"""Simulations between two looks at the clock and at Ctrl-C."""
_FIRST_TIMED = 64
_FEWEST_STEPS = 32
_MOST_NODES = 2**31 - 1
_NOWHERE = -1
_SHARE_OF_CLOCK = 1 / 20
"""The most of its remaining clock that one move may use."""


class Mcts(Agent):
    """UCT (Kocsis and Szepesvári 2006); each seat maximises its own payoff."""

    name = "mcts"
    summary = "Monte Carlo tree search: UCB1 and random playouts, for any number of seats, dice and hidden information."
    parameters = (
        Parameter("iterations", 1000, "simulations a move, shared by all roots", 1, 1_000_000_000),
        Parameter("time_s", 0.0, "seconds a move instead of a number of simulations; 0: count simulations", 0, 86_400),
        Parameter("exploration", 0.7, "the c of UCB1, for payoffs from 0 to 1", 0, 1000),
        Parameter("final", "visits", "which action to play in the end: most visits or best mean", choices=RULES),
        Parameter(
            "roots", 0, "trees, each with hidden things drawn anew; 0: 10 with hidden information, else 1", 0, 10_000
        ),
        Parameter("reuse", False, "keep the part of the tree that is still possible for the next move"),
        Parameter(
            "memory_mb",
            256,
            "most memory the tree may take; when full, simulations go on without growing it",
            1,
            1_000_000,
        ),
    )

    @classmethod
    def warm(cls, game: Game) -> None:
        if isinstance(game, KernelGame):
            tree = trees.allocate(1 + game.max_legal)
            trees.plant(tree)
            cells = game.new_state(stream(0)).cells
            search(game.table, cells, stream(0), tree, workspace(game), 0.0, stream(0), 1)

    def start(self, game: Game, seat: int, seed: int) -> None:
        if not isinstance(game, KernelGame):
            raise UserError(f"mcts searches games with kernels, and {game.name} has none.")
        guesses = game.hidden or game.shuffles
        if self.values["reuse"] and guesses:
            raise UserError(f"mcts: reuse must be False in {game.name}, where every move starts from new guesses.")
        self.game, self.seed = game, seed
        self.roots = int(self.values["roots"]) or (_HIDDEN_ROOTS if guesses else 1)
        if self.values["reuse"] and self.roots > 1:
            raise UserError("mcts: reuse works with one root.")
        self.moves = 0
        self.rooted_at = _NOWHERE
        self.work: Work = workspace(game)
        self.tree = trees.allocate(self._capacity(game))

    def act(self, view: View) -> int:
        self.moves += 1
        if len(view.legal) == 1:
            self.note = "forced"
            return int(view.legal[0])
        rng = stream(derive(self.seed, self.moves))
        limit_s = min(float(self.values["time_s"]), view.left_s * _SHARE_OF_CLOCK)
        found: dict[int, tuple[int, float]] = {}
        for root in range(self.roots):
            self._plant(view)
            state = view.determinize(rng)
            assert isinstance(state, KernelState)
            fate = stream(derive(self.seed, self.moves, root))
            if limit_s > 0:
                self._simulate_for(state, fate, rng, limit_s / self.roots)
            else:
                whole, rest = divmod(int(self.values["iterations"]), self.roots)
                self._simulate(state, fate, rng, max(1, whole + (root < rest)))
            self._add_root_to(found)
        return self._decide(found)

    def _simulate(self, state: KernelState, fate: Rng, rng: Rng, simulations: int) -> None:
        exploration = float(self.values["exploration"])
        for done in range(0, simulations, _MOST_AT_ONCE):
            count = min(_MOST_AT_ONCE, simulations - done)
            search(self.game.table, state.cells, fate, self.tree, self.work, exploration, rng, count)

    def _simulate_for(self, state: KernelState, fate: Rng, rng: Rng, limit_s: float) -> None:
        """Simulate until the time is up, in short steps of at most half of what is left at the speed of the last one.

        A growing tree is a slower one, and the system may take its time to hand out memory for it.
        """
        began = time.perf_counter()
        end = began + limit_s
        count, done = _FIRST_TIMED, 0
        while count > 0:
            self._simulate(state, fate, rng, count)
            done += count
            now = time.perf_counter()
            took_s, began = now - began, now
            step_s = min((end - now) / 2, limit_s / _FEWEST_STEPS)
            count = min(done, _MOST_AT_ONCE, int(step_s * count / took_s))

    def _plant(self, view: View) -> None:
        """A tree for the position: a new one, or the part of the old one that is still possible."""
        node = trees.ROOT if self.values["reuse"] and self.rooted_at != _NOWHERE else _NOWHERE
        for _, action in view.seen[self.rooted_at :] if node != _NOWHERE else ():
            node = trees.child_by_action(self.tree, node, action)
            if node == _NOWHERE:
                break
        if node == _NOWHERE:
            trees.plant(self.tree)
        else:
            trees.keep_below(self.tree, node)
        self.rooted_at = len(view.seen)

    def _add_root_to(self, found: dict[int, tuple[int, float]]) -> None:
        first = self.tree.first[trees.ROOT]
        for child in range(first, first + self.tree.children[trees.ROOT]):
            visits, total = found.get(int(self.tree.action[child]), (0, 0.0))
            visits, total = visits + int(self.tree.visits[child]), total + float(self.tree.total[child])
            found[int(self.tree.action[child])] = (visits, total)

    def _decide(self, found: dict[int, tuple[int, float]]) -> int:
        action = choose(str(self.values["final"]), found)
        visits, total = found[action]
        simulations = sum(visits for visits, _ in found.values())
        self.note = f"{simulations} simulations, {visits} of them with this action, worth {total / max(1, visits):.1%}"
        return action

    def _capacity(self, game: KernelGame) -> int:
        """Nodes to make room for: what the budget can fill, but no more than the memory allows."""
        memory = int(self.values["memory_mb"]) * 1_000_000
        room = min((memory - trees.FIXED_BYTES) // trees.NODE_BYTES, _MOST_NODES)
        least = 1 + game.max_legal
        if room < least:
            needed = -(-(least * trees.NODE_BYTES + trees.FIXED_BYTES) // 1_000_000)
            raise UserError(
                f"mcts: memory_mb must be at least {needed} in {game.spec}, not {self.values['memory_mb']}."
            )
        if self.values["time_s"] or self.values["reuse"]:
            return room
        return min(room, 1 + (1 + int(self.values["iterations"]) // self.roots) * game.max_legal)
