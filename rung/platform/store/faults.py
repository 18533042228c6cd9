"""What databases complain of, as sentences for people. A password is in none of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from rung.errors import UserError


class Unavailable(UserError):
    """Trouble that may pass: locked, full, unreachable. Nothing was half written; the same call can be made again."""


@dataclass(frozen=True)
class Place:
    """A database, and what it is called in messages."""

    url: sa.URL
    label: str
    wait_s: float
    """How long to wait for others who are writing."""


@contextmanager
def told(place: Place) -> Iterator[None]:
    """Says what went wrong with the database as a `UserError`; anything else is a bug and passes."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        found = _sentence(error, place)
        if not found:
            raise
        raise found from None


def _sentence(error: DBAPIError | sqlite3.Error, place: Place) -> UserError | None:
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, sqlite3.Error):
        return _of_sqlite(getattr(cause, "sqlite_errorname", ""), cause, place)
    if cause is None:
        return None
    return _of_postgres(cause, isinstance(error, DBAPIError) and error.connection_invalidated, place)


def _locked(place: Place) -> Unavailable:
    return Unavailable(f"{place.label} was kept locked by another process for {place.wait_s:g} s: let that one finish.")


def _of_sqlite(name: str, cause: sqlite3.Error, place: Place) -> UserError | None:
    label = place.label
    kind = name.removeprefix("SQLITE_").partition("_")[0]
    match kind:
        case "BUSY" | "LOCKED":
            return _locked(place)
        case "NOTADB":
            return UserError(f"{label} is not a database: name another file, or one that does not exist yet.")
        case "CORRUPT":
            return UserError(f"{label} is damaged ({cause}): put a backup in its place.")
        case "READONLY":
            return UserError(f"{label} is read-only: name a file, in a folder, that is yours to write to.")
        case "CANTOPEN":
            return UserError(f"{label} cannot be opened: name a file in a folder that exists and is yours to write to.")
        case "FULL":
            return Unavailable(f"The disk of {label} is full: make room; nothing was half written.")
        case "IOERR":
            return Unavailable(f"{label} cannot be read or written ({cause}): look at its disk.")
    return None


_BY_SQLSTATE = {
    "28P01": "does not accept this user and password",
    "28000": "does not accept this user and password",
    "3D000": "does not exist: make it with createdb",
    "25006": "is read-only: give the address of the primary server",
    "42501": "does not let this user do that: grant it all rights on the database",
}
_PASSING = {
    "53100": "has no room left on its disk: make room; nothing was half written",
    "53300": "has no connection left: close some, or raise its max_connections",
    "40P01": "broke off a transaction that stood in another's way; nothing was half written",
    "40001": "broke off a transaction that stood in another's way; nothing was half written",
}
_BY_WORDS = {
    "password authentication failed": "28P01",
    "no password supplied": "28P01",
    "no pg_hba.conf entry": "28P01",
    'role "': "28P01",
    "too many clients": "53300",
    "does not exist": "3D000",
}
"""Refusals at the door carry no code, only words."""
_LOCK_NOT_AVAILABLE = "55P03"


def _of_postgres(cause: BaseException, cut_off: bool, place: Place) -> UserError | None:
    words = str(cause)
    state = getattr(cause, "sqlstate", None)
    at_the_door = state is None and type(cause).__name__ == "OperationalError"
    if at_the_door:
        state = next((code for phrase, code in _BY_WORDS.items() if phrase in words), None)
    if state == _LOCK_NOT_AVAILABLE:
        return _locked(place)
    if state in _BY_SQLSTATE:
        return UserError(f"{place.label} {_BY_SQLSTATE[state]}.")
    if state in _PASSING:
        return Unavailable(f"{place.label} {_PASSING[state]}.")
    if at_the_door or cut_off or str(state).startswith(("08", "57P")):
        return Unavailable(
            f"{place.label} cannot be reached{_because(words, place)}: start the server, or give its address."
        )
    return None


def _because(words: str, place: Place) -> str:
    """The first line of what the driver said, unless a password is in it."""
    said = words.strip().partition("\n")[0].rstrip(" .?")
    for needless in ("connection failed: ", "connection is bad: "):
        said = said.removeprefix(needless)
    password = str(place.url.password or "")
    return f" ({said})" if said and not (password and password in said) else ""
