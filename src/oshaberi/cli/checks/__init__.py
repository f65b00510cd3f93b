"""What `oshaberi doctor` looks at. Each check asks for real and gives findings, never raises."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING

from oshaberi.cli.checks import discord, models, place, stores, tools
from oshaberi.cli.checks.finding import Finding

if TYPE_CHECKING:
    from oshaberi.config import Settings

__all__ = ["Finding", "examine"]


async def examine(settings: Settings | None, environ: Mapping[str, str]) -> AsyncIterator[Finding]:
    """Everything that can be looked at. Without settings, what does not depend on them."""
    for finding in place.machine():
        yield finding
    if settings is None:
        return
    yield place.data_folder(settings)
    yield await stores.secret_key(settings, environ)
    yield await stores.database(settings)
    yield await stores.redis(settings)
    async for asked in discord.examine(settings, environ):
        yield asked
    async for asked in models.examine(settings, environ):
        yield asked
    async for asked in tools.examine(settings):
        yield asked
