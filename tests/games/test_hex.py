"""Hex against OpenSpiel, and against a second implementation that searches for chains hexagon by hexagon."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from rung.errors import UserError
from rung.games.compiled import KernelState, random_playouts
from rung.games.conformance import check, check_recorded, count_tree
from rung.games.hex import BLACK, MOVES, STONES, WHITE, WORD, Hex, words_for
from rung.games.rng import stream

RECORDED = Path(__file__).parent / "recorded" / "hex.txt"
PLAYOUTS = 40_000
SIGMAS = 5.0


def after(size: int, *moves: str) -> KernelState:
    state = Hex(size=size).new_state(stream(1))
    for move in moves:
        state.apply(state.game.parse_action(state, move), stream(1))
    return state


def position(size: int, black: set[int], white: set[int], mover: int) -> KernelState:
    """A state with any stones at all, which alternate moves need not lead to."""
    game = Hex(size=size)
    cells = game.new_state(stream(1)).cells
    for seat, stones in ((BLACK, black), (WHITE, white)):
        for at in stones:
            cells[STONES + seat * words_for(size) + at // WORD] |= np.uint64(1 << at % WORD).astype(np.int64)
    cells[MOVES] = 2 * max(len(black), len(white)) + mover
    return game.state_of(cells)


# -- the second implementation: sets of hexagons -----------------------------------------------------------------------


def joined(size: int, seat: int, stones: frozenset[int]) -> bool:
    """Whether a seat's stones join its two edges, found by a search from the first edge."""
    places = {divmod(at, size) for at in stones}
    reached = {place for place in places if place[seat] == 0}
    frontier = list(reached)
    while frontier:
        row, column = frontier.pop()
        if (row, column)[seat] == size - 1:
            return True
        for down, across in ((0, 1), (0, -1), (1, 0), (-1, 0), (1, -1), (-1, 1)):
            neighbour = (row + down, column + across)
            if neighbour in places and neighbour not in reached:
                reached.add(neighbour)
                frontier.append(neighbour)
    return False


@cache
def sequences(size: int, mine: frozenset[int], theirs: frozenset[int], seat: int, depth: int) -> tuple[int, ...]:
    """How many sequences of 1, 2, … depth moves there are."""
    if depth == 0:
        return ()
    counts = [0] * depth
    for at in set(range(size * size)) - mine - theirs:
        counts[0] += 1
        placed = mine | {at}
        if not joined(size, seat, placed):
            for i, count in enumerate(sequences(size, theirs, placed, 1 - seat, depth - 1)):
                counts[i + 1] += count
    return tuple(counts)


@cache
def black_chance(size: int, mine: frozenset[int], theirs: frozenset[int], seat: int) -> float:
    """The probability that Black wins when both play uniformly at random, move by move and stopping at the win."""
    free = set(range(size * size)) - mine - theirs
    total = 0.0
    for at in free:
        placed = mine | {at}
        if joined(size, seat, placed):
            total += seat == BLACK
        else:
            total += black_chance(size, theirs, placed, 1 - seat)
    return total / len(free)


# -- tree counts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 3])
def test_whole_tree(size: int) -> None:
    none: frozenset[int] = frozenset()
    depth = size * size
    assert count_tree(after(size), depth) == list(sequences(size, none, none, BLACK, depth))


@pytest.mark.parametrize(
    ("black", "white"),
    [({0, 5, 10}, {3, 6, 9}), ({1, 4, 13}, {2, 7, 8}), ({5, 6, 9}, {0, 10, 15}), ({12, 9, 6}, {1, 2, 15})],
)
def test_tree_from_the_middle(black: set[int], white: set[int]) -> None:
    expected = sequences(4, frozenset(black), frozenset(white), BLACK, 7)
    assert count_tree(position(4, black, white, BLACK), 7) == list(expected)


# -- who has won -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", range(2, 20))
def test_ends_with_the_chain(size: int) -> None:
    """On boards of every size and number of words the match ends with the move that completes a chain, not earlier."""
    game, rng = Hex(size=size), stream(size)
    for _ in range(20 if size < 12 else 4):
        state = game.new_state(rng)
        stones: tuple[set[int], set[int]] = (set(), set())
        while not state.over:
            seat, action = state.turn, state.sample(rng)
            stones[seat].add(action)
            state.apply(action, rng)
            assert state.over == joined(size, seat, frozenset(stones[seat]))
        assert state.payoffs().tolist() == [1.0 - seat, float(seat)]


@pytest.mark.parametrize("seat", [BLACK, WHITE])
@pytest.mark.parametrize("size", [5, 7, 8, 9, 11, 13, 14, 19])
def test_winding_chain(size: int, seat: int) -> None:
    """A chain that crosses the board from side to side in every other row, which random play never builds.

    Each of its stones is left out in turn: the stone there wins, a stone elsewhere does not.
    """
    chain = [(row, column) for row in range(0, size, 2) for column in range(size)]
    chain += [(row, size - 1 if row % 4 == 1 else 0) for row in range(1, size, 2)]
    stones = {row * size + column if seat == BLACK else column * size + row for row, column in chain}
    for missing in sorted(stones):
        others = stones - {missing}
        if joined(size, seat, frozenset(others)):
            continue  # an end of a crossing, which the chain can do without
        useless = (at for at in range(size * size) if not joined(size, seat, frozenset(others | {at})))
        elsewhere = next(at for at in useless if at not in stones)
        for at, wins in ((missing, True), (elsewhere, False)):
            state = position(size, others if seat == BLACK else set(), others if seat == WHITE else set(), seat)
            state.apply(at, stream(1))
            assert state.over == wins
            assert state.payoffs()[seat] == (1.0 if wins else 0.5)


def test_black_joins_top_and_bottom() -> None:
    assert after(3, "b1", "a1", "b2", "c3", "b3").payoffs().tolist() == [1.0, 0.0]


def test_white_joins_left_and_right() -> None:
    assert after(3, "a1", "a2", "c3", "b2", "a3", "c2").payoffs().tolist() == [0.0, 1.0]


def test_the_short_diagonal_touches_and_the_long_one_does_not() -> None:
    assert after(3, "c1", "a1", "b2", "b1", "a3").over
    assert not after(3, "a1", "c1", "b2", "b1", "c3").over


# -- random playouts ---------------------------------------------------------------------------------------------------


def test_filling_the_board_has_the_chances_of_playing_on() -> None:
    """The playout fills the board at once; the exact chances come from playing move by move."""
    for size, black, white, mover in [
        (2, set[int](), set[int](), BLACK),
        (3, set[int](), set[int](), BLACK),
        (3, {4}, set[int](), WHITE),
        (4, {0, 5, 10}, {3, 6, 9}, BLACK),
        (4, {0, 1, 5, 8}, {3, 6, 9}, WHITE),
    ]:
        state = position(size, black, white, mover)
        state.cells[MOVES] = len(black) + len(white)
        mine, theirs = (black, white) if mover == BLACK else (white, black)
        chance = black_chance(size, frozenset(mine), frozenset(theirs), mover)
        totals = np.zeros(2)
        random_playouts(state.game.table, state.cells, stream(size), PLAYOUTS, totals)
        assert abs(totals[BLACK] / PLAYOUTS - chance) < SIGMAS * sqrt(chance * (1 - chance) / PLAYOUTS)
        assert totals.sum() == PLAYOUTS


def test_chance_by_counting_boards() -> None:
    """Playing on after a win changes nothing: counting all full boards gives the same chance as stopping."""
    boards = [frozenset(black) for black in combinations(range(9), 5)]
    none: frozenset[int] = frozenset()
    counted = sum(joined(3, BLACK, black) for black in boards) / len(boards)
    assert black_chance(3, none, none, BLACK) == pytest.approx(counted)


# -- the rest ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "matches"), [(3, 3000), (7, 3000), (11, 1000), (19, 100)])
def test_same_as_openspiel(compare_with_openspiel: Callable[..., None], size: int, matches: int) -> None:
    compare_with_openspiel(Hex(size=size), f"hex(board_size={size})", matches)


@pytest.mark.parametrize("size", [2, 8, 9, 14])
def test_contract(size: int) -> None:
    check(Hex(size=size), matches=3)


@pytest.mark.parametrize("size", [1, 20, 7.0, "7"])
def test_bad_size(size: object) -> None:
    with pytest.raises(UserError, match="size must be a whole number from 2 to 19"):
        Hex(size=size)


def test_unknown_parameter() -> None:
    with pytest.raises(UserError, match="parameter of hex"):
        Hex(swap=True)


def test_taken_hexagon_is_illegal() -> None:
    state = after(3, "b2")
    assert state.legal().tolist() == [0, 1, 2, 3, 5, 6, 7, 8]
    with pytest.raises(UserError, match="'b2' is not a legal action"):
        state.game.parse_action(state, "b2")


def test_sizes() -> None:
    game = Hex()
    assert (game.spec, game.max_moves, game.max_legal, game.cells) == ("hex", 121, 121, 7)
    assert Hex(size=8).cells == 5
    assert Hex(size=19).cells == 15


def test_rendering() -> None:
    state = after(4, "b2", "C3", "d4")
    assert state.game.render(state).splitlines() == [
        "   a b c d",
        " 1 · · · ·",
        "  2 · ● · ·",
        "   3 · · ○ ·",
        "    4 · · · ●",
        "● Black joins top and bottom, ○ White joins left and right",
    ]
    largest = Hex(size=19)
    assert max(map(len, largest.render(largest.new_state(stream(1))).splitlines())) <= 80


def test_recorded_match() -> None:
    check_recorded(Hex(size=7), RECORDED.read_text())
