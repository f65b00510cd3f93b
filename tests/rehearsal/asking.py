"""Asks the rehearsal model through the real adapter, over a real socket."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeVar

from oshaberi.chunks import Chunk
from oshaberi.providers import connect
from oshaberi.providers.base import Adapter
from oshaberi.providers.context import Item, ToolDeclaration, said
from oshaberi.providers.request import Request
from oshaberi.stage.rehearsal import MODEL, RehearsalModel
from oshaberi.storage.records import PersonaRecord, SpriteRecord
from oshaberi.turns.rules import rules
from oshaberi.turns.transcript import line
from oshaberi.turns.values import Scenery

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
    Scenery(),
)
FOREVER = 400
"""An answer with more chunks than this has no end."""


def ask(words: str, *more: Item, system: str = SYSTEM, **settings: Any) -> Request:
    items = (said("system", system), said("user", line("Ren", words), "current"), *more)
    return Request(items, **settings)


def with_model(play: Callable[[RehearsalModel, Adapter], Awaitable[T]]) -> T:
    async def main() -> T:
        async with RehearsalModel(speed=math.inf) as model:
            adapter = connect("openai", MODEL, base_url=model.url, api_key="none")
            try:
                return await play(model, adapter)
            finally:
                await adapter.aclose()
                await asyncio.wait_for(model.idle(), 5)

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
    async def play(_model: RehearsalModel, adapter: Adapter) -> list[Chunk]:
        return await chunks(adapter, ask(words, *more, **settings), most=10_000)

    return with_model(play)


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
