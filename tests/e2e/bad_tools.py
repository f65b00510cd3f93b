"""Tools of whoever runs the bot, as the setting `tools` loads them. Not good ones."""

from __future__ import annotations

import asyncio

from oshaberi.bot.tools import tool

STARTED: list[str] = []
"""Which of them were begun."""
SECRET = ""


@tool
async def wait_forever() -> str:
    """Never ends."""
    STARTED.append("wait_forever")
    await asyncio.Event().wait()
    return ""


@tool
async def ten_megabytes() -> str:
    """Says far too much."""
    return "x" * 10_000_000


@tool
async def tell_secret() -> str:
    """Knows more than it should."""
    return f"the key is {SECRET}"
