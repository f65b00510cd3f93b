"""The bot's own name and pictures in one server: those of its default persona, if wanted."""

from __future__ import annotations

from discord_stage import Settings as StageSettings
from discord_stage.interactions.targets import PostedFile
from discord_stage.world.records import Member
from tests.bot.client_harness import ADMIN, MEMBER, ClientHarness
from tests.bot.test_faces import ALL, kept_in, picture, play, with_mochi

PROFILE = "PATCH /guilds/*/members/@me"
QUESTION = "Shall I have the name and the picture of"
STRICT = StageSettings(time_scale=1.0, interaction_s=60.0)
NAMED = (*ALL, "change_nickname")


def own(harness: ClientHarness) -> Member:
    world = harness.stage.world
    return world.guilds[harness.server_id].members[world.bot.id]


def looks(harness: ClientHarness) -> tuple[str | None, bytes | None]:
    """The name and the avatar in this server."""
    member = own(harness)
    return member.nick, harness.stage.world.pictures.get(member.avatar or "")


async def give_face(harness: ClientHarness, name: str, color: str) -> bytes:
    upload = {"name": name, "picture": PostedFile("a.png", picture(color))}
    await harness.run("persona avatar", upload)
    return next(
        one.attachments[0].content
        for one in reversed(kept_in(harness)[1])
        if one.content.startswith(f"**{name}**")
    )


async def default_mochi(harness: ClientHarness, color: str = "red") -> bytes:
    await with_mochi(harness)
    await harness.run("persona default", {"name": "Mochi"})
    return await give_face(harness, "Mochi", color)


def questions(harness: ClientHarness) -> list[str]:
    messages = harness.stage.world.messages.get(harness.id_of("general"), {}).values()
    return [one.content for one in messages if one.content.startswith(QUESTION)]


def test_the_bot_looks_like_the_default_persona_until_it_does_not() -> None:
    async def scenario(harness: ClientHarness) -> None:
        face = await default_mochi(harness)
        assert looks(harness) == (None, None)
        banner = PostedFile("b.png", picture("green", (600, 240)))
        options = {"shown": True, "bio": "Likes tea.", "banner": banner}
        told = await harness.run("persona profile", options, user=ADMIN)
        assert told == "In this server I now look like **Mochi**."
        assert looks(harness) == ("Mochi", face)
        assert own(harness).bio == "Likes tea."
        assert own(harness).banner is not None
        before = len(harness.stage.calls(PROFILE))
        await harness.run("persona profile", {"shown": True})
        assert len(harness.stage.calls(PROFILE)) == before
        told = await harness.run("persona profile", {"shown": False})
        assert told == "In this server I look like myself again."
        assert looks(harness) == (None, None)
        assert (own(harness).bio, own(harness).banner) == (None, None)

    play(scenario, NAMED)


def test_another_default_persona_changes_it() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await default_mochi(harness)
        await harness.run("persona profile", {"shown": True})
        await harness.form("persona create", {"name": "Anko"}, {})
        face = await give_face(harness, "Anko", "blue")
        await harness.run("persona default", {"name": "Anko"})
        await harness.stage.wait_for(lambda: looks(harness) == ("Anko", face))

    play(scenario, NAMED)


def test_it_is_asked_once() -> None:
    async def scenario(harness: ClientHarness) -> None:
        face = await default_mochi(harness)
        await harness.stage.wait_for(lambda: questions(harness))
        await give_face(harness, "Mochi", "blue")
        face = await give_face(harness, "Mochi", "white")
        await harness.stage.settled()
        [asked] = questions(harness)
        messages = harness.stage.world.messages[harness.id_of("general")].values()
        message = next(one for one in messages if one.content == asked)
        harness.stage.people.press(message, "Look like Mochi")
        await harness.stage.wait_for(lambda: message.content.startswith("In this server I now"))
        assert looks(harness) == ("Mochi", face)

    play(scenario, NAMED)


def test_a_limit_of_discord_is_told_and_waited_for() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await default_mochi(harness)
        for color in ("blue", "green"):
            await harness.run("persona profile", {"shown": True})
            await give_face(harness, "Mochi", color)
            await harness.stage.settled()
        face = await give_face(harness, "Mochi", "white")
        told = await harness.run("persona profile", {"shown": True})
        assert "Discord lets me change my pictures again <t:" in told
        nick, avatar = looks(harness)
        assert nick == "Mochi"
        assert avatar != face
        harness.stage.advance_clock(1800)
        await harness.client.context.own_faces.refresh(harness.server_id)
        assert looks(harness) == ("Mochi", face)

    play(scenario, NAMED, settings=STRICT)


def test_without_the_permission_only_the_name_stays() -> None:
    async def scenario(harness: ClientHarness) -> None:
        face = await default_mochi(harness)
        told = await harness.run("persona profile", {"shown": True})
        assert "I need the permission Change Nickname" in told
        assert looks(harness) == (None, face)

    play(scenario)


def test_who_may_not_manage_may_not_change_it() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await with_mochi(harness)
        told = await harness.run("persona profile", {"shown": True}, user=MEMBER)
        assert "Manage Server" in told
        assert harness.stage.calls(PROFILE) == []

    play(scenario, NAMED)
