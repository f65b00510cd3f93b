"""A model sees what was uploaded to the stage, and nothing else that lies on loopback."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web
from PIL import Image

from discord_stage import Stage
from discord_stage.world.records import Attachment
from oshaberi.bot.local_run.startup import StagePictures
from oshaberi.providers.request.model_request import ImagePart, TextPart
from tests.providers.picture_files import flat_png


def png() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (20, 10), (200, 30, 60)).save(out, "PNG")
    return out.getvalue()


def with_stage(scenario: Callable[[Stage, StagePictures], Awaitable[None]]) -> None:
    async def main() -> None:
        async with Stage() as stage:
            await scenario(stage, StagePictures(stage))

    asyncio.run(main())


def upload(stage: Stage, content: bytes) -> str:
    stage.world.attachments[7] = Attachment(7, "seen.png", content, "image/png")
    return f"{stage.url}/cdn/attachments/1/7/seen.png"


@pytest.mark.parametrize("query", ["", "?ex=1&is=2"])
def test_an_uploaded_picture(query: str) -> None:
    async def scenario(stage: Stage, pictures: StagePictures) -> None:
        found = await pictures.fetch(upload(stage, png()) + query)
        assert found == ImagePart(data=png(), mime="image/png")

    with_stage(scenario)


def test_what_is_no_picture_becomes_a_note() -> None:
    async def scenario(stage: Stage, pictures: StagePictures) -> None:
        found = await pictures.fetch(upload(stage, b"<svg/>" * 10))
        assert isinstance(found, TextPart)
        assert "not a PNG" in found.text

    with_stage(scenario)


def test_nothing_else_on_loopback() -> None:
    """Not another port, not another path of the stage, not by a longer name."""

    async def scenario(stage: Stage, pictures: StagePictures) -> None:
        asked: list[str] = []

        async def answer(request: web.Request) -> web.Response:
            asked.append(request.path)
            return web.Response(body=png(), content_type="image/png")

        server = web.Application()
        server.router.add_get("/{path:.*}", answer)
        runner = web.AppRunner(server)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port = runner.addresses[0][1]
        upload(stage, png())
        place = "cdn/attachments/1/7/seen.png"
        for url in (
            f"http://127.0.0.1:{port}/{place}",
            f"{stage.url}@127.0.0.1:{port}/{place}",
            f"{stage.url}/cdn/attachments/1/8/seen.png",
            f"{stage.url}/cdn/attachments/1/7/../../../../stage/world",
            f"{stage.url}/cdn/avatars/1.png",
        ):
            found = await pictures.fetch(url)
            assert isinstance(found, TextPart), url
            assert "could not be read" in found.text
        assert asked == []
        await runner.cleanup()

    with_stage(scenario)


def test_a_picture_bomb_becomes_a_note_once_and_for_all() -> None:
    async def scenario(stage: Stage, pictures: StagePictures) -> None:
        url = upload(stage, flat_png(6320, 6320))
        first = await pictures.fetch(f"{url}?ex=1")
        assert first == TextPart("[image could not be read: it has too many pixels]")
        assert await pictures.fetch(f"{url}?ex=2") is first

    with_stage(scenario)
