"""The ladder's loop on real stores and runners: the same matches whoever plays them, whatever interrupts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from rung.errors import UserError
from rung.platform.beliefs import Beliefs, some_of
from rung.platform.cli.ranking import believed
from rung.platform.ladder import LadderLoop
from rung.platform.match import Clock
from rung.platform.rules import Limits, Rules
from rung.platform.runner import Done, Runner, Task, open_runner
from rung.platform.store import Ladder, LogColumns, Settings, Store, open_store
from rung.scheduler import glicko2

AGENTS = ("random", "first", "osla", "mcts(iterations=20)")
NOW = 1_000.0
Played = list[tuple[int, tuple[int, ...], tuple[int, ...]]]


def ladder_in(store: Store, rules: Rules, game: str = "connect_four", agents: Sequence[str] = AGENTS) -> Ladder:
    ladder = store.create_ladder("cup", game, NOW, Settings(options=rules.as_data()))
    for spec in agents:
        store.add_agent(ladder.id, spec, spec, NOW)
    return store.reload(ladder.id)


def play(store: Store, runner: Runner, **options: object) -> LadderLoop:
    loop = LadderLoop(store, runner, store.ladder("cup"), **options)  # type: ignore[arg-type]
    while loop.turn(0.05):
        pass
    return loop


def played(store: Store, ladder: Ladder) -> Played:
    """Each match with its group, who sat where and who came where, whatever the order of the log."""
    log = store.columns(ladder.id)
    return sorted(zip(log.group.tolist(), map(tuple, log.agents.tolist()), map(tuple, log.ranks.tolist()), strict=True))


class Stubborn:
    """A runner that loses matches of one agent each time, as if its worker had died."""

    def __init__(self, inner: Runner, victim: str) -> None:
        self.inner, self.victim = inner, victim
        self.lost: list[Task] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def submit(self, tasks: Sequence[Task]) -> None:
        self.lost += [task for task in tasks if self.victim in task.spec.agents]
        self.inner.submit([task for task in tasks if self.victim not in task.spec.agents])

    def collect(self, timeout_s: float) -> list[Done]:
        lost, self.lost = self.lost, []
        return [Done(task, None, "the worker died", "w", 0.1, True) for task in lost] + self.inner.collect(0.0)


@contextmanager
def store_at(folder: Path) -> Iterator[Store]:
    with open_store(str(folder / "rung.db")) as store:
        yield store


def test_the_same_matches_on_every_runner(tmp_path: Path) -> None:
    found: dict[str, Played] = {}
    for address in ("serial", "pool", "local"):
        (folder := tmp_path / address).mkdir()
        with store_at(folder) as store, open_runner(address, 2) as runner:
            ladder = ladder_in(store, Rules(seed=5, limits=Limits(matches=150)))
            loop = play(store, runner)
            assert loop.closing.startswith("The budget is used up: ")
            assert store.verify(ladder.id) == []
            found[address] = played(store, ladder)
    assert 150 <= len(found["serial"]) <= 152
    assert found["serial"] == found["pool"] == found["local"]


def test_another_seed_other_matches(tmp_path: Path) -> None:
    found = []
    for seed in (1, 2):
        (folder := tmp_path / str(seed)).mkdir()
        with store_at(folder) as store, open_runner("serial") as runner:
            ladder = ladder_in(store, Rules(seed=seed, limits=Limits(matches=40)))
            play(store, runner)
            found.append(played(store, ladder))
    assert found[0] != found[1]


@pytest.mark.parametrize("rule", ["gain", "z", "swiss"])
def test_an_interrupted_ladder_plays_the_same_matches(tmp_path: Path, rule: str) -> None:
    """Twice it is gone without a word, so that its claims must expire; then it is stopped again and again."""
    rules = Rules(seed=5, rule=rule, limits=Limits(matches=120))
    (whole := tmp_path / "whole").mkdir()
    with store_at(whole) as store, open_runner("serial") as runner:
        ladder = ladder_in(store, rules)
        play(store, runner)
        expected = played(store, ladder)
    clock = [NOW]
    with store_at(tmp_path) as store:
        ladder = ladder_in(store, rules)
        going, starts = True, 0
        while going:
            with open_runner("serial") as runner:
                loop = LadderLoop(store, runner, store.ladder("cup"), now=lambda: clock[0])
                going = all(loop.turn(0.0) for _ in range(7))
                if starts >= 2:
                    runner.stop(now=True)
                    loop.hand_in(runner.collect(0.0))
                    loop.give_back()
            clock[0] += 1000.0
            starts += 1
        assert starts > 3
        assert played(store, ladder) == expected
        assert store.verify(ladder.id) == []


def test_it_ends_when_all_is_settled_and_says_so(tmp_path: Path) -> None:
    with store_at(tmp_path) as store, open_runner("serial") as runner:
        ladder = ladder_in(store, Rules(limits=Limits(settled=1.0)), agents=("random", "mcts(iterations=200)"))
        loop = play(store, runner)
        assert loop.closing == "The one pair is settled (1 separated)."
        assert store.reload(ladder.id).log_length < 150
        assert loop.beliefs().separation.counts == believed(store, ladder).separation.counts


def test_it_ends_when_nothing_is_worth_playing_though_no_rule_says_so(tmp_path: Path) -> None:
    with store_at(tmp_path) as store, open_runner("serial") as runner:
        ladder_in(store, Rules(limits=Limits(matches=100_000)), agents=("random", "mcts(iterations=200)"))
        assert play(store, runner).closing == "The one pair is settled (1 separated)."


def test_a_standing_ladder_waits_for_newcomers(tmp_path: Path) -> None:
    with store_at(tmp_path) as store, open_runner("serial") as runner:
        ladder = ladder_in(store, Rules(), agents=("random", "mcts(iterations=200)"))
        clock = [NOW]
        loop = LadderLoop(store, runner, store.ladder("cup"), standing=True, now=lambda: clock[0])
        turns = iter(range(10_000))
        while loop.unplayed or not loop.beliefs().separation.share:
            assert loop.turn(0.0)
            assert next(turns) < 9_000
        before = store.reload(ladder.id).log_length
        store.add_agent(ladder.id, "osla", "osla", NOW)
        clock[0] += 60.0
        while store.agent(ladder.id, "osla").matches == 0:
            assert loop.turn(0.0)
            assert next(turns) < 9_999
        assert store.reload(ladder.id).log_length > before


def test_matches_that_always_fail_are_parked_and_do_not_hold_up_the_rest(tmp_path: Path) -> None:
    with store_at(tmp_path) as store, open_runner("serial") as inner:
        ladder = ladder_in(store, Rules(rule="round_robin", limits=Limits(matches=120)))
        loop = play(store, Stubborn(inner, "osla"))  # type: ignore[arg-type]
        counts = store.counts(ladder.id)
        assert counts.parked > 10
        assert counts.finished + counts.parked == 120
        assert counts.waiting == counts.claimed == 0
        (parked, *_) = store.matches_in(ladder.id, "parked", 1)
        assert [attempt.detail for attempt in store.voids(parked.id)] == ["the worker died"] * 3
        assert loop.closing
        assert store.agent(ladder.id, "osla").matches == 0


def test_a_budget_of_time_ends_a_ladder_between_rounds(tmp_path: Path) -> None:
    with store_at(tmp_path) as store, open_runner("serial") as runner:
        ladder = ladder_in(store, Rules(limits=Limits(time_s=50.0)))
        clock = [NOW]

        def now() -> float:
            clock[0] += 1.0
            return clock[0]

        loop = play(store, runner, now=now)
        assert loop.closing.startswith("The budget is used up: ")
        assert "seconds have passed" in loop.closing
        counts = store.counts(ladder.id)
        assert counts.finished > 0
        assert counts.claimed == 0


def test_games_of_more_seats(tmp_path: Path) -> None:
    with store_at(tmp_path) as store, open_runner("serial") as runner:
        game = "sushi_go(players=3)"
        ladder = ladder_in(
            store, Rules(limits=Limits(matches=60)), game, ("random", "first", "osla", "mcts(iterations=10)")
        )
        loop = play(store, runner)
        assert store.reload(ladder.id).log_length == 60
        assert loop.beliefs().evidence.records.met.sum() == pytest.approx(
            10 * 3 / 2
        )  # groups of 6, 3 pairs of weight 1/2
        assert store.verify(ladder.id) == []


def test_rules_survive_the_store() -> None:
    rules = Rules(3, False, Clock(5.0, 0.1), "z", 0.01, 20.0, True, Limits(0.9, 2, ("a", "b"), 10, 5.0, 6.0))
    assert Rules.of_data(json.loads(json.dumps(rules.as_data()))) == rules
    assert Rules.of_data(Rules().as_data()) == Rules()


def test_a_ladder_of_another_version_of_the_game_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rung.games.connect_four import ConnectFour

    with store_at(tmp_path) as store, open_runner("serial") as runner:
        ladder = ladder_in(store, Rules())
        monkeypatch.setattr(ConnectFour, "version", ConnectFour.version + 1)
        with pytest.raises(UserError, match="results do not mix"):
            LadderLoop(store, runner, ladder)


# -- beliefs ---------------------------------------------------------------------------------------------------------


def rows(agents: list[list[int]], ranks: list[list[int]], groups: list[int]) -> LogColumns:
    n = len(groups)
    ids, everybody = np.arange(n), np.ones(n)
    nobody = np.full(n, -1)
    return LogColumns(
        ids + 1, ids, np.array(groups), np.array(agents), np.array(ranks), nobody, everybody > 0, everybody
    )


Make = Callable[[], Beliefs]


@pytest.fixture
def fresh() -> Make:
    def make() -> Beliefs:
        made = Beliefs((0, 1), 2, glicko2.STATIC, 0.05, 35.0)
        made.grow(3)
        return made

    return make


def test_a_group_is_one_observation_once_it_is_whole(fresh: Make) -> None:
    beliefs = fresh()
    won_both = rows([[0, 1], [1, 0], [0, 2]], [[1, 2], [2, 1], [1, 2]], [7, 7, 8])
    beliefs.add(won_both)
    assert beliefs.matches == 3
    known = beliefs.evidence.records
    assert (known.low.tolist(), known.high.tolist(), known.wins.tolist()) == ([0], [1], [1.0])
    beliefs.add(rows([[2, 0]], [[1, 2]], [8]))  # the first seat won both of group 8: an even group
    assert beliefs.evidence.records.draws.tolist() == [0.0, 1.0]


def test_cutting_the_log_changes_nothing(fresh: Make) -> None:
    source = np.random.default_rng(1)
    pairs = [[0, 1], [1, 0], [1, 2], [2, 1], [0, 2], [2, 0]] * 5
    ranks = [[1, 2] if source.random() < 0.6 else [2, 1] for _ in pairs]
    every = rows(pairs, ranks, [number // 2 for number in range(30)])
    at_once, by_parts = fresh(), fresh()
    at_once.add(every)
    for start in range(0, 30, 7):
        by_parts.add(some_of(every, np.arange(start, min(start + 7, 30))))
    assert np.array_equal(at_once.ratings.rating, by_parts.ratings.rating)
    assert all(np.array_equal(a, b) for a, b in zip(at_once.evidence.records, by_parts.evidence.records, strict=True))
    assert np.allclose(at_once.costs(), by_parts.costs())


def test_looking_ahead_leaves_the_beliefs_alone(fresh: Make) -> None:
    beliefs = fresh()
    beliefs.add(rows([[0, 1], [1, 0]], [[1, 2], [2, 1]], [1, 1]))
    before = (beliefs.matches, beliefs.evidence.records.wins.tolist(), beliefs.costs().tolist())
    ahead = beliefs.copy_with(rows([[0, 1], [1, 0]], [[1, 2], [2, 1]], [2, 2]))
    assert ahead.evidence.records.wins.tolist() == [2.0]
    assert (beliefs.matches, beliefs.evidence.records.wins.tolist(), beliefs.costs().tolist()) == before
