"""The page of tournament files is complete, and its example and those of the repository are right."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from rung.platform import tournament
from rung.platform.tournament import load

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/tournaments.md").read_text()


def test_every_key_is_listed() -> None:
    tables = tournament._TABLES
    keys = {f"{table}.{key}" for table in ("match", "pairing", "stop") for key in tables[table]}
    keys |= {key for key in tables[""] if key not in tables}
    keys |= {"agents"}
    part = PAGE.partition("| key | default |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `([\w.]+)` \|", part, re.MULTILINE)) == keys
    assert all(f"`{key}`" in part for key in tables["agents"])


def test_the_example_is_a_tournament(blocks: Callable[[str, str], list[str]], tmp_path: Path) -> None:
    (text,) = blocks("docs/tournaments.md", "toml")
    (tmp_path / "cup.toml").write_text(text)
    made = load(tmp_path / "cup.toml")
    assert (made.name, len(made.agents), made.rules.limits.time_s) == ("demo", 3, 7200.0)


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.toml")), ids=lambda file: file.name)
def test_examples_are_tournaments(file: Path) -> None:
    assert load(file).agents
    assert f"examples/{file.name}" in file.read_text()
