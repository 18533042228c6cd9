"""The battle against its rule sheet: solved exactly through the kernels, and replayed by a second implementation."""

from __future__ import annotations

from collections.abc import Generator
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numba import types
from numba.typed import Dict

from rung.errors import UserError
from rung.games.compiled import KernelState
from rung.games.conformance import check, check_recorded, count_tree, walk
from rung.games.game import CHANCE, OVER
from rung.games.kernel import Cells, Table, call_apply, call_legal, call_payoff, call_suggest, call_turn, pointer
from rung.games.rng import Rng, stream
from rung.games.rpg_battle import (
    CHOOSE,
    FIGHTER,
    FIREBALL,
    HEAL,
    MAGE,
    MANA,
    MAX_MOVES,
    PHASE,
    RAIDER,
    STAFF,
    SURGE_FIREBALL,
    SURGE_GAS,
    SURGE_HEAL,
    TARGET,
    UNITS,
    RpgBattle,
)
from rung.jit import entry

RECORDED = Path(__file__).parent / "recorded" / "rpg_battle.txt"
FOUR_DIGITS = 0.00005 + 1e-9
ALL_PARAMETERS = list(product("AB", (False, True), (False, True), ("health", "win")))


# -- solving by dynamic programming over the kernels -----------------------------------------------------------------

BEST, RANDOM, STAFF_ONLY, SENSIBLE = range(4)  # what the party does; raiders with a mind of their own play their best
KEY_CELLS, KEY_BITS = TARGET + 1, 5


@entry
def solve(table: Table, cells: Cells, rule: int, known: dict[int, float]) -> float:
    """What the party can expect from here."""
    turn = call_turn(table, pointer(cells))
    if turn == OVER:
        payoffs = np.empty(2)
        call_payoff(table, pointer(cells), pointer(payoffs))
        return float(payoffs[0])
    key = 0
    for cell in range(KEY_CELLS):
        key = (key << KEY_BITS) + cells[cell] + 1
    if key in known:
        return known[key]
    actions = np.empty(3, dtype=np.int64)
    n = call_legal(table, pointer(cells), pointer(actions))
    after = np.empty_like(cells)
    total, best, worst, chosen = 0.0, 0.0, 1.0, 0.0
    for i in range(n):
        after[:] = cells
        call_apply(table, pointer(after), actions[i], pointer(np.zeros(2, dtype=np.uint64)))
        value = solve(table, after, rule, known)
        total += value
        best, worst = max(best, value), min(worst, value)
        heals = actions[0] == HEAL and (0 < cells[MAGE] <= 4 or 0 < cells[FIGHTER] <= 6)
        if actions[i] == (HEAL if rule == SENSIBLE and heals else STAFF):
            chosen = value
    result = total / n  # rolls and random targets: all outcomes are equally likely
    if turn == 1:
        result = worst
    elif turn == 0 and rule == BEST:
        result = best
    elif turn == 0 and rule != RANDOM and cells[PHASE] == CHOOSE:
        result = chosen
    known[key] = result
    return result


class Solver:
    """Values under one rule, remembered between questions."""

    def __init__(self, rule: int = BEST, **values: object) -> None:
        self.game = RpgBattle(**values)
        self.rule = rule
        self.known = Dict.empty(types.int64, types.float64)

    def start(self) -> KernelState:
        return self.game.new_state(stream(1))

    def value(self, state: KernelState) -> float:
        return solve(self.game.table, state.cells, self.rule, self.known)

    def of_actions(self, state: KernelState) -> dict[int, float]:
        return {int(action): self.value(after(state, int(action))) for action in state.legal()}

    def of_plan(self, state: KernelState, plan: tuple[int, ...]) -> float:
        """The value when the surge's spells follow a plan."""
        if state.turn == CHANCE and plan:
            values = [self.of_plan(after(state, int(outcome)), plan) for outcome in state.legal()]
            return float(np.dot(state.odds(), values))
        return self.of_plan(after(state, plan[0]), plan[1:]) if plan else self.value(state)


def after(state: KernelState, *actions: int) -> KernelState:
    twin = state.copy()
    for action in actions:
        assert twin.allows(action)
        twin.apply(action, stream(1))
    return twin


