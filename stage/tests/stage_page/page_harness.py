"""A stage in a thread of its own, with a small bot: the browser and the tests stay in theirs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from discord_stage import ControlExtension, PageExtension, Settings, Stage, World
from discord_stage.testing import logged_in, patch_discord
from stage_page.page_bot import PageBot

T = TypeVar("T")
PATIENCE_S = 60.0
WORLD: dict[str, object] = {
    "guilds": [
        {
            "name": "Tea House",
            "members": [
                {"name": "mika", "display_name": "Mika", "roles": ["host"]},
                {"name": "ren", "display_name": "Ren"},
            ],
            "roles": [{"name": "host", "color": 0xE8A33D}],
            "channels": [
                {"name": "general", "topic": "Talk about anything"},
                {"name": "Quiet", "type": "category"},
                {"name": "random", "category": "Quiet", "threads": ["a thread"]},
            ],
            "emojis": ["wave", "cat_love", "party"],
        }
    ]
}


class PageHarness:
    """What tests use: `do` runs a function on the stage's loop, `run` a coroutine."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.stage: Stage
        self.bot: PageBot

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_S)

    def do(self, work: Callable[[], T]) -> T:
        async def inner() -> T:
            return work()

        return self.run(inner())

    def wait_for(self, predicate: Callable[[], T]) -> T:
        return self.run(self.stage.wait_for(predicate))

    def say(self, text: str, channel: str = "general", **options: Any) -> str:
        """The bot writes; returns the message's id."""
        return str(self.run(self.bot.place(channel).send(text, **options)).id)

    def post(self, text: str, channel: str = "general", **options: Any) -> str:
        """Somebody writes; returns the message's id."""
        return str(self.do(lambda: self.stage.people.post(channel, text, **options)).id)

    def contents(self, channel: str = "general") -> list[str]:
        return self.do(lambda: self.stage.world.contents(channel))


@contextmanager
def looping() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop that runs in a thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="stage", daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE_S)
        loop.close()


@contextmanager
def open_stage() -> Iterator[Stage]:
    """A stage without a bot."""
    with looping() as loop:
        stage = Stage(WORLD)
        asyncio.run_coroutine_threadsafe(stage.__aenter__(), loop).result(PATIENCE_S)
        try:
            yield stage
        finally:
            leaving = stage.__aexit__(None, None, None)
            asyncio.run_coroutine_threadsafe(leaving, loop).result(PATIENCE_S)


@contextmanager
def open_page_harness(
    world: World | Mapping[str, object] | None = None,
    extensions: Mapping[str, ControlExtension] | None = None,
    *,
    page_extensions: Mapping[str, PageExtension] | None = None,
    port: int = 0,
    control_token: str | None = None,
) -> Iterator[PageHarness]:
    with looping() as loop:
        harness = PageHarness(loop)
        opened, closing = threading.Event(), asyncio.Event()
        settings = Settings(rate_limits=False, interaction_s=60.0)

        async def play() -> None:
            made = Stage(
                world or WORLD,
                settings,
                port=port,
                control_token=control_token,
                extensions=extensions,
                page_extensions=page_extensions,
            )
            async with made as stage:
                with patch_discord(stage):
                    async with logged_in(stage, PageBot()) as bot:
                        harness.stage, harness.bot = stage, bot
                        opened.set()
                        await closing.wait()
            stage.check()

        playing = asyncio.run_coroutine_threadsafe(play(), loop)
        playing.add_done_callback(lambda _done: opened.set())
        assert opened.wait(PATIENCE_S)
        if playing.done():
            playing.result()
        try:
            yield harness
        finally:
            loop.call_soon_threadsafe(closing.set)
            playing.result(PATIENCE_S)
