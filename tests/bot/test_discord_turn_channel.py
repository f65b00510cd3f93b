"""A channel of the stage as a turn sees it."""

from __future__ import annotations

from discord_stage.world.records import MessageFlag, StageMessage
from oshaberi.bot.client.turn_channel import DiscordTurnChannel
from oshaberi.bot.turns.thoughts import thought_embeds
from oshaberi.chunks import ThoughtPart
from oshaberi.delivery.sink import Embed, Post, WebhookFace, WireState
from oshaberi.stream.model_output import ThoughtLog
from tests.bot.client_harness import MEMBER, MODERATOR, OWNER, ClientHarness, run_with_client, world

MOCHI = WebhookFace("Mochi", "https://pictures.test/mochi.png")

THOUGHT = ThoughtLog((ThoughtPart("They greet me."),), "scripted", "m")


async def say(
    turn_channel: DiscordTurnChannel,
    text: str,
    face: WebhookFace | None = None,
    embed: Embed | None = None,
) -> int:
    sink = turn_channel.sink(None)
    if face is not None:
        await sink.open_webhook()
    sent = await sink.send(
        Post(f"say {hash((text, face))}", text, face=face, embed=embed), WireState(0)
    )
    assert sent.id is not None
    return sent.id


def last(harness: ClientHarness, channel: str = "general") -> StageMessage:
    return harness.stage.world.history(channel)[-1]


def test_the_history_is_the_conversation_and_nothing_else() -> None:
    async def scenario(harness: ClientHarness) -> None:
        people, turn_channel = harness.stage.people, harness.turn_channel()
        people.post("general", "first", user=OWNER)
        await say(turn_channel, "as the bot")
        await say(turn_channel, "as a persona", MOCHI)
        await say(turn_channel, "", embed=Embed("The model is overloaded"))
        await say(turn_channel, "", embed=thought_embeds("Mochi", [THOUGHT])[0])
        await say(turn_channel, "-# ↩ **Ren**: hi https://discord.com/channels/1/2/3", MOCHI)
        await harness.run("status")  # answers of commands are private
        people.post("general", "second", user=MEMBER)
        asked = people.post("general", "the question", user=MEMBER)
        channel_info = await turn_channel.channel_info(asked.id, 50)
        told = [(said.text, said.by_us, said.shown_as) for said in channel_info.history]
        assert told == [
            ("first", False, None),
            ("as the bot", True, "Oshaberi"),
            ("as a persona", True, "Mochi"),
            ("", True, "Oshaberi"),
            ("second", False, None),
        ]
        assert [said.embeds for said in channel_info.history if said.embeds] == [
            ("The model is overloaded",)
        ]
        assert (await turn_channel.channel_info(asked.id, 1)).history[0].text == "second"
        assert (await turn_channel.channel_info(asked.id, 0)).history == ()

    run_with_client(scenario)


def test_what_surrounds_a_turn() -> None:
    async def scenario(harness: ClientHarness) -> None:
        people = harness.stage.people
        ren = harness.stage.world.user(MEMBER).id
        people.post("general", f"<@{ren}> look", user=MODERATOR)
        people.post("general", "hm", user=OWNER)
        incoming = (await harness.heard(2))[1]
        _incoming, turn_channel = harness.channel_turns.heard[1]
        channel_info = await turn_channel.channel_info(incoming.said.id, 50)
        assert (channel_info.server_name, channel_info.channel_name) == ("Stage", "general")
        assert (channel_info.channel_topic, channel_info.bot_name) == ("tea", "Oshaberi")
        assert [person.name for person in channel_info.people] == [OWNER, MODERATOR, "Renny"]
        assert [emoji.split(":")[1] for emoji in channel_info.emojis] == ["wave"]

    run_with_client(scenario, world({"name": "general", "topic": "tea"}, "logs"))


def test_in_a_direct_message_there_is_one_person() -> None:
    async def scenario(harness: ClientHarness) -> None:
        harness.stage.people.dm("hi", user=MEMBER)
        await harness.heard(1)
        _incoming, turn_channel = harness.channel_turns.heard[0]
        channel_info = await turn_channel.channel_info(None, 10)
        assert turn_channel.server_id == 0
        assert [person.name for person in channel_info.people] == ["Ren"]
        assert (channel_info.server_name, channel_info.emojis) == ("", ())
        assert [said.text for said in channel_info.history] == ["hi"]

    run_with_client(scenario)


def test_a_history_that_cannot_be_read_is_empty() -> None:
    async def scenario(harness: ClientHarness) -> None:
        harness.stage.people.post("general", "hello", user=OWNER)
        harness.stage.deny("general", "read_message_history")
        await harness.stage.settled()
        assert (await harness.turn_channel().channel_info(None, 10)).history == ()
        assert harness.stage.calls("GET /channels/*/messages") == []

    run_with_client(scenario)


def test_one_message_or_none() -> None:
    async def scenario(harness: ClientHarness) -> None:
        posted = harness.stage.people.post("general", "hello", user=OWNER)
        said = await harness.turn_channel().said(posted.id)
        assert said is not None
        assert said.text == "hello"
        assert await harness.turn_channel().said(12345) is None

    run_with_client(scenario)


def test_the_newest_message_is_known_without_asking_discord() -> None:
    async def scenario(harness: ClientHarness) -> None:
        asked = harness.stage.people.post("general", "hello", user=MEMBER)
        await harness.heard(1)
        turn_channel = harness.channel_turns.heard[0][1]
        assert turn_channel.newest_message_id == asked.id
        later = harness.stage.people.post("general", "by the way", user=OWNER)
        await harness.heard(2)
        assert turn_channel.newest_message_id == later.id

    run_with_client(scenario)


