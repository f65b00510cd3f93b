"""Which model speaks on the local stage: the demo model, an Ollama on this machine, one's own.

A key given here stays in memory. The page reads and changes it at `/stage/model`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import aiohttp

from oshaberi.errors import ConfigError
from oshaberi.providers.adapter_registry import connect
from oshaberi.stage.control.control_api import ControlExtension
from oshaberi.stage.demo_model import MODEL, DemoModel
from oshaberi.stage.stage_errors import StageError
from oshaberi.storage.stored_records import ModelRecord
from oshaberi.turns.turn_services import OperatorModel, TurnServices

OLLAMA = "http://127.0.0.1:11434"
LOOK_SECONDS = 0.5
SLOWEST, FASTEST = 0.1, 100.0


class ModelChoice:
    """What is chosen holds from the next turn on. `configured` is what the settings say."""

    def __init__(self, demo_model: DemoModel, configured: tuple[OperatorModel, ...] = ()) -> None:
        self._demo_model = demo_model
        self._configured = configured
        self._services: TurnServices | None = None
        self._kind = "configured" if configured else "demo"
        self._shown = configured[0].model.model if configured else MODEL

    def extension(self) -> ControlExtension:
        return ControlExtension(read=self.read, act=self.act)

    def give_to(self, services: TurnServices) -> None:
        """Whose turns it decides about."""
        self._services = services
        services.models = self._configured or (self._demo_model_link(),)

    async def warm(self) -> None:
        """The first answer need not wait until an SDK is loaded."""
        if self._services is None:
            return
        link = self._services.models[0]
        key = link.keys[0] if link.keys else None
        with suppress(Exception):  # whatever it is, the answer itself will say it
            model = link.model
            await self._services.adapters.warm(model.provider, model.model, model.base_url, key)

    async def read(self, _asked: dict[str, Any]) -> dict[str, Any]:
        return {
            "kind": self._kind,
            "model": self._shown,
            "speed": self._demo_model.speed,
            "ollama": await ollama_models(),
            "configured": bool(self._configured),
        }

    async def act(self, said: dict[str, Any]) -> dict[str, Any]:
        if "speed" in said:
            self._demo_model.speed = _speed(said["speed"])
        if "use" in said:
            await self._choose(said)
        return await self.read({})

    async def _choose(self, said: dict[str, Any]) -> None:
        kind = said["use"]
        match kind:
            case "demo":
                links: tuple[OperatorModel, ...] = (self._demo_model_link(),)
            case "configured":
                links = self._configured or (self._demo_model_link(),)
            case "ollama":
                links = (await _tried("ollama", _text(said, "model"), f"{OLLAMA}/v1", "ollama"),)
            case "openai-compatible":
                url, model = _text(said, "base_url"), _text(said, "model")
                links = (await _tried("openai", model, url, str(said.get("key") or "none")),)
            case _:
                raise StageError("`use` is demo, configured, ollama or openai-compatible")
        if self._services is not None:
            self._services.models = links
        self._kind, self._shown = str(kind), links[0].model.model

    def _demo_model_link(self) -> OperatorModel:
        return _link("openai", MODEL, self._demo_model.url, "demo")


async def ollama_models() -> list[str]:
    """What a local Ollama has, if there is one."""
    limit = aiohttp.ClientTimeout(total=LOOK_SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=limit) as session,
            session.get(f"{OLLAMA}/api/tags") as answer,
        ):
            found = await answer.json()
            return [str(model["name"]) for model in found["models"]]
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError, KeyError, TypeError):
        return []


async def _tried(provider: str, model: str, base_url: str, key: str) -> OperatorModel:
    """Refused here if it cannot even be connected to; SDKs load slowly, so in a thread."""
    try:
        adapter = await asyncio.to_thread(connect, provider, model, api_key=key, base_url=base_url)
    except ConfigError as error:
        raise StageError(str(error)) from None
    await adapter.aclose()
    return _link(provider, model, base_url, key)


def _link(provider: str, model: str, base_url: str, key: str) -> OperatorModel:
    return OperatorModel(ModelRecord(0, provider, model, base_url), (key,))


def _text(said: dict[str, Any], key: str) -> str:
    value = said.get(key)
    if not isinstance(value, str) or not value.strip():
        raise StageError(f"`{key}` must be a text")
    return value.strip()


def _speed(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise StageError("`speed` must be a number")
    if not SLOWEST <= value <= FASTEST:
        raise StageError(f"`speed` must be from {SLOWEST:g} to {FASTEST:g}")
    return float(value)
