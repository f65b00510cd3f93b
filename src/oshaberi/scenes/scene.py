"""A scene as a value; `rechunk` cuts its text into other chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from random import Random
from typing import Any

from oshaberi.chunks import Chunk
from oshaberi.delivery.sinks.scripted_faults import ScriptedFault
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.stream.provider_protocol import Step

_SIZES = (1, 1, 2, 3, 4, 4, 5, 7, 12, 40)


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that one stream depends on, and what is expected of it."""

    name: str
    config: StreamConfig
    steps: tuple[Step, ...]
    faults: tuple[ScriptedFault, ...] = ()
    reply_to: bool = False
    reemits: bool = False
    expect: Mapping[str, Any] | None = None
    """Only what is given is compared. None: the scene expects nothing."""

    @property
    def text(self) -> str:
        """Return all text that the model writes."""
        return "".join(step.content for step in self.steps if isinstance(step, Chunk))


def rechunk(scene: Scene, seed: int) -> Scene:
    """Return the scene with the same text cut elsewhere.

    A re-emitting provider keeps its own cuts.
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
