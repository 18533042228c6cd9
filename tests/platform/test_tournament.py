"""Tournament files: what they say, and where they are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from rung.errors import UserError
from rung.platform.match import Clock
from rung.platform.rules import Limits, Rules
from rung.platform.tournament import Entry, Tournament, load

WHOLE = """
name = "autumn"
game = "hex(size=5)"
seed = 7
agents = ["mcts(iterations=100)", { spec = "mcts( iterations = 200 )", name = "deep" }, "random"]

[match]
paired = false
clock = "60+0.5"

[pairing]
rule = "z"
alpha = 0.01
margin = 20
costs = true

[stop]
settled = 0.9
top = 1
pair = ["deep", "random"]
matches = 500
time = "2 h"
cost = "90 min"
"""


def read(folder: Path, text: str) -> Tournament:
    file = folder / "cup.toml"
    file.write_text(text)
    return load(file)


def test_everything_a_file_can_say(tmp_path: Path) -> None:
    assert read(tmp_path, WHOLE) == Tournament(
        name="autumn",
        game="hex(size=5)",
        agents=(
            Entry("mcts(iterations=100)", "mcts(iterations=100)"),
            Entry("deep", "mcts(iterations=200)"),
            Entry("random", "random"),
        ),
        rules=Rules(
            7, False, Clock(60.0, 0.5), "z", 0.01, 20, True, Limits(0.9, 1, ("deep", "random"), 500, 7200.0, 5400.0)
        ),
    )


def test_the_least_a_file_must_say(tmp_path: Path) -> None:
    made = read(tmp_path, 'game = "connect_four"\nagents = ["random", "first"]\n')
    agents = (Entry("random", "random"), Entry("first", "first"))
    assert made == Tournament("cup", "connect_four", agents, Rules(limits=Limits(settled=1.0)))


def test_agents_as_tables(tmp_path: Path) -> None:
    made = read(tmp_path, 'game = "connect_four"\n[[agents]]\nspec = "random"\n[[agents]]\nspec = "mcts"\nname = "m"\n')
    assert made.agents == (Entry("random", "random"), Entry("m", "mcts"))


@pytest.mark.parametrize(
    ("change", "line", "complaint"),
    [
        (("seed = 7", "sed = 7"), 4, "There is no key of a tournament called 'sed'. Did you mean seed?"),
        (("[stop]", "[stopp]"), 17, "Did you mean stop?"),
        (("top = 1", "topp = 1"), 19, "There is no key of [stop] called 'topp'. Did you mean top?"),
        (('game = "hex(size=5)"', 'game = "hexx"'), 3, "There is no game called 'hexx'. Did you mean hex?"),
        (("hex(size=5)", "hex(size=50)"), 3, "size must be a whole number from 2 to 19, not 50"),
        (('"random"]', '"randum"]'), 5, "There is no agent called 'randum'. Did you mean random?"),
        (('"random"]', "3]"), 5, "an agent is a spec"),
        (('name = "deep"', 'nmae = "deep"'), 5, "Did you mean name?"),
        (('"deep" }', '"random" }'), 5, "two agents are called 'random'"),
        (('"deep" }', '"a/b" }'), 5, "a name is 1 to 64 letters"),
        (("seed = 7", "seed = -1"), 4, "seed must be a whole number at least 0, not -1"),
        (("seed = 7", "seed = true"), 4, "seed must be a whole number at least 0, not True"),
        (("paired = false", 'paired = "no"'), 8, "paired must be true or false, not 'no'"),
        (('"60+0.5"', '"soon"'), 9, "clock"),
        (('rule = "z"', 'rule = "x"'), 12, "There is no pairing rule called 'x'"),
        (("alpha = 0.01", "alpha = 1.0"), 13, "alpha must be a number above 0 and below 1, not 1.0"),
        (("alpha = 0.01", "alpha = nan"), 13, "alpha must be a number above 0 and below 1, not nan"),
        (("margin = 20", "margin = -5"), 14, "margin must be a number at least 0, not -5"),
        (("settled = 0.9", "settled = 90"), 18, "settled must be a number above 0 and at most 1, not 90"),
        (("top = 1", "top = 4"), 19, "the best 4 cannot be settled among 3 agents"),
        (("top = 1", "top = 1.5"), 19, "top must be a whole number at least 1, not 1.5"),
        (('["deep", "random"]\nm', '["deep", "dep"]\nm'), 20, "There is no agent called 'dep'. Did you mean deep?"),
        (('["deep", "random"]\nm', '["deep", "deep"]\nm'), 20, "pair must name two different agents"),
        (("matches = 500", "matches = 0"), 21, "matches must be a whole number at least 1, not 0"),
        (('time = "2 h"', 'time = "2 weeks"'), 22, "a duration is written like"),
        (('cost = "90 min"', "cost = 0"), 23, "a duration is written like"),
    ],
)
def test_mistakes_name_their_line(tmp_path: Path, change: tuple[str, str], line: int, complaint: str) -> None:
    assert change[0] in WHOLE
    with pytest.raises(UserError) as refused:
        read(tmp_path, WHOLE.replace(*change))
    said = str(refused.value)
    assert said.startswith(f"{tmp_path / 'cup.toml'}, line {line}: "), said
    assert complaint in said
    assert said.endswith(".")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("game = ", "is not TOML: Invalid value (at end of document)"),
        ("agents = []", "the key game is missing"),
        ('game = "connect_four"', "needs at least 2 agents"),
        ('game = "sushi_go(players=4)"\nagents = ["random", "first", "mcts"]', "needs at least 4 agents"),
        ('game = "connect_four"\nagents = "mcts"', "agents must be a list"),
        ("game = 4\nagents = []", "game must be text in quotes, not 4"),
        ("match = 3\ngame = 4", "match is a table, written [match]"),
    ],
)
def test_what_is_no_tournament(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(UserError) as refused:
        read(tmp_path, text)
    assert complaint in str(refused.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        load(tmp_path / "none.toml")
    with pytest.raises(UserError, match="Is a directory"):
        load(tmp_path)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not UTF-8 text"):
        load(tmp_path / "binary.toml")
