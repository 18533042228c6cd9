"""Spec strings, the simple agents, and the search engine."""

from __future__ import annotations

import numpy as np
import pytest

from rung.agents import AGENTS
from rung.agents.agent import View
from rung.agents.search import tree as trees
from rung.agents.search.agent import Mcts
from rung.agents.search.choose import choose
from rung.agents.spec import make as make_agent
from rung.agents.spec import normal
from rung.errors import UserError
from rung.games import make
from rung.games.compiled import KernelGame, KernelState, Shape
from rung.games.game import State
from rung.games.kernel import OVER, Cells, Kernels, Reals, Rng, kernel
from rung.games.rng import below, stream
from rung.platform.match import MatchSpec, Played, play


def view_of(game: KernelGame, state: State, seat: int) -> View:
    return View(game, seat, state.observe(seat), [], float("inf"))


def position(name: str, moves: list[int], **values: object) -> tuple[KernelGame, State]:
    game = Sampled() if name == "sampled" else make(name, **values)
    assert isinstance(game, KernelGame)
    state: State = game.new_state(stream(1))
    for move in moves:
        state.apply(move, stream(1))
    return game, state


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("mtcs", "Did you mean mcts"),
        ("mcts(iteration=5)", "Did you mean iterations"),
        ("mcts(iterations=0)", "whole number from 1"),
        ("mcts(iterations=1.5)", "whole number"),
        ("mcts(final='best')", "'visits' or 'mean'"),
        ("mcts(reuse=1)", "True or False"),
        ("mcts(5)", "written like"),
        ("mcts(iterations=__import__('os'))", "written like"),
        ("mcts(", "written like"),
        ("", "written like"),
        ("random(x=1)", "There are none"),
    ],
)
def test_bad_specs_say_what_would_be_right(spec: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint.replace("(", r"\(")):
        make_agent(spec)


def test_equal_agents_have_equal_names() -> None:
    assert normal("mcts( iterations = 1000 )") == "mcts"
    assert normal("mcts(final='mean',iterations=5)") == "mcts(iterations=5, final='mean')"


def test_every_agent_describes_itself() -> None:
    for name in AGENTS.names():
        kind = AGENTS.load(name)
        assert kind.name == name
        assert kind.summary
        assert all(parameter.meaning for parameter in kind.parameters)


@pytest.mark.parametrize("spec", ["osla", "mcts(iterations=300)", "mcts(iterations=300, final='mean')"])
def test_takes_a_win_in_one(spec: str) -> None:
    game, state = position("connect_four", [3, 0, 3, 0, 3, 0])
    agent = make_agent(spec)
    agent.start(game, 0, seed=5)
    assert agent.act(view_of(game, state, 0)) == 3
    assert agent.note


def test_mcts_blocks_a_loss_and_osla_does_not_see_it() -> None:
    game, state = position("connect_four", [3, 0, 3, 0, 3])
    agent = make_agent("mcts(iterations=2000)")
    agent.start(game, 1, seed=5)
    assert agent.act(view_of(game, state, 1)) == 3


def test_mcts_finds_the_only_winning_first_move_of_sum_of_switches() -> None:
    game, state = position("sum_of_switches", [], n=6, values="identity")
    agent = make_agent("mcts(iterations=20000)")
    agent.start(game, 0, seed=1)
    assert agent.act(view_of(game, state, 0)) == 5


def test_mcts_weighs_dice_by_their_odds() -> None:
    """Gas cloud before fireball is worth 0.98; a search that misjudged the dice would not find it."""
    game, state = position("rpg_battle", [], scenario="B")
    agent = make_agent("mcts(iterations=20000)")
    agent.start(game, 0, seed=1)
    assert game.action_text(state, agent.act(view_of(game, state, 0))).lower().startswith("gas")


def test_first_plays_the_first() -> None:
    game, state = position("connect_four", [0, 0, 0, 0, 0, 0])
    agent = make_agent("first")
    agent.start(game, 0, seed=9)
    assert agent.act(view_of(game, state, 0)) == 1


def test_choose_by_visits_or_by_mean() -> None:
    found = {4: (10, 5.0), 7: (3, 3.0), 9: (0, 0.0)}
    assert choose("visits", found) == 4
    assert choose("mean", found) == 7


def test_memory_is_bounded_and_a_full_tree_goes_on() -> None:
    game, state = position("connect_four", [])
    agent = Mcts(iterations=50_000, memory_mb=1)
    agent.start(game, 0, seed=1)
    action = agent.act(view_of(game, state, 0))
    assert state.allows(action)
    capacity = len(agent.tree.visits)
    assert 1_000_000 - trees.NODE_BYTES < sum(array.nbytes for array in agent.tree) <= 1_000_000
    assert capacity - game.max_legal < agent.tree.size[0] <= capacity
    assert agent.tree.visits[trees.ROOT] == 50_000


