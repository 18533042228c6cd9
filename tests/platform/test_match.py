"""Matches: faults are results, clocks run, seats see what they may, and everything can be repeated exactly."""

from __future__ import annotations

import logging
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from math import inf

import pytest

from rung.agents.agent import Agent, View
from rung.agents.simple import First
from rung.errors import UserError
from rung.games import GAMES
from rung.games.game import Game, State
from rung.games.kernel import HIDDEN
from rung.platform.match import Clock, Forfeit, MatchResult, MatchSpec, Played, Void, game_of, play, prepare
from rung.platform.replay import replay
from tests.platform.conftest import FAILING_MOVE, Witness

pytestmark = pytest.mark.usefixtures("faulty")


def spec(game: str, *agents: str, deal: int = 1, seed: int = 1, clock: Clock | None = None) -> MatchSpec:
    return MatchSpec(game, agents, deal, seed, clock)


def timeless(result: MatchResult) -> MatchResult:
    return replace(result, think_s=())


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize(
    ("agent", "reason", "detail"),
    [
        ("outside", "illegal action", "99 is not legal at move"),
        ("huge", "illegal action", "000000 is not legal at move"),
        ("text", "illegal action", "'3' is not a whole number"),
        ("truth", "illegal action", "True is not a whole number"),
        ("crashes", "crash", "ValueError: a first line"),
        ("hungry", "memory", "MemoryError: out of memory"),
        ("fails_to_start", "crash", "RuntimeError: no weights"),
        ("noteless", "crash", "AttributeError"),
    ],
)
def test_a_fault_of_an_agent_is_its_forfeit(agent: str, reason: str, detail: str, seat: int) -> None:
    result = play(spec("connect_four", *(agent if at == seat else "first" for at in (0, 1))))
    assert isinstance(result.ending, Forfeit)
    assert (result.ending.seat, result.ending.reason) == (seat, reason)
    assert detail in result.ending.detail
    assert "\n" not in result.ending.detail
    assert result.ranks == ((2, 1) if seat == 0 else (1, 2))
    assert result.payoffs == ((0.0, 1.0) if seat == 0 else (1.0, 0.0))


def test_moves_before_a_fault_are_kept() -> None:
    result = play(spec("connect_four", "first", "crashes(at=2)"))
    assert isinstance(result.ending, Forfeit)
    assert result.moves == (0, 0, 0, 0, 0)
    assert len(result.think_s) == 5


def test_a_forfeit_among_three_leaves_the_others_first() -> None:
    result = play(spec("sushi_go(players=3)", "first", "crashes(at=1)", "random"))
    assert result.payoffs == (0.5, 0.0, 0.5)
    assert result.ranks == (1, 3, 1)


def test_a_forfeit_takes_the_team_along() -> None:
    result = play(spec("teams", "first", "first", "crashes", "first"))
    assert result.payoffs == (0.0, 1.0, 0.0, 1.0)
    assert result.ranks == (3, 1, 3, 1)


def test_team_mates_share_their_rank_whatever_their_scores() -> None:
    result = play(spec("teams", "first", "first", "first", "first"))
    assert isinstance(result.ending, Played)
    assert result.scores == (0.0, 10.0, 20.0, 30.0)
    assert result.ranks == (3, 1, 3, 1)


def test_scores_order_seats_of_equal_payoff() -> None:
    for deal in range(20):
        result = play(spec("sushi_go(players=4)", "random", "random", "random", "random", deal=deal))
        keys = list(zip(result.payoffs, result.scores, strict=True))
        assert result.ranks == tuple(1 + sum(other > own for other in keys) for own in keys)
        assert 1 in result.ranks


def test_a_crash_after_the_match_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        result = play(spec("connect_four", "fails_at_the_end", "first"))
    assert timeless(result).moves == play(spec("connect_four", "first", "first")).moves
    assert isinstance(result.ending, Played)
    assert "fails_at_the_end in seat 0 crashed after its match: RuntimeError: cannot save" in caplog.text


def test_a_match_that_does_not_end_is_void() -> None:
    result = play(spec("endless", "first", "first", "first", "first"))
    assert result.ending == Void("endless did not end within its 3 moves")
    assert result.payoffs == (0.0,) * 4
    assert len(result.moves) == 3


