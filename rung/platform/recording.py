"""Recorded matches as JSON lines: one match a line, after a line that says what the file is."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, astuple
from math import isfinite
from pathlib import Path
from typing import IO, Any

from rung.errors import UserError
from rung.platform.match import Clock, Ending, Forfeit, MatchResult, MatchSpec, Played, Void

_HEADING = {"rung": "matches", "format": 1}
_ENDINGS: dict[str, type[Played] | type[Forfeit] | type[Void]] = {"played": Played, "forfeit": Forfeit, "void": Void}


def as_document(result: MatchResult) -> dict[str, Any]:
    """A result as plain data, for JSON."""
    document = asdict(result)
    kind = next(name for name, ending in _ENDINGS.items() if isinstance(result.ending, ending))
    document["ending"] = {"kind": kind, **document["ending"]}
    document["think_s"] = [round(seconds, 6) for seconds in result.think_s]
    return document


def from_document(document: dict[str, Any]) -> MatchResult:
    """The result that `as_document` wrote; of any other document a KeyError, TypeError, ValueError or the like."""
    spec = document["spec"]
    clock = Clock(**spec["clock"]) if spec["clock"] else None
    details = dict(document["ending"])
    ending: Ending = _ENDINGS[details.pop("kind")](**details)
    result = MatchResult(
        spec=MatchSpec(spec["game"], tuple(spec["agents"]), spec["deal"], spec["seed"], clock),
        version=document["version"],
        ending=ending,
        payoffs=tuple(document["payoffs"]),
        scores=tuple(document["scores"]),
        ranks=tuple(document["ranks"]),
        moves=tuple(document["moves"]),
        think_s=tuple(document["think_s"]),
    )
    if not _is_sound(result):
        raise ValueError("a value is not of its kind")
    return result


def _is_sound(result: MatchResult) -> bool:
    """Whether all values are of their kinds, and one for each seat; whether moves are legal only the game can tell."""
    spec, ending, seats = result.spec, result.ending, len(result.spec.agents)
    texts = [spec.game, *spec.agents]
    whole = [result.version, spec.deal, spec.seed, *result.ranks]
    reals = [*result.payoffs, *result.scores, *result.think_s, *(astuple(spec.clock) if spec.clock else ())]
    if isinstance(ending, Forfeit):
        whole.append(ending.seat)
        texts += [ending.reason, ending.detail]
        if ending.seat not in range(seats):
            return False
    if isinstance(ending, Void):
        texts.append(ending.detail)
    return (
        all(type(text) is str for text in texts)
        and all(type(number) is int for number in whole)
        and all(type(number) in (int, float) and isfinite(number) for number in reals)
        and len(result.payoffs) == len(result.scores) == len(result.ranks) == seats
    )


def check_writable(path: Path) -> None:
    """A user error now rather than after an hour of matches."""
    try:
        if path.exists() and not (path.is_file() and os.access(path, os.W_OK)):
            raise PermissionError
        with _beside(path) as file:
            os.unlink(file.name)
    except OSError:
        right = "name a file in a folder that exists and is yours to write to"
        raise UserError(f"{path} cannot be written: {right}.") from None


def write(path: Path, results: Iterable[MatchResult]) -> None:
    """Write the matches to a file that is there whole or not at all."""
    try:
        _write(path, results)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}.") from None


def _write(path: Path, results: Iterable[MatchResult]) -> None:
    path = path.resolve()  # what a link points to, not the link, is replaced
    with _beside(path) as file:
        try:
            for document in [_HEADING, *map(as_document, results)]:
                file.write(json.dumps(document, separators=(",", ":")) + "\n")
            file.flush()
            os.fsync(file.fileno())
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def _beside(path: Path) -> IO[str]:
    """A new file in the same folder."""
    return tempfile.NamedTemporaryFile("w", dir=path.resolve().parent, prefix=f".{path.name}.", delete=False)


def read(path: Path) -> Iterator[MatchResult]:
    """The matches of a file; a `UserError` says which line is not what it should be."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UserError(f"{path} cannot be read: {reason}.") from None
    for number, line in enumerate(lines or [""], start=1):
        try:
            document = json.loads(line)
            if number > 1:
                yield from_document(document)
                continue
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            raise UserError(f"{path}, line {number}: this is not a match as rung play --out writes it.") from None
        if document != _HEADING:
            raise UserError(f"{path} is not a file of matches as rung play --out writes it.")
