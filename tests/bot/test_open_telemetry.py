"""Traces of whole turns, read from the SDK's exporter in memory."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from oshaberi.bot.observability.open_telemetry import OpenTelemetryTracer, open_telemetry
from oshaberi.bot.tools import ToolBox, tool
from oshaberi.chunks import Chunk, ProviderError, ToolCall
from oshaberi.delivery.sink import DiscordRefusalError
from oshaberi.errors import ConfigError
from oshaberi.stream.provider_protocol import Step
from oshaberi.turn_tracing import TurnIds, traced_turn, turn_span
from tests.turns.test_long_conversations import WINDOW, chat
from tests.turns.turn_harness import (
    ALICE,
    CHANNEL,
    SERVER,
    TurnHarness,
    calls,
    run_turns,
    text,
    used,
)

SECRET = "what nobody else may read"


@tool
async def look() -> str:
    """Look around."""
    return SECRET


def traced(
    *scripts: Sequence[Step],
    before: Callable[[TurnHarness], None] = lambda _harness: None,
    **options: Any,
) -> tuple[ReadableSpan, ...]:
    """The spans of one answer."""
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))

    async def scenario(harness: TurnHarness) -> None:
        harness.change(tracer=OpenTelemetryTracer(provider))
        before(harness)
        await harness.answer(SECRET)

    run_turns(scenario, *scripts, **options)
    return exporter.get_finished_spans()


def tree(spans: Sequence[ReadableSpan]) -> dict[str, list[str]]:
    """The names of the children of each span, in the order of their beginning."""
    found: dict[str, list[str]] = {}
    names = {one.context.span_id: one.name for one in spans if one.context}
    for one in sorted(spans, key=lambda one: one.start_time or 0):
        found.setdefault(names[one.parent.span_id] if one.parent else "", []).append(one.name)
    return found


def named(spans: Sequence[ReadableSpan], name: str) -> ReadableSpan:
    return next(one for one in spans if one.name == name)


def test_a_turn_is_a_span_with_its_steps_as_children() -> None:
    spans = traced(
        [text("I look.\n\n"), calls(ToolCall("look"))],
        [text("I see."), used(10, 20)],
        tools=ToolBox([look]),
    )
    assert tree(spans) == {
        "": ["turn"],
        "turn": ["context", "chat m", "send", "execute_tool look", "chat m", "send"],
    }
    turn = dict(named(spans, "turn").attributes or {})
    assert len(str(turn.pop("oshaberi.turn"))) == 12
    assert turn == {
        "oshaberi.server": str(SERVER),
        "oshaberi.channel": str(CHANNEL),
        "oshaberi.user": str(ALICE.id),
        "oshaberi.why": "mention",
        "oshaberi.kind": "answer",
        "oshaberi.status": "completed",
        "oshaberi.messages": 2,
    }
    asked = dict([one for one in spans if one.name == "chat m"][1].attributes or {})
    assert asked.pop("oshaberi.first_token_s") == 0
    assert asked == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.model": "m",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 20,
    }


def test_a_summary_is_a_request_too() -> None:
    def talk(harness: TurnHarness) -> None:
        harness.models.window = WINDOW
        chat(harness, 10)

    spans = traced([text("They counted.")], [text("Numbers.")], before=talk)
    assert tree(spans)["turn"] == ["context", "chat m", "chat m", "send"]
    summary = next(one for one in spans if one.name == "chat m")
    assert (summary.attributes or {})["oshaberi.purpose"] == "summary"


def test_nothing_that_was_written_is_in_a_trace() -> None:
    failed = Chunk("error", error=ProviderError("auth", SECRET))
    spans = traced([text("I look.\n\n"), calls(ToolCall("look"))], [failed], tools=ToolBox([look]))
    assert len(spans) > 4
    assert SECRET not in " ".join(one.to_json() for one in spans)


def test_a_failure_is_a_status_with_its_kind() -> None:
    spans = traced([Chunk("error", error=ProviderError("auth", "no"))])
    asked, turn = named(spans, "chat m"), named(spans, "turn")
    assert (asked.status.is_ok, asked.status.description) == (False, "auth")
    assert (turn.status.is_ok, turn.status.description) == (False, "error")


def test_an_exception_leaves_its_kind_and_discords_code() -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = OpenTelemetryTracer(provider)
    with (
        pytest.raises(DiscordRefusalError),
        traced_turn(tracer, TurnIds(1, 2, 3), {}),
        turn_span("send"),
    ):
        raise DiscordRefusalError(50013, SECRET)
    send = exporter.get_finished_spans()[0]
    assert dict(send.attributes or {}) == {
        "discord.code": 50013,
        "error.type": "DiscordRefusalError",
    }
    assert send.events == ()


def test_without_a_tracer_a_step_costs_nothing() -> None:
    with traced_turn(None, TurnIds(1, 2, 3), {}), turn_span("one") as one, turn_span("two") as two:
        assert one is two


def test_a_collector_gets_the_spans_over_http() -> None:
    bodies: list[bytes] = []

    async def collect(request: web.Request) -> web.Response:
        bodies.append(await request.read())
        return web.Response()

    async def main() -> None:
        application = web.Application()
        application.router.add_post("/v1/traces", collect)
        runner = web.AppRunner(application)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        async with open_telemetry(url, "shard-7") as tracer:
            with traced_turn(tracer, TurnIds(1, 2, 3), {}), turn_span("context"):
                pass
        await runner.cleanup()

    asyncio.run(main())
    [body] = bodies
    [resource] = ExportTraceServiceRequest.FromString(body).resource_spans
    told = {one.key: one.value.string_value for one in resource.resource.attributes}
    assert (told["service.name"], told["service.instance.id"]) == ("oshaberi", "shard-7")
    assert [one.name for one in resource.scope_spans[0].spans] == ["context", "turn"]


def test_without_an_endpoint_nothing_is_loaded() -> None:
    async def main() -> None:
        async with open_telemetry(None, "main") as tracer:
            assert tracer is None

    asyncio.run(main())


def test_without_the_extra_the_setting_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)

    async def main() -> None:
        async with open_telemetry("http://127.0.0.1:4318", "main"):
            pytest.fail("it was opened")

    with pytest.raises(ConfigError, match=r"otel_endpoint: .*oshaberi\[otel\]"):
        asyncio.run(main())