def test_memory_too_small_for_the_game_is_said() -> None:
    game, _ = position("sampled", [])
    wide = type("Wide", (type(game),), {"shape": lambda self: Shape(2, 3, 100_000, 10)})()
    with pytest.raises(UserError, match="memory_mb must be at least 7"):
        Mcts(memory_mb=1).start(wide, 0, seed=1)


def test_reuse_keeps_what_is_below_and_nothing_else() -> None:
    game, state = position("connect_four", [])
    agent = Mcts(iterations=3000, reuse=True)
    agent.start(game, 0, seed=1)
    agent.act(view_of(game, state, 0))
    tree = agent.tree
    child = int(tree.first[0]) + int(np.argmax(tree.visits[tree.first[0] : tree.first[0] + 7]))
    before = below_of(tree, child)
    trees.keep_below(tree, child)
    assert below_of(tree, trees.ROOT) == before
    assert tree.size[0] == before.count("(")


def below_of(tree: trees.Tree, node: int) -> str:
    """A subtree as text, brackets around each node."""
    first, n = int(tree.first[node]), max(int(tree.children[node]), 0)
    inner = "".join(below_of(tree, first + i) for i in range(n))
    return f"({tree.visits[node]} {tree.total[node]}{inner})"


def test_reuse_needs_perfect_information() -> None:
    game, _ = position("sushi_go", [])
    with pytest.raises(UserError, match="reuse must be False"):
        Mcts(reuse=True).start(game, 0, seed=1)


@pytest.mark.parametrize("spec", ["mcts(iterations=200, reuse=True)", "mcts(time_s=0.002)", "mcts(iterations=1)"])
def test_every_budget_plays_whole_matches(spec: str) -> None:
    result = play(MatchSpec("connect_four", (spec, "random"), 3, 4))
    assert result.ending == Played()


@pytest.mark.parametrize("slower", [1.0, 30.0])
def test_a_time_budget_is_kept_though_simulations_become_slower(slower: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock that simulations move: from the 1000th on they take longer."""
    clock, done, limit_s = 5.0, 0, 0.1

    def simulate(agent: Mcts, state: State, fate: Rng, rng: Rng, simulations: int) -> None:
        nonlocal clock, done
        clock += sum(1e-6 if done + i < 1000 else 1e-6 * slower for i in range(simulations))
        done += simulations

    game, state = position("connect_four", [])
    assert isinstance(state, KernelState)
    agent = Mcts(time_s=limit_s)
    agent.start(game, 0, seed=1)
    monkeypatch.setattr(Mcts, "_simulate", simulate)
    monkeypatch.setattr("rung.agents.search.agent.time.perf_counter", lambda: clock)
    agent._simulate_for(state, stream(1), stream(2), limit_s)
    assert 0.99 * limit_s < clock - 5.0 < 1.01 * limit_s


# A game whose legal actions are too many to list: name a number below a million; the larger one wins.

LARGEST, LISTED = 1_000_000, 64


@kernel
def setup(state: Cells, params: Cells, rng: Rng) -> None:
    state[0], state[1], state[2] = 0, -1, -1


@kernel
def turn(state: Cells) -> int:
    return state[0] if state[0] < 2 else OVER


@kernel
def legal(state: Cells, out: Cells) -> int:
    return LARGEST


@kernel
def allows(state: Cells, action: int) -> int:
    return 0 <= action < LARGEST


@kernel
def sample(state: Cells, rng: Rng) -> int:
    return below(rng, LARGEST)


@kernel
def apply(state: Cells, action: int, rng: Rng) -> None:
    state[1 + state[0]] = action
    state[0] += 1


@kernel
def payoff(state: Cells, out: Reals) -> None:
    out[0] = 1.0 if state[1] > state[2] else 0.5 if state[1] == state[2] else 0.0
    out[1] = 1.0 - out[0]


class Sampled(KernelGame):
    name = "sampled"
    version = 1
    summary = "Name a number; the larger wins."
    kernels = Kernels(setup, turn, legal, apply, payoff, allows=allows, sample=sample)

    def shape(self) -> Shape:
        return Shape(2, 3, LISTED, 2)

    def parse_action(self, state: State, text: str) -> int:
        return int(text)

    def render(self, state: State) -> str:
        assert isinstance(state, KernelState)
        return str(state.cells[1:])


def test_actions_too_many_to_list_are_searched_by_samples() -> None:
    game = Sampled()
    state = game.new_state(stream(1))
    assert len(state.legal()) == 0
    assert state.allows(5)
    assert not state.allows(LARGEST)
    for spec in ("mcts(iterations=2000)", "osla(width=50)", "random", "first"):
        agent = make_agent(spec)
        agent.start(game, 0, seed=1)
        assert state.allows(agent.act(view_of(game, state, 0)))
    searcher = make_agent("mcts(iterations=20000)")
    searcher.start(game, 0, seed=1)
    assert searcher.act(view_of(game, state, 0)) > 0.9 * LARGEST
