"""A battle of mage and fighter against three raiders, with a mana trap and a combination of spells to find.

After Nathan Sturtevant, "Monte Carlo Tree Search and Related Algorithms for Games", sections 25.5 and 25.6.
"""

from __future__ import annotations

import numpy as np

from rung.games.bits import lowest, nth, popcount
from rung.games.compiled import KernelGame, KernelState, Shape
from rung.games.game import State
from rung.games.kernel import CHANCE, OVER, Cells, Kernels, Reals, Rng, kernel
from rung.games.rng import below
from rung.jit import jit
from rung.parameters import Parameter

# The first five cells are the hit points of the five units, and a unit is named by its cell:
#
#     MAGE  FIGHTER  RAIDER  RAIDER + 1  RAIDER + 2 │ MANA  CLOUD  SPELLS │ PHASE  ACTOR  TARGET │ SMART  AIMED  WINS
#     hit points                                      the mage's means      where in the round     as set up
MAGE, FIGHTER, RAIDER = range(3)
RAIDERS = 3
UNITS = RAIDER + RAIDERS
MANA, CLOUD, SPELLS, PHASE, ACTOR, TARGET, SMART, AIMED, WINS, CELLS = range(UNITS, UNITS + 10)
# CLOUD: 1 while gas stands. SPELLS: free spells of the surge still to be finished. ACTOR: the unit whose turn it is.
# TARGET: the unit it strikes, NOBODY outside STRIKE. SMART, AIMED, WINS: the parameters, as 0 or 1.
NOBODY = -1

# A round goes through the living units in the order of their cells. In a unit's turn:
#
#     mage     CHOOSE ┬ heal ──────────────────────► next unit
#                     ├ fireball ─► BLAST ─────────► next unit
#                     └ staff ─► [AIM] ─► STRIKE ──► next unit
#     fighter                    [AIM] ─► STRIKE ──► next unit    [AIM] by the party, only where `targets` is set
#     raider                      AIM ──► STRIKE ──► next unit    by chance, or by seat 1 where `smart_raiders` is set
#
# SURGE is like CHOOSE, with free spells, before the first round. STRIKE and BLAST are rolls.
SURGE, CHOOSE, AIM, STRIKE, BLAST, ENDED = range(6)

# Actions and outcomes of chance; a code means the same thing everywhere.
HEAL, STAFF, FIREBALL, SURGE_HEAL, SURGE_FIREBALL, SURGE_GAS = range(6)
CLAW_AT = 6  # and 7: a raider picks the mage, the fighter
STAFF_AT = CLAW_AT + RAIDER  # and two more: the mage picks a raider
SWORD_AT = STAFF_AT + RAIDERS  # and two more: the fighter picks a raider
DAMAGE = SWORD_AT + RAIDERS - 1  # plus 1 to 5: so much damage is rolled

MOST_HP = np.array([12, 20, 14, 14, 14])
MOST_MANA, HEAL_MANA, FIREBALL_MANA = 6, 2, 6
HEALED = 6
FACES = 3  # every roll has three equally likely outcomes, from these upwards:
LEAST_DAMAGE = np.array([1, 2, 1, 1, 1])
LEAST_BLAST = 3
GAS_DAMAGE, CLOUD_BONUS = 1, 6
SURGE_SPELLS = 2
LIVING_BONUS = 6
MOST_POINTS = 12 + 20 + 2 * LIVING_BONUS
MAGE_IN_NEED, FIGHTER_IN_NEED = 4, 6  # the sensible mage heals from here on down
PARTY_SEAT, RAIDERS_SEAT = range(2)

_PARAM_SCENARIO, _PARAM_SMART, _PARAM_TARGETS, _PARAM_REWARD = range(4)
_SCENARIO_B = 1

_ONE, _THREE = np.uint64(0b1), np.uint64(0b111)


@jit
def _aim_code(actor: int) -> int:
    """What to add to a unit to get the code for aiming at it."""
    if actor >= RAIDER:
        return CLAW_AT
    return (STAFF_AT if actor == MAGE else SWORD_AT) - RAIDER


