"""Collects what the context is built from: history, memories, files. Leaves out failed parts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from oshaberi.bot.conversation.messages import (
    AttachedFile,
    ChannelInfo,
    ChannelMessage,
    TurnChannel,
    said_since,
    visible_exchanges,
    visible_history,
)
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.storage.errors import StorageAwayError
from oshaberi.bot.storage.records import (
    ConversationSummary,
    StoredSurroundings,
    SurroundingsQuery,
)
from oshaberi.bot.turns.admission.channel_queue import TurnRequest
from oshaberi.bot.turns.context.surroundings import TurnSurroundings
from oshaberi.bot.turns.services.turn_services import TurnServices

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
    channel_info = await turn_channel.channel_info(turn_request.before, limit)
    asker = turn_request.newest.said.author
    channel_info = replace(
        channel_info,
        history=said_since(
            visible_history(channel_info.history, asker, turn_request.user_id),
            services.context_since,
        ),
    )
    ours = [one.id for one in channel_info.history if one.by_us]
    stored, texts = await asyncio.gather(
        _or("memory", _stored(services, turn_request, config, ours), StoredSurroundings()),
        _texts(services, turn_request, channel_info),
    )
    return TurnSurroundings(
        asked=turn_request.asked,
        persona=turn_request.persona,
        personas=turn_request.personas,
        channel_info=channel_info,
        now=services.clock(),
        facts=stored.facts,
        exchanges=said_since(
            visible_exchanges(stored.exchanges, asker, turn_request.user_id),
            services.context_since,
        ),
        sprites=stored.sprites,
        tables=stored.tables,
        texts=texts,
        go_on=turn_request.kind == "go_on",
        told=turn_request.told,
        summary=_summary(stored, turn_request, config),
        silence_marker=_silence_marker(turn_request, config),
        is_uninvited=turn_request.is_uninvited,
        answered_ids=turn_request.answered_ids,
        waiting_ids=turn_request.waiting_ids(),
    )


def _silence_marker(turn_request: TurnRequest, config: TurnConfig) -> str:
    """Return the silence marker, or none: somebody who addresses the bot wants an answer."""
    return next(iter(config.silence_markers), "") if turn_request.is_unaddressed else ""


async def _or(what: str, work: Awaitable[T], instead: T) -> T:
    """Return the result, or `instead` if it fails.

    An answer with less memory is better than no answer.
    """
    try:
        return await work
    except StorageAwayError as error:
        log.warning("%s could not be read; the turn goes on without: %s", what, error)
        return instead
    except Exception:
        log.exception("%s could not be read; the turn goes on without", what)
        return instead


async def _stored(
    services: TurnServices, turn_request: TurnRequest, config: TurnConfig, ours: list[int]
) -> StoredSurroundings:
    """Read the stored surroundings. `ours` are the bot's own messages in the history."""
    if services.store is None:
        return StoredSurroundings()
    newest = turn_request.newest
    query = SurroundingsQuery(
        newest.server_id, turn_request.user_id, newest.channel_id, config.short_memory_size, ours
    )
    return await services.store.reading.surroundings(query)


def _summary(
    stored: StoredSurroundings, turn_request: TurnRequest, config: TurnConfig
) -> ConversationSummary | None:
    """Return the summary, if it may be used.

    A summary of messages after the question must not be used: then an old message is being answered
    again.
    """
    found, newest = stored.summary, turn_request.newest.said
    if found is None or not config.summarise_history or not newest.author.can_read_history:
        return None
    return found if found.last_id < newest.id else None


async def _texts(
    services: TurnServices, turn_request: TurnRequest, channel_info: ChannelInfo
) -> Mapping[str, str]:
    """Read attached text files: first those of the question, then the newest of the history."""
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
