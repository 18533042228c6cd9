"""Matches from plan to log, and back."""

from __future__ import annotations

import numpy as np
import pytest

from rung.errors import UserError
from rung.platform.match import Clock, MatchSpec, Played
from rung.platform.store import Counts, Lost, Receipt, Settings, Store
from tests.platform.store.conftest import GAME, LEASE_S, NOW, forfeit, ladder_of, new, play, void, won


def test_a_match_goes_from_plan_to_log(store: Store) -> None:
    ladder = ladder_of(store)
    [match] = store.plan(ladder.id, [new(0, 1, group=3, seating=(1, 0))], NOW)
    [claim] = store.claim("worker", 5, LEASE_S, NOW, ladder.id)
    assert claim.match == match
    assert claim.spec == MatchSpec(GAME, ("random", "random"), 7, 11, None)
    assert claim.lease_until == NOW + LEASE_S
    assert store.counts(ladder.id) == Counts(claimed=1)
    assert store.finish([won(claim)], NOW + 2) == [Receipt(match, "recorded", 1)]
    assert store.counts(ladder.id) == Counts(finished=1)
    [row] = store.log(ladder.id)
    assert (row.seq, row.match, row.agents, row.ranks, row.ending) == (1, match, (1, 0), (1, 2), Played())
    assert row.group == 3
    assert (row.fair, row.moves, row.duration_s, row.worker, row.at) == (True, 3, 0.5, "worker", NOW + 2)
    assert [agent.wins for agent in store.agents(ladder.id)] == [0, 1]
    assert store.verify(ladder.id) == []


def test_a_planned_match_keeps_why_it_was_picked(store: Store) -> None:
    ladder = ladder_of(store, 3, game="sushi_go(players=3)")
    planned = new(2, 0, 1, seating=(1, 2, 0), group=5)
    planned = type(planned)(**{**planned.__dict__, "clock": Clock(10.0, 0.5)})
    [match] = store.plan(ladder.id, [planned], NOW)
    found = store.match(match)
    assert found.pick == planned.pick
    assert found.agents == planned.agents == (0, 1, 2)
    assert (found.rule, found.group, found.state, found.planned_at) == ("gain", 5, "waiting", NOW)
    assert found.spec.clock == Clock(10.0, 0.5)
    assert "exploration" in found.pick.reason


def test_a_repeated_result_changes_nothing(store: Store) -> None:
    ladder = ladder_of(store)
    store.plan(ladder.id, [new(0, 1)], NOW)
    [claim] = store.claim("worker", 1, LEASE_S, NOW)
    once = won(claim)
    assert [receipt.status for receipt in store.finish([once, once], NOW)] == ["recorded", "repeated"]
    standings = store.standings(ladder.id)
    assert store.finish([won(claim, (2, 1))], NOW) == [Receipt(claim.match, "repeated", 1)]
    assert store.standings(ladder.id) == standings


def test_a_late_result_changes_nothing(store: Store) -> None:
    ladder = ladder_of(store)
    store.plan(ladder.id, [new(0, 1)], NOW)
    [early] = store.claim("slow", 1, LEASE_S, NOW)
    assert store.expire(NOW + LEASE_S - 1) == []
    assert store.expire(NOW + LEASE_S) == [Receipt(early.match, "waiting")]
    assert store.finish([won(early)], NOW) == [Receipt(early.match, "late")]
    [claim] = store.claim("quick", 1, LEASE_S, NOW)
    assert store.finish([won(early)], NOW) == [Receipt(early.match, "late")]
    assert store.void([early.lost("late too")], NOW) == [Receipt(early.match, "late")]
    assert store.renew([early], LEASE_S, NOW) == store.release([early]) == set()
    assert store.finish([won(claim, (2, 1))], NOW)[0].status == "recorded"
    assert store.finish([won(early)], NOW) == [Receipt(early.match, "late")]
    [evidence] = store.voids(early.match)
    assert (evidence.attempt, evidence.worker) == (1, "slow")
    assert evidence.detail == "worker lost: slow let its lease run out"


def test_a_void_match_is_played_again_three_times_and_then_parked(store: Store) -> None:
    ladder = ladder_of(store)
    [match] = store.plan(ladder.id, [new(0, 1)], NOW)
    statuses = []
    for attempt in range(3):
        [claim] = store.claim(f"worker {attempt}", 1, LEASE_S, NOW)
        statuses += store.finish([void(claim, f"node {attempt} lost")], NOW + attempt)
    assert [receipt.status for receipt in statuses] == ["waiting", "waiting", "parked"]
    assert store.claim("worker", 1, LEASE_S, NOW) == []
    assert [found.id for found in store.matches_in(ladder.id, "parked")] == [match]
    assert [(tried.attempt, tried.detail) for tried in store.voids(match)] == [
        (1, "node 0 lost"),
        (2, "node 1 lost"),
        (3, "node 2 lost"),
    ]
    assert store.retry(ladder.id) == 1
    [claim] = store.claim("worker", 1, LEASE_S, NOW)
    assert store.void([claim.lost("again")], NOW) == [Receipt(match, "waiting")]
    assert [tried.attempt for tried in store.voids(match)] == [1, 2, 3, 1]
    assert list(store.log(ladder.id)) == []


