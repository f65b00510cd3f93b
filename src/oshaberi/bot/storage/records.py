"""The values that repositories take and return."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal

from oshaberi.bot.storage.usage import UsageAccount, UsageTotals
from oshaberi.delivery.journal import JournalledPost, JournalledStream, PostState

__all__ = [
    "TAKEN_BACK",
    "AnswerKey",
    "AnswerReaction",
    "AnswerVersion",
    "Exchange",
    "Fact",
    "JournalledPost",
    "JournalledStream",
    "KeyRecord",
    "LorebookRecord",
    "ModelRecord",
    "PersonaRecord",
    "PostState",
    "SpriteRecord",
    "StoredQuestion",
    "StoredSettings",
    "StoredSurroundings",
    "SurroundingsQuery",
    "TurnRecord",
    "TurnTraces",
    "UsageRecord",
    "UsedRequest",
]


@dataclass(frozen=True, slots=True)
class SpriteRecord:
    """A sprite of a persona."""

    name: str
    avatar_url: str | None = None
    is_identity: bool = False


@dataclass(frozen=True, slots=True)
class PersonaRecord:
    """A persona. The default persona of a server speaks as the bot itself.

    `id` is 0 until it is stored; `server_id` is 0 for direct messages.
    """

    server_id: int
    name: str
    prompt: str = ""
    aliases: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    avatar_url: str | None = None
    samples: tuple[tuple[str, str], ...] = ()
    """Pairs of what somebody said and what the persona answered."""
    sprites: tuple[SpriteRecord, ...] = ()
    is_default: bool = False
    id: int = 0
    is_age_restricted: bool = False
    """Whether it answers only in channels that Discord marks as age-restricted."""
    card: Mapping[str, Any] | None = field(default=None, hash=False)
    """What a character card says besides name and prompt (`characters.cards.kept_card`)."""
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What it does differently from the settings (`conversation.persona_options`)."""


@dataclass(frozen=True, slots=True)
class LorebookRecord:
    """A lorebook as JSON of V3. `persona_id` and `channel_id` 0: it is for all of them."""

    server_id: int
    name: str
    content: Mapping[str, Any] = field(default_factory=dict, repr=False)
    persona_id: int = 0
    channel_id: int = 0
    is_enabled: bool = True
    id: int = 0


@dataclass(frozen=True, slots=True)
class PictureRecord:
    """A picture of a persona: the address that the persona names, and where the bot keeps it."""

    server_id: int
    address: str
    url: str = ""
    """Without a signature. Empty if nothing could be loaded from the address."""
    digest: str = ""
    content_type: str = ""
    channel_id: int = 0
    message_id: int = 0
    needs_signature: bool = False
    """Whether Discord did not show it by the bare URL."""
    told_at: datetime | None = None
    """When the owner was told that it cannot be loaded."""


@dataclass(frozen=True, slots=True)
class OwnFaceRecord:
    """How the bot itself looks in a server. There is a record as soon as the server was asked."""

    server_id: int
    is_shown: bool = False
    """Whether it looks like the default persona."""
    bio: str = ""
    banner: str = ""
    """The address of a kept picture."""
    applied: Mapping[str, str | None] = field(default_factory=dict)
    """The last values, by field of the profile; for pictures their digests."""


@dataclass(frozen=True, slots=True)
class StoredSettings:
    """What admins changed, as JSON values by key: for a server, and for single channels.

    `channels` includes threads and categories, each by its id.
    """

    server: Mapping[str, Any] = field(default_factory=dict)
    channels: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)

    def layers(self, ids: Iterable[int]) -> tuple[Mapping[str, Any], ...]:
        """Return the values that apply in a channel, nearest place first; `ids` are its path."""
        own = (self.channels[one] for one in ids if one in self.channels)
        return (*own, self.server)


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """One model of a chain; `position` 0 is tried first.

    It belongs to a server, or (`server_id` 0) to the direct messages of `user_id`. Models from the
    operator's settings have neither.
    """

    server_id: int
    provider: str
    model: str
    base_url: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    """Its options (`oshaberi.providers.model_options`), and parameters that go to its API
    unchanged."""
    position: int = 0
    id: int = 0
    user_id: int = 0


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A decrypted API key. `rest_until` is the end of its cooldown.

    It belongs to a server, or (`server_id` 0) to the direct messages of `user_id`.
    """

    server_id: int
    provider: str
    secret: str = field(repr=False)
    label: str = ""
    rest_until: datetime | None = None
    id: int = 0
    user_id: int = 0


@dataclass(frozen=True, slots=True)
class Exchange:
    """Short-term memory: one question and its answer; `details` are the model's details blocks."""

    channel_id: int
    user_id: int
    asked: str
    answered: str
    details: str = ""
    persona: str = ""
    at: datetime | None = None
    id: int = 0


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """A model's summary of a channel, from one message to another.

    `messages` is their number, `user_ids` are the users whose words are in it.
    """

    channel_id: int
    text: str
    first_id: int
    last_id: int
    messages: int
    user_ids: frozenset[int] = frozenset()
    at: datetime | None = None


MOST_FACTS = 100
"""How many facts one user may have in one server, and one server itself."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Long-term memory: a fact that a user asked the bot to remember, about them or the server."""

    server_id: int
    text: str
    user_id: int | None = None
    """None if the fact belongs to the server."""
    at: datetime | None = None
    id: int = 0
    persona_id: int = 0
    """The only persona that knows it; 0 means all personas of the server."""


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """The tokens of one model in one server."""

    server_id: int
    provider: str
    model: str
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class StoredQuestion:
    """An open question. `instance` is the process that took it."""

    channel_id: int
    message_id: int
    server_id: int
    user_id: int
    instance: str
    why: str = ""
    at: datetime | None = None
    is_begun: bool = False
    """A restart interrupted its answer, which is to be continued."""


