"""Checks the models in the settings: their SDK, their keys, and whether they answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from oshaberi.cli.doctor_checks.finding import Finding, bad, good, note
from oshaberi.errors import OshaberiError
from oshaberi.terminal_output import counted

if TYPE_CHECKING:
    from oshaberi.bot.config import LoadedSettings, ModelEntry
    from oshaberi.providers.model_listing import OfferedModels
    from oshaberi.providers.presets import Preset


# One tiny call to a model shows whether it answers.


DATABASE_PATIENCE_S = 10.0


async def call(name: str, entry: ModelEntry, key: str | None) -> Finding:
    """Ask for a few words as a turn would, with the model's own parameters."""
    from oshaberi.providers.first_words import MOST_TOKENS, QUESTION, NoAnswerError, first_words
    from oshaberi.providers.model_options import options_of
    from oshaberi.providers.registry import connect
    from oshaberi.providers.request.model_request import Request, said

    label, options = f"{name}, a call", options_of(entry.all_params())
    try:
        adapter = await asyncio.to_thread(
            connect,
            entry.provider,
            entry.model,
            api_key=key,
            base_url=entry.base_url,
            **options.endpoint_settings(),
            **entry.endpoint_settings(),
        )
    except OshaberiError as error:
        return bad(label, str(error), "correct the settings of this model")
    fields = options.request_fields() | {"max_output_tokens": MOST_TOKENS, "prefill": None}
    try:
        answer = await first_words(adapter, Request((said("user", QUESTION, "current"),), **fields))
    except NoAnswerError as error:
        return bad(label, str(error.problem.message or error), error.advice)
    finally:
        await adapter.aclose()
    return good(label, f"it answers, after {answer.after_s:.1f} s")


# The checks. If a family can list its models, the list is requested with every key; then each
# model gets one tiny call.


_NO_KEY = "no key was sent"
_SDKS = {
    "openai": "aiohttp",
    "openai-responses": "aiohttp",
    "novelai": "aiohttp",
    "ollama": "aiohttp",
    "anthropic": "anthropic",
    "google": "google.genai",
    "bedrock": "boto3",
    "vertex": "google.genai",
    "vertex-claude": "google.auth",
    "azure-entra": "azure.identity",
}


async def examine(
    settings: LoadedSettings, environ: Mapping[str, str], *, offline: bool = False
) -> AsyncIterator[Finding]:
    from oshaberi.providers.presets import PRESETS

    if not settings.models:
        yield await _without_models(settings)
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
        if entry.missing_key(environ):
            where = f"set {entry.variable}, or api_keys of this model in oshaberi.toml"
            yield bad(name, "has no API key", where)
        elif offline:
            yield note(name, "has what it needs; it was not asked (--offline)")
        else:
            async for finding in _ask_models(name, entry, preset, keys):
                yield finding


async def _without_models(settings: LoadedSettings) -> Finding:
    """Return whether the bot can answer although the settings have no model."""
    advice = "add [[models]] to oshaberi.toml, or use /model in a server"
    if settings.discord_token is None:
        text = "none in the settings; on the local stage the demo model answers"
        return note("model", text, advice)
    servers = await _servers_with_models(settings.database_url)
    if servers:
        text = f"none in the settings; {counted(servers, 'server')} chose their own with /model"
        return note("model", text, "elsewhere the bot has no model: add [[models]]")
    return bad("model", "there is a Discord token, but no model: the bot cannot answer", advice)


async def _servers_with_models(url: str) -> int:
    """Count the servers that chose their own models. An unreadable database has its own finding."""
    from oshaberi.bot.storage import StorageError, current_revision, head_revision
    from oshaberi.bot.storage.database import count_servers_with_models

    try:
        async with asyncio.timeout(DATABASE_PATIENCE_S):
            is_current = await current_revision(url) == head_revision()
            return await count_servers_with_models(url) if is_current else 0
    except (StorageError, TimeoutError):
        return 0


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
    from oshaberi.providers.wire.errors import shown_address

    base_url = entry.base_url or preset.base_url
    accepted: list[str] = []
    for number, key in enumerate(keys or ("",)):
        label = name if len(keys) < 2 else f"{name}, key {number + 1}"
        if base_url is None or not can_list(preset.family):
            accepted.append(key)
            has = "has a key" if key else f"signs in at {preset.cloud}" if preset.cloud else _NO_KEY
            yield note(label, f"{has}; only a call can check it: the provider lists no models")
            continue
        offered = await list_models(preset.family, base_url, key)
        # Path, user name and password of an address may be secret. This part has none of them.
        place = urlsplit(shown_address(base_url)).netloc
        finding = _judge(label, entry, key, offered, place)
        if finding.state != "bad":
            accepted.append(key)
        yield finding
    if accepted:
        yield await call(name, entry, accepted[0] or None)


def _judge(name: str, entry: ModelEntry, key: str, offered: OfferedModels, place: str) -> Finding:
    unchecked = "the key was not checked" if key else "no key was sent"
    if offered.status == 200:
        if offered.names and offered.is_whole and entry.model not in offered.names:
            text = f"the provider answers, but does not list {entry.model!r}"
            return note(name, text, "`oshaberi models` shows the names that it has")
        if not key:
            return good(name, "the server answers; no key was sent, and it wants none")
        return good(name, "the provider accepts the key")
    if offered.refuses_key and not key:
        return bad(name, "the server wants a key, and none was sent", f"set {_place_of(entry)}")
    if offered.refuses_key:
        return bad(name, "the provider refuses the key", f"put a valid one into {_place_of(entry)}")
    if offered.status in (404, 405):
        return note(name, f"the server does not list models; {unchecked}")
    if offered.status == 429:
        return note(name, f"rate limited by the provider now; {unchecked}")
    why = str(offered.reason) if offered.status else f"{place}: {offered.reason}"
    return bad(name, f"could not be checked: {why}", "check base_url and your network")


def _place_of(entry: ModelEntry) -> str:
    """Say where the key of a model belongs."""
    own = "api_keys of this model in oshaberi.toml"
    return own if entry.api_keys or entry.variable is None else entry.variable
