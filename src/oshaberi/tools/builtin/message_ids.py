"""Message ids as models write them: as text, because their numbers have only 53 bits."""

from __future__ import annotations

import re

from oshaberi.tools.tool_definition import ToolContext, ToolFailedError

_ID = re.compile(r"(?:https://\S+/)?(\d{1,20})")


def message_id_of(context: ToolContext, written: str | None) -> int:
    """A number, the link of a message, or nothing: the message that is answered."""
    if written is None:
        return context.incoming.said.id
    found = _ID.fullmatch(written.strip())
    if found is None:
        raise ToolFailedError(f"{written[:40]!r} is no message id; recent_messages shows them")
    return int(found[1])
