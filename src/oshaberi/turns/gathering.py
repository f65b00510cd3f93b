"""Collects what surrounds a turn: the channel, the memories, the files. What fails is left out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterator, Mapping
from typing import TypeVar

from oshaberi.storage.records import Exchange, Fact
from oshaberi.turns.config import TurnConfig
from oshaberi.turns.context import Surroundings
from oshaberi.turns.errand import Errand
from oshaberi.turns.room import Room
from oshaberi.turns.services import Services
from oshaberi.turns.values import Attached, Said, Scenery

log = logging.getLogger(__name__)

T = TypeVar("T")

MOST_FILES = 4
MOST_BYTES = 64 * 1024
_TEXTS = (
    "application/json",
    "application/xml",
    "application/yaml",
    "application/toml",
    "application/javascript",
    "application/x-sh",
)


async def surroundings(
    services: Services, room: Room, errand: Errand, config: TurnConfig
) -> Surroundings:
    limit = 0 if errand.kind == "deliver" else config.history_messages + len(errand.asked)
    scenery, facts, exchanges = await asyncio.gather(
        room.scenery(errand.before, limit),
        _or("facts", _facts(services, errand), ()),
        _or("memory", _exchanges(services, errand, config), ()),
    )
    ours = [one.id for one in scenery.history if one.by_us]
    sprites, tables, texts = await asyncio.gather(
        _or("sprites", _sprites(services, ours), {}),
        _or("tables", _tables(services, ours), {}),
        _texts(services, errand, scenery),
    )
    return Surroundings(
        asked=errand.asked,
        persona=errand.persona,
        personas=errand.personas,
        scenery=scenery,
        now=services.clock(),
        facts=facts,
        exchanges=exchanges,
        sprites=sprites,
        tables=tables,
        texts=texts,
        go_on=errand.kind == "go_on",
        told=errand.told,
    )


async def _or(what: str, work: Awaitable[T], instead: T) -> T:
    """A model that remembers less is better than none."""
    try:
        return await work
    except Exception:
        log.exception("%s could not be read; the turn goes on without", what)
        return instead


async def _facts(services: Services, errand: Errand) -> tuple[Fact, ...]:
    if services.store is None:
        return ()
    server = errand.newest.server_id
    common = await services.store.facts.of(server, None) if server else ()
    return (*common, *await services.store.facts.of(server, errand.user_id))


async def _exchanges(
    services: Services, errand: Errand, config: TurnConfig
) -> tuple[Exchange, ...]:
    if services.store is None or not config.short_memory_size:
        return ()
    channel = errand.newest.channel_id
    return await services.store.memory.recent(channel, config.short_memory_size)


async def _sprites(services: Services, ids: list[int]) -> Mapping[int, tuple[str, str]]:
    if services.store is None or not ids:
        return {}
    return await services.store.sprite_messages.labels(ids)


async def _tables(services: Services, ids: list[int]) -> Mapping[int, str]:
    if services.store is None or not ids:
        return {}
    return await services.store.tables.sources(ids)


async def _texts(services: Services, errand: Errand, scenery: Scenery) -> Mapping[str, str]:
    """Of what was asked about first, then of what was said last."""
    if services.read_text is None or errand.kind == "deliver":
        return {}
    wanted = dict.fromkeys(_readable(errand, scenery))
    files = list(wanted)[:MOST_FILES]
    found = await asyncio.gather(*(_or(f.name, services.read_text(f), None) for f in files))
    return {file.url: text for file, text in zip(files, found, strict=True) if text}


def _readable(errand: Errand, scenery: Scenery) -> Iterator[Attached]:
    asked: list[Said] = []
    for incoming in errand.asked:
        asked += [incoming.said, *([incoming.replied] if incoming.replied else [])]
    for one in [*asked, *reversed(scenery.history)]:
        if not one.by_us:
            yield from (file for file in one.files if _is_text(file))


def _is_text(file: Attached) -> bool:
    fits = 0 < file.size <= MOST_BYTES
    return fits and (file.mime.startswith("text/") or file.mime in _TEXTS)
