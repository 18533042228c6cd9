"""What becomes of matches that are handed in: results and voids. All of a batch happens, or nothing of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from rung.platform.match import Void
from rung.platform.store.appending import append
from rung.platform.store.claiming import change_matches, holds, lock_all, lock_ladders, lots, withdraw
from rung.platform.store.encoding import clean, from_list, settings_of
from rung.platform.store.records import Finished, Lost, Receipt, Status
from rung.platform.store.schema import matches, results, voids

WORKER_LOST = "worker lost"


def finish(c: Connection, batch: Sequence[Finished], packed: Sequence[bytes], now: float) -> list[Receipt]:
    """Record the results in their order. A result that is void, or cannot be one of its match, is a void attempt."""
    rows = lock_all(c, batch)
    heads = lock_ladders(c, {row.ladder_id for row in rows.values()})
    taken: dict[int, int] = {}
    for index, item in enumerate(batch):
        if holds(rows, item):
            taken.setdefault(item.match, index)
    lost, good = [], {ladder: list[int]() for ladder in heads}
    for match, index in taken.items():
        ladder = heads[rows[match].ladder_id]
        unusable = _unusable(batch[index], ladder)
        if unusable is None:
            good[ladder.id].append(index)
        else:
            lost.append(Lost(match, batch[index].fence, unusable))
    for number, indices in good.items():
        if indices:
            new = [(rows[batch[index].match], batch[index], packed[index]) for index in indices]
            append(c, heads[number], new, now)
    statuses = _void(c, rows, lost, now)
    places = _places(c, rows)
    return [_receipt(item, taken.get(item.match) == index, statuses, places) for index, item in enumerate(batch)]


def void(c: Connection, lost: Collection[Lost], now: float) -> list[Receipt]:
    """Count an attempt at each, and let it be played again, or not any more."""
    rows = lock_all(c, lost)
    held = {item.match: item for item in lost if holds(rows, item)}
    statuses = _void(c, rows, list(held.values()), now)
    return [_receipt(item, held.get(item.match) is item, statuses, {}) for item in lost]


def expire(c: Connection, now: float) -> list[Receipt]:
    """Void the matches whose lease is over."""
    over = sa.select(matches.c.id, matches.c.fence, matches.c.worker).where(matches.c.lease_until <= now)
    found = [Lost(row.id, row.fence, f"{WORKER_LOST}: {row.worker} let its lease run out") for row in c.execute(over)]
    rows = lock_all(c, found)  # meanwhile the worker may have come back
    still = [item for item in found if holds(rows, item) and rows[item.match].lease_until <= now]
    return [Receipt(match, status) for match, status in _void(c, rows, still, now).items()]


def retry(c: Connection, ladder: int) -> int:
    """Forget the attempts at parked matches, but not the evidence."""
    lock_ladders(c, [ladder])
    parked = (matches.c.ladder_id == ladder, matches.c.state == "parked")
    found = c.execute(sa.update(matches).where(*parked).values(state="waiting", attempts=0))
    withdraw(c, ladder)
    return found.rowcount


def _unusable(item: Finished, ladder: Any) -> str | None:
    """Why this cannot be a result of its match, if it cannot."""
    result, seats = item.result, len(from_list(ladder.teams))
    if isinstance(result.ending, Void):
        return result.ending.detail
    if result.version != ladder.game_version:
        return f"played by version {result.version} of the game, where the ladder has version {ladder.game_version}"
    if len(result.ranks) != seats:
        return f"the result has {len(result.ranks)} seats, where the game has {seats}"
    return None


def _void(c: Connection, rows: Mapping[int, Any], held: Sequence[Lost], now: float) -> dict[int, Status]:
    """What becomes of matches whose attempt came to nothing; their locks are held."""
    if not held:
        return {}
    heads = lock_ladders(c, {rows[item.match].ladder_id for item in held})
    evidence = []
    for item in held:
        row = rows[item.match]
        attempt = row.attempts + 1
        parked = attempt >= settings_of(heads[row.ladder_id].settings).attempts
        change = {"state": "parked" if parked else "waiting", "attempts": attempt, "worker": None, "lease_until": None}
        change_matches(c, [item.match], change)
        about = {"match_id": item.match, "fence": row.fence, "attempt": attempt}
        evidence.append({**about, "detail": clean(item.detail), "worker": row.worker, "at": now})
    c.execute(sa.insert(voids), evidence)
    for ladder in heads:
        withdraw(c, ladder)
    states: dict[int, Status] = {}
    for some in lots([item.match for item in held]):
        query = sa.select(matches.c.id, matches.c.state).where(matches.c.id.in_(some))
        states.update((match, state) for match, state in c.execute(query).all())
    return states


def _places(c: Connection, rows: Mapping[int, Any]) -> dict[tuple[int, int], int]:
    """The place in the log of each of these matches that has one, by match and fence."""
    found: dict[tuple[int, int], int] = {}
    for some in lots(list(rows)):
        query = sa.select(results.c.match_id, results.c.fence, results.c.seq).where(results.c.match_id.in_(some))
        found.update(((match, fence), seq) for match, fence, seq in c.execute(query).all())
    return found


def _receipt(
    item: Finished | Lost, taken: bool, voided: Mapping[int, Status], places: Mapping[tuple[int, int], int]
) -> Receipt:
    if taken and item.match in voided:
        return Receipt(item.match, voided[item.match])
    seq = places.get((item.match, item.fence))
    if seq is None:
        return Receipt(item.match, "late")
    return Receipt(item.match, "recorded" if taken else "repeated", seq)
