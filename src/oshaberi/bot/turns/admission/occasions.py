"""Occasions: what makes the bot speak although nobody has just written.

A due reminder is one, and so is a persona that starts a conversation. Like a message, an occasion
is an open question: it is stored before its turn begins, waits in the queue of its channel, and is
resumed after a restart. Its id is built like a message's, and is the same in every process that
finds it, so it leads to exactly one answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from oshaberi.bot.conversation.messages import (
    ChannelMessage,
    IncomingMessage,
    Person,
    TurnChannel,
)

NOBODY = Person(0, "")


@dataclass(frozen=True, slots=True)
class Occasion:
    """Something that makes the bot speak by itself."""

    id: int
    """Looks like the id of a message sent at that moment (`schedules.schedule_rules.id_of_due`)."""
    why: str
    """The reason as it is stored: a word of `rules.OCCASIONS`, then its details."""
    at: datetime
    person: Person = NOBODY
    """The person it is for: their quota and their rights to read count. NOBODY: for everybody."""
    text: str = ""
    """Posted as it is. If it is empty, a model is asked."""
    instruction: str = ""
    """What the model is told to do, in our own words."""
    request: str = ""
    """What the person had asked for, in their words. The model sees it as their message."""
    persona: str = ""
    """The name of the persona that speaks; empty means the one that answers in the channel."""
    pings: frozenset[int] = frozenset()
    """The users whom the messages may notify if they mention them, and nobody else."""

    def as_incoming(self, turn_channel: TurnChannel) -> IncomingMessage:
        """Return the occasion as the message that a turn answers."""
        path = turn_channel.path
        said = ChannelMessage(self.id, self.person, self.request or self.text, self.at)
        return IncomingMessage(
            said,
            path.channel_id,
            path.server_id,
            path.parent_id,
            category_id=path.category_id,
            is_age_restricted=turn_channel.is_age_restricted,
        )
