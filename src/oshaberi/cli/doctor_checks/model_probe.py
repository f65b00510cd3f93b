"""Makes one tiny call to a model from the settings, to see whether it answers."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from time import monotonic
from typing import TYPE_CHECKING, Any

from oshaberi.cli.doctor_checks.finding import Finding, bad, good
from oshaberi.errors import OshaberiError

if TYPE_CHECKING:
    from oshaberi.chunks import Chunk, ProviderError
    from oshaberi.config import ModelEntry
    from oshaberi.providers.adapter_base import Adapter

PATIENCE_S = 60.0
LONGEST = 16
_ADVICE = {
    "auth": "put a valid key into the settings",
    "model_error": "see `oshaberi models`, and correct the model's name",
    "network": "see base_url, and whether the server runs",
    "timeout": "see whether the server is busy",
    "balance_exhausted": "fill up the account at the provider",
    "rate_limit": "try again later",
    "provider_overloaded": "try again later",
}


async def call(name: str, entry: ModelEntry, key: str | None) -> Finding:
    """Ask for one word as a turn would, with the model's own parameters."""
    from oshaberi.providers.adapter_registry import connect
    from oshaberi.providers.model_options import options_of

    label, began = f"{name}, a call", monotonic()
    try:
        settings = options_of(entry.all_params()).endpoint_settings()
        adapter = await asyncio.to_thread(
            connect, entry.provider, entry.model, api_key=key, base_url=entry.base_url, **settings
        )
    except OshaberiError as error:
        return bad(label, str(error), "correct the settings of this model")
    try:
        async with asyncio.timeout(PATIENCE_S):
            problem = await _problem(adapter, entry)
    except TimeoutError:
        return bad(label, f"no answer within {PATIENCE_S:.0f} s", _ADVICE["timeout"])
    finally:
        await adapter.aclose()
    if problem is None:
        return good(label, f"it answers, after {monotonic() - began:.1f} s")
    return bad(label, problem.message, _ADVICE.get(problem.type, "see docs/providers.md"))


async def _problem(adapter: Adapter, entry: ModelEntry) -> ProviderError | None:
    """Read until the first words or the end. Return the error, if there is one."""
    from oshaberi.providers.model_options import options_of
    from oshaberi.providers.request.context_items import said
    from oshaberi.providers.request.model_request import Request

    fields = options_of(entry.all_params()).request_fields()
    fields |= {"max_output_tokens": LONGEST, "prefill": None}
    request = Request((said("user", "Say: ok", "current"),), **fields)
    stream: Any = adapter.open(request)
    async with aclosing(stream):
        async for raw in stream:
            chunk: Chunk | None = adapter.normalise(raw)
            if chunk is not None and (chunk.content or chunk.error):
                return chunk.error
    return None
