"""A message that does not address the bot, with only what is needed to ignore it.

Most messages on a server are not for the bot. So the bot does not work out names, permissions,
pictures and files for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from oshaberi.conversation.channel_path import ChannelPath

RoleIds = Callable[[], frozenset[int]]
"""Returns the roles of a person. Few servers have settings that need them."""


@dataclass(frozen=True, slots=True)
class UnaddressedMessage:
    """A person's message on a server that neither mentions the bot nor replies to it."""

    id: int
    path: ChannelPath
    user_id: int
    role_ids: RoleIds
    text: str
    """What its author typed (`ChannelMessage.own_words`)."""
    is_for_others: bool
    """Whether it mentions or replies to somebody else."""
    bot_name: str = ""
    """The bot's name on this server."""
