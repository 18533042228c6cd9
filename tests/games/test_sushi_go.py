"""Sushi Go! against its rule sheet, and against a second implementation that lays named cards on ordered tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import chain, combinations, permutations, product
from math import comb, sqrt
from pathlib import Path

import numpy as np
import pytest

from rung.errors import UserError
from rung.games.compiled import KernelState
from rung.games.conformance import check, check_hides, check_recorded, check_uniform, count_tree, walk
from rung.games.kernel import HIDDEN, OVER
from rung.games.rng import derive, stream
from rung.games.sushi_go import (
    BLOCK,
    GONE,
    HAND,
    LEFT,
    NO_PICK,
    PICK,
    POINTS,
    ROUND,
    SEATS,
    SECOND_DEAL,
    TABLE,
    THIRD_DEAL,
    TURN,
    SushiGo,
)

RECORDED = Path(__file__).parent / "recorded" / "sushi_go.txt"

# The cards by one letter each, in the order of the rule sheet; 1, 2 and 3 are maki.
LETTERS = "TSD123elqWCP"
COPIES = dict(zip(LETTERS, (14, 14, 14, 6, 12, 8, 5, 10, 5, 6, 4, 10), strict=True))
VALUES = {"e": 1, "l": 2, "q": 3}
HAND_SIZES = {2: 10, 3: 9, 4: 8, 5: 7}


# -- the second implementation -----------------------------------------------------------------------------------------


def table_points(table: Sequence[str]) -> int:
    """Of the cards in the order they were laid, maki and puddings apart."""
    points, free_wasabi = 0, 0
    for card in table:
        if card == "W":
            free_wasabi += 1
        elif card in VALUES:
            points += VALUES[card] * (3 if free_wasabi else 1)
            free_wasabi = max(0, free_wasabi - 1)
    points += table.count("T") // 2 * 5 + table.count("S") // 3 * 10
    return points + [0, 1, 3, 6, 10, 15][min(table.count("D"), 5)]


def maki_points(icons: list[int]) -> list[int]:
    places = sorted({n for n in icons if n}, reverse=True)
    points = [0] * len(icons)
    if places:
        leaders = [seat for seat, n in enumerate(icons) if n == places[0]]
        for seat in leaders:
            points[seat] = 6 // len(leaders)
        if len(leaders) == 1 and len(places) > 1:
            followers = [seat for seat, n in enumerate(icons) if n == places[1]]
            for seat in followers:
                points[seat] = 3 // len(followers)
    return points


def pudding_points(puddings: list[int]) -> list[int]:
    if len(set(puddings)) == 1:
        return [0] * len(puddings)
    prize, penalty = 6 // puddings.count(max(puddings)), 6 // puddings.count(min(puddings))
    if len(puddings) == 2:
        penalty = 0
    return [prize if n == max(puddings) else -penalty if n == min(puddings) else 0 for n in puddings]


def code(cards: Sequence[str]) -> int:
    first, *second = (LETTERS.index(card) for card in cards)
    return 12 + 12 * first + second[0] if second else first


def legal_picks(hand: Sequence[str], table: Sequence[str]) -> list[int]:
    picks = {code(card) for card in hand}
    if "C" in table:
        for pair in permutations(hand, 2):
            order_matters = "W" in pair and not VALUES.keys().isdisjoint(pair)
            picks.add(code(pair if order_matters else sorted(pair, key=LETTERS.index)))
    return sorted(picks)


class Reference:
    """A match on lists of letters; it also remembers who has held which hand."""

    def __init__(self, deals: list[list[list[str]]]) -> None:
        self.deals = deals
        self.players = len(deals[0])
        self.points = [0] * self.players
        self.puddings = [0] * self.players
        self.by_round: list[list[int]] = []
        self.picks: list[int] = []
        self.deal()

    def deal(self) -> None:
        self.hands = [list(hand) for hand in self.deals[len(self.by_round)]]
        self.tables: list[list[str]] = [[] for _ in range(self.players)]
        self.holders = [{seat} for seat in range(self.players)]

    @property
    def over(self) -> bool:
        return len(self.by_round) == 3

    def legal(self) -> list[int]:
        seat = len(self.picks)
        return legal_picks(self.hands[seat], self.tables[seat])

    def pick(self, action: int) -> None:
        self.picks.append(action)
        if len(self.picks) < self.players:
            return
        for hand, table, pick in zip(self.hands, self.tables, self.picks, strict=True):
            types = [pick] if pick < 12 else [(pick - 12) // 12, (pick - 12) % 12]
            for card in (LETTERS[kind] for kind in types):
                hand.remove(card)
                table.append(card)
            if len(types) == 2:
                table.remove("C")
                hand.append("C")
        self.picks = []
        self.hands = self.hands[-1:] + self.hands[:-1]
        self.holders = self.holders[-1:] + self.holders[:-1]
        for seat, holders in enumerate(self.holders):
            holders.add(seat)
        if not self.hands[0]:
            self.end_round()

    def end_round(self) -> None:
        maki = maki_points([sum(int(card) for card in table if card.isdigit()) for table in self.tables])
        won = [table_points(table) + prize for table, prize in zip(self.tables, maki, strict=True)]
        self.by_round.append(won)
        self.points = [sum(pair) for pair in zip(self.points, won, strict=True)]
        self.puddings = [n + table.count("P") for n, table in zip(self.puddings, self.tables, strict=True)]
        if self.over:
            self.points = [sum(pair) for pair in zip(self.points, pudding_points(self.puddings), strict=True)]
        else:
            self.deal()


# -- from letters to cells and back ------------------------------------------------------------------------------------


def pack(cards: Sequence[str]) -> int:
    return sum(16 ** LETTERS.index(card) for card in cards)


def unpack(cell: int) -> Counter[str]:
    return Counter({card: n for at, card in enumerate(LETTERS) if (n := cell >> (4 * at) & 15)})


def block(state: KernelState, seat: int) -> list[int]:
    start = SEATS + BLOCK * seat
    return [int(cell) for cell in state.cells[start : start + BLOCK]]


def position(
    game: SushiGo,
    hands: Sequence[Sequence[str]],
    tables: Sequence[Sequence[str]],
    round: int = 2,
    points: Sequence[int] = (0,) * 5,
) -> KernelState:
    """A state with these hands and tables (no nigiri on wasabi) before a turn; nothing else is dealt."""
    state = game.new_state(stream(0))
    state.cells[ROUND], state.cells[LEFT] = round, len(hands[0])
    for seat in range(game.seats):
        start = SEATS + BLOCK * seat
        state.cells[start : start + BLOCK] = [pack(hands[seat]), pack(tables[seat]), points[seat], NO_PICK, 0, 0]
    return game.state_of(state.cells)


def play(state: KernelState, *actions: int) -> KernelState:
    for action in actions:
        assert action in state.legal()
        state.apply(action, stream(0))
    return state


@cache
def sheet_deals(players: int) -> list[list[list[str]]]:
    """The rule sheet's regression deal."""
    ordered = "".join(card * n for card, n in COPIES.items())
    deck = iter([ordered[37 * i % 108] for i in range(108)])
    return [[[next(deck) for _ in range(HAND_SIZES[players])] for _ in range(players)] for _ in range(3)]