def position(game: RpgBattle, mage: int, fighter: int, raiders: tuple[int, int, int], mana: int) -> KernelState:
    """The mage to act in a normal round."""
    cells = RpgBattle(**{**game.values, "scenario": "A"}).new_state(stream(1)).cells
    cells[:UNITS] = [mage, fighter, *raiders]
    cells[MANA] = mana
    return game.state_of(cells)


@pytest.mark.parametrize(
    ("rule", "staff", "fireball", "start"),
    [
        (BEST, 0.5351, 0.3172, 0.5351),
        (RANDOM, 0.3298, 0.3172, 0.3235),
        (STAFF_ONLY, 0.0756, 0.3172, 0.0756),
        (SENSIBLE, 0.4555, 0.3172, 0.4555),
    ],
)
def test_scenario_a(rule: int, staff: float, fireball: float, start: float) -> None:
    solver = Solver(rule)
    assert solver.of_actions(solver.start()) == pytest.approx({STAFF: staff, FIREBALL: fireball}, abs=FOUR_DIGITS)
    assert solver.value(solver.start()) == pytest.approx(start, abs=FOUR_DIGITS)


@pytest.mark.parametrize(
    ("rule", "chance"), [(BEST, 0.9464), (RANDOM, 0.7789), (STAFF_ONLY, 0.2615), (SENSIBLE, 0.8316)]
)
def test_chances_to_win_scenario_a(rule: int, chance: float) -> None:
    solver = Solver(rule, reward="win")
    assert solver.value(solver.start()) == pytest.approx(chance, abs=FOUR_DIGITS)


def test_smart_raiders() -> None:
    solver = Solver(smart_raiders=True)
    assert solver.value(solver.start()) == pytest.approx(0.2732, abs=FOUR_DIGITS)
    assert solver.of_actions(solver.start()) == pytest.approx({STAFF: 0.2732, FIREBALL: 0.1273}, abs=FOUR_DIGITS)


SPELLS = (SURGE_HEAL, SURGE_FIREBALL, SURGE_GAS)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (RANDOM, [0.2422, 0.5775, 0.3280, 0.5775, 0.8016, 0.6484, 0.3280, 0.9005, 0.4155]),
        (BEST, [0.4384, 0.7528, 0.5272, 0.7528, 0.9359, 0.8151, 0.5272, 0.9812, 0.6086]),
    ],
)
def test_scenario_b(rule: int, expected: list[float]) -> None:
    solver = Solver(rule, scenario="B")
    table = [solver.of_plan(solver.start(), plan) for plan in product(SPELLS, repeat=2)]
    assert table == pytest.approx(expected, abs=FOUR_DIGITS)
    if rule == RANDOM:
        assert [sum(table[row : row + 3]) / 3 for row in (0, 3, 6)] == pytest.approx([0.3826, 0.6758, 0.5480], abs=1e-4)


Position = tuple[int, int, tuple[int, int, int], int]
VECTORS: list[tuple[Position, float, float, dict[int, float]]] = [
    ((3, 0, (2, 0, 0), 0), 0.1742, 0.8889, {STAFF: 0.1742}),
    ((3, 0, (3, 0, 0), 0), 0.1333, 0.7160, {STAFF: 0.1333}),
    ((1, 0, (4, 0, 0), 0), 0.0, 0.0, {STAFF: 0.0}),
    ((6, 0, (6, 0, 0), 2), 0.2557, 0.9816, {STAFF: 0.2557, HEAL: 0.2557}),
    ((4, 6, (5, 5, 0), 0), 0.3803, 0.9762, {STAFF: 0.3803}),
    ((4, 6, (5, 5, 5), 6), 0.4084, 0.9949, {STAFF: 0.2747, HEAL: 0.2635, FIREBALL: 0.4084}),
    ((12, 20, (4, 4, 4), 6), 0.9783, 1.0, {STAFF: 0.9783, FIREBALL: 0.9697}),
    ((2, 8, (6, 6, 0), 2), 0.3328, 0.9837, {STAFF: 0.3004, HEAL: 0.3328}),
    ((12, 1, (7, 7, 7), 6), 0.4156, 0.8856, {STAFF: 0.0995, HEAL: 0.4156, FIREBALL: 0.1848}),
    ((4, 20, (14, 14, 14), 6), 0.2002, 0.5514, {STAFF: 0.1351, HEAL: 0.2002, FIREBALL: 0.0188}),
]


