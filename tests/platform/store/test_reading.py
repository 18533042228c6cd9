"""What comes out of a store, and that it comes by an index however much there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from rung.errors import UserError
from rung.games.connect_four import ConnectFour
from rung.platform.match import Forfeit, MatchSpec, play
from rung.platform.store import Lost, Settings, Store, Worker, open_store, reading
from rung.scheduler import glicko2
from rung.scheduler.comparisons import pairs_of_match
from tests.platform.store import conftest
from tests.platform.store.conftest import GAME, LEASE_S, NOW, forfeit, ladder_of, new, result, won

# -- ladders and agents -----------------------------------------------------------------------------------------------


def test_ladders_come_out_as_they_went_in(store: Store) -> None:
    settings = Settings(glicko2.DYNAMIC, fault_limit=4, attempts=5, options={"rule": "gain", "stop": {"top": 3}})
    made = store.create_ladder("Grand Prix", "sushi_go(players=3)", NOW, settings)
    assert store.ladder("Grand Prix") == made == store.reload(made.id)
    assert store.ladders() == [made]
    assert (made.game, made.game_version, made.teams, made.seats) == ("sushi_go(players=3)", 1, (0, 1, 2), 3)
    assert (made.settings, made.state, made.log_length, made.created_at) == (settings, "active", 0, NOW)


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(UserError, match="fault_limit must be at least 1, not 0"):
        Settings(fault_limit=0)
    with pytest.raises(UserError, match="attempts must be at least 1, not -1"):
        Settings(attempts=-1)


def test_names_are_unique_and_near_ones_are_offered(store: Store) -> None:
    ladder = ladder_of(store, 1)
    with pytest.raises(UserError, match="There is a ladder called ladder already"):
        ladder_of(store)
    with pytest.raises(UserError, match="has an agent called agent 0 already"):
        store.add_agent(ladder.id, "agent 0", "random", NOW)
    with pytest.raises(UserError, match=r"no ladder called 'lader'. Did you mean ladder\?"):
        store.ladder("lader")
    with pytest.raises(UserError, match=r"no agent called 'Agent'. Did you mean agent 0\?"):
        store.agent(ladder.id, "Agent")
    for name in ("", " x", "two\nlines", "x" * 201):
        with pytest.raises(UserError, match="1 to 200 printable characters"):
            store.add_agent(ladder.id, name, "random", NOW)
    with pytest.raises(UserError, match="one line of printable characters"):
        store.add_agent(ladder.id, "odd", "random\0", NOW)
    with pytest.raises(UserError, match="There is no game called"):
        store.create_ladder("other", "chequers", NOW)


def test_a_new_version_knows_its_parent_and_when_it_came(store: Store) -> None:
    ladder = ladder_of(store, 2)
    conftest.play(store, ladder, [new(0, 1)], [(1, 2)])
    child = store.add_agent(ladder.id, "agent 0 v2", "mcts(iterations=9)", NOW + 5, parent=0)
    assert (child.number, child.version, child.parent, child.joined, child.added_at) == (2, 2, 0, 1, NOW + 5)
    assert child.spec == "mcts(iterations=9)"
    with pytest.raises(UserError, match="no agent number 9"):
        store.add_agent(ladder.id, "orphan", "random", NOW, parent=9)
    with pytest.raises(UserError, match="no ladder number 99"):
        store.add_agent(99, "lost", "random", NOW)


def test_another_version_of_the_game_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ladder = ladder_of(store)
    ladder.check_game()
    monkeypatch.setattr(ConnectFour, "version", 2)
    with pytest.raises(UserError, match="was played by version 1 of connect_four and this Rung has version 2"):
        ladder.check_game()


def test_the_revision_rises_with_every_change_of_the_field(store: Store) -> None:
    ladder = ladder_of(store, 0)
    changes: list[Callable[[], Any]] = [
        lambda: store.add_agent(ladder.id, "a", "random", NOW),
        lambda: store.set_agent_state(ladder.id, 0, "retired", "old"),
        lambda: store.set_ladder_state(ladder.id, "paused"),
    ]
    for before, change in enumerate(changes):
        assert store.reload(ladder.id).revision == before
        change()
    agent = store.agent(ladder.id, "a")
    assert (agent.state, agent.reason) == ("retired", "old")


def test_standings_are_by_rating_and_come_in_pages(store: Store) -> None:
    ladder = ladder_of(store, 4)
    conftest.play(store, ladder, [new(2, 0), new(1, 3)], [(1, 2), (1, 2)])
    order = [agent.number for agent in store.standings(ladder.id)]
    assert sorted(order[:2]) == [1, 2]
    assert sorted(order[2:]) == [0, 3]
    assert [agent.number for agent in store.standings(ladder.id, limit=2, offset=1)] == order[1:3]
    assert [agent.number for agent in store.agents(ladder.id)] == [0, 1, 2, 3]


def test_workers_are_known_by_their_last_word(store: Store) -> None:
    store.beat("b", "host 1", 0.5, NOW)
    store.beat("a", "host 2", 0.25, NOW)
    store.beat("b", "host 3", 1.0, NOW + 10)
    assert store.workers() == [Worker("a", "host 2", NOW, 0.25), Worker("b", "host 3", NOW + 10, 1.0)]
    store.ping()


# -- the log ----------------------------------------------------------------------------------------------------------


def test_the_log_comes_in_order_and_from_any_point(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_ROWS", 7)
    monkeypatch.setattr(reading, "_COLUMN_ROWS", 5)
    ladder = ladder_of(store, 3)
    ids = conftest.play(store, ladder, [new(n % 3, (n + 1) % 3) for n in range(30)], [(1, 2)] * 30)
    rows = list(store.log(ladder.id))
    assert [row.match for row in rows] == ids
    assert list(store.log(ladder.id, after=22)) == rows[22:]
    assert list(store.log(ladder.id, after=30)) == []
    columns = store.columns(ladder.id, after=3)
    assert columns.seq.tolist() == list(range(4, 31))
    assert columns.match.tolist() == ids[3:]
    assert columns.agents.tolist() == [list(row.agents) for row in rows[3:]]
    assert columns.duration_s.tolist() == [0.5] * 27


def test_comparisons_are_those_of_the_log(store: Store) -> None:
    ladder = ladder_of(store, 5, game="sushi_go(players=3)")
    lines = [(0, 1, 2), (3, 2, 1), (4, 0, 3)]
    ranks = [(1, 2, 3), (1, 1, 3), (2, 3, 1)]
    planned = [new(*line, fair=line[0] != 3) for line in lines]
    assert len(store.comparisons(ladder.id)) == 0
    conftest.play(store, ladder, planned, ranks)
    found = store.comparisons(ladder.id)
    right = [pair for line, rank in zip(lines, ranks, strict=True) for pair in pairs_of_match(line, rank)]
    assert list(zip(found.first, found.second, found.score, found.weight, strict=True)) == right
    assert found.match.tolist() == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert found.fair.tolist() == [True] * 3 + [False] * 3 + [True] * 3
    assert found.agents == 5
    assert len(store.comparisons(ladder.id, after=2)) == 3


def test_culprits_are_in_the_columns(store: Store) -> None:
    ladder = ladder_of(store)
    store.plan(ladder.id, [new(1, 0)] * 2, NOW)
    one, other = store.claim("worker", 2, LEASE_S, NOW)
    store.finish([forfeit(one, 0), won(other)], NOW)
    assert store.columns(ladder.id).culprit.tolist() == [1, -1]
    [row] = store.faults(ladder.id, 1)
    assert row.ending == Forfeit(0, "crash", "boom")


# -- matches ----------------------------------------------------------------------------------------------------------


def test_a_finished_match_comes_back_as_it_was_played(store: Store) -> None:
    ladder = ladder_of(store)
    [match] = store.plan(ladder.id, [new(0, 1)], NOW)
    [claim] = store.claim("worker", 1, LEASE_S, NOW)
    assert claim.spec == MatchSpec(GAME, ("random", "random"), 7, 11)
    played = play(claim.spec)
    store.finish([claim.finished(played, 0.1)], NOW)
    found = store.result(match)
    assert found.think_s == pytest.approx(played.think_s, abs=1e-6)
    assert found == type(played)(**{**played.__dict__, "think_s": found.think_s})
    with pytest.raises(UserError, match="no match number 99"):
        store.result(99)


def test_unfinished_matches_cannot_be_replayed(store: Store) -> None:
    ladder = ladder_of(store)
    [match] = store.plan(ladder.id, [new(0, 1)], NOW)
    with pytest.raises(UserError, match=f"Match {match} is waiting"):
        store.result(match)


def test_large_actions_and_short_thoughts_survive(store: Store) -> None:
    ladder = ladder_of(store)
    [match] = conftest.play(store, ladder, [new(0, 1)], [(1, 2)])
    right = result(store.match(match).spec, (1, 2))
    assert store.result(match) == right
    assert right.moves[-1] == 2**40


def test_an_agents_matches_come_latest_first(store: Store) -> None:
    ladder = ladder_of(store, 3)
    ids = conftest.play(store, ladder, [new(0, 1), new(1, 2), new(2, 0), new(0, 0)], [(1, 2)] * 4)
    assert store.matches_of(ladder.id, 0) == [ids[3], ids[2], ids[0]]
    assert store.matches_of(ladder.id, 0, limit=1) == [ids[3]]
    assert store.matches_of(ladder.id, 0, before=ids[2]) == [ids[0]]


# -- by index ---------------------------------------------------------------------------------------------------------

LARGE = {"matches", "seats", "results", "recordings", "rating_changes", "ratings", "agents", "voids"}
"""Tables that grow."""

Call = tuple[str, Any]


@contextmanager
def statements(store: Store) -> Iterator[list[Call]]:
    """The statements that are run meanwhile, each with one set of parameters."""
    found: list[Call] = []

    def note(c: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        found.append((statement, parameters[0] if isinstance(parameters, list) else parameters))

    sa.event.listen(store._engine, "before_cursor_execute", note)
    yield found
    sa.event.remove(store._engine, "before_cursor_execute", note)


def scanned(store: Store, calls: list[Call]) -> list[str]:
    """The steps that read a large table from end to end."""
    found = []
    with store._read() as c:
        if c.dialect.name == "postgresql":
            c.exec_driver_sql("SET LOCAL enable_seqscan = off")  # so that it is used only where nothing else can be
        for statement, parameters in calls:
            if statement.split()[0] not in ("SELECT", "UPDATE", "DELETE"):
                continue
            explain = "EXPLAIN QUERY PLAN " if c.dialect.name == "sqlite" else "EXPLAIN "
            for row in c.exec_driver_sql(explain + statement, parameters):
                step = str(row[-1])
                if _is_scan(step):
                    found.append(f"{step} in {statement}")
    return found


def _is_scan(step: str) -> bool:
    words = step.replace("->", "").split()
    return (words[0] == "SCAN" and words[1] in LARGE) or (words[:3] == ["Seq", "Scan", "on"] and words[3] in LARGE)


def everything_hot(store: Store, ladder: int) -> None:
    """All that happens again and again while a ladder runs and is looked at."""
    store.plan(ladder, [new(0, 1)] * 3, NOW)
    claims = store.claim("worker", 3, LEASE_S, NOW)
    store.renew(claims, LEASE_S, NOW)
    store.finish([won(claims[0])], NOW)
    store.void([Lost(claims[1].match, claims[1].fence, "node lost")], NOW)
    store.release([claims[2]])
    store.expire(NOW)
    store.comparisons(ladder, after=1)
    list(store.log(ladder, after=1))
    store.standings(ladder, limit=50)
    store.agent(ladder, "agent 0")
    store.match(claims[0].match)
    store.result(claims[0].match)
    store.matches_in(ladder, "parked")
    store.matches_of(ladder, 0)
    store.history(ladder, 0)
    store.faults(ladder, 0)
    store.voids(claims[0].match)
    store.counts(ladder)
    store.claims_of("worker")
    store.in_flight(ladder)
    store.next_group(ladder)


def test_nothing_hot_reads_a_large_table_from_end_to_end(store: Store) -> None:
    ladder = ladder_of(store, 3)
    with statements(store) as calls:
        everything_hot(store, ladder.id)
    assert len(calls) > 40
    assert scanned(store, calls) == []


def test_a_scan_would_be_seen(store: Store) -> None:
    ladder_of(store, 3)
    assert scanned(store, [("SELECT * FROM matches WHERE deal = 1", ())]) != []


def test_arrays_come_without_an_object_a_move(store: Store) -> None:
    ladder = ladder_of(store)
    conftest.play(store, ladder, [new(0, 1)], [(1, 2)])
    with statements(store) as calls:
        found = store.comparisons(ladder.id)
    assert isinstance(found.first, np.ndarray)
    assert not any("recordings" in statement for statement, _ in calls)


def test_a_store_can_be_used_by_threads(url: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with open_store(url) as store, ThreadPoolExecutor(4) as threads:
        ladder = ladder_of(store, 4)
        store.plan(ladder.id, [new(n % 4, (n + 1) % 4) for n in range(60)], NOW)

        def work(name: str) -> int:
            done = 0
            while claims := store.claim(name, 5, LEASE_S, NOW):
                done += len(store.finish([won(claim) for claim in claims], NOW))
            return done

        assert sum(threads.map(work, "abcd")) == 60
        assert store.verify(ladder.id) == []
