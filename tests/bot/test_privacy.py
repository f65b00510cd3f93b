"""/privacy: everybody sees, gets and deletes their own data, and may not be read at all."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from discord_stage.world.records import StageMessage
from oshaberi.bot.storage.records import Exchange, Fact, TurnRecord
from oshaberi.bot.storage.schema.ownership import DataSubject
from tests.bot.client_harness import MEMBER, OWNER, ClientHarness, run_with_client

SURE = {"sure": "yes, delete it"}


async def _stored(harness: ClientHarness, user: str) -> int:
    user_id = harness.stage.world.user(user).id
    channel = harness.id_of("general")
    await harness.db.facts.add(Fact(harness.server_id, f"{user} likes tea", user_id))
    exchange = Exchange(channel, user_id, "hi", "hello")
    await harness.db.memory.add(exchange, keep=10, days=1)
    await harness.db.turns.remember(
        TurnRecord(channel, harness.server_id, user_id, user_id + 1, "Ren", (user_id + 2,), "done")
    )
    return user_id


def test_what_is_stored_is_shown() -> None:
    async def scenario(harness: ClientHarness) -> None:
        told = await harness.run("privacy show", user=MEMBER)
        assert told.startswith("Nothing is stored about you.")
        await _stored(harness, MEMBER)
        told = await harness.run("privacy show", user=MEMBER)
        assert "- questions with their answers (short-term memory): 1" in told
        assert "- facts that you asked me to remember: 1" in told
        assert "answers 180 days" in told
        assert "facts until you delete them" in told
        assert "`/privacy opt-out`" in told
        assert "`/privacy export`" in told

    run_with_client(scenario)


def test_the_export_is_a_file_for_the_one_who_asked() -> None:
    async def scenario(harness: ClientHarness) -> None:
        user_id = await _stored(harness, MEMBER)
        other = await _stored(harness, OWNER)
        asked = harness.stage.people.run("privacy export", user=MEMBER, channel="general")
        await harness.stage.wait_for(lambda: _file(harness, asked.channel_id))
        message = _file(harness, asked.channel_id)
        assert message is not None
        assert message.ephemeral_to == user_id
        (attachment,) = message.attachments
        assert attachment.filename == "my-data.json"
        document = json.loads(attachment.content)
        assert document["user_id"] == str(user_id)
        assert set(document["records"]) == {"exchanges", "facts", "turns", "turn_messages"}
        assert str(other) not in json.dumps(document)

    run_with_client(scenario)


def _file(harness: ClientHarness, channel_id: int) -> StageMessage | None:
    messages = harness.stage.world.messages.get(channel_id, {}).values()
    return next((one for one in messages if one.attachments), None)


def test_one_deletes_ones_own() -> None:
    async def scenario(harness: ClientHarness) -> None:
        user_id, other = await _stored(harness, MEMBER), await _stored(harness, OWNER)
        told = await harness.run("privacy delete", SURE, user=MEMBER)
        assert told.startswith("Deleted: 4 records about you")
        assert await harness.db.personal_data.counts(DataSubject("user", user_id)) == {}
        assert len(await harness.db.personal_data.counts(DataSubject("user", other))) == 4
        assert await harness.run("privacy delete", SURE, user=MEMBER) == (
            "Nothing was stored about you."
        )

    run_with_client(scenario)


def test_who_opts_out_is_neither_heard_nor_seen() -> None:
    async def scenario(harness: ClientHarness) -> None:
        user_id = await _stored(harness, MEMBER)
        harness.stage.people.post("general", "a secret of mine", user=MEMBER)
        await harness.heard(1)
        told = await harness.run("privacy opt-out", user=MEMBER)
        assert "no model gets to see them" in told
        assert "Deleted: 4 records" in told
        secret = harness.stage.people.post("general", "another secret", user=MEMBER)
        harness.stage.people.post("general", "what did he say?", user=OWNER, reply_to=secret.id)
        (_first, incoming) = await harness.heard(2)
        assert incoming.said.text == "what did he say?"
        assert incoming.replied is None
        turn_channel = harness.turn_channel()
        info = await turn_channel.channel_info(None, 50)
        assert "secret" not in str(info.history)
        assert await turn_channel.said(secret.id) is None
        assert await turn_channel.incoming(secret.id) is None
        assert await turn_channel.another().question(secret.id) is None, "after a restart"
        assert "You have opted out" in await harness.run("privacy show", user=MEMBER)
        await harness.db.opt_outs.refresh()
        assert user_id in harness.db.opt_outs
        assert "again" in await harness.run("privacy opt-in", user=MEMBER)
        harness.stage.people.post("general", "hello again", user=MEMBER)
        assert (await harness.heard(3))[-1].said.text == "hello again"

    run_with_client(scenario)


def test_a_server_that_is_left_is_noted_and_one_that_is_joined_is_not() -> None:
    async def scenario(harness: ClientHarness) -> None:
        guild = harness.client.get_guild(harness.server_id)
        assert guild is not None
        await harness.client.on_guild_remove(guild)
        assert await harness.db.departed_servers.departed(datetime.now(UTC)) == (guild.id,)
        await harness.client.on_guild_join(guild)
        assert await harness.db.departed_servers.departed() == ()

    run_with_client(scenario)


def test_a_thread_does_not_show_what_it_was_made_from_either() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await harness.db.opt_outs.add(harness.stage.world.user(MEMBER).id)
        asked = harness.stage.people.post("general", "a secret of mine", user=MEMBER)
        message = await harness.channel().fetch_message(asked.id)
        thread = await message.create_thread(name="about it")
        harness.stage.people.post(thread.id, "inside", user=OWNER)
        info = await harness.client.turn_channel(thread).channel_info(None, 10)
        assert [one.text for one in info.history] == ["inside"]

    run_with_client(scenario)
