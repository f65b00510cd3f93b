"""Who observes a stream: logs, recorder, inspector, metrics and traces."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from oshaberi.clocks import loop_time_s
from oshaberi.delivery.config import StreamConfig
from oshaberi.stream.context import StreamContext, StreamTextEngine, text_engine
from oshaberi.stream.model_output import ModelOutput
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.result import ReadingEnd, StreamResult
from oshaberi.turn_tracing import SpanValue, SpanValues, TurnSpan, turn_span

if TYPE_CHECKING:
    from oshaberi.text.decision_observer import Decision


class StreamObserver(Protocol):
    """Hears about every stream: a log, a recorder, the inspector, metrics.

    Must not raise and must not wait.
    """

    def opened(self, provider: Provider, config: StreamConfig, context: StreamContext) -> Provider:
        """Return the provider to read from: the same one, or a wrapper around it."""

    def ended(self, context: StreamContext, result: StreamResult) -> None: ...


Hear = Callable[["Decision"], None]


class ObservedEngines:
    """Lets several observers listen to the text engine of one stream. They must not raise."""

    def __init__(self) -> None:
        self.listeners: list[Hear] = []

    def __call__(self, config: Any, carry: Any) -> StreamTextEngine:
        from oshaberi import TextEngine

        return TextEngine(config, carried=carry, observe=self._tell)

    def _tell(self, decision: Decision) -> None:
        for hear in self.listeners:
            hear(decision)


def listen(context: StreamContext, hear: Hear) -> Callable[[], None]:
    """Call `hear` for each decision, from the next engine on. Returns a function that ends it.

    Does nothing if the context has a custom engine.
    """
    if context.make_engine is text_engine:
        context.make_engine = ObservedEngines()
    engines = context.make_engine
    if not isinstance(engines, ObservedEngines):
        return lambda: None
    engines.listeners.append(hear)

    def leave() -> None:
        engines.listeners.remove(hear)
        if not engines.listeners and context.make_engine is engines:
            context.make_engine = text_engine

    return leave


async def traced_request(
    provider: Provider, output: ModelOutput, reading: Coroutine[Any, Any, ReadingEnd]
) -> ReadingEnd:
    """Read an answer, and record a span from the request to the last chunk."""
    with request_span(provider.name, provider.model) as span:
        began_at = loop_time_s()
        end = await reading
        span.note(_figures(output, began_at))
        if end.error is not None:
            span.fail(end.error.type)
        return end


def request_span(
    provider: str, model: str, more: SpanValues | None = None
) -> AbstractContextManager[TurnSpan]:
    """Return the span of a request to a model; `more` are further attributes.

    The names are those that OpenTelemetry has for generative AI.
    """
    values = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
    }
    return turn_span(f"chat {model}", {**values, **(more or {})})


def _figures(output: ModelOutput, began_at: float) -> dict[str, SpanValue]:
    """Return what is known at the end: the time to the first token, and the tokens."""
    values: dict[str, SpanValue] = {}
    if output.first_token_at is not None:
        values["oshaberi.first_token_s"] = output.first_token_at - began_at
    if output.usage is not None:
        values["gen_ai.usage.input_tokens"] = output.usage.input_tokens
        values["gen_ai.usage.output_tokens"] = output.usage.output_tokens
    return values
