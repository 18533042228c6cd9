"""What every game must keep to, as checks that anyone can run on a game of their own.

Each check plays random matches from fixed seeds and raises `Broken` with a sentence that says where the contract does not
hold. `check` runs all that need nothing but the game. Random play misses most errors of rules, so a game's own tests add
`count_tree` against an independent source, `check_uniform` against an enumeration, and a recorded match.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from math import sqrt
from typing import TypeVar

import numpy as np

from rung.errors import UserError
from rung.games.compiled import (
    KernelGame,
    KernelState,
    advance,
    count_sequences,
    draw_action,
    random_playouts,
    read_payoff,
    start,
)
from rung.games.game import CHANCE, OVER, Game, State
from rung.games.kernel import PLAYOUT
from rung.games.rng import derive, index, stream

T = TypeVar("T")

_FENCE = 64
_UNTOUCHED = 0x5AFE5AFE5AFE

_SIGMAS = 5.0
"""How far a statistic may stray before it counts as wrong: by chance less than once in a million."""


class Broken(AssertionError):
    """A game breaks its contract."""


def demand(holds: bool, message: str) -> None:
    if not holds:
        raise Broken(message)


def check(game: Game, matches: int = 20, seed: int = 1) -> None:
    """All checks that need nothing but the game."""
    if isinstance(game, KernelGame):
        check_bounds(game, matches, seed)
    check_ends(game, matches, seed)
    check_payoffs(game, matches, seed)
    check_actions(game, matches, seed)
    check_saving(game, matches, seed)
    check_repeatable(game, matches, seed)
    check_observations(game, matches, seed)
    check_labels(game, matches, seed)
    if isinstance(game, KernelGame):
        check_playout(game, seed)
        check_sampling(game, seed)


def walk(game: Game, seed: int) -> Iterator[State]:
    """The states of one random match, the last one over; each is the same object, moved on."""
    rng = stream(seed)
    state = game.new_state(rng)
    for _ in range(game.max_moves + 1):
        yield state
        if state.over:
            return
        state.apply(state.sample(rng), rng)
    raise Broken(f"{game.spec}: a match (seed {seed}) is longer than max_moves = {game.max_moves}")


def middle(game: Game, seed: int) -> State:
    """A state that is not over, from somewhere in a random match."""
    length = sum(1 for _ in walk(game, seed))
    stop = derive(seed, length) % (length - 1)
    return next(state for at, state in enumerate(walk(game, seed)) if at == stop)


def check_bounds(game: KernelGame, matches: int, seed: int) -> None:
    """Kernels write within the state, the list of actions and the payoffs; what lies around them stays as it is."""
    for number in range(matches):
        rng = stream(derive(seed, number, 6))
        state, actions, payoffs = _Fenced(game.cells), _Fenced(game.max_legal), _Fenced(game.seats)
        state.inside[: game.cells] = 0
        turn, n = start(game.table, state.inside, game.numbers(), rng, actions.inside)
        for _ in range(game.max_moves):
            demand(state.whole, f"{game.spec}: a kernel writes outside its {game.cells} cells")
            demand(actions.whole, f"{game.spec}: legal writes more than max_legal = {game.max_legal} actions")
            if turn == OVER:
                break
            listed = n <= game.max_legal
            action = int(actions.inside[index(rng, n)]) if listed else draw_action(game.table, state.inside, rng)
            turn, n = advance(game.table, state.inside, action, rng, actions.inside)
        if turn == OVER:
            read_payoff(game.table, state.inside, payoffs.inside.view(np.float64))
            demand(payoffs.whole, f"{game.spec}: payoff writes more than {game.seats} numbers")


class _Fenced:
    """An array with room before and after it that nobody may touch."""

    def __init__(self, size: int) -> None:
        room = np.full(size + 2 * _FENCE, _UNTOUCHED)
        self.inside = room[_FENCE:]
        self._outside = (room[:_FENCE], self.inside[size:])

    @property
    def whole(self) -> bool:
        return all(bool(np.all(part == _UNTOUCHED)) for part in self._outside)


def check_ends(game: Game, matches: int, seed: int) -> None:
    """Random matches end within the stated bound."""
    for number in range(matches):
        states = sum(1 for _ in walk(game, derive(seed, number)))
        demand(states > 1, f"{game.spec}: the match is over before it begins")


def check_payoffs(game: Game, matches: int, seed: int) -> None:
    """Payoffs are in [0, 1], scores are numbers, and team mates share."""
    for number in range(matches):
        *_, last = walk(game, derive(seed, number))
        payoffs, scores = last.payoffs(), last.scores()
        demand(len(payoffs) == len(scores) == game.seats == len(game.seat_names), f"{game.spec}: one number a seat")
        demand(bool(np.all((payoffs >= 0) & (payoffs <= 1))), f"{game.spec}: payoffs {payoffs} outside [0, 1]")
        demand(bool(np.all(np.isfinite(scores))), f"{game.spec}: scores {scores}")
        for team in set(game.teams):
            shares = {float(payoffs[seat]) for seat in range(game.seats) if game.teams[seat] == team}
            demand(len(shares) == 1, f"{game.spec}: team {team} does not share its payoff: {payoffs}")


def check_actions(game: Game, matches: int, seed: int) -> None:
    """Listed actions are ascending, legal and told apart by their text; odds are odds."""
    for number in range(matches):
        rng = stream(derive(seed, number, 1))
        for state in walk(game, derive(seed, number)):
            if state.over:
                demand(len(state.legal()) == 0, f"{game.spec}: legal actions after the end")
                continue
            _check_listing(game, state)
            action = state.sample(rng)
            demand(state.allows(action), f"{game.spec}: the sampled action {action} is not legal")
            text = game.action_text(state, action)
            demand(game.parse_action(state, text) == action, f"{game.spec}: {text!r} does not mean {action}")
            demand(bool(game.render(state).strip()), f"{game.spec}: nothing is rendered")


def _check_listing(game: Game, state: State) -> None:
    legal = state.legal().tolist()
    demand(legal == sorted(set(legal)), f"{game.spec}: legal actions {legal} are not ascending")
    demand(all(state.allows(action) for action in legal), f"{game.spec}: a listed action is not allowed")
    if legal:
        outside = [action for action in range(legal[0] - 1, legal[-1] + 2) if action not in set(legal)]
        demand(not any(state.allows(action) for action in outside), f"{game.spec}: an unlisted action is allowed")
    texts = [game.action_text(state, action).lower() for action in legal]
    demand(len(set(texts)) == len(texts), f"{game.spec}: two actions have one text among {texts}")
    if state.turn == CHANCE:
        odds = state.odds()
        demand(bool(legal) and len(odds) == len(legal), f"{game.spec}: one probability an outcome")
        demand(bool(np.all(odds > 0)) and abs(float(odds.sum()) - 1) < 1e-9, f"{game.spec}: odds {odds}")
    else:
        demand(0 <= state.turn < game.seats, f"{game.spec}: turn {state.turn}")


def check_saving(game: Game, matches: int, seed: int) -> None:
    """A saved state is restored exactly, and a copy is independent."""
    for number in range(matches):
        rng = stream(derive(seed, number, 2))
        for state in walk(game, derive(seed, number)):
            saved = state.save()
            restored, copied = game.load_state(saved), state.copy()
            for twin in (restored, copied):
                same = twin.turn == state.turn and twin.legal().tolist() == state.legal().tolist()
                demand(same and twin.save() == saved, f"{game.spec}: a restored or copied state differs")
            if not state.over:
                copied.apply(copied.sample(rng), rng)
                demand(state.save() == saved, f"{game.spec}: playing on a copy changed the original")
    try:
        game.load_state(b"\0")
    except UserError:
        return
    raise Broken(f"{game.spec}: a saved state cut short is accepted")


def check_repeatable(game: Game, matches: int, seed: int) -> None:
    """The same seed gives the same match; without shuffles the rng does not matter to `apply`."""
    for number in range(matches):
        one = [state.save() for state in walk(game, derive(seed, number))]
        two = [state.save() for state in walk(game, derive(seed, number))]
        demand(one == two, f"{game.spec}: the same seed gave two matches")
        if isinstance(game, KernelGame) and not game.shuffles:
            for state in walk(game, derive(seed, number)):
                _check_deterministic(game, state, derive(seed, number, 3))


def _check_deterministic(game: Game, state: State, seed: int) -> None:
    if state.over:
        return
    action = state.sample(stream(seed))
    after = []
    for branch in range(2):
        twin = state.copy()
        twin.apply(action, stream(derive(seed, branch)))
        after.append(twin.save())
    demand(after[0] == after[1], f"{game.spec}: apply draws from rng, but `shuffles` is False")


def check_observations(game: Game, matches: int, seed: int) -> None:
    """A seat sees its legal actions; what it cannot know can be drawn again, and then it sees the same."""
    for number in range(matches):
        rng = stream(derive(seed, number, 4))
        for state in walk(game, derive(seed, number)):
            if not state.over:
                for seat in range(game.seats):
                    _check_observation(game, state, seat, derive(int(rng[0]), seat))


def _check_observation(game: Game, state: State, seat: int, seed: int) -> None:
    seen = state.observe(seat)
    demand(seen.turn == state.turn, f"{game.spec}: the observation has another turn")
    demand(bool(game.render(seen).strip()), f"{game.spec}: an observation renders as nothing")
    drawn = seen.determinize(seat, stream(seed))
    demand(drawn.turn == state.turn, f"{game.spec}: a determinization has another turn")
    demand(drawn.observe(seat).save() == seen.save(), f"{game.spec}: seat {seat} can tell a determinization apart")
    if state.turn != seat:
        return
    legal = state.legal().tolist()
    for other in (seen, drawn, game.load_state(seen.save())):
        demand(other.legal().tolist() == legal, f"{game.spec}: seat {seat} does not see its legal actions")
    for action in legal:
        same = game.action_text(seen, action) == game.action_text(state, action)
        demand(same, f"{game.spec}: action {action} has another text in the observation")


def check_labels(game: Game, matches: int, seed: int) -> None:
    """Actions that a seat cannot tell apart leave it with the same observation; its own actions it can tell apart."""
    for number in range(matches):
        for state in walk(game, derive(seed, number)):
            if not state.over and state.turn != CHANCE:
                for seat in range(game.seats):
                    _check_labels_for(game, state, seat, derive(seed, number, 5))


def _check_labels_for(game: Game, state: State, seat: int, seed: int) -> None:
    legal = state.legal().tolist()
    labels = [state.label(action, seat) for action in legal]
    if seat == state.turn:
        demand(len(set(labels)) == len(legal), f"{game.spec}: seat {seat} cannot tell its own actions apart")
    if len(set(labels)) == len(legal):
        return
    left_with: dict[int, bytes] = {}
    for action, label in zip(legal, labels, strict=True):
        after = state.copy()
        after.apply(action, stream(seed))
        seen = after.observe(seat).save()
        same = left_with.setdefault(label, seen) == seen
        demand(same, f"{game.spec}: seat {seat} sees more of action {action} than its label says")


def check_playout(game: KernelGame, seed: int, states: int = 12, playouts: int = 4000) -> None:
    """The game's own random playout has the mean payoffs that playing action by action has."""
    if game.kernels.playout is None:
        return
    generic = game.table.copy()
    generic[PLAYOUT] = 0
    for number in range(states):
        state = middle(game, derive(seed, number))
        assert isinstance(state, KernelState)
        means = []
        for table, half in ((game.table, 0), (generic, 1)):
            totals = np.zeros(game.seats)
            random_playouts(table, state.cells, stream(derive(seed, number, half)), playouts, totals)
            means.append(totals / playouts)
        # A payoff in [0, 1] has a variance of at most mean * (1 - mean); one playout's worth is added for rare events.
        mean = (means[0] + means[1]) / 2
        error = np.sqrt(2 * mean * (1 - mean) / playouts) + 1 / playouts
        demand(bool(np.all(np.abs(means[0] - means[1]) < _SIGMAS * error)), f"{game.spec}: playout is off: {means}")


