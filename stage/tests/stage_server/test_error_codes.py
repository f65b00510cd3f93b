"""Every refusal of the table, got from the stage the way a bot would get it."""

from __future__ import annotations

import asyncio
import base64
import io
from collections.abc import Awaitable, Callable

import discord
import pytest

from discord_stage import Fault, RefusalError, Settings, Stage
from discord_stage.refusals import CODES
from discord_stage.rules.webhook_names import check_avatar_data
from discord_stage.world.records import Json
from stage_server.listening_client import FAST, ListeningClient, run_on_stage, world

Act = Callable[[Stage, ListeningClient], Awaitable[object]]


async def refused(act: Awaitable[object]) -> discord.HTTPException:
    with pytest.raises(discord.HTTPException) as caught:
        await act
    return caught.value


async def gone_channel(stage: Stage, bot: ListeningClient) -> object:
    place = bot.place("random")
    stage.fault(Fault(kind="delete_channel", channel="random"))
    return await place.send("x")


async def gone_message(_stage: Stage, bot: ListeningClient) -> object:
    message = await bot.place().send("x")
    await message.delete()
    return await message.edit(content="y")


async def gone_webhook(stage: Stage, bot: ListeningClient) -> object:
    webhook = await bot.place().create_webhook(name="w")
    stage.world.webhooks.clear()
    return await webhook.send("x", wait=True)


async def wrong_webhook_token(stage: Stage, bot: ListeningClient) -> object:
    webhook = await bot.place().create_webhook(name="w")
    stage.world.webhooks[webhook.id].token = "other"
    return await webhook.send("x", wait=True)


async def sixteenth_webhook(_stage: Stage, bot: ListeningClient) -> object:
    for number in range(16):
        await bot.place().create_webhook(name=f"w{number}")
    return None


async def foreign_message(stage: Stage, bot: ListeningClient) -> object:
    stage.people.post("general", "mine")
    message = await anext(bot.place().history())
    return await message.edit(content="yours")


async def closed_dm(stage: Stage, _bot: ListeningClient) -> object:
    user = await _bot.fetch_user(stage.world.user("hermit").id)
    return await user.send("hello?")


async def no_mutual_guild(stage: Stage, bot: ListeningClient) -> object:
    user = await bot.fetch_user(stage.world.user("stranger").id)
    return await user.send("hello?")


async def archived_and_locked(stage: Stage, bot: ListeningClient) -> object:
    thread = await bot.fetch_channel(stage.world.channel("old").id)
    assert isinstance(thread, discord.Thread)
    return await thread.send("x")


async def reply_without_history(stage: Stage, bot: ListeningClient) -> object:
    posted = stage.people.post("blind", "well?")
    return await bot.place("blind").get_partial_message(posted.id).reply("x")


async def reply_to_nothing(_stage: Stage, bot: ListeningClient) -> object:
    return await bot.place().get_partial_message(1).reply("x")


async def second_thread(_stage: Stage, bot: ListeningClient) -> object:
    message = await bot.place().send("x")
    await message.create_thread(name="one")
    return await message.create_thread(name="two")


async def forum_webhook(stage: Stage, bot: ListeningClient) -> object:
    forum = bot.get_channel(stage.world.channel("posts").id)
    assert isinstance(forum, discord.ForumChannel)
    webhook = await forum.create_webhook(name="w")
    return await webhook.send("x", wait=True)


async def thread_name_in_text(_stage: Stage, bot: ListeningClient) -> object:
    webhook = await bot.place().create_webhook(name="w")
    return await webhook.send("x", wait=True, thread_name="t")


async def twenty_one_reactions(_stage: Stage, bot: ListeningClient) -> object:
    message = await bot.place().send("x")
    for number in range(21):
        await message.add_reaction(chr(0x1F600 + number))
    return None


async def huge_file(_stage: Stage, bot: ListeningClient) -> object:
    content = io.BytesIO(bytes(10 * 1024 * 1024 + 1))
    return await bot.place().send(file=discord.File(content, "big.bin"))


