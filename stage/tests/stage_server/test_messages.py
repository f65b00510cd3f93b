"""Messages through real discord.py: what is stored, what comes back, what is heard."""

from __future__ import annotations

import io
import struct

import discord
import pytest

from discord_stage import Settings, Stage
from stage_server.listening_client import FAST, ListeningClient, run_on_stage, world

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 320, 200) + b"\x08\x02\0\0\0"


def test_send_edit_delete_and_hear_it() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        message = await bot.place().send("  hello  ")
        assert message.content == "hello"
        await message.edit(content="hello again")
        assert stage.world.contents("general") == ["hello again"]
        assert stage.world.history("general")[0].edited_at is not None
        await message.delete()
        assert stage.world.contents("general") == []
        await stage.settled()
        assert bot.texts == ["hello again"]  # the cached message was edited in place
        assert bot.events[-3:] == ["MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE"]

    run_on_stage(scenario)


def test_own_sends_are_echoed_with_their_nonce_and_history_lacks_it() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        sent = await bot.place().send("x", nonce="my-nonce")
        await stage.wait_for(lambda: bot.heard)
        assert (sent.nonce, bot.heard[0].nonce) == ("my-nonce", "my-nonce")
        assert [message.nonce async for message in bot.place().history()] == [None]

    run_on_stage(scenario)


def test_the_same_nonce_makes_one_message() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        first = await bot.place().send("one", nonce="n")
        second = await bot.place().send("other words", nonce="n")
        assert (second.id, second.content) == (first.id, "one")
        assert stage.world.contents("general") == ["one"]
        await first.delete()
        with pytest.raises(discord.NotFound) as caught:
            await bot.place().send("one", nonce="n")
        assert caught.value.code == 10008

    run_on_stage(scenario)


def test_a_nonce_is_forgotten_after_some_minutes() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        await bot.place().send("one", nonce="n")
        await stage.wait_for(lambda: stage.state.nonces.find(stage.world.bot.id, "n") is None)
        await bot.place().send("two", nonce="n")
        assert stage.world.contents("general") == ["one", "two"]

    run_on_stage(scenario, settings=Settings(nonce_s=0.05))


def test_history_before_after_around_and_one() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        posted = [stage.people.post("general", str(number)) for number in range(9)]
        middle = discord.Object(posted[4].id)
        place = bot.place()
        assert [m.content async for m in place.history(limit=3)] == ["8", "7", "6"]
        assert [m.content async for m in place.history(limit=2, before=middle)] == ["3", "2"]
        assert [m.content async for m in place.history(limit=2, after=middle)] == ["5", "6"]
        around = [m.content async for m in place.history(limit=5, around=middle)]
        assert sorted(around) == ["2", "3", "4", "5", "6"]
        assert (await place.fetch_message(posted[0].id)).content == "0"

    run_on_stage(scenario)


def test_files_come_back_as_they_were_sent() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        files = [
            discord.File(io.BytesIO(PNG), "table 1.png", description="a table"),
            discord.File(io.BytesIO(b"<b>x</b>"), "page.html"),
        ]
        embed = discord.Embed(title="T").set_image(url="attachment://page.html")
        message = await bot.place().send("look", files=files, embed=embed)
        picture, page = message.attachments
        assert (picture.width, picture.height, picture.description) == (320, 200, "a table")
        assert await picture.read() == PNG
        assert await page.read() == b"<b>x</b>"
        assert message.embeds[0].image.url == page.url
        kept = await message.edit(attachments=[page])
        assert [a.filename for a in kept.attachments] == ["page.html"]
        stage.check()

    run_on_stage(scenario)


def test_replies_point_at_their_message() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        asked = stage.people.post("general", "well?", user="ren")
        await stage.wait_for(lambda: bot.heard)
        answer = await bot.heard[0].reply("well!")
        assert answer.type is discord.MessageType.reply
        assert isinstance(answer.reference, discord.MessageReference)
        assert isinstance(answer.reference.resolved, discord.Message)
        assert answer.reference.resolved.id == asked.id
        assert stage.world.history("general")[-1].notified == [stage.world.user("ren").id]

    run_on_stage(scenario)