def check_sampling(game: KernelGame, seed: int, states: int = 6) -> None:
    """`sample` is uniform among the listed actions."""
    if game.kernels.sample is None:
        return
    for number in range(states):
        state = middle(game, derive(seed, number))
        legal = state.legal().tolist()
        if state.turn == CHANCE or not legal:
            continue
        rng = stream(derive(seed, number))
        drawn = Counter(state.sample(rng) for _ in range(50 * len(legal)))
        _check_frequencies(drawn, dict.fromkeys(legal, 1.0), f"{game.spec}: sample")


def check_uniform(observation: State, seat: int, expected: Mapping[bytes, float], draws: int, seed: int) -> None:
    """`determinize` draws exactly the states that `expected` lists, by their weights, and the seat sees them all alike.

    `expected` maps saved states to weights and should come from an independent enumeration.
    """
    rng = stream(seed)
    saved = observation.save()
    drawn: Counter[bytes] = Counter()
    for _ in range(draws):
        state = observation.determinize(seat, rng)
        if state.save() not in drawn:
            demand(state.observe(seat).save() == saved, f"seat {seat} can tell a determinization apart")
        drawn[state.save()] += 1
    _check_frequencies(drawn, expected, "determinize")


def check_hides(game: Game, states: list[State], seat: int) -> None:
    """States that differ only in what the seat cannot know look alike to it."""
    views = {state.observe(seat).save() for state in states}
    demand(len(views) == 1, f"{game.spec}: the observation of seat {seat} leaks: {len(views)} views of one situation")


