"""Random streams: repeatable, unrelated to each other, and uniform."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rung.games.rng import derive, draw, index, pick, shuffle, stream, unit

SEEDS = st.integers(-(2**70), 2**70)


def chi_square(counts: Counter[object], expected: dict[object, float]) -> float:
    assert set(counts) <= set(expected)
    return sum((counts[key] - mean) ** 2 / mean for key, mean in expected.items())


@given(SEEDS)
def test_a_seed_gives_one_stream(seed: int) -> None:
    first, second = stream(seed), stream(seed)
    assert [index(first, 1000) for _ in range(5)] == [index(second, 1000) for _ in range(5)]


@given(SEEDS, st.lists(st.integers(0, 2**64), max_size=3))
def test_derived_seeds_fit_and_repeat(seed: int, path: list[int]) -> None:
    assert 0 <= derive(seed, *path) < 2**63
    assert derive(seed, *path) == derive(seed, *path)


def test_paths_do_not_collide() -> None:
    paths = [(a,) for a in range(300)] + [(a, b) for a in range(60) for b in range(60)]
    seeds = {derive(seed, *path) for seed in range(10) for path in paths}
    assert len(seeds) == 10 * len(paths)


def test_neighbouring_seeds_are_unrelated() -> None:
    """Half the bits differ between the first draws of neighbours: 64 000 coin flips, five deviations wide."""
    flips = sum(int(draw(stream(seed)) ^ draw(stream(seed + 1))).bit_count() for seed in range(1000))
    assert abs(flips - 32_000) < 5 * np.sqrt(64_000 / 4)


def test_the_reference_generator() -> None:
    """With SplitMix64's own start and step the draws are those its authors publish for seed 1234567."""
    rng = np.array([1234567, 0x9E3779B97F4A7C15], dtype=np.uint64)
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [int(draw(rng)) for _ in range(4)] == published


@pytest.mark.parametrize("n", [1, 2, 3, 7, 52])
def test_below_is_uniform(n: int) -> None:
    rng, draws = stream(n), 20_000
    counts: Counter[object] = Counter(index(rng, n) for _ in range(draws))
    degrees = n - 1
    assert chi_square(counts, dict.fromkeys(range(n), draws / n)) <= degrees + 5 * np.sqrt(2 * degrees)


def test_below_is_unbiased_where_rejection_matters() -> None:
    """For 3 · 2³⁰ a plain remainder of 32 bits would fall below 2³⁰ half the time; the right share is a third."""
    rng, draws, n = stream(1), 20_000, 3 * 2**30
    low = sum(index(rng, n) < 2**30 for _ in range(draws))
    assert abs(low - draws / 3) < 5 * np.sqrt(draws * 2 / 9)


def test_shuffle_reaches_every_order_alike() -> None:
    rng, draws = stream(3), 12_000
    counts: Counter[object] = Counter()
    for _ in range(draws):
        items = np.arange(5, dtype=np.int64)
        shuffle(items, 4, rng)
        assert items[4] == 4
        counts[tuple(items[:4].tolist())] += 1
    degrees = factorial(4) - 1
    expected: dict[object, float] = dict.fromkeys(permutations(range(4)), draws / factorial(4))
    assert chi_square(counts, expected) <= degrees + 5 * np.sqrt(2 * degrees)


def test_pick_follows_its_weights_and_unit_stays_in_range() -> None:
    weights, rng, draws = np.array([0.5, 0.0, 1.5, 2.0]), stream(5), 20_000
    counts: Counter[object] = Counter(pick(weights, 4, rng) for _ in range(draws))
    assert counts[1] == 0
    expected: dict[object, float] = {0: draws / 8, 2: draws * 3 / 8, 3: draws / 2}
    assert chi_square(counts, expected) <= 2 + 5 * np.sqrt(4)
    values = [unit(rng) for _ in range(1000)]
    assert min(values) >= 0.0
    assert max(values) < 1.0
