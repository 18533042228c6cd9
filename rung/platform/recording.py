"""Recorded matches as JSON lines: one match a line, after a line that says what the file is."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

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
    """The result that `as_document` wrote."""
    spec = document["spec"]
    clock = Clock(**spec["clock"]) if spec["clock"] else None
    details = dict(document["ending"])
    ending: Ending = _ENDINGS[details.pop("kind")](**details)
    return MatchResult(
        spec=MatchSpec(spec["game"], tuple(spec["agents"]), spec["deal"], spec["seed"], clock),
        version=document["version"],
        ending=ending,
        payoffs=tuple(document["payoffs"]),
        scores=tuple(document["scores"]),
        ranks=tuple(document["ranks"]),
        moves=tuple(document["moves"]),
        think_s=tuple(document["think_s"]),
    )


def check_writable(path: Path) -> None:
    """A user error now rather than after an hour of matches."""
    folder = path.parent
    if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UserError(f"{path} cannot be written: name a file in a folder that exists and is yours to write to.")


def write(path: Path, results: Iterable[MatchResult]) -> None:
    """Write the matches to a file that is there whole or not at all."""
    try:
        _write(path, results)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}.") from None


def _write(path: Path, results: Iterable[MatchResult]) -> None:
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
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
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise UserError(f"{path}, line {number}: this is not a match as rung play --out writes it.") from None
        if document != _HEADING:
            raise UserError(f"{path} is not a file of matches as rung play --out writes it.")
