"""URLs of attachments: signed, expiring, signed anew in every payload, gone with their message."""

from __future__ import annotations

import io
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import discord
import pytest

from discord_stage import Stage
from discord_stage.interactions.targets import PostedFile
from discord_stage.payloads.attachment_urls import LIFETIME_S
from stage_server.listening_client import ListeningClient, run_on_stage

DAY_S = LIFETIME_S + 1


async def got(url: str) -> tuple[int, bytes]:
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return answer.status, await answer.read()


async def posted(bot: ListeningClient, **more: object) -> discord.Message:
    file = discord.File(io.BytesIO(b"picture"), "@ a+face(1).png")
    sent: discord.Message = await bot.place().send(file=file, **more)  # type: ignore[call-overload]
    return sent


def bare(url: str) -> str:
    return url.partition("?")[0]


def test_a_url_is_signed_and_expires_and_the_next_payload_has_a_new_one() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        sent = await posted(bot)
        first = sent.attachments[0].url
        signed = parse_qs(urlsplit(first).query)
        assert set(signed) == {"ex", "is", "hm"}
        assert int(signed["ex"][0], 16) - int(signed["is"][0], 16) == LIFETIME_S
        assert await got(first) == (200, b"picture")
        stage.advance_clock(DAY_S)
        assert (await got(first))[0] == 404
        again = (await bot.place().fetch_message(sent.id)).attachments[0].url
        assert bare(again) == bare(first)
        assert await got(again) == (200, b"picture")

    run_on_stage(scenario)


@pytest.mark.parametrize(
    "change",
    [
        lambda url: bare(url),
        lambda url: url.replace("ex=", "ex=f"),
        lambda url: url.replace("face", "another"),
        lambda url: bare(url) + "?ex=zz&is=1&hm=\u00e9",
        lambda url: bare(url) + "?ex=fffffffff&is=1&hm=" + "0" * 64,
    ],
)
def test_what_is_not_signed_is_not_found(change: object) -> None:
    async def scenario(_stage: Stage, bot: ListeningClient) -> None:
        url = (await posted(bot)).attachments[0].url
        assert callable(change)
        assert (await got(change(url)))[0] == 404

    run_on_stage(scenario)


def test_the_file_goes_with_its_message_its_edit_or_its_channel() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        deleted, edited, left = [await posted(bot, content="x") for _ in range(3)]
        await deleted.delete()
        await edited.edit(attachments=[])
        assert (await got(deleted.attachments[0].url))[0] == 404
        assert (await got(edited.attachments[0].url))[0] == 404
        assert (await got(left.attachments[0].url))[0] == 200
        stage.delete_channel("general")
        assert (await got(left.attachments[0].url))[0] == 404

    run_on_stage(scenario)


def test_an_embed_is_given_a_bare_url_and_has_a_signed_one() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        url = bare((await posted(bot)).attachments[0].url)
        embed = discord.Embed(title="x").set_thumbnail(url=url).set_author(name="a", icon_url=url)
        sent = await bot.place().send(embed=embed)
        stage.advance_clock(DAY_S)
        shown = (await bot.place().fetch_message(sent.id)).embeds[0]
        assert shown.thumbnail.url != url
        assert await got(str(shown.thumbnail.url)) == (200, b"picture")
        assert await got(str(shown.author.icon_url)) == (200, b"picture")

    run_on_stage(scenario)


def test_a_webhook_shows_a_file_given_without_signature_until_it_is_deleted() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        kept = await posted(bot)
        signed = kept.attachments[0].url
        hook = await bot.place().create_webhook(name="hook")

        async def avatar(url: str) -> object:
            sent = await hook.send("hi", avatar_url=url, wait=True)
            payload = await bot.http.get_message(bot.place().id, sent.id)
            return payload["author"]["avatar"]

        stage.advance_clock(DAY_S)
        face = await avatar(bare(signed))
        assert await got(str(face)) == (200, b"picture")
        assert await avatar(signed) is None
        await kept.delete()
        assert await avatar(bare(signed)) is None
        assert await avatar("https://pictures.test/x.png") == "https://pictures.test/x.png"

    run_on_stage(scenario)


def test_a_forwarded_file_is_signed_anew() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        sent = await (await posted(bot)).forward(bot.place())
        stage.advance_clock(DAY_S)
        snapshot = (await bot.place().fetch_message(sent.id)).message_snapshots[0]
        assert await got(snapshot.attachments[0].url) == (200, b"picture")

    run_on_stage(scenario)


def test_the_file_of_an_option_can_be_fetched_at_once() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        option = {"type": 11, "name": "file", "description": "f"}
        command: Any = {"name": "keep", "description": "d", "type": 1, "options": [option]}
        await bot.http.upsert_global_command(bot.application_id or 0, command)
        asked = stage.people.run("keep", {"file": PostedFile("a.png", b"picture")})
        [file] = asked.data["resolved"]["attachments"].values()
        assert await got(file["url"]) == (200, b"picture")

    run_on_stage(scenario)
