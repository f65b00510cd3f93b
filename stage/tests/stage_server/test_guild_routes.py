"""What ordinary bots do to a guild, through discord.py: members, bans, roles, invites, events."""

from __future__ import annotations

import asyncio
import base64
from datetime import timedelta

import aiohttp
import discord
import pytest
from discord.utils import utcnow

from discord_stage import RefusalError, Settings, Stage, StageError
from discord_stage.request_schema.check import constraint_table
from stage_server.listening_client import ListeningClient, run_on_stage
from stage_server.long_play import PIXEL

WORLD: dict[str, object] = {
    "bot": {"permissions": ["administrator"]},
    "guilds": [
        {
            "name": "Guild",
            "owner": "mika",
            "members": ["mika", "ren", "aki"],
            "roles": [{"name": "helpers"}],
            "channels": ["general", {"name": "news", "type": "news"}],
        }
    ],
}
PICTURE = base64.b64decode(PIXEL.partition(",")[2])


def play(scenario: object, world: dict[str, object] | None = None) -> None:
    run_on_stage(scenario, world or WORLD)  # type: ignore[arg-type]


def test_members_are_renamed_timed_out_given_roles_and_kicked() -> None:
    async def scenario(stage: Stage, client: ListeningClient) -> None:
        guild = client.guilds[0]
        ren = guild.get_member_named("ren")
        assert ren is not None
        await ren.edit(nick="Renny")
        assert [m.nick for m in await guild.query_members("Ren")] == ["Renny"]
        [helpers] = [role for role in guild.roles if role.name == "helpers"]
        await ren.add_roles(helpers, reason="helps")
        assert helpers in (await guild.fetch_member(ren.id)).roles
        await ren.timeout(timedelta(minutes=5))
        with pytest.raises(RefusalError, match="50013"):
            stage.people.post("general", "let me", user="ren")
        await ren.timeout(None)
        stage.people.post("general", "thanks", user="ren")
        await ren.kick(reason="enough")
        await stage.wait_for(lambda: guild.get_member(ren.id) is None)
        entries = [entry async for entry in guild.audit_logs(limit=1)]
        assert [(e.action, e.reason) for e in entries] == [
            (discord.AuditLogAction.kick, "enough"),
        ]

    play(scenario)


def test_nobody_moderates_the_owner_or_without_permission() -> None:
    async def scenario(_stage: Stage, client: ListeningClient) -> None:
        mika = client.guilds[0].get_member_named("mika")
        assert mika is not None
        with pytest.raises(discord.Forbidden, match="50013"):
            await mika.kick()

    play(scenario)
    play(scenario, WORLD | {"bot": {"permissions": []}})


def test_bans_hold_until_they_are_lifted() -> None:
    async def scenario(stage: Stage, client: ListeningClient) -> None:
        guild = client.guilds[0]
        aki = guild.get_member_named("aki")
        assert aki is not None
        stage.people.post("general", "spam", user="aki")
        await guild.ban(aki, reason="spam", delete_message_seconds=60)
        assert stage.world.contents("general") == []
        assert [(ban.user.name, ban.reason) async for ban in guild.bans()] == [("aki", "spam")]
        with pytest.raises(RefusalError, match="40007"):
            stage.people.join("aki")
        await guild.unban(aki)
        stage.people.join("aki")
        await stage.wait_for(lambda: guild.get_member(aki.id) is not None)

    play(scenario)


def test_people_join_and_leave() -> None:
    async def scenario(stage: Stage, client: ListeningClient) -> None:
        guild = client.guilds[0]
        kai = stage.people.join("kai")
        await stage.wait_for(lambda: guild.get_member(kai.id) is not None)
        stage.people.post("general", "hello", user="kai")
        await stage.wait_for(lambda: "hello" in client.texts)
        with pytest.raises(StageError, match="kai is in Guild already"):
            stage.people.join("kai")
        stage.people.leave("kai")
        await stage.wait_for(lambda: guild.get_member(kai.id) is None)
        with pytest.raises(RefusalError, match="50001"):
            stage.people.post("general", "still here?", user="kai")
        with pytest.raises(StageError, match="mika owns Guild"):
            stage.people.leave("mika")
        assert stage.world.contents("general") == ["hello"]

    play(scenario)


