"""Why a message was answered or not: the reasons in one word, and *Why this turn*'s sentences."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from oshaberi.languages import translatable, translated

Admitted = Literal[
    "mention",
    "reply",
    "direct",
    "auto",
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
]
Reason = Admitted | Refused

WHY: dict[str, str] = {
    "mention": translatable("the bot was mentioned"),
    "reply": translatable("it replies to a message of the bot"),
    "direct": translatable("it is a direct message"),
    "auto": translatable("every message of this channel is answered (auto_channels)"),
    "trigger": translatable("it contains a trigger word of a persona"),
    "name": translatable("it speaks to a persona by name (answer_to_names)"),
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
        "only certain users and roles are answered (allowed_users, allowed_roles)"
    ),
    "age_restricted": translatable(
        "the persona that would answer does so only in age-restricted channels "
        "(`/persona age-restrict`)"
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
        "Discord took no messages of the bot for too long (discord_outage_patience_s)"
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
ADDRESSED = frozenset(("mention", "reply", "trigger", "name"))
"""Reasons that depend on the words of a message, so that an edit can change them."""
UNADDRESSED = frozenset(("auto", "attention", "overhearing", "interjection"))
"""Reasons for an answer although nobody addressed the bot: the model may say nothing."""
UNINVITED = UNADDRESSED - {"auto"}
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
