"""A message that is not for the bot: real discord.py hears it, and the database is not touched."""

from __future__ import annotations

from typing import Any

import pytest

from oshaberi.bot.config import LoadedSettings
from oshaberi.bot.config.current_settings import CurrentSettings
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.turns.admission.rules import ADMITTED, admission, why_ignored
from oshaberi.delivery.attachments import DeliveryPlugIns
from tests.bot.client_harness import MEMBER, MODERATOR, OWNER, ClientHarness, run_with_client, world
from tests.storage.counting import counted

CHATTER = 40
PLACES = world(
    {"name": "rooms", "type": "category"},
    {"name": "general", "category": "rooms", "threads": ["aside"]},
)


@pytest.mark.parametrize("chance", [0.0, 0.1])
def test_it_touches_no_database(chance: float) -> None:
    async def scenario(harness: ClientHarness) -> None:
        services: Any = harness.client.context.services
        listening = LoadedSettings(turn=TurnConfig(attention_ms=60_000, interjection_chance=chance))
        live = CurrentSettings(
            listening, {}, harness.db, services.models.operator, DeliveryPlugIns()
        )
        harness.channel_turns.admission.draw = lambda: 0.99
        services.settings.of = live.of
        for place in (0, *map(harness.id_of, ("rooms", "general", "aside"))):
            await harness.db.servers.set_config(harness.server_id, "blocked_users", [5], place)
        first = harness.stage.people.post("general", "hello everybody", user=MEMBER)
        await decided(harness, 1)
        with counted() as count:
            for number in range(CHATTER):
                user = OWNER if number % 2 else MEMBER
                replied = None if number % 5 else first.id
                harness.stage.people.post(
                    "general", f"chatter {number}", user=user, reply_to=replied
                )
                harness.stage.people.post("aside", f"aside {number}", user=user)
            await decided(harness, 1 + 2 * CHATTER)
        assert (count.transactions, count.statements) == (0, [])
        reasons = [reason for _id, reason in harness.channel_turns.ignored]
        if chance:  # it may be answered, so it has to be read in full
            assert "unaddressed" not in reasons
        else:
            assert len(reasons) == 1 + 2 * CHATTER

    run_with_client(scenario, PLACES, answering=True)


async def decided(harness: ClientHarness, count: int) -> None:
    """Until so many messages have been ignored, or heard and refused."""
    turns = harness.channel_turns
    await harness.stage.wait_for(lambda: len(turns.ignored) + len(turns.heard) >= count)
    for channel_id in {message.channel_id for message, _place in turns.heard}:
        async with turns._entering.through(channel_id):
            """The last one there."""


def test_a_quick_look_and_a_full_one_agree() -> None:
    async def scenario(harness: ClientHarness) -> None:
        people, bot = harness.stage.people, harness.stage.world.bot.id
        mods = harness.stage.world.role("mods").id
        owner, member = (harness.stage.world.user(one).id for one in (OWNER, MEMBER))
        await harness.client.wait_until_ready()
        ours = await harness.channel().send("hello from me")
        first = people.post("general", "plain", user=MEMBER).id
        for words, replied in (
            (f"<@{bot}> hi", None),
            (f"<@{member}> hi", None),
            (f"<@{owner}> is what I am called", None),
            (f"<@&{mods}> hi", None),
            ("@everyone hi", None),
            ("a reply", first),
            ("a reply to the bot", ours.id),
            ("hey cookie", None),
            ("not `cookie`, :cookie:", None),
            (f"see <#{harness.id_of('general')}>", None),
        ):
            people.post("general", words, user=OWNER, reply_to=replied)
        people.post("aside", "in a thread", user=MODERATOR)
        heard = await harness.heard(12)
        personas = (PersonaRecord(0, "Cookie", triggers=("cookie",), is_default=True),)
        quick: list[str | None] = []
        for config in (TurnConfig(), TurnConfig(blocked_roles=(mods,))):
            for incoming in heard:
                message = await harness.turn_channel("aside").message(incoming.said.id)
                message = message or await harness.turn_channel().message(incoming.said.id)
                assert message is not None
                full = admission(incoming, personas, config).reason
                seen = harness.client.reader.unaddressed(message)
                found = None if seen is None else why_ignored(seen, personas, config)
                assert found in (None, full), message.content
                assert (seen is None) == incoming.is_addressed, message.content
                assert (found is None) == (full in ADMITTED), message.content
                quick.append(found)
        assert quick.count("others") == 8
        assert "blocked_role" in quick

    run_with_client(scenario, PLACES)
