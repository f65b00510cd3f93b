"""Tells which part of a channel's history a member may read. Pure.

Somebody without permission to read a channel's history sees only what is written while they are
there: their own messages and the bot's answers to them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TypeVar

from oshaberi.conversation.conversation_messages import ChannelMessage, Person
from oshaberi.storage.stored_records import Exchange

Said = TypeVar("Said", ChannelMessage, Exchange)


def said_since(said: Iterable[Said], since: datetime | None) -> tuple[Said, ...]:
    """Return the messages since this time; with None, all of them."""
    if since is None:
        return tuple(said)
    return tuple(one for one in said if _is_since(one, since))


def _is_since(one: ChannelMessage | Exchange, since: datetime) -> bool:
    return one.at is not None and one.at >= since


def visible_history(
    history: Iterable[ChannelMessage], asker: Person, user_id: int
) -> tuple[ChannelMessage, ...]:
    """Return what somebody without Read Message History may see.

    These are their own messages, and the bot's until somebody else speaks.
    """
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
    """Return the exchanges in the channel's short-term memory that this person started."""
    return tuple(one for one in exchanges if asker.can_read_history or one.user_id == user_id)