@pytest.mark.parametrize(("at", "best", "win", "actions"), VECTORS)
def test_positions_of_the_sheet(at: Position, best: float, win: float, actions: dict[int, float]) -> None:
    health, wins = Solver(), Solver(reward="win")
    state = position(health.game, *at)
    assert health.value(state) == pytest.approx(best, abs=FOUR_DIGITS)
    assert health.of_actions(state) == pytest.approx(actions, abs=FOUR_DIGITS)
    assert wins.value(position(wins.game, *at)) == pytest.approx(win, abs=FOUR_DIGITS)


def test_a_position_by_hand() -> None:
    """The staff kills two hit points with 2/3; else the mage survives the claw with 2/3 and then kills surely."""
    solver = Solver(reward="win")
    assert solver.value(position(solver.game, 3, 0, (2, 0, 0), 0)) == pytest.approx(2 / 3 + 1 / 3 * 2 / 3)


def test_choosing_targets_never_hurts_the_party() -> None:
    """A party that may pick its targets can still pick the weakest."""
    for at, best, _, _ in VECTORS[:6]:
        solver = Solver(targets=True)
        assert solver.value(position(solver.game, *at)) >= best - FOUR_DIGITS


# -- single steps ----------------------------------------------------------------------------------------------------

ROLL = 13  # the code of a roll is its damage and this


def hit_points(state: KernelState) -> list[int]:
    return [int(hp) for hp in state.cells[:UNITS]]


def test_fireball_uses_all_mana() -> None:
    state = after(position(RpgBattle(), 12, 20, (14, 3, 0), 6), FIREBALL, ROLL + 4)
    assert hit_points(state)[RAIDER:] == [10, 0, 0]
    assert state.cells[MANA] == 0


def test_gas_then_fireball() -> None:
    state = after(RpgBattle(scenario="B").new_state(stream(1)), SURGE_GAS)
    assert hit_points(state)[RAIDER:] == [13, 13, 13]
    state = after(state, SURGE_FIREBALL, ROLL + 5)
    assert hit_points(state)[RAIDER:] == [2, 2, 2]
    assert state.cells[MANA] == 6
    assert state.legal().tolist() == [ROLL + 2, ROLL + 3, ROLL + 4]  # the fighter opens the first round


@pytest.mark.parametrize(
    ("before", "healed"), [((12, 3), (12, 9)), ((6, 14), (12, 14)), ((5, 0), (11, 0)), ((9, 18), (12, 18))]
)
def test_heal(before: tuple[int, int], healed: tuple[int, int]) -> None:
    """The one who misses most, the mage of two, never the dead, never above the maximum."""
    state = after(position(RpgBattle(), *before, (14, 14, 14), 6), HEAL)
    assert tuple(hit_points(state)[:RAIDER]) == healed
    assert state.cells[MANA] == 4


def test_what_the_mage_may_do() -> None:
    game = RpgBattle()
    assert position(game, 12, 20, (1, 1, 1), 6).legal().tolist() == [STAFF, FIREBALL]
    assert position(game, 11, 20, (1, 1, 1), 6).legal().tolist() == [HEAL, STAFF, FIREBALL]
    assert position(game, 11, 20, (1, 1, 1), 5).legal().tolist() == [HEAL, STAFF]
    assert position(game, 11, 20, (1, 1, 1), 1).legal().tolist() == [STAFF]
    assert position(game, 12, 0, (1, 1, 1), 2).legal().tolist() == [STAFF]  # the dead are not healed


# -- the second implementation: the sheet's round as a script that asks for every decision and every roll ------------

Asked = tuple[int, list[int]]
Script = Generator[Asked, int, float]


