"""The agent that docs/agents.md builds works as it stands on the page, and the page names every agent's parameters."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from rung.agents import AGENTS
from rung.agents.agent import Agent, Outcome, Seen, View
from rung.agents.search.tree import NODE_BYTES

Blocks = Callable[[str, str], list[str]]
Install = Callable[..., Path]
Run = Callable[..., subprocess.CompletedProcess[str]]

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/agents.md"
TEXT = (ROOT / PAGE).read_text()
OURS = [name for name in AGENTS.names() if AGENTS.load(name).__module__.startswith("rung.")]


@pytest.fixture(scope="module")
def project(install: Install) -> Path:
    return install(PAGE)


def test_is_fair_and_repeatable(project: Path, blocks: Blocks, run: Run, tmp_path: Path) -> None:
    checking = next(block for block in blocks(PAGE, "python") if "MatchSpec" in block)
    done = run(["python", "-c", checking], tmp_path, project)
    assert done.returncode == 0, done.stderr


def test_beats_random(project: Path, run: Run, tmp_path: Path) -> None:
    done = run(["rung", "play", "connect_four", "flat", "random", "--matches", "20", "--json"], tmp_path, project)
    assert done.returncode == 0, done.stderr
    series = json.loads(done.stdout)
    assert [agent["forfeits"] for agent in series["agents"]] == [0, 0]
    assert series["agents"][0]["rate"]["mean"] > 0.8


@pytest.mark.parametrize("name", OURS)
def test_every_agent_and_parameter_is_named(name: str) -> None:
    assert f"| `{name}` |" in TEXT
    section = re.search(rf"^### {name}\n(.*?)^##", TEXT, re.MULTILINE | re.DOTALL)
    listed = re.findall(r"^\| `(\w+)` \| `(.+?)` \| .+ \|$", section[1], re.MULTILINE) if section else []
    assert listed == [(p.name, repr(p.default)) for p in AGENTS.load(name).parameters]


def test_the_contract_is_named() -> None:
    names = {field.name for kind in (View, Outcome) for field in fields(kind)} | set(Seen._fields)
    names |= {name for kind in (View, Agent) for name in vars(kind) if not name.startswith("_")}
    missing = sorted(name for name in names if not re.search(rf"`(self\.)?{name}(\(.*?\))?`", TEXT))
    assert not missing


def test_size_of_a_node() -> None:
    assert f"A node takes {NODE_BYTES} bytes" in TEXT
