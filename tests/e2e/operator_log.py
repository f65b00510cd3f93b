"""What an operator reads: the log as JSON lines, the ids that a line must have, the status page."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp

from oshaberi.bot.logs import setup
from oshaberi.bot.logs.log_lines import _Handler
from tests.bot.client_harness import MEMBER
from tests.e2e.bot_harness import BotHarness

TOKEN = "a token that nobody guesses"
"""`status_token`, for a bot whose page is read."""


@contextmanager
def json_log() -> Iterator[io.StringIO]:
    """Log everything there inside the block."""
    out, ours = io.StringIO(), logging.getLogger("oshaberi")
    level = ours.level
    setup("debug", "json", out)
    yield out
    ours.setLevel(level)
    root = logging.getLogger()
    for handler in [one for one in root.handlers if isinstance(one, _Handler)]:
        root.removeHandler(handler)


def warnings(logged: io.StringIO, words: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in logged.getvalue().splitlines()]
    return [one for one in lines if one["level"] == "warning" and words in one["message"]]


def ids_of(here: BotHarness) -> dict[str, str]:
    user = next(one for one in here.stage.world.users.values() if one.name == MEMBER)
    channel = here.id_of("general")
    return {"server": str(here.server_id), "channel": str(channel), "user": str(user.id)}


async def status_of(here: BotHarness) -> dict[str, Any]:
    """What the status page shows to an operator who has logged in."""
    url, jar = f"http://127.0.0.1:{here.settings.health_port}", aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar) as session:
        await session.post(f"{url}/login", data={"token": TOKEN})
        async with session.get(f"{url}/status.json") as got:
            assert got.status == 200
            report: dict[str, Any] = await got.json()
            return report
