"""The values that a turn works with: channels, people, messages, files, and what a member may read.

The client makes them from Discord's objects; tests make them by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Literal, Protocol, TypeVar

from oshaberi.bot.conversation.answer_buttons import ButtonRows
from oshaberi.bot.conversation.server_reading import DiscordLink, MessageSearch, ServerEvent
from oshaberi.bot.storage.records import Exchange
from oshaberi.delivery.sink import Embed, Sink, WebhookFace


@dataclass(frozen=True, slots=True)
class ChannelPath:
    """A channel, thread, category or direct message, with the places whose settings it inherits.

    `channel_id` is the place itself. `parent_id` is a thread's channel.
    """

    server_id: int
    """0 for direct messages."""
    channel_id: int
    parent_id: int | None = None
    category_id: int | None = None

    @property
    def ids(self) -> tuple[int, ...]:
        """Return the ids of the place and of those above it, nearest first, without the server."""
        parent, category = self.parent_id, self.category_id
        if not category:
            return (self.channel_id, parent) if parent else (self.channel_id,)
        return (self.channel_id, parent, category) if parent else (self.channel_id, category)


DISCORD_EPOCH = datetime(2015, 1, 1, tzinfo=UTC)


def time_of_id(discord_id: int) -> datetime:
    """Return when something on Discord was created."""
    return DISCORD_EPOCH + timedelta(milliseconds=discord_id >> 22)


TalkPlace = Literal["", "own_thread", "forum_post"]
"""Whether a place is for one conversation: a thread that the bot opened for it, or a forum post."""


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
    """A file that is attached to a message, or the picture of a sticker."""

    name: str
    url: str
    mime: str = "application/octet-stream"
    size: int = 0
    alt: str = ""
    is_sticker: bool = False
    """Whether the text of the message already names it."""


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
    """The text of all embeds, except the thoughts that the bot logged."""
    mentions: tuple[Person, ...] = ()
    """The people that the text mentions as `@name`, without the bot."""
    typed: str | None = None
    """What the author typed, without the names that Discord adds for mentioned users, channels,
    emoji and stickers. None if it is the same as the text."""

    @property
    def own_words(self) -> str:
        return self.text if self.typed is None else self.typed


@dataclass(frozen=True, slots=True)
class PostedMessage:
    """A message of the bot as it stands in the channel now. `text` is in Discord's syntax."""

    id: int
    text: str = field(repr=False)
    webhook_id: int | None = None
    face: WebhookFace | None = None
    """The name and the avatar that it shows, if a webhook sent it."""
    has_more: bool = False
    """Whether it has embeds or files besides its text."""
    is_about: bool = False
    """Whether it is not the answer itself, but a reply notice or a line beside the answer."""


@dataclass(frozen=True, slots=True)
class PostedAnswer:
    """The messages of an answer that still exist, and those after the last one.

    `after` holds the bot's messages, and None for each message of others.
    """

    messages: tuple[PostedMessage, ...] = ()
    after: tuple[PostedMessage | None, ...] = ()


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
    """The person's message that this one, from a proxy bot, copies."""
    webhook: Person | None = None
    """The webhook that sent the copy. If it does not belong to a proxy bot, it counts as the
    author."""
    category_id: int | None = None
    is_age_restricted: bool = False
    """Whether Discord marks the channel, or the thread's channel, as age-restricted."""
    bot_name: str = ""
    """The bot's name on this server."""
    talk_place: TalkPlace = ""

    @property
    def path(self) -> ChannelPath:
        return ChannelPath(self.server_id, self.channel_id, self.parent_id, self.category_id)

    @property
    def is_addressed(self) -> bool:
        """Return whether a message mentions the bot or replies to it."""
        return self.mentions_us or (self.replied is not None and self.replied.by_us)

    @property
    def is_direct(self) -> bool:
        return self.server_id == 0

    @property
    def user_id(self) -> int:
        return self.said.author.id

    @property
    def is_for_others(self) -> bool:
        """Return whether a message mentions or replies to others than the bot and its author."""
        if self.mentions_others or self.said.reply_to is None:
            return self.mentions_others
        replied = self.replied
        return replied is None or not (replied.by_us or replied.author.id == self.user_id)


