"""Occasions: what makes the bot speak although nobody has just written.

A reminder that is due is one, and so is a persona that begins to talk. An occasion is an open
question like a message: it is stored before its turn begins, waits in the queue of its channel, and
a restart takes it up again. Its id is made like that of a message, and is the same in every process
that finds it; so it leads to one answer.
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
    """As if it were a message of that moment (`schedules.schedule_rules.id_of_due`)."""
    why: str
    """The reason as it is stored: a word of `rules.OCCASIONS`, then its details."""
    at: datetime
    person: Person = NOBODY
    """For whom: their quota counts, and what they may read. NOBODY: for everybody."""
    text: str = ""
    """Posted as it is. If there is none, a model is asked."""
    instruction: str = ""
    """What the model is told to do, in our own words."""
    request: str = ""
    """What the person had asked for, in their words. The model sees it as something they say."""
    persona: str = ""
    """The name of the persona that speaks; empty: the one that answers in the channel."""
    pings: frozenset[int] = frozenset()
    """The users whom the messages may notify if they mention them, and nobody else."""

    def as_incoming(self, turn_channel: TurnChannel) -> IncomingMessage:
        """Return the occasion in the place of the message that a turn answers."""
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
