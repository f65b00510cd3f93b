"""Where a model can be, and one short question to see whether it answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from discord_stage.errors import RefusedFieldError, StageError
from oshaberi.checked_json import parse_json
from oshaberi.chunks import Chunk, ErrorType, ProviderError
from oshaberi.errors import ConfigError
from oshaberi.foreign_bodies import PLAIN, BodyTooLargeError, PackedBodyError, answer_body
from oshaberi.providers.base import Adapter
from oshaberi.providers.presets import PRESETS
from oshaberi.providers.registry import connect
from oshaberi.providers.request.model_request import Request, said

# Where a model can be: local servers that are searched for, hosted ones, any other address.
#
# All of them have an OpenAI-compatible API and list their models at `/models`.


ANY_ADDRESS = "openai-compatible"
LOCAL = ("ollama", "llamacpp", "lmstudio")
HOSTED = ("openrouter", "openai")
LOOK_SECONDS = 1.0
LIST_SECONDS = 15.0
MOST_BYTES = 4 * 1024 * 1024
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
        ModelSource(ANY_ADDRESS, "Another address", "openai"),
    )


def _preset(name: str, environ: Mapping[str, str]) -> ModelSource:
    preset = PRESETS[name]
    url = preset.base_url or ""
    if name == "ollama":
        url = ollama_address(environ.get("OLLAMA_HOST", "")) or url
    return ModelSource(name, preset.title, name, url, preset.is_local, not preset.is_local)


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
            models = await listed_models(source.base_url, None, LOOK_SECONDS)
        except RefusedFieldError:
            return None
        return FoundServer(source.name, source.base_url, tuple(models))

    looked = await asyncio.gather(*(look(source) for source in sources if source.is_local))
    return [found for found in looked if found is not None]


async def listed_models(base_url: str, key: str | None, limit_s: float = LIST_SECONDS) -> list[str]:
    """Return the models that a server lists. Raises with what failed, and the field it concerns."""
    address = f"{base_url.rstrip('/')}/models"
    headers = {**PLAIN, **({"Authorization": f"Bearer {key}"} if key else {})}
    timeout = aiohttp.ClientTimeout(total=limit_s)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, auto_decompress=False) as session,
            session.get(address, headers=headers, allow_redirects=False) as answer,
        ):
            status, body = answer.status, await answer_body(answer, MOST_BYTES)
    except TimeoutError:
        raise RefusedFieldError(
            "base_url", f"{address} did not answer within {limit_s:g} s"
        ) from None
    except (BodyTooLargeError, PackedBodyError) as error:
        raise RefusedFieldError("base_url", f"{address}: {error}") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        why = f"{address} cannot be reached: {_told(error)}"
        raise RefusedFieldError("base_url", why) from None
    _check_status(status, address)
    return _names(body, address)


def _told(error: BaseException) -> str:
    """Return the operating system's message, without the object that aiohttp prints around it."""
    inner = getattr(error, "os_error", None)
    words = getattr(inner, "strerror", None) or str(error)
    return words or type(error).__name__


def _check_status(status: int, address: str) -> None:
    if status in (401, 403):
        raise RefusedFieldError("key", f"the server answered {status}: the key is missing or wrong")
    if status != 200:
        hint = "; an address usually ends with /v1" if status in (404, 405) else ""
        raise RefusedFieldError("base_url", f"{address} answered HTTP {status}{hint}")


def _names(body: bytes, address: str) -> list[str]:
    try:
        found: Any = parse_json(body)
        names = [str(model["id"]) for model in found["data"]]
    except (ValueError, KeyError, TypeError):
        raise RefusedFieldError("base_url", f"{address} does not list models") from None
    return names[:MOST_MODELS]


# Asks a model one short question, to see whether it answers, and says exactly what failed.


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
