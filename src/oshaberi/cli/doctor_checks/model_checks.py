"""Checks the models in the settings: their SDK, their keys, and whether they answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from importlib.util import find_spec
from time import monotonic
from typing import TYPE_CHECKING, Any

from oshaberi.cli.doctor_checks.finding import Finding, bad, good, note
from oshaberi.errors import OshaberiError

if TYPE_CHECKING:
    from oshaberi.bot.config import LoadedSettings, ModelEntry
    from oshaberi.chunks import Chunk, ProviderError
    from oshaberi.providers.base import Adapter
    from oshaberi.providers.model_listing import OfferedModels
    from oshaberi.providers.presets import Preset


# One tiny call to a model shows whether it answers.


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
    from oshaberi.providers.model_options import options_of
    from oshaberi.providers.registry import connect

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
    return bad(
        label,
        problem.message,
        _ADVICE.get(problem.type, "see what the provider offers: oshaberi models"),
    )


async def _problem(adapter: Adapter, entry: ModelEntry) -> ProviderError | None:
    """Read until the first words or the end. Return the error, if there is one."""
    from oshaberi.providers.model_options import options_of
    from oshaberi.providers.request.model_request import Request, said

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


# The checks. If a family can list its models, the list is requested with every key; then each
# model gets one tiny call.


_SDKS = {
    "openai": "openai",
    "openai-responses": "openai",
    "anthropic": "anthropic",
    "google": "google.genai",
}


async def examine(
    settings: LoadedSettings, environ: Mapping[str, str], *, offline: bool = False
) -> AsyncIterator[Finding]:
    from oshaberi.providers.presets import PRESETS

    if not settings.models:
        advice = "add [[models]] to oshaberi.toml, or use /model in a server"
        yield note(
            "model", "none in the settings; on the local stage the demo model answers", advice
        )
    for entry in settings.models:
        name = f"model {entry.provider} {entry.model}"
        preset = PRESETS.get(entry.provider)
        if preset is None:
            yield note(name, "from a plug-in: cannot be checked")
            continue
        if preset.needs_base_url and entry.base_url is None:
            yield bad(name, "needs a base_url", "add base_url to this model in oshaberi.toml")
            continue
        missing = _missing_sdk(preset)
        if missing:
            yield bad(name, f"needs {missing}", f'pip install "oshaberi[{preset.extra}]"')
            continue
        keys = entry.keys(environ)
        if not keys and (entry.api_key_env or preset.key_name_at(entry.base_url)):
            where = f"set {entry.variable}, or api_keys of this model in oshaberi.toml"
            yield bad(name, "has no API key", where)
        elif offline:
            yield note(name, "has what it needs; it was not asked (--offline)")
        else:
            async for finding in _ask_models(name, entry, preset, keys):
                yield finding


def _missing_sdk(preset: Preset) -> str | None:
    sdk = _SDKS.get(preset.family)
    if sdk is None:
        return None
    try:
        return None if find_spec(sdk) else sdk
    except ModuleNotFoundError:
        return sdk


async def _ask_models(
    name: str, entry: ModelEntry, preset: Preset, keys: Sequence[str]
) -> AsyncIterator[Finding]:
    """Check each key by listing the models, then ask the model for a word."""
    from oshaberi.providers.model_listing import can_list, list_models

    base_url = entry.base_url or preset.base_url
    accepted: list[str] = []
    for number, key in enumerate(keys or ("",)):
        label = name if len(keys) < 2 else f"{name}, key {number + 1}"
        if base_url is None or not can_list(preset.family):
            accepted.append(key)
            yield note(label, "has a key; only a call can check it: the provider lists no models")
            continue
        finding = _judge(label, entry, await list_models(preset.family, base_url, key))
        if finding.state != "bad":
            accepted.append(key)
        yield finding
    if accepted:
        yield await call(name, entry, accepted[0] or None)


def _judge(name: str, entry: ModelEntry, offered: OfferedModels) -> Finding:
    if offered.status == 200:
        if offered.names and offered.is_whole and entry.model not in offered.names:
            text = f"the provider answers, but does not list {entry.model!r}"
            return note(name, text, "`oshaberi models` shows the names that it has")
        return good(name, "the provider accepts the key")
    if offered.refuses_key:
        where = entry.variable if not entry.api_keys else "api_keys"
        return bad(name, "the provider refuses the key", f"put a valid one into {where}")
    if offered.status in (404, 405):
        return note(name, "the server does not list models; the key was not checked")
    if offered.status == 429:
        return note(name, "rate limited by the provider now; the key was not checked")
    return bad(name, f"could not be checked: {offered.reason}", "check base_url and your network")
