"""Plays a scene through the whole pipeline into a recording sink (spec 10, replay)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from oshaberi.clock import run_virtual
from oshaberi.delivery.recording import Posted, Record, RecordingSink
from oshaberi.delivery.tables import PackagedRenderer, TableRenderer
from oshaberi.scenes.model import Scene
from oshaberi.stream.context import Engine, StreamContext, text_engine
from oshaberi.stream.orchestrator import stream_to_sink
from oshaberi.stream.provider import ScriptedProvider
from oshaberi.stream.result import StreamResult
from oshaberi.stream.stops import StopRegistry
from oshaberi.text.config import TextConfig

CHANNEL = "scene"


@dataclass(frozen=True, slots=True)
class Played:
    """What a scene came to."""

    records: list[Record]
    """What happened in the channel, as in `replay --json`."""
    result: StreamResult
    posted: list[Posted]
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
    make_engine: Callable[[TextConfig, Any], Engine] = text_engine,
    renderer: TableRenderer | None = None,
) -> Played:
    """Run a scene to its end: in virtual time, where a minute costs nothing, or in real time."""
    run = asyncio.run if real_time else run_virtual
    return run(_play(scene, on_record, make_engine, renderer or PackagedRenderer()))


async def _play(
    scene: Scene,
    on_record: Callable[[Record], None],
    make_engine: Callable[[TextConfig, Any], Engine],
    renderer: TableRenderer,
) -> Played:
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
    return Played(sink.records, result, sink.posted)