def test_the_answer_replies_to_what_was_asked() -> None:
    async def scenario(harness: ClientHarness) -> None:
        asked = harness.stage.people.post("general", "hello", user=MEMBER)
        (incoming,) = await harness.heard(1)
        _incoming, turn_channel = harness.channel_turns.heard[0]
        await turn_channel.sink(incoming).send(Post("a", "hi", reply=True), WireState(0))
        reference = last(harness).reference
        assert reference is not None
        assert int(reference["message_id"]) == asked.id

    run_with_client(scenario)


def test_no_reactions_while_too_many_requests_are_refused() -> None:
    async def scenario(harness: ClientHarness) -> None:
        turn_channel = harness.turn_channel()
        posted = harness.stage.people.post("general", "hi", user=OWNER)
        assert await turn_channel.react(posted.id, "👀")
        for _ in range(3000):
            harness.client.guard.note(429)
        assert not await turn_channel.react(posted.id, "👍")
        await turn_channel.unreact(posted.id, "👀")
        assert [reaction.name for reaction in posted.reactions] == ["👀"]

    run_with_client(scenario)


def test_reactions_come_and_go_and_refusals_do_not_matter() -> None:
    async def scenario(harness: ClientHarness) -> None:
        posted = harness.stage.people.post("general", "hello", user=OWNER)
        turn_channel = harness.turn_channel()
        assert await turn_channel.react(posted.id, "👀")
        assert await turn_channel.react(posted.id, ":wave:")
        assert [reaction.name for reaction in posted.reactions] == ["👀", "wave"]
        await turn_channel.unreact(posted.id, "👀")
        assert [reaction.name for reaction in posted.reactions] == ["wave"]
        assert not await turn_channel.react(12345, "👀")
        await turn_channel.unreact(12345, "👀")
        assert not await turn_channel.react(posted.id, "no emoji at all")
        assert len(posted.reactions) == 1

    run_with_client(scenario)


def test_its_own_messages_are_deleted_whoever_sent_them() -> None:
    async def scenario(harness: ClientHarness) -> None:
        turn_channel = harness.turn_channel()
        kept = harness.stage.people.post("general", "stays", user=OWNER)
        ids = [
            await say(turn_channel, "a"),
            await say(turn_channel, "b", MOCHI),
            await say(turn_channel, "c", MOCHI),
        ]
        gone = await say(turn_channel, "d")
        harness.stage.people.delete(gone)
        await turn_channel.delete([*ids, gone, 12345])
        assert [message.id for message in harness.stage.world.history("general")] == [kept.id]
        refused = [record for record in harness.stage.requests if (record.status or 0) >= 400]
        assert refused == []

    run_with_client(scenario)


def test_many_are_deleted_at_once_where_that_is_allowed() -> None:
    async def scenario(harness: ClientHarness) -> None:
        turn_channel = harness.turn_channel()
        ids = [await say(turn_channel, text, face) for text in "abc" for face in (None, MOCHI)]
        await turn_channel.delete(ids)
        assert harness.stage.world.history("general") == []
        assert len(harness.stage.calls("POST /channels/*/messages/bulk-delete")) == 1
        assert harness.stage.calls("DELETE /channels/*/messages/*") == []

    allowed = ["view_channel", "send_messages", "read_message_history", "manage_messages"]
    described = world() | {"bot": {"permissions": [*allowed, "manage_webhooks"]}}
    run_with_client(scenario, described)


def test_a_channel_that_is_gone_stops_no_deletion() -> None:
    async def scenario(harness: ClientHarness) -> None:
        turn_channel = harness.turn_channel()
        number = await say(turn_channel, "a")
        harness.stage.delete_channel("general")
        await turn_channel.delete([number])

    run_with_client(scenario)


def test_thoughts_go_to_another_channel_in_silence() -> None:
    async def scenario(harness: ClientHarness) -> None:
        embeds = (Embed("Thoughts", "one"), Embed("Thoughts", "@everyone two"))
        await harness.turn_channel().log_thoughts(harness.id_of("logs"), embeds, MOCHI)
        first, second = harness.stage.world.history("logs")
        assert (first.username, first.embeds[0]["description"]) == ("Mochi", "one")
        assert second.embeds[0]["description"] == "@everyone two"
        assert first.flags & MessageFlag.SUPPRESS_NOTIFICATIONS
        assert (second.mention_everyone, second.mentions) == (False, [])
        assert harness.stage.world.history("general") == []

    run_with_client(scenario)


def test_without_a_webhook_the_bot_logs_thoughts_itself() -> None:
    async def scenario(harness: ClientHarness) -> None:
        harness.stage.deny("logs", "manage_webhooks")
        await harness.stage.settled()
        await harness.turn_channel().log_thoughts(
            harness.id_of("logs"), [Embed("Thoughts", "one")], MOCHI
        )
        (only,) = harness.stage.world.history("logs")
        assert only.author_id == harness.stage.world.bot.id

    run_with_client(scenario)


def test_thoughts_never_go_to_another_server() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await harness.turn_channel().log_thoughts(
            harness.id_of("theirs"), [Embed("Thoughts", "one")], None
        )
        await harness.turn_channel().log_thoughts(12345, [Embed("Thoughts", "one")], None)
        assert harness.stage.world.history("theirs") == []

    first = world()["guilds"]
    assert isinstance(first, list)
    other = {"name": "Other", "members": [OWNER], "channels": ["theirs"]}
    run_with_client(scenario, {"guilds": [*first, other]})