TAKEN_BACK = "taken back"
"""The status of a turn whose messages were deleted on request."""


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """A turn, as `/continue`, `/regenerate` and *Why this turn* need it."""

    channel_id: int
    server_id: int
    user_id: int
    asked_id: int | None
    persona: str
    message_ids: tuple[int, ...] = ()
    """The bot's messages, oldest first."""
    status: str = ""
    undelivered: str = ""
    why: str = ""
    at: datetime | None = None
    answer_id: int | None = None
    """The first turn of the answer, if this one continues it."""
    questions: Mapping[int, str] = field(default_factory=dict)
    """Why each of its questions was answered or not, by message id."""
    id: int = 0

    @property
    def first_id(self) -> int:
        """Return the id of the answer's first turn, which is the same for all its turns."""
        return self.answer_id or self.id


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """What all versions of an answer have in common: the channel, the question and the persona."""

    channel_id: int
    asked_id: int
    persona: str


@dataclass(frozen=True, slots=True)
class AnswerVersion:
    """A stored version of an answer. `number` counts up and is never reused."""

    number: int
    texts: tuple[str, ...] = field(default=(), repr=False)
    """The texts of its messages."""
    answered: str = field(default="", repr=False)
    """Its text in short-term memory; empty if it is not there."""
    details: str = field(default="", repr=False)
    undelivered: str = field(default="", repr=False)
    is_shown: bool = False
    """Whether the channel shows it. If it shows none, it shows the newest answer, which is not
    stored."""
    is_applied: bool = True
    """False while the channel's messages are being changed to it."""


Verdict = Literal[-1, 0, 1]


@dataclass(frozen=True, slots=True)
class AnswerReaction:
    """A user's reaction to a message of the bot. `verdict`: good, bad, or neither (0)."""

    channel_id: int
    server_id: int
    message_id: int
    user_id: int
    emoji: str
    verdict: Verdict = 0


@dataclass(frozen=True, slots=True)
class UsedRequest:
    """One request to a model as it counts: for its accounts, and for its model."""

    day: date
    accounts: tuple[UsageAccount, ...]
    counted: UsageTotals
    server_id: int
    provider: str
    model: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class TurnTraces:
    """All records that a turn stores when it ends."""

    turn: TurnRecord
    exchange: Exchange | None = None
    keep_exchanges: int = 0
    exchange_days: int = 0
    sprites: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    """Persona and sprite by message."""
    tables: Mapping[int, str] = field(default_factory=dict)
    """The source of each table, by the message that shows it."""
    summary: ConversationSummary | None = None
    used: tuple[UsedRequest, ...] = ()
    journal_key: str | None = None
    """The response whose journal entries are finished."""
    cut_question: StoredQuestion | None = None
    """A question whose answer a restart cut off, and which will be continued."""
    settled_question_id: int | None = None
    """A question whose answer a restart cut off, and which will not be continued."""


@dataclass(frozen=True, slots=True)
class SurroundingsQuery:
    """What to read for a turn. `server_id` 0: direct messages; `message_ids`: the bot's own."""

    server_id: int
    user_id: int
    channel_id: int
    exchanges: int
    message_ids: Collection[int] = ()


@dataclass(frozen=True, slots=True)
class StoredSurroundings:
    facts: tuple[Fact, ...] = ()
    """The server's facts, then the user's; each oldest first."""
    exchanges: tuple[Exchange, ...] = ()
    """Oldest first."""
    sprites: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    """Persona and sprite of messages that were sent with a sprite."""
    tables: Mapping[int, str] = field(default_factory=dict)
    summary: ConversationSummary | None = None


@dataclass(frozen=True, slots=True)
class ShardShare:
    """The part of all servers that a process serves: these shards out of `shard_count`."""

    shard_ids: frozenset[int] = frozenset({0})
    shard_count: int = 1


@dataclass(frozen=True, slots=True)
class ScheduleRecord:
    """A reminder or task of a user. `server_id` is 0 in direct messages."""

    server_id: int
    channel_id: int
    user_id: int
    kind: str
    """`reminder`, `task` or `follow_up` (`oshaberi.bot.schedules`)."""
    text: str
    next_at: datetime | None
    """When it is due; None if it has no further time."""
    persona: str = ""
    """The persona that posts it; empty means the channel's."""
    rule: Mapping[str, Any] | None = None
    """The rule of a recurring one, as JSON."""
    zone: str = "UTC"
    is_paused: bool = False
    problem: str = ""
    """Why the bot paused it."""
    at: datetime | None = None
    id: int = 0


@dataclass(frozen=True, slots=True)
class TalkStart:
    """Where the conversation of a channel begins: after `after_id`.

    If `source_id` is not 0, messages of that channel come first: those after `source_after_id`, up
    to `source_last_id`.
    """

    after_id: int = 0
    source_id: int = 0
    source_after_id: int = 0
    source_last_id: int = 0


@dataclass(frozen=True, slots=True)
class OwnThread:
    """A thread that the bot opened for a user's conversation.

    `name` is the name that it got then.
    """

    thread_id: int
    server_id: int
    user_id: int
    name: str
    is_named: bool = False
    """Whether it keeps its name. Otherwise the model names it after the first answer."""


@dataclass(frozen=True, slots=True)
class Birthday:
    """A birthday that a user told a server."""

    server_id: int
    user_id: int
    month: int
    day: int
    greeted_year: int = 0
