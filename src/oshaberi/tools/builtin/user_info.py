"""The tool `user_info`: who somebody in the conversation is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from oshaberi.tools.tool_decorator import tool
from oshaberi.tools.tool_definition import ToolContext, ToolFailedError

if TYPE_CHECKING:
    from oshaberi.conversation.conversation_messages import Person

_MENTION = re.compile(r"<@!?(\d+)>")


@tool
async def user_info(context: ToolContext, user: str | None = None) -> dict[str, object]:
    """Tell the names, the id and the picture of somebody in this conversation.

    Args:
        user: A name, an id or a mention; without it, the person you are answering.
    """
    asking = context.incoming.said.author
    if user is None:
        return _described(asking)
    channel_info = await context.turn_channel.channel_info(None, context.turn.history_messages)
    return _described(_found(user, [asking, *channel_info.people]))


def _found(wanted: str, people: Iterable[Person]) -> Person:
    mention = _MENTION.fullmatch(wanted.strip())
    plain = (mention[1] if mention else wanted.strip().removeprefix("@")).casefold()
    known = list({one.id: one for one in people}.values())
    for one in known:
        if plain in (str(one.id), *(name.casefold() for name in (one.name, *one.handles))):
            return one
    names = ", ".join(one.name for one in known)
    raise ToolFailedError(f"nobody here is called {wanted[:40]!r}; there are: {names}")


def _described(person: Person) -> dict[str, object]:
    return {
        "id": str(person.id),
        "name": person.name,
        "other_names": list(person.handles),
        "mention": f"<@{person.id}>",
        "avatar_url": person.avatar_url,
        "is_bot": person.is_bot,
        "manages_server": person.can_manage_server,
    }
