"""Move by move against OpenSpiel, an independent implementation in C++ (Lanctot et al., arXiv:1908.09453)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rung.games.compiled import KernelGame, KernelState
from rung.games.rng import stream

ToPeer = Callable[[KernelState, int], int]
"""Our action in a state, as OpenSpiel numbers it."""


def same_number(state: KernelState, action: int) -> int:
    return action


@pytest.fixture
def compare_with_openspiel() -> Callable[..., None]:
    """`compare(game, its name at OpenSpiel, matches, to_peer)`; tests that ask for it are skipped without OpenSpiel."""
    pyspiel = pytest.importorskip("pyspiel")

    def compare(game: KernelGame, peer: str, matches: int, to_peer: ToPeer = same_number) -> None:
        """Play random matches on both sides; turn, legal actions, end and payoffs agree after every move."""
        peer_game = pyspiel.load_game(peer)
        rng = stream(1)
        for _ in range(matches):
            ours, theirs = game.new_state(rng), peer_game.new_initial_state()
            assert_same(ours, theirs, to_peer)
            while not ours.over:
                action = ours.sample(rng)
                theirs.apply_action(to_peer(ours, action))
                ours.apply(action, rng)
                assert_same(ours, theirs, to_peer)

    return compare


def assert_same(ours: KernelState, theirs: Any, to_peer: ToPeer) -> None:
    assert ours.over == theirs.is_terminal()
    if ours.over:
        assert [2 * payoff - 1 for payoff in ours.payoffs()] == theirs.returns()
    else:
        assert ours.turn == theirs.current_player()
        assert sorted(to_peer(ours, action) for action in ours.legal().tolist()) == theirs.legal_actions()
