"""Where the commands' tables and progress bars go."""

from __future__ import annotations

from typing import NoReturn

from rich.console import Console


class Terminal(Console):
    """Rich's console, except that a closed pipe is left to `main` to speak of."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError
