"""Decides which model answers on the local stage: the demo model, a configured or a connected one.

The page reads and changes it at `/stage/model`, `model_servers`, `model_list` and `model_test`. A
key stays in memory, belongs to one address, and is never shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from discord_stage.control.api import ControlExtension
from discord_stage.errors import RefusedFieldError, StageError
from oshaberi.bot.config.going_live import LiveModel
from oshaberi.bot.local_run.demo_model import MODEL, DemoModel
from oshaberi.bot.local_run.model_sources import (
    ModelSource,
    called_model,
    completed_address,
    found_servers,
    known_keys,
    listed_models,
    model_sources,
    tried_connection,
)
from oshaberi.bot.storage.records import ModelRecord
from oshaberi.bot.turns.services.model_access import WHOLE_SERVER, OperatorModel
from oshaberi.bot.turns.services.turn_services import TurnServices
from oshaberi.providers.first_words import TriedModel
from oshaberi.providers.model_options import options_of

SLOWEST, FASTEST = 0.1, 100.0
NO_KEY = "none"
"""The key for servers on this machine, which require one and accept any."""

Json = dict[str, Any]


class ModelChoice:
    """The chosen model; applies from the next turn on. `configured` are the settings' models."""

    def __init__(
        self,
        demo_model: DemoModel,
        configured: tuple[OperatorModel, ...] = (),
        environ: Mapping[str, str] | None = None,
        server_id: int = 0,
    ) -> None:
        self._server_id = server_id
        self._demo_model = demo_model
        self._configured = configured
        self._sources = {source.name: source for source in model_sources(environ or {})}
        self._services: TurnServices | None = None
        self._kind = "configured" if configured else "demo"
        self._link = configured[0] if configured else self._demo_model_link()
        self._keys = known_keys(environ or {})
        self._testing: asyncio.Task[TriedModel] | None = None

    def extensions(self) -> dict[str, ControlExtension]:
        return {
            "model": ControlExtension(read=self.read, act=self.act),
            "model_servers": ControlExtension(read=self.servers),
            "model_list": ControlExtension(act=self.models),
            "model_test": ControlExtension(act=self.test),
        }

    def give_to(self, services: TurnServices) -> None:
        """Set the services whose models are chosen here."""
        self._services = services
        services.models.operator.models = self._configured or (self._demo_model_link(),)

    def chosen(self) -> LiveModel | None:
        """Return the model that answers; None if it is the demo model."""
        if self._kind == "demo":
            return None
        model, keys = self._link.model, self._link.keys
        key = next((one for one in keys if one != NO_KEY), None)
        return LiveModel(model.provider, model.model, model.base_url, key)

    async def warm(self) -> None:
        """Load the SDK, so that the first answer does not wait for it."""
        if self._services is None:
            return
        link = self._services.models.operator.models[0]
        key = link.keys[0] if link.keys else None
        with suppress(Exception):  # whatever it is, the answer itself will say it
            model = link.model
            settings = options_of(model.params).endpoint_settings()
            address = (model.provider, model.model, model.base_url, key)
            await self._services.models.adapters.warm(*address, settings)

    # -- what the page reads --------------------------------------------------------------------

    async def read(self, _asked: Json) -> Json:
        return {
            "kind": self._kind,
            "model": self._link.model.model,
            "base_url": None if self._kind == "demo" else self._link.model.base_url,
            "speed": self._demo_model.speed,
            "configured": self._configured[0].model.model if self._configured else None,
            "sources": [asdict(source) for source in self._sources.values()],
            "keys_for": sorted(self._keys),
            "overridden_by": await self._overriding(),
        }

    async def _overriding(self) -> str | None:
        """Return the model that the server chose with `/model set`, which takes precedence."""
        store = None if self._services is None else self._services.db
        chains = {} if store is None else await store.models.chains(self._server_id)
        chain = chains.get(WHOLE_SERVER)
        return f"{chain[0].provider}/{chain[0].model}" if chain else None

    async def servers(self, _asked: Json) -> list[Json]:
        """Return the servers on this machine that answer."""
        return [asdict(found) for found in await found_servers(tuple(self._sources.values()))]

    async def models(self, said: Json) -> list[str]:
        """List the models of a server, given by `use` and, if needed, `base_url` and `key`."""
        source = self._source(said)
        base_url = _address(said, source)
        return await listed_models(source, base_url, self._key(said, base_url))

    async def test(self, said: Json) -> Json:
        """Ask the model one short question, before it is used. `cancel` ends such a test."""
        if self._testing is not None:
            self._testing.cancel()
        if said.get("cancel"):
            return {}
        source = self._source(said)
        base_url = _address(said, source)
        key = self._needed_key(said, source, base_url)
        self._testing = testing = asyncio.create_task(
            _tested(source.provider, _model(said), base_url, key)
        )
        try:
            return {**asdict(await testing), "base_url": base_url}
        except asyncio.CancelledError:
            if not testing.cancelled():
                raise
            raise StageError("the test was ended") from None
        finally:
            if self._testing is testing:
                self._testing = None

    # -- what it changes ------------------------------------------------------------------------

    async def act(self, said: Json) -> Json:
        if "speed" in said:
            self._demo_model.speed = _speed(said["speed"])
        if "use" in said:
            await self._choose(said)
        return await self.read({})

    async def _choose(self, said: Json) -> None:
        kind = said["use"]
        if kind == "demo" or (kind == "configured" and not self._configured):
            self._use("demo", (self._demo_model_link(),))
        elif kind == "configured":
            self._use("configured", self._configured)
        else:
            self._use(str(kind), (await self._connected(said),))

    async def _connected(self, said: Json) -> OperatorModel:
        source = self._source(said)
        base_url, model = _address(said, source), _model(said)
        key = self._needed_key(said, source, base_url)
        adapter = await tried_connection(source.provider, model, base_url, key)
        await adapter.aclose()
        if key != NO_KEY:
            self._keys[base_url] = key
        return _link(source.provider, model, base_url, key)

    def _use(self, kind: str, links: tuple[OperatorModel, ...]) -> None:
        """Use another model. It does not see the earlier messages, which another model wrote."""
        changes = links[0] != self._link
        self._kind, self._link = kind, links[0]
        if self._services is not None:
            operator = self._services.models.operator
            operator.models = links
            if changes:
                operator.context_since = self._services.clock()

    def _source(self, said: Json) -> ModelSource:
        source = self._sources.get(str(said.get("use")))
        if source is None:
            known = ", ".join(("demo", "configured", *self._sources))
            raise StageError(f"`use` is one of {known}")
        return source

    def _key(self, said: Json, base_url: str) -> str | None:
        """Return the given key, or else the last one that was given for this address."""
        return str(said.get("key") or "").strip() or self._keys.get(base_url)

    def _needed_key(self, said: Json, source: ModelSource, base_url: str) -> str:
        key = self._key(said, base_url)
        if key is None and source.needs_key and base_url == source.base_url:
            raise RefusedFieldError("key", f"{source.title} wants a key: paste it here")
        return key or NO_KEY

    def _demo_model_link(self) -> OperatorModel:
        return _link("openai", MODEL, self._demo_model.url, "demo")


def _link(provider: str, model: str, base_url: str, key: str) -> OperatorModel:
    return OperatorModel(ModelRecord(0, provider, model, base_url), (key,))


def _address(said: Json, source: ModelSource) -> str:
    given = said.get("base_url")
    return completed_address(source, given if isinstance(given, str) else "")


async def _tested(provider: str, model: str, base_url: str, key: str) -> TriedModel:
    adapter = await tried_connection(provider, model, base_url, key)
    try:
        return await called_model(adapter)
    finally:
        await adapter.aclose()


def _model(said: Json) -> str:
    value = said.get("model")
    if not isinstance(value, str) or not value.strip():
        raise RefusedFieldError("model", "the name of a model is needed")
    return value.strip()


def _speed(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise StageError("`speed` must be a number")
    if not SLOWEST <= value <= FASTEST:
        raise StageError(f"`speed` must be from {SLOWEST:g} to {FASTEST:g}")
    return float(value)