def _check_frequencies(drawn: Mapping[T, int], expected: Mapping[T, float], what: str) -> None:
    """Pearson's chi-square test, the statistic made normal by Wilson and Hilferty's cube root."""
    strange = set(drawn) - set(expected)
    demand(not strange, f"{what} draws what it must not: {list(strange)[:3]}")
    total, weight = sum(drawn.values()), sum(expected.values())
    if len(expected) < 2:
        return
    means = {key: total * share / weight for key, share in expected.items()}
    assert min(means.values()) >= 5, "too few draws for the test to mean anything"
    statistic = sum((drawn.get(key, 0) - mean) ** 2 / mean for key, mean in means.items())
    spread = 2 / (9 * (len(means) - 1))
    normal = ((statistic / (len(means) - 1)) ** (1 / 3) - (1 - spread)) / sqrt(spread)
    demand(normal < _SIGMAS, f"{what} is not uniform: {normal:.1f} standard deviations from it")


def count_tree(state: State, depth: int) -> list[int]:
    """How many sequences of 1, 2, … depth actions there are, outcomes of dice counted as actions."""
    assert isinstance(state, KernelState), "only kernel games can be counted quickly"
    counts = np.zeros(depth, dtype=np.int64)
    count_sequences(state.game.table, state.cells, depth, stream(0), counts)
    return [int(count) for count in counts]


