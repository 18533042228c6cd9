"""Kernel games: a game as a handful of compiled functions over one fixed-size `int64` array.

A game's author writes plain functions named as in `SIGNATURES` and marks each with `@kernel`. Rung compiles them, when
first needed, to C functions and hands their *addresses* to the search engine, so the engine is compiled once for all games
and a call into the game costs about two nanoseconds. Inside a kernel `state`, `out` and `rng` are bare pointers: index
them (`state[3]`), but they have no length and no slices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np import arrayobj

from rung import jit
from rung.games.rng import Rng

Cells = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

CHANCE: Final = -1
OVER: Final = -2
HIDDEN: Final = -(1 << 62)
"""What `observe` writes into a cell that the seat cannot know."""

_CELLS = types.CPointer(types.int64)
_REALS = types.CPointer(types.float64)
_RNG = types.CPointer(types.uint64)

SIGNATURES: Final = {
    "setup": types.void(_CELLS, _CELLS, _RNG),
    "turn": types.int64(_CELLS),
    "legal": types.int64(_CELLS, _CELLS),
    "apply": types.void(_CELLS, types.int64, _RNG),
    "odds": types.void(_CELLS, _REALS),
    "payoff": types.void(_CELLS, _REALS),
    "score": types.void(_CELLS, _REALS),
    "observe": types.void(_CELLS, types.int64, _CELLS),
    "determinize": types.void(_CELLS, types.int64, _RNG),
    "label": types.int64(_CELLS, types.int64, types.int64),
    "allows": types.int64(_CELLS, types.int64),
    "sample": types.int64(_CELLS, _RNG),
    "playout": types.void(_CELLS, _RNG),
    "suggest": types.int64(_CELLS, _RNG),
    "value": types.float64(_CELLS, types.int64),
}


class Kernel:
    """One of a game's functions; `address` compiles it, or loads it compiled."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = function.__name__
        if self.name not in SIGNATURES:
            raise TypeError(f"{self.name} is not a kernel; the kernels are {', '.join(SIGNATURES)}")
        self.function = function
        self._compiled: Any = None

    @property
    def address(self) -> int:
        if self._compiled is None:
            self._compiled = jit.callback(SIGNATURES[self.name], self.function)
        address: int = self._compiled.address
        return address


def kernel(function: Callable[..., Any]) -> Kernel:
    """Mark a function as the game's kernel of that name."""
    return Kernel(function)


@dataclass(frozen=True)
class Kernels:
    """A game's kernels. The first five every game has; what the others do without is said beside each."""

    setup: Kernel
    turn: Kernel
    legal: Kernel
    apply: Kernel
    payoff: Kernel
    odds: Kernel | None = None  # no dice
    score: Kernel | None = None  # the payoff is the score
    observe: Kernel | None = None  # everybody sees everything
    determinize: Kernel | None = None  # nothing to guess
    label: Kernel | None = None  # moves are seen as they are
    allows: Kernel | None = None  # look for the action among the listed ones
    sample: Kernel | None = None  # pick among the listed ones
    playout: Kernel | None = None  # sample and apply until the end
    suggest: Kernel | None = None  # a uniform legal action
    value: Kernel | None = None  # one half: no opinion

    def __post_init__(self) -> None:
        for field in fields(self):
            given = getattr(self, field.name)
            if given is not None and given.name != field.name:
                raise TypeError(f"the kernel given as {field.name} is called {given.name}")
        if (self.observe is None) != (self.determinize is None):
            raise TypeError("a game with hidden cells needs both observe and determinize")


# The table that carries a game into compiled code: its sizes, then the addresses of its kernels, 0 for a missing one.
TABLE_CELLS, TABLE_SEATS, TABLE_MAX_LEGAL, TABLE_MAX_MOVES = range(4)
_FIRST_ADDRESS = 4
_NAMES = list(SIGNATURES)
ODDS, SCORE, OBSERVE, DETERMINIZE, LABEL, ALLOWS, SAMPLE, PLAYOUT, SUGGEST, VALUE = (
    _FIRST_ADDRESS + _NAMES.index(name)
    for name in ("odds", "score", "observe", "determinize", "label", "allows", "sample", "playout", "suggest", "value")
)

Table = npt.NDArray[np.int64]


def table(kernels: Kernels, cells: int, seats: int, max_legal: int, max_moves: int) -> Table:
    """The table of one game."""
    addresses = [k.address if (k := getattr(kernels, name)) is not None else 0 for name in _NAMES]
    return np.array([cells, seats, max_legal, max_moves, *addresses], dtype=np.int64)


def _first_element(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.CPointer):
        return value
    return arrayobj.make_array(kind)(context, builder, value).data


def _pointer(typing: Any, array: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _first_element(context, builder, signature.args[0], arguments[0])

    kind = array if isinstance(array, types.CPointer) else types.CPointer(array.dtype)
    return kind(array), code


pointer: Any = intrinsic(_pointer)
"""The address of an array's first element, typed; of a pointer, itself.

Compiled code counts the references to every array it passes on, which costs more than a kernel does, so hot loops work on
pointers throughout.
"""


def _caller(name: str) -> Any:
    """A compiled function `call(table, …)` that jumps to the kernel's address in the table."""
    kernel_signature = SIGNATURES[name]
    slot = _FIRST_ADDRESS + _NAMES.index(name)

    def typed(table: Any) -> Any:
        return kernel_signature.return_type(table, *kernel_signature.args)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        cells = _first_element(context, builder, signature.args[0], arguments[0])
        address = builder.load(builder.gep(cells, [ir.Constant(ir.IntType(64), slot)]))
        returns_nothing = kernel_signature.return_type == types.void
        result = ir.VoidType() if returns_nothing else context.get_value_type(kernel_signature.return_type)
        function = ir.FunctionType(result, [context.get_value_type(a) for a in kernel_signature.args])
        value = builder.call(builder.inttoptr(address, function.as_pointer()), arguments[1:])
        return context.get_dummy_value() if returns_nothing else value

    # An intrinsic needs a fixed number of arguments, so there is one shape for each number.
    if len(kernel_signature.args) == 1:
        return intrinsic(lambda typing, table, a: (typed(table), code))
    if len(kernel_signature.args) == 2:
        return intrinsic(lambda typing, table, a, b: (typed(table), code))
    return intrinsic(lambda typing, table, a, b, c: (typed(table), code))


call_setup = _caller("setup")
call_turn = _caller("turn")
call_legal = _caller("legal")
call_apply = _caller("apply")
call_odds = _caller("odds")
call_payoff = _caller("payoff")
call_score = _caller("score")
call_observe = _caller("observe")
call_determinize = _caller("determinize")
call_label = _caller("label")
call_allows = _caller("allows")
call_sample = _caller("sample")
call_playout = _caller("playout")
call_suggest = _caller("suggest")
call_value = _caller("value")

__all__ = [
    "CHANCE",
    "HIDDEN",
    "OVER",
    "Cells",
    "Kernel",
    "Kernels",
    "Reals",
    "Rng",
    "Table",
    "kernel",
    "pointer",
    "table",
]