CASES: dict[int, Act] = {
    10003: gone_channel,
    10004: lambda _stage, bot: bot.fetch_guild(1),
    10007: lambda _stage, bot: bot.guilds[0].fetch_member(1),
    10008: gone_message,
    10013: lambda _stage, bot: bot.fetch_user(1),
    10014: lambda _stage, bot: bot.guilds[0].fetch_emoji(1),
    10015: gone_webhook,
    30007: sixteenth_webhook,
    30010: twenty_one_reactions,
    40005: huge_file,
    50001: lambda _stage, bot: bot.place("secret").send("x"),
    50005: foreign_message,
    50006: lambda _stage, bot: bot.place().send(" \n "),
    50007: closed_dm,
    50013: lambda _stage, bot: bot.place("quiet").send("x"),
    50027: wrong_webhook_token,
    50035: lambda _stage, bot: bot.place().send("x" * 2001),
    50083: archived_and_locked,
    50278: no_mutual_guild,
    160002: reply_without_history,
    160004: second_thread,
    200000: lambda _stage, bot: bot.place().send("what a SwearWord"),
    220001: forum_webhook,
    220003: thread_name_in_text,
    240000: lambda _stage, bot: bot.place().send("see http://bad.example/x"),
}
DESCRIBED: dict[str, object] = {
    "bot": {
        "permissions": [
            "view_channel",
            "send_messages",
            "send_messages_in_threads",
            "create_public_threads",
            "read_message_history",
            "manage_webhooks",
            "attach_files",
            "add_reactions",
        ]
    },
    "users": ["stranger"],
    "guilds": [
        {
            "name": "Guild",
            "members": ["mika", {"name": "hermit", "dms": False}],
            "automod": ["swearword"],
            "harmful_links": ["bad.example"],
            "channels": [
                {"name": "general", "threads": [{"name": "old", "archived": True, "locked": True}]},
                "random",
                {
                    "name": "secret",
                    "overwrites": [{"member": "Stagehand", "deny": ["view_channel"]}],
                },
                {
                    "name": "quiet",
                    "overwrites": [{"member": "Stagehand", "deny": ["send_messages"]}],
                },
                {
                    "name": "blind",
                    "overwrites": [{"member": "Stagehand", "deny": ["read_message_history"]}],
                },
                {"name": "posts", "type": "forum"},
            ],
        }
    ],
}


@pytest.mark.parametrize("code", sorted(CASES))
def test_refused_with(code: int) -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        before = {
            channel.id: len(stage.world.history(channel.id))
            for channel in bot.guilds[0].text_channels
        }
        error = await refused(CASES[code](stage, bot))
        assert (error.status, error.code) == (CODES[code][0], code)
        failed = stage.requests[-1]
        assert (failed.status, failed.code) == (CODES[code][0], code)
        if code not in (10003, 10008, 50005, 160002, 160004, 30010):
            after = {c: len(stage.world.history(c)) for c in before}
            assert after == before

    run_on_stage(scenario, DESCRIBED)


FORMS: list[tuple[Json, str]] = [
    ({"content": "x" * 2001}, "In content: Must be 2000 or fewer in length."),
    ({"content": "x", "nonce": "n" * 26}, "In nonce: Must be 25 or fewer in length."),
    ({"embeds": [{"title": "t" * 257}]}, "In embeds.0.title: Must be 256 or fewer"),
    ({"embeds": [{"description": "d" * 4097}]}, "In embeds.0.description: Must be 4096 or fewer"),
    ({"embeds": [{}]}, "In embeds.0.description: This field is required"),
    ({"embeds": [{"title": "t"}] * 11}, "In embeds: Must be 10 or fewer in length."),
    (
        {"embeds": [{"description": "d" * 4000}, {"description": "d" * 2001}]},
        "In embeds: Embed size exceeds maximum size of 6000",
    ),
    (
        {"embeds": [{"fields": [{"name": "n" * 257, "value": "v"}]}]},
        "In embeds.0.fields.0.name: Must be 256 or fewer",
    ),
    (
        {"content": "x", "allowed_mentions": {"parse": ["users"], "users": ["1"]}},
        "In allowed_mentions: parse:",
    ),
    (
        {"content": "x", "allowed_mentions": {"parse": ["all"]}},
        "In allowed_mentions.parse.0: Value",
    ),
    (
        {"content": "x", "components": [{"type": 1, "components": []}]},
        "In components.0.components: Must be between 1 and 5",
    ),
    (
        {"content": "x", "components": [{"type": 1, "components": [{"type": 2, "style": 1}]}]},
        "In components.0.components.0.custom_id: This field is required",
    ),
    (
        {
            "content": "x",
            "components": [
                {"type": 1, "components": [{"type": 2, "style": 1, "custom_id": "a"}] * 2}
            ],
        },
        "Component custom id cannot be duplicated",
    ),
    ({"content": "x", "flags": 32768}, "In flags: The 'content' and 'embeds' fields cannot"),
    ({"content": "x", "message_reference": {}}, "In message_reference.message_id: This field is"),
]