def record(game: Game, seed: int) -> str:
    """A random match as text: the game, one line a move, and how it ended."""
    nature, choices = stream(seed), stream(derive(seed, 0))
    state = game.new_state(nature)
    lines = [f"{game.spec}, version {game.version}, seed {seed}"]
    while not state.over:
        action = state.sample(choices)
        lines.append(f"{_mover(game, state)}  {game.action_text(state, action)}")
        state.apply(action, nature)
    return "\n".join([*lines, _ending(game, state)]) + "\n"


def check_recorded(game: Game, text: str) -> None:
    """A recorded match replays line by line: the right seat moves, the action is legal, the end is the same."""
    heading, *moves, payoffs, scores = text.rstrip("\n").split("\n")
    title, _, seed = heading.rpartition(", seed ")
    demand(title == f"{game.spec}, version {game.version}", f"{game.spec}: the recorded match is of {title}")
    nature = stream(int(seed))
    state = game.new_state(nature)
    for number, move in enumerate(moves, start=2):
        mover, _, action = move.partition("  ")
        demand(not state.over and mover == _mover(game, state), f"{game.spec}: line {number} is out of turn: {move}")
        state.apply(game.parse_action(state, action), nature)
    demand(state.over, f"{game.spec}: the recorded match stops before the end")
    demand(f"{payoffs}\n{scores}" == _ending(game, state), f"{game.spec}: recorded {payoffs}, {scores}")


def _mover(game: Game, state: State) -> str:
    return "chance" if state.turn == CHANCE else game.seat_names[state.turn]


def _ending(game: Game, state: State) -> str:
    assert state.turn == OVER
    named = [
        "  ".join(f"{name} {number:g}" for name, number in zip(game.seat_names, numbers, strict=True))
        for numbers in (state.payoffs(), state.scores())
    ]
    return f"payoffs  {named[0]}\nscores  {named[1]}"
