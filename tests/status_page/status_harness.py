"""A whole bot on a stage, in a thread of its own, with its status page: for a browser."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from playwright.sync_api import Page

from discord_stage.model_servers.scripts import NoAnswer, Refuse
from oshaberi.bot.storage.usage import UsageAccount, UsageTotals, usage_day
from oshaberi.bot.turns.services.model_access import place_of_model
from oshaberi.providers.capabilities.learned import Doubt
from stage_page.page_harness import PATIENCE_S, looping
from tests.bot.client_harness import MEMBER, OWNER
from tests.e2e.bot_harness import BotHarness, bot_harness
from tests.free_ports import free_port

T = TypeVar("T")
TOKEN = "a token that nobody guesses"
HOSTILE = "<img src=x onerror=alert(1)>"
HOSTILE_ERROR = "</script><script>alert(2)</script> <b>bold</b>"
WORLD = {
    "guilds": [
        {
            "name": HOSTILE,
            "owner": OWNER,
            "members": [OWNER, MEMBER],
            "channels": [{"name": "general"}, {"name": "logs"}],
        }
    ]
}


class StatusHarness:
    """What tests use: `run` runs a coroutine on the bot's loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, here: BotHarness, url: str) -> None:
        self._loop = loop
        self.here = here
        self.url = url

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(2 * PATIENCE_S)

    def do(self, work: Callable[[], T]) -> T:
        async def inner() -> T:
            return work()

        return self.run(inner())

    async def offered_tools(self) -> list[str]:
        """Which tools the model gets with the next question."""
        here = self.here
        before = len(here.models[0].requests)
        here.ask("hi")
        await here.asked_times(before + 1)
        await here.idle()
        return here.asked().tools

    async def fail_and_hang(self) -> None:
        """One answer fails with hostile words, one more hangs, and some tokens are used.

        The model refuses a tool, too.
        """
        here = self.here
        services = here.bot.services
        place = place_of_model(services.models.operator.models[0].model)
        refused = Doubt(frozenset({"tool look"}), HOSTILE_ERROR)
        services.models.adapters.learned.doubt(place, (refused,))
        here.ask("hello?")
        await here.wait_for(here.notices)
        await here.idle()
        here.ask("and now?")
        await here.asked_times(2)
        day, server_id = usage_day(here.bot.services.clock()), here.server_id
        accounts = [
            UsageAccount("server", server_id, "server", server_id),
            UsageAccount("operator", 0, "server", server_id),
            UsageAccount("server", 0, "server", 0),
        ]
        await here.db.usage_counts.add(
            day, accounts[:2], UsageTotals(40, 120_000, 9_000, 1_234_567)
        )
        await here.db.usage_counts.add(day, accounts[2:], UsageTotals(3, 1000, 100, 0))


def log_in_at(page: Page, url: str) -> None:
    page.goto(url)
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Log in").click()


FAILS_AND_HANGS = (Refuse("auth", HOSTILE_ERROR), NoAnswer())


@contextmanager
def open_status(*answers: Any, **given: Any) -> Iterator[StatusHarness]:
    """A bot whose model gives these answers; without any, it fails and hangs."""
    port = free_port()
    with looping() as loop:
        opened = bot_harness(
            *(answers or FAILS_AND_HANGS),
            described=WORLD,
            health_port=port,
            status_token=TOKEN,
            blocked_tools=["current_time"],
            asking_tools=["user_info"],
            tool_approver="manage_messages",
            **given,
        )
        run = asyncio.run_coroutine_threadsafe
        here = run(opened.__aenter__(), loop).result(2 * PATIENCE_S)
        try:
            yield StatusHarness(loop, here, f"http://127.0.0.1:{port}")
        finally:
            run(opened.__aexit__(None, None, None), loop).result(2 * PATIENCE_S)
