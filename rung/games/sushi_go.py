"""Sushi Go!: everybody takes a card and passes the hand on; sets of cards score, over three rounds."""

from __future__ import annotations

from textwrap import wrap

import numpy as np

from rung.games.bits import lowest
from rung.games.compiled import KernelGame, KernelState, Shape
from rung.games.game import State
from rung.games.kernel import HIDDEN, OVER, Cells, Kernels, Reals, Rng, kernel
from rung.games.rng import below
from rung.jit import jit
from rung.parameters import Parameter

# A number of cards of each type is packed into one cell, four bits a type, in the order of the action codes:
#
#     slot    0        1        2         3..5         6    7       8      9       10          11       12..14
#     count   tempura  sashimi  dumpling  maki 1 to 3  egg  salmon  squid  wasabi  chopsticks  pudding  on wasabi
#
# Only a table has the slots 12..14: how many of its eggs, salmon and squid lie on a wasabi. They are counted in their own
# slots as well, so the low 12 slots of a table are its cards.
TYPES = 12
TEMPURA, SASHIMI, DUMPLING, MAKI_1, MAKI_2, MAKI_3, EGG, SALMON, SQUID, WASABI, CHOPSTICKS, PUDDING = range(TYPES)
ON_WASABI = TYPES - EGG  # from a nigiri's slot to the slot of those on wasabi
BITS = 4
COPIES = (14, 14, 14, 6, 12, 8, 5, 10, 5, 6, 4, 10)
DECK_SIZE = sum(COPIES)
ROUNDS = 3
HAND_AND_PLAYERS = 12  # hands have 10, 9, 8, 7 cards for 2, 3, 4, 5 players

# The state: the cells all seats share, then a block for each seat. The hands of the later rounds are dealt at the start
# and wait in the block; a dealt cell is empty. Cards that left the game are needed to know what can still be dealt.
PLAYERS, REWARD, TURN, ROUND, LEFT, GONE, SEATS = range(7)  # LEFT: cards in each hand; GONE: cards of earlier rounds
HAND, TABLE, POINTS, PICK, SECOND_DEAL, THIRD_DEAL, BLOCK = range(7)
NO_PICK = -1
WIN, ORDINAL, SCORE = range(3)
REWARDS = ("win", "ordinal", "score")

_MASK = (1 << BITS) - 1
_EACH = sum(1 << (BITS * card) for card in range(TYPES))
_CARDS = _EACH * _MASK
_PUDDINGS = _MASK << (BITS * PUDDING)
_NIGIRI = _EACH & (((1 << (BITS * 3)) - 1) << (BITS * EGG))
_DECK = sum(copies << (BITS * card) for card, copies in enumerate(COPIES))
_CHOPSTICKS_CARD = 1 << (BITS * CHOPSTICKS)

TEMPURA_PAIR, SASHIMI_TRIPLE, MOST_DUMPLINGS = 5, 10, 5
MOST_MAKI, SECOND_MAKI, MOST_PUDDINGS = 6, 3, 6
FULL_SCORE = 50.0  # the total that counts as payoff 1 under the reward "score"


def most_picks(size: int) -> int:
    """The most that a hand can offer: all cards different, wasabi and the nigiri among them, and chopsticks to use."""
    return size + size * (size - 1) // 2 + 3


_MOST_PICKS = most_picks(HAND_AND_PLAYERS - 2)


@jit
def _hand_size(players: int) -> int:
    return HAND_AND_PLAYERS - players


@jit
def _block(seat: int) -> int:
    return SEATS + BLOCK * seat


@jit
def _count(cards: int, card: int) -> int:
    return (cards >> (BITS * card)) & _MASK


# -- picking -----------------------------------------------------------------------------------------------------------
# Sets of types are bit sets with a type's bit at the lowest bit of its slot.


@jit
def _held(hand: int) -> int:
    """The types that the hand holds; none for a hidden hand."""
    return (hand | hand >> 1 | hand >> 2 | hand >> 3) & _EACH


