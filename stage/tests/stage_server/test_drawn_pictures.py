"""Pictures from names: the same name is the same picture, a mood changes it, all of it is XML."""

from __future__ import annotations

import asyncio
from xml.etree import ElementTree

import aiohttp
import pytest

from discord_stage import Stage, World
from discord_stage.cdn import drawn_avatars

EMOJI = ("mochi_wave", "mochi_nap", "tea", "tea_sad", "ramen", "snail", "cat_party", "x", "日本")


@pytest.mark.parametrize("name", EMOJI)
def test_every_emoji_is_a_picture(name: str) -> None:
    assert ElementTree.fromstring(drawn_avatars.blob(name)).tag.endswith("svg")
    assert drawn_avatars.blob(name) == drawn_avatars.blob(name)


def test_emoji_look_like_what_they_are_called() -> None:
    assert len({drawn_avatars.blob(name) for name in EMOJI}) == len(EMOJI)
    assert drawn_avatars.blob("team") != drawn_avatars.blob("steam")
    assert drawn_avatars.blob("nap") == drawn_avatars.blob("sleepy")


def test_the_mascot_has_moods() -> None:
    faces = {mood: drawn_avatars.mascot(mood) for mood in drawn_avatars.MOODS}
    assert len(set(faces.values())) == len(faces)
    assert drawn_avatars.mascot("mad") == faces["angry"]
    assert drawn_avatars.mascot() == drawn_avatars.mascot("whatever") == faces["neutral"]


def test_the_bots_own_faces_are_the_mascot() -> None:
    async def main() -> dict[str, str]:
        world = {**World.default_description(), "bot": {"name": "Mochi"}}
        async with Stage(world) as stage, aiohttp.ClientSession() as session:
            asked = ("Mochi.svg", "mochi.svg?mood=sad", "Mochi (sad).svg", "Mika.svg?mood=sad")
            answers = [await session.get(f"{stage.url}/cdn/faces/{name}") for name in asked]
            return dict(zip(asked, [await answer.text() for answer in answers], strict=True))

    found = asyncio.run(main())
    assert list(found.values()) == [
        drawn_avatars.mascot(),
        drawn_avatars.mascot("sad"),
        drawn_avatars.mascot("sad"),
        drawn_avatars.face("Mika", "sad"),
    ]
