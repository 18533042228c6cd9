"""Games: their contract, their kernels and their registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rung.registry import Registry

if TYPE_CHECKING:
    from rung.games.game import Game

GAMES: Registry[type[Game]] = Registry(
    "game",
    {
        "breakthrough": "rung.games.breakthrough:Breakthrough",
        "connect_four": "rung.games.connect_four:ConnectFour",
        "hex": "rung.games.hex:Hex",
        "rock_paper_scissors": "rung.games.rock_paper_scissors:RockPaperScissors",
        "rpg_battle": "rung.games.rpg_battle:RpgBattle",
        "sum_of_switches": "rung.games.sum_of_switches:SumOfSwitches",
        "sushi_go": "rung.games.sushi_go:SushiGo",
    },
)


def make(name: str, **values: object) -> Game:
    """The game of this name under these parameters."""
    return GAMES.load(name)(**values)
