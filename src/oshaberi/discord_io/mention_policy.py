"""Decides whom the messages of one answer may ping (spec 07).

They may ping people of the conversation, and roles that everybody or the asking member may mention;
never `@everyone`, `@here` or the author of the message that is replied to.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import discord

_USER = re.compile(r"<@!?(\d{1,20})>")
_ROLE = re.compile(r"<@&(\d{1,20})>")


class MentionPolicy:
    """Decides whom the messages of one answer may ping.

    `asker` is the member whose permissions count; without one, only what everybody may ping is
    allowed. `people` are user ids; ids that are added to the collection later count too.
    """

    def __init__(
        self,
        channel: discord.abc.MessageableChannel,
        asker: discord.Member | None = None,
        people: Collection[int] = (),
    ) -> None:
        self._channel = channel
        self._asker = asker
        self._people = people

    @classmethod
    def answering(
        cls, channel: discord.abc.MessageableChannel, message: discord.Message | None
    ) -> MentionPolicy:
        """Create the policy for an answer: it may ping the author and the users mentioned."""
        if message is None:
            return cls(channel)
        asker = message.author if isinstance(message.author, discord.Member) else None
        return cls(channel, asker, people_of(message))

    def allowed(self, content: str) -> discord.AllowedMentions:
        """Return the allowed mentions: only ids in the text, so that there are never too many."""
        users = [number for number in _ids(_USER, content) if number in self._people]
        roles = [number for number in _ids(_ROLE, content) if self._may_ping_role(number)]
        return discord.AllowedMentions(
            everyone=False,
            users=[discord.Object(number) for number in users],
            roles=[discord.Object(number) for number in roles],
            replied_user=False,
        )

    def _may_ping_role(self, role_id: int) -> bool:
        guild = getattr(self._channel, "guild", None)
        role = None if guild is None else guild.get_role(role_id)
        if role is None or role.is_default():
            return False
        return role.mentionable or self._asker_may_mention_all()

    def _asker_may_mention_all(self) -> bool:
        if self._asker is None:
            return False
        try:
            return bool(self._channel.permissions_for(self._asker).mention_everyone)
        except (discord.ClientException, AttributeError):
            return False  # a thread whose parent we do not see


def people_of(message: discord.Message) -> set[int]:
    """Return the ids of the message's author and of the users it mentions."""
    return {message.author.id, *(user.id for user in message.mentions)}


def _ids(pattern: re.Pattern[str], content: str) -> list[int]:
    return list(dict.fromkeys(int(found) for found in pattern.findall(content)))
