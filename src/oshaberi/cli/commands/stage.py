"""`oshaberi stage`: runs any unmodified discord.py bot on a local Discord."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oshaberi.checked_json import parse_json

if TYPE_CHECKING:
    from discord_stage import Stage, World

SCRIPT = click.Path(exists=True, dir_okay=False, path_type=Path)
FOUNDED = datetime(2026, 1, 1, tzinfo=UTC)
"""When the world begins. It is fixed, so that ids are the same at every start."""
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
@click.option(
    "--world",
    "world_file",
    type=SCRIPT,
    help="JSON file that describes guilds, channels and people.",
)
@click.option(
    "--permissions",
    help='What the bot may do: names with commas between, such as "administrator".',
)
@click.option("--token", help="The token that the stage accepts; otherwise a new one.")
@click.option("-m", "is_module", is_flag=True, help="BOT is a module, as with python -m.")
@click.argument("bot")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def execute(
    bot: str,
    args: tuple[str, ...],
    port: int,
    world_file: Path | None,
    permissions: str | None,
    token: str | None,
    is_module: bool,
) -> int:
    """Start BOT (a Python script, with its ARGS) on a stage of its own, until it ends.

    You need not change the script: discord.py connects to the stage, and DISCORD_TOKEN
    holds a token that the stage accepts. Signals are passed on to the bot, and its exit
    status is the status of this command.

    \b
    Examples:
      oshaberi stage exec my_bot.py
      oshaberi stage exec --port 8420 my_bot.py --verbose
      oshaberi stage exec --world world.json --permissions administrator -m my_bot
    """
    if not is_module and not Path(bot).is_file():
        raise click.BadParameter(f"File {bot!r} does not exist.", param_hint="'BOT'")
    try:
        from discord_stage import Stage, StageError
    except ImportError as missing:
        what = f'the stage needs {missing.name}: pip install "oshaberi[discord]"'
        raise click.ClickException(what) from None
    try:
        world = _world(world_file, permissions, token)
    except StageError as error:
        raise click.UsageError(str(error)) from None
    arguments = ["-m", bot, *args] if is_module else [bot, *args]
    try:
        return asyncio.run(_execute(Stage(world, port=port), arguments))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise click.ClickException(f"--port: {port} is in use; 0 takes any free port") from None


def _world(file: Path | None, permissions: str | None, token: str | None) -> World:
    """Return the described world, or a small one. The same description always has the same ids."""
    from discord_stage import World

    description = dict(World.default_description()) if file is None else _description(file)
    bot = description.get("bot", {})
    if isinstance(bot, dict):
        bot = dict(bot)
        if permissions is not None:
            bot["permissions"] = [name.strip() for name in permissions.split(",") if name.strip()]
        if token is not None:
            bot["token"] = token
        description["bot"] = bot
    return World.described(description, founded=FOUNDED)


def _description(file: Path) -> dict[str, object]:
    try:
        value = parse_json(file.read_text(encoding="utf-8"), is_own_file=True)
    except (OSError, ValueError) as error:
        raise click.UsageError(f"--world: {file} cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise click.UsageError(f"--world: {file} must hold an object")
    return value


async def _execute(stage: Stage, arguments: list[str]) -> int:
    from discord_stage.bot_runner import environment

    async with stage:
        click.echo(f"The stage is at {stage.page_url}", err=True)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "discord_stage.bot_runner", *arguments),
            env=environment(stage.url, stage.token),
        )
        asked, loop = asyncio.Event(), asyncio.get_running_loop()
        for number in SIGNALS:
            # What `nohup` keeps from us, it keeps from the bot too.
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, _pass_on, number, process, asked)
        try:
            await _wait_for_end(process, asked)
        finally:
            await _end(process)
        _tell_problems(stage)
        return _status(process)


def _tell_problems(stage: Stage) -> None:
    """Print the stage's problems, such as missing routes: they would look like bugs of the bot."""
    from discord_stage import StageProblemsError

    try:
        stage.check()
    except StageProblemsError as problems:
        for line in dict.fromkeys(str(problems).splitlines()):
            click.echo(f"The stage: {line}", err=True)


def _pass_on(number: int, process: asyncio.subprocess.Process, asked: asyncio.Event) -> None:
    """Pass a signal on to the bot. Ctrl-C in a terminal already reaches the bot itself."""
    if not (number == signal.SIGINT and _is_in_front()):
        with suppress(ProcessLookupError):
            process.send_signal(number)
    asked.set()


def _is_in_front() -> bool:
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError, AttributeError):  # no terminal, or no standard input at all
        return False


async def _wait_for_end(process: asyncio.subprocess.Process, asked: asyncio.Event) -> None:
    """Wait until the bot has ended. After a request to end, it gets a moment to do so."""
    waiting = asyncio.create_task(process.wait())
    request = asyncio.create_task(asked.wait())
    await asyncio.wait({waiting, request}, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.wait({waiting}, timeout=PATIENCE_S)
    waiting.cancel()
    request.cancel()


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
    """Return the bot's exit status; after a signal, 128 plus its number, as shells do."""
    status = process.returncode or 0
    return status if status >= 0 else KILLED - status
