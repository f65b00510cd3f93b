"""Tells what of a channel's history a member could have read by themselves. Pure.

Who has no permission to read the history of a channel sees what is written while they are there:
their own messages and what we answered to them.
"""

from __future__ import annotations

from collections.abc import Iterable

from oshaberi.conversation.conversation_messages import ChannelMessage, Person
from oshaberi.storage.stored_records import Exchange


def visible_history(
    history: Iterable[ChannelMessage], asker: Person, user_id: int
) -> tuple[ChannelMessage, ...]:
    """Their own messages, and ours as long as nobody else has spoken in between."""
    if asker.can_read_history:
        return tuple(history)
    seen: list[ChannelMessage] = []
    theirs = False
    for said in history:
        theirs = theirs if said.by_us else said.author.id == user_id
        if theirs:
            seen.append(said)
    return tuple(seen)


def visible_exchanges(
    exchanges: Iterable[Exchange], asker: Person, user_id: int
) -> tuple[Exchange, ...]:
    """Of the short-term memory of a channel, what they asked themselves."""
    return tuple(one for one in exchanges if asker.can_read_history or one.user_id == user_id)
