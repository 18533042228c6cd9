"""Rock-paper-scissors against its rule sheet, and against a second implementation that keeps the list of rounds."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from rung.errors import UserError
from rung.games.compiled import KernelState, random_playouts
from rung.games.conformance import check, check_hides, check_recorded, check_uniform, count_tree
from rung.games.kernel import HIDDEN
from rung.games.rng import stream
from rung.games.rock_paper_scissors import COUNTS, LAST, PAPER, ROCK, ROUND, SCISSORS, RockPaperScissors

RECORDED = Path(__file__).parent / "recorded" / "rock_paper_scissors.txt"
BEATS = {("rock", "scissors"), ("paper", "rock"), ("scissors", "paper")}
WORDS = ["rock", "paper", "scissors"]


def after(game: RockPaperScissors, *actions: int) -> KernelState:
    state = game.new_state(stream(1))
    for action in actions:
        state.apply(action, stream(1))
    return state


def gain(mine: int, theirs: int) -> int:
    """Of one round, by the names of what is on the table."""
    return ((WORDS[mine], WORDS[theirs]) in BEATS) - ((WORDS[theirs], WORDS[mine]) in BEATS)


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        (PAPER, ROCK, 1),
        (SCISSORS, PAPER, 1),
        (ROCK, SCISSORS, 1),
        (ROCK, PAPER, -1),
        (PAPER, SCISSORS, -1),
        (SCISSORS, ROCK, -1),
        *((choice, choice, 0) for choice in (ROCK, PAPER, SCISSORS)),
    ],
)
def test_one_round(mine: int, theirs: int, expected: int) -> None:
    for reward in ("mean", "win"):
        state = after(RockPaperScissors(rounds=1, reward=reward), mine, theirs)
        assert state.over
        assert state.scores().tolist() == [expected, -expected]
        assert state.payoffs().tolist() == [(1 + expected) / 2, (1 - expected) / 2]
    assert gain(mine, theirs) == expected


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_every_match_by_a_second_implementation(rounds: int) -> None:
    mean, win = RockPaperScissors(rounds=rounds), RockPaperScissors(rounds=rounds, reward="win")
    for actions in product(range(3), repeat=2 * rounds):
        pairs = list(zip(actions[0::2], actions[1::2], strict=True))
        total = sum(gain(*pair) for pair in pairs)
        state = after(mean, *actions)
        assert state.scores().tolist() == [total, -total]
        rewards = [(gain(*pair) + 1) / 2 for pair in pairs]
        assert state.payoffs() == pytest.approx([sum(rewards) / rounds, 1 - sum(rewards) / rounds])
        verdict = 1.0 if total > 0 else 0.0 if total < 0 else 0.5
        assert after(win, *actions).payoffs().tolist() == [verdict, 1 - verdict]
        for seat in range(2):
            chosen = Counter(pair[seat] for pair in pairs)
            first = COUNTS + 3 * seat
            assert state.cells[first : first + 3].tolist() == [chosen[choice] for choice in range(3)]
            assert state.cells[LAST + seat] == pairs[-1][seat]


def test_seats_alternate_and_every_choice_is_always_legal() -> None:
    state = after(RockPaperScissors(rounds=50))
    rng = stream(3)
    for move in range(100):
        assert state.turn == move % 2
        assert state.cells[ROUND] == move // 2
        assert state.legal().tolist() == [ROCK, PAPER, SCISSORS]
        state.apply(state.sample(rng), rng)
    assert state.over


def test_the_sheets_cycles() -> None:
    """Sixty rounds of rock, paper, scissors: all lost to paper, scissors, rock; all drawn against itself."""
    game = RockPaperScissors(rounds=60)
    for ahead, expected in ((1, -60), (0, 0)):
        actions = [choice for at in range(60) for choice in (at % 3, (at + ahead) % 3)]
        assert after(game, *actions).scores()[0] == expected


def test_tree_counts() -> None:
    """Nine joint choices a round."""
    assert count_tree(after(RockPaperScissors()), 8) == [3**depth for depth in range(1, 9)]
    assert count_tree(after(RockPaperScissors(rounds=2)), 6) == [3, 9, 27, 81, 0, 0]


def test_the_state_does_not_grow_with_the_rounds() -> None:
    assert RockPaperScissors(rounds=100_000).cells == RockPaperScissors(rounds=1).cells < 16
    assert RockPaperScissors(rounds=100_000).max_moves == 200_000


# -- what is hidden ---------------------------------------------------------------------------


def consistent(game: RockPaperScissors, actions: tuple[int, ...], seat: int) -> dict[bytes, float]:
    """Every state that other sequences of choices lead to and that the seat saw the same of, from first to last."""

    def story(sequence: tuple[int, ...]) -> tuple[list[object], bytes]:
        state = after(game)
        seen: list[object] = [state.observe(seat).save()]
        for action in sequence:
            seen.append(state.label(action, seat))
            state.apply(action, stream(1))
            seen.append(state.observe(seat).save())
        return seen, state.save()

    wanted, _ = story(actions)
    stories = [story(sequence) for sequence in product(range(3), repeat=len(actions))]
    return dict(Counter(saved for seen, saved in stories if seen == wanted))


@pytest.mark.parametrize("actions", [(), (PAPER,), (PAPER, ROCK), (PAPER, ROCK, SCISSORS), (0, 0, 1, 2, 2)])
@pytest.mark.parametrize("seat", [0, 1])
def test_determinize_is_uniform_over_an_enumeration(actions: tuple[int, ...], seat: int) -> None:
    game = RockPaperScissors(rounds=3)
    expected = consistent(game, actions, seat)
    assert len(expected) == (3 if seat == 1 and len(actions) % 2 else 1)
    check_uniform(after(game, *actions).observe(seat), seat, expected, draws=600, seed=7)


def test_the_second_chooser_sees_nothing_of_the_commitment() -> None:
    game = RockPaperScissors(rounds=3)
    committed: list[KernelState] = [after(game, ROCK, PAPER, choice) for choice in range(3)]
    check_hides(game, [*committed], seat=1)
    assert {game.render(state.observe(1)) for state in committed} == {game.render(committed[0].observe(1))}
    assert len({game.render(state.observe(0)) for state in committed}) == 3
    assert all(state.observe(1).legal().tolist() == [0, 1, 2] for state in committed)


def test_labels_hide_the_first_choice_until_the_second() -> None:
    state = after(RockPaperScissors(rounds=3))
    assert [state.label(choice, 1) for choice in range(3)] == [HIDDEN] * 3
    assert [state.label(choice, 0) for choice in range(3)] == [0, 1, 2]
    state.apply(PAPER, stream(1))
    for seat in range(2):
        assert [state.label(choice, seat) for choice in range(3)] == [0, 1, 2]


# -- playouts, text, parameters ---------------------------------------------------------------------------


@pytest.mark.parametrize("actions", [(), (ROCK,), (ROCK, PAPER, SCISSORS)])
def test_the_own_playout_has_the_exact_distribution(actions: tuple[int, ...]) -> None:
    """Four rounds: the chance to win more than are lost, against an enumeration of all continuations."""
    game, playouts = RockPaperScissors(rounds=4, reward="win"), 40_000
    ends = [after(game, *actions, *rest).payoffs()[0] for rest in product(range(3), repeat=8 - len(actions))]
    totals = np.zeros(2)
    random_playouts(game.table, after(game, *actions).cells, stream(11), playouts, totals)
    error = float(np.std(ends)) / playouts**0.5
    assert abs(totals[0] / playouts - float(np.mean(ends))) < 5 * error
    assert totals.sum() == playouts


@pytest.mark.parametrize("spec", [{"rounds": 1}, {"rounds": 20}, {"rounds": 9, "reward": "win"}])
def test_conformance(spec: dict[str, object]) -> None:
    check(RockPaperScissors(**spec), matches=5)


def test_recorded_match_replays() -> None:
    check_recorded(RockPaperScissors(rounds=8), RECORDED.read_text(encoding="utf-8"))


def test_rendering() -> None:
    game = RockPaperScissors(rounds=4)
    assert game.render(after(game, PAPER, ROCK, SCISSORS).observe(1)).split("\n") == [
        "1 of 4 rounds played",
        "",
        "              rock     paper  scissors",
        "Left             0         1         0",
        "Right            1         0         0",
        "",
        "Left ···············█████│···················· Right   Left is 1 ahead",
        "Last round: paper against rock, Left wins.",
        "This round: Left has chosen in secret.",
    ]
    behind = game.render(after(game, ROCK, PAPER, ROCK, PAPER, ROCK, PAPER, ROCK, PAPER))
    assert "Left ····················│████████████████████ Right   Right is 4 ahead" in behind
    assert "chosen" not in behind
    assert "even" in game.render(after(game))
    longest = RockPaperScissors(rounds=100_000)
    assert max(len(line) for line in longest.render(after(longest, ROCK, PAPER, ROCK)).split("\n")) <= 80


@pytest.mark.parametrize("bad", [{"rounds": 0}, {"rounds": 100_001}, {"rounds": 1.5}, {"reward": "sum"}, {"turns": 3}])
def test_bad_parameters_are_the_users_mistake(bad: dict[str, object]) -> None:
    with pytest.raises(UserError):
        RockPaperScissors(**bad)