@jit
def _weakest_raider(state: Cells) -> int:
    """The living raider with the fewest hit points, the first of several."""
    weakest = NOBODY
    for unit in range(RAIDER, UNITS):
        if state[unit] > 0 and (weakest == NOBODY or state[unit] < state[weakest]):
            weakest = unit
    return weakest


@jit
def _most_wounded(state: Cells) -> int:
    """The living party member that misses most, the mage of two; NOBODY if none is wounded."""
    patient, missing = NOBODY, 0
    for unit in range(RAIDER):
        if state[unit] > 0 and MOST_HP[unit] - state[unit] > missing:
            patient, missing = unit, MOST_HP[unit] - state[unit]
    return patient


@jit
def _hurt(state: Cells, first: int, last: int, damage: int) -> None:
    for unit in range(first, last + 1):
        state[unit] = max(0, state[unit] - damage)


@jit
def _heal(state: Cells) -> None:
    patient = _most_wounded(state)
    if patient != NOBODY:
        state[patient] = min(MOST_HP[patient], state[patient] + HEALED)


@jit
def _attack(state: Cells) -> None:
    """The actor attacks with its weapon: somebody aims first, or the party's standing order does."""
    if state[ACTOR] >= RAIDER or state[AIMED]:
        state[PHASE] = AIM
    else:
        state[PHASE] = STRIKE
        state[TARGET] = _weakest_raider(state)


@jit
def _next_unit(state: Cells) -> None:
    """The turn passes to the next living unit, unless one side is beaten."""
    party = state[MAGE] + state[FIGHTER]
    raiders = state[RAIDER] + state[RAIDER + 1] + state[RAIDER + 2]
    if party == 0 or raiders == 0:
        state[PHASE] = ENDED
        return
    unit = (state[ACTOR] + 1) % UNITS
    while state[unit] == 0:
        unit = (unit + 1) % UNITS
    state[ACTOR] = unit
    if unit == MAGE:
        state[PHASE] = CHOOSE
    else:
        _attack(state)


@jit
def _spell_done(state: Cells) -> None:
    """A spell has had its effect: the surge goes on with the next one, or the mage's turn is over."""
    if state[SPELLS] > 0:
        state[SPELLS] -= 1
    if state[SPELLS] > 0 and _weakest_raider(state) != NOBODY:
        state[PHASE] = SURGE
        return
    state[SPELLS] = 0
    state[CLOUD] = 0
    _next_unit(state)


@jit
def _cast(state: Cells, spell: int) -> None:
    if spell in (HEAL, SURGE_HEAL):
        state[MANA] -= HEAL_MANA if spell == HEAL else 0
        _heal(state)
        _spell_done(state)
    elif spell == SURGE_GAS:
        state[CLOUD] = 1
        _hurt(state, RAIDER, UNITS - 1, GAS_DAMAGE)
        _spell_done(state)
    else:
        if spell == FIREBALL:
            state[MANA] = 0
        state[PHASE] = BLAST


@jit
def _play(state: Cells, action: int) -> None:
    phase = state[PHASE]
    if phase == STRIKE:
        _hurt(state, state[TARGET], state[TARGET], action - DAMAGE)
        state[TARGET] = NOBODY
        _next_unit(state)
    elif phase == AIM:
        state[TARGET] = action - _aim_code(state[ACTOR])
        state[PHASE] = STRIKE
    elif phase == BLAST:
        _hurt(state, RAIDER, UNITS - 1, action - DAMAGE + CLOUD_BONUS * state[CLOUD])
        state[CLOUD] = 0
        _spell_done(state)
    elif action == STAFF:
        _attack(state)
    else:
        _cast(state, action)


@jit
def _can_heal(state: Cells) -> bool:
    return state[MANA] >= HEAL_MANA and _most_wounded(state) != NOBODY


@kernel
def setup(state: Cells, params: Cells, rng: Rng) -> None:
    for unit in range(UNITS):
        state[unit] = MOST_HP[unit]
    surges = params[_PARAM_SCENARIO] == _SCENARIO_B
    state[MANA] = MOST_MANA
    state[CLOUD] = 0
    state[SPELLS] = SURGE_SPELLS if surges else 0
    state[PHASE] = SURGE if surges else CHOOSE
    state[ACTOR] = MAGE
    state[TARGET] = NOBODY
    state[SMART] = params[_PARAM_SMART]
    state[AIMED] = params[_PARAM_TARGETS]
    state[WINS] = params[_PARAM_REWARD]


