"""Sum of Switches against its rule sheet, and against a second implementation that knows nothing of bits."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations
from math import comb, factorial, prod, sqrt
from pathlib import Path

import numpy as np
import pytest

from rung.errors import UserError
from rung.games.compiled import KernelState
from rung.games.conformance import check, check_recorded, count_tree
from rung.games.kernel import Cells, Table, call_playout, pointer
from rung.games.rng import Rng, stream
from rung.games.sum_of_switches import MARGIN, SumOfSwitches
from rung.jit import entry

RECORDED = Path(__file__).parent / "recorded" / "sum_of_switches.txt"
PLAYOUTS = 40_000
SIGMAS = 5.0


def start(n: int, *moves: int) -> KernelState:
    """The state after these moves, where move i has the value i."""
    state = SumOfSwitches(n=n, values="identity").new_state(stream(1))
    for move in moves:
        state.apply(move, stream(1))
    return state


def values_of(game: SumOfSwitches, seed: int) -> list[int]:
    """What each move is worth, found out by taking them all and watching the margin."""
    state = game.new_state(stream(seed))
    values, before = [], 0
    for move in range(int(game.values["n"])):
        sign = 1 if state.turn == 0 else -1
        state.apply(move, stream(1))
        margin = int(state.scores()[0])
        values.append(sign * (margin - before))
        before = margin
    return values


# -- the second implementation: sets of values, exact fractions --------------------------------------------------------


def best_margin(mine: frozenset[int], sign: int) -> int:
    """What remains to be gained by perfect play over these values, for the player of this sign."""

    @cache
    def solve(free: frozenset[int], sign: int) -> int:
        results = [sign * value + solve(free - {value}, -sign) for value in free]
        return (max if sign == 1 else min)(results) if results else 0

    return solve(mine, sign)


def margins_of_random_play(n: int, *moves: int) -> dict[int, int]:
    """How many of the equally likely ways to split what is left end with each margin."""
    first, second = list(moves[0::2]), list(moves[1::2])
    free = [value for value in range(n) if value not in moves]
    ways: dict[int, int] = {}
    for chosen in combinations(free, (n + 1) // 2 - len(first)):
        mine = sum(first) + sum(chosen)
        theirs = sum(second) + sum(free) - sum(chosen)
        ways[mine - theirs] = ways.get(mine - theirs, 0) + 1
    return ways


def chance_of_random_play(n: int, *moves: int) -> Fraction:
    ways = margins_of_random_play(n, *moves)
    return Fraction(sum(count for margin, count in ways.items() if margin >= n // 2), sum(ways.values()))


# -- the rules ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "komi"), list(zip(range(2, 12), (1, 1, 2, 2, 3, 3, 4, 4, 5, 5), strict=True)))
def test_perfect_play_reaches_the_komi_and_no_more(n: int, komi: int) -> None:
    state = start(n)
    while not state.over:
        state.apply(int(state.legal().max()), stream(1))
    assert state.scores().tolist() == [komi, -komi]
    assert state.payoffs().tolist() == [1.0, 0.0]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 9])
def test_every_end_is_won_by_the_komi(n: int) -> None:
    """All splits, each reached by one order of moves."""
    for mine in combinations(range(n), (n + 1) // 2):
        theirs = [value for value in range(n) if value not in mine]
        state = start(n)
        for turn in range(n):
            assert state.turn == turn % 2
            state.apply((theirs if turn % 2 else mine)[turn // 2], stream(1))
        margin = sum(mine) - sum(theirs)
        assert state.over
        assert state.scores().tolist() == [margin, -margin]
        assert state.payoffs().tolist() == ([1.0, 0.0] if margin >= n // 2 else [0.0, 1.0])


@pytest.mark.parametrize(
    ("n", "moves", "winner"), [(2, (1, 0), 0), (2, (0, 1), 1), (3, (2, 1, 0), 0), (3, (1, 2, 0), 1)]
)
def test_small_matches_of_the_sheet(n: int, moves: tuple[int, ...], winner: int) -> None:
    state = start(n, *moves)
    assert state.over
    assert state.payoffs()[winner] == 1.0
    assert state.payoffs().sum() == 1.0


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (4, [-2, 0, 0, 2]),
        (5, [-2, -2, 0, 0, 2]),
        (9, [-4, -4, -2, -2, 0, 0, 2, 2, 4]),
        (10, [-5, -3, -3, -1, -1, 1, 1, 3, 3, 5]),
    ],
)
def test_minimax_after_the_first_move(n: int, expected: list[int]) -> None:
    """By the kernels, merging states that differ only in who took what; and by the second implementation."""
    known: dict[tuple[int, ...], float] = {}

    def solve(state: KernelState) -> float:
        if state.over:
            return float(state.scores()[0])
        key = (*(int(move) for move in state.legal()), state.turn)
        if key not in known:
            gains = [solve(after(state, int(move))) - state.scores()[0] for move in state.legal()]
            known[key] = max(gains) if state.turn == 0 else min(gains)
        return float(state.scores()[0]) + known[key]

    assert [solve(start(n, value)) for value in range(n)] == expected
    values = frozenset(range(n))
    assert [value + best_margin(values - {value}, -1) for value in range(n)] == expected


def after(state: KernelState, action: int) -> KernelState:
    twin = state.copy()
    twin.apply(action, stream(1))
    return twin


def exact_chance(state: KernelState, known: dict[bytes, Fraction]) -> Fraction:
    """The first seat's chance when all further moves are random, through the kernels."""
    if state.over:
        return Fraction(int(state.payoffs()[0]))
    key = state.save()
    if key not in known:
        legal = [int(move) for move in state.legal()]
        known[key] = sum((exact_chance(after(state, move), known) for move in legal), Fraction(0)) / len(legal)
    return known[key]


