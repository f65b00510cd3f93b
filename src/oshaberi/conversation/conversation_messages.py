"""The values that a turn works with: people, messages, attached files.

Values only. The bot makes them from Discord's objects; tests make them by hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from oshaberi.conversation.channel_path import ChannelPath


@dataclass(frozen=True, slots=True)
class Person:
    """A user. `name` is what the channel shows; `handles` are their other names."""

    id: int
    name: str
    handles: tuple[str, ...] = ()
    avatar_url: str | None = None
    is_bot: bool = False
    can_manage_server: bool = False
    can_manage_messages: bool = False
    username: str = ""
    """The name of the account, which is unique; empty for a webhook, which has none."""
    can_read_history: bool = True
    """Whether they may read what was written in the channel before they came."""
    can_add_reactions: bool = True
    application_id: int | None = None
    """The application whose webhook spoke, or else the webhook; None for an account."""
    role_ids: frozenset[int] = frozenset()
    """The roles in the server; none in a direct message or for a webhook."""


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A file that is attached to a message."""

    name: str
    url: str
    mime: str = "application/octet-stream"
    size: int = 0
    alt: str = ""


@dataclass(frozen=True, slots=True)
class ChannelMessage:
    """A message of the channel, whoever wrote it.

    `by_us` is true for messages of the bot and of its webhooks; `shown_as` is then the name under
    which it was shown.
    """

    id: int
    author: Person
    text: str
    at: datetime
    by_us: bool = False
    shown_as: str | None = None
    files: tuple[AttachedFile, ...] = ()
    reply_to: int | None = None
    embeds: tuple[str, ...] = ()
    """The text of embeds, whoever wrote them; not the thoughts that the bot logged."""
    mentions: tuple[Person, ...] = ()
    """The people that the text mentions as `@name`, without the bot."""
    typed: str | None = None
    """What the author typed, without the names that Discord puts into the text: of mentioned users,
    channels, emoji and stickers. None if that is the text."""

    @property
    def own_words(self) -> str:
        return self.text if self.typed is None else self.typed


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A message that may get an answer."""

    said: ChannelMessage
    channel_id: int
    server_id: int
    """0 in a direct message."""
    parent_id: int | None = None
    """The channel of a thread."""
    mentions_us: bool = False
    replied: ChannelMessage | None = None
    """The message it replies to, if it could be found."""
    can_answer: bool = True
    """Whether the bot may write in the channel at all."""
    mentions_others: bool = False
    """Whether it mentions another user, a role or everybody."""
    copied_id: int | None = None
    """The person's message that this one, of a proxy bot, copies."""
    webhook: Person | None = None
    """The webhook that sent the copy. If it does not belong to a proxy bot, it counts as the
    author."""
    category_id: int | None = None
    is_age_restricted: bool = False
    """Whether Discord marks the channel, or the thread's channel, as age-restricted."""
    bot_name: str = ""
    """The bot's name on this server."""

    @property
    def path(self) -> ChannelPath:
        return ChannelPath(self.server_id, self.channel_id, self.parent_id, self.category_id)

    @property
    def is_addressed(self) -> bool:
        """Tell whether a message mentions the bot or replies to it."""
        return self.mentions_us or (self.replied is not None and self.replied.by_us)

    @property
    def is_direct(self) -> bool:
        return self.server_id == 0

    @property
    def user_id(self) -> int:
        return self.said.author.id

    @property
    def is_for_others(self) -> bool:
        """Tell whether a message mentions or replies to others than the bot and its author."""
        if self.mentions_others or self.said.reply_to is None:
            return self.mentions_others
        replied = self.replied
        return replied is None or not (replied.by_us or replied.author.id == self.user_id)


@dataclass(frozen=True, slots=True)
class ChannelInfo:
    """The channel of a turn, as it is when the turn begins."""

    server_name: str = ""
    channel_name: str = ""
    channel_topic: str = ""
    bot_name: str = ""
    people: tuple[Person, ...] = ()
    """The people of the conversation."""
    emojis: tuple[str, ...] = ()
    history: tuple[ChannelMessage, ...] = field(default=(), repr=False)
    """The history, oldest first, without the message that is answered."""