@kernel
def turn(state: Cells) -> int:
    if state[PHASE] == ENDED:
        return OVER
    if state[PHASE] >= STRIKE:
        return CHANCE
    if state[ACTOR] < RAIDER:
        return PARTY_SEAT
    return RAIDERS_SEAT if state[SMART] else CHANCE


@jit
def _options(state: Cells) -> np.uint64:
    """Legal actions, or outcomes of chance, which are all equally likely: bit i stands for code i."""
    options = np.uint64(0)
    if state[PHASE] == AIM:
        for unit in range(UNITS):
            if state[unit] > 0 and (unit < RAIDER) != (state[ACTOR] < RAIDER):
                options |= _ONE << np.uint64(_aim_code(state[ACTOR]) + unit)
        return options
    if state[PHASE] == CHOOSE:
        options = _ONE << np.uint64(STAFF)
        if _can_heal(state):
            options |= _ONE << np.uint64(HEAL)
        if state[MANA] >= FIREBALL_MANA:
            options |= _ONE << np.uint64(FIREBALL)
        return options
    if state[PHASE] == SURGE:
        return _THREE << np.uint64(SURGE_HEAL)
    least = LEAST_DAMAGE[state[ACTOR]] if state[PHASE] == STRIKE else LEAST_BLAST
    return _THREE << np.uint64(DAMAGE + least)


@jit
def _any(state: Cells, rng: Rng) -> int:
    """One of the options, drawn uniformly."""
    options = _options(state)
    return nth(options, below(rng, popcount(options)))


@kernel
def legal(state: Cells, out: Cells) -> int:
    options = _options(state)
    n = 0
    while options:
        out[n] = lowest(options)
        options &= options - _ONE
        n += 1
    return n


@kernel
def odds(state: Cells, out: Reals) -> None:
    n = popcount(_options(state))
    for outcome in range(n):
        out[outcome] = 1.0 / n


@kernel
def apply(state: Cells, action: int, rng: Rng) -> None:
    _play(state, action)


@jit
def _points(state: Cells) -> int:
    """What is left of the party: hit points and a bonus for the living; nothing after a defeat."""
    living = int(state[MAGE] > 0) + int(state[FIGHTER] > 0)
    return int(state[MAGE] + state[FIGHTER] + LIVING_BONUS * living)


@kernel
def payoff(state: Cells, out: Reals) -> None:
    party = _points(state) / MOST_POINTS
    if state[WINS]:
        party = 1.0 if _points(state) > 0 else 0.0
    out[PARTY_SEAT] = party
    if state[SMART]:
        out[RAIDERS_SEAT] = 1.0 - party


@kernel
def score(state: Cells, out: Reals) -> None:
    out[PARTY_SEAT] = np.float64(_points(state))
    if state[SMART]:
        out[RAIDERS_SEAT] = np.float64(MOST_POINTS - _points(state))


@kernel
def playout(state: Cells, rng: Rng) -> None:
    """One loop for decisions and dice: all draws are uniform."""
    while state[PHASE] != ENDED:
        _play(state, _any(state, rng))


@kernel
def suggest(state: Cells, rng: Rng) -> int:
    """The sensible party: heal in need, otherwise the staff; strike the weakest. Raiders and the surge are random."""
    if state[PHASE] == CHOOSE:
        need = 0 < state[MAGE] <= MAGE_IN_NEED or 0 < state[FIGHTER] <= FIGHTER_IN_NEED
        return HEAL if need and _can_heal(state) else STAFF
    if state[PHASE] == AIM and state[ACTOR] < RAIDER:
        return _aim_code(state[ACTOR]) + _weakest_raider(state)
    return _any(state, rng)


