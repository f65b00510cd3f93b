"""A channel of the stage as a turn sees it."""

from __future__ import annotations

from oshaberi.bot.client.discord_turn_channel import DiscordTurnChannel
from oshaberi.delivery.sink import Embed, Post, WebhookFace, WireState
from oshaberi.stage.world.discord_records import MessageFlag, StageMessage
from tests.bot.shows import MEMBER, MODERATOR, OWNER, Show, perform, world

MOCHI = WebhookFace("Mochi", "https://pictures.test/mochi.png")


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


def last(show: Show, channel: str = "general") -> StageMessage:
    return show.stage.world.history(channel)[-1]


def test_the_history_is_the_conversation_and_nothing_else() -> None:
    async def act(show: Show) -> None:
        people, turn_channel = show.stage.people, show.turn_channel()
        people.post("general", "first", user=OWNER)
        await say(turn_channel, "as the bot")
        await say(turn_channel, "as a persona", MOCHI)
        await say(turn_channel, "", embed=Embed("The model is overloaded"))
        await say(turn_channel, "-# ↩ **Ren**: hi https://discord.com/channels/1/2/3", MOCHI)
        await show.run("status")  # answers of commands are private
        people.post("general", "second", user=MEMBER)
        asked = people.post("general", "the question", user=MEMBER)
        channel_info = await turn_channel.channel_info(asked.id, 50)
        told = [(said.text, said.by_us, said.shown_as) for said in channel_info.history]
        assert told == [
            ("first", False, None),
            ("as the bot", True, "Oshaberi"),
            ("as a persona", True, "Mochi"),
            ("second", False, None),
        ]
        assert (await turn_channel.channel_info(asked.id, 1)).history[0].text == "second"
        assert (await turn_channel.channel_info(asked.id, 0)).history == ()

    perform(act)


def test_what_surrounds_a_turn() -> None:
    async def act(show: Show) -> None:
        people = show.stage.people
        ren = show.stage.world.user(MEMBER).id
        people.post("general", f"<@{ren}> look", user=MODERATOR)
        people.post("general", "hm", user=OWNER)
        incoming = (await show.heard(2))[1]
        _incoming, turn_channel = show.talks.heard[1]
        channel_info = await turn_channel.channel_info(incoming.said.id, 50)
        assert (channel_info.server_name, channel_info.channel_name) == ("Stage", "general")
        assert (channel_info.channel_topic, channel_info.bot_name) == ("tea", "Oshaberi")
        assert [person.name for person in channel_info.people] == [OWNER, MODERATOR, "Renny"]
        assert [emoji.split(":")[1] for emoji in channel_info.emojis] == ["wave"]

    perform(act, world({"name": "general", "topic": "tea"}, "logs"))


def test_in_a_direct_message_there_is_one_person() -> None:
    async def act(show: Show) -> None:
        show.stage.people.dm("hi", user=MEMBER)
        await show.heard(1)
        _incoming, turn_channel = show.talks.heard[0]
        channel_info = await turn_channel.channel_info(None, 10)
        assert turn_channel.server_id == 0
        assert [person.name for person in channel_info.people] == ["Ren"]
        assert (channel_info.server_name, channel_info.emojis) == ("", ())
        assert [said.text for said in channel_info.history] == ["hi"]

    perform(act)


def test_a_history_that_cannot_be_read_is_empty() -> None:
    async def act(show: Show) -> None:
        show.stage.people.post("general", "hello", user=OWNER)
        show.stage.deny("general", "read_message_history")
        await show.stage.settled()
        assert (await show.turn_channel().channel_info(None, 10)).history == ()
        assert show.stage.calls("GET /channels/*/messages") == []

    perform(act)


def test_one_message_or_none() -> None:
    async def act(show: Show) -> None:
        posted = show.stage.people.post("general", "hello", user=OWNER)
        said = await show.turn_channel().said(posted.id)
        assert said is not None
        assert said.text == "hello"
        assert await show.turn_channel().said(12345) is None

    perform(act)


def test_the_answer_replies_to_what_was_asked() -> None:
    async def act(show: Show) -> None:
        asked = show.stage.people.post("general", "hello", user=MEMBER)
        (incoming,) = await show.heard(1)
        _incoming, turn_channel = show.talks.heard[0]
        await turn_channel.sink(incoming).send(Post("a", "hi", reply=True), WireState(0))
        reference = last(show).reference
        assert reference is not None
        assert int(reference["message_id"]) == asked.id

    perform(act)


