"""Every registered game keeps the contract, in several of its sizes, and has its recorded match and its page."""

from __future__ import annotations

from pathlib import Path

import pytest

from rung.games import GAMES, make
from rung.games.conformance import check, check_recorded
from rung.parameters import parse_call

HERE = Path(__file__).resolve().parent
RECORDED = HERE.parent / "games" / "recorded"
PAGES = HERE.parents[1] / "docs" / "games"

VARIANTS: dict[str, list[dict[str, object]]] = {
    "breakthrough": [{"rows": 5, "columns": 4}],
    "hex": [{"size": 3}, {"size": 19}],
    "rock_paper_scissors": [{"rounds": 5, "reward": "win"}],
    "rpg_battle": [
        {"scenario": "B"},
        {"smart_raiders": True},
        {"targets": True, "smart_raiders": True, "scenario": "B", "reward": "win"},
    ],
    "sum_of_switches": [{"n": 2}, {"n": 31, "values": "identity"}],
    "sushi_go": [{"players": players} for players in (3, 4, 5)],
}
CASES = [(name, values) for name in GAMES.names() for values in [{}, *VARIANTS.get(name, [])]]


@pytest.mark.parametrize(("name", "values"), CASES, ids=str)
def test_contract(name: str, values: dict[str, object]) -> None:
    game = make(name, **values)
    assert game.name == name
    check(game, matches=max(2, min(20, 2000 // game.max_moves)))


@pytest.mark.parametrize("name", GAMES.names())
def test_recorded_match_replays(name: str) -> None:
    text = (RECORDED / f"{name}.txt").read_text()
    named, values = parse_call(text.partition(", version ")[0], "A game")
    assert named == name
    check_recorded(make(name, **values), text)


@pytest.mark.parametrize("name", GAMES.names())
def test_page_names_every_parameter(name: str) -> None:
    page = (PAGES / f"{name}.md").read_text()
    missing = [p.name for p in GAMES.load(name).parameters if f"`{p.name}`" not in page]
    assert not missing
