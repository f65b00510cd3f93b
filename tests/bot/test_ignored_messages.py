"""A message that is not for the bot: real discord.py hears it, and the database is not touched."""

from __future__ import annotations

from oshaberi.bot.live_settings import LiveSettings
from oshaberi.config import LoadedSettings
from oshaberi.conversation.turn_config import TurnConfig
from tests.bot.client_harness import MEMBER, OWNER, ClientHarness, run_with_client, world
from tests.storage.counting import counted

CHATTER = 40
PLACES = world(
    {"name": "rooms", "type": "category"},
    {"name": "general", "category": "rooms", "threads": ["aside"]},
)


def test_it_touches_no_database() -> None:
    async def scenario(harness: ClientHarness) -> None:
        services = harness.channel_turns.services
        listening = LoadedSettings(turn=TurnConfig(attention_ms=60_000, interjection_chance=0.1))
        live = LiveSettings(listening, {}, harness.db, lambda: services)
        services.draw = lambda: 0.99
        services.settings = live.of
        for place in (0, *map(harness.id_of, ("rooms", "general", "aside"))):
            await harness.db.servers.set_config(harness.server_id, "blocked_users", [5], place)
        first = harness.stage.people.post("general", "hello everybody", user=MEMBER)
        await harness.heard(1)
        async with harness.channel_turns._entering.through(first.channel_id):
            """The first one has been dealt with: settings and personas are known."""
        with counted() as count:
            for number in range(CHATTER):
                user = OWNER if number % 2 else MEMBER
                replied = None if number % 5 else first.id
                harness.stage.people.post(
                    "general", f"chatter {number}", user=user, reply_to=replied
                )
                harness.stage.people.post("aside", f"aside {number}", user=user)
            await harness.heard(1 + 2 * CHATTER)
            async with harness.channel_turns._entering.through(harness.id_of("aside")):
                """The last one there."""
            async with harness.channel_turns._entering.through(first.channel_id):
                """The last one as well."""
        assert (count.transactions, count.statements) == (0, [])

    run_with_client(scenario, PLACES, answering=True)
