"""The scheduler's page is complete and its example runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from rung.platform.cli import app
from rung.scheduler import stopping
from rung.scheduler.pairing import RULES
from rung.scheduler.stopping import Progress
from rung.scheduler.worlds import WORLDS

PAGE = (Path(__file__).resolve().parents[2] / "docs/scheduler.md").read_text()


def table(heading: str) -> dict[str, str]:
    """First and second column of the table under a heading."""
    part = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", part, re.MULTILINE))


def test_every_rule_is_listed() -> None:
    assert sorted(table("Pairing rules")) == sorted(RULES)


def test_every_world_is_listed_with_what_it_is() -> None:
    assert table("Synthetic ladders") == {name: summary for name, (summary, _) in WORLDS.items()}


def test_every_stopping_rule_is_listed() -> None:
    made = {name for name, value in vars(stopping).items() if callable(value) and name[0].islower()}
    ours = {name for name in made if getattr(vars(stopping)[name], "__module__", "") == Progress.__module__}
    part = PAGE.partition("## Stopping\n")[2].partition("\n## ")[0]
    assert ours == set(re.findall(r"`(\w+)`", part))


def test_help_names_every_rule_and_world() -> None:
    parameters: list[Any] = vars(typer.main.get_command(app))["commands"]["simulate"].params
    helps = {parameter.name: re.split(r", | or ", parameter.help.split(";")[0].rstrip(".")) for parameter in parameters}
    assert helps["world"] == sorted(WORLDS)
    assert helps["rules"] == sorted(RULES)


def test_the_example_runs(blocks: Callable[[str, str], list[str]], capsys: Any) -> None:
    (code,) = blocks("docs/scheduler.md", "python")
    exec(compile(code, "docs/scheduler.md", "exec"), {})
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 2
    assert all("expected score" in line for line in shown)