SHEET_CHANCES = [
    (4, ["0", "1/3", "1/3", "2/3"], "1/3"),
    (6, ["1/10", "1/5", "3/10", "2/5", "1/2", "3/5"], "7/20"),
    (
        10,
        ["1/7", "25/126", "5/21", "2/7", "41/126", "23/63", "17/42", "19/42", "31/63", "23/42"],
        "87/252",
    ),
]


@pytest.mark.parametrize(("n", "by_first_move", "overall"), SHEET_CHANCES)
def test_random_play_by_the_second_implementation(n: int, by_first_move: list[str], overall: str) -> None:
    assert [chance_of_random_play(n, value) for value in range(n)] == [Fraction(text) for text in by_first_move]
    assert chance_of_random_play(n) == Fraction(overall)


@pytest.mark.parametrize(("n", "by_first_move", "overall"), SHEET_CHANCES)
def test_random_play_by_the_kernels(n: int, by_first_move: list[str], overall: str) -> None:
    known: dict[bytes, Fraction] = {}
    assert [exact_chance(start(n, value), known) for value in range(n)] == [Fraction(text) for text in by_first_move]
    assert exact_chance(start(n), known) == Fraction(overall)


@pytest.mark.parametrize(
    ("moves", "expected"), [((9, 8), Fraction(24, 70)), ((9, 0), Fraction(53, 70)), ((0, 9), Fraction(2, 70))]
)
def test_random_play_after_two_moves(moves: tuple[int, ...], expected: Fraction) -> None:
    assert chance_of_random_play(10, *moves) == expected
    assert exact_chance(start(10, *moves), {}) == expected


def test_how_often_each_margin_occurs() -> None:
    ways = margins_of_random_play(10)
    assert [ways[margin] for margin in range(1, 27, 2)] == [20, 19, 18, 16, 14, 11, 9, 7, 5, 3, 2, 1, 1]
    assert all(ways[margin] == ways[-margin] for margin in ways)
    assert sum(ways.values()) == comb(10, 5)


@pytest.mark.parametrize(("n", "moves"), [(10, ()), (10, (9,)), (10, (0, 9)), (7, (6, 5, 0)), (64, (63,))])
def test_the_own_playout_has_the_distribution_of_random_play(n: int, moves: tuple[int, ...]) -> None:
    """Of the margins, not only of who wins: the frequencies where they can be enumerated, else mean and spread."""
    state = start(n, *moves)
    margins = playout_margins(state)
    if n == 64:
        free = [value for value in range(n) if value not in moves]
        mine, size = (n + 1) // 2 - 1, len(free)
        mean = 63 + sum(free) * (2 * mine / size - 1)
        # Twice the sum of a sample of `mine` values without replacement.
        spread = 2 * sqrt(mine * (size - mine) / (size - 1) * float(np.var(free)))
        assert abs(margins.mean() - mean) < SIGMAS * spread / sqrt(PLAYOUTS)
        assert abs(margins.std() / spread - 1) < SIGMAS / sqrt(2 * PLAYOUTS)
        return
    ways = margins_of_random_play(n, *moves)
    assert set(margins.tolist()) <= set(ways)
    for margin, count in ways.items():
        share = count / sum(ways.values())
        error = sqrt(share * (1 - share) / PLAYOUTS)
        assert abs(float(np.mean(margins == margin)) - share) < SIGMAS * error


def playout_margins(state: KernelState) -> Cells:
    margins = np.zeros(PLAYOUTS, dtype=np.int64)
    play_out_often(state.game.table, state.cells, stream(5), margins)
    return margins