def moved_to(incoming: IncomingMessage, path: ChannelPath) -> IncomingMessage:
    """Return a message as if it had been written in another place."""
    return replace(
        incoming,
        channel_id=path.channel_id,
        parent_id=path.parent_id,
        category_id=path.category_id,
    )


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
    after_id: int = 0
    """Nothing up to this message is read here (`/new`)."""
    parent_name: str = ""
    """The channel or the forum of a thread."""
    is_post: bool = False
    """Whether the thread is a post of a forum."""
    tags: tuple[str, ...] = ()
    """The tags of the post."""


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message of the server, and where it is."""

    said: ChannelMessage
    place: str
    """The channel's name."""
    link: str


class ServerView(Protocol):
    """What one member may read of their server, for an answer in one channel.

    Others read that answer, too. So the view has only what the member may read at that moment and,
    unless they linked to it themselves, only what everybody who sees the channel may read.
    """

    async def follow(self, links: Sequence[DiscordLink]) -> tuple[FoundMessage | ServerEvent, ...]:
        """Return what these links lead to. What may not be read is left out without a word."""

    async def search(self, wanted: MessageSearch) -> tuple[FoundMessage, ...]:
        """Return the newest messages that fit, newest first. Raises SearchFailedError."""

    async def events(self) -> tuple[ServerEvent, ...]:
        """Return the events that are scheduled or under way, the next one first."""


class TurnChannel(Protocol):
    """What a turn needs from one channel, thread or direct message."""

    @property
    def channel_id(self) -> int: ...

    @property
    def path(self) -> ChannelPath:
        """Return the channel's ids with those of the places above it."""

    @property
    def is_age_restricted(self) -> bool:
        """Return whether Discord marks the channel, or the thread's channel, as age-restricted."""

    @property
    def server_id(self) -> int:
        """Return the server's id, or 0 for direct messages."""

    @property
    def newest_message_id(self) -> int | None:
        """Return the id of the channel's newest message, if it is known."""

    @property
    def locale(self) -> str:
        """Return the server's language as Discord writes it (`ja`), or "" if unknown."""

    def sink(self, answering: IncomingMessage | None) -> Sink:
        """Return the sink that sends an answer to this channel."""

    def notifying(self, user_ids: frozenset[int], /) -> TurnChannel:
        """Return the same channel for messages that may notify these users, and nobody else."""

    async def channel_info(self, before: int | None, limit: int) -> ChannelInfo:
        """Return the channel's state and its newest `limit` messages from before `before`."""

    async def said(self, message_id: int) -> ChannelMessage | None:
        """Return one message of this channel, or None if there is none with this id."""

    async def server_view(self, user_id: int) -> ServerView | None:
        """Return what this member may read of the server now; None in a direct message."""

    async def react(self, message_id: int, emoji: str) -> bool:
        """Add a reaction, and return whether it was added. A refusal is not an error."""

    async def unreact(self, message_id: int, emoji: str) -> None: ...

    async def delete(self, message_ids: Sequence[int]) -> None:
        """Delete messages of ours. Messages that are already gone are ignored."""

    async def posted(self, message_ids: Sequence[int]) -> PostedAnswer:
        """Return these messages of ours as they are now.

        Raises SinkError if Discord does not answer.
        """

    async def rewrite(self, message: PostedMessage, text: str) -> None:
        """Replace everything in a message of ours with this text. Raises SinkError."""

    async def open_thread(
        self, name: str, user_id: int, message_id: int | None = None
    ) -> TurnChannel | None:
        """Open a thread for a user, from a message if one is given; None if Discord refuses.

        If the message already has a thread of ours, return that one.
        """

    async def rename(self, name: str, known_as: str) -> bool:
        """Rename a thread of ours if it still has the name that we gave it.

        Return whether it was done.
        """

    async def set_buttons(self, message_id: int, rows: ButtonRows) -> None:
        """Replace the answer's buttons under a message of ours. A refusal is not an error."""

    async def log_thoughts(
        self, channel_id: int, embeds: Sequence[Embed], face: WebhookFace | None
    ) -> None:
        """Post thoughts to another channel, silently, with the persona's name and avatar."""


# What a member may read of a channel's history. Somebody without permission to read it sees only
# what is written while they are there: their own messages and the bot's answers to them.


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
