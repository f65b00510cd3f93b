"""Asks the demo model through the real adapter, over a real socket."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeVar

from oshaberi.bot.conversation.messages import ChannelInfo
from oshaberi.bot.conversation.transcript import line
from oshaberi.bot.local_run.demo_model import MODEL, DemoModel
from oshaberi.bot.storage.records import PersonaRecord, SpriteRecord
from oshaberi.bot.turns.context.building import rules
from oshaberi.chunks import Chunk
from oshaberi.providers import connect
from oshaberi.providers.base import Adapter
from oshaberi.providers.request.model_request import Item, Request, ToolDeclaration, said

T = TypeVar("T")
SYSTEM = rules(
    PersonaRecord(
        1,
        "Mochi",
        sprites=(
            SpriteRecord("happy", "https://x.test/h"),
            SpriteRecord("sleepy", "https://x.test/s"),
        ),
    ),
    ChannelInfo(),
)
FOREVER = 400
"""An answer with more chunks than this has no end."""


def ask(words: str, *more: Item, system: str = SYSTEM, **settings: Any) -> Request:
    items = (said("system", system), said("user", line("Ren", words), "current"), *more)
    return Request(items, **settings)


def with_model(scenario: Callable[[DemoModel, Adapter], Awaitable[T]]) -> T:
    async def main() -> T:
        async with DemoModel(speed=math.inf) as model:
            adapter = connect("openai", MODEL, base_url=model.url, api_key="none")
            try:
                return await scenario(model, adapter)
            finally:
                await adapter.aclose()
                await asyncio.wait_for(model.idle(), 30)

    return asyncio.run(main())


async def chunks(adapter: Adapter, request: Request, most: int = FOREVER) -> list[Chunk]:
    """What the adapter makes of the answer; it hangs up after so many chunks."""
    found: list[Chunk] = []
    stream: Any = adapter.open(request)
    async with aclosing(stream):
        async for raw in stream:
            if raw.chunk is not None:
                found.append(raw.chunk)
            if len(found) >= most:
                break
    return found


def answer(words: str, *more: Item, **settings: Any) -> list[Chunk]:
    async def scenario(_model: DemoModel, adapter: Adapter) -> list[Chunk]:
        return await chunks(adapter, ask(words, *more, **settings), most=10_000)

    return with_model(scenario)


def text(found: list[Chunk]) -> str:
    return "".join(chunk.content for chunk in found)


CLOCK = ToolDeclaration("current_time", "The time now.")
MEMORY = ToolDeclaration(
    "remember",
    "Keeps a fact.",
    {
        "type": "object",
        "properties": {"fact": {"type": "string"}, "for_all": {"type": "boolean"}},
        "required": ["fact"],
    },
)
