"""Plays a scene through the whole pipeline, cut differently if asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from random import Random
from typing import Any

from oshaberi.chunks import Chunk
from oshaberi.delivery.attachments import PackagedRenderer, TableRenderer
from oshaberi.delivery.recording_sink import Record, RecordedPost, RecordingSink
from oshaberi.scenes.scene import Scene
from oshaberi.stream.context import StreamContext, StreamTextEngine, text_engine
from oshaberi.stream.orchestrator import stream_to_sink
from oshaberi.stream.provider_protocol import ScriptedProvider, Step
from oshaberi.stream.result import StreamResult
from oshaberi.stream.stops import StopRegistry
from oshaberi.text.config import TextConfig
from oshaberi.virtual_time import run_virtual

# Plays a scene into a recording sink (spec 10, replay).


CHANNEL = "scene"


@dataclass(frozen=True, slots=True)
class PlayedScene:
    """The result of a played scene."""

    records: list[Record]
    """What happened in the channel, as in `replay --json`."""
    result: StreamResult
    posted: list[RecordedPost]
    """The channel at the end."""

    @property
    def lines(self) -> list[Record]:
        return [*self.records, self.result.as_record()]


def _nothing(_record: Record) -> None:
    pass


def perform(
    scene: Scene,
    *,
    real_time: bool = False,
    on_record: Callable[[Record], None] = _nothing,
    make_engine: Callable[[TextConfig, Any], StreamTextEngine] = text_engine,
    renderer: TableRenderer | None = None,
) -> PlayedScene:
    """Play a scene to its end, in virtual time (which takes no time) or in real time."""
    run = asyncio.run if real_time else run_virtual
    return run(_play(scene, on_record, make_engine, renderer or PackagedRenderer()))


async def _play(
    scene: Scene,
    on_record: Callable[[Record], None],
    make_engine: Callable[[TextConfig, Any], StreamTextEngine],
    renderer: TableRenderer,
) -> PlayedScene:
    stops = StopRegistry()
    sink = RecordingSink(scene.faults, on_record=on_record)
    provider = ScriptedProvider(scene.steps, stops=stops, channel=CHANNEL, reemits=scene.reemits)
    context = StreamContext(
        channel=CHANNEL,
        reply_to=scene.reply_to,
        stops=stops,
        make_engine=make_engine,
        renderer=renderer,
    )
    result = await stream_to_sink(provider, None, scene.config, context, sink)
    return PlayedScene(sink.records, result, sink.posted)


# Other cuts: the text of a scene in other chunks, which must not change the messages.


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
