"""The tools `recent_messages`, `reply_to_message`, `react` and `stay_silent`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from oshaberi.bot.tools.builtin.people import names_for
from oshaberi.bot.tools.decorator import tool
from oshaberi.bot.tools.definition import ToolContext, ToolFailedError
from oshaberi.chunks import Chunk
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.response import ResponseState
from oshaberi.terminal_output import counted
from oshaberi.text.atoms import CUSTOM_EMOJI
from oshaberi.text.normalize.standard_emoji import is_standard_emoji, standard_emoji

if TYPE_CHECKING:
    from oshaberi.bot.conversation.messages import ChannelInfo, ChannelMessage, IncomingMessage
    from oshaberi.stream.result import StreamResult


# Models write message ids as text, because JSON numbers have only 53 bits.


_ID = re.compile(r"(?:https://\S+/)?(\d{1,20})")


def message_id_of(context: ToolContext, written: str | None) -> int:
    """Return the id from a number or a message link; without either, the answered message's."""
    if written is None:
        return context.incoming.said.id
    found = _ID.fullmatch(written.strip())
    if found is None:
        raise ToolFailedError(f"{written[:40]!r} is not a message id; recent_messages shows them")
    return int(found[1])


def must_read_history(context: ToolContext) -> None:
    """Raise unless the asking person may read the channel's history."""
    if not context.incoming.said.author.can_read_history:
        raise ToolFailedError("whoever asked may not read the history of this channel")


async def message_of(context: ToolContext, message_id: int) -> ChannelMessage:
    """Return another message of this channel. Raise if the asking person may not read it."""
    must_read_history(context)
    message = await context.turn_channel.said(message_id)
    if message is None or await _is_before_start(context, message_id):
        raise ToolFailedError(f"there is no message {message_id} in this channel")
    return message


async def _is_before_start(context: ToolContext, message_id: int) -> bool:
    """Return whether the conversation was restarted after a message."""
    if context.store is None:
        return False
    start = await context.store.talks.start_of(context.turn_channel.channel_id)
    return message_id <= start.after_id


MOST = 50


@tool
async def recent_messages(context: ToolContext, count: int = 20, before: str | None = None) -> str:
    """Read the newest messages of this channel, with their ids.

    Args:
        count: How many, at most 50.
        before: The id of a message: only older ones are shown.
    """
    older_than = None if before is None else message_id_of(context, before)
    must_read_history(context)
    channel_info = await context.turn_channel.channel_info(older_than, min(max(count, 1), MOST))
    return _transcript(context, channel_info) or "There are no messages."


def _transcript(context: ToolContext, channel_info: ChannelInfo) -> str:
    """Return the transcript, with names that nobody can use to pose as somebody else."""
    from oshaberi.bot.conversation.transcript import indented, is_beside_the_answer

    others = (one.author for one in channel_info.history if not one.by_us)
    names = names_for(context, channel_info, others)
    lines = (
        _line(one, one.shown_as or one.author.name)
        if one.by_us
        else _line(names.in_text(one), names.of(one.author))
        for one in channel_info.history
        if not (one.by_us and is_beside_the_answer(one.text))
    )
    return "\n".join(map(indented, lines))


def _line(message: ChannelMessage, name: str) -> str:
    answers = f" (answers {message.reply_to})" if message.reply_to else ""
    files = "".join(f" [file: {one.name}]" for one in message.files if not one.is_sticker)
    embeds = "".join(f" [embed: {one}]" for one in message.embeds)
    when = message.at.strftime("%Y-%m-%d %H:%M")
    return f"[{message.id}] {when} {name}{answers}: {message.text}{files}{embeds}"


# A reply of the model goes through the same steps as an answer.


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
        response = context.response.branch()
        try:
            result = await _post(context, answering, text, response)
        finally:
            context.response.join(response)
    count = len(response.messages)
    if result.status != "completed" or not count:
        why = result.stop_reason or result.status.replace("_", " ")
        raise ToolFailedError(f"{counted(count, 'message')} sent, then no more: {why}")
    return f"Sent, as {counted(count, 'message')}."


async def _answering(context: ToolContext, message_id: str | None) -> IncomingMessage:
    target = message_id_of(context, message_id)
    if target == context.incoming.said.id:
        return context.incoming
    message = await message_of(context, target)
    return replace(context.incoming, said=message, mentions_us=False, replied=None)


async def _post(
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
    """Return the settings for a reply: no notices in the channel, no prefill, no thoughts."""
    text = replace(config.text, output_prefill=None, starts_in_thought=False)
    return replace(config, text=text, delivery="messages", suppress_user_errors=True)


@tool
async def react(context: ToolContext, emoji: str, message_id: str | None = None) -> str:
    """Put an emoji under a message of this channel, as a reaction.

    Args:
        emoji: One emoji, or the name of one of the server's own, such as :wave:.
        message_id: The message; without it, the one you are answering.
    """
    target = message_id_of(context, message_id)
    if not context.incoming.said.author.can_add_reactions:
        raise ToolFailedError("whoever asked may not add reactions in this channel")
    if target != context.incoming.said.id:
        await message_of(context, target)
    channel_info = await context.turn_channel.channel_info(None, 0)
    if not await context.turn_channel.react(
        target, _emoji_to_send(emoji.strip(), channel_info.emojis)
    ):
        raise ToolFailedError("Discord does not let us react to that message")
    return "Done."


def _emoji_to_send(written: str, custom: Sequence[str]) -> str:
    tag = CUSTOM_EMOJI.fullmatch(written)
    name = tag[1] if tag else written.strip(":")
    for one in custom:
        known = CUSTOM_EMOJI.fullmatch(one.strip())
        if known is not None and known[1].lower() == name.lower():
            return known[0]
    if is_standard_emoji(written):
        return written
    standard = None if tag else standard_emoji(name)
    if standard is None:
        raise ToolFailedError(f"{written[:40]!r} is not an emoji that can be used here")
    return standard


@tool
async def stay_silent(context: ToolContext) -> str:
    """Say nothing: the message needs no answer from you. You may react to it instead."""
    context.response.choose_silence()
    return "Nothing is said."
