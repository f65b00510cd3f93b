"""The tool `reply_to_message`: replies to a message, through the same steps as an answer."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from oshaberi.chunks import Chunk
from oshaberi.delivery.response_state import ResponseState
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.terminal_output import counted
from oshaberi.tools.builtin.message_ids import message_id_of, message_of
from oshaberi.tools.tool_context import ToolContext
from oshaberi.tools.tool_decorator import tool
from oshaberi.tools.tool_definition import ToolFailedError

if TYPE_CHECKING:
    from oshaberi.conversation.conversation_messages import IncomingMessage
    from oshaberi.stream.stream_result import StreamResult

_CHANNEL = _USER = "tool"


@tool
async def reply_to_message(context: ToolContext, text: str, message_id: str | None = None) -> str:
    """Post a reply to a certain message of this channel, besides your own answer.

    Args:
        text: What to write.
        message_id: The message to reply to; without it, the one you are answering.
    """
    answering = await _answering(context, message_id)
    async with context.posting:
        response = _Reply(context.response)
        try:
            result = await _posted(context, answering, text, response)
        finally:
            response.join()
    count = len(response.messages)
    if result.status != "completed" or not count:
        why = result.stop_reason or result.status.replace("_", " ")
        raise ToolFailedError(f"{counted(count, 'message')} sent, then no more: {why}")
    return f"Sent, as {counted(count, 'message')}."


async def _answering(context: ToolContext, message_id: str | None) -> IncomingMessage:
    target = message_id_of(context, message_id)
    if target == context.incoming.said.id:
        return context.incoming
    said = await message_of(context, target)
    return replace(context.incoming, said=said, mentions_us=False, replied=None)


async def _posted(
    context: ToolContext, answering: IncomingMessage, text: str, response: ResponseState
) -> StreamResult:
    """Send the reply. After a stop, a running request is awaited and nothing else is sent."""
    from oshaberi.stream import ScriptedProvider, StopRegistry, StreamContext, stream_to_sink

    stops = StopRegistry()
    stream = StreamContext(
        _CHANNEL,
        reply_to=True,
        user=_USER,
        stops=stops,
        response=response,
        plug_ins=context.plug_ins,
    )
    provider = ScriptedProvider([Chunk("text", context.plugged_text(text))])
    sink = context.sink(answering)
    work = asyncio.create_task(stream_to_sink(provider, None, _quiet(context.stream), stream, sink))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        stops.request_follow_up(_CHANNEL, _USER)
        await asyncio.wait({work})
        raise


def _quiet(config: StreamConfig) -> StreamConfig:
    """Return settings for a reply: without notices in the channel, prefill and thoughts."""
    text = replace(config.text, output_prefill=None, starts_in_thought=False)
    return replace(config, text=text, delivery="messages", suppress_user_errors=True)


class _Reply(ResponseState):
    """A reply that counts towards the response's limits and shares its journal."""

    def __init__(self, whole: ResponseState) -> None:
        super().__init__(
            key=whole.key,
            sent=whole.sent,
            last_sent_at=whole.last_sent_at,
            webhook_lost=whole.webhook_lost,
        )
        self._whole = whole

    def next_number(self) -> int:
        return self._whole.next_number()

    def join(self) -> None:
        """Add what was sent to the response's counts."""
        whole = self._whole
        whole.indicator.message_came()
        whole.sent += len(self.messages)
        whole.messages += self.messages
        whole.sprites += self.sprites
        whole.last_sent_at = self.last_sent_at
        whole.webhook_lost = whole.webhook_lost or self.webhook_lost
