"""Moods change faces, and the faces are still there after a restart, a day and a deletion."""

from __future__ import annotations

import io
from pathlib import Path

import aiohttp
from PIL import Image

from discord_stage import Stage
from discord_stage.interactions.targets import PostedFile
from discord_stage.model_servers import ModelServer, OpenAIWire
from discord_stage.model_servers.scripts import Say
from discord_stage.payloads.attachment_urls import LIFETIME_S
from discord_stage.scaled_loop import run_scaled
from discord_stage.testing import staged
from discord_stage.world.records import StageMessage
from discord_stage.world_changes.message_posting import shown
from oshaberi.bot.faces.kept_pictures import keep_as_copy
from oshaberi.bot.storage.picture_files import PictureFiles
from tests.bot.client_harness import world
from tests.bot.test_faces import ALL, picture
from tests.characters.made_cards import charx
from tests.e2e.bot_harness import (
    FAST,
    PERSONA,
    QUICK,
    BotHarness,
    links,
    run_with_bot,
    serving,
    settings_of,
)

DESCRIBED = world() | {"bot": {"name": "Oshaberi", "permissions": list(ALL)}}
SAID = "Mochi (happy): yay\nMochi (sad): oh no\nMochi: fine"


async def face(stage: Stage, message: StageMessage) -> bytes | None:
    """The picture that a client sees beside a message; None for the grey one."""
    url = shown(stage.state, message)["author"]["avatar"]
    if url is None:
        return None
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return await answer.read() if answer.status == 200 else None


def test_moods_change_faces_which_outlive_a_restart_a_day_and_a_deletion(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            ModelServer(OpenAIWire(), (Say(SAID),), (Say(SAID),)) as server,
            staged(DESCRIBED, FAST) as stage,
        ):
            given = {**QUICK, "persona": PERSONA, "models": links([server]), "reply_mode": "off"}
            settings = settings_of(tmp_path, {}, **given)
            async with serving(settings, stage) as bot:
                faces = await _meet_mochi(BotHarness(stage, bot, [server], settings))
            [room] = [c for c in stage.world.channels.values() if c.name == "oshaberi-pictures"]
            stage.advance_clock(LIFETIME_S + 1)
            stage.people.delete(stage.world.history(room.id)[1])
            async with serving(settings, stage) as bot:
                here = BotHarness(stage, bot, [server], settings)
                here.post("mochi?")
                again = (await here.says(*["yay", "oh no", "fine"] * 2))[3:]
                assert [await face(stage, one) for one in again] == faces
                assert len(stage.world.history(room.id)) == 3

    run_scaled(main(), 1.0)


def test_the_moods_of_a_card_change_faces_and_stay_after_a_restart_and_a_day(
    tmp_path: Path,
) -> None:
    """A CHARX with its own pictures: as the default persona's friend, so that it has a face."""
    said = "Mo (joy): yay\nMo (sadness): oh no\nMo: fine"

    async def main() -> None:
        async with (
            ModelServer(OpenAIWire(), (Say(said),), (Say(said),)) as server,
            staged(DESCRIBED, FAST) as stage,
        ):
            given = {**QUICK, "persona": PERSONA, "models": links([server]), "reply_mode": "off"}
            settings = settings_of(tmp_path, {}, **given)
            async with serving(settings, stage) as bot:
                here = BotHarness(stage, bot, [server], settings)
                await here.persona("Anko", is_default=True)
                card = charx(pictures=[picture("white"), picture("yellow"), picture("blue")])
                told = await here.confirmed(
                    "persona import", {"file": PostedFile("mochi.charx", card)}
                )
                assert told == "**Mochi** is here. It answers to its name."
                off = {"name": "Mochi", "option": "greeting", "value": "off"}
                await here.run("persona set", off)
                here.post("mochi, how are you?")
                first = await here.says("yay", "oh no", "fine")
                faces = [await face(stage, one) for one in first]
                assert None not in faces
                assert len(set(faces)) == 3
            stage.advance_clock(LIFETIME_S + 1)
            async with serving(settings, stage) as bot:
                here = BotHarness(stage, bot, [server], settings)
                here.post("mochi, and now?")
                again = (await here.says(*["yay", "oh no", "fine"] * 2))[3:]
                assert [await face(stage, one) for one in again] == faces

    run_scaled(main(), 1.0)


def test_a_picture_that_came_from_a_shell_is_uploaded_before_it_is_shown() -> None:
    async def scenario(here: BotHarness) -> None:
        files = PictureFiles(here.settings.data_dir)
        address = await keep_as_copy(here.db, files, here.server_id, picture("white"))
        again = await keep_as_copy(here.db, files, here.server_id, picture("white"))
        assert again == address
        await here.persona("Anko", is_default=True)
        await here.persona("Mochi", avatar_url=address)
        here.post("mochi, are you there?")
        [message] = await here.says("yes")
        shown_face = await face(here.stage, message)
        assert shown_face is not None
        with Image.open(io.BytesIO(shown_face)) as found:
            assert found.convert("RGB").getpixel((50, 50)) == (255, 255, 255)

    run_with_bot(scenario, "yes", described=DESCRIBED, reply_mode="off")


async def _meet_mochi(here: BotHarness) -> list[bytes | None]:
    """Give Mochi a face and two moods, and return those that she shows."""
    await here.persona("Anko", is_default=True)
    await here.persona("Mochi", triggers=("mochi",))
    avatar = {"name": "Mochi", "picture": PostedFile("m.png", picture("white"))}
    assert "new picture" in await here.run("persona avatar", avatar)
    for mood, color in (("happy", "yellow"), ("sad", "blue")):
        upload = PostedFile(f"{mood}.png", picture(color))
        told = await here.run("sprite add", {"persona": "Mochi", "picture": upload})
        assert told == f"**Mochi** has 1 new sprite: {mood}."
    here.post("mochi?")
    first = await here.says("yay", "oh no", "fine")
    faces = [await face(here.stage, one) for one in first]
    assert None not in faces
    assert len(set(faces)) == 3
    assert all("?" not in str(one.avatar) for one in first)
    return faces
