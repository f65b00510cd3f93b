"""Webhooks: identities, threads, tokens, and the rules of names."""

from __future__ import annotations

import io

import discord
import pytest

from discord_stage import Stage
from stage_server.listening_client import ListeningClient, run_on_stage, world


def test_a_webhook_speaks_under_any_name_and_can_edit_and_delete_it() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        webhook = await bot.place().create_webhook(
            name="Stagehand", avatar=b"\x89PNG\r\n\x1a\n1234"
        )
        sent = await webhook.send(
            "hello",
            username="Tomori",
            avatar_url="https://pictures.example/t.png",
            file=discord.File(io.BytesIO(b"1"), "a.txt"),
            wait=True,
        )
        assert (sent.author.name, sent.author.discriminator) == ("Tomori", "0000")
        assert sent.webhook_id == webhook.id
        await stage.wait_for(lambda: bot.heard)
        heard = bot.heard[0]
        assert (heard.author.name, heard.author.bot, heard.webhook_id) == (
            "Tomori",
            True,
            webhook.id,
        )
        assert heard.application_id == bot.application_id
        plain = await webhook.send("as itself", wait=True)
        assert plain.author.name == "Stagehand"
        await sent.edit(content="hello again")
        assert (await webhook.fetch_message(sent.id)).content == "hello again"
        await plain.delete()
        assert stage.world.contents("general") == ["hello again"]
        assert await webhook.send("quick") is None  # type: ignore[func-returns-value]
        assert stage.world.contents("general") == ["hello again", "quick"]

    run_on_stage(scenario)


def test_webhooks_are_listed_found_renamed_and_deleted() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        webhook = await bot.place().create_webhook(name="one")
        assert [w.id for w in await bot.place().webhooks()] == [webhook.id]
        assert [w.id for w in await bot.guilds[0].webhooks()] == [webhook.id]
        found = await bot.fetch_webhook(webhook.id)
        assert (found.token, found.user) == (webhook.token, bot.user)
        by_token = discord.Webhook.partial(webhook.id, webhook.token or "", client=bot)
        assert (await by_token.fetch(prefer_auth=False)).name == "one"
        await by_token.edit(name="two", prefer_auth=False)
        await webhook.edit(channel=bot.place("random"))
        stored = stage.world.webhooks[webhook.id]
        assert (stored.name, stored.channel_id) == ("two", bot.place("random").id)
        await by_token.delete(prefer_auth=False)
        assert stage.world.webhooks == {}
        await stage.settled()
        assert bot.events.count("WEBHOOKS_UPDATE") == 4

    run_on_stage(scenario, world("general", "random"))


BAD_NAMES = ["Clyde", "my DISCORD bot", "everyone", "Here", "x" * 81, " "]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_discord_refuses(name: str) -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        webhook = await bot.place().create_webhook(name="fine")
        for act in (webhook.send("x", username=name, wait=True), webhook.edit(name=name)):
            with pytest.raises(discord.HTTPException) as caught:
                await act
            assert (caught.value.status, caught.value.code) == (400, 50035)
        assert stage.world.contents("general") == []

    run_on_stage(scenario)


@pytest.mark.parametrize("url", ["ftp://x.example/a.png", "https://x.example/" + "a" * 2048])
def test_a_face_that_discord_refuses(url: str) -> None:
    async def scenario(_stage: Stage, bot: ListeningClient) -> None:
        webhook = await bot.place().create_webhook(name="fine")
        with pytest.raises(discord.HTTPException) as caught:
            await webhook.send("x", avatar_url=url, wait=True)
        assert caught.value.code == 50035
        assert "avatar_url" in caught.value.text

    run_on_stage(scenario)


def test_into_threads_of_its_channel_only() -> None:
    described = world(
        {"name": "general", "threads": ["ours", {"name": "asleep", "archived": True}]},
        {"name": "random", "threads": ["theirs"]},
    )

    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        webhook = await bot.place().create_webhook(name="w")
        for name in ("ours", "asleep"):
            thread = discord.Object(stage.world.channel(name).id)
            sent = await webhook.send("x", thread=thread, wait=True)
            await sent.edit(content="y")
            assert stage.world.contents(name) == ["y"]
        asleep = stage.world.channel("asleep").thread
        assert asleep is not None
        assert not asleep.archived
        theirs = discord.Object(stage.world.channel("theirs").id)
        with pytest.raises(discord.NotFound) as caught:
            await webhook.send("x", thread=theirs, wait=True)
        assert caught.value.code == 10003

    run_on_stage(scenario, described)


def test_without_wait_what_is_not_saved_is_no_error() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        webhook = await bot.place().create_webhook(name="w")
        await webhook.send("a swearword")
        assert stage.world.contents("general") == []
        with pytest.raises(discord.HTTPException) as caught:
            await webhook.send("a swearword", wait=True)
        assert caught.value.code == 200000
        with pytest.raises(discord.HTTPException) as caught:
            await webhook.send("x" * 2001)
        assert caught.value.code == 50035

    run_on_stage(scenario, world(automod=["swearword"]))


def test_a_webhook_needs_its_permission_but_its_messages_need_none() -> None:
    no_hooks = {"member": "Stagehand", "deny": ["manage_webhooks"]}

    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        with pytest.raises(discord.Forbidden) as caught:
            await bot.place("locked").create_webhook(name="w")
        assert caught.value.code == 50013
        webhook = await bot.place("mute").create_webhook(name="w")
        await webhook.send("@everyone", wait=True)
        assert stage.world.history("mute")[0].mention_everyone

    mute = {"name": "mute", "overwrites": [{"member": "Stagehand", "deny": ["send_messages"]}]}
    run_on_stage(scenario, world({"name": "locked", "overwrites": [no_hooks]}, mute))


def test_a_forum_post_by_webhook() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        forum = bot.get_channel(stage.world.channel("posts").id)
        assert isinstance(forum, discord.ForumChannel)
        webhook = await forum.create_webhook(name="w")
        await webhook.send("first", thread_name="topic", wait=True)
        assert stage.world.contents("topic") == ["first"]

    run_on_stage(scenario, world("general", {"name": "posts", "type": "forum"}))
