r"""Step 04: one stream from a provider's chunks to sent messages.

In virtual time, with everything in memory:

    async def main():
        stops = StopRegistry()
        sink = RecordingSink(faults=[ScriptedFault("send", 2, "http_503")])
        provider = ScriptedProvider(
            [Chunk("text", "Hel"), Chunk("text", "lo\n"), Silence(500), Stop("77")],
            stops=stops, channel="c",
        )
        config = StreamConfig(text=TextConfig(humanizer_degree=2), notify="first")
        context = StreamContext(channel="c", reply_to=True, stops=stops)
        result = await stream_to_sink(provider, None, config, context, sink)
        return [*sink.records, result.as_record()]      # the lines of `replay --json`

    lines = run_virtual(main())

A turn with tool calls makes one `StreamContext` and calls `stream_to_sink` with it again after
each `function_call`: its `response` carries what lasts. On a real loop it all runs in real time.
"""

from __future__ import annotations

from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.recording_sink import RecordingSink, ScriptedFault
from oshaberi.delivery.response import ResponseState
from oshaberi.stream.context import StreamContext
from oshaberi.stream.model_output import ThoughtLog
from oshaberi.stream.orchestrator import stream_to_sink
from oshaberi.stream.provider_protocol import (
    FollowUp,
    Provider,
    ScriptedProvider,
    Silence,
    Step,
    Stop,
)
from oshaberi.stream.result import Metrics, StreamResult
from oshaberi.stream.stops import StopRegistry, StopRequest
from oshaberi.virtual_time import run_virtual

__all__ = [
    "FollowUp",
    "Metrics",
    "Provider",
    "RecordingSink",
    "ResponseState",
    "ScriptedFault",
    "ScriptedProvider",
    "Silence",
    "Step",
    "Stop",
    "StopRegistry",
    "StopRequest",
    "StreamConfig",
    "StreamContext",
    "StreamResult",
    "ThoughtLog",
    "run_virtual",
    "stream_to_sink",
]
