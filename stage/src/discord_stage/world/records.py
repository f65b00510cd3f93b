"""The records of a world: users, guilds, channels, messages, interactions. Plain and mutable."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import Any

# How long names of users, guilds, channels and so on may be, in characters.


NAME_MOST = 100
"""The longest name of a server, a role, a channel or a thread."""
USERNAME_MOST = 32


# The records of a world: users, guilds, channels, messages. Plain and mutable.


Json = dict[str, Any]


class ChannelType(IntEnum):
    TEXT = 0
    DM = 1
    VOICE = 2
    CATEGORY = 4
    NEWS = 5
    NEWS_THREAD = 10
    PUBLIC_THREAD = 11
    PRIVATE_THREAD = 12
    FORUM = 15


THREADS = frozenset(
    {ChannelType.NEWS_THREAD, ChannelType.PUBLIC_THREAD, ChannelType.PRIVATE_THREAD}
)


class MessageFlag(IntFlag):
    CROSSPOSTED = 1 << 0
    SUPPRESS_EMBEDS = 1 << 2
    HAS_THREAD = 1 << 5
    EPHEMERAL = 1 << 6
    LOADING = 1 << 7
    SUPPRESS_NOTIFICATIONS = 1 << 12
    COMPONENTS_V2 = 1 << 15


class MessageType(IntEnum):
    DEFAULT = 0
    MEMBER_JOINED = 7
    THREAD_CREATED = 18
    REPLY = 19
    COMMAND = 20
    THREAD_STARTER = 21


LINES_OF_DISCORD = frozenset(
    {MessageType.MEMBER_JOINED, MessageType.THREAD_CREATED, MessageType.THREAD_STARTER}
)
"""Discord's own messages: somebody joined, a thread was started."""


@dataclass(slots=True)
class User:
    id: int
    name: str
    display_name: str | None = None
    bot: bool = False
    avatar: str | None = None
    dms_open: bool = True
    locale: str = "en-US"
    """The language of their Discord client."""


@dataclass(slots=True)
class Application:
    """The one bot of a world, and its settings in the developer portal."""

    id: int
    user: User
    token: str
    owner_id: int
    privileged: frozenset[str]
    """The intents that the portal grants: `members`, `presences`, `message_content`."""


@dataclass(slots=True)
class Role:
    id: int
    name: str
    permissions: int
    position: int
    color: int = 0
    mentionable: bool = False
    managed: bool = False
    hoist: bool = False
    unicode_emoji: str | None = None
    bot_id: int | None = None
    """The bot that came with this role."""


@dataclass(slots=True)
class Overwrite:
    """A permission overwrite. `id` is a role's, or a member's if `for_member`."""

    id: int
    for_member: bool
    allow: int = 0
    deny: int = 0


@dataclass(slots=True)
class Emoji:
    id: int
    name: str
    animated: bool = False


@dataclass(slots=True)
class Member:
    user: User
    joined_at: str
    nick: str | None = None
    roles: list[int] = field(default_factory=list)
    timeout_until: str | None = None
    mute: bool = False
    deaf: bool = False
    avatar: str | None = None
    banner: str | None = None
    bio: str | None = None
    """Avatar, banner and bio are those in this guild only."""


@dataclass(slots=True)
class ForumTag:
    id: int
    name: str


@dataclass(slots=True)
class ThreadState:
    owner_id: int
    created_at: str
    changed_at: str
    archived: bool = False
    locked: bool = False
    invitable: bool = True
    archive_minutes: int = 1440
    members: dict[int, str] = field(default_factory=dict)
    """User id → when they joined."""
    message_count: int = 0
    sent_in_all: int = 0
    tags: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Channel:
    """A guild's channel, a thread (`thread` is set) or a DM (`recipient_id` is set)."""

    id: int
    type: ChannelType
    name: str
    guild_id: int | None = None
    topic: str | None = None
    position: int = 0
    parent_id: int | None = None
    slowmode_s: int = 0
    slowmode_binds_bots: bool = False
    overwrites: dict[int, Overwrite] = field(default_factory=dict)
    tags: list[ForumTag] = field(default_factory=list)
    recipient_id: int | None = None
    last_message_id: int | None = None
    thread: ThreadState | None = None
    details: Json = field(default_factory=dict)
    """Fields that only some types have, as a PATCH set them: bitrate, nsfw, forum layout."""


