"""Real streams for the log: a scripted model, the real pipeline, a channel in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from oshaberi.chunks import Chunk
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.recording_sink import RecordingSink
from oshaberi.inspector import StreamLog
from oshaberi.stream.context import StreamContext
from oshaberi.stream.orchestrator import stream_to_sink
from oshaberi.stream.provider_protocol import ScriptedProvider, Silence, Step
from oshaberi.stream.result import StreamResult
from oshaberi.stream.stops import StopRegistry
from oshaberi.text.config import Persona, TextConfig

CONFIG = StreamConfig(TextConfig(humanizer_degree=2, persona=Persona("Mochi"), seed=10**18))


def virtual_log(**settings: int) -> StreamLog:
    """Made inside the loop whose time it keeps."""
    return StreamLog(clock=asyncio.get_running_loop().time, **settings)  # type: ignore[arg-type]


def crumbs(text: str, ms: int = 25) -> list[Step]:
    cut = [text[at : at + 4] for at in range(0, len(text), 4)]
    return [step for piece in cut for step in (Chunk("text", piece), Silence(ms))]


async def stream(
    log: StreamLog,
    steps: Sequence[Step],
    context: StreamContext | None = None,
    sink: RecordingSink | None = None,
    config: StreamConfig = CONFIG,
) -> StreamResult:
    """As a turn does it."""
    stops = StopRegistry()
    context = context or StreamContext(channel="general", stops=stops)
    provider = ScriptedProvider(steps, stops=context.stops, channel=context.channel)
    listening = log.opened(provider, config, context)
    result = await stream_to_sink(listening, None, config, context, sink or RecordingSink())
    log.ended(context, result)
    return result
