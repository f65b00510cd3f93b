"""`oshaberi stage`: runs anybody's unmodified discord.py bot on a local Discord."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from oshaberi.stage import Stage

SCRIPT = click.Path(exists=True, dir_okay=False, path_type=Path)
PATIENCE_S = 5.0
KILLED = 128
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@click.group(short_help="Run any discord.py bot on a local Discord.")
def command() -> None:
    """Use a Discord on this machine, without an account: see docs/stage.md.

    \b
    Example:
      oshaberi stage exec my_bot.py
    """


@command.command(
    name="exec",
    short_help="Start a bot on a stage.",
    context_settings={
        "ignore_unknown_options": True,
        "allow_interspersed_args": False,
    },
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    help="Port of the stage; 0 takes any free one.",
)
@click.argument("bot", type=SCRIPT)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def execute(bot: Path, args: tuple[str, ...], port: int) -> int:
    """Start BOT (a Python script, with its ARGS) on a stage of its own, until it ends.

    You need not change the script: discord.py connects to the stage, and DISCORD_TOKEN
    holds a token that the stage accepts. Signals are passed on to the bot, and its exit
    status is the status of this command.

    \b
    Examples:
      oshaberi stage exec my_bot.py
      oshaberi stage exec --port 8420 my_bot.py --verbose
    """
    try:
        from oshaberi.stage import Stage
    except ImportError as missing:
        what = f'the stage needs {missing.name}: pip install "oshaberi[discord]"'
        raise click.ClickException(what) from None
    try:
        return asyncio.run(_execute(Stage(port=port), [str(bot), *args]))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise click.ClickException(f"--port: {port} is in use; 0 takes any free port") from None


async def _execute(stage: Stage, arguments: list[str]) -> int:
    from oshaberi.stage.bot_runner import environment

    async with stage:
        click.echo(f"The stage is at {stage.page_url}", err=True)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "oshaberi.stage.bot_runner", *arguments),
            env=environment(stage.url, stage.token),
        )
        asked, loop = asyncio.Event(), asyncio.get_running_loop()
        for number in SIGNALS:
            # What `nohup` keeps from us, it keeps from the bot too.
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, _pass_on, number, process, asked)
        try:
            await _ended(process, asked)
        finally:
            await _end(process)
        _tell_problems(stage)
        return _status(process)


def _tell_problems(stage: Stage) -> None:
    """What the bot asked for in vain would look like a mistake of the bot's."""
    from oshaberi.stage import StageProblemsError

    try:
        stage.check()
    except StageProblemsError as problems:
        for line in dict.fromkeys(str(problems).splitlines()):
            click.echo(f"The stage: {line}", err=True)


def _pass_on(number: int, process: asyncio.subprocess.Process, asked: asyncio.Event) -> None:
    """A terminal tells the bot itself about Ctrl-C; twice would be once too often."""
    if not (number == signal.SIGINT and _is_in_front()):
        with suppress(ProcessLookupError):
            process.send_signal(number)
    asked.set()


def _is_in_front() -> bool:
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError, AttributeError):  # no terminal, or no standard input at all
        return False


async def _ended(process: asyncio.subprocess.Process, asked: asyncio.Event) -> None:
    """Until the bot is over. Once it was asked to end, it gets a moment to say good-bye."""
    waiting = asyncio.create_task(process.wait())
    told = asyncio.create_task(asked.wait())
    await asyncio.wait({waiting, told}, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.wait({waiting}, timeout=PATIENCE_S)
    waiting.cancel()
    told.cancel()


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), PATIENCE_S)
    except TimeoutError:
        process.kill()
        await process.wait()


def _status(process: asyncio.subprocess.Process) -> int:
    """The bot's own; of one that a signal ended, as shells tell it."""
    status = process.returncode or 0
    return status if status >= 0 else KILLED - status
