"""Ladders and their agents: making, changing and finding them."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from rung.errors import UserError, unknown
from rung.platform.match import game_of
from rung.platform.store.claiming import lock_ladders, withdraw
from rung.platform.store.encoding import as_list, clean, from_list, settings_of, settings_text
from rung.platform.store.records import AgentState, Ladder, LadderAgent, LadderState, Settings
from rung.platform.store.schema import (
    agents,
    insert_unless_there,
    ladders,
    matches,
    rating_changes,
    ratings,
    recordings,
    results,
    seats,
    voids,
)

_LONGEST_NAME = 200


def create_ladder(c: Connection, name: str, game_spec: str, settings: Settings, now: float) -> Ladder:
    game = game_of(game_spec)
    _check_name("ladder", name)
    row = {
        "name": name,
        "game": game.spec,
        "game_version": game.version,
        "teams": as_list(int(team) for team in game.teams),
        "settings": settings_text(settings),
        "state": "active",
        "why": "",
        "log_length": 0,
        "revision": 0,
        "created_at": now,
    }
    insert = insert_unless_there(c, ladders).values(row).on_conflict_do_nothing(index_elements=["name"])
    if c.scalar(insert.returning(ladders.c.id)) is None:
        raise UserError(f"There is a ladder called {name} already: take another name.")
    return ladder_called(c, name)


def ladder_called(c: Connection, name: str) -> Ladder:
    row = c.execute(sa.select(ladders).where(ladders.c.name == name)).one_or_none()
    if row is None:
        raise unknown("ladder", name, c.scalars(sa.select(ladders.c.name)))
    return _ladder(row)


def ladder_numbered(c: Connection, ladder: int) -> Ladder:
    row = c.execute(sa.select(ladders).where(ladders.c.id == ladder)).one_or_none()
    if row is None:
        raise UserError(f"There is no ladder number {ladder} any more.")
    return _ladder(row)


def all_ladders(c: Connection) -> list[Ladder]:
    return [_ladder(row) for row in c.execute(sa.select(ladders).order_by(ladders.c.id))]


def set_ladder_state(c: Connection, ladder: int, state: LadderState, why: str) -> None:
    change = {"state": state, "why": clean(why), "revision": ladders.c.revision + 1}
    c.execute(sa.update(ladders).where(ladders.c.id == ladder).values(change))


def remove_ladder(c: Connection, ladder: int) -> None:
    lock_ladders(c, [ladder])
    mine = sa.select(matches.c.id).where(matches.c.ladder_id == ladder)
    for table in (recordings, voids):
        c.execute(sa.delete(table).where(table.c.match_id.in_(mine)))
    for table in (rating_changes, ratings, results, seats, matches, agents):
        c.execute(sa.delete(table).where(table.c.ladder_id == ladder))
    c.execute(sa.delete(ladders).where(ladders.c.id == ladder))


def add_agent(c: Connection, ladder_id: int, name: str, spec: str, parent: int | None, now: float) -> LadderAgent:
    _check_name("agent", name)
    if not spec.isprintable():
        raise UserError(f"The spec of an agent is one line of printable characters, not {spec!r:.60}.")
    lock_ladders(c, [ladder_id])
    ladder = ladder_numbered(c, ladder_id)
    mine = agents.c.ladder_id == ladder_id
    if c.scalar(sa.select(agents.c.number).where(mine, agents.c.name == name)) is not None:
        raise UserError(f"Ladder {ladder.name} has an agent called {name} already: take another name.")
    before = 0
    if parent is not None:
        before = agent_numbered(c, ladder_id, parent).version
    number = c.scalar(sa.select(sa.func.coalesce(sa.func.max(agents.c.number) + 1, 0)).where(mine))
    row = {
        "ladder_id": ladder_id,
        "number": number,
        "name": name,
        "spec": spec,
        "version": before + 1,
        "parent": parent,
        "state": "active",
        "reason": "",
        "faults_in_a_row": 0,
        "joined": ladder.log_length,
        "added_at": now,
    }
    c.execute(sa.insert(agents).values(row))
    start = ladder.settings.glicko
    belief = {"rating": start.rating, "deviation": start.deviation, "volatility": start.volatility}
    tally = dict.fromkeys(("matches", "wins", "draws", "losses", "faults"), 0)
    c.execute(sa.insert(ratings).values(ladder_id=ladder_id, agent=number, **belief, **tally))
    raise_revision(c, ladder_id)
    return agent_called(c, ladder_id, name)


def set_agent_state(c: Connection, ladder: int, number: int, state: AgentState, reason: str) -> None:
    lock_ladders(c, [ladder])
    agent_numbered(c, ladder, number)
    change: dict[str, Any] = {"state": state, "reason": clean(reason)}
    if state == "active":
        change["faults_in_a_row"] = 0
    c.execute(sa.update(agents).where(agents.c.ladder_id == ladder, agents.c.number == number).values(change))
    withdraw(c, ladder)
    raise_revision(c, ladder)


def raise_revision(c: Connection, ladder: int) -> None:
    c.execute(sa.update(ladders).where(ladders.c.id == ladder).values(revision=ladders.c.revision + 1))


def agent_called(c: Connection, ladder: int, name: str) -> LadderAgent:
    row = c.execute(_AGENTS.where(agents.c.ladder_id == ladder, agents.c.name == name)).one_or_none()
    if row is None:
        raise unknown("agent", name, c.scalars(sa.select(agents.c.name).where(agents.c.ladder_id == ladder)))
    return _agent(row)


def agent_numbered(c: Connection, ladder: int, number: int) -> LadderAgent:
    row = c.execute(_AGENTS.where(agents.c.ladder_id == ladder, agents.c.number == number)).one_or_none()
    if row is None:
        raise UserError(f"There is no agent number {number} on this ladder.")
    return _agent(row)


def agents_of(c: Connection, ladder: int) -> list[LadderAgent]:
    return _agents(c, _AGENTS.where(agents.c.ladder_id == ladder).order_by(agents.c.number))


def count_agents(c: Connection, ladder: int) -> int:
    return c.scalar(sa.select(sa.func.count()).select_from(agents).where(agents.c.ladder_id == ladder)) or 0


def standings(c: Connection, ladder: int, limit: int | None, offset: int) -> list[LadderAgent]:
    order = (ratings.c.rating.desc(), ratings.c.agent.desc())
    return _agents(c, _AGENTS.where(ratings.c.ladder_id == ladder).order_by(*order).limit(limit).offset(offset))


_AGENTS = sa.select(
    agents.c.ladder_id,
    agents.c.number,
    agents.c.name,
    agents.c.spec,
    agents.c.version,
    agents.c.parent,
    agents.c.state,
    agents.c.reason,
    agents.c.faults_in_a_row,
    agents.c.joined,
    agents.c.added_at,
    ratings.c.rating,
    ratings.c.deviation,
    ratings.c.volatility,
    ratings.c.matches,
    ratings.c.wins,
    ratings.c.draws,
    ratings.c.losses,
    ratings.c.faults,
).join_from(agents, ratings, (ratings.c.ladder_id == agents.c.ladder_id) & (ratings.c.agent == agents.c.number))
"""In the order of the fields of `LadderAgent`."""


def _agents(c: Connection, query: sa.Select[Any]) -> list[LadderAgent]:
    return [_agent(row) for row in c.execute(query)]


def _agent(row: Any) -> LadderAgent:
    return LadderAgent(*row)


def _ladder(row: Any) -> Ladder:
    return Ladder(
        id=row.id,
        name=row.name,
        game=row.game,
        game_version=row.game_version,
        teams=from_list(row.teams),
        settings=settings_of(row.settings),
        state=row.state,
        why=row.why,
        log_length=row.log_length,
        revision=row.revision,
        created_at=row.created_at,
    )


def _check_name(kind: str, name: str) -> None:
    if not (0 < len(name) <= _LONGEST_NAME and name.isprintable() and name == name.strip()):
        raise UserError(
            f"The {kind}'s name must have 1 to {_LONGEST_NAME} printable characters, without a space at either end:"
            f" {name!r:.60} is not one."
        )
