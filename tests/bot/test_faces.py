"""The pictures of personas: uploaded or fetched, kept in a hidden channel, shown if they load."""

from __future__ import annotations

import io
import zipfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

import pytest
from aiohttp import web
from PIL import Image

from discord_stage.interactions.targets import PostedFile
from discord_stage.payloads.attachment_urls import LIFETIME_S
from discord_stage.world.records import Channel, Interaction, StageMessage
from oshaberi.bot.faces.pictures import LARGEST_BYTES
from oshaberi.bot.storage.records import PersonaRecord, SpriteRecord
from oshaberi.public_fetching import Address, PublicWeb
from tests.bot.client_harness import ADMIN, ClientHarness, ClientScenario, run_with_client, world
from tests.providers.picture_files import flat_png

PERMISSIONS = ["view_channel", "send_messages", "attach_files", "read_message_history"]
ALL = (*PERMISSIONS, "manage_channels", "manage_webhooks")


def picture(color: str = "red", size: tuple[int, int] = (300, 500), kind: str = "PNG") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, color).save(out, kind)
    return out.getvalue()


def archive(**pictures: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for name, content in pictures.items():
            packed.writestr(f"{name}.png", content)
    return out.getvalue()


def play(scenario: ClientScenario, permissions: Sequence[str] = ALL, **options: Any) -> None:
    described = world(everyone=PERMISSIONS)
    bot = {"name": "Oshaberi", "permissions": list(permissions)}
    run_with_client(scenario, described | {"bot": bot}, **options)


def kept_in(harness: ClientHarness) -> tuple[Channel, list[StageMessage]]:
    [channel] = [c for c in harness.stage.world.channels.values() if c.name == "oshaberi-pictures"]
    return channel, harness.stage.world.history(channel.id)


async def mochi(harness: ClientHarness) -> PersonaRecord:
    found = await harness.db.personas.get(harness.server_id, "Mochi")
    assert found is not None
    return found


async def shown(harness: ClientHarness) -> PersonaRecord:
    """Mochi with the pictures that can be shown now."""
    faces = harness.client.context.faces
    persona, _others = await faces.usable(harness.server_id, await mochi(harness), ())
    return persona


async def with_mochi(harness: ClientHarness, *sprites: SpriteRecord, avatar: str = "") -> None:
    record = PersonaRecord(harness.server_id, "Mochi", sprites=sprites, avatar_url=avatar or None)
    await harness.db.personas.save(record)


@asynccontextmanager
async def picture_site(body: bytes) -> AsyncIterator[tuple[str, list[str]]]:
    """A site with one picture, and the paths that it was asked for."""
    asked: list[str] = []

    async def serve(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        return web.Response(body=body)

    application = web.Application()
    application.router.add_get("/{path:.*}", serve)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://pictures.test:{runner.addresses[0][1]}", asked
    finally:
        await runner.cleanup()


async def _resolve(host: str, _port: int) -> Sequence[Address]:
    if host != "pictures.test":
        raise OSError("no such host")
    return [ip_address("127.0.0.1")]


OPEN_WEB = PublicWeb(max_bytes=LARGEST_BYTES, allowed=lambda _address: True, resolve=_resolve)


def test_an_uploaded_picture_is_kept_in_a_channel_that_nobody_sees() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await with_mochi(harness)
        upload = PostedFile("mochi.png", picture())
        told = await harness.run("persona avatar", {"name": "Mochi", "picture": upload}, user=ADMIN)
        assert told == "**Mochi** has a new picture."
        channel, [message] = kept_in(harness)
        everybody = harness.stage.world.permissions_of(
            harness.stage.world.user("ren").id, harness.stage.world.channel(channel.id)
        )
        assert everybody == 0
        assert message.content.startswith("**Mochi**: Please leave this message here")
        address = (await mochi(harness)).avatar_url or ""
        assert address.endswith(message.attachments[0].filename)
        assert "?" not in address
        with Image.open(io.BytesIO(message.attachments[0].content)) as kept:
            assert kept.size == (300, 300)
        assert (await shown(harness)).avatar_url == address

    play(scenario)


def test_the_same_picture_is_kept_once_and_one_that_nobody_uses_is_deleted() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await with_mochi(harness)
        avatar = {"name": "Mochi", "picture": PostedFile("a.png", picture())}
        await harness.run("persona avatar", avatar)
        sprite = {"persona": "Mochi", "picture": PostedFile("happy.png", picture())}
        assert "1 new sprite: happy" in await harness.run("sprite add", sprite)
        _channel, [message] = kept_in(harness)
        assert (await mochi(harness)).sprites[0].avatar_url == (await mochi(harness)).avatar_url
        await harness.run("persona avatar", {"name": "Mochi"})
        assert kept_in(harness)[1] == [message]
        await harness.run("sprite remove", {"persona": "Mochi", "name": "happy"})
        assert kept_in(harness)[1] == []
        assert await harness.db.pictures.of(harness.server_id) == ()

    play(scenario)


def test_several_pictures_and_archives_become_sprites_by_their_names() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await with_mochi(harness)
        asked = harness.stage.people.run("sprite add", {"persona": "mochi"})
        await harness.stage.wait_for(lambda: asked.modal)
        files = [
            PostedFile("very_happy.jpg", picture("yellow", kind="JPEG")),
            PostedFile("moods.zip", archive(joy=picture("green"), anger=picture("blue"))),
            PostedFile("@me.png", picture("pink")),
            PostedFile("broken.png", b"\x89PNG\r\n\x1a\n" + b"\0" * 100),
        ]
        told = await harness.private(harness.stage.people.submit(asked, {"pictures": files}))
        assert "**Mochi** has 3 new sprites: very happy, joy, anger." in told
        assert "broken: The picture cannot be used: it is damaged." in told
        assert "@me" in told
        names = [one.name for one in (await mochi(harness)).sprites]
        assert names == ["very happy", "joy", "anger"]
        assert len(kept_in(harness)[1]) == 3

    play(scenario)


def test_the_pictures_of_several_archives_have_a_bound_together() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await with_mochi(harness)
        asked = harness.stage.people.run("sprite add", {"persona": "mochi"})
        await harness.stage.wait_for(lambda: asked.modal)
        large = picture("green") + b"\0" * 7_000_000
        files = [
            PostedFile(f"{n}.zip", archive(**{f"joy{n}{m}": large for m in range(2)}))
            for n in range(3)
        ]
        files.append(PostedFile("calm.png", picture("pink")))
        told = await harness.private(harness.stage.people.submit(asked, {"pictures": files}))
        assert "2.zip: its pictures are larger than 32 MB together" in told

    play(scenario)


def test_an_address_is_fetched_once_and_kept() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await with_mochi(harness)
        async with picture_site(picture()) as (site, asked):
            added = {"persona": "Mochi", "url": f"{site}/very%20angry.png", "identity": True}
            told = await harness.run("sprite add", added)
            assert told == "**Mochi** now has the sprite very angry."
            assert asked == ["/very angry.png"]
        [sprite] = (await mochi(harness)).sprites
        assert sprite.is_identity
        assert (await shown(harness)).sprites == (sprite,)
        assert len(asked) == 1

    play(scenario, pictures=OPEN_WEB)


TALL = flat_png(100, 200)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (lambda: b"<svg/>" * 10, "it is not a PNG, JPEG, GIF or WebP"),
        (lambda: flat_png(10_000, 10_000), "it has too many pixels"),
        (lambda: b"\0" * (LARGEST_BYTES + 1), "is larger than 10 MB"),
    ],
    ids=["no picture", "bomb", "too large"],
)
def test_what_is_no_picture_is_refused_and_nothing_is_kept(
    content: Callable[[], bytes], told: str
) -> None:
    async def scenario(harness: ClientHarness) -> None:
        await with_mochi(harness)
        upload = PostedFile("mochi.png", content())
        assert told in await harness.run("persona avatar", {"name": "Mochi", "picture": upload})
        assert (await mochi(harness)).avatar_url is None
        assert not any("pictures" in c.name for c in harness.stage.world.channels.values())

    play(scenario)


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/a.png",
        "http://[::1]:80/a.png",
        "https://169.254.169.254/latest/meta-data",
        "https://localhost/a.png",
        "http://2130706433/a.png",
    ],
)
def test_no_address_inside_is_fetched(url: str) -> None:
    async def scenario(harness: ClientHarness) -> None:
        await with_mochi(harness)
        for command in (
            ("persona avatar", {"name": "Mochi", "url": url}),
            ("sprite add", {"persona": "Mochi", "name": "x", "url": url}),
        ):
            told = await harness.run(*command)
            assert "the address is not public" in told
        await with_mochi(harness, SpriteRecord("old", url), avatar=url)
        persona = await shown(harness)
        assert (persona.avatar_url, persona.sprites[0].avatar_url) == (None, None)

    play(scenario)


