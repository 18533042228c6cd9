"""How values that are no columns of their own are written down."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from rung.platform.match import Ending, Forfeit, Played
from rung.platform.store.records import Settings
from rung.scheduler import glicko2
from rung.scheduler.comparisons import Ints

_LONGEST_TEXT = 65_536
_MICRO = 1e-6
_PLAYED, _FORFEIT = "played", "forfeit"
_to_json = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


def as_list(values: Iterable[object]) -> str:
    """Numbers of the seats, as JSON."""
    return _to_json(list(values))


def from_list(text: str) -> tuple[Any, ...]:
    return tuple(json.loads(text))


def table(texts: Sequence[str], columns: int) -> Ints:
    """Many such lists of whole numbers at once, a row each."""
    numbers = ",".join(texts).replace("[", "").replace("]", "")  # a tenth of the time that JSON takes
    return np.fromstring(numbers, dtype=np.int64, sep=",").reshape(-1, columns)


def clean(text: str) -> str:
    """Text that every database takes, whatever an agent wrote: without NUL and broken surrogates, and not endless."""
    return text[:_LONGEST_TEXT].replace("\0", "�").encode("utf-8", "replace").decode()


def pack(moves: Sequence[int], think_s: Sequence[float]) -> bytes:
    """Moves and think times: zlib over JSON, a list of the actions and a list of whole microseconds."""
    document = [list(moves), [round(seconds / _MICRO) for seconds in think_s]]
    return zlib.compress(_to_json(document).encode(), level=1)


def unpack(packed: bytes) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The moves, and the think times to the microsecond."""
    moves, micros = json.loads(zlib.decompress(packed))
    return tuple(moves), tuple(micro / 1_000_000 for micro in micros)


def ending_columns(ending: Ending, agents: Sequence[int]) -> dict[str, Any]:
    """How a match ended, as columns of the log."""
    if isinstance(ending, Forfeit):
        return {
            "ending": _FORFEIT,
            "ending_seat": ending.seat,
            "reason": ending.reason,
            "detail": clean(ending.detail),
            "culprit": agents[ending.seat],
        }
    return {"ending": _PLAYED, "ending_seat": None, "reason": "", "detail": "", "culprit": None}


def ending_of(row: Any) -> Ending:
    """How the match of a row of the log ended."""
    return Forfeit(row.ending_seat, row.reason, row.detail) if row.ending == _FORFEIT else Played()


def settings_text(settings: Settings) -> str:
    return _to_json(asdict(settings))


def settings_of(text: str) -> Settings:
    document = json.loads(text)
    return Settings(**{**document, "glicko": glicko2.Settings(**document["glicko"])})
