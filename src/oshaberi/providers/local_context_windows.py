"""Asks a local server for a model's window: Ollama, llama.cpp, LM Studio, vLLM.

A server may give a model a smaller window than the model supports, and Ollama silently cuts a
longer request. So the bot asks the server, and asks again from time to time, because it may have
been restarted.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oshaberi.checked_json import parse_json, whole_count
from oshaberi.clocks import loop_time_s
from oshaberi.foreign_bodies import BodyTooLargeError, PackedBodyError
from oshaberi.providers.model_listing import MOST_BYTES
from oshaberi.providers.model_options import MOST_TOKENS, SMALLEST_WINDOW

PATIENCE_S = 2.0
KNOWN_FOR_S = 600.0
UNKNOWN_FOR_S = 60.0
UNSURE_FOR_S = 5.0
"""How long the reported window of a model that is not loaded yet is used: the next request loads
it."""

_NUM_CTX = re.compile(r"^num_ctx[ \t]+(\d{1,12})\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ToldWindow:
    """A server's answer. `is_sure`: it is the window in use, not the largest possible one."""

    tokens: int | None = None
    is_sure: bool = False

    @property
    def lasts_s(self) -> float:
        if self.tokens is None:
            return UNKNOWN_FOR_S
        return KNOWN_FOR_S if self.is_sure else UNSURE_FOR_S


class LocalWindow:
    """The window of one model; asks the server when needed. None if the server does not say."""

    def __init__(self, server: str, base_url: str, model: str, key: str | None = None) -> None:
        self._server = server
        self._root = base_url.rstrip("/").removesuffix("/v1")
        self._model = model
        self._key = key
        self._window = ToldWindow()
        self._until_s = float("-inf")
        self._asking = asyncio.Lock()

    async def __call__(self) -> int | None:
        async with self._asking:
            now_s = loop_time_s()
            if now_s >= self._until_s:
                self._window = await self._asked()
                self._until_s = now_s + self._window.lasts_s
            return self._window.tokens

    async def _asked(self) -> ToldWindow:
        match self._server:
            case "ollama":
                return await self._ollama()
            case "llamacpp":
                props = await self._fetched("/props")
                return _told(_table(props.get("default_generation_settings")), "n_ctx")
            case "lmstudio":
                listed = await self._fetched("/api/v0/models")
                mine = self._mine(listed.get("data"), "id")
                return _told(mine, "loaded_context_length", "max_context_length")
            case _:
                listed = await self._fetched("/v1/models")
                return _told(self._mine(listed.get("data"), "id"), "max_model_len")

    async def _ollama(self) -> ToldWindow:
        """Ask Ollama: the loaded window, else that of the model file, else the model's maximum."""
        running = await self._fetched("/api/ps")
        loaded = _told(self._mine(running.get("models"), "name"), "context_length")
        if loaded.is_sure:
            return loaded
        shown = await self._fetched("/api/show", {"model": self._model})
        found = _NUM_CTX.search(str(shown.get("parameters", "")))
        if found:
            return _told({"num_ctx": int(found[1])}, "num_ctx")
        about = _table(shown.get("model_info"))
        longest = next((key for key in about if key.endswith(".context_length")), "")
        return ToldWindow(_told(about, longest).tokens)

    def _mine(self, listed: Any, name: str) -> Mapping[str, Any]:
        """Return the entry of this model. In Ollama, `x` is `x:latest`."""
        given = listed if isinstance(listed, list) else []
        entries = [one for one in given if isinstance(one, dict)]
        wanted = (self._model, f"{self._model}:latest")
        return next((one for one in entries if one.get(name) in wanted), {})

    async def _fetched(self, path: str, asked: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Fetch a JSON object. Return an empty one on any failure."""
        try:
            import aiohttp

            from oshaberi.providers.connections.model_connections import ask_once
        except ModuleNotFoundError:
            return {}
        method = "GET" if asked is None else "POST"
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        try:
            status, content = await ask_once(
                method, self._root + path, PATIENCE_S, MOST_BYTES, json=asked, headers=headers
            )
            told = parse_json(content or b"{}") if status == 200 else {}
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
            return {}
        except (BodyTooLargeError, PackedBodyError):
            return {}
        return _table(told)


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _told(entry: Mapping[str, Any], key: str, otherwise: str = "") -> ToldWindow:
    for name, is_sure in ((key, True), (otherwise, False)):
        tokens = whole_count(entry.get(name), MOST_TOKENS)
        if tokens is not None and tokens >= SMALLEST_WINDOW:
            return ToldWindow(tokens, is_sure)
    return ToldWindow()