def test_the_system_channel_says_who_joined() -> None:
    async def scenario(stage: Stage, client: ListeningClient) -> None:
        guild = client.guilds[0]
        assert guild.system_channel == client.place("general")
        stage.people.join("kai")
        await stage.wait_for(lambda: client.heard)
        assert client.heard[0].type is discord.MessageType.new_member
        assert client.heard[0].is_system()
        await guild.edit(system_channel_flags=discord.SystemChannelFlags(join_notifications=False))
        stage.people.join("sora")
        await stage.wait_for(lambda: guild.get_member_named("sora"))
        await guild.edit(system_channel=None)
        stage.people.join("yui")
        await stage.wait_for(lambda: guild.get_member_named("yui"))
        assert len(stage.world.messages[client.place("general").id]) == 1

    play(scenario)


def test_a_world_chooses_its_system_channel() -> None:
    described = {"name": "Guild", "members": ["mika"], "channels": ["general", "doors"]}

    async def scenario(_stage: Stage, client: ListeningClient) -> None:
        channel = client.guilds[0].system_channel
        assert channel is not None
        assert channel.name == "doors"

    play(scenario, {"guilds": [described | {"system_channel": "doors"}]})
    with pytest.raises(StageError, match="no such text channel"):
        play(scenario, {"guilds": [described | {"system_channel": "door"}]})


def test_roles_are_made_changed_and_deleted() -> None:
    async def scenario(stage: Stage, client: ListeningClient) -> None:
        guild = client.guilds[0]
        permissions = discord.Permissions(kick_members=True)
        role = await guild.create_role(name="mods", permissions=permissions, hoist=True)
        assert stage.world.role("mods").permissions == 2
        await role.edit(name="crew", mentionable=True)
        await stage.wait_for(lambda: discord.utils.get(guild.roles, name="crew"))
        await role.delete()
        await stage.wait_for(lambda: discord.utils.get(guild.roles, name="crew") is None)

    play(scenario)


def test_the_guild_and_its_channels_are_changed() -> None:
    async def scenario(stage: Stage, client: ListeningClient) -> None:
        guild = client.guilds[0]
        await guild.edit(name="Renamed", description="About", system_channel=client.place())
        await stage.wait_for(lambda: guild.name == "Renamed")
        assert guild.system_channel == client.place()
        await client.place().edit(nsfw=True, slowmode_delay=5, topic="t")
        await stage.wait_for(lambda: client.place().nsfw)

    play(scenario)


def test_invites_bring_people_in() -> None:
    async def scenario(stage: Stage, client: ListeningClient) -> None:
        invite = await client.place().create_invite(max_uses=1)
        assert (await client.fetch_invite(invite.code)).approximate_member_count == 4
        stage.people.join("kai", invite=invite.code)
        assert await client.guilds[0].invites() == []
        second = await client.place().create_invite()
        await second.delete()
        with pytest.raises(discord.NotFound, match="10006"):
            await client.fetch_invite(second.code)

    play(scenario)


def test_emoji_of_the_guild_and_of_the_application() -> None:
    async def scenario(stage: Stage, client: ListeningClient) -> None:
        emoji = await client.guilds[0].create_custom_emoji(name="smile", image=PICTURE)
        message = await client.place().send(str(emoji))
        await message.add_reaction(emoji)
        await emoji.delete()
        own = await client.create_application_emoji(name="own", image=PICTURE)
        await message.add_reaction(own)
        assert [e.name for e in await client.fetch_application_emojis()] == ["own"]
        reactions = stage.world.history("general")[0].reactions
        assert [reaction.name for reaction in reactions] == ["smile", "own"]

    play(scenario)


def test_news_are_published_once() -> None:
    async def scenario(_stage: Stage, client: ListeningClient) -> None:
        message = await client.place("news").send("news")
        await message.publish()
        with pytest.raises(discord.HTTPException, match="40033"):
            await message.publish()

    play(scenario)


