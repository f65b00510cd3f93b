"""Waits until a job may run.

When its turn is near, the reader sees the typing indicator. If the job waits too long, the reader
gets a notice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext

from oshaberi.conversation.conversation_messages import IncomingMessage
from oshaberi.conversation.turn_channel import TurnChannel
from oshaberi.delivery.pacing.typing_indicator import QUIET_SECONDS, TypingIndicator
from oshaberi.delivery.response_state import ResponseState
from oshaberi.delivery.sink import Embed
from oshaberi.languages import translatable, translated
from oshaberi.stream.stops.stop_registry import ActiveChannel
from oshaberi.turns.admission.channel_queue import QueuedJob
from oshaberi.turns.services.turn_slots import TurnSlots
from oshaberi.turns.status_reactions import StatusReactions
from oshaberi.turns.turn_interruption import until_stopped
from oshaberi.turns.turn_notices import NoticeSender

OVERLOADED = translatable("Too many people talk to me right now")
ASK_LATER = translatable(
    "I did not get to this question in time. Please ask again in a few minutes."
)

DISCORD_AWAY = translatable("I could not reach Discord")
ASK_AGAIN = translatable(
    "Discord did not take my messages for too long. Ask again if you still need an answer."
)


@asynccontextmanager
async def turn_slot(
    slots: TurnSlots, job: QueuedJob, channel: ActiveChannel
) -> AsyncIterator[None]:
    """Hold a slot. Raises NoTurnSlotError if there is none, InterruptedTurnError on a stop."""
    async with AsyncExitStack() as stack:
        place = job.turn_channel
        near = asyncio.Event()
        slot = slots.slot(place.server_id, place.channel_id, near, channel.hurry)
        stack.callback(channel.end_hurry)
        if slots.is_free:
            await stack.enter_async_context(slot)
        else:
            async with nullcontext() if job.is_uninvited else _typing_when(near, place):
                await until_stopped(channel, stack.enter_async_context(slot))
        yield


async def tell_too_late(job: QueuedJob, channel: ActiveChannel) -> None:
    """Tell the user that Discord was away for so long that the question is not answered."""
    if not job.is_uninvited and not job.settings.stream.suppress_user_errors:
        notice = Embed(translated(DISCORD_AWAY), translated(ASK_AGAIN))
        sink = job.turn_channel.sink(_answering(job))
        await NoticeSender(sink, ResponseState(), channel).reply(notice)


async def tell_overload(job: QueuedJob, channel: ActiveChannel, reactions: StatusReactions) -> None:
    """Tell the user that the bot is overloaded; with a reaction where notices are switched off."""
    answering = _answering(job)
    if job.is_uninvited:
        return
    if not job.settings.stream.suppress_user_errors:
        sink = job.turn_channel.sink(answering)
        notice = Embed(translated(OVERLOADED), translated(ASK_LATER))
        await NoticeSender(sink, ResponseState(), channel).reply(notice)
    elif answering is not None:
        reactions.full(job.turn_channel, answering.said.id)


def _answering(job: QueuedJob) -> IncomingMessage | None:
    newest = job.asked[-1]
    return newest if job.kind == "answer" and not newest.said.by_us else None


@asynccontextmanager
async def _typing_when(near: asyncio.Event, turn_channel: TurnChannel) -> AsyncIterator[None]:
    task = asyncio.create_task(_type_when(near, turn_channel))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _type_when(near: asyncio.Event, turn_channel: TurnChannel) -> None:
    """Show the typing indicator once the turn is near, until cancelled.

    A turn that begins at once shows its own indicator.
    """
    await near.wait()
    indicator = TypingIndicator()
    indicator.keep_alive(turn_channel.sink(None), after_seconds=QUIET_SECONDS)
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        await indicator.close()
