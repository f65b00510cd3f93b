"""Plays scripts to adapters: the real SDK, over a real socket, and everything closed at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

from discord_stage.model_servers import ModelServer
from discord_stage.model_servers.scripts import Step
from oshaberi.chunks import Chunk, ProviderError
from oshaberi.providers.base import Adapter
from oshaberi.providers.request.model_request import Request, said
from tests.providers.provider_families import Family

T = TypeVar("T")

_TRIES = 5
ASK = Request((said("system", "Be brief."), said("user", "hi", "current")))


def run(
    family: Family,
    scenario: Callable[[Adapter, ModelServer], Awaitable[T]],
    *scripts: Sequence[Step],
    slice_bytes: int = 0,
    **settings: Any,
) -> T:
    """Runs a scenario. Whatever happens in it, the server must see every connection closed.

    A proxy keeps its connections; there the server must see no answer that is still under way.
    """

    async def main() -> T:
        async with ModelServer(family.wire(), *scripts, slice_bytes=slice_bytes) as server:
            adapter = family.connect(server, **settings)
            try:
                return await scenario(adapter, server)
            finally:
                await adapter.aclose()
                await (server.idle() if family.keeps_connections else server.all_closed())

    return asyncio.run(main())


async def read(adapter: Adapter, request: Request = ASK) -> list[Chunk]:
    """The chunks of one answer."""
    # The protocol says iterator; only a generator can be closed.
    stream: Any = adapter.open(request)
    async with aclosing(stream):
        made = [adapter.normalise(raw) async for raw in stream]
    return [chunk for chunk in made if chunk is not None]


def chunks(
    family: Family,
    *steps: Step,
    request: Request = ASK,
    slice_bytes: int = 0,
    **settings: Any,
) -> list[Chunk]:
    """What an adapter makes of one script, however often it asks."""

    async def scenario(adapter: Adapter, server: ModelServer) -> list[Chunk]:
        found = await read(adapter, request)
        await server.idle()
        return found

    return run(family, scenario, *[steps] * _TRIES, slice_bytes=slice_bytes, **settings)


def text(found: Sequence[Chunk]) -> str:
    return "".join(chunk.content for chunk in found)


def thoughts(found: Sequence[Chunk]) -> str:
    return "".join(part.text for chunk in found for part in chunk.thoughts)


def error(found: Sequence[Chunk]) -> ProviderError:
    """The one error, which is the last chunk."""
    errors = [chunk.error for chunk in found if chunk.error is not None]
    assert len(errors) == 1, found
    assert found[-1].type == "error"
    return errors[0]