# Every attack takes a hit point at least. The raiders have 42 to lose; the party has 32 and what mana heals, for in
# the surge nobody is wounded. An attack of the party takes three moves at most (staff, aim, roll), one of a raider two
# (aim, roll); other moves are heals for mana and the surge's heals and gas clouds.
_MOST_HEALS = MOST_MANA // HEAL_MANA
_PARTY_ATTACKS = int(MOST_HP[RAIDER:].sum())
_RAIDER_ATTACKS = int(MOST_HP[:RAIDER].sum()) + _MOST_HEALS * HEALED
MAX_MOVES = 3 * _PARTY_ATTACKS + 2 * _RAIDER_ATTACKS + _MOST_HEALS + SURGE_SPELLS


class RpgBattle(KernelGame):
    name = "rpg_battle"
    version = 1
    summary = "Lead a mage and a fighter against three raiders: when to strike, to heal, to burn all mana?"
    parameters = (
        Parameter("scenario", "A", "A: plain battle; B: two free spells before it", choices=("A", "B")),
        Parameter("smart_raiders", False, "a second seat picks the raiders' targets, not chance"),
        Parameter("targets", False, "the party picks the targets of staff and sword; otherwise the weakest raider"),
        Parameter("reward", "health", "the party gets its health, or 1 for a win", choices=("health", "win")),
    )
    kernels = Kernels(
        setup=setup,
        turn=turn,
        legal=legal,
        apply=apply,
        payoff=payoff,
        odds=odds,
        score=score,
        playout=playout,
        suggest=suggest,
    )

    def shape(self) -> Shape:
        seats = 2 if self.values["smart_raiders"] else 1
        return Shape(seats=seats, cells=CELLS, max_legal=RAIDERS, max_moves=MAX_MOVES)

    def names_of_seats(self) -> tuple[str, ...]:
        return ("Party", "Raiders")[: self.seats]

    def action_text(self, state: State, action: int) -> str:
        assert isinstance(state, KernelState)
        phase, actor = int(state.cells[PHASE]), int(state.cells[ACTOR])
        if phase == STRIKE:
            return f"{_NAMES[actor]} hits {_NAMES[state.cells[TARGET]]} for {action - DAMAGE}"
        if phase == BLAST:
            return f"fireball burns every raider for {action - DAMAGE + CLOUD_BONUS * int(state.cells[CLOUD])}"
        if phase == AIM:
            target = _NAMES[action - _aim_code(actor)]
            return f"{_NAMES[actor]} turns on {target}" if state.turn == CHANCE else target
        return _SPELLS[action]

    def render(self, state: State) -> str:
        assert isinstance(state, KernelState)
        cells = state.cells.tolist()
        lines = [_unit_line(cells, unit) for unit in range(UNITS)]
        lines[MAGE] += f"   mana {'◆' * cells[MANA]}{'◇' * (MOST_MANA - cells[MANA])}"
        if cells[CLOUD]:
            lines[RAIDER] += "   ≈ in a cloud of gas ≈"
        lines.insert(RAIDER, "")
        return "\n".join([*lines, "", _news(cells, int(state.scores()[PARTY_SEAT]))])


_NAMES = ("mage", "fighter", "raider 1", "raider 2", "raider 3")
_SPELLS = ("heal", "staff", "fireball", "heal", "fireball", "gas cloud")
_WIDEST = int(MOST_HP.max())


def _unit_line(cells: list[int], unit: int) -> str:
    """One block a hit point, and whose turn it is."""
    hp, most = cells[unit], int(MOST_HP[unit])
    mark = "▶" if unit == cells[ACTOR] and cells[PHASE] != ENDED else "⌖" if unit == cells[TARGET] else " "
    bar = "█" * hp + "░" * (most - hp)
    return f"{mark} {_NAMES[unit]:<8}  {bar:<{_WIDEST}}  {hp:2d}/{most}{'' if hp else '  fallen'}"


def _news(cells: list[int], points: int) -> str:
    actor = _NAMES[cells[ACTOR]].capitalize()
    if cells[PHASE] == ENDED:
        return f"The raiders are beaten: {points} of {MOST_POINTS} points." if points else "The party has fallen."
    return {
        SURGE: f"Magic surges: free spells left {cells[SPELLS]}.",
        CHOOSE: "Mage chooses.",
        AIM: f"{actor} picks a target.",
        STRIKE: f"{actor} strikes at {_NAMES[cells[TARGET]]}.",
        BLAST: "The fireball flies.",
    }[cells[PHASE]]
