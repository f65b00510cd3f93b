"""Draws docs/pictures/status-page.png: `python -m tests.status_page.status_picture`.

A whole bot on the stage, with some servers, a failed key and an answer that takes long.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from playwright.sync_api import ViewportSize

from discord_stage.model_servers.scripts import NoAnswer, Refuse
from oshaberi.bot.storage.records import UsedRequest
from oshaberi.bot.storage.usage import UsageAccount, UsageTotals, usage_day
from stage_page.chromium import open_browser
from stage_page.page_harness import PATIENCE_S, looping
from tests.bot.client_harness import MEMBER, OWNER
from tests.e2e.bot_harness import BotHarness, bot_harness
from tests.free_ports import free_port
from tests.status_page.status_harness import TOKEN, log_in_at

PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "status-page.png"
SIZE = ViewportSize(width=1180, height=1130)
NAMES = ("Tea House", "Chess Club", "日本語の部屋", "Garden Friends")
USED = (
    (412, 1_830_000, 96_000),
    (187, 640_000, 51_000),
    (95, 388_000, 20_400),
    (12, 31_000, 2_100),
)
PRICE = {"input": 2.5, "output": 10.0}


async def _play(here: BotHarness) -> None:
    day = usage_day(here.bot.services.clock())
    for guild, (requests, read, written) in zip(here.stage.world.guilds, USED, strict=True):
        cost = round(read * PRICE["input"] + written * PRICE["output"])
        totals = UsageTotals(requests, read, written, cost)
        accounts = (
            UsageAccount("server", guild, "server", guild),
            UsageAccount("operator", 0, "server", guild),
        )
        used = UsedRequest(day, accounts, totals, guild, "openai", "model-0", read, written)
        await here.db.count_usage([used])
    here.ask("good morning")
    await here.wait_for(here.said)
    await here.idle()
    here.stage.deny("rules", "send_messages")
    here.stage.deny("rules", "manage_webhooks")
    here.ask("may I?", channel="rules")
    here.ask("what is on today?", channel="tea-talk")
    await here.asked_times(4)


def main() -> None:
    logging.getLogger("discord.client").setLevel(logging.ERROR)  # as `oshaberi run` does
    port = free_port()
    places = [{"name": name} for name in ("general", "tea-talk", "rules")]
    world = {
        "guilds": [
            {"name": name, "owner": OWNER, "members": [OWNER, MEMBER]}
            | {"channels": places if name == NAMES[0] else [{"name": f"room-{number}"}]}
            for number, name in enumerate(NAMES)
        ]
    }
    with looping() as loop:
        opened = bot_harness(
            Refuse("auth", "Incorrect API key provided"),
            "Good morning! The kettle is on.",
            Refuse("rate_limit", "slow down"),
            NoAnswer(),
            described=world,
            keys=[["sk-of-whoever-runs-the-bot-0001", "sk-of-whoever-runs-the-bot-0002"]],
            health_port=port,
            status_token=TOKEN,
        )
        run = asyncio.run_coroutine_threadsafe
        here = run(opened.__aenter__(), loop).result(2 * PATIENCE_S)
        run(_play(here), loop).result(2 * PATIENCE_S)
        with open_browser() as browser:
            page = browser.new_page(viewport=SIZE, color_scheme="light")
            log_in_at(page, f"http://127.0.0.1:{port}")
            page.locator("#warnings li").first.wait_for()
            page.screenshot(path=PICTURE)
        run(opened.__aexit__(None, None, None), loop).result(2 * PATIENCE_S)


if __name__ == "__main__":
    main()