@entry
def play_out_often(table: Table, cells: Cells, rng: Rng, margins: Cells) -> None:
    state = np.empty_like(cells)
    for i in range(len(margins)):
        state[:] = cells
        call_playout(table, pointer(state), pointer(rng))
        margins[i] = state[MARGIN]


def test_scores_carry_the_score_bonus() -> None:
    """The paper's bonus needs nothing but scores: the smallest win is the komi, the extremes come from all splits."""
    bonus, komi = 0.1, 5
    extremes = margins_of_random_play(10)
    most, least = max(extremes) - komi, min(extremes) - komi

    def reward(mine: tuple[int, ...]) -> float:
        theirs = [value for value in range(10) if value not in mine]
        moves = [move for pair in zip(mine, theirs, strict=True) for move in pair]
        above = float(start(10, *moves).scores()[0]) - komi
        return 1 - bonus + bonus * above / most if above >= 0 else bonus * (above - least) / (-2 - least)

    assert (most, least) == (20, -30)
    # Differences of 5, 25, 3, -25 and 15.
    examples = {
        (1, 3, 5, 7, 9): 0.9,
        (5, 6, 7, 8, 9): 1.0,
        (2, 3, 4, 7, 8): 0.1,
        (0, 1, 2, 3, 4): 0.0,
        (3, 4, 6, 8, 9): 0.95,
    }
    assert {mine: reward(mine) for mine in examples} == pytest.approx(examples)


# -- sizes, dealing, text ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 6, 8])
def test_tree_counts(n: int) -> None:
    """n, n (n - 1), … n! sequences: the game of the paper merges nothing."""
    state = SumOfSwitches(n=n).new_state(stream(1))
    assert count_tree(state, n) == [factorial(n) // factorial(n - depth) for depth in range(1, n + 1)]


def test_tree_counts_of_the_largest_game() -> None:
    assert count_tree(start(64), 3) == [prod(range(64, 64 - depth, -1)) for depth in (1, 2, 3)]


def test_the_last_bit_is_a_move_like_any_other() -> None:
    state = start(64, 63)
    assert state.scores()[0] == 63
    assert state.legal().tolist() == list(range(63))
    assert not state.allows(63)
    assert not state.allows(64)
    assert not state.allows(-1)
    assert state.allows(62)


def test_values_are_dealt_anew_with_every_seed() -> None:
    game = SumOfSwitches()
    assert all(sorted(values_of(game, seed)) == list(range(10)) for seed in range(20))
    assert len({tuple(values_of(game, seed)) for seed in range(20)}) == 20
    assert values_of(SumOfSwitches(values="identity"), 3) == list(range(10))


def test_every_order_of_values_is_equally_likely() -> None:
    game, deals = SumOfSwitches(n=3), 6000
    seen: dict[tuple[int, ...], int] = {}
    for seed in range(deals):
        values = tuple(values_of(game, seed))
        seen[values] = seen.get(values, 0) + 1
    assert len(seen) == 6
    error = sqrt(deals / 6 * 5 / 6)
    assert all(abs(count - deals / 6) < SIGMAS * error for count in seen.values())


@pytest.mark.parametrize("spec", [{}, {"n": 2}, {"n": 3}, {"n": 64}, {"n": 7, "values": "identity"}])
def test_conformance(spec: dict[str, object]) -> None:
    check(SumOfSwitches(**spec), matches=5)


def test_recorded_match_replays() -> None:
    check_recorded(SumOfSwitches(), RECORDED.read_text(encoding="utf-8"))


def test_rendering_keeps_the_values_of_free_moves() -> None:
    assert state_text(start(4, 3, 0)) == [
        "  move  │   0   1   2   3",
        "  taken │   ○   ·   ·   ●",
        "  value │   0   ?   ?   3",
        "",
        "● First      3",
        "○ Second     0",
        "  margin    +3   (First needs +2)",
    ]
    assert state_text(start(4, 0, 3, 1, 2))[-2:] == ["  margin    -4   (First needs +2)", "Second wins."]
    full = SumOfSwitches(n=64).render(start(64))
    assert max(len(line) for line in full.split("\n")) <= 80


def state_text(state: KernelState) -> list[str]:
    return state.game.render(state).split("\n")


@pytest.mark.parametrize("bad", [{"n": 1}, {"n": 65}, {"n": 10.0}, {"values": "sorted"}, {"komi": 5}])
def test_bad_parameters_are_the_users_mistake(bad: dict[str, object]) -> None:
    with pytest.raises(UserError):
        SumOfSwitches(**bad)