@dataclass(slots=True)
class Guild:
    id: int
    name: str
    owner_id: int
    roles: dict[int, Role] = field(default_factory=dict)
    members: dict[int, Member] = field(default_factory=dict)
    emojis: dict[int, Emoji] = field(default_factory=dict)
    automod_words: list[str] = field(default_factory=list)
    harmful_links: list[str] = field(default_factory=list)
    changed: Json = field(default_factory=dict)
    """The fields that a PATCH of the guild has set."""
    bans: dict[int, str | None] = field(default_factory=dict)
    """User id → the reason."""
    invites: dict[str, Json] = field(default_factory=dict)
    audit_log: list[Json] = field(default_factory=list)
    scheduled_events: dict[int, Json] = field(default_factory=dict)
    automod_rules: dict[int, Json] = field(default_factory=dict)
    command_permissions: dict[int, list[Json]] = field(default_factory=dict)


@dataclass(slots=True)
class Attachment:
    id: int
    filename: str
    content: bytes = field(repr=False)
    content_type: str
    description: str | None = None
    width: int | None = None
    height: int | None = None


@dataclass(slots=True)
class Reaction:
    """A reaction. `id` is None for a standard emoji, whose name is the character itself."""

    name: str
    id: int | None
    animated: bool = False
    users: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Poll:
    question: Json
    answers: list[Json]
    """The texts and emoji of the answers, which are numbered from 1."""
    expires_at: str
    multiple: bool = False
    ended: bool = False
    votes: dict[int, list[int]] = field(default_factory=dict)
    """Number of an answer → users who chose it."""


@dataclass(slots=True)
class StageMessage:
    """A message as the server stores it. The JSON that clients get is made from it."""

    id: int
    channel_id: int
    author_id: int
    """A user's id, or the webhook's."""
    content: str
    created_at: str
    type: MessageType = MessageType.DEFAULT
    flags: int = 0
    tts: bool = False
    embeds: list[Json] = field(default_factory=list)
    components: list[Json] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    mentions: list[int] = field(default_factory=list)
    mention_roles: list[int] = field(default_factory=list)
    mention_everyone: bool = False
    notified: list[int] = field(default_factory=list)
    """The users who were notified. Decided when the message was created, never by an edit."""
    reactions: list[Reaction] = field(default_factory=list)
    reference: Json | None = None
    edited_at: str | None = None
    pinned: bool = False
    webhook_id: int | None = None
    username: str = ""
    """The name of a webhook message; empty for all others."""
    avatar: str | None = None
    application_id: int | None = None
    interaction_id: int | None = None
    ephemeral_to: int | None = None
    nonce: str | None = None
    poll: Poll | None = None
    snapshot: Json | None = None
    """The forwarded message as it was when it was forwarded."""


@dataclass(slots=True)
class Webhook:
    id: int
    token: str
    channel_id: int
    guild_id: int
    name: str
    creator_id: int
    application_id: int | None
    avatar: str | None = None


@dataclass(slots=True)
class Command:
    id: int
    guild_id: int | None
    payload: Json


# Interactions: a command, a button or a modal that a person used, and the bot's answers.


class InteractionType(IntEnum):
    COMMAND = 2
    COMPONENT = 3
    AUTOCOMPLETE = 4
    MODAL = 5


class InteractionReply(IntEnum):
    MESSAGE = 4
    DEFER = 5
    DEFER_UPDATE = 6
    UPDATE = 7
    CHOICES = 8
    MODAL = 9


@dataclass(slots=True)
class Interaction:
    id: int
    token: str
    type: InteractionType
    user_id: int
    channel_id: int
    data: Json
    at: float
    message_id: int | None = None
    """The message whose button was pressed."""
    reply: InteractionReply | None = None
    original_id: int | None = None
    choices: list[Json] = field(default_factory=list)
    modal: Json | None = None
    followups: list[int] = field(default_factory=list)
    user_install: bool = False
    """Only the user has installed the app, not the server: Discord then allows five follow-ups."""
