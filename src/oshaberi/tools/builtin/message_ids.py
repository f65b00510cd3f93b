"""Reads message ids as models write them: as text, because JSON numbers have only 53 bits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from oshaberi.tools.tool_context import ToolContext
from oshaberi.tools.tool_definition import ToolFailedError

if TYPE_CHECKING:
    from oshaberi.conversation.conversation_messages import ChannelMessage

_ID = re.compile(r"(?:https://\S+/)?(\d{1,20})")


def message_id_of(context: ToolContext, written: str | None) -> int:
    """Return the id in a number or a message link; without either, that of the answered message."""
    if written is None:
        return context.incoming.said.id
    found = _ID.fullmatch(written.strip())
    if found is None:
        raise ToolFailedError(f"{written[:40]!r} is no message id; recent_messages shows them")
    return int(found[1])


def must_read_history(context: ToolContext) -> None:
    """Raise unless the asking person may read the channel's history."""
    if not context.incoming.said.author.can_read_history:
        raise ToolFailedError("whoever asked may not read the history of this channel")


async def message_of(context: ToolContext, message_id: int) -> ChannelMessage:
    """Return another message of this channel. Raise if the asking person may not read it."""
    must_read_history(context)
    said = await context.turn_channel.said(message_id)
    if said is None:
        raise ToolFailedError(f"there is no message {message_id} in this channel")
    return said
