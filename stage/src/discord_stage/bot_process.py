"""Runs a bot in a process of its own on a stage, from the start to its exit status.

`described_world` reads what the user of a command says about the world; `execute` runs the bot.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from discord_stage.bot_runner import environment
from discord_stage.errors import StageError, StageProblemsError, WorldError
from discord_stage.json_bodies import parse_json
from discord_stage.server import Stage
from discord_stage.world.world_state import World

FOUNDED = datetime(2026, 1, 1, tzinfo=UTC)
"""When the world begins. It is fixed, so that ids are the same at every start."""
PATIENCE_S = 5.0
KILLED = 128
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def described_world(
    file: Path | None = None, permissions: str | None = None, token: str | None = None
) -> World:
    """Return the described world, or a small one. The same description always has the same ids.

    `permissions` are names with commas between them. Raises WorldError.
    """
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
        value = parse_json(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WorldError(f"--world: {file} cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise WorldError(f"--world: {file} must hold an object")
    return value


async def execute(stage: Stage, arguments: Sequence[str], tell: Callable[[str], None]) -> int:
    """Run a bot, as `python` would with these arguments, until it ends. Return its exit status.

    `tell` gets the page's address, and at the end a list of what the stage lacked. Signals are
    passed on to the bot; one that a signal ended has the status 128 plus its number, as in a shell.
    Raises StageError if discord.py is missing.
    """
    if find_spec("discord") is None:
        raise StageError('discord.py is not installed: pip install "discord-stage[discord]"')
    async with stage:
        tell(f"The stage is at {stage.page_url}")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "discord_stage.bot_runner", *arguments),
            env=environment(stage.url, stage.token),
        )
        asked, loop = asyncio.Event(), asyncio.get_running_loop()
        for number in SIGNALS:
            # A signal that `nohup` makes us ignore is ignored by the bot, too.
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, _pass_on, number, process, asked)
        try:
            await _wait_for_end(process, asked)
        finally:
            await _end(process)
        _tell_problems(stage, tell)
        return _status(process)


def _tell_problems(stage: Stage, tell: Callable[[str], None]) -> None:
    """Report the stage's problems, such as missing routes: they would look like bugs of the bot."""
    try:
        stage.check()
    except StageProblemsError as problems:
        for line in dict.fromkeys(str(problems).splitlines()):
            tell(f"The stage: {line}")


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
    """Wait until the bot has ended. Once it has been asked to end, it gets a moment to do so."""
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
    """Return the bot's exit status; after a signal, 128 plus its number, as shells do."""
    status = process.returncode or 0
    return status if status >= 0 else KILLED - status
