"""Collects what a context is built from: history, memories, files. What fails is left out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from oshaberi.conversation.conversation_messages import AttachedFile, ChannelInfo, ChannelMessage
from oshaberi.conversation.history_visibility import visible_exchanges, visible_history
from oshaberi.conversation.turn_channel import TurnChannel
from oshaberi.conversation.turn_config import TurnConfig
from oshaberi.storage.stored_records import Exchange, Fact
from oshaberi.turns.context.context_building import TurnSurroundings
from oshaberi.turns.turn_request import TurnRequest
from oshaberi.turns.turn_services import TurnServices

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
    services: TurnServices, turn_channel: TurnChannel, turn_request: TurnRequest, config: TurnConfig
) -> TurnSurroundings:
    limit = (
        0 if turn_request.kind == "deliver" else config.history_messages + len(turn_request.asked)
    )
    channel_info, facts, exchanges = await asyncio.gather(
        turn_channel.channel_info(turn_request.before, limit),
        _or("facts", _facts(services, turn_request), ()),
        _or("memory", _exchanges(services, turn_request, config), ()),
    )
    asker = turn_request.newest.said.author
    channel_info = replace(
        channel_info, history=visible_history(channel_info.history, asker, turn_request.user_id)
    )
    ours = [one.id for one in channel_info.history if one.by_us]
    sprites, tables, texts = await asyncio.gather(
        _or("sprites", _sprites(services, ours), {}),
        _or("tables", _tables(services, ours), {}),
        _texts(services, turn_request, channel_info),
    )
    return TurnSurroundings(
        asked=turn_request.asked,
        persona=turn_request.persona,
        personas=turn_request.personas,
        channel_info=channel_info,
        now=services.clock(),
        facts=facts,
        exchanges=visible_exchanges(exchanges, asker, turn_request.user_id),
        sprites=sprites,
        tables=tables,
        texts=texts,
        go_on=turn_request.kind == "go_on",
        told=turn_request.told,
    )


async def _or(what: str, work: Awaitable[T], instead: T) -> T:
    """A model that remembers less is better than none."""
    try:
        return await work
    except Exception:
        log.exception("%s could not be read; the turn goes on without", what)
        return instead


async def _facts(services: TurnServices, turn_request: TurnRequest) -> tuple[Fact, ...]:
    if services.store is None:
        return ()
    server = turn_request.newest.server_id
    common = await services.store.facts.of(server, None) if server else ()
    return (*common, *await services.store.facts.of(server, turn_request.user_id))


async def _exchanges(
    services: TurnServices, turn_request: TurnRequest, config: TurnConfig
) -> tuple[Exchange, ...]:
    if services.store is None or not config.short_memory_size:
        return ()
    channel = turn_request.newest.channel_id
    return await services.store.memory.recent(channel, config.short_memory_size)


async def _sprites(services: TurnServices, ids: list[int]) -> Mapping[int, tuple[str, str]]:
    if services.store is None or not ids:
        return {}
    return await services.store.sprite_messages.labels(ids)


async def _tables(services: TurnServices, ids: list[int]) -> Mapping[int, str]:
    if services.store is None or not ids:
        return {}
    return await services.store.tables.sources(ids)


async def _texts(
    services: TurnServices, turn_request: TurnRequest, channel_info: ChannelInfo
) -> Mapping[str, str]:
    """Of what was asked about first, then of what was said last."""
    if services.read_text is None or turn_request.kind == "deliver":
        return {}
    wanted = dict.fromkeys(_readable(turn_request, channel_info))
    files = list(wanted)[:MOST_FILES]
    found = await asyncio.gather(*(_or(f.name, services.read_text(f), None) for f in files))
    return {file.url: text for file, text in zip(files, found, strict=True) if text}


def _readable(turn_request: TurnRequest, channel_info: ChannelInfo) -> Iterator[AttachedFile]:
    asked: list[ChannelMessage] = []
    for incoming in turn_request.asked:
        asked += [incoming.said, *([incoming.replied] if incoming.replied else [])]
    for one in [*asked, *reversed(channel_info.history)]:
        if not one.by_us:
            yield from (file for file in one.files if _is_text(file))


def _is_text(file: AttachedFile) -> bool:
    fits = 0 < file.size <= MOST_BYTES
    return fits and (file.mime.startswith("text/") or file.mime in _TEXTS)
