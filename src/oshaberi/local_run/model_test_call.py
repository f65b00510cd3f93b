"""Asks a model one short question, to see whether it answers, and says exactly what failed."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from oshaberi.chunks import Chunk, ErrorType, ProviderError
from oshaberi.errors import ConfigError
from oshaberi.providers.adapter_base import Adapter
from oshaberi.providers.adapter_registry import connect
from oshaberi.providers.request.context_items import said
from oshaberi.providers.request.model_request import Request
from oshaberi.stage.stage_errors import RefusedFieldError, StageError

QUESTION = "Say hello in one short sentence."
MOST_TOKENS = 200
MOST_SHOWN = 200
LIMIT_S = 60.0
"""How long the test may take: a local server may have to load the model first."""
_FIELDS: dict[ErrorType, str] = {
    "auth": "key",
    "network": "base_url",
    "timeout": "base_url",
    "model_error": "model",
}


@dataclass(frozen=True, slots=True)
class TestedModel:
    """A model that answered. `text` is the start of its answer; empty if it only thought."""

    text: str
    first_ms: int


async def tried_connection(
    provider: str, model: str, base_url: str | None, key: str | None
) -> Adapter:
    """Return an adapter, or raise if none can be made. Runs in a thread, as SDKs load slowly."""
    try:
        return await asyncio.to_thread(connect, provider, model, api_key=key, base_url=base_url)
    except ConfigError as error:
        raise _placed(str(error)) from None


async def called_model(adapter: Adapter, limit_s: float = LIMIT_S) -> TestedModel:
    """Return the start of an answer. Raises with the field that the failure concerns."""
    began = time.monotonic()
    try:
        async with asyncio.timeout(limit_s):
            text = await _beginning(adapter)
    except TimeoutError:
        raise RefusedFieldError(
            "base_url", f"no answer within {limit_s:g} s; a local model may still be loading"
        ) from None
    return TestedModel(text[:MOST_SHOWN], round((time.monotonic() - began) * 1000))


async def _beginning(adapter: Adapter) -> str:
    request = Request((said("user", QUESTION),), max_output_tokens=MOST_TOKENS)
    text = ""
    stream: Any = adapter.open(request)
    async with aclosing(stream):
        async for raw in stream:
            chunk: Chunk | None = raw.chunk
            if chunk is None:
                continue
            if chunk.error is not None:
                raise failure(chunk.error)
            text += chunk.content
            if len(text) >= MOST_SHOWN:
                break
    return text.strip()


def failure(error: ProviderError) -> StageError:
    status = f"HTTP {error.code}: " if isinstance(error.code, int) else ""
    told = f"{status}{error.message or error.type.replace('_', ' ')}"
    field = _FIELDS.get(error.type)
    return StageError(told) if field is None else RefusedFieldError(field, told)


def _placed(told: str) -> StageError:
    """Return the mistake that `connect` found, with the field that it concerns."""
    words = {"key": "key", "address": "base_url", "http": "base_url", "model": "model"}
    field = next((name for word, name in words.items() if word in told.lower()), None)
    return StageError(told) if field is None else RefusedFieldError(field, told)
