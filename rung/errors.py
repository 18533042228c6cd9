"""A user's mistake, and the one sentence that says what would be right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Something the user can put right. The message is one sentence; the shell prints it and exits with 2."""


def unknown(kind: str, name: str, known: Iterable[str]) -> UserError:
    """The error for a name nobody knows: it offers the nearest known name, and lists them all."""
    names = sorted(known)
    by_lower = {known_name.lower(): known_name for known_name in names}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5)
    hint = f"Did you mean {by_lower[near[0]]}? " if near else ""
    listing = f"Known: {', '.join(names)}." if names else "There are none."
    return UserError(f"There is no {kind} called {name!r}. {hint}{listing}")


def is_interrupt(error: BaseException) -> bool:
    """Whether this is Ctrl-C. Where it arrives just as compiled code is called, it comes out as a `SystemError`."""
    return isinstance(error, KeyboardInterrupt) or (
        isinstance(error, SystemError) and isinstance(error.__cause__ or error.__context__, KeyboardInterrupt)
    )
