"""The span of one request to a model, with the names that OpenTelemetry has for generative AI."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import AbstractContextManager
from typing import Any

from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.reading.chunk_reader import ReadingEnd
from oshaberi.stream.reading.model_output import ModelOutput
from oshaberi.turn_spans import SpanValue, SpanValues, TurnSpan, turn_span


async def traced_request(
    provider: Provider, output: ModelOutput, reading: Coroutine[Any, Any, ReadingEnd]
) -> ReadingEnd:
    """Read an answer, and record a span from the request to the last chunk."""
    with request_span(provider.name, provider.model) as span:
        began_at = asyncio.get_running_loop().time()
        end = await reading
        span.note(_figures(output, began_at))
        if end.error is not None:
            span.fail(end.error.type)
        return end


def request_span(
    provider: str, model: str, more: SpanValues | None = None
) -> AbstractContextManager[TurnSpan]:
    """Return the span of a request. `more` are further attributes."""
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