def sheet_start(players: int, tables: str = "") -> KernelState:
    game = SushiGo(players=players)
    deals = sheet_deals(players)
    state = position(game, deals[0], [tables] * players, round=0)
    for seat in range(players):
        for cell, deal in ((SECOND_DEAL, deals[1]), (THIRD_DEAL, deals[2])):
            state.cells[SEATS + BLOCK * seat + cell] = pack(deal[seat])
    return state


# -- scoring -----------------------------------------------------------------------------------------------------------


def points_for(cards: str) -> int:
    """What the first of two players scores for these cards, laid one a turn; the other lays wasabi only."""
    state = position(SushiGo(), ["W" * len(cards)] * 2, ["", ""])
    for left, card in enumerate(cards):
        state.cells[SEATS + HAND] = pack(card + "W" * (len(cards) - left - 1))
        state = play(state.game.state_of(state.cells), code(card), code("W"))
    assert state.over
    return int(state.scores()[0])


@pytest.mark.parametrize(
    ("cards", "points"),
    [
        ("Wq", 9),
        ("qW", 3),
        ("WWelq", 12),
        ("TTT", 5),
        ("SSSSS", 10),
        ("DDDDDDD", 15),
        ("WlWe", 9),
        ("elq", 6),
        ("CCWW", 0),
    ],
)
def test_what_a_table_scores(cards: str, points: int) -> None:
    assert points_for(cards) == points == table_points(cards)


