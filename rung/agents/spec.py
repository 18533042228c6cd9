"""Spec strings: an agent written like a call, `mcts(iterations=1000)`. Parsed, never evaluated."""

from __future__ import annotations

from functools import lru_cache

from rung.agents import AGENTS
from rung.agents.agent import Agent
from rung.parameters import Value, call_text, complete, parse_call


def make(spec: str) -> Agent:
    """The agent a spec describes; a `UserError` names what is wrong in it and what would be right."""
    kind, given = _parsed(spec)
    return kind(**given)


@lru_cache(maxsize=1024)
def _parsed(spec: str) -> tuple[type[Agent], dict[str, Value]]:
    name, given = parse_call(spec, "An agent")
    return AGENTS.load(name), given


def normal(spec: str) -> str:
    """The shortest spec that means the same, so that equal agents have equal names."""
    kind, given = _parsed(spec)
    return call_text(kind.name, complete(kind.name, kind.parameters, given), kind.parameters)