def battle(scenario: str, smart: bool, targets: bool, reward: str) -> Script:
    """Yields who decides among which codes, is sent the code, and returns the party's payoff."""
    full = {"M": 12, "F": 20}
    party, foes, mana = dict(full), [14, 14, 14], 6

    def alive(who: str) -> bool:
        return party[who] > 0

    def done() -> bool:
        return not any(foes) or not any(party.values())

    def heal() -> None:
        wounded = sorted((party[who] - full[who], "MF".index(who), who) for who in party if 0 < party[who] < full[who])
        if wounded:
            who = wounded[0][2]
            party[who] = min(full[who], party[who] + 6)

    def burn(damage: int) -> None:
        foes[:] = [max(0, hp - damage) for hp in foes]

    def weapon(least: int, first_code: int) -> Generator[Asked, int, None]:
        standing = [at for at, hp in enumerate(foes) if hp]
        at = min(standing, key=lambda at: (foes[at], at))
        if targets:
            at = (yield 0, [first_code + at for at in standing]) - first_code
        foes[at] = max(0, foes[at] - (yield from roll(least)))

    def roll(least: int) -> Generator[Asked, int, int]:
        return (yield -1, [13 + least, 14 + least, 15 + least]) - 13

    cloud, skips_mage = False, scenario == "B"
    for _ in range(2 if scenario == "B" else 0):
        spell = yield 0, [3, 4, 5]
        if spell == 3:
            heal()
        elif spell == 4:
            burn((yield from roll(3)) + (6 if cloud else 0))
            cloud = False
        else:
            burn(1)
            cloud = True
    while not done():
        if alive("M") and not skips_mage:
            can_heal = mana >= 2 and any(0 < party[who] < full[who] for who in party)
            action = yield 0, [0] * can_heal + [1] + [2] * (mana == 6)
            if action == 0:
                mana -= 2
                heal()
            elif action == 1:
                yield from weapon(1, 8)
            else:
                mana = 0
                burn((yield from roll(3)))
        skips_mage = False
        if alive("F") and not done():
            yield from weapon(2, 11)
        for raider in range(3):
            if foes[raider] and not done():
                victims = [6] * alive("M") + [7] * alive("F")
                victim = "MF"[(yield (1 if smart else -1), victims) - 6]
                party[victim] = max(0, party[victim] - (yield from roll(1)))
    health = sum(hp + 6 for hp in party.values() if hp) / 44
    return health if reward == "health" else float(health > 0)


def advance(script: Script, action: int | None = None) -> Asked | float:
    """What the script asks next, or the payoff with which it ends."""
    try:
        return next(script) if action is None else script.send(action)
    except StopIteration as end:
        return float(end.value)


def named(parameters: tuple[str, bool, bool, str]) -> RpgBattle:
    return RpgBattle(**dict(zip(("scenario", "smart_raiders", "targets", "reward"), parameters, strict=True)))


@pytest.mark.parametrize("parameters", ALL_PARAMETERS)
def test_random_matches_by_the_second_implementation(parameters: tuple[str, bool, bool, str]) -> None:
    game = named(parameters)
    for seed in range(30):
        script, rng = battle(*parameters), stream(seed)
        asked, state = advance(script), game.new_state(rng)
        while not state.over:
            assert (state.turn, state.legal().tolist()) == asked
            action = state.sample(rng)
            state.apply(action, rng)
            asked = advance(script, action)
        assert isinstance(asked, float)
        assert state.payoffs() == pytest.approx([asked, 1 - asked][: game.seats])


def count_by_replay(parameters: tuple[str, bool, bool, str], depth: int) -> list[int]:
    counts: list[int] = []
    sequences: list[list[int]] = [[]]
    for _ in range(depth):
        longer = []
        for sequence in sequences:
            script = battle(*parameters)
            asked = advance(script)
            for action in sequence:
                asked = advance(script, action)
            longer += [[*sequence, code] for code in asked[1]] if isinstance(asked, tuple) else []
        sequences = longer
        counts.append(len(sequences))
    return counts


@pytest.mark.parametrize("parameters", [p for p in ALL_PARAMETERS if p[3] == "health"])
def test_tree_counts(parameters: tuple[str, bool, bool, str]) -> None:
    assert count_tree(named(parameters).new_state(stream(1)), 7) == count_by_replay(parameters, 7)


# -- strategy, bounds, text, parameters ------------------------------------------------------------------------------


@entry
def suggestion(table: Table, cells: Cells, rng: Rng) -> int:
    return int(call_suggest(table, pointer(cells), pointer(rng)))


