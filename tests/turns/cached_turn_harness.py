"""Turns with a real database and the bot's live settings, in real time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from oshaberi.bot.config import LoadedSettings
from oshaberi.bot.config.current_settings import CurrentSettings
from oshaberi.bot.conversation.turn_config import EffectiveSettings, TurnConfig
from oshaberi.bot.coordination.cache_invalidation import cache_invalidation
from oshaberi.bot.storage import Database, SecretVault
from oshaberi.bot.turns.channel_turns import ChannelTurns
from oshaberi.bot.wiring.services import shared_state
from oshaberi.delivery.attachments import DeliveryPlugIns
from tests.turns.shared_services import changed
from tests.turns.turn_harness import (
    REN,
    TOMORI,
    FakeTurnChannel,
    TurnHarness,
    link,
    quick,
    services_of,
    text,
)
from tests.turns.turn_harness import used as tokens

KEY = SecretVault.new_key()
LINES = 8
ANSWER = [text("\n".join(f"Line {n}." for n in range(LINES))), tokens(3, 4)]

AT_ONCE = TurnConfig(burst_wait_ms=0)


@asynccontextmanager
async def cached_turns(
    url: str, redis_url: str | None = None
) -> AsyncIterator[tuple[TurnHarness, Database]]:
    """One process of the bot. It has answered once: everything that is cached is known."""
    async with (
        Database.open(url, SecretVault([KEY])) as db,
        shared_state(redis_url) as shared,
        cache_invalidation(db, redis_url),
    ):
        for persona in (TOMORI, REN):
            await db.personas.save(persona)
        await db.servers.set_config(TOMORI.server_id, "humanizer_degree", 1)
        settings = EffectiveSettings(quick(), AT_ONCE)
        services = services_of(settings, db, instance="test", alone=shared.alone)
        operator = services.models.operator
        operator.models = (link(),)
        live = CurrentSettings(LoadedSettings(turn=AT_ONCE), {}, db, operator, DeliveryPlugIns())
        services = changed(services, settings=live.of)
        turns = ChannelTurns.over(services, claim=shared.claim)
        harness = TurnHarness(services, FakeTurnChannel(), turns, db)
        while db.changes.fresh_s is not None:
            await asyncio.sleep(0.01)
        await harness.answer()
        yield harness, db


def run_turns_on(url: str, scenario: Callable[[TurnHarness, Database], Awaitable[None]]) -> None:
    async def main() -> None:
        async with cached_turns(url) as (harness, db):
            await scenario(harness, db)

    asyncio.run(main())