@jit
def _seconds(hand: int, first: int) -> int:
    """The types that may be laid after `first` with chopsticks. Only nigiri and wasabi depend on the order, so other pairs
    are listed in one order."""
    bit = 1 << (BITS * first)
    doubled = (hand >> 1 | hand >> 2 | hand >> 3) & _EACH
    seconds = (_held(hand) & ~(2 * bit - 1)) | (doubled & bit)
    return seconds | (_held(hand) & _NIGIRI) if first == WASABI else seconds


@jit
def _lowest_type(types: int) -> int:
    return int(lowest(np.uint64(types))) // BITS


@jit
def _list_types(types: int, offset: int, out: Cells, n: int) -> int:
    """Append each type's code, plus the offset, to the n actions listed; returns how many are listed then."""
    while types:
        out[n] = offset + _lowest_type(types)
        n += 1
        types &= types - 1
    return n


@jit
def _list_picks(hand: int, table: int, out: Cells) -> int:
    """A card's code is its type t; two cards a, b laid in this order are 12 + 12 a + b."""
    firsts = _held(hand)
    n = _list_types(firsts, 0, out, 0)
    if _count(table, CHOPSTICKS):
        while firsts:
            first = _lowest_type(firsts)
            n = _list_types(_seconds(hand, first), TYPES + TYPES * first, out, n)
            firsts &= firsts - 1
    return n


# -- revealing and scoring ---------------------------------------------------------------------------------------------


@jit
def _lay(table: int, card: int) -> int:
    """The table with one more card; a nigiri must go on a free wasabi."""
    if EGG <= card <= SQUID:
        used = _count(table, EGG + ON_WASABI) + _count(table, SALMON + ON_WASABI) + _count(table, SQUID + ON_WASABI)
        if _count(table, WASABI) > used:
            table += 1 << (BITS * (card + ON_WASABI))
    return table + (1 << (BITS * card))


@jit
def _reveal(state: Cells, at: int) -> None:
    """Lay what one seat has picked. Chopsticks that were used go into the hand before it is passed."""
    action = state[at + PICK]
    state[at + PICK] = NO_PICK
    card = action
    if action >= TYPES:
        first = action // TYPES - 1
        card = action % TYPES
        state[at + HAND] += _CHOPSTICKS_CARD - (1 << (BITS * first))
        state[at + TABLE] = _lay(state[at + TABLE], first) - _CHOPSTICKS_CARD
    state[at + HAND] -= 1 << (BITS * card)
    state[at + TABLE] = _lay(state[at + TABLE], card)


@jit
def _pass_hands(state: Cells) -> None:
    """Every hand to the next seat."""
    last = state[PLAYERS] - 1
    passed = state[_block(last) + HAND]
    for seat in range(last, 0, -1):
        state[_block(seat) + HAND] = state[_block(seat - 1) + HAND]
    state[_block(0) + HAND] = passed


