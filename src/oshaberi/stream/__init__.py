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

from oshaberi.delivery.response_state import ResponseState
from oshaberi.delivery.sinks.recording_sink import RecordingSink
from oshaberi.delivery.sinks.scripted_faults import ScriptedFault
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.stream.orchestrator import stream_to_sink
from oshaberi.stream.provider_protocol import (
    FollowUp,
    Provider,
    ScriptedProvider,
    Silence,
    Step,
    Stop,
)
from oshaberi.stream.stops.stop_registry import StopRegistry, StopRequest
from oshaberi.stream.stream_context import StreamContext
from oshaberi.stream.stream_result import Metrics, StreamResult
from oshaberi.stream.thought_collector import ThoughtLog
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