ALLOWED = [
    (None, {"mika", "ren"}, True),
    (discord.AllowedMentions.none(), set(), False),
    (discord.AllowedMentions(everyone=False, users=True, roles=False), {"mika"}, False),
    (discord.AllowedMentions(everyone=False, users=False, roles=True), {"ren"}, False),
]


@pytest.mark.parametrize(("allowed", "reached", "everyone"), ALLOWED)
def test_allowed_mentions_are_applied(
    allowed: discord.AllowedMentions | None, reached: set[str], everyone: bool
) -> None:
    described = world(
        roles=[{"name": "mods", "mentionable": True}],
        members=["mika", {"name": "ren", "roles": ["mods"]}, "aki"],
        everyone=["view_channel", "send_messages", "mention_everyone"],
    )

    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        mika, mods = stage.world.user("mika").id, stage.world.role("mods").id
        text = f"<@{mika}> <@&{mods}> `<@{stage.world.user('aki').id}>`"
        await bot.place().send(text, allowed_mentions=allowed)  # type: ignore[arg-type]
        await bot.place().send("@everyone", allowed_mentions=allowed)  # type: ignore[arg-type]
        first, second = stage.world.history("general")
        assert {stage.world.users[u].name for u in first.notified} == reached
        assert second.mention_everyone is everyone
        assert len(second.notified) == (3 if everyone else 0)

    run_on_stage(scenario, described)


def test_an_edit_parses_mentions_anew_and_notifies_nobody() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        message = await bot.place().send("x", allowed_mentions=discord.AllowedMentions.none())
        mika = stage.world.user("mika").id
        await message.edit(content=f"<@{mika}>")
        stored = stage.world.history("general")[0]
        assert (stored.mentions, stored.notified) == ([mika], [])

    run_on_stage(scenario)


def test_reactions_typing_and_pins() -> None:
    described = world(
        "general", emojis=["wave"], everyone=["view_channel", "send_messages", "manage_messages"]
    )

    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        message = await bot.place().send("x")
        emoji = bot.guilds[0].emojis[0]
        await message.add_reaction("🎉")
        await message.add_reaction(emoji)
        stage.people.react(message.id, "wave", user="ren")
        fetched = await bot.place().fetch_message(message.id)
        assert [(str(r.emoji), r.count, r.me) for r in fetched.reactions] == [
            ("🎉", 1, True),
            (str(emoji), 2, True),
        ]
        assert {user.name async for user in fetched.reactions[1].users()} == {"Stagehand", "ren"}
        await message.remove_reaction("🎉", bot.user)  # type: ignore[arg-type]
        await message.clear_reactions()
        async with bot.place().typing():
            pass
        await message.pin()
        assert [m.id async for m in bot.place().pins()] == [message.id]
        await stage.settled()
        assert "TYPING_START" in bot.events
        assert bot.events.count("MESSAGE_REACTION_ADD") == 3
        assert stage.world.history("general")[0].reactions == []

    run_on_stage(scenario, described)


def test_dms() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        stage.people.dm("psst", user="ren")
        await stage.wait_for(lambda: bot.texts == ["psst"])
        assert isinstance(bot.heard[0].channel, discord.DMChannel)
        await bot.heard[0].channel.send("what?")
        assert stage.world.contents("@ren") == ["psst", "what?"]
        mika = bot.get_user(stage.world.user("mika").id)
        assert mika is not None
        await mika.send("you too")
        assert stage.world.contents("@mika") == ["you too"]

    run_on_stage(scenario)


def test_deleting_many_at_once() -> None:
    described = {
        **world("general"),
        "bot": {"permissions": ["administrator"]},
    }

    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        for number in range(4):
            stage.people.post("general", str(number))
        await bot.place().purge(limit=3)
        assert stage.world.contents("general") == ["0"]
        assert stage.calls("POST */bulk-delete")

    run_on_stage(scenario, described, settings=FAST)
