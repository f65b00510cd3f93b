"""The span of one request to a model, with the names that OpenTelemetry has for generative AI."""

from __future__ import annotations

from contextlib import AbstractContextManager

from oshaberi.chunks import ProviderError, Usage
from oshaberi.stream.provider_protocol import Provider
from oshaberi.turn_spans import SpanValue, TurnSpan, turn_span


def request_span(provider: Provider) -> AbstractContextManager[TurnSpan]:
    """Return the span, from the request to the last chunk."""
    return turn_span(
        f"chat {provider.model}",
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider.name,
            "gen_ai.request.model": provider.model,
        },
    )


def note_answer(
    span: TurnSpan, first_token_s: float | None, usage: Usage | None, error: ProviderError | None
) -> None:
    """Add what is known at the end: the time to the first token, tokens, the kind of an error."""
    values: dict[str, SpanValue] = {}
    if first_token_s is not None:
        values["oshaberi.first_token_s"] = first_token_s
    if usage is not None:
        values["gen_ai.usage.input_tokens"] = usage.input_tokens
        values["gen_ai.usage.output_tokens"] = usage.output_tokens
    span.note(values)
    if error is not None:
        span.fail(error.type)