def test_a_failure_of_the_game_is_void_and_logged_and_can_be_replayed(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        result = play(spec("failing", "first", "random"))
    assert result.ending == Void("failing failed: ZeroDivisionError: division by zero")
    assert len(result.moves) == FAILING_MOVE - 1
    assert "Traceback" in caplog.text
    assert len(list(replay(result, "the match"))) == FAILING_MOVE


def test_what_goes_wrong_in_showing_is_no_result() -> None:
    def watch(game: Game, state: State, action: int, note: str) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        play(spec("connect_four", "first", "first"), watch)


def test_the_watcher_sees_each_move_before_it_is_played() -> None:
    shown = []

    def watch(game: Game, state: State, action: int, note: str) -> None:
        assert state.allows(action)
        shown.append((action, note))

    result = play(spec("connect_four", "mcts(iterations=50)", "osla"), watch)
    assert tuple(action for action, _ in shown) == result.moves
    assert "simulations" in shown[0][1]
    assert "share the best value" in shown[1][1]


@pytest.mark.parametrize(
    ("match", "complaint"),
    [
        (spec("connect_four", "first"), "must be 2 in number, not 1"),
        (spec("sushi_go", "mcts(reuse=True)", "first"), "reuse must be False"),
        (spec("conect_four", "first", "first"), "Did you mean connect_four"),
        (spec("hex(size=20)", "first", "first"), "from 2 to 19"),
        (spec("connect_four", "frist", "first"), "Did you mean first"),
    ],
)
def test_a_match_that_cannot_be_played_is_the_users_mistake(match: MatchSpec, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        play(match)


@pytest.mark.parametrize("name", GAMES.names())
def test_the_same_spec_gives_the_same_match(name: str) -> None:
    game = game_of(name)
    agents = ["mcts(iterations=60)", "osla", "random", "mcts(iterations=40, final='mean')", "first"][: game.seats]
    first, second = (play(spec(name, *agents, deal=5, seed=6)) for _ in range(2))
    assert timeless(first) == timeless(second)
    other = [play(spec(name, *(["random"] * game.seats), seed=seed)).moves for seed in range(4)]
    assert len(set(other)) > 1


def test_the_deal_is_natures_and_the_seed_the_agents() -> None:
    def hands(deal: int, seed: int) -> bytes:
        result = play(spec("sushi_go", "random", "random", deal=deal, seed=seed))
        return next(iter(replay(result, "the match"))).state.save()

    assert hands(1, 1) == hands(1, 2)
    assert hands(1, 1) != hands(2, 1)


def test_a_seat_that_overruns_its_clock_forfeits() -> None:
    result = play(spec("connect_four", "first", "slow", clock=Clock(0.01)))
    assert isinstance(result.ending, Forfeit)
    assert (result.ending.seat, result.ending.reason) == (1, "time")
    assert result.moves == (0,)


def test_the_increment_comes_after_each_move() -> None:
    play(spec("connect_four", "witness", "first", clock=Clock(1000.0, 500.0)))
    left = [view.left_s for view in Witness.views]
    assert left[0] == 1000.0
    assert all(1000.0 < later - earlier + 600.0 < 1100.1 for earlier, later in pairwise(left))


@pytest.mark.parametrize("agent", ["random", "first", "osla", "mcts(iterations=10)"])
@pytest.mark.parametrize("game", ["connect_four", "rpg_battle", "rock_paper_scissors"])
def test_nothing_is_left_to_compile_when_the_clock_runs(game: str, agent: str) -> None:
    """A new process compiles or loads, while it prepares, every function that the match then calls."""
    code = f"""
import gc
from numba.core.dispatcher import Dispatcher
from rung.platform.match import MatchSpec, game_of, play, prepare

def ready():
    return {{d.py_func.__name__: len(d.overloads) for d in gc.get_objects() if isinstance(d, Dispatcher)}}

spec = MatchSpec({game!r}, ({agent!r},) * game_of({game!r}).seats, 1, 1)
prepare(spec)
before = ready()
play(spec)
assert before == ready(), set(ready().items()) - set(before.items())
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_preparing_a_game_that_fails_leaves_it_to_the_match() -> None:
    for game, seats in (("failing", 2), ("endless", 4)):
        prepare(spec(game, *["first"] * seats))


def test_without_a_clock_time_is_endless() -> None:
    play(spec("connect_four", "witness", "first"))
    assert {view.left_s for view in Witness.views} == {inf}


def test_a_seat_sees_moves_as_far_as_the_rules_let_it() -> None:
    play(spec("rock_paper_scissors(rounds=3)", "random", "witness"))
    assert len(Witness.views) == 3
    for number, view in enumerate(Witness.views):
        assert len(view.seen) == 2 * number + 1
        assert view.seen[-1].label == HIDDEN
        assert all(seen.label != HIDDEN for seen in view.seen if seen.seat == view.seat)


def test_everybody_is_told_how_it_ended() -> None:
    result = play(spec("connect_four", "witness", "witness"))
    assert [outcome.payoffs for outcome in Witness.outcomes] == [result.payoffs] * 2
    Witness.outcomes = []
    play(spec("connect_four", "witness", "crashes"))
    assert [outcome.forfeited for outcome in Witness.outcomes] == [(1,)]


def test_an_agent_that_never_started_is_not_told_of_the_end() -> None:
    play(spec("connect_four", "fails_to_start", "witness"))
    assert Witness.outcomes == []


def test_ctrl_c_on_the_way_into_compiled_code_is_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python raises a `SystemError` when a signal arrives as a compiled function takes its arguments."""

    def interrupted(self: Agent, view: View) -> int:
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr(First, "act", interrupted)
    with pytest.raises(KeyboardInterrupt):
        play(MatchSpec("connect_four", ("first", "first"), 1, 1))

    def broken(self: Agent, view: View) -> int:
        raise SystemError("something else")

    monkeypatch.setattr(First, "act", broken)
    assert isinstance(play(MatchSpec("connect_four", ("first", "first"), 1, 1)).ending, Forfeit)
