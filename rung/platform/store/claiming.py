"""Planning matches, handing them out, and taking them back unplayed.

Who claims a match gets a fence, a number that rises with every claim of it, and a lease. Whoever brings something about a
match must show its newest fence while it is claimed; all others are late, and change nothing.

Locks are taken in one order, so that nobody waits in a circle: ladders by number, then matches by number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from rung.errors import UserError
from rung.platform.match import Clock, MatchSpec
from rung.platform.store.encoding import clean, from_list
from rung.platform.store.records import Claim, Held, NewMatch
from rung.platform.store.schema import agents, ladders, matches, seats

_AT_ONCE = 10_000
"""Numbers in one list of a query; databases have limits not far above."""
_INT64 = 2**63
_STANDS = [
    matches.c[name]
    for name in ("id", "ladder_id", "state", "fence", "attempts", "lease_until", "worker", "group", "fair")
]
"""How a match stands."""


# -- planning ---------------------------------------------------------------------------------------------------------


def plan(c: Connection, ladder: int, planned: Sequence[NewMatch], now: float) -> list[int]:
    row = lock_ladders(c, [ladder]).get(ladder)
    if row is None or row.state == "ended":
        raise UserError(f"Ladder {row.name if row else ladder} has ended, so no more of its matches can be planned.")
    if not planned:
        return []
    if any(len(new.agents) != len(from_list(row.teams)) for new in planned):
        raise UserError(f"Every match of ladder {row.name} must have {len(from_list(row.teams))} agents.")
    insert = sa.insert(matches).returning(matches.c.id, sort_by_parameter_order=True)
    ids = list(c.scalars(insert, [_planned_row(ladder, new, now) for new in planned]))
    places = (
        {"match_id": match, "seat": seat, "ladder_id": ladder, "agent": new.pick.agents[place], "place": place}
        for match, new in zip(ids, planned, strict=True)
        for seat, place in enumerate(new.seating or range(len(new.pick.agents)))
    )
    c.execute(sa.insert(seats), list(places))
    withdraw(c, ladder)
    return ids


def _planned_row(ladder: int, new: NewMatch, now: float) -> dict[str, Any]:
    if not all(-_INT64 <= number < _INT64 for number in (new.deal, new.seed, new.group)):
        raise UserError("Deal, seed and group of a match must be whole numbers of 64 bits.")
    return {
        "ladder_id": ladder,
        "deal": new.deal,
        "seed": new.seed,
        "clock_base_s": new.clock.base_s if new.clock else None,
        "clock_increment_s": new.clock.increment_s if new.clock else None,
        "group": new.group,
        "state": "waiting",
        "attempts": 0,
        "fence": 0,
        "lease_until": None,
        "worker": None,
        "rule": new.rule,
        "why": clean(new.pick.why),
        "value": new.pick.value,
        "expected": new.pick.expected,
        "deviation": new.pick.deviation,
        "cost_s": new.pick.cost_s,
        "fair": new.pick.fair,
        "planned_at": now,
    }


def withdraw(c: Connection, ladder: int) -> None:
    """Take back the waiting matches of agents that may not play any more. Called by whoever holds the ladder's lock."""
    gone = (
        sa.select(seats.c.match_id)
        .join(agents, (agents.c.ladder_id == seats.c.ladder_id) & (agents.c.number == seats.c.agent))
        .where(seats.c.match_id == matches.c.id, agents.c.state != "active")
    )
    waiting = (matches.c.ladder_id == ladder, matches.c.state == "waiting")
    # Who is being claimed at this moment is left alone: it will be played once more, or come back and be withdrawn.
    query = sa.select(matches.c.id).where(*waiting, gone.exists()).order_by(matches.c.id)
    ids = c.scalars(query.with_for_update(skip_locked=True)).all()
    change_matches(c, ids, {"state": "withdrawn"})


# -- claims -----------------------------------------------------------------------------------------------------------