@jit
def _table_points(table: int) -> int:
    """What a table scores at the end of a round, maki apart."""
    dumplings = min(_count(table, DUMPLING), MOST_DUMPLINGS)
    points = TEMPURA_PAIR * (_count(table, TEMPURA) // 2) + SASHIMI_TRIPLE * (_count(table, SASHIMI) // 3)
    points += dumplings * (dumplings + 1) // 2
    for value in range(1, 4):
        nigiri = EGG + value - 1
        points += value * (_count(table, nigiri) + 2 * _count(table, nigiri + ON_WASABI))
    return points


@jit
def _icons(table: int) -> int:
    return _count(table, MAKI_1) + 2 * _count(table, MAKI_2) + 3 * _count(table, MAKI_3)


@jit
def _score_maki(state: Cells) -> None:
    """Most icons 6, second most 3; ties share, and a tie for the most leaves no second prize."""
    most, second, firsts, seconds = 0, 0, 0, 0
    for seat in range(state[PLAYERS]):
        icons = _icons(state[_block(seat) + TABLE])
        if icons > most:
            most, second, firsts, seconds = icons, most, 1, firsts
        elif icons == most:
            firsts += 1
        elif icons > second:
            second, seconds = icons, 1
        elif icons == second:
            seconds += 1
    for seat in range(state[PLAYERS]):
        icons = _icons(state[_block(seat) + TABLE])
        if icons > 0 and icons == most:
            state[_block(seat) + POINTS] += MOST_MAKI // firsts
        elif icons > 0 and icons == second and firsts == 1:
            state[_block(seat) + POINTS] += SECOND_MAKI // seconds


@jit
def _score_puddings(state: Cells) -> None:
    """Most puddings 6; fewest -6, but not with two players; ties share; nothing if all have equally many."""
    most, fewest, firsts, lasts = -1, DECK_SIZE, 0, 0
    for seat in range(state[PLAYERS]):
        puddings = _count(state[_block(seat) + TABLE], PUDDING)
        firsts = 1 if puddings > most else firsts + (puddings == most)
        lasts = 1 if puddings < fewest else lasts + (puddings == fewest)
        most, fewest = max(most, puddings), min(fewest, puddings)
    if most == fewest:
        return
    for seat in range(state[PLAYERS]):
        puddings = _count(state[_block(seat) + TABLE], PUDDING)
        if puddings == most:
            state[_block(seat) + POINTS] += MOST_PUDDINGS // firsts
        elif puddings == fewest and state[PLAYERS] > 2:
            state[_block(seat) + POINTS] -= MOST_PUDDINGS // lasts


@jit
def _end_round(state: Cells) -> None:
    """Score the tables, clear them but for the puddings, and deal the next round or end the game."""
    _score_maki(state)
    for seat in range(state[PLAYERS]):
        at = _block(seat)
        state[at + POINTS] += _table_points(state[at + TABLE])
        state[GONE] += state[at + TABLE] & _CARDS & ~_PUDDINGS
        state[at + TABLE] &= _PUDDINGS
        if state[ROUND] < ROUNDS - 1:
            dealt = at + SECOND_DEAL + state[ROUND]
            state[at + HAND] = state[dealt]
            state[dealt] = 0
    if state[ROUND] == ROUNDS - 1:
        _score_puddings(state)
        state[TURN] = OVER
    else:
        state[ROUND] += 1
        state[LEFT] = _hand_size(state[PLAYERS])


# -- kernels -----------------------------------------------------------------------------------------------------------


@jit
def _deal(state: Cells, rng: Rng) -> None:
    """Fill all hidden hands, of this round and the later ones, from the cards that are not in sight."""
    unseen = _DECK - state[GONE]
    for seat in range(state[PLAYERS]):
        at = _block(seat)
        unseen -= state[at + TABLE] & _CARDS
        if state[at + HAND] != HIDDEN:
            unseen -= state[at + HAND]
    pile = np.empty(DECK_SIZE, dtype=np.int64)
    n = 0
    for card in range(TYPES):
        for _ in range(_count(unseen, card)):
            pile[n] = 1 << (BITS * card)
            n += 1
    for seat in range(state[PLAYERS]):
        at = _block(seat)
        for cell in (HAND, SECOND_DEAL, THIRD_DEAL):
            if state[at + cell] == HIDDEN:
                size = state[LEFT] if cell == HAND else _hand_size(state[PLAYERS])
                state[at + cell] = _draw_hand(pile, n, size, rng)
                n -= size


@jit
def _draw_hand(pile: Cells, n: int, size: int, rng: Rng) -> int:
    """A random hand from the first n cards of the pile, of which it leaves the first n - size."""
    hand = 0
    for last in range(n - 1, n - size - 1, -1):
        drawn = below(rng, last + 1)
        hand += int(pile[drawn])
        pile[drawn] = pile[last]
    return hand


@kernel
def setup(state: Cells, params: Cells, rng: Rng) -> None:
    state[PLAYERS], state[REWARD] = params[0], params[1]
    state[TURN], state[ROUND], state[GONE] = 0, 0, 0
    state[LEFT] = _hand_size(state[PLAYERS])
    for seat in range(state[PLAYERS]):
        at = _block(seat)
        state[at + TABLE], state[at + POINTS], state[at + PICK] = 0, 0, NO_PICK
        state[at + HAND], state[at + SECOND_DEAL], state[at + THIRD_DEAL] = HIDDEN, HIDDEN, HIDDEN
    _deal(state, rng)


@kernel
def turn(state: Cells) -> int:
    return int(state[TURN])


@jit
def _next_picker(state: Cells) -> int:
    """The next seat that has not picked, or `NO_PICK` when the seat to act is the last."""
    for step in range(1, state[PLAYERS]):
        seat = int((state[TURN] + step) % state[PLAYERS])
        if state[_block(seat) + PICK] == NO_PICK:
            return seat
    return NO_PICK


@kernel
def legal(state: Cells, out: Cells) -> int:
    at = _block(state[TURN])
    return _list_picks(state[at + HAND], state[at + TABLE], out)


@jit
def _end_turn(state: Cells) -> None:
    """All have picked: reveal, and pass the hands on or end the round."""
    for seat in range(state[PLAYERS]):
        _reveal(state, _block(seat))
    state[TURN] = 0
    state[LEFT] -= 1
    if state[LEFT] == 0:
        _end_round(state)
    else:
        _pass_hands(state)


@kernel
def apply(state: Cells, action: int, rng: Rng) -> None:
    state[_block(state[TURN]) + PICK] = action
    state[TURN] = _next_picker(state)
    if state[TURN] == NO_PICK:
        _end_turn(state)


@kernel
def playout(state: Cells, rng: Rng) -> None:
    """A turn of all seats at once, and no kernel call a pick: about 1.6 times as fast. Their order makes no difference."""
    picks = np.empty(_MOST_PICKS, dtype=np.int64)
    while state[TURN] != OVER:
        for seat in range(state[PLAYERS]):
            at = _block(seat)
            if state[at + PICK] == NO_PICK:
                n = _list_picks(state[at + HAND], state[at + TABLE], picks)
                state[at + PICK] = picks[below(rng, n)]
        _end_turn(state)


@kernel
def payoff(state: Cells, out: Reals) -> None:
    """Places go by points, then by puddings; a shared place has the mean of the places it covers."""
    players = state[PLAYERS]
    for seat in range(players):
        if state[REWARD] == SCORE:
            out[seat] = min(max(state[_block(seat) + POINTS] / FULL_SCORE, 0.0), 1.0)
            continue
        better, equal = 0, 0
        for other in range(players):
            ahead = _standing(state, other) - _standing(state, seat)
            better += ahead > 0
            equal += ahead == 0
        if state[REWARD] == ORDINAL:
            out[seat] = 1.0 - (better + (equal - 1) / 2.0) / (players - 1)
        else:
            out[seat] = 1.0 / equal if better == 0 else 0.0


@jit
def _standing(state: Cells, seat: int) -> int:
    """A number that orders seats as the final ranking does."""
    return (int(state[_block(seat) + POINTS]) << BITS) + _count(state[_block(seat) + TABLE], PUDDING)


@kernel
def score(state: Cells, out: Reals) -> None:
    for seat in range(state[PLAYERS]):
        out[seat] = state[_block(seat) + POINTS]


@kernel
def value(state: Cells, seat: int) -> float:
    """Points so far, the present table counted as if the round ended; of 50, as under the reward "score"."""
    at = _block(seat)
    return min(max((state[at + POINTS] + _table_points(state[at + TABLE])) / FULL_SCORE, 0.0), 1.0)


@kernel
def observe(state: Cells, seat: int, out: Cells) -> None:
    """A hand once held stays known, as all that leaves it is seen: after k passes, the own hand and the next k."""
    players = state[PLAYERS]
    for cell in range(_block(players)):
        out[cell] = state[cell]
    passes = _hand_size(players) - state[LEFT]
    for other in range(players):
        at = _block(other)
        if (other - seat + players) % players > passes:
            out[at + HAND] = HIDDEN
        if other != seat:
            out[at + PICK] = HIDDEN
        for deal in range(state[ROUND], ROUNDS - 1):
            out[at + SECOND_DEAL + deal] = HIDDEN


@kernel
def determinize(state: Cells, seat: int, rng: Rng) -> None:
    """Picks of others are dropped: they pick again, after this seat."""
    _deal(state, rng)
    for other in range(state[PLAYERS]):
        if state[_block(other) + PICK] == HIDDEN:
            state[_block(other) + PICK] = NO_PICK


@kernel
def label(state: Cells, action: int, seat: int) -> int:
    """A pick is hidden from the others unless it is the last, which reveals all."""
    if seat == state[TURN] or _next_picker(state) == NO_PICK:
        return action
    return HIDDEN


# -- for people --------------------------------------------------------------------------------------------------------

NAMES = (
    "Tempura", "Sashimi", "Dumpling", "Maki 1", "Maki 2", "Maki 3",
    "Egg nigiri", "Salmon nigiri", "Squid nigiri", "Wasabi", "Chopsticks", "Pudding",
)  # fmt: skip
WIDTH, INDENT, UNBROKEN = 80, " " * 11, "\u00a0"  # the no-break space, so that lines break between cards only


def _shown(cards: int) -> str:
    """Packed cards as "Maki ●● ×3 · Wasabi · Squid nigiri on wasabi"."""
    counts = [cards >> (BITS * slot) & _MASK for slot in range(SQUID + ON_WASABI + 1)]
    parts = [name.replace(" 1", " ●").replace(" 2", " ●●").replace(" 3", " ●●●") for name in NAMES]
    for nigiri in (EGG, SALMON, SQUID):
        parts.append(f"{NAMES[nigiri]} on wasabi")
        counts[nigiri] -= counts[nigiri + ON_WASABI]
        counts[WASABI] -= counts[nigiri + ON_WASABI]
    named = [f"{part} ×{n}" if n > 1 else part for part, n in zip(parts, counts, strict=True) if n]
    return " · ".join(part.replace(" ", UNBROKEN) for part in named) or "nothing"


class SushiGo(KernelGame):
    name = "sushi_go"
    version = 1
    summary = "Take a card, pass the hand on, and collect sets of sushi over three rounds."
    parameters = (
        Parameter("players", 2, "how many play", 2, 5),
        Parameter("reward", "win", "what is played for: to win, a good place, or points", choices=REWARDS),
    )
    kernels = Kernels(
        setup=setup, turn=turn, legal=legal, apply=apply, payoff=payoff, score=score,
        observe=observe, determinize=determinize, label=label, playout=playout, value=value,
    )  # fmt: skip

    def shape(self) -> Shape:
        players = int(self.values["players"])
        size = HAND_AND_PLAYERS - players
        return Shape(players, SEATS + BLOCK * players, most_picks(size), max_moves=ROUNDS * size * players)

    def action_text(self, state: State, action: int) -> str:
        if action < TYPES:
            return NAMES[action]
        return f"{NAMES[action // TYPES - 1]} + {NAMES[action % TYPES]}"

    def render(self, state: State) -> str:
        assert isinstance(state, KernelState)
        lines = [self._heading(state), ""]
        for seat, name in enumerate(self.seat_names):
            at = SEATS + BLOCK * seat
            mark = "▸" if seat == state.turn else " "
            lines.append(f"{mark} {name}: {state.cells[at + POINTS]} points")
            rows = {"table": _shown(int(state.cells[at + TABLE])), **self._private(state, at)}
            for title, text in rows.items():
                lines += wrap(text, WIDTH, initial_indent=f"    {title:5}  ", subsequent_indent=INDENT)
        return "\n".join(lines).replace(UNBROKEN, " ")

    def _heading(self, state: KernelState) -> str:
        if state.over:
            blocks = [state.cells[SEATS + BLOCK * seat :] for seat in range(self.seats)]
            standings = [(block[POINTS], block[TABLE]) for block in blocks]  # nothing but puddings is on the tables
            first = [self.seat_names[seat] for seat in range(self.seats) if standings[seat] == max(standings)]
            return f"After round {ROUNDS}: {' and '.join(first)} " + ("wins" if len(first) == 1 else "share the win")
        size = HAND_AND_PLAYERS - self.seats
        turn = size - int(state.cells[LEFT]) + 1
        picker = self.seat_names[state.turn]
        return f"Round {state.cells[ROUND] + 1} of {ROUNDS} · turn {turn} of {size} · {picker} picks"

    def _private(self, state: KernelState, at: int) -> dict[str, str]:
        """The hand and the pick of one seat, so far as they are known."""
        if state.over:
            return {}
        hand, pick = int(state.cells[at + HAND]), int(state.cells[at + PICK])
        rows = {"hand": "▒ " * int(state.cells[LEFT]) + "face down" if hand == HIDDEN else _shown(hand)}
        if pick not in (HIDDEN, NO_PICK):
            rows["pick"] = self.action_text(state, pick)
        return rows
