"""What turns share, made for a test: every part can be given by its own name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from oshaberi.bot.conversation.messages import ChannelPath
from oshaberi.bot.conversation.turn_config import EffectiveSettings
from oshaberi.bot.storage import Database
from oshaberi.bot.turns.services.adapter_pool import AdapterPool
from oshaberi.bot.turns.services.model_access import ModelAccess, OperatorChoices
from oshaberi.bot.turns.services.turn_services import SettingsOf, TurnServices
from oshaberi.clocks import utc_now

GROUPS = ("traffic", "answer_tools", "observers", "notes")


class SwitchedSettings:
    """The settings of channels. Put another function into `of` to change them."""

    def __init__(self, of: SettingsOf) -> None:
        self.of = of

    async def __call__(self, path: ChannelPath) -> EffectiveSettings:
        return await self.of(path)


def shared_services(
    settings: SettingsOf,
    db: Database,
    operator: OperatorChoices,
    adapters: AdapterPool | None = None,
    clock: Callable[[], datetime] = utc_now,
    **parts: Any,
) -> TurnServices:
    pool = AdapterPool() if adapters is None else adapters
    models = ModelAccess(operator, pool, db, clock)
    return changed(TurnServices(settings, db, models, clock=clock), **parts)


def changed(services: TurnServices, **parts: Any) -> TurnServices:
    """Return them with other parts, each by its name in whichever group it is."""
    for group in GROUPS:
        old = getattr(services, group)
        names = {one.name for one in fields(old)} & parts.keys()
        services = replace(
            services, **{group: replace(old, **{name: parts.pop(name) for name in names})}
        )
    return replace(services, **parts)