def test_a_result_that_cannot_be_one_of_its_match_is_void(store: Store) -> None:
    ladder = ladder_of(store)
    store.plan(ladder.id, [new(0, 1), new(0, 1)], NOW)
    one, other = store.claim("worker", 2, LEASE_S, NOW)
    old = won(one)
    old = type(old)(old.match, old.fence, type(old.result)(**{**old.result.__dict__, "version": 7}), 0.1)
    assert [receipt.status for receipt in store.finish([old, won(other, (1, 2, 3))], NOW)] == ["waiting", "waiting"]
    assert "version 7" in store.voids(one.match)[0].detail
    assert "3 seats" in store.voids(other.match)[0].detail


def test_a_released_match_has_lost_no_attempt(store: Store) -> None:
    ladder = ladder_of(store)
    store.plan(ladder.id, [new(0, 1)], NOW)
    [claim] = store.claim("worker", 1, LEASE_S, NOW)
    assert store.claims_of("worker") == [claim]
    assert store.claims_of("somebody else") == []
    assert store.release(store.claims_of("worker")) == {claim.match}
    assert store.claims_of("worker") == []
    assert store.match(claim.match).attempts == 0
    [again] = store.claim("worker", 1, LEASE_S, NOW)
    assert again.fence > claim.fence


def test_a_renewed_lease_lasts_longer(store: Store) -> None:
    ladder = ladder_of(store)
    store.plan(ladder.id, [new(0, 1)], NOW)
    claims = store.claim("worker", 1, LEASE_S, NOW)
    assert store.renew(claims, LEASE_S, NOW + 40) == {claims[0].match}
    assert store.expire(NOW + LEASE_S + 1) == []
    assert len(store.expire(NOW + 40 + LEASE_S)) == 1


def test_matches_nobody_knows_are_late(store: Store) -> None:
    ladder = ladder_of(store)
    store.plan(ladder.id, [new(0, 1)], NOW)
    [claim] = store.claim("worker", 1, LEASE_S, NOW)
    store.remove_ladder(ladder.id)
    assert store.finish([won(claim)], NOW) == [Receipt(claim.match, "late")]
    assert store.void([Lost(99, 1, "?")], NOW) == [Receipt(99, "late")]
    again = ladder_of(store)
    assert store.plan(again.id, [new(0, 1)], NOW)[0] > claim.match


def test_one_batch_may_hold_results_of_many_ladders_and_voids(store: Store) -> None:
    first, second = ladder_of(store, name="first"), ladder_of(store, name="second")
    for ladder in (first, second):
        store.plan(ladder.id, [new(0, 1)] * 3, NOW)
    claims = store.claim("worker", 6, LEASE_S, NOW)
    batch = [void(claims[0]), *(won(claim) for claim in claims[1:])]
    receipts = store.finish(batch, NOW)
    assert [receipt.seq for receipt in receipts] == [None, 1, 2, 1, 2, 3]
    for ladder in (first, second):
        assert store.verify(ladder.id) == []
    assert store.finish([], NOW) == store.void([], NOW) == []


def test_claims_are_shared_between_ladders(store: Store) -> None:
    ladders = [ladder_of(store, name=name) for name in ("a", "b", "c")]
    for ladder, matches in zip(ladders, (10, 10, 1), strict=True):
        store.plan(ladder.id, [new(0, 1)] * matches, NOW)

    def claimed(n: int) -> list[int]:
        found = [claim.ladder for claim in store.claim("worker", n, LEASE_S, NOW)]
        return [found.count(ladder.id) for ladder in ladders]

    assert claimed(9) == [4, 4, 1]
    assert claimed(1) == [1, 0, 0]
    assert claimed(1) == [0, 1, 0]
    assert claimed(99) == [5, 5, 0]


