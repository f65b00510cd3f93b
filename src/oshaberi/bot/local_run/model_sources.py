"""Where a model can be, which models there are, and whether one answers, for the page."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from discord_stage.errors import RefusedFieldError, StageError
from oshaberi.chunks import ErrorType
from oshaberi.errors import ConfigError
from oshaberi.providers.base import Adapter
from oshaberi.providers.first_words import LIMIT_S, NoAnswerError, TriedModel, first_words
from oshaberi.providers.model_addresses import whole_address
from oshaberi.providers.model_listing import OfferedModels, can_list, list_models
from oshaberi.providers.presets import PRESETS
from oshaberi.providers.registry import connect

# Where a model can be: local servers that are searched for, hosted ones, any other address.


ANY_ADDRESS = "openai-compatible"
ANY_RESPONSES = "responses"
LOCAL = ("ollama", "llamacpp", "lmstudio")
HOSTED = ("anthropic", "google", "novelai", "openai", "openrouter")
LOOK_SECONDS = 1.0
LIST_SECONDS = 15.0
MOST_MODELS = 1000
OLLAMA_PORT = 11434


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A kind of server. `provider` is the preset that is used for it."""

    name: str
    title: str
    provider: str
    base_url: str = ""
    is_local: bool = False
    needs_key: bool = False


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server on this machine that has answered."""

    source: str
    base_url: str
    models: tuple[str, ...]


def model_sources(environ: Mapping[str, str]) -> tuple[ModelSource, ...]:
    """Return the sources that the panel offers, in its order."""
    return (
        *(_preset(name, environ) for name in (*LOCAL, *HOSTED)),
        ModelSource(ANY_ADDRESS, "Another address", "openai-chat"),
        ModelSource(ANY_RESPONSES, "Another, Responses API", "openai-responses"),
    )


def _preset(name: str, environ: Mapping[str, str]) -> ModelSource:
    preset = PRESETS[name]
    url = preset.base_url or ""
    if name == "ollama":
        url = ollama_address(environ.get("OLLAMA_HOST", "")) or url
    return ModelSource(name, preset.title, name, url, preset.is_local, not preset.is_local)


def known_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the keys in the usual variables, each by the only address to which it is sent."""
    presets = (PRESETS[name] for name in HOSTED)
    found = {one.base_url or "": environ.get(one.key_name or "", "").strip() for one in presets}
    return {address: key for address, key in found.items() if key}


def ollama_address(host: str) -> str | None:
    """Return the address in `OLLAMA_HOST` (`host`, `host:port`, `:port` or a URL), or None.

    A server that listens on every interface is reached on this machine.
    """
    text = host.strip().rstrip("/")
    if not text:
        return None
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        port = parts.port or (443 if parts.scheme == "https" else OLLAMA_PORT)
    except ValueError:
        return None
    name = parts.hostname or "127.0.0.1"
    name = "127.0.0.1" if name in ("0.0.0.0", "::") else name
    shown = f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{shown}:{port}{parts.path}/v1"


async def found_servers(sources: tuple[ModelSource, ...]) -> list[FoundServer]:
    """Return the local servers that answer right now, with their models."""

    async def look(source: ModelSource) -> FoundServer | None:
        try:
            models = await listed_models(source, source.base_url, None, LOOK_SECONDS)
        except RefusedFieldError:
            return None
        return FoundServer(source.name, source.base_url, tuple(models))

    looked = await asyncio.gather(*(look(source) for source in sources if source.is_local))
    return [found for found in looked if found is not None]


def completed_address(source: ModelSource, typed: str) -> str:
    """Return what was typed as a complete address, or the source's own if nothing was typed."""
    if not typed.strip():
        if source.base_url:
            return source.base_url
        raise RefusedFieldError("base_url", "an address is needed, like http://127.0.0.1:8080/v1")
    try:
        return whole_address(source.provider, typed)
    except ConfigError as error:
        raise RefusedFieldError("base_url", str(error)) from None


async def listed_models(
    source: ModelSource, base_url: str, key: str | None, limit_s: float = LIST_SECONDS
) -> list[str]:
    """Return the models that a server lists.

    Raises with what failed, and the field that it concerns.
    """
    family = PRESETS[source.provider].family_at(base_url)
    if not can_list(family):
        raise RefusedFieldError("model", f"{source.title} lists no models: write its name here")
    offered = await list_models(family, base_url, key, patience_s=limit_s)
    if offered.status != 200 or offered.is_unreadable:
        raise _no_list(offered, base_url, key)
    return list(offered.names[:MOST_MODELS])


def _no_list(offered: OfferedModels, base_url: str, key: str | None) -> RefusedFieldError:
    if offered.refuses_key:
        told = "refuses this key: paste a valid one" if key else "wants a key: paste it here"
        return RefusedFieldError("key", f"the server {told}")
    if offered.status in (404, 405):
        told = f"{base_url} has no list of models: correct the address, or write the model's name"
    elif offered.status:
        told = f"{base_url} answered HTTP {offered.status} instead of its models"
    else:
        told = f"{base_url}: {offered.reason}"
    return RefusedFieldError("base_url", told)


# Asks a model one short question, to see whether it answers, and says exactly what failed.


_FIELDS: dict[ErrorType, str] = {
    "auth": "key",
    "network": "base_url",
    "timeout": "base_url",
    "model_error": "model",
}


async def tried_connection(
    provider: str, model: str, base_url: str | None, key: str | None
) -> Adapter:
    """Return an adapter, or raise if none can be made. Runs in a thread, as SDKs load slowly."""
    try:
        return await asyncio.to_thread(connect, provider, model, api_key=key, base_url=base_url)
    except ConfigError as error:
        raise _placed(str(error)) from None


async def called_model(adapter: Adapter, limit_s: float = LIMIT_S) -> TriedModel:
    """Return the start of an answer. Raises with the field that the failure concerns."""
    try:
        return await first_words(adapter, limit_s=limit_s)
    except NoAnswerError as error:
        problem = error.problem
        status = f"HTTP {problem.code}: " if isinstance(problem.code, int) else ""
        told = str(error) if str(error).startswith("HTTP") else f"{status}{error}"
        field = _FIELDS.get(problem.type)
        raise (StageError(told) if field is None else RefusedFieldError(field, told)) from None


def _placed(told: str) -> StageError:
    """Return the mistake that `connect` found, with the field that it concerns."""
    words = {"key": "key", "address": "base_url", "http": "base_url", "model": "model"}
    field = next((name for word, name in words.items() if word in told.lower()), None)
    return StageError(told) if field is None else RefusedFieldError(field, told)
