"""Plays a scene through the whole pipeline into a recording sink (spec 10, replay)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from oshaberi.delivery.queue.table_attachments import PackagedRenderer, TableRenderer
from oshaberi.delivery.sinks.recording_sink import Record, RecordedPost, RecordingSink
from oshaberi.scenes.scene import Scene
from oshaberi.stream.orchestrator import stream_to_sink
from oshaberi.stream.provider_protocol import ScriptedProvider
from oshaberi.stream.stops.stop_registry import StopRegistry
from oshaberi.stream.stream_context import StreamContext, StreamTextEngine, text_engine
from oshaberi.stream.stream_result import StreamResult
from oshaberi.text.text_config import TextConfig
from oshaberi.virtual_time import run_virtual

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