@pytest.mark.parametrize("parameters", [("A", True, False, "win"), ("B", False, True, "health")])
def test_suggestions_are_sensible(parameters: tuple[str, bool, bool, str]) -> None:
    game, rng = named(parameters), stream(4)
    suggested: dict[int, int] = {}
    for seed in range(60):
        for state in walk(game, seed):
            if state.over:
                continue
            assert isinstance(state, KernelState)
            action = suggestion(game.table, state.cells, rng)
            assert state.allows(action)
            suggested[action] = suggested.get(action, 0) + 1
            mage, fighter, *raiders = hit_points(state)
            if STAFF in state.legal():
                needed = 0 < mage <= 4 or 0 < fighter <= 6
                assert action == (HEAL if needed and HEAL in state.legal() else STAFF)
            elif state.turn == 0 and action >= 8:
                assert raiders[(action - 8) % 3] == min(hp for hp in raiders if hp)
    assert suggested[HEAL] > 10
    assert suggested[6] > 10 < suggested[7]


def test_raiders_are_suggested_random_targets() -> None:
    game, draws = RpgBattle(smart_raiders=True), 4000
    state = after(game.new_state(stream(1)), STAFF, ROLL + 1, ROLL + 2)
    assert (state.turn, state.legal().tolist()) == (1, [6, 7])
    rng = stream(2)
    at_mage = sum(suggestion(game.table, state.cells, rng) == 6 for _ in range(draws))
    assert abs(at_mage - draws / 2) < 5 * (draws / 4) ** 0.5


def test_the_bound_on_moves() -> None:
    """Three moves for each of 42 attacks of the party, two for each of 50 claws, three heals and two surge spells."""
    assert MAX_MOVES == 3 * 42 + 2 * 50 + 3 + 2
    game = RpgBattle(targets=True)
    state = game.new_state(stream(1))
    moves = 0
    while not state.over:  # always the smallest code: heal whenever possible, the least damage
        state.apply(int(state.legal().min()), stream(1))
        moves += 1
    assert 100 < moves <= MAX_MOVES


@pytest.mark.parametrize("parameters", ALL_PARAMETERS)
def test_conformance(parameters: tuple[str, bool, bool, str]) -> None:
    check(named(parameters), matches=3)


def test_seats() -> None:
    assert RpgBattle().seat_names == ("Party",)
    assert RpgBattle(smart_raiders=True).seat_names == ("Party", "Raiders")
    state = position(RpgBattle(smart_raiders=True), 5, 0, (1, 0, 0), 0)
    end = after(state, STAFF, ROLL + 1)
    assert end.payoffs() == pytest.approx([11 / 44, 33 / 44])
    assert end.scores().tolist() == [11, 33]


def test_recorded_match_replays() -> None:
    check_recorded(RpgBattle(scenario="B"), RECORDED.read_text(encoding="utf-8"))


def test_rendering() -> None:
    game = RpgBattle(scenario="B")
    state = after(game.new_state(stream(1)), SURGE_GAS)
    assert game.render(state).split("\n") == [
        "▶ mage      ████████████          12/12   mana ◆◆◆◆◆◆",
        "  fighter   ████████████████████  20/20",
        "",
        "  raider 1  █████████████░        13/14   ≈ in a cloud of gas ≈",
        "  raider 2  █████████████░        13/14",
        "  raider 3  █████████████░        13/14",
        "",
        "Magic surges: free spells left 1.",
    ]
    assert [game.action_text(state, int(a)) for a in state.legal()] == ["heal", "fireball", "gas cloud"]
    state = after(state, SURGE_FIREBALL)
    assert game.action_text(state, ROLL + 5) == "fireball burns every raider for 11"
    state = after(state, ROLL + 5, ROLL + 4)
    assert "fallen" in game.render(state)
    assert game.action_text(state, 6) == "raider 2 turns on mage"


@pytest.mark.parametrize(
    ("raider", "news"), [(1, "The raiders are beaten: 7 of 44 points."), (9, "The party has fallen.")]
)
def test_rendering_of_the_end(raider: int, news: str) -> None:
    state = position(RpgBattle(), 1, 0, (raider, 0, 0), 0)
    while not state.over:
        state.apply(int(state.legal().max()), stream(1))
    assert RpgBattle().render(state).endswith(news)


@pytest.mark.parametrize(
    "bad", [{"scenario": "C"}, {"smart_raiders": 1}, {"targets": "yes"}, {"reward": "score"}, {"mana": 9}]
)
def test_bad_parameters_are_the_users_mistake(bad: dict[str, object]) -> None:
    with pytest.raises(UserError):
        RpgBattle(**bad)
