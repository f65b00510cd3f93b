"""What was written in the channel, newest last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oshaberi.tools.builtin.message_ids import message_id_of
from oshaberi.tools.tool_decorator import tool
from oshaberi.tools.tool_definition import ToolContext

if TYPE_CHECKING:
    from oshaberi.conversation.conversation_messages import ChannelMessage

MOST = 50


@tool
async def recent_messages(context: ToolContext, count: int = 20, before: str | None = None) -> str:
    """Read the newest messages of this channel, with their ids.

    Args:
        count: How many, at most 50.
        before: The id of a message: only older ones are shown.
    """
    older_than = None if before is None else message_id_of(context, before)
    channel_info = await context.turn_channel.channel_info(older_than, min(max(count, 1), MOST))
    lines = [_line(one) for one in channel_info.history]
    return "\n".join(lines) or "There are no messages."


def _line(said: ChannelMessage) -> str:
    answers = f" (answers {said.reply_to})" if said.reply_to else ""
    files = "".join(f" [file: {one.name}]" for one in said.files)
    embeds = "".join(f" [embed: {one}]" for one in said.embeds)
    name = said.shown_as or said.author.name
    when = said.at.strftime("%Y-%m-%d %H:%M")
    return f"[{said.id}] {when} {name}{answers}: {said.text}{files}{embeds}"
