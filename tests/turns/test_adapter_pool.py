"""The pool of adapters: made once, shared, bounded, closed."""

from __future__ import annotations

import asyncio
from types import MappingProxyType
from typing import Any

import pytest

from discord_stage.model_servers import ModelServer, OpenAIWire
from discord_stage.model_servers.scripts import RefuseParameters, Say
from oshaberi.bot.turns.services.adapter_pool import AdapterPool
from oshaberi.errors import ConfigError
from oshaberi.providers.capabilities import ModelPlace
from oshaberi.providers.request.model_request import Request, said
from oshaberi.virtual_time import run_virtual


class Maker:
    def __init__(self) -> None:
        self.made: list[str] = []
        self.closed: list[str] = []

    def connect(self, _provider: str, model: str, **_settings: Any) -> Any:
        if model == "bad":
            raise ConfigError("no such model")
        self.made.append(model)
        return _Adapter(self, model)


class _Adapter:
    name = "p"
    reemits = False
    text: Any = MappingProxyType({})

    def __init__(self, maker: Maker, model: str) -> None:
        self.model = model
        self._maker = maker

    async def aclose(self) -> None:
        self._maker.closed.append(self.model)
        if self.model == "sticky":
            raise OSError("will not close")


def test_one_adapter_for_all_who_ask_at_once() -> None:
    async def main() -> None:
        maker = Maker()
        pool = AdapterPool(maker.connect)

        async def use() -> object:
            async with pool.lease("p", "a", None, "k") as adapter:
                return adapter

        found = await asyncio.gather(*(use() for _ in range(5)))
        assert len(set(map(id, found))) == 1
        assert maker.made == ["a"]
        async with pool.lease("p", "a", None, "other"):
            assert maker.made == ["a", "a"]

    run_virtual(main())


def test_what_is_used_is_never_closed() -> None:
    async def main() -> None:
        maker = Maker()
        pool = AdapterPool(maker.connect, limit=1)
        async with pool.lease("p", "a", None, None):
            async with pool.lease("p", "b", None, None):
                assert len(pool) == 2
            assert maker.closed == ["b"]
        assert len(pool) == 1
        async with pool.lease("p", "c", None, None):
            pass
        assert maker.closed == ["b", "a"]

    run_virtual(main())


def test_a_failure_is_told_and_not_kept() -> None:
    async def main() -> None:
        pool = AdapterPool(Maker().connect)
        for _ in range(2):
            with pytest.raises(ConfigError, match="no such model"):
                async with pool.lease("p", "bad", None, None):
                    raise AssertionError
        assert len(pool) == 0

    run_virtual(main())


def test_closing_goes_on_whatever_happens() -> None:
    async def main() -> None:
        maker = Maker()
        pool = AdapterPool(maker.connect)
        for model in ("sticky", "a"):
            await pool.warm("p", model, None, None)
        await pool.aclose()
        assert maker.closed == ["sticky", "a"]
        assert len(pool) == 0

    run_virtual(main())


def test_who_gives_up_takes_it_from_nobody() -> None:
    async def main() -> None:
        maker = Maker()
        pool = AdapterPool(maker.connect)
        first = asyncio.create_task(pool.warm("p", "a", None, None))
        second = asyncio.create_task(pool.warm("p", "a", None, None))
        await asyncio.sleep(0)
        first.cancel()
        await second
        assert first.cancelled()
        assert maker.made == ["a"]

    run_virtual(main())


def test_what_an_endpoint_refused_is_known_under_every_key() -> None:
    async def main() -> None:
        request = Request((said("user", "hi"),), stop_strings=("###",))
        async with ModelServer(OpenAIWire()) as server:
            server.play(RefuseParameters("stop"), Say("ok"))
            server.play(RefuseParameters("stop"), Say("ok"))
            pool = AdapterPool()
            for key in ("first-key", "second-key"):
                async with pool.lease("openai", "m", server.url, key) as adapter:
                    assert [chunk async for chunk in adapter.open(request)]
            assert ["stop" in asked.json for asked in server.requests] == [True, False, False]
            place = ModelPlace("openai", server.url, "m")
            assert pool.learned.told(place) == ("it takes no stop strings",)
            await pool.aclose()

    asyncio.run(main())
