"""Strength at equal simulations: Rung's mcts against OpenSpiel's C++ UCT in connect_four.

Both search with the same number of simulations and the same exploration, and both play the most visited action, by mean
among equals. Matches come in pairs: an opening of random actions, distinct until all have been used, played once with
either seating; a pair is one observation of the interval. The same rule at the same budget should score one half.

One difference stays: OpenSpiel values a child that ends the match by its payoff alone, without an exploration term, even
with its solver off. A winning action may so have fewer visits than others; OpenSpiel's own `step` would play it all the
same, but here both sides are held to the same final choice.
"""

from __future__ import annotations

import argparse
import time
from itertools import product
from random import Random
from typing import Any

import pyspiel
from _peers import cpp_bot, first_state, rung_agent, show, verdict, view_of

from rung.games.game import Game
from rung.games.rng import derive, stream
from rung.platform.match import game_of
from rung.platform.series import rate

GAME = "connect_four"
COLUMNS, PLIES = 7, 2
SEED = 1
AIM, MARGIN = 0.5, 0.05


def openings(pairs: int, seed: int) -> list[tuple[int, ...]]:
    """An opening for each pair; none comes again before all others did."""
    random = Random(seed)
    known = list(product(range(COLUMNS), repeat=PLIES))
    drawn: list[tuple[int, ...]] = []
    while len(drawn) < pairs:
        drawn.extend(random.sample(known, min(len(known), pairs - len(drawn))))
    return drawn


def most_visited(bot: Any, state: Any) -> int:
    """OpenSpiel's choice by visits; its own `step` would put known ends of the match first."""
    children = bot.mcts_search(state).children
    best = max(children, key=lambda child: (child.explore_count, child.total_reward))
    return int(best.action)


def score_of_match(game: Game, peer: Any, opening: tuple[int, ...], seat: int, simulations: int, seed: int) -> float:
    """Rung's payoff, when it sits here and the match begins with this opening."""
    ours, theirs, rng = first_state(game), peer.new_initial_state(), stream(seed)
    agent = rung_agent(game, simulations, seat, derive(seed, 0))
    bot = cpp_bot(peer, simulations, derive(seed, 1) % 2**31)
    left = list(opening)
    while not ours.over:
        if left:
            action = left.pop(0)
        elif ours.turn == seat:
            action = agent.act(view_of(game, ours))
        else:
            action = most_visited(bot, theirs)
        ours.apply(action, rng)
        theirs.apply_action(action)
    assert theirs.is_terminal()
    payoff = float(ours.payoffs()[seat])
    assert payoff == (1 + theirs.returns()[seat]) / 2
    return payoff


def scores_of_pairs(pairs: int, simulations: int) -> list[float]:
    """Rung's mean payoff in each pair."""
    game, peer = game_of(GAME), pyspiel.load_game(GAME)
    scores = []
    for number, opening in enumerate(openings(pairs, SEED)):
        payoffs = [
            score_of_match(game, peer, opening, seat, simulations, derive(SEED, number, seat)) for seat in (0, 1)
        ]
        scores.append(sum(payoffs) / len(payoffs))
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description="Rung's mcts against OpenSpiel's C++ UCT in connect_four.")
    parser.add_argument("--matches", type=int, default=400, help="rounded up to whole pairs")
    parser.add_argument("--simulations", type=int, default=1000, help="of both, a move")
    options = parser.parse_args()
    if options.matches < 1 or options.simulations < 2:
        parser.error("there must be at least 1 match and 2 simulations a move")
    pairs = -(-options.matches // 2)
    began = time.perf_counter()
    found = rate(scores_of_pairs(pairs, options.simulations))
    interval = f"{found.low:.1%} to {found.high:.1%}"
    aim = f"{AIM:.0%} +- {MARGIN:.0%} {verdict(abs(found.mean - AIM) <= MARGIN)}"
    row = [f"{2 * pairs}", f"{options.simulations}", f"{found.mean:.1%}", interval, aim]
    head = ["matches", "simulations", "Rung's score", "95 % interval", "aim"]
    show(f"Rung's mcts against OpenSpiel's C++ UCT, {GAME}", head, [row])
    print(f"\n{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
