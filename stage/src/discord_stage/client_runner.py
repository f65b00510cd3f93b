"""Runs a discord.py client on a stage, and notices what its handlers raise."""

from __future__ import annotations

import asyncio
import logging
import threading
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TypeVar

import discord
from discord.gateway import KeepAliveHandler

from discord_stage.discord_py_redirect import patch_discord
from discord_stage.errors import StageError, StageTimeoutError
from discord_stage.scaled_loop import run_scaled, scale_of
from discord_stage.server import Stage
from discord_stage.state import Settings
from discord_stage.world.world_state import World

# Notices exceptions that discord.py catches in a bot's handlers and only logs.
#
# If the handler of an event, command, button or form raises, the bot just seems to say nothing.
# In a test that is a failure. Exceptions that the bot's own error handlers take care of are never
# logged, and a person's wrong input (an unknown command, a failed check) does not count as one.


LOGGER = "discord"
_STARTS = ("Ignoring exception", "Unhandled exception")
_OF_PEOPLE = frozenset({"CommandError", "AppCommandError"})


class HandlerErrorWatch(logging.Handler):
    """Calls `tell` with each exception: where it was raised, and the traceback."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        said = record.getMessage()
        if error is None or not said.startswith(_STARTS) or _is_of_people(error):
            return
        lines = "".join(traceback.format_exception(error)).rstrip()
        self._tell(f"the bot raised an exception ({said}):\n{lines}")


def _is_of_people(error: BaseException) -> bool:
    """Return whether a user's mistake caused it. An error in the bot's code has an `original`."""
    names = {base.__name__ for base in type(error).__mro__}
    return bool(names & _OF_PEOPLE) and not hasattr(error, "original")


@contextmanager
def watching_handlers(tell: Callable[[str], None]) -> Iterator[None]:
    logger, watch = logging.getLogger(LOGGER), HandlerErrorWatch(tell)
    logger.addHandler(watch)
    try:
        yield
    finally:
        logger.removeHandler(watch)


# Runs a discord.py client on a stage: the functions of `discord_stage.testing`.


C = TypeVar("C", bound=discord.Client)
READY_S = 30.0
ANSWERED_S = 5.0
POLL_S = 0.01
QUIET_ROUNDS = 50

Play = Callable[[Stage, C], Awaitable[None]]


def default_client() -> discord.Client:
    """Return a client with every intent, which is ready soon after it is connected."""
    return discord.Client(intents=discord.Intents.all(), guild_ready_timeout=0.1)


@asynccontextmanager
async def staged(
    world: World | Mapping[str, object] | None = None,
    settings: Settings | None = None,
) -> AsyncIterator[Stage]:
    """Run a stage that this process's discord.py uses. Raises the stage's problems at the end."""
    async with Stage(world, settings) as stage:
        with patch_discord(stage), watching_handlers(stage.state.request_log.problem):
            try:
                yield stage
            finally:
                await _heartbeats_over()
    stage.check()


@asynccontextmanager
async def logged_in(stage: Stage, client: C) -> AsyncIterator[C]:
    """Yield the client, connected and ready. It is always closed at the end.

    Before that, its requests are answered: a handler whose request is cut off would raise.
    """
    async with client:
        await client.login(stage.token)
        running = asyncio.create_task(client.connect())
        try:
            await _ready(client, running)
            yield client
            await _wait_until_answered(stage)
        finally:
            await client.close()
            running.cancel()
            with suppress(asyncio.CancelledError, discord.DiscordException):
                await running
            await _heartbeats_over()


async def _wait_until_answered(stage: Stage) -> None:
    """Wait until the client's requests are answered, or briefly if a fault delays an answer.

    Client and stage share the loop: after QUIET_ROUNDS the client has read what was sent.
    """
    journal, scale = stage.state.request_log, scale_of(asyncio.get_running_loop())
    with suppress(TimeoutError):
        async with asyncio.timeout(ANSWERED_S * scale):
            quiet = 0
            while quiet < QUIET_ROUNDS:
                asked = len(journal.records)
                await asyncio.sleep(POLL_S * scale if journal.running else 0)
                quiet = 0 if journal.running or len(journal.records) > asked else quiet + 1


async def _heartbeats_over() -> None:
    """Wait for discord.py's heartbeat threads, which may still use this loop."""
    loop = asyncio.get_running_loop()
    while any(
        isinstance(thread, KeepAliveHandler) and thread.ws.loop is loop and not thread.ws.open
        for thread in threading.enumerate()
    ):
        await asyncio.sleep(0.01)


async def _ready(client: discord.Client, running: asyncio.Task[None]) -> None:
    """Wait until ready. If the client ended, raises why: a wrong token, a missing intent."""
    ready = asyncio.create_task(client.wait_until_ready())
    try:
        patience = READY_S * scale_of(asyncio.get_running_loop())
        await asyncio.wait({ready, running}, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
        if not ready.done():
            raise StageTimeoutError(f"the client was not ready within {READY_S} s")
    finally:
        ready.cancel()


def on_stage(
    play: Play[C],
    *,
    client: Callable[[], C],
    world: World | Mapping[str, object] | None = None,
    settings: Settings | None = None,
    speed: float = 1.0,
) -> None:
    """Run `play` on a stage, for a test function that is not async.

    With a `speed` the whole loop runs that many times faster, discord.py's own waits included.
    """

    async def main() -> None:
        async with staged(world, settings) as stage, logged_in(stage, client()) as bot:
            await play(stage, bot)

    if not speed > 0:
        raise StageError(f"speed: {speed!r} is not above 0")
    run_scaled(main(), speed)