def test_no_reactions_while_too_many_requests_are_refused() -> None:
    async def act(show: Show) -> None:
        turn_channel = show.turn_channel()
        posted = show.stage.people.post("general", "hi", user=OWNER)
        assert await turn_channel.react(posted.id, "👀")
        for _ in range(3000):
            show.client.guard.note(429)
        assert not await turn_channel.react(posted.id, "👍")
        await turn_channel.unreact(posted.id, "👀")
        assert [reaction.name for reaction in posted.reactions] == ["👀"]

    perform(act)


def test_reactions_come_and_go_and_refusals_do_not_matter() -> None:
    async def act(show: Show) -> None:
        posted = show.stage.people.post("general", "hello", user=OWNER)
        turn_channel = show.turn_channel()
        assert await turn_channel.react(posted.id, "👀")
        assert await turn_channel.react(posted.id, ":wave:")
        assert [reaction.name for reaction in posted.reactions] == ["👀", "wave"]
        await turn_channel.unreact(posted.id, "👀")
        assert [reaction.name for reaction in posted.reactions] == ["wave"]
        assert not await turn_channel.react(12345, "👀")
        await turn_channel.unreact(12345, "👀")
        assert not await turn_channel.react(posted.id, "no emoji at all")
        assert len(posted.reactions) == 1

    perform(act)


def test_its_own_messages_are_deleted_whoever_sent_them() -> None:
    async def act(show: Show) -> None:
        turn_channel = show.turn_channel()
        kept = show.stage.people.post("general", "stays", user=OWNER)
        ids = [
            await say(turn_channel, "a"),
            await say(turn_channel, "b", MOCHI),
            await say(turn_channel, "c", MOCHI),
        ]
        gone = await say(turn_channel, "d")
        show.stage.people.delete(gone)
        await turn_channel.delete([*ids, gone, 12345])
        assert [message.id for message in show.stage.world.history("general")] == [kept.id]
        refused = [record for record in show.stage.requests if (record.status or 0) >= 400]
        assert refused == []

    perform(act)


def test_many_are_deleted_at_once_where_that_is_allowed() -> None:
    async def act(show: Show) -> None:
        turn_channel = show.turn_channel()
        ids = [await say(turn_channel, text, face) for text in "abc" for face in (None, MOCHI)]
        await turn_channel.delete(ids)
        assert show.stage.world.history("general") == []
        assert len(show.stage.calls("POST /channels/*/messages/bulk-delete")) == 1
        assert show.stage.calls("DELETE /channels/*/messages/*") == []

    allowed = ["view_channel", "send_messages", "read_message_history", "manage_messages"]
    described = world() | {"bot": {"permissions": [*allowed, "manage_webhooks"]}}
    perform(act, described)


def test_a_channel_that_is_gone_stops_no_deletion() -> None:
    async def act(show: Show) -> None:
        turn_channel = show.turn_channel()
        number = await say(turn_channel, "a")
        show.stage.delete_channel("general")
        await turn_channel.delete([number])

    perform(act)


def test_thoughts_go_to_another_channel_in_silence() -> None:
    async def act(show: Show) -> None:
        embeds = (Embed("Thoughts", "one"), Embed("Thoughts", "@everyone two"))
        await show.turn_channel().log_thoughts(show.id_of("logs"), embeds, MOCHI)
        first, second = show.stage.world.history("logs")
        assert (first.username, first.embeds[0]["description"]) == ("Mochi", "one")
        assert second.embeds[0]["description"] == "@everyone two"
        assert first.flags & MessageFlag.SUPPRESS_NOTIFICATIONS
        assert (second.mention_everyone, second.mentions) == (False, [])
        assert show.stage.world.history("general") == []

    perform(act)


def test_without_a_webhook_the_bot_logs_thoughts_itself() -> None:
    async def act(show: Show) -> None:
        show.stage.deny("logs", "manage_webhooks")
        await show.stage.settled()
        await show.turn_channel().log_thoughts(
            show.id_of("logs"), [Embed("Thoughts", "one")], MOCHI
        )
        (only,) = show.stage.world.history("logs")
        assert only.author_id == show.stage.world.bot.id

    perform(act)


def test_thoughts_never_go_to_another_server() -> None:
    async def act(show: Show) -> None:
        await show.turn_channel().log_thoughts(
            show.id_of("theirs"), [Embed("Thoughts", "one")], None
        )
        await show.turn_channel().log_thoughts(12345, [Embed("Thoughts", "one")], None)
        assert show.stage.world.history("theirs") == []

    first = world()["guilds"]
    assert isinstance(first, list)
    other = {"name": "Other", "members": [OWNER], "channels": ["theirs"]}
    perform(act, {"guilds": [*first, other]})
