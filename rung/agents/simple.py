"""Agents without a tree: the yardsticks every other agent should beat."""

from __future__ import annotations

from rung.agents.agent import Agent, View
from rung.games.game import CHANCE, Game, State
from rung.games.rng import index, stream
from rung.parameters import Parameter


class Random(Agent):
    name = "random"
    summary = "Plays a uniformly random legal action."

    def start(self, game: Game, seat: int, seed: int) -> None:
        self.rng = stream(seed)

    def act(self, view: View) -> int:
        return view.sample(self.rng)


class First(Agent):
    name = "first"
    summary = "Plays the first legal action; the same one every time."

    def start(self, game: Game, seat: int, seed: int) -> None:
        self.rng = stream(0)

    def act(self, view: View) -> int:
        return int(view.legal[0]) if len(view.legal) else view.sample(self.rng)


class Osla(Agent):
    """One step look ahead."""

    name = "osla"
    summary = "Looks one action ahead and takes the best by the game's own evaluation; equals are drawn at random."
    parameters = (
        Parameter("samples", 4, "how often each action is tried, with hidden things and dice drawn anew", 1, 10_000),
        Parameter("width", 256, "how many sampled actions to try where they are too many to list", 1, 100_000),
    )

    @classmethod
    def warm(cls, game: Game) -> None:
        index(stream(0), 1)

    def start(self, game: Game, seat: int, seed: int) -> None:
        self.rng = stream(seed)

    def act(self, view: View) -> int:
        candidates = [int(action) for action in view.legal]
        if not candidates:
            candidates = sorted({view.sample(self.rng) for _ in range(int(self.values["width"]))})
        totals = dict.fromkeys(candidates, 0.0)
        for _ in range(int(self.values["samples"])):
            state = view.determinize(self.rng)
            for action in candidates:
                totals[action] += self._worth(state, action, view.seat)
        best = max(totals.values())
        equals = [action for action, total in totals.items() if total == best]
        self.note = (
            f"{len(equals)} of {len(candidates)} actions share the best value, {best / int(self.values['samples']):.2f}"
        )
        return equals[index(self.rng, len(equals))]

    def _worth(self, state: State, action: int, seat: int) -> float:
        after = state.copy()
        after.apply(action, self.rng)
        while after.turn == CHANCE:
            after.apply(after.sample(self.rng), self.rng)
        return float(after.payoffs()[seat]) if after.over else after.value(seat)
