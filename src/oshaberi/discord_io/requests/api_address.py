"""Points the requests of discord.py and of webhooks at a proxy that keeps Discord's limits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import discord.http

API_PATH = "/api/v10"


@contextmanager
def requests_through(url: str | None) -> Iterator[None]:
    """Send the requests of all clients of this process to `url` until the end of the block.

    None changes nothing. The gateway is not affected: its address comes from Discord.
    """
    before = discord.http.Route.BASE
    if url is not None:
        discord.http.Route.BASE = url.rstrip("/").removesuffix(API_PATH) + API_PATH
    try:
        yield
    finally:
        discord.http.Route.BASE = before