def claim(c: Connection, worker: str, n: int, lease_s: float, now: float, ladder: int | None) -> list[Claim]:
    candidates = _ladders_with_work(c, ladder)
    ids: list[int] = []
    while candidates and len(ids) < n:  # what some ladders do not have, the others get
        for left, number in zip(range(len(candidates), 0, -1), candidates.copy(), strict=True):
            share = -(-(n - len(ids)) // left)
            taken = _take(c, number, share, worker, now + lease_s)
            ids += taken
            if len(taken) < share:
                candidates.remove(number)
    return _claims(c, ids)


def _ladders_with_work(c: Connection, ladder: int | None) -> list[int]:
    """Active ladders with waiting matches, those first that have the fewest being played."""
    state = sa.select(sa.func.count()).where(matches.c.ladder_id == ladders.c.id)
    waiting = sa.select(matches.c.id).where(matches.c.ladder_id == ladders.c.id, matches.c.state == "waiting").exists()
    playing = state.where(matches.c.state == "claimed").scalar_subquery()
    query = sa.select(ladders.c.id).where(ladders.c.state == "active", waiting).order_by(playing, ladders.c.id)
    if ladder is not None:
        query = query.where(ladders.c.id == ladder)
    return list(c.scalars(query))


def _take(c: Connection, ladder: int, n: int, worker: str, until: float) -> Sequence[int]:
    """Claim the next matches of a ladder that nobody else is claiming."""
    if n <= 0:
        return []
    waiting = (matches.c.ladder_id == ladder, matches.c.state == "waiting")
    query = sa.select(matches.c.id).where(*waiting).order_by(matches.c.id).limit(n).with_for_update(skip_locked=True)
    ids = c.scalars(query).all()
    claimed = {"state": "claimed", "fence": matches.c.fence + 1, "worker": clean(worker), "lease_until": until}
    change_matches(c, ids, claimed)
    return ids


def _claims(c: Connection, ids: Sequence[int]) -> list[Claim]:
    specs = specs_of(c, ids)
    columns = (matches.c.id, matches.c.fence, matches.c.ladder_id, matches.c.lease_until)
    rows = {
        row.id: row for some in lots(ids) for row in c.execute(sa.select(*columns).where(matches.c.id.in_(some))).all()
    }
    return [
        Claim(number, rows[number].fence, rows[number].ladder_id, specs[number], rows[number].lease_until)
        for number in ids
    ]


def claims_of(c: Connection, worker: str) -> list[Claim]:
    held = sa.select(matches.c.id).where(matches.c.lease_until > 0, matches.c.worker == clean(worker))
    return _claims(c, sorted(c.scalars(held)))


def specs_of(c: Connection, ids: Sequence[int]) -> dict[int, MatchSpec]:
    """What decides each of these matches."""
    names: dict[int, list[str]] = {}
    found: dict[int, MatchSpec] = {}
    for some in lots(ids):
        sitting = sa.select(seats.c.match_id, agents.c.spec).join(
            agents, (agents.c.ladder_id == seats.c.ladder_id) & (agents.c.number == seats.c.agent)
        )
        order = (seats.c.match_id, seats.c.seat)
        for match, spec in c.execute(sitting.where(seats.c.match_id.in_(some)).order_by(*order)):
            names.setdefault(match, []).append(spec)
        columns = (matches.c.id, ladders.c.game, matches.c.deal, matches.c.seed)
        clock = (matches.c.clock_base_s, matches.c.clock_increment_s)
        for match, game, deal, seed, base_s, increment_s in c.execute(
            sa.select(*columns, *clock).join(ladders).where(matches.c.id.in_(some))
        ):
            limit = None if base_s is None else Clock(base_s, increment_s)
            found[match] = MatchSpec(game, tuple(names[match]), deal, seed, limit)
    return found


def renew(c: Connection, claims: Collection[Held], lease_s: float, now: float) -> set[int]:
    rows = lock_matches(c, claims)
    kept = [claim.match for claim in claims if holds(rows, claim)]
    change_matches(c, kept, {"lease_until": now + lease_s})
    return set(kept)


def release(c: Connection, claims: Collection[Held]) -> set[int]:
    rows = lock_all(c, claims)
    given = [claim.match for claim in claims if holds(rows, claim)]
    change_matches(c, given, {"state": "waiting", "worker": None, "lease_until": None})
    for ladder in {rows[match].ladder_id for match in given}:
        withdraw(c, ladder)
    return set(given)


# -- locks ------------------------------------------------------------------------------------------------------------


def holds(rows: Mapping[int, Any], held: Held) -> bool:
    """Whether this is the newest claim of its match, and the match is still claimed."""
    row = rows.get(held.match)
    return row is not None and row.state == "claimed" and row.fence == held.fence


def lock_all(c: Connection, items: Collection[Held]) -> dict[int, Any]:
    """These matches, and before them their ladders, which nobody else changes until the transaction ends."""
    ids = sorted({item.match for item in items})
    mine: set[int] = set()
    for some in lots(ids):
        mine.update(c.scalars(sa.select(matches.c.ladder_id).distinct().where(matches.c.id.in_(some))))
    lock_ladders(c, mine)
    return lock_matches(c, items)


def lock_ladders(c: Connection, ids: Iterable[int]) -> dict[int, Any]:
    query = sa.select(ladders).where(ladders.c.id.in_(sorted(ids))).order_by(ladders.c.id)
    return {row.id: row for row in c.execute(query.with_for_update(key_share=True))}


def lock_matches(c: Connection, items: Iterable[Held]) -> dict[int, Any]:
    found = {}
    for some in lots(sorted({item.match for item in items})):
        query = sa.select(*_STANDS).where(matches.c.id.in_(some)).order_by(matches.c.id)
        found.update({row.id: row for row in c.execute(query.with_for_update()).all()})
    return found


def change_matches(c: Connection, ids: Sequence[int], values: Mapping[str, Any]) -> None:
    for some in lots(ids):
        c.execute(sa.update(matches).where(matches.c.id.in_(some)).values(values))


def lots(ids: Sequence[int]) -> Iterable[Sequence[int]]:
    """The numbers in lists that a query can hold."""
    for begin in range(0, len(ids), _AT_ONCE):
        yield ids[begin : begin + _AT_ONCE]
