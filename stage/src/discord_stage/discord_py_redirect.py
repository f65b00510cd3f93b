"""Points discord.py at a stage. The only module of the stage that imports discord.py."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import discord.asset
import discord.gateway
import discord.http
import yarl

from discord_stage.errors import StageError


class StageAddress(Protocol):
    """Anything with a URL, such as a stage."""

    @property
    def url(self) -> str: ...


_pointed_at: list[str] = []


@contextmanager
def patch_discord(stage: str | StageAddress) -> Iterator[None]:
    """Make all clients of this process use this stage (or URL) until the end of the block.

    During the block no client of this process can use the real Discord.
    """
    url = stage if isinstance(stage, str) else stage.url
    if _pointed_at:
        raise StageError(f"discord.py already points at {_pointed_at[0]}")
    route, socket, asset = discord.http.Route, discord.gateway.DiscordWebSocket, discord.asset.Asset
    before = route.BASE, socket.DEFAULT_GATEWAY, asset.BASE
    _pointed_at.append(url)
    route.BASE = f"{url}/api/v10"
    socket.DEFAULT_GATEWAY = yarl.URL(url.replace("http", "ws", 1) + "/gw/")
    asset.BASE = f"{url}/cdn"
    try:
        yield
    finally:
        route.BASE, socket.DEFAULT_GATEWAY, asset.BASE = before
        _pointed_at.clear()
