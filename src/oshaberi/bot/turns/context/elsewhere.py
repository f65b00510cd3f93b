"""What a turn reads elsewhere: what links lead to, and the beginning of the thread.

Links are followed with the rights that the asking member has at that moment. The target of their
own link only they have to be allowed to read; the target of somebody else's, everybody in the
channel.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from oshaberi.bot.conversation.messages import (
    ChannelInfo,
    ChannelMessage,
    FoundMessage,
    said_since,
)
from oshaberi.bot.conversation.server_reading import (
    DiscordLink,
    ServerEvent,
    distinct_links,
    links_in,
)
from oshaberi.bot.turns.admission.channel_queue import QueuedJob

log = logging.getLogger(__name__)

MOST_LINKS = 4
LINKING_MESSAGES = 10
"""How many messages before the question are searched for links."""
LINKS_S = 10.0


@dataclass(frozen=True, slots=True)
class Elsewhere:
    linked: tuple[FoundMessage | ServerEvent, ...] = ()
    """The targets of the links in the question and in the messages just before it."""
    starter: ChannelMessage | None = None
    """The message with which this thread began, if the history does not reach back to it."""


async def read_elsewhere(
    job: QueuedJob, channel_info: ChannelInfo, since: datetime | None
) -> Elsewhere:
    """Return what the asking member may read of it, and nothing from before `since`."""
    if job.kind == "deliver" or job.turn_channel.server_id == 0:
        return Elsewhere()
    linked, starter = await asyncio.gather(
        _linked(job, channel_info), _starter(job, channel_info, since)
    )
    return Elsewhere(linked, starter)


async def _linked(
    job: QueuedJob, channel_info: ChannelInfo
) -> tuple[FoundMessage | ServerEvent, ...]:
    """Return the targets of links that the asking person may read."""
    known = {one.id for one in (*channel_info.history, *(one.said for one in job.asked))}
    links = distinct_links(
        (link for link in _links(job, channel_info) if link.target_id not in known), MOST_LINKS
    )
    if not links:
        return ()
    try:
        async with asyncio.timeout(LINKS_S):
            view = await job.turn_channel.server_view(job.user_id)
            return () if view is None else await view.follow(links)
    except TimeoutError:
        log.warning("links in channel %s were not followed in time", job.turn_channel.channel_id)
        return ()


def _links(job: QueuedJob, channel_info: ChannelInfo) -> Iterator[DiscordLink]:
    """Yield the links of the question, then those of the newest messages before it."""
    for incoming in job.asked:
        is_own = not incoming.said.by_us and incoming.said.author.id == job.user_id
        yield from links_in(incoming.said.own_words, is_own=is_own)
    for incoming in job.asked:
        if incoming.replied is not None:
            yield from links_in(incoming.replied.text)
    for said in reversed(channel_info.history[-LINKING_MESSAGES:]):
        if not said.by_us:
            yield from links_in(said.text)


async def _starter(
    job: QueuedJob, channel_info: ChannelInfo, since: datetime | None
) -> ChannelMessage | None:
    """Return the message with which a thread began, unless the history holds it.

    A thread on a message has its id, and so has the first message of a forum post.
    """
    channel, question = job.turn_channel, job.newest.said
    is_wanted = channel_info.parent_name and not channel_info.after_id
    shown = (*channel_info.history, *(one.said for one in job.asked))
    if not is_wanted or any(one.id == channel.channel_id for one in shown):
        return None
    found = await channel.said(channel.channel_id)
    if found is None or not said_since((found,), since):
        return None
    is_theirs = found.author.id == job.user_id and not found.by_us
    return found if question.author.can_read_history or is_theirs else None
