"""Threads and forums."""

from __future__ import annotations

import asyncio

import discord
import pytest

from discord_stage import Stage
from stage_server.listening_client import ListeningClient, run_on_stage, world


def test_a_thread_from_a_message() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        message = await bot.place().send("topic?")
        thread = await message.create_thread(name="topic")
        assert thread.id == message.id
        await thread.send("inside")
        assert stage.world.contents("topic") == ["inside"]
        stage.people.post("topic", "me too", user="ren")
        await stage.wait_for(lambda: "me too" in bot.texts)
        assert isinstance(bot.heard[-1].channel, discord.Thread)
        fetched = await bot.place().fetch_message(message.id)
        assert fetched.thread == thread
        again = await bot.fetch_channel(thread.id)
        assert isinstance(again, discord.Thread)
        assert again.message_count == 2
        assert {member.id for member in await thread.fetch_members()} == {
            stage.world.bot.id,
            stage.world.user("ren").id,
        }

    run_on_stage(scenario)


def test_threads_of_their_own_private_and_public() -> None:
    described: dict[str, object] = {**world(), "bot": {"permissions": ["administrator"]}}

    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        public = await bot.place().create_thread(
            name="open", type=discord.ChannelType.public_thread
        )
        private = await bot.place().create_thread(name="closed")
        assert private.is_private()
        assert not public.is_private()
        await private.add_user(discord.Object(stage.world.user("ren").id))
        await private.send("psst")
        assert {t.name for t in await bot.guilds[0].active_threads()} == {"open", "closed"}
        await public.edit(archived=True, locked=True)
        assert [t.name async for t in bot.place().archived_threads()] == ["open"]
        await private.leave()
        await private.delete()
        await stage.wait_for(lambda: bot.guilds[0].get_thread(private.id) is None)
        assert private.id not in stage.world.channels

    run_on_stage(scenario, described)


def test_writing_wakes_an_archived_thread_and_editing_in_it_is_refused() -> None:
    described = world({"name": "general", "threads": [{"name": "old", "archived": True}]})

    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        old = await bot.fetch_channel(stage.world.channel("old").id)
        assert isinstance(old, discord.Thread)
        message = await old.send("awake")
        await stage.settled()
        assert "THREAD_UPDATE" in bot.events
        await old.edit(archived=True)
        with pytest.raises(discord.HTTPException) as caught:
            await message.edit(content="asleep")
        assert caught.value.code == 50083
        await old.edit(archived=False)
        await message.edit(content="awake again")
        assert stage.world.contents("old") == ["awake again"]

    run_on_stage(scenario, described)


def test_a_locked_thread_is_opened_by_a_moderator_only() -> None:
    described = world(
        {"name": "general", "threads": [{"name": "shut", "archived": True, "locked": True}]}
    )
    weak: dict[str, object] = {
        **described,
        "bot": {"permissions": ["view_channel", "send_messages_in_threads"]},
    }

    async def refused(stage: Stage, bot: ListeningClient) -> None:
        thread = await bot.fetch_channel(stage.world.channel("shut").id)
        assert isinstance(thread, discord.Thread)
        for act, code in ((thread.send("x"), 50083), (thread.edit(archived=False), 50013)):
            with pytest.raises(discord.HTTPException) as caught:
                await act
            assert caught.value.code == code

    async def moderates(stage: Stage, bot: ListeningClient) -> None:
        thread = await bot.fetch_channel(stage.world.channel("shut").id)
        assert isinstance(thread, discord.Thread)
        await thread.send("x")
        assert stage.world.contents("shut") == ["x"]

    run_on_stage(refused, weak)
    run_on_stage(moderates, described)


def test_threads_inherit_their_channels_permissions() -> None:
    deny = {"member": "Stagehand", "deny": ["send_messages_in_threads"]}
    described = world({"name": "general", "threads": ["t"], "overwrites": [deny]})

    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        thread = bot.guilds[0].get_thread(stage.world.channel("t").id)
        assert thread is not None
        with pytest.raises(discord.Forbidden) as caught:
            await thread.send("x")
        assert caught.value.code == 50013
        await bot.place().send("the channel itself is open")

    run_on_stage(scenario, described)


def test_a_forums_first_post() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        forum = bot.get_channel(stage.world.channel("posts").id)
        assert isinstance(forum, discord.ForumChannel)
        made = await forum.create_thread(
            name="Idea", content="what if", applied_tags=[forum.available_tags[0]]
        )
        assert made.message.id == made.thread.id
        assert [tag.name for tag in made.thread.applied_tags] == ["idea"]
        assert stage.world.contents("Idea") == ["what if"]
        with pytest.raises(discord.HTTPException) as caught:
            await bot.http.send_message(
                forum.id, params=discord.http.handle_message_parameters("x")
            )
        assert caught.value.code == 50008

    run_on_stage(scenario, world("general", {"name": "posts", "type": "forum", "tags": ["idea"]}))


def test_channels_are_made_changed_and_deleted() -> None:
    described: dict[str, object] = {**world(), "bot": {"permissions": ["administrator"]}}

    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        made = await bot.guilds[0].create_text_channel("new", topic="fresh")
        await made.edit(name="newer", slowmode_delay=3)
        await made.set_permissions(bot.guilds[0].default_role, send_messages=False)
        stored = stage.world.channel("newer")
        assert (stored.topic, stored.slowmode_s) == ("fresh", 3)
        assert stored.overwrites[stage.world.guild("Guild").id].deny == 1 << 11
        await made.delete()
        await stage.wait_for(lambda: bot.get_channel(made.id) is None)
        assert made.id not in stage.world.channels

    run_on_stage(scenario, described)


def test_discord_says_itself_that_a_thread_was_begun() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        asked = stage.people.post("general", "what is tea?", user="ren")
        await stage.wait_for(lambda: "what is tea?" in bot.texts)
        thread = await bot.heard[-1].create_thread(name="tea")
        await stage.wait_for(lambda: bot.heard[-1].channel.id == thread.id)
        starter = bot.heard[-1]
        assert starter.type is discord.MessageType.thread_starter_message
        assert starter.reference is not None
        resolved = starter.reference.resolved
        assert isinstance(resolved, discord.Message)
        assert (resolved.id, resolved.content) == (asked.id, "what is tea?")
        assert thread.message_count == 0
        alone = await bot.place().create_thread(
            name="by itself", type=discord.ChannelType.public_thread
        )
        await stage.wait_for(lambda: bot.heard[-1].content == "by itself")
        told = bot.heard[-1]
        assert told.type is discord.MessageType.thread_created
        assert told.channel.id == asked.channel_id
        assert told.reference is not None
        assert told.reference.channel_id == alone.id
        with pytest.raises(discord.NotFound):
            await thread.fetch_message(thread.id)

    run_on_stage(scenario)


def test_a_thread_is_renamed_twice_in_ten_minutes() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        thread = await bot.place().create_thread(name="one", type=discord.ChannelType.public_thread)
        await thread.edit(name="two")
        await thread.edit(name="three")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(thread.edit(name="four"), 0.5)
        assert stage.world.channels[thread.id].name == "three"

    run_on_stage(scenario)
