"""Pictures from names: the same name is the same picture, a mood changes it, all of it is XML."""

from __future__ import annotations

import asyncio
from xml.etree import ElementTree

import aiohttp
import pytest

from oshaberi.local.cast import FACES
from oshaberi.local.cast import world as local_world
from oshaberi.stage import Stage, drawn

EMOJI = ("mochi_wave", "mochi_nap", "tea", "tea_sad", "ramen", "snail", "cat_party", "x", "日本")


@pytest.mark.parametrize("name", EMOJI)
def test_every_emoji_is_a_picture(name: str) -> None:
    assert ElementTree.fromstring(drawn.blob(name)).tag.endswith("svg")
    assert drawn.blob(name) == drawn.blob(name)


def test_emoji_look_like_what_they_are_called() -> None:
    assert len({drawn.blob(name) for name in EMOJI}) == len(EMOJI)
    assert drawn.blob("team") != drawn.blob("steam")
    assert drawn.blob("nap") == drawn.blob("sleepy")


def test_the_mascot_has_moods() -> None:
    faces = {mood: drawn.mascot(mood) for mood in drawn.MOODS}
    assert len(set(faces.values())) == len(faces)
    assert drawn.mascot("mad") == faces["angry"]
    assert drawn.mascot() == drawn.mascot("whatever") == faces["neutral"]


def test_no_face_of_the_cast_is_the_usual_one() -> None:
    assert len({drawn.mascot(), *map(drawn.mascot, FACES)}) == len(FACES) + 1


def test_the_bots_own_faces_are_the_mascot() -> None:
    async def main() -> dict[str, str]:
        async with Stage(local_world()) as stage, aiohttp.ClientSession() as session:
            asked = ("Mochi.svg", "mochi.svg?mood=sad", "Mochi (sad).svg", "Mika.svg?mood=sad")
            answers = [await session.get(f"{stage.url}/cdn/faces/{name}") for name in asked]
            return dict(zip(asked, [await answer.text() for answer in answers], strict=True))

    found = asyncio.run(main())
    assert list(found.values()) == [
        drawn.mascot(),
        drawn.mascot("sad"),
        drawn.mascot("sad"),
        drawn.face("Mika", "sad"),
    ]
