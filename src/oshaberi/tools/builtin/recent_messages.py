"""The tool `recent_messages`: what was written in the channel, newest last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oshaberi.tools.builtin.message_ids import message_id_of, must_read_history
from oshaberi.tools.builtin.people_names import names_for
from oshaberi.tools.tool_context import ToolContext
from oshaberi.tools.tool_decorator import tool

if TYPE_CHECKING:
    from oshaberi.conversation.conversation_messages import ChannelInfo, ChannelMessage

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
    return _told(context, channel_info) or "There are no messages."


def _told(context: ToolContext, channel_info: ChannelInfo) -> str:
    """Return the transcript, with names under which nobody can pose as somebody else."""
    from oshaberi.conversation.transcript_lines import indented

    others = (one.author for one in channel_info.history if not one.by_us)
    names = names_for(context, channel_info, others)
    lines = (
        _line(one, one.shown_as or one.author.name)
        if one.by_us
        else _line(names.in_text(one), names.of(one.author))
        for one in channel_info.history
    )
    return "\n".join(map(indented, lines))


def _line(said: ChannelMessage, name: str) -> str:
    answers = f" (answers {said.reply_to})" if said.reply_to else ""
    files = "".join(f" [file: {one.name}]" for one in said.files)
    embeds = "".join(f" [embed: {one}]" for one in said.embeds)
    when = said.at.strftime("%Y-%m-%d %H:%M")
    return f"[{said.id}] {when} {name}{answers}: {said.text}{files}{embeds}"
