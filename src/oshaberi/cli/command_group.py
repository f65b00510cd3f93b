"""The `oshaberi` command group: names its commands and turns errors into exit statuses.

An error is one line on stderr; a traceback only with --debug.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from itertools import takewhile
from typing import TextIO

import click
from click.shell_completion import CompletionItem

from oshaberi import __version__
from oshaberi.cli import INTERRUPTED, SERVICE
from oshaberi.errors import OshaberiError, TemporaryError

# Exit statuses, and which error leads to which (see docs/decisions/0014).
#
# Service managers start `run`, and decide by its status whether to start it again. People type
# the other commands: for them bad input is always 2.


BAD_INPUT = 2
INTERNAL_ERROR = 70
TEMPORARY = 75
"""EX_TEMPFAIL: the problem may go away by itself."""
CONFIGURATION = 78
"""EX_CONFIG: the problem stays until somebody changes something."""
BROKEN_PIPE = 141


def status_of(error: OshaberiError | OSError, command: str) -> int:
    """Return the exit status of a command that ends with this error."""
    if command != SERVICE:
        return BAD_INPUT
    if isinstance(error, OSError):
        settled = isinstance(error, PermissionError | FileNotFoundError | NotADirectoryError)
        return CONFIGURATION if settled else TEMPORARY
    return TEMPORARY if isinstance(error, TemporaryError) else CONFIGURATION


DEBUG = "--debug"
COMPLETE = "_OSHABERI_COMPLETE"
"""The variable in which a shell asks for completions."""

COMMANDS = {
    "run": "Run the bot: on Discord with a token, on the local stage without.",
    "init": "Put a bot on Discord: ask for token and model, write the settings.",
    "chunk": "Cut text into Discord messages.",
    "replay": "Play scenes through the whole pipeline; --check compares.",
    "record": "Ask a model, and save its stream as a scene.",
    "explain": "Explain why a scene became these messages, decision by decision.",
    "doctor": "Check token, permissions, models, database, fonts; say what to do.",
    "models": "List the models that an endpoint offers.",
    "settings": "List the settings, or explain some of them.",
    "config": "Show the settings, and where each of them comes from.",
    "db": "Upgrade, back up or restore the database.",
    "data": "Export, move or delete a user's or a server's data.",
    "persona": "Bring in character cards, and write personas as cards.",
    "stage": "Run any discord.py bot on a local Discord.",
    "bench": "Measure what the engine, streams and adapters cost.",
    "completion": "Print a script that lets your shell complete commands.",
}


class LazyGroup(click.Group):
    """A click group that lists its commands without importing them."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        # Modules are not garbage: collecting while they load takes a tenth of the start-up time.
        gc.disable()
        command: click.Command = import_module(f"oshaberi.cli.commands.{cmd_name}").command
        gc.enable()
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = args[0] in COMMANDS or args[0].startswith("-")
        if not known and not ctx.resilient_parsing:
            raise click.UsageError(f"no such command {args[0]!r}{_near(args[0])}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        found = [name for name in COMMANDS if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(name, help=COMMANDS[name]) for name in found] + options


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=lambda context, _option, asked: _show_version(context) if asked else None,
    help="Show the version, and whether the text engine is compiled.",
)
@click.option(DEBUG, is_flag=True, help="Show a traceback when something goes wrong.")
def app(debug: bool) -> None:
    """Send a language model's answers to Discord, as messages that a person would write.

    \b
    Examples:
      oshaberi run                  # try the bot in your browser, without a token
      oshaberi chunk answer.md      # only cut a text into messages
    """


def _show_version(context: click.Context) -> None:
    from oshaberi.cli.engine_build import build_name

    click.echo(f"oshaberi {__version__} (text engine: {build_name()})")
    context.exit()


def run(args: Sequence[str]) -> int:
    """Run the command line. Return the exit status, however it ends."""
    _write_anything()
    try:
        if COMPLETE in os.environ:
            return _complete(os.environ[COMPLETE])
        # Not `app.main`: it handles Ctrl-C and closed pipes differently.
        with app.make_context("oshaberi", list(args)) as context:
            status = app.invoke(context)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except click.ClickException as error:
        return _refuse(_usage_line(error), args, BAD_INPUT)
    except OshaberiError as error:
        return _refuse(str(error), args, status_of(error, _command_in(args)))
    except BrokenPipeError:
        _leave_pipe()
        return BROKEN_PIPE
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except OSError as error:
        _leave_pipe()
        what = f"cannot continue: {error.strerror or error}"
        return _refuse(what, args, status_of(error, _command_in(args)))
    except Exception as error:
        if _was_interrupted(error):
            return INTERRUPTED
        what = f"internal error: {type(error).__name__}: {error}"
        return _refuse(f"{what} ({_debugging(args)} shows where)", args, INTERNAL_ERROR)


def _was_interrupted(error: BaseException) -> bool:
    """Return whether Ctrl-C caused the error. Older Pythons wrap one during class creation."""
    while error.__cause__ is not None:
        error = error.__cause__
    return isinstance(error, KeyboardInterrupt)


def _complete(instruction: str) -> int:
    from click.shell_completion import shell_complete

    return shell_complete(app, {}, "oshaberi", COMPLETE, instruction)


def _refuse(line: str, args: Sequence[str], status: int) -> int:
    if DEBUG in _before_command(args):
        import traceback

        traceback.print_exc()
    elif not _is_logged(line):
        click.echo(f"oshaberi: {' '.join(line.split())}", err=True)
    return status


def _is_logged(line: str) -> bool:
    """Log the line if the command's log is JSON, because its reader expects nothing else."""
    logs = sys.modules.get("oshaberi.bot.logs")
    if logs is None or not logs.is_json():
        return False
    import logging

    logging.getLogger("oshaberi.cli").critical("%s", " ".join(line.split()))
    return True


def _before_command(args: Sequence[str]) -> list[str]:
    """Return the options before the command's name. The rest belong to the command."""
    return list(takewhile(lambda arg: arg.startswith("-"), args))


def _command_in(args: Sequence[str]) -> str:
    return next(iter(args[len(_before_command(args)) :]), "")


def _debugging(args: Sequence[str]) -> str:
    return " ".join(filter(None, ["oshaberi", DEBUG, _command_in(args), "…"]))


def _usage_line(error: click.ClickException) -> str:
    line = error.format_message().rstrip(".")
    if isinstance(error, click.NoSuchOption) and error.option_name == DEBUG:
        return f"write {DEBUG} before the command: oshaberi {DEBUG} …"
    if isinstance(error, click.UsageError) and error.ctx is not None:
        return f"{line} (see {error.ctx.command_path} --help)"
    return line


def _near(word: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word.lower(), COMMANDS, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(COMMANDS)}"


def _write_anything() -> None:
    """Allow any character in the output.

    Pipes get UTF-8 whatever the locale; a terminal gets escapes for what it cannot show. Output to
    a closed stream is dropped.
    """
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def _nowhere() -> TextIO:
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def _leave_pipe() -> None:
    """Point stdout at the null device: Python flushes it once more, but the reader has closed."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
