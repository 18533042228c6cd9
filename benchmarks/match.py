"""The cost of a match around agents that do next to nothing, in connect_four on one core.

Rung plays whole matches through `play`: agents made from their specs, views, legality checks, clocks, history and result
included; the time is that of everything divided by the moves. The peer is the barest loop over OpenSpiel's Python binding:
random legal actions until the match is over, with nothing checked or kept.
"""

from __future__ import annotations

from itertools import count
from random import Random

import pyspiel
from _peers import Work, rates, show, verdict

from rung.platform.match import MatchSpec, Played, play, prepare

GAME = "connect_four"
AGENTS = ("random", "first")
PEER = "OpenSpiel's binding, random"
BATCH = 50
ROUNDS = 9
SLOT_S = 0.3
AIM_US, AIM_MATCHES = 10.0, 5000.0
MICROSECONDS = 1e6


class Counted:
    """Matches of one kind, and how many moves they have had."""

    def __init__(self) -> None:
        self.matches = 0
        self.moves = 0

    @property
    def length(self) -> float:
        return self.moves / self.matches


def rung_matches(agent: str, counted: Counted) -> Work:
    """A batch of matches of the agent against itself."""
    prepare(MatchSpec(GAME, (agent, agent), 0, 0))
    numbers = count()

    def work() -> int:
        for _ in range(BATCH):
            number = next(numbers)
            result = play(MatchSpec(GAME, (agent, agent), number, number))
            assert isinstance(result.ending, Played)
            counted.moves += len(result.moves)
        counted.matches += BATCH
        return BATCH

    return work


def peer_matches(counted: Counted) -> Work:
    """A batch of random matches through OpenSpiel's binding."""
    game, random = pyspiel.load_game(GAME), Random(1)

    def work() -> int:
        for _ in range(BATCH):
            state = game.new_initial_state()
            while not state.is_terminal():
                state.apply_action(random.choice(state.legal_actions()))
                counted.moves += 1
        counted.matches += BATCH
        return BATCH

    return work


def main() -> None:
    names = [f"Rung, {agent} against {agent}" for agent in AGENTS]
    counted = {name: Counted() for name in (*names, PEER)}
    peers = {name: rung_matches(agent, counted[name]) for name, agent in zip(names, AGENTS, strict=True)}
    found = rates({**peers, PEER: peer_matches(counted[PEER])}, ROUNDS, SLOT_S)
    rows = []
    for name, matches in found.items():
        move_us = MICROSECONDS / (matches * counted[name].length)
        ours = name != PEER
        aims = [verdict(move_us <= AIM_US), verdict(matches >= AIM_MATCHES)] if ours else ["", ""]
        rows.append([name, f"{counted[name].length:.1f}", f"{move_us:.2f}", aims[0], f"{matches:,.0f}", aims[1]])
    head = ["", "moves a match", "us a move", f"<= {AIM_US:.0f}", "matches/s", f">= {AIM_MATCHES:,.0f}"]
    show(f"Matches of {GAME}", head, rows)


if __name__ == "__main__":
    main()
