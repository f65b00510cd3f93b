"""The tool `user_info`: who somebody in the conversation is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from oshaberi.tools.builtin.people_names import names_for
from oshaberi.tools.tool_context import ToolContext
from oshaberi.tools.tool_decorator import tool
from oshaberi.tools.tool_definition import ToolFailedError

if TYPE_CHECKING:
    from oshaberi.conversation.conversation_messages import Person
    from oshaberi.conversation.transcript_lines import TranscriptNames

_MENTION = re.compile(r"<@!?(\d+)>")


@tool
async def user_info(context: ToolContext, user: str | None = None) -> dict[str, object]:
    """Tell the names, the id and the picture of somebody in this conversation.

    Args:
        user: A name, an id or a mention; without it, the person you are answering.
    """
    asking = context.incoming.said.author
    channel_info = await context.turn_channel.channel_info(None, context.turn.history_messages)
    names = names_for(context, channel_info, [asking])
    found = asking if user is None else _found(user, [asking, *channel_info.people], names)
    return _described(found, names.of(found))


def _found(wanted: str, people: Iterable[Person], names: TranscriptNames) -> Person:
    """Find a person by id or unique name, else by a name that only one person has."""
    mention = _MENTION.fullmatch(wanted.strip())
    plain = (mention[1] if mention else wanted.strip().removeprefix("@")).casefold()
    known = list({one.id: one for one in people}.values())
    for one in known:
        if plain in (str(one.id), names.of(one).casefold()):
            return one
    called = [one for one in known if plain and plain in _all_names(one)]
    if len(called) == 1:
        return called[0]
    labels = ", ".join(map(names.of, called or known))
    if called:
        raise ToolFailedError(f"several people here are called {wanted[:40]!r}: {labels}")
    raise ToolFailedError(f"nobody here is called {wanted[:40]!r}; there are: {labels}")


def _all_names(person: Person) -> list[str]:
    return [name.casefold() for name in (person.name, *person.handles, person.username)]


def _described(person: Person, name: str) -> dict[str, object]:
    from oshaberi.conversation.transcript_lines import plain_name

    return {
        "id": str(person.id),
        "name": name,
        "other_names": [plain_name(one) for one in person.handles],
        "mention": f"<@{person.id}>",
        "avatar_url": person.avatar_url,
        "is_bot": person.is_bot,
        "manages_server": person.can_manage_server,
    }