def test_a_paused_ladder_hands_out_nothing_but_takes_results(store: Store) -> None:
    ladder = ladder_of(store)
    store.plan(ladder.id, [new(0, 1)] * 2, NOW)
    [claim] = store.claim("worker", 1, LEASE_S, NOW)
    store.set_ladder_state(ladder.id, "paused", "lunch")
    assert store.claim("worker", 1, LEASE_S, NOW) == store.claim("worker", 1, LEASE_S, NOW, ladder.id) == []
    assert store.finish([won(claim)], NOW)[0].status == "recorded"
    assert (store.ladder("ladder").state, store.ladder("ladder").why) == ("paused", "lunch")
    store.set_ladder_state(ladder.id, "active")
    assert len(store.claim("worker", 1, LEASE_S, NOW)) == 1


def test_an_agent_that_only_forfeits_is_suspended_and_its_matches_withdrawn(store: Store) -> None:
    ladder = ladder_of(store, 3, settings=Settings(fault_limit=3))
    store.plan(ladder.id, [new(0, 1)] * 6 + [new(1, 2)], NOW)
    revision = store.reload(ladder.id).revision
    claims = store.claim("worker", 4, LEASE_S, NOW)
    store.finish([forfeit(claims[0], 0), won(claims[1]), forfeit(claims[2], 0, "time", "0.1 s over")], NOW)
    assert store.agent(ladder.id, "agent 0").state == "active"
    assert store.reload(ladder.id).revision == revision
    store.finish([forfeit(claims[3], 0, "memory", "much too much")], NOW)
    claims = store.claim("worker", 1, LEASE_S, NOW)
    store.finish([forfeit(claims[0], 0, "crash", "bang\0\ud800")], NOW)
    agent = store.agent(ladder.id, "agent 0")
    assert (agent.state, agent.faults, agent.faults_in_a_row) == ("suspended", 4, 3)
    assert agent.reason == "forfeited 3 matches in a row, the last by crash: bang�?"
    assert store.reload(ladder.id).revision == revision + 1
    assert store.counts(ladder.id) == Counts(finished=5, waiting=1, withdrawn=1)
    assert [row.ending.reason for row in store.faults(ladder.id, 0)] == ["crash", "memory", "time", "crash"]  # type: ignore[union-attr]
    store.plan(ladder.id, [new(0, 2)], NOW)
    assert store.counts(ladder.id).withdrawn == 2
    store.set_agent_state(ladder.id, 0, "active")
    assert store.agent(ladder.id, "agent 0").faults_in_a_row == 0
    assert store.verify(ladder.id) == []


def test_what_comes_back_for_an_agent_that_left_is_withdrawn(store: Store) -> None:
    ladder = ladder_of(store)
    store.plan(ladder.id, [new(0, 1)] * 3, NOW)
    claims = store.claim("worker", 3, LEASE_S, NOW)
    store.set_agent_state(ladder.id, 1, "retired", "a new version is here")
    assert store.finish([won(claims[0])], NOW)[0].status == "recorded"
    assert store.void([claims[1].lost("node")], NOW) == [Receipt(claims[1].match, "withdrawn")]
    store.release([claims[2]])
    assert store.counts(ladder.id) == Counts(finished=1, withdrawn=2)


def test_numbers_may_come_out_of_arrays(store: Store) -> None:
    ladder = ladder_of(store)
    line = np.array([1, 0])
    ids = play(store, ladder, [new(*line, group=line[0], deal=line[1])], [(1, 2)])
    assert [row.agents for row in store.log(ladder.id)] == [(1, 0)]
    assert len(store.history(ladder.id, line[0])) == 1
    assert store.matches_of(ladder.id, line[1]) == ids


def test_bad_plans_are_refused(store: Store) -> None:
    ladder = ladder_of(store, 3)
    with pytest.raises(UserError, match="Every match of ladder ladder must have 2 agents"):
        store.plan(ladder.id, [new(0, 1), new(0, 1, 2)], NOW)
    with pytest.raises(UserError, match="64 bits"):
        store.plan(ladder.id, [new(0, 1, deal=2**63)], NOW)
    assert store.counts(ladder.id) == Counts()
    store.set_ladder_state(ladder.id, "ended", "all is known")
    with pytest.raises(UserError, match="Ladder ladder has ended"):
        store.plan(ladder.id, [new(0, 1)], NOW)


def test_matches_in_flight_and_groups_are_known(store: Store) -> None:
    ladder = ladder_of(store, 3)
    assert store.next_group(ladder.id) == 0
    assert store.in_flight(ladder.id).shape == (0, 2)
    play(store, ladder, [new(0, 1, group=0)], [(1, 2)])
    store.plan(ladder.id, [new(2, 1, group=1), new(2, 1, group=1, seating=(1, 0))], NOW)
    store.claim("worker", 1, LEASE_S, NOW)
    assert store.in_flight(ladder.id).tolist() == [[2, 1], [1, 2]]
    assert store.next_group(ladder.id) == 2