def test_without_permissions_one_sentence_says_what_to_do() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await with_mochi(harness)
        upload = {"name": "Mochi", "picture": PostedFile("mochi.png", picture())}
        told = await harness.run("persona avatar", upload)
        assert told.startswith("I have no channel for pictures here.")
        assert "/config set picture_channel_id" in told
        logs = harness.id_of("logs")
        await harness.run("config set", {"key": "picture_channel_id", "value": str(logs)})
        assert "new picture" in await harness.run("persona avatar", upload)
        assert len(harness.stage.world.history("logs")) == 1
        harness.stage.deny("logs", "attach_files")
        other = {"name": "Mochi", "picture": PostedFile("b.png", picture("blue"))}
        assert f"<#{logs}>" in await harness.run("persona avatar", other)

    play(scenario, PERMISSIONS)


def test_a_private_thread_is_made_if_channels_are_not_for_the_bot() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await with_mochi(harness)
        upload = {"name": "Mochi", "picture": PostedFile("mochi.png", picture())}
        assert "new picture" in await harness.run("persona avatar", upload)
        channel, _messages = kept_in(harness)
        assert channel.type == 12
        assert channel.parent_id == harness.id_of("general")

    play(scenario, [*PERMISSIONS, "create_private_threads", "send_messages_in_threads"])