def test_dumplings_by_their_number() -> None:
    assert [points_for("D" * n) for n in range(1, 7)] == [1, 3, 6, 10, 15, 15]


@pytest.mark.parametrize(
    ("icons", "points"),
    [
        ((5, 3), [6, 3]),
        ((4, 4), [3, 3]),
        ((3, 0), [6, 0]),
        ((0, 0), [0, 0]),
        ((5, 5, 2), [3, 3, 0]),
        ((6, 4, 4), [6, 1, 1]),
        ((2, 2, 2, 2), [1, 1, 1, 1]),
        ((7, 3, 3, 3, 3), [6, 0, 0, 0, 0]),
        ((6, 4, 4, 4, 1), [6, 1, 1, 1, 0]),
        ((0, 1, 2, 3), [0, 0, 3, 6]),
        ((9, 0), [6, 0]),  # 1 + 2 + 3 + 3 icons
    ],
)
def test_maki(icons: tuple[int, ...], points: list[int]) -> None:
    tables = ["1233" if n == 9 else "1" * (n % 3) + "3" * (n // 3) for n in icons]
    state = position(SushiGo(players=len(icons)), ["W"] * len(icons), tables)
    play(state, *[code("W")] * len(icons))
    assert state.scores().tolist() == points == maki_points(list(icons))


@pytest.mark.parametrize(
    ("puddings", "points"),
    [
        ((3, 1), [6, 0]),
        ((2, 2), [0, 0]),
        ((4, 2, 2), [6, -3, -3]),
        ((3, 3, 0), [3, 3, -6]),
        ((5, 1, 1, 1), [6, -2, -2, -2]),
        ((3, 3, 1, 1), [3, 3, -3, -3]),
        ((0, 0, 0, 0, 1), [-1, -1, -1, -1, 6]),
        ((4, 4, 4, 4, 0), [1, 1, 1, 1, -6]),
        ((2, 1, 0, 0), [6, 0, -3, -3]),
        ((0, 0, 0), [0, 0, 0]),
    ],
)
def test_puddings(puddings: tuple[int, ...], points: list[int]) -> None:
    state = position(SushiGo(players=len(puddings)), ["W"] * len(puddings), ["P" * n for n in puddings])
    play(state, *[code("W")] * len(puddings))
    assert state.over
    assert state.scores().tolist() == points == pudding_points(list(puddings))


@pytest.mark.parametrize(
    ("reward", "points", "puddings", "payoffs"),
    [
        ("win", (30, 20, 20, 10), (1, 1, 1, 1), [1, 0, 0, 0]),
        ("win", (20, 20, 5, 20), (1, 1, 1, 1), [1 / 3, 1 / 3, 0, 1 / 3]),
        ("win", (30, 30, 24, 32), (1, 1, 2, 0), [0, 0, 1, 0]),  # 30, 30, 24 + 6, 32 - 6: puddings break the tie
        ("ordinal", (30, 30, 24, 32), (1, 1, 2, 0), [0.5, 0.5, 1, 0]),
        ("ordinal", (30, 20, 20, 10), (1, 1, 1, 1), [1, 0.5, 0.5, 0]),
        ("ordinal", (20, 20, 20, 20), (1, 1, 1, 1), [0.5, 0.5, 0.5, 0.5]),
        ("ordinal", (9, 9, 50, 9), (1, 1, 1, 1), [1 / 3, 1 / 3, 1, 1 / 3]),
        ("score", (25, 50, 60, -3), (1, 1, 1, 1), [0.5, 1, 1, 0]),
    ],
)
def test_rewards(reward: str, points: tuple[int, ...], puddings: tuple[int, ...], payoffs: list[float]) -> None:
    state = position(SushiGo(players=4, reward=reward), ["W"] * 4, ["P" * n for n in puddings], points=points)
    play(state, *[code("W")] * 4)
    assert state.payoffs() == pytest.approx(payoffs)


# -- picking -----------------------------------------------------------------------------------------------------------


def test_legal_picks_of_the_sheet() -> None:
    game = SushiGo()
    hand = "TTSeWCP"
    assert position(game, [hand, hand], ["", ""]).legal().tolist() == [code(card) for card in "TSeWCP"]
    both = position(game, [hand, hand], ["C", "C"]).legal().tolist()
    assert len(both) == 23
    assert both == legal_picks(hand, "C")
    assert {code("TT"), code("eW"), code("We")} < set(both)
    assert not {code("SS"), code("ST"), code("PC")} & set(both)
    few = position(game, ["SSSq", "SSSq"], ["C", "C"]).legal().tolist()
    assert few == [code("S"), code("q"), code("SS"), code("Sq")]
    assert position(game, ["q", "q"], ["C", "C"]).legal().tolist() == [code("q")]


def test_most_legal_picks_are_listed() -> None:
    for players, size in HAND_SIZES.items():
        game = SushiGo(players=players)
        hands = ["WelqTSD123"[:size]] * players
        assert position(game, hands, ["C"] * players).n_legal == game.max_legal == size * (size + 1) // 2 + 3


def test_chopsticks_go_into_the_hand_that_is_passed() -> None:
    state = play(position(SushiGo(), ["Tq", "SD"], ["C", ""]), code("Tq"), code("S"))
    (hand, table, *_), (next_hand, next_table, *_) = block(state, 0), block(state, 1)
    assert unpack(hand) == Counter("D")
    assert unpack(table) == Counter("Tq")
    assert unpack(next_hand) == Counter("C")
    assert unpack(next_table) == Counter("S")


def test_new_chopsticks_wait_for_the_next_turn() -> None:
    state = position(SushiGo(), ["CTS", "CTS"], ["", ""])
    assert state.legal().tolist() == [code("T"), code("S"), code("C")]
    play(state, code("C"), code("T"))
    assert code("CS") not in state.legal()
    assert state.legal().tolist() == legal_picks("SC", "C")


def test_chopsticks_can_take_chopsticks() -> None:
    state = play(position(SushiGo(), ["CT", "WW"], ["C", ""]), code("TC"), code("W"))
    assert unpack(block(state, 0)[TABLE]) == Counter("TC")
    assert unpack(block(state, 1)[HAND]) == Counter("C")


@pytest.mark.parametrize(("pair", "points"), [("Wq", 9), ("qW", 3)])
def test_the_order_of_two_cards_is_the_pickers(pair: str, points: int) -> None:
    state = play(position(SushiGo(), ["Wq", "CC"], ["C", ""]), code(pair), code("C"))
    play(state, code("C"), code("C"))
    assert state.over
    assert state.scores().tolist() == [points, 0]


# -- whole matches -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("players", "policy", "by_round", "puddings", "final"),
    [
        (2, min, [[14, 16], [15, 7], [16, 17]], [2, 2], [45, 40]),
        (2, max, [[16, 18], [13, 6], [19, 18]], [2, 2], [48, 42]),
        (3, min, [[4, 12, 22], [11, 8, 13], [10, 6, 7]], [2, 3, 2], [22, 32, 39]),
        (3, max, [[16, 9, 13], [9, 13, 10], [11, 10, 6]], [2, 2, 3], [33, 29, 35]),
        (4, min, [[16, 7, 10, 22], [13, 3, 6, 6], [9, 12, 10, 15]], [0, 2, 3, 2], [32, 22, 32, 43]),
        (4, max, [[3, 8, 8, 8], [2, 5, 14, 13], [13, 11, 7, 13]], [3, 2, 1, 1], [24, 24, 26, 31]),
    ],
)
def test_regression_matches_of_the_sheet(
    players: int, policy: type, by_round: list[list[int]], puddings: list[int], final: list[int]
) -> None:
    state, reference = sheet_start(players), Reference(sheet_deals(players))
    after_round = [[0] * players]
    while not state.over:
        state.apply(int(policy(state.legal())), stream(0))
        reference.pick(policy(reference.legal()))
        if state.cells[ROUND] == len(after_round) and not state.over:
            after_round.append([block(state, seat)[POINTS] for seat in range(players)])
    after_round.append([total - n for total, n in zip(final, pudding_points(puddings), strict=True)])
    assert np.diff(after_round, axis=0).tolist() == by_round == reference.by_round
    assert [unpack(block(state, seat)[TABLE])["P"] for seat in range(players)] == puddings == reference.puddings
    assert state.scores().tolist() == final == reference.points


def test_first_hands_of_the_sheet() -> None:
    first, second = sheet_deals(2)[0]
    assert Counter(first) == Counter("TTTTDD1lll")
    assert Counter(second) == Counter("TSS1222qqW")


@pytest.mark.parametrize(
    ("players", "tables", "counts"),
    [
        (2, "", [4, 24, 132, 495, 1749, 8798, 40174]),
        (3, "", [4, 24, 144, 768, 2880, 22965, 149925]),
        (4, "", [4, 24, 96, 384, 1440, 5400, 46800]),
        (2, "C", [13, 325, 3704, 22259]),
    ],
)
def test_tree_counts_of_the_sheet(players: int, tables: str, counts: list[int]) -> None:
    assert count_tree(sheet_start(players, tables), len(counts)) == counts


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_random_matches_by_a_second_implementation(players: int) -> None:
    game = SushiGo(players=players)
    for number in range(25):
        rng = stream(derive(players, number))
        state = game.new_state(rng)
        deals = [
            [list(unpack(block(state, seat)[cell]).elements()) for seat in range(players)]
            for cell in (HAND, SECOND_DEAL, THIRD_DEAL)
        ]
        assert {len(hand) for hand in chain.from_iterable(deals)} == {HAND_SIZES[players]}
        assert Counter(chain.from_iterable(chain.from_iterable(deals))) <= Counter(COPIES)
        reference = Reference(deals)
        moves = 0
        while not state.over:
            compare(state, reference)
            # The largest codes, with chopsticks, come too seldom at random.
            action = int(state.legal()[-1]) if number % 2 else state.sample(rng)
            state.apply(action, rng)
            reference.pick(action)
            moves += 1
        assert reference.over
        assert moves == game.max_moves
        assert state.scores().tolist() == reference.points


def compare(state: KernelState, reference: Reference) -> None:
    """All that both know of a position, and what each seat may know of it by who has held which hand."""
    assert state.turn == len(reference.picks)
    assert state.legal().tolist() == reference.legal()
    assert state.cells[LEFT] == len(reference.hands[0])
    for seat in range(reference.players):
        hand, table, points, *_ = block(state, seat)
        assert unpack(hand) == Counter(reference.hands[seat])
        puddings = Counter("P" * reference.puddings[seat])
        assert unpack(table) == Counter(reference.tables[seat]) + puddings
        assert points == reference.points[seat]
        seen = state.observe(seat)
        for other in range(reference.players):
            knows = seat in reference.holders[other]
            assert block(seen, other)[HAND] == (block(state, other)[HAND] if knows else HIDDEN)


def test_random_play_scores_as_the_sheet_measured() -> None:
    for players, mean, deviation in ((2, 45.1, 7.3), (3, 34.3, 6.9), (4, 28.1, 6.4), (5, 23.0, 5.9)):
        scores: list[float] = []
        for number in range(150):
            *_, last = walk(SushiGo(players=players), derive(players, number))
            scores.extend(last.scores())
        assert abs(np.mean(scores) - mean) < 5 * deviation / sqrt(150)
        assert 0.8 < np.std(scores) / deviation < 1.2


def test_every_card_is_dealt_as_often_as_it_is_in_the_deck() -> None:
    game, deals = SushiGo(players=3), 400
    for cell in (HAND, SECOND_DEAL, THIRD_DEAL):
        dealt: Counter[str] = Counter()
        for number in range(deals):
            dealt += unpack(block(game.new_state(stream(number)), 1)[cell])
        for card, copies in COPIES.items():
            share = copies / 108
            spread = sqrt(deals * 9 * share * (1 - share) * 99 / 107)  # of a hypergeometric draw of 9 among 108
            assert abs(dealt[card] - deals * 9 * share) < 5 * spread


# -- what is hidden ----------------------------------------------------------------------------------------------------


def with_hidden_hands(state: KernelState, unseen: Sequence[str], seat: int) -> KernelState:
    """What the seat observes if these are all the cards that it has not seen."""
    in_sight = Counter[str]()
    seen = state.observe(seat)
    for other in range(state.game.seats):
        hand, table, *_ = block(seen, other)
        in_sight += unpack(table)
        if hand != HIDDEN:
            in_sight += unpack(hand)
    gone = Counter(COPIES) - Counter(unseen) - in_sight
    assert gone + in_sight + Counter(unseen) == Counter(COPIES), "more cards than there are"
    seen.cells[GONE] = pack(list(gone.elements()))
    return state.game.state_of(seen.cells)


def filled(observation: KernelState, cells: Sequence[int], hands: Sequence[Sequence[str]]) -> bytes:
    """The observation with these hands in these cells, and nobody else's pick known."""
    full = observation.copy()
    for seat in range(full.game.seats):
        at = SEATS + BLOCK * seat + PICK
        full.cells[at] = NO_PICK if full.cells[at] == HIDDEN else full.cells[at]
    for cell, hand in zip(cells, hands, strict=True):
        assert full.cells[cell] == HIDDEN
        full.cells[cell] = pack(hand)
    assert HIDDEN not in full.cells
    return full.save()


def test_one_hidden_hand_is_drawn_uniformly() -> None:
    """Five players after three passes: only the hand of the seat before one's own was never seen."""
    state = position(SushiGo(players=5), ["TSDP", "1122", "TTSS", "eelq", "WWCC"], ["SDP", "T", "333", "ll", "DD"])
    play(state, code("D"), code("1"))
    unseen = "TTeqPP"
    observation = with_hidden_hands(state, unseen, seat=1)
    weights = Counter(
        filled(observation, [SEATS + BLOCK * 0 + HAND], ["".join(hand)]) for hand in combinations(unseen, 4)
    )
    assert len(weights) == 8
    assert observation.turn == 2
    assert block(observation, 1)[PICK] == code("1")
    check_uniform(observation, 1, {saved: float(n) for saved, n in weights.items()}, draws=3000, seed=1)


def hypergeometric(tempura: int, dumplings: int, size: int) -> dict[int, int]:
    """In how many ways a hand of this size has so many tempura among these cards."""
    return {t: w for t in range(size + 1) if (w := comb(tempura, t) * comb(dumplings, size - t))}


def two_hands(
    observation: KernelState, cells: Sequence[int], tempura: int, dumplings: int, size: int
) -> dict[bytes, float]:
    """The weights of all ways to fill two hands from tempura and dumplings."""
    weights = {}
    for first, ways in hypergeometric(tempura, dumplings, size).items():
        for second, more in hypergeometric(tempura - first, dumplings - size + first, size).items():
            hands = ["T" * t + "D" * (size - t) for t in (first, second)]
            weights[filled(observation, cells, hands)] = float(ways * more)
    return weights


def test_two_hidden_hands_are_drawn_uniformly() -> None:
    """Three players before the first pass of the last round."""
    state = position(SushiGo(players=3), ["SSS123elq", "T" * 9, "D" * 9], ["", "", ""])
    observation = with_hidden_hands(state, "T" * 14 + "D" * 5, seat=0)
    expected = two_hands(observation, [SEATS + BLOCK * seat + HAND for seat in (1, 2)], 14, 5, size=9)
    assert len(expected) == 11
    check_uniform(observation, 0, expected, draws=20_000, seed=2)


def test_the_coming_deal_is_drawn_uniformly() -> None:
    """Two players late in the second round: both hands are known, the third deal is not."""
    state = position(SushiGo(), ["SW", "qe"], ["P", "C"], round=1)
    observation = with_hidden_hands(state, "T" * 7 + "D" * 14, seat=1)
    assert block(observation, 0)[HAND] == pack("SW")
    assert block(observation, 1)[SECOND_DEAL] == 0
    expected = two_hands(observation, [SEATS + BLOCK * seat + THIRD_DEAL for seat in (0, 1)], 7, 14, size=10)
    assert len(expected) == 15
    check_uniform(observation, 1, expected, draws=20_000, seed=3)


def test_in_the_last_round_nothing_but_picks_is_hidden_after_all_hands_have_passed() -> None:
    state = position(SushiGo(players=3), ["TS", "DP", "eq"], ["", "W", ""])
    play(state, code("T"), code("P"))
    observation = state.observe(2)
    assert [block(observation, seat)[PICK] for seat in range(3)] == [HIDDEN, HIDDEN, NO_PICK]
    assert np.count_nonzero(observation.cells == HIDDEN) == 2
    drawn = observation.determinize(2, stream(1))
    assert [block(drawn, seat)[PICK] for seat in range(3)] == [NO_PICK] * 3


def test_dropped_picks_are_made_again_after_the_observers() -> None:
    state = position(SushiGo(players=3), ["TS", "DP", "eq"], ["", "W", ""])
    play(state, code("T"))
    drawn = state.observe(1).determinize(1, stream(1))
    order = []
    for card in "DeS":
        order.append(drawn.turn)
        play(drawn, code(card))
    assert order == [1, 2, 0]
    assert drawn.turn == 0
    assert [unpack(block(drawn, seat)[TABLE]) for seat in range(3)] == [Counter(t) for t in ("S", "WD", "e")]
    assert [unpack(block(drawn, seat)[HAND]) for seat in range(3)] == [Counter(h) for h in "qTP"]


def test_a_determinization_keeps_the_cards_of_the_deck() -> None:
    for players in (2, 3, 5):
        game = SushiGo(players=players)
        for state in walk(game, seed=players):
            assert isinstance(state, KernelState)
            for seat in range(players):
                drawn = state.observe(seat).determinize(seat, stream(seat))
                cards = unpack(int(drawn.cells[GONE]))
                for hand, table, *_, second, third in (block(drawn, other) for other in range(players)):
                    cards += unpack(hand) + unpack(table) + unpack(second) + unpack(third)
                assert cards <= Counter(COPIES)
                assert cards.total() == 3 * players * HAND_SIZES[players]


def test_a_pick_does_not_show_before_the_reveal() -> None:
    game = SushiGo(players=3)
    start = position(game, ["TSD", "123", "elq"], ["C", "", ""], round=1)
    for seat, hidden in ((1, start.legal()), (2, start.legal())):
        after = [play(start.copy(), int(action)) for action in hidden]
        check_hides(game, list(after), seat)
        assert {start.label(int(action), seat) for action in hidden} == {HIDDEN}
    assert [start.label(int(action), 0) for action in start.legal()] == start.legal().tolist()
    last = play(start.copy(), code("T"), code("2"))
    for seat in range(3):
        assert [last.label(code(card), seat) for card in "elq"] == [code(card) for card in "elq"]


def test_later_deals_do_not_show() -> None:
    state = SushiGo(players=4).new_state(stream(1))
    for seat in range(4):
        cells = [block(state.observe(seat), other) for other in range(4)]
        assert [other for other in range(4) if cells[other][HAND] != HIDDEN] == [seat]
        assert all(cell == HIDDEN for other in range(4) for cell in cells[other][SECOND_DEAL : THIRD_DEAL + 1])


# -- the rest ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("players", "reward"), list(product((2, 3, 4, 5), ("win", "ordinal", "score"))))
def test_the_contract(players: int, reward: str) -> None:
    check(SushiGo(players=players, reward=reward), matches=3)


def test_the_recorded_match() -> None:
    check_recorded(SushiGo(), RECORDED.read_text())


def test_action_texts() -> None:
    game = SushiGo()
    state = position(game, ["WqC3", "WqC3"], ["C", ""])
    texts = [game.action_text(state, int(action)) for action in state.legal()]
    assert texts[:4] == ["Maki 3", "Squid nigiri", "Wasabi", "Chopsticks"]
    assert {"Wasabi + Squid nigiri", "Squid nigiri + Wasabi", "Maki 3 + Chopsticks"} < set(texts)
    assert game.parse_action(state, " wasabi + squid nigiri ") == code("Wq")
    with pytest.raises(UserError, match="not a legal action"):
        game.parse_action(state, "Tempura")


def test_rendering_shows_what_a_seat_knows() -> None:
    game = SushiGo(players=3)
    hands = ["WWelTTSS3", "SSSS2211C", "PPPDDDDll"]
    state = position(game, hands, ["P", "", "PP"], round=1, points=(12, 7, 20))
    play(state, *map(code, "WSP"))
    play(state, code("D"))
    state.cells[SEATS + TABLE] = pack("WWqP") + 16 ** (LETTERS.index("q") + 6)
    assert game.render(state.observe(0)).splitlines() == [
        "Round 2 of 3 · turn 2 of 9 · Player 2 picks",
        "",
        "  Player 1: 12 points",
        "    table  Wasabi · Pudding · Squid nigiri on wasabi",
        "    hand   Dumpling ×4 · Salmon nigiri ×2 · Pudding ×2",
        "    pick   Dumpling",
        "▸ Player 2: 7 points",
        "    table  Sashimi",
        "    hand   Tempura ×2 · Sashimi ×2 · Maki ●●● · Egg nigiri · Salmon nigiri ·",
        "           Wasabi",
        "  Player 3: 20 points",
        "    table  Pudding ×3",
        "    hand   ▒ ▒ ▒ ▒ ▒ ▒ ▒ ▒ face down",
    ]
    assert "    pick" not in game.render(state.observe(2))


def test_rendering_fits_and_names_the_winners() -> None:
    for players in (2, 5):
        game = SushiGo(players=players)
        for state in walk(game, seed=8):
            assert max(map(len, game.render(state).splitlines())) <= 80
            for seat in range(players):
                assert max(map(len, game.render(state.observe(seat)).splitlines())) <= 80
    shared = position(SushiGo(), ["W", "W"], ["P", "P"], points=(30, 30))
    play(shared, code("W"), code("W"))
    assert shared.game.render(shared).startswith("After round 3: Player 1 and Player 2 share the win\n")
    alone = position(SushiGo(), ["W", "W"], ["P", "PP"], points=(36, 30))
    play(alone, code("W"), code("W"))
    assert alone.turn == OVER
    assert alone.game.render(alone).startswith("After round 3: Player 2 wins\n")


def test_sizes() -> None:
    for players, moves in ((2, 60), (3, 81), (4, 96), (5, 105)):
        game = SushiGo(players=players)
        assert (game.seats, game.max_moves) == (players, moves)
        assert len(game.seat_names) == players
        state = game.new_state(stream(1))
        assert len(state.cells) == game.cells
        assert state.cells[TURN] == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"players": 1}, "players must be a whole number from 2 to 5, not 1"),
        ({"players": 6}, "players must be a whole number from 2 to 5, not 6"),
        ({"players": "two"}, "players must be a whole number"),
        ({"reward": "money"}, "reward must be 'win' or 'ordinal' or 'score'"),
        ({"player": 3}, "Did you mean players"),
    ],
)
def test_bad_parameters(given: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        SushiGo(**given)