@pytest.mark.parametrize(("form", "complaint"), FORMS)
def test_a_bad_form_is_named_at_its_place(form: Json, complaint: str) -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        route = discord.http.Route(
            "POST", "/channels/{channel_id}/messages", channel_id=bot.place().id
        )
        error = await refused(bot.http.request(route, json=form))
        assert (error.status, error.code) == (400, 50035)
        assert complaint in str(error)
        assert stage.world.contents("general") == []

    run_on_stage(scenario)


def test_two_thousand_code_points_fit_whatever_their_width() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        await bot.place().send("🎉" * 2000)
        assert stage.world.contents("general") == ["🎉" * 2000]

    run_on_stage(scenario)


def test_a_reply_to_nothing_is_a_bad_form() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        error = await refused(reply_to_nothing(stage, bot))
        assert (error.status, error.code) == (400, 50035)
        reference = bot.place().get_partial_message(1).to_reference(fail_if_not_exists=False)
        await bot.place().send("anyway", reference=reference)
        assert stage.world.contents("general") == ["anyway"]

    run_on_stage(scenario)


def test_slow_mode_binds_people_and_bots_only_if_told_to() -> None:
    described = world(
        {"name": "general", "slowmode_s": 60},
        {"name": "strict", "slowmode_s": 5, "slowmode_binds_bots": True},
        members=["mika", "ren"],
    )

    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        stage.people.post("general", "1", user="ren")
        with pytest.raises(RefusalError) as caught:
            stage.people.post("general", "2", user="ren")
        assert (caught.value.status, caught.value.code) == (429, 20016)
        stood = stage.state.now()
        stage.state.clock._loop_time = lambda: stood  # however long the machine takes
        for number in range(2):
            await bot.place().send(str(number))
        await bot.place("strict").send("0")
        again = asyncio.create_task(bot.place("strict").send("1"))
        await stage.wait_for(lambda: any(r.code == 20016 for r in stage.requests))
        stage.advance_clock(5)
        await again
        sends = stage.calls("POST /channels/*/messages")
        assert [r.code for r in sends if r.channel_id == bot.place().id] == [0, 0]
        # discord.py waits for the retry_after by itself
        assert [r.code for r in sends if r.channel_id == bot.place("strict").id] == [0, 20016, 0]

    run_on_stage(scenario, described, settings=FAST)


def test_a_huge_avatar_is_50045() -> None:
    png = base64.b64encode(bytes(10 * 1024 * 1024 + 3)).decode()
    with pytest.raises(RefusalError) as caught:
        check_avatar_data(f"data:image/png;base64,{png}")
    assert (caught.value.status, caught.value.code) == (400, 50045)


def test_a_wrong_token_is_401() -> None:
    async def scenario(stage: Stage, _bot: ListeningClient) -> None:
        other = ListeningClient()
        with pytest.raises(discord.LoginFailure):
            await other.login("nonsense")
        await other.close()
        assert stage.requests[-1].status == 401

    run_on_stage(scenario)


@pytest.mark.parametrize("code", sorted(code for code in CODES if CODES[code][0] >= 400))
def test_any_code_can_be_had_as_a_fault(code: int) -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        stage.fault(Fault(kind="code", code=code, route="POST /channels/*/messages", via=False))
        error = await refused(bot.place().send("x"))
        assert (error.status, error.code) == (CODES[code][0], code)
        assert stage.world.contents("general") == []
        await bot.place().send("x")
        assert stage.world.contents("general") == ["x"]

    run_on_stage(scenario, settings=Settings(rate_limits=False))
