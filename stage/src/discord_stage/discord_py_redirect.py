"""Points discord.py at a stage. The only module of the stage that imports discord.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

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
_elsewhere: ContextVar[str | None] = ContextVar("discord_elsewhere", default=None)
"""The address of Discord for what runs in `beside_stage`; empty for the real one."""


class _Address:
    """A class attribute that is the stage's address, or in `beside_stage` another one."""

    def __init__(self, real: Any, url: str, make: Callable[[str], Any]) -> None:
        self._real, self._make = real, make
        self._staged = make(url)

    def __get__(self, _instance: object, _owner: type | None = None) -> Any:
        elsewhere = _elsewhere.get()
        if elsewhere is None:
            return self._staged
        return self._make(elsewhere) if elsewhere else self._real


@contextmanager
def patch_discord(stage: str | StageAddress) -> Iterator[None]:
    """Make all clients of this process use this stage (or URL) until the end of the block.

    During the block no client of this process can use the real Discord, unless it was started in
    `beside_stage`.
    """
    url = stage if isinstance(stage, str) else stage.url
    if _pointed_at:
        raise StageError(f"discord.py already points at {_pointed_at[0]}")
    route, socket, asset = discord.http.Route, discord.gateway.DiscordWebSocket, discord.asset.Asset
    before = route.BASE, socket.DEFAULT_GATEWAY, asset.BASE
    _pointed_at.append(url)
    for owner, name, real, make in (
        (route, "BASE", before[0], _rest),
        (socket, "DEFAULT_GATEWAY", before[1], _gateway),
        (asset, "BASE", before[2], _files),
    ):
        setattr(owner, name, _Address(real, url, make))
    try:
        yield
    finally:
        route.BASE, socket.DEFAULT_GATEWAY, asset.BASE = before
        _pointed_at.clear()


@contextmanager
def beside_stage(url: str = "") -> Iterator[None]:
    """Let the clients that are started in this block use the real Discord, or the one at `url`.

    It applies to the tasks that are created in the block, for as long as they run, and to nothing
    else: the client on the stage stays there.
    """
    token = _elsewhere.set(url.rstrip("/"))
    try:
        yield
    finally:
        _elsewhere.reset(token)


def _rest(url: str) -> str:
    return f"{url}/api/v10"


def _gateway(url: str) -> yarl.URL:
    return yarl.URL(url.replace("http", "ws", 1) + "/gw/")


def _files(url: str) -> str:
    return f"{url}/cdn"
