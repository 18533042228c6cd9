"""Agents: their contract, how they are named, and their registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rung.registry import Registry

if TYPE_CHECKING:
    from rung.agents.agent import Agent

AGENTS: Registry[type[Agent]] = Registry(
    "agent",
    {
        "first": "rung.agents.simple:First",
        "mcts": "rung.agents.search.agent:Mcts",
        "osla": "rung.agents.simple:Osla",
        "random": "rung.agents.simple:Random",
    },
)
