"""The checks of `oshaberi doctor`. Each makes real requests and yields findings; none raises.

`finding` is one result. `machine_checks`, `storage_checks`, `discord_checks` (with
`channel_checks`), `model_checks` and `tool_checks` run in this order.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING

from oshaberi.cli.doctor_checks import (
    discord_checks,
    machine_checks,
    model_checks,
    storage_checks,
    tool_checks,
)
from oshaberi.cli.doctor_checks.finding import Finding

if TYPE_CHECKING:
    from oshaberi.bot.config import LoadedSettings

__all__ = ["Finding", "examine"]


async def examine(
    settings: LoadedSettings | None, environ: Mapping[str, str], *, offline: bool = False
) -> AsyncIterator[Finding]:
    """Yield the findings of all checks; without settings, of those that need none.

    With `offline`, it asks neither Discord nor a model.
    """
    for finding in machine_checks.machine():
        yield finding
    if settings is None:
        return
    for finding in machine_checks.effects(settings):
        yield finding
    yield machine_checks.data_folder(settings)
    for finding in machine_checks.disk(settings, storage_checks.database_file(settings)):
        yield finding
    yield await storage_checks.secret_key(settings, environ)
    yield await storage_checks.database(settings)
    yield await storage_checks.redis(settings)
    async for asked in discord_checks.examine(settings, environ, offline=offline):
        yield asked
    async for asked in model_checks.examine(settings, environ, offline=offline):
        yield asked
    async for asked in tool_checks.examine(settings):
        yield asked