def test_events_and_rules() -> None:
    async def scenario(stage: Stage, client: ListeningClient) -> None:
        guild = client.guilds[0]
        start = utcnow() + timedelta(days=1)
        event = await guild.create_scheduled_event(
            name="Party",
            start_time=start,
            end_time=start + timedelta(hours=1),
            entity_type=discord.EntityType.external,
            privacy_level=discord.PrivacyLevel.guild_only,
            location="here",
        )
        assert [e.name for e in await guild.fetch_scheduled_events()] == ["Party"]
        await event.delete()
        await guild.create_automod_rule(
            name="words",
            event_type=discord.AutoModRuleEventType.message_send,
            trigger=discord.AutoModTrigger(keyword_filter=["*rude*"]),
            actions=[discord.AutoModRuleAction()],
            enabled=True,
        )
        with pytest.raises(RefusalError, match="200000"):
            stage.people.post("general", "how RUDE", user="ren")
        assert len(await guild.fetch_automod_rules()) == 1

    play(scenario)


def test_nobody_is_in_a_voice_channel() -> None:
    async def scenario(_stage: Stage, client: ListeningClient) -> None:
        mika = client.guilds[0].get_member_named("mika")
        assert mika is not None
        assert mika.voice is None
        with pytest.raises(discord.NotFound, match="10065"):
            await mika.fetch_voice()

    play(scenario)


def test_a_route_that_the_stage_has_not_says_so() -> None:
    async def main() -> None:
        async with Stage() as stage, aiohttp.ClientSession() as session:
            guild = stage.world.guild("Stage").id
            heads = {"Authorization": f"Bot {stage.token}"}
            url = f"{stage.url}/api/v10/guilds/{guild}/welcome-screen"
            async with session.get(url, headers=heads) as answer:
                assert answer.status == 501
                route = "GET /guilds/{guild_id}/welcome-screen"
                assert route in (await answer.json())["message"]
            async with session.get(f"{stage.url}/api/v10/nonsense", headers=heads) as answer:
                assert answer.status == 404
            first, second = stage.state.request_log.problems
            assert first == "missing route: GET /guilds/{guild_id}/welcome-screen"
            assert second.startswith("unknown route")

    assert "GET /guilds/{guild_id}/welcome-screen" in constraint_table().missing
    asyncio.run(main())


def test_the_bot_looks_different_in_one_guild() -> None:
    async def scenario(stage: Stage, client: ListeningClient) -> None:
        me = client.guilds[0].me
        changed = await me.edit(nick="Mochi", avatar=PICTURE, banner=PICTURE, bio="Likes tea.")
        assert changed is not None
        assert changed.nick == "Mochi"
        await stage.wait_for(lambda: client.guilds[0].me.guild_avatar is not None)
        avatar = client.guilds[0].me.guild_avatar
        assert avatar is not None
        assert await avatar.with_static_format("png").read() == PICTURE
        own = stage.world.guilds[me.guild.id].members[me.id]
        shown = (own.nick, own.bio, own.avatar == own.banner)
        assert shown == ("Mochi", "Likes tea.", True)
        await me.edit(nick=None, avatar=None, banner=None, bio=None)
        assert {own.nick, own.avatar, own.banner, own.bio} == {None}

    play(scenario)


def test_only_the_nickname_needs_a_permission_and_a_picture_must_be_one() -> None:
    async def scenario(_stage: Stage, client: ListeningClient) -> None:
        me = client.guilds[0].me
        await me.edit(bio="hello")
        with pytest.raises(discord.Forbidden):
            await me.edit(nick="Mochi")
        for fields in ({"avatar": "data:text/plain;base64,eA=="}, {"bio": "x" * 191}):
            with pytest.raises(discord.HTTPException) as caught:
                await client.http.edit_my_member(me.guild.id, **fields)
            assert caught.value.code == 50035

    permissions = ["view_channel", "send_messages"]
    plain = WORLD | {"bot": {"permissions": permissions}}
    guild = {"name": "Guild", "everyone": permissions, "members": ["mika"], "channels": ["general"]}
    play(scenario, plain | {"guilds": [guild]})


def test_pictures_of_the_bot_may_not_change_all_the_time() -> None:
    async def scenario(stage: Stage, client: ListeningClient) -> None:
        me = client.guilds[0].me
        for _ in range(2):
            await me.edit(avatar=PICTURE)
        client.http.max_ratelimit_timeout = 30.0
        with pytest.raises(discord.RateLimited) as caught:
            await me.edit(avatar=PICTURE)
        assert caught.value.retry_after > 1000
        await me.edit(nick="Mochi")
        stage.advance_clock(1800)
        await me.edit(avatar=PICTURE)

    run_on_stage(scenario, WORLD, settings=Settings())
