"""Sends the spans of turns to an OpenTelemetry collector. Off unless `otel_endpoint` is set.

Spans of model requests and tools are named by OpenTelemetry's conventions for generative AI. They
contain nothing that people or models wrote: only ids, names of models and tools, counts and kinds
of errors.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from oshaberi import __version__
from oshaberi.errors import ConfigError
from oshaberi.turn_tracing import SpanValues, TurnSpan, TurnTracer

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

TRACES_PATH = "/v1/traces"
CLOSE_SECONDS = 5.0
"""How long the end of the process waits for the collector."""


class OpenTelemetryTracer:
    """Records spans with a provider of the SDK."""

    def __init__(self, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer("oshaberi", __version__)

    @contextmanager
    def span(self, name: str, values: SpanValues) -> Iterator[TurnSpan]:
        # An exception's text may hold what people wrote, so the SDK must not record it.
        with self._tracer.start_as_current_span(
            name, attributes=dict(values), record_exception=False, set_status_on_exception=False
        ) as span:
            ours = _RecordedSpan(span)
            try:
                yield ours
            except asyncio.CancelledError:
                ours.note({"oshaberi.cut_off": True})
                raise
            except Exception as error:
                code = getattr(error, "code", None)
                ours.note({"discord.code": code} if isinstance(code, int) else {})
                ours.fail(type(error).__name__)
                raise


class _RecordedSpan:
    def __init__(self, span: Span) -> None:
        self._span = span

    def note(self, values: SpanValues) -> None:
        self._span.set_attributes(dict(values))

    def fail(self, kind: str) -> None:
        from opentelemetry.trace import StatusCode

        self._span.set_attribute("error.type", kind)
        self._span.set_status(StatusCode.ERROR, kind)


@asynccontextmanager
async def open_telemetry(endpoint: str | None, instance: str) -> AsyncIterator[TurnTracer | None]:
    """Send traces to this collector until the end of the block. With None, trace nothing."""
    if endpoint is None:
        yield None
        return
    provider = _provider(endpoint, instance)
    try:
        yield OpenTelemetryTracer(provider)
    finally:
        # This sends the remaining spans. Wait only briefly: the collector may be down.
        closing = asyncio.get_running_loop().run_in_executor(None, provider.shutdown)
        await asyncio.wait({closing}, timeout=CLOSE_SECONDS)


def _provider(endpoint: str, instance: str) -> TracerProvider:
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as missing:
        needs = 'pip install "oshaberi[otel]"'
        raise ConfigError(f"otel_endpoint: needs {missing.name}: {needs}") from None
    names = {
        "service.name": "oshaberi",
        "service.version": __version__,
        "service.instance.id": instance,
    }
    provider = TracerProvider(resource=Resource.create(names), shutdown_on_exit=False)
    exporter = OTLPSpanExporter(
        endpoint=endpoint.rstrip("/").removesuffix(TRACES_PATH) + TRACES_PATH
    )
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider
