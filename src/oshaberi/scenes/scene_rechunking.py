"""Cuts the text of a scene into other chunks, which must not change the messages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from random import Random

from oshaberi.chunks import Chunk
from oshaberi.scenes.scene import Scene
from oshaberi.stream.provider_protocol import Step

_SIZES = (1, 1, 2, 3, 4, 4, 5, 7, 12, 40)


def rechunk(scene: Scene, seed: int) -> Scene:
    """Return the scene with the same text cut elsewhere.

    With a re-emitting provider the chunks stay as they are.
    """
    if scene.reemits:
        return scene
    rng = Random(seed)
    steps: list[Step] = []
    for is_text, run in groupby(scene.steps, _is_text):
        if is_text:
            text = "".join(step.content for step in run if isinstance(step, Chunk))
            steps += [Chunk("text", piece) for piece in _pieces(text, rng)]
        else:
            steps += run
    return replace(scene, steps=tuple(steps))


def _pieces(text: str, rng: Random) -> Iterator[str]:
    at = 0
    while at < len(text):
        size = rng.choice(_SIZES)
        yield text[at : at + size]
        at += size


def _is_text(step: Step) -> bool:
    return isinstance(step, Chunk) and step.type == "text" and not step.thoughts
