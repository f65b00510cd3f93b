"""Chooses the scene for a message by key words: whole words only, the longest first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from random import Random

from oshaberi.stage.demo_model.request_reading import DemoRequest
from oshaberi.stage.demo_model.written_scenes import SceneTake, WrittenScene, library

_WHOLE = 1000
_NOT_WORDS = re.compile(r"[^\w\s]+")


OWN_TOOL, FILES = "own-tool", "files"


def scene_of(asked: DemoRequest) -> WrittenScene | None:
    """Choose the scene. A named tool or an attached file counts more than all other words."""
    if asked.named is not None:
        return _called(OWN_TOOL)
    return _called(FILES) if asked.has_files else scene_for(asked.words)


def _called(name: str) -> WrittenScene:
    return next(scene for scene in library() if scene.name == name)


def scene_for(words: str) -> WrittenScene | None:
    """Return the scene that the words ask for, or None."""
    plain = " ".join(_NOT_WORDS.sub(" ", words.lower()).split())
    if not plain:
        return None
    scored = [(_score(scene, plain, words.lower()), scene) for scene in library()]
    best, scene = max(scored, key=lambda one: one[0])
    return scene if best else None


def _score(scene: WrittenScene, plain: str, words: str) -> int:
    """Return how much of the text is about this scene."""
    if plain in (scene.name, scene.title.lower(), *(key.lstrip("=") for key in scene.keys)):
        return _WHOLE
    inside = (key for key in scene.keys if not key.startswith("="))
    return max((len(key) for key in inside if _pattern(key).search(words)), default=0)


@cache
def _pattern(key: str) -> re.Pattern[str]:
    """Return a pattern for a whole word or its plural. Only ASCII words have word boundaries."""
    if not key.isascii():
        return re.compile(re.escape(key))
    spaced = re.escape(key).replace(r"\ ", r"\W+")
    return re.compile(rf"(?<!\w){spaced}(?:s|es)?(?!\w)")


def take_of(scene: WrittenScene, asked: DemoRequest, rng: Random) -> SceneTake:
    """Return a random one of the takes whose condition is the first that fits the request."""
    for take in scene.takes:
        if _fits(take.when, asked):
            return rng.choice(_same(scene.takes, take))
    return scene.takes[-1]


def _same(takes: Sequence[SceneTake], take: SceneTake) -> list[SceneTake]:
    return [one for one in takes if one.when == take.when]


def _fits(when: str, asked: DemoRequest) -> bool:
    kind, _, name = when.partition(" ")
    match kind:
        case "result":
            return asked.result is not None
        case "tool":
            return asked.result is None and name in asked.tools
        case "named-result":
            return asked.named is not None and asked.result is not None
        case "named":
            return asked.named is not None
        case "tools":
            return bool(asked.tools)
        case "files":
            return asked.has_files
        case "direct":
            return asked.is_direct
        case "faces":
            return bool(asked.faces and asked.persona)
        case "persona":
            return bool(asked.persona and asked.user)
        case "japanese":
            return asked.is_japanese
        case _:
            return True
