"""Whether and why a message is answered, by the message alone (spec 08).

First the reasons, each in one word, and the sentences of *Why this turn*; then the rules. What
depends on earlier messages (cooldowns, attention, bot rounds) is in `message_admission`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from oshaberi.bot.conversation.messages import ChannelPath, IncomingMessage, Person, TalkPlace
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.turns.personas import is_anybody_called, is_anybody_named, triggered_in
from oshaberi.languages import translatable, translated

Admitted = Literal[
    "mention",
    "reply",
    "direct",
    "auto",
    "own_thread",
    "forum_post",
    "trigger",
    "name",
    "persona",
    "burst",
    "attention",
    "overhearing",
    "interjection",
]
Refused = Literal[
    "own",
    "bot",
    "blocked",
    "blocked_role",
    "blocked_channel",
    "unlisted",
    "elsewhere",
    "unaddressed",
    "mute",
    "cooldown",
    "others",
    "inattentive",
    "uninvited",
    "bot_rounds",
    "age_restricted",
    "not_here",
    "asleep",
]
Reason = Admitted | Refused

WHY: dict[str, str] = {
    "mention": translatable("the bot was mentioned"),
    "reply": translatable("it replies to a message of the bot"),
    "direct": translatable("it is a direct message"),
    "auto": translatable("every message of this channel is answered (auto_channels)"),
    "own_thread": translatable(
        "it was written in a thread for a conversation with the bot (own_threads)"
    ),
    "forum_post": translatable("every message in posts of this forum is answered (own_threads)"),
    "trigger": translatable("it contains a trigger word of a persona"),
    "name": translatable("it speaks to a persona by name (answer_to_names)"),
    "greeting": translatable(
        "it is how the persona greets a channel in which it is called for the first time "
        "(`/persona set`, greeting)"
    ),
    "persona": translatable("another persona called this one by its trigger word"),
    "burst": translatable("it belongs to the question that its author had begun (burst_wait_ms)"),
    "attention": translatable(
        "the bot and its author had been talking {ago} s ago: chance {chance}, drew {drew}"
    ),
    "overhearing": translatable(
        "the bot had been talking here {ago} s ago: chance {chance}, drew {drew}"
    ),
    "interjection": translatable(
        "the bot may speak unasked (interjection_chance): chance {chance}, drew {drew}"
    ),
    "own": translatable("it is a message of the bot itself"),
    "bot": translatable("bots are not answered (answer_bots)"),
    "bot_rounds": translatable(
        "bots had answered each other often enough; now a person has to write (bot_rounds_limit)"
    ),
    "others": translatable("it mentions or replies to somebody else"),
    "inattentive": translatable(
        "nobody was addressed; the bot had been talking here {ago} s ago: chance "
        "{chance}, drew {drew}"
    ),
    "uninvited": translatable(
        "nobody was addressed, and the bot did not speak unasked (interjection_chance): "
        "chance {chance}, drew {drew}"
    ),
    "copy": translatable("it is the copy that a proxy bot made of a message that was answered"),
    "replaced": translatable("a proxy bot replaced it by its copy"),
    "withdrawn": translatable("it was deleted before its turn"),
    "blocked": translatable("its author is blocked (blocked_users)"),
    "blocked_channel": translatable("its channel or category is blocked (blocked_channels)"),
    "blocked_role": translatable("a role of its author is blocked (blocked_roles)"),
    "unlisted": translatable(
        "the bot answers only certain users and roles (allowed_users, allowed_roles)"
    ),
    "age_restricted": translatable(
        "the persona that would answer does so only in age-restricted channels "
        "(`/persona age-restrict`)"
    ),
    "not_here": translatable(
        "the persona that would answer does so only in certain channels (`/persona set`, channels)"
    ),
    "asleep": translatable(
        "the persona that would answer was asleep (`/persona set`, awake_hours)"
    ),
    "elsewhere": translatable("the bot answers only in certain channels (allowed_channels)"),
    "unaddressed": translatable("nobody was addressed: no mention, reply, name or trigger word"),
    "mute": translatable("the bot may not write in this channel (Send Messages)"),
    "cooldown": translatable("its author had asked a moment before (cooldown_ms)"),
    "full": translatable("too many messages were waiting already (waiting_limit)"),
    "silent": translatable(
        "the model read it and chose to say nothing (silence_markers, `stay_silent`)"
    ),
    "silent_because": translatable(
        "the model read it and chose to say nothing (silence_markers). It noted: “{reason}”"
    ),
    "failed": translatable("its answer failed before its first word"),
    "used_up": translatable("a quota was used up (`/usage`)"),
    "stopped": translatable("somebody stopped its answer before its first word (`/stop`)"),
    "superseded": translatable(
        "its author wrote again before the answer's first word (follow_up_policy)"
    ),
    "discord_away": translatable(
        "Discord accepted no messages from the bot for too long (discord_outage_patience_s)"
    ),
    "overloaded": translatable(
        "too many answers were being written (max_simultaneous_turns, max_wait_s)"
    ),
    "private": translatable("its author does not want the bot to read it (`/privacy opt-out`)"),
    "system": translatable("Discord posted it, not a person"),
    "claimed": translatable("another process of the bot took it"),
    "seen": translatable("the bot is deciding about it at this moment"),
    "closing": translatable("the bot was shutting down"),
    "continue": translatable("somebody asked to continue"),
    "restart": translatable("its answer had been cut off by a restart of the bot"),
    "regenerate": translatable("somebody asked for another answer"),
    "opening": translatable("a persona may speak first here ({what})"),
    "schedule": translatable("it was due: number {number} of what is scheduled (`/schedule list`)"),
}
"""Each word as the end of a sentence that begins with "Because". Its placeholders are the
words that were stored, in this order; the last one may have spaces."""

ADMITTED = frozenset(get_args(Admitted))
Unsaid = Literal[
    "silent",
    "silent_because",
    "failed",
    "used_up",
    "stopped",
    "superseded",
    "overloaded",
    "discord_away",
    "mute",
]
"""Why an answer that had begun came to nothing."""
HAD_A_TURN = ADMITTED | frozenset(get_args(Unsaid))
OCCASIONS = frozenset(("schedule", "opening"))
"""Reasons without a message (`occasions`)."""
ADDRESSED = frozenset(("mention", "reply", "trigger", "name"))
"""Reasons that depend on the words of a message, so that an edit can change them."""
FOR_THE_BOT = frozenset(("auto", "own_thread", "forum_post"))
"""Reasons that depend on the place: whoever writes there expects an answer."""
UNADDRESSED = FOR_THE_BOT | frozenset(("attention", "overhearing", "interjection", "opening"))
"""Reasons for an answer although nobody addressed the bot: the model may say nothing."""
UNINVITED = UNADDRESSED - FOR_THE_BOT
"""Reasons of answers by chance: nobody waits for such an answer, so nobody is told if there is
none."""
BY_CHANCE = UNINVITED | {"inattentive", "uninvited"}
"""Reasons that a number was drawn for."""
NO_QUESTION = frozenset(
    {"own", "bot", "unaddressed", "others", "inattentive", "uninvited"}
    | {"copy", "replaced", "withdrawn", "claimed", "seen"}
)
"""Reasons of messages that are not for the bot, or that another process or turn has taken."""


@dataclass(frozen=True, slots=True)
class Admission:
    """A decision: its reason in one word, and the numbers on which it is based."""

    reason: Reason
    detail: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.reason in ADMITTED

    @property
    def as_stored(self) -> str:
        """Return the word and the numbers, in the form in which they are stored."""
        return " ".join((self.reason, *self.detail))


def reason_word(stored: str) -> str:
    """Return the reason without its numbers."""
    return stored.partition(" ")[0]


def why_sentence(stored: str) -> str | None:
    """Return the sentence for a stored reason, with its details; None for an unknown reason."""
    word, _, detail = stored.partition(" ")
    if word not in WHY:
        return None
    names = re.findall(r"{(\w+)}", WHY[word])
    details = dict(zip(names, detail.split(" ", max(0, len(names) - 1)), strict=False))
    return translated("Because {reason}.", reason=translated(WHY[word], **details))


RoleIds = Callable[[], frozenset[int]]
"""Returns the roles of a person. Few servers have settings that need them."""


@dataclass(frozen=True, slots=True)
class UnaddressedMessage:
    """A person's message on a server that neither mentions the bot nor replies to it.

    Most messages are not for the bot. This has only what is needed to ignore one: names,
    permissions, pictures and files are not worked out.
    """

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
    talk_place: TalkPlace = ""


def admission(
    incoming: IncomingMessage, personas: Sequence[PersonaRecord], config: TurnConfig
) -> Admission:
    """Decide everything except the cooldown, which depends on earlier messages."""
    reason = _refusal(incoming, config) or _address(incoming, personas, config)
    # No model is asked if the answer cannot be sent.
    return Admission("mute" if reason in ADMITTED and not incoming.can_answer else reason)


def why_ignored(
    message: UnaddressedMessage, personas: Sequence[PersonaRecord], config: TurnConfig
) -> Refused | None:
    """Return why a message is not answered, by the same rules as `admission`; None if it is."""
    if reason := _unlisted(message.user_id, message.role_ids, message.path, config):
        return reason
    if _call(message.text, message, personas, config):
        return None
    return "others" if message.is_for_others else "unaddressed"


def unlisted(person: Person, path: ChannelPath, config: TurnConfig) -> Refused | None:
    """Return why the allow and block lists exclude this person here; None if they do not."""
    return _unlisted(person.id, lambda: person.role_ids, path, config)


def _unlisted(
    user_id: int, role_ids: RoleIds, path: ChannelPath, config: TurnConfig
) -> Refused | None:
    if user_id in config.blocked_users:
        return "blocked"
    if _any_in(path.ids, config.blocked_channels):
        return "blocked_channel"
    if config.blocked_roles and _any_in(role_ids(), config.blocked_roles):
        return "blocked_role"
    users, roles = config.allowed_users, config.allowed_roles
    if (users or roles) and user_id not in users and not _any_in(role_ids(), roles):
        return "unlisted"
    if config.allowed_channels and not _any_in(path.ids, config.allowed_channels):
        return "elsewhere"
    return None


def _any_in(ids: Collection[int], listed: Collection[int]) -> bool:
    return bool(listed) and not set(listed).isdisjoint(ids)


def _refusal(incoming: IncomingMessage, config: TurnConfig) -> Refused | None:
    if incoming.said.by_us:
        return "own"
    author = incoming.said.author
    if author.is_bot and not {author.id, author.application_id} & set(config.answer_bots):
        return "bot"
    return unlisted(incoming.said.author, incoming.path, config)


def _address(
    incoming: IncomingMessage, personas: Sequence[PersonaRecord], config: TurnConfig
) -> Reason:
    # First: a reply mentions whom it answers, unless its author switched that off.
    if incoming.replied is not None and incoming.replied.by_us:
        return "reply"
    if incoming.mentions_us:
        return "mention"
    if incoming.is_direct:
        return "direct"
    called = _call(incoming.said.own_words, incoming, personas, config)
    return called or ("others" if incoming.is_for_others else "unaddressed")


def _place_for_the_bot(
    message: UnaddressedMessage | IncomingMessage, config: TurnConfig
) -> Admitted | None:
    if _any_in(message.path.ids, config.auto_channels):
        return "auto"
    if message.talk_place == "own_thread" and config.own_threads != "off":
        return "own_thread"
    is_post = message.talk_place == "forum_post" and config.own_threads == "always"
    return "forum_post" if is_post else None


def _call(
    text: str,
    message: UnaddressedMessage | IncomingMessage,
    personas: Sequence[PersonaRecord],
    config: TurnConfig,
) -> Admitted | None:
    """Return why a message without a mention or reply is answered, or None.

    Where every message is answered, one to other people is left alone, unless it names us too.
    """
    if (place := _place_for_the_bot(message, config)) and (
        not message.is_for_others or is_anybody_named(text, personas, message.bot_name)
    ):
        return place
    if triggered_in(text, personas):
        return "trigger"
    listens = config.answer_to_names and not message.is_for_others
    return "name" if listens and is_anybody_called(text, personas, message.bot_name) else None
