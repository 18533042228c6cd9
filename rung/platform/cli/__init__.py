"""The `rung` command. Commands import what they need when they run, so that `--help` answers at once."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import typer

from rung import __version__
from rung.errors import UserError
from rung.platform.cli.catalogue import agents, games
from rung.platform.cli.play import play
from rung.platform.cli.replay import replay

USER_ERROR, INTERRUPTED = 2, 130

app = typer.Typer(
    help="Rung ranks game-playing agents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(games)
app.command()(agents)
app.command()(play)
app.command()(replay)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rung {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Say the version."),
) -> None:
    pass


def main() -> NoReturn:
    """Run the command; a user's mistake is one sentence and exit code 2, Ctrl-C is 130, a closed pipe is quiet."""
    try:
        app(standalone_mode=True)
    except UserError as error:
        _leave(str(error), USER_ERROR)
    except KeyboardInterrupt:
        _leave("Stopped.", INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has left; the interpreter must not try to flush what is left of it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    sys.exit(0)


def _leave(sentence: str, code: int) -> NoReturn:
    sys.stderr.write(f"rung: {sentence}\n")
    sys.exit(code)
