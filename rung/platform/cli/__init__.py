"""The `rung` command. Commands import what they need when they run, so that `--help` answers at once."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import NoReturn

import typer
from typer.exceptions import TyperException

from rung import __version__
from rung.errors import UserError, is_interrupt
from rung.platform.cli.catalogue import agents, games
from rung.platform.cli.play import play
from rung.platform.cli.ranking import ladders, rank, verify
from rung.platform.cli.replay import replay
from rung.platform.cli.simulate import simulate
from rung.platform.cli.tournament import tournament

USER_ERROR, INTERRUPTED = 2, 130
_ASKS_FOR_COMPLETIONS = "_RUNG_COMPLETE"
"""Set by the shell when somebody presses Tab."""

app = typer.Typer(pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]})
app.command()(games)
app.command()(agents)
app.command()(play)
app.command()(replay)
app.command()(simulate)
app.command()(tournament)
app.command()(ladders)
app.command()(rank)
app.command()(verify)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rung {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _rung(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Say the version."),
) -> None:
    """Rung ranks game-playing agents."""
    if not context.invoked_subcommand:
        typer.echo(context.get_help())


def main() -> NoReturn:
    """Run the command. What goes wrong is said in one sentence: a user's mistake exits with 2, Ctrl-C with 130."""
    if _ASKS_FOR_COMPLETIONS in os.environ:
        app()
    _open_streams()
    try:
        sys.exit(_run(sys.argv[1:]))
    except UserError as error:
        _leave(str(error), USER_ERROR)
    except TyperException as error:
        _leave(_sentence(error), USER_ERROR)
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interrupt(error):
            raise
        _leave("Stopped.", INTERRUPTED)
    except OSError as error:
        if error.errno != errno.ENOSPC and not isinstance(error, BrokenPipeError):
            raise
        # Nobody can read the rest of the output, so the interpreter must not try to write it when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _leave("The output was closed, or its disk is full, before it was all written.", USER_ERROR)


def _open_streams() -> None:
    """Text goes out whatever the terminal's encoding: what it cannot show becomes a question mark."""
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115 - closed by the caller, as in `rung … 2>&-`
    if sys.stdout is None:
        _leave("There is no standard output to write to.", USER_ERROR)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _run(arguments: list[str]) -> int:
    command = typer.main.get_command(app)
    try:
        with command.make_context("rung", arguments) as context:
            command.invoke(context)
    except typer.Exit as leaving:
        return leaving.exit_code
    finally:
        sys.stdout.flush()
    return 0


def _sentence(error: TyperException) -> str:
    """A mistake in the command line, and where to read what would be right."""
    said = error.format_message()
    context = getattr(error, "ctx", None)
    if context is None or said.endswith("?"):
        return said
    return f"{said.rstrip('.')}; {context.command_path} --help tells more."


def _leave(sentence: str, code: int) -> NoReturn:
    sys.stderr.write(f"rung: {sentence}\n")
    sys.exit(code)
