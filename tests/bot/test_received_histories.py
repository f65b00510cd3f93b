"""A channel's history is read once. What the gateway tells keeps it right, or it is read again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import discord
import pytest

from discord_stage.world.permissions import Permission
from discord_stage.world_changes import channel_changes
from oshaberi.delivery.sink import Post, WebhookFace, WireState
from oshaberi.discord_io import histories as module
from oshaberi.discord_io.histories import ReceivedHistories
from tests.bot.client_harness import MEMBER, OWNER, ClientHarness, run_with_client, world

MOCHI = WebhookFace("Mochi", "https://pictures.test/mochi.png")
PLACES = world({"name": "general", "threads": ["aside"]}, "logs")


def reads(harness: ClientHarness, channel: str = "general") -> int:
    """How often the history was asked for."""
    path = f"/channels/{harness.id_of(channel)}/messages"
    asked = [one for one in harness.stage.requests if one.method == "GET"]
    return sum(one.path.split("?")[0].endswith(path) for one in asked)


async def history(harness: ClientHarness, limit: int = 50, channel: str = "general") -> list[str]:
    found = await harness.turn_channel(channel).channel_info(None, limit)
    return [said.text for said in found.history]


def truth(harness: ClientHarness, channel: str = "general") -> list[str]:
    return [message.content for message in harness.stage.world.history(channel)]


async def agrees(harness: ClientHarness, *, read: int) -> None:
    """All events are received; the history is that of the channel, after so many reads."""
    await harness.stage.gateway.caught_up()
    assert await history(harness) == truth(harness)
    assert reads(harness) == read


async def say(harness: ClientHarness, text: str, face: WebhookFace | None = None) -> Any:
    sink = harness.turn_channel().sink(None)
    if face is not None:
        await sink.open_webhook()
    post = Post(f"say {text}", text, face=face)
    return sink, post, await sink.send(post, WireState(0))


def run_talk(
    scenario: Callable[[ClientHarness], Awaitable[None]], **described: Mapping[str, object]
) -> None:
    """Two messages are there, and have been read once."""

    async def whole(harness: ClientHarness) -> None:
        for text in ("one", "two"):
            harness.stage.people.post("general", text, user=MEMBER)
        await agrees(harness, read=1)
        await scenario(harness)

    run_with_client(whole, PLACES | described)


def test_what_people_write_edit_and_delete() -> None:
    async def scenario(harness: ClientHarness) -> None:
        people = harness.stage.people
        three = people.post("general", "three", user=OWNER)
        await agrees(harness, read=1)
        people.edit(three.id, "three, but better")
        await agrees(harness, read=1)
        first = harness.stage.world.history("general")[0]
        people.edit(first.id, "one, which was only read")
        await agrees(harness, read=1)
        people.delete(first.id)
        await agrees(harness, read=1)
        people.post("logs", "elsewhere", user=OWNER)
        await agrees(harness, read=1)

    run_talk(scenario)


def test_many_deleted_at_once() -> None:
    async def scenario(harness: ClientHarness) -> None:
        ids = [message.id for message in harness.stage.world.history("general")]
        harness.stage.people.post("general", "three", user=OWNER)
        await harness.channel().delete_messages([discord.Object(one) for one in ids])
        await agrees(harness, read=1)
        assert truth(harness) == ["three"]

    allowed = ["view_channel", "send_messages", "read_message_history", "manage_messages"]
    run_talk(scenario, bot={"permissions": allowed})


def test_what_the_bot_has_just_said_is_there() -> None:
    """Its answer is known before the gateway tells of it: nobody waits for that."""

    async def scenario(harness: ClientHarness) -> None:
        for number in range(5):
            await say(harness, f"answer {number}", MOCHI if number % 2 else None)
            assert (await history(harness))[-1] == f"answer {number}"
        before = reads(harness)
        await agrees(harness, read=before)

    run_talk(scenario)


def test_a_message_that_does_not_come_back_is_read() -> None:
    async def scenario(harness: ClientHarness) -> None:
        channel_id = harness.id_of("general")
        harness.client.histories.note_sent(channel_id, 5)
        await agrees(harness, read=2)
        await agrees(harness, read=2)

    run_talk(scenario)


def test_what_the_bot_edits_or_deletes_is_read_again() -> None:
    async def scenario(harness: ClientHarness) -> None:
        sink, post, sent = await say(harness, "growing")
        await agrees(harness, read=1)
        await sink.edit(sent, Post(post.nonce, "grown"), WireState(0))
        await agrees(harness, read=2)
        await sink.delete(sent, WireState(0))
        await agrees(harness, read=3)
        _sink, _post, other = await say(harness, "other")
        await agrees(harness, read=3)
        await harness.turn_channel().delete([other.id])  # which looks for it first
        await agrees(harness, read=5)

    run_talk(scenario)


def test_a_resumed_session_has_no_gap() -> None:
    async def scenario(harness: ClientHarness) -> None:
        gateway, people = harness.stage.gateway, harness.stage.people
        gateway.drop()
        people.post("general", "said meanwhile", user=OWNER)
        people.edit(harness.stage.world.history("general")[0].id, "edited meanwhile")
        await harness.stage.wait_for(lambda: gateway.resumed == 1)
        people.post("general", "said afterwards", user=OWNER)
        await harness.stage.gateway.caught_up()
        await live(harness)
        await agrees(harness, read=1)

    run_talk(scenario)


async def live(harness: ClientHarness) -> None:
    """Until the shard is known to be connected."""
    await harness.stage.wait_for(lambda: harness.client._is_live(harness.server_id))


def test_while_it_is_disconnected_the_channel_is_read() -> None:
    async def scenario(harness: ClientHarness) -> None:
        histories, channel = harness.client.histories, harness.channel()
        histories.listeners["shard_disconnect"](0)
        assert histories.known(channel, None, 50) is None
        with histories.reading(channel, None, 50) as keep:
            keep([])
        histories.listeners["shard_resumed"](0)
        assert await history(harness) == truth(harness), "what was read meanwhile is not kept"
        assert reads(harness) == 1
        histories.listeners["shard_disconnect"](0)
        histories.listeners["shard_connect"](0)
        assert histories.known(channel, None, 50) is None

    run_talk(scenario)


def test_a_new_session_reads_again() -> None:
    async def scenario(harness: ClientHarness) -> None:
        gateway, people = harness.stage.gateway, harness.stage.people
        gateway.refuses = True
        gateway.drop()
        gateway.sessions.clear()
        await harness.stage.wait_for(lambda: gateway.refused > 1)
        people.post("general", "missed", user=OWNER)
        assert await history(harness) == truth(harness)
        people.delete(harness.stage.world.history("general")[0].id)
        gateway.refuses = False
        await harness.stage.wait_for(lambda: gateway.identified == 2)
        await live(harness)
        await harness.stage.settled()
        before = reads(harness)
        await agrees(harness, read=before + 1)
        people.post("general", "heard", user=OWNER)
        await agrees(harness, read=before + 1)
        assert gateway.resumed == 0

    run_talk(scenario)


def test_a_channel_that_was_hidden_for_a_while_is_read_again() -> None:
    async def scenario(harness: ClientHarness) -> None:
        stage = harness.stage
        channel = stage.world.channel("general")
        stage.deny("general", "view_channel")
        stage.people.post("general", "said in secret", user=OWNER)
        channel.overwrites[stage.world.bot.id].deny &= ~Permission.VIEW_CHANNEL
        channel_changes.channel_changed(stage.state, channel)
        stage.people.post("general", "said in public", user=OWNER)
        await agrees(harness, read=2)
        await agrees(harness, read=2)

    run_talk(scenario)


def test_without_the_right_to_read_there_is_no_history() -> None:
    async def scenario(harness: ClientHarness) -> None:
        harness.stage.deny("general", "read_message_history")
        await harness.stage.gateway.caught_up()
        assert await history(harness) == []
        assert reads(harness) == 1

    run_talk(scenario)


def test_a_server_that_was_away_and_changed_roles_are_read_again() -> None:
    async def scenario(harness: ClientHarness) -> None:
        histories, guild = harness.client.histories, harness.channel().guild
        role = guild.default_role
        events: list[tuple[str, tuple[object, ...]]] = [
            ("guild_unavailable", (guild,)),
            ("guild_available", (guild,)),
            ("guild_remove", (guild,)),
            ("guild_join", (guild,)),
            ("guild_update", (guild, guild)),
            ("guild_role_update", (role, role)),
            ("guild_role_delete", (role,)),
            ("member_update", (guild.me, guild.me)),
            ("guild_channel_update", (harness.channel(), harness.channel())),
            ("guild_channel_delete", (harness.channel(),)),
        ]
        for number, (event, args) in enumerate(events, 2):
            histories.listeners[event](*args)
            await agrees(harness, read=number)
            await agrees(harness, read=number)

    run_talk(scenario)


def test_only_as_deep_as_it_was_read() -> None:
    async def scenario(harness: ClientHarness) -> None:
        for number in range(10):
            harness.stage.people.post("logs", str(number), user=OWNER)
        await harness.stage.gateway.caught_up()
        for limit, read in ((3, 1), (2, 1), (5, 2), (4, 2), (20, 3), (50, 3)):
            expected = truth(harness, "logs")[-limit:]
            assert await history(harness, limit, "logs") == expected
            assert reads(harness, "logs") == read
        older = harness.stage.world.history("logs")[4].id
        found = await harness.turn_channel("logs").channel_info(older, 3)
        assert [said.text for said in found.history] == ["1", "2", "3"]
        assert reads(harness, "logs") == 3

    run_talk(scenario)


def test_a_thread_is_read_each_time() -> None:
    async def scenario(harness: ClientHarness) -> None:
        harness.stage.people.post("aside", "in the thread", user=OWNER)
        await harness.stage.gateway.caught_up()
        for number in (1, 2):
            assert (await history(harness, channel="aside"))[-1] == "in the thread"
            assert reads(harness, "aside") == number

    run_talk(scenario)


def test_one_person_has_one_name() -> None:
    """A received message has its author as they were then."""

    async def scenario(harness: ClientHarness) -> None:
        stage = harness.stage
        stage.people.post("general", "before", user=MEMBER)
        await harness.heard(3)
        member = stage.world.guilds[harness.server_id].members[stage.world.user(MEMBER).id]
        member.nick = "Somebody else"
        stage.people.post("general", "after", user=MEMBER)
        await harness.heard(4)
        found = await harness.turn_channel().channel_info(None, 50)
        assert {said.author.name for said in found.history} == {"Somebody else"}
        assert reads(harness) == 1

    run_talk(scenario)


def deleted(channel_id: int, message_id: int) -> tuple[str, object]:
    data: Any = {"id": str(message_id), "channel_id": str(channel_id)}
    return "raw_message_delete", discord.RawMessageDeleteEvent(data)


def test_what_changes_while_it_is_read_is_read_again() -> None:
    async def scenario(harness: ClientHarness) -> None:
        histories, channel = harness.client.histories, harness.channel()
        read = [message async for message in channel.history(limit=50)]
        raw = discord.RawMessageUpdateEvent.__new__(discord.RawMessageUpdateEvent)
        raw.channel_id, raw.message = channel.id, read[0]
        for event, gone in (deleted(channel.id, read[0].id), ("raw_message_edit", raw)):
            with histories.reading(channel, None, 50) as keep:
                histories.listeners[event](gone)
                keep(read)
            assert histories.known(channel, None, 50) is None
        with histories.reading(channel, None, 50) as keep:
            keep(read)
        assert histories.known(channel, None, 50) == read

    run_talk(scenario)


def test_what_comes_while_it_is_read_is_part_of_it() -> None:
    async def scenario(harness: ClientHarness) -> None:
        histories, channel = harness.client.histories, harness.channel()
        read = [message async for message in channel.history(limit=50)]
        with histories.reading(channel, None, 50) as keep:
            histories.listeners["message"](read[0])
            assert histories.known(channel, None, 50) is None
            keep(read[1:])
        assert histories.known(channel, None, 50) == read

    run_talk(scenario)


def test_a_failed_or_partial_reading_keeps_nothing() -> None:
    async def scenario(harness: ClientHarness) -> None:
        histories, channel = harness.client.histories, harness.channel()
        read = [message async for message in channel.history(limit=50)]
        with pytest.raises(TimeoutError), histories.reading(channel, None, 50):
            raise TimeoutError
        assert histories.known(channel, None, 50) is None
        with histories.reading(channel, read[0].id, 50) as keep:
            keep(read[1:])
        assert histories.known(channel, None, 50) is None

    run_talk(scenario)


def test_it_is_read_again_after_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    """The links to its files would not be valid for ever."""

    async def scenario(harness: ClientHarness) -> None:
        await agrees(harness, read=1)
        later = asyncio.get_running_loop().time() + module.LONGEST_SECONDS
        monkeypatch.setattr(module, "loop_time_s", lambda: later)
        await agrees(harness, read=2)
        await agrees(harness, read=2)

    run_talk(scenario)


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(harness: ClientHarness) -> None:
        monkeypatch.setattr(module, "MOST_MESSAGES", 2)
        people, histories = harness.stage.people, harness.client.histories
        for number in range(30):
            people.post("logs", str(number), user=OWNER)
            await harness.stage.gateway.caught_up()
            assert (await history(harness, 2, "logs"))[-1] == str(number)
        kept = histories._histories
        assert len(kept[harness.id_of("logs")]) < 4
        assert reads(harness, "logs") <= 2
        assert list(kept) == [harness.id_of("logs")], "the channel that was not used is forgotten"

    run_talk(scenario)


def test_a_channel_keeps_half_as_many_more_as_are_read() -> None:
    async def scenario(harness: ClientHarness) -> None:
        people, kept = harness.stage.people, harness.client.histories._histories
        for number in range(60):
            people.post("logs", str(number), user=OWNER)
            await harness.stage.gateway.caught_up()
            assert (await history(harness, 20, "logs"))[-1] == str(number)
            assert len(kept[harness.id_of("logs")]) < 30
        assert reads(harness, "logs") == 1

    run_talk(scenario)


def test_a_client_that_passes_no_events_on_keeps_nothing() -> None:
    async def scenario(harness: ClientHarness) -> None:
        histories, channel = ReceivedHistories(), harness.channel()
        with histories.reading(channel, None, 50) as keep:
            keep([])
        assert histories.known(channel, None, 50) is None

    run_talk(scenario)