def test_a_picture_is_uploaded_again_if_its_message_is_deleted() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await with_mochi(harness)
        await harness.run("persona avatar", {"name": "Mochi", "picture": PostedFile("a.png", TALL)})
        before = (await shown(harness)).avatar_url
        _channel, [message] = kept_in(harness)
        harness.stage.people.delete(message)
        await harness.stage.settled()
        after = (await shown(harness)).avatar_url
        assert after not in (None, before)
        channel, [again] = kept_in(harness)
        assert again.attachments[0].content == message.attachments[0].content
        harness.stage.delete_channel(channel.id)
        await harness.stage.settled()
        assert (await shown(harness)).avatar_url not in (None, before, after)
        assert len(kept_in(harness)[1]) == 1

    play(scenario)


def test_a_picture_that_could_not_be_uploaded_again_does_not_hide_that_others_are_gone() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await with_mochi(harness)
        await harness.run("persona avatar", {"name": "Mochi", "picture": PostedFile("a.png", TALL)})
        await shown(harness)
        [row] = await harness.db.pictures.of(harness.server_id)
        failed = replace(row, address="https://example.org/b.png", digest="b" * 32, url="")
        await harness.db.pictures.save(replace(failed, message_id=0))
        _channel, [message] = kept_in(harness)
        harness.stage.people.delete(message)
        await harness.stage.settled()
        await shown(harness)
        assert len(kept_in(harness)[1]) == 1

    play(scenario)


def test_a_picture_that_discord_does_not_show_by_its_bare_url_is_signed_anew() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await with_mochi(harness)
        await harness.run("persona avatar", {"name": "Mochi", "picture": PostedFile("a.png", TALL)})
        bare = (await shown(harness)).avatar_url or ""
        harness.client.context.faces.note_unseen(bare)
        await harness.stage.settled()
        first = (await shown(harness)).avatar_url or ""
        assert first.startswith(f"{bare}?ex=")
        assert (await shown(harness)).avatar_url == first
        harness.stage.advance_clock(LIFETIME_S)
        faces = harness.client.context.faces
        faces._signed.clear()
        assert (await shown(harness)).avatar_url not in (bare, first)

    play(scenario)


def test_an_address_of_before_is_shown_while_it_loads_and_the_owner_is_told_once() -> None:
    async def scenario(harness: ClientHarness) -> None:
        async with picture_site(TALL) as (site, asked):
            happy, gone = f"{site}/happy.png", "https://nowhere.test/gone.png"
            await with_mochi(harness, SpriteRecord("happy", happy), SpriteRecord("gone", gone))
            for _turn in range(2):
                persona = await shown(harness)
                assert [one.avatar_url for one in persona.sprites] == [happy, None]
            assert len(asked) == 1
        world = harness.stage.world
        place = world.dm_with(world.user("mika").id).id
        told = await harness.stage.wait_for(lambda: world.contents(place))
        assert len(told) == 1
        assert "A picture of Mochi cannot be loaded any more (gone)" in told[0]
        await shown(harness)
        await harness.stage.settled()
        assert world.contents(place) == told

    play(scenario, pictures=OPEN_WEB)


def test_other_personas_faces_are_only_looked_up() -> None:
    async def scenario(harness: ClientHarness) -> None:
        async with picture_site(TALL) as (site, _asked):
            await with_mochi(harness)
            other = PersonaRecord(harness.server_id, "Anko", avatar_url=f"{site}/anko.png")
            faces = harness.client.context.faces
            me = await mochi(harness)
            _me, [first] = await faces.usable(harness.server_id, me, [other])
            assert first.avatar_url is None
            await faces._background.settle(5)
            _me, [second] = await faces.usable(harness.server_id, me, [other])
            assert second == other
            _me, [broken] = await faces.usable(
                harness.server_id, me, [replace(other, avatar_url="https://nowhere.test/x")]
            )
            assert broken.avatar_url is None

    play(scenario, pictures=OPEN_WEB)


def test_in_direct_messages_there_are_no_faces() -> None:
    async def scenario(harness: ClientHarness) -> None:
        await harness.db.personas.save(PersonaRecord(0, "Mochi"))
        dm = harness.stage.people.dm("hello")
        options = {"name": "Mochi", "picture": PostedFile("a.png", TALL)}
        asked: Interaction = harness.stage.people.run(
            "persona avatar", options, user="mika", channel=dm.channel_id
        )
        assert "there are no webhooks" in (await harness.answer(asked)).content

    play(scenario)
