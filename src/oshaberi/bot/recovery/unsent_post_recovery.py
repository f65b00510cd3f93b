"""Finds a post of an earlier process in its channel, or sends it now."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from oshaberi.clocks import loop_time_s
from oshaberi.delivery.exactly_once import RETRY_SECONDS, ExactlyOnceSender
from oshaberi.delivery.outcomes import Delivered, Failed, NoWebhook
from oshaberi.delivery.posting import bold_name, introduced
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import (
    AmbiguousError,
    ArrivalUnknownError,
    DiscordRefusalError,
    Post,
    Sent,
    WebhookFace,
)
from oshaberi.delivery.waits import InterruptibleWaits
from oshaberi.discord_io import DiscordSink
from oshaberi.text.measure import utf16_len

log = logging.getLogger(__name__)

LONGEST_MESSAGE = 2000


async def notify_once(notice: Post, sink: DiscordSink, newest_id: int) -> Sent | None:
    """Send a notice, unless the channel already has it after the message with this id."""
    sink.recall(notice.nonce, newest_id)
    # If the check fails, a second notice is better than none.
    return await find_or_send(notice, sink, ResponseState(key=notice.nonce), in_any_case=True)


async def _search(post: Post, sink: DiscordSink) -> Sequence[Sent]:
    for pause_s in RETRY_SECONDS:
        try:
            return await _look_for(post, sink)
        except (AmbiguousError, OSError) as error:
            log.info("looking again for a message of an earlier process: %s", error)
            await asyncio.sleep(pause_s)
    return await _look_for(post, sink)


async def _look_for(post: Post, sink: DiscordSink) -> Sequence[Sent]:
    if post.face is not None:
        await sink.open_webhook()
    return await sink.find_arrivals(post, loop_time_s())


def _as_bot(post: Post, face: WebhookFace) -> Post:
    """Return the post without its webhook, with the name in front if it fits."""
    named = introduced(face, post.content) if post.content else bold_name(face)
    content = named if utf16_len(named) <= LONGEST_MESSAGE else post.content
    return replace(post, face=None, content=content)


async def find_or_send(
    post: Post, sink: DiscordSink, response: ResponseState, *, in_any_case: bool = False
) -> Sent | None:
    """Find the message, or send it now. Return None if the check failed or it was not sent."""
    found: Sequence[Sent] = ()
    try:
        found = await _search(post, sink)
    except (ArrivalUnknownError, DiscordRefusalError) as error:
        log.warning("cannot look for a message of an earlier process: %s", error)
        if not in_any_case:
            return None
    if found:
        return found[0]
    sender = ExactlyOnceSender(sink, InterruptibleWaits(), response)
    outcome = await sender.deliver(post)
    if isinstance(outcome, NoWebhook) and post.face is not None:
        outcome = await sender.deliver(_as_bot(post, post.face))
    if isinstance(outcome, Failed):
        raise AmbiguousError(str(outcome.error))
    return outcome.sent if isinstance(outcome, Delivered) else None
