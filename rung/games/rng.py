"""Random numbers: SplitMix64 streams (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).

A stream is two `uint64` words, its state and its odd step. It is an argument everywhere: nothing in Rung draws from a
global generator, so the same seed gives the same match on any worker in any order. Seeds of parts (a match of a series,
a seat of a match) are derived from the whole's seed by `derive`, never by drawing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rung.jit import entry, jit

Rng = npt.NDArray[np.uint64]

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_ODD = 0xD1342543DE82EF95
_STATE, _STEP = 0, 1

_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S32, _S11 = (np.uint64(shift) for shift in (30, 27, 31, 32, 11))
_LOW32 = np.uint64(0xFFFFFFFF)
_TO_UNIT = 2.0**-53


def _mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * int(_M1)) & _MASK
    x = ((x ^ (x >> 27)) * int(_M2)) & _MASK
    return x ^ (x >> 31)


def derive(seed: int, *path: int) -> int:
    """A 63-bit seed for the part of a whole that `path` names; unrelated paths give unrelated seeds."""
    value = _mix((seed + _GOLDEN) & _MASK)
    for step in path:
        # The factor keeps seed and step apart: part 2 of whole 1 is not part 1 of whole 2.
        value = _mix((value * _ODD + _mix((step + _GOLDEN) & _MASK)) & _MASK)
    return value >> 1


def stream(seed: int) -> Rng:
    """A fresh stream for a seed."""
    step = _mix((seed + 2 * _GOLDEN) & _MASK) | 1
    return np.array([_mix((seed + _GOLDEN) & _MASK), step], dtype=np.uint64)


@jit
def draw(rng: Rng) -> np.uint64:
    """64 random bits."""
    x = rng[_STATE] + rng[_STEP]
    rng[_STATE] = x
    x = (x ^ (x >> _S30)) * _M1
    x = (x ^ (x >> _S27)) * _M2
    return x ^ (x >> _S31)


@jit
def below(rng: Rng, n: int) -> int:
    """A uniform integer in [0, n) for 0 < n < 2**32, without bias (Lemire's multiply-and-reject)."""
    bound = np.uint64(n)
    product = (draw(rng) >> _S32) * bound
    if (product & _LOW32) < bound:
        threshold = (_LOW32 + np.uint64(1) - bound) % bound
        while (product & _LOW32) < threshold:
            product = (draw(rng) >> _S32) * bound
    return int(product >> _S32)


@entry
def index(rng: Rng, n: int) -> int:
    """`below`, for Python to call."""
    return below(rng, n)


@jit
def unit(rng: Rng) -> float:
    """A uniform real in [0, 1)."""
    return np.float64(draw(rng) >> _S11) * _TO_UNIT


@jit
def shuffle(items: npt.NDArray[np.int64], n: int, rng: Rng) -> None:
    """Put the first n items into a uniformly random order."""
    for i in range(n - 1, 0, -1):
        j = below(rng, i + 1)
        items[i], items[j] = items[j], items[i]


@jit
def pick(weights: npt.NDArray[np.float64], n: int, rng: Rng) -> int:
    """An index in [0, n) with probability proportional to its weight."""
    total = 0.0
    for i in range(n):
        total += weights[i]
    left = unit(rng) * total
    for i in range(n - 1):
        left -= weights[i]
        if left < 0.0:
            return i
    return n - 1
