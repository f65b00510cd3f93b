"""Whether a message is answered, with the reason in one word (spec 08).

The rules look at the message alone, or remember little: cooldowns, attention, bot rounds.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from oshaberi.bot.conversation.messages import ChannelPath, IncomingMessage, Person
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.turns.admission.answer_reasons import (
    ADMITTED,
    Admission,
    Admitted,
    Reason,
    Refused,
)
from oshaberi.bot.turns.caches import BoundedCache
from oshaberi.bot.turns.personas import is_anybody_called, is_anybody_named, triggered_in

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


# By the message alone. `message_admission` adds cooldown, attention and the loop guard.
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


def _call(
    text: str,
    message: UnaddressedMessage | IncomingMessage,
    personas: Sequence[PersonaRecord],
    config: TurnConfig,
) -> Admitted | None:
    """Return why a message without a mention or reply is answered, or None.

    Where every message is answered, one to other people is left alone, unless it names us too.
    """
    if _any_in(message.path.ids, config.auto_channels) and (
        not message.is_for_others or is_anybody_named(text, personas, message.bot_name)
    ):
        return "auto"
    if triggered_in(text, personas):
        return "trigger"
    listens = config.answer_to_names and not message.is_for_others
    return "name" if listens and is_anybody_called(text, personas, message.bot_name) else None


MOST_USERS = 10_000


class Cooldowns:
    """When each user last began a turn, by the loop's clock, which never jumps.

    Only the most recent users are kept.
    """

    def __init__(self) -> None:
        self._last_s: OrderedDict[int, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._last_s)

    def allows(self, user: int, now_s: float, least_ms: int) -> bool:
        last_s = self._last_s.get(user)
        return last_s is None or now_s - last_s >= least_ms / 1000

    def note(self, user: int, now_s: float) -> None:
        self._last_s[user] = now_s
        self._last_s.move_to_end(user)
        if len(self._last_s) > MOST_USERS:
            self._last_s.popitem(last=False)


MOST_CHANNELS = 2000


class BotRounds:
    """The loop guard of `answer_bots`: how often bots were answered since a person wrote.

    It is in memory only, so a restart resets it.
    """

    def __init__(self) -> None:
        self._rounds: BoundedCache[int, int] = BoundedCache(MOST_CHANNELS)

    def allows(self, channel_id: int, most: int) -> bool:
        return (self._rounds.get(channel_id) or 0) < most

    def note_bot(self, channel_id: int) -> None:
        """Note that the bot answers a message of another bot."""
        self._rounds.put(channel_id, (self._rounds.get(channel_id) or 0) + 1)

    def note_person(self, channel_id: int) -> None:
        """Note that a person wrote something, to anybody."""
        self._rounds.forget(channel_id)


# Attention: with whom the bot talked, and by what chance it answers messages that address nobody.
# All of it is in memory and limited in size: an ignored message costs no database query.
SHARE_OF_OTHERS = 0.5
"""The share of the chance that people get who did not talk with the bot."""
SHARE_AFTER_OTHERS = 0.5
"""The share of the chance that is left after each message by or for other people."""


@dataclass(frozen=True, slots=True)
class RecentTalk:
    """The last talk of a channel: with whom, as which persona, and when (the loop's clock)."""

    user_id: int
    answering: tuple[PersonaRecord, ...]
    at_s: float
    passed: int = 0
    """Messages since then that were written by or for other people."""
    asked_id: int = 0
    """The question. What was written before it does not belong to the talk."""

    def chance(self, user_id: int, now_s: float, config: TurnConfig) -> float:
        """Return the chance that the bot answers a message that addresses nobody."""
        age_ms = (now_s - self.at_s) * 1000
        if age_ms >= config.attention_ms:
            return 0.0
        fading = (1 - age_ms / config.attention_ms) * SHARE_AFTER_OTHERS**self.passed
        share = 1.0 if user_id == self.user_id else SHARE_OF_OTHERS
        return config.attention_chance * fading * share


def odds_as_text(chance: float, drew: float) -> tuple[str, str]:
    """Return both numbers as text: as short as possible, but different if they are."""
    for digits in (2, 4, 8):
        texts = _decimal(chance, digits), _decimal(drew, digits)
        if texts[0] != texts[1]:
            break
    return texts


def _decimal(number: float, digits: int) -> str:
    """Return a number with so many significant digits, never as `1e-05`."""
    return f"{Decimal(f'{number:.{digits}g}'):f}"


class ChannelAttention:
    """The recent talks of the bot, one per channel."""

    def __init__(self) -> None:
        self._talks: BoundedCache[int, RecentTalk] = BoundedCache(MOST_CHANNELS)

    def talk(self, channel_id: int) -> RecentTalk | None:
        return self._talks.get(channel_id)

    def note_talk(
        self,
        channel_id: int,
        user_id: int,
        answering: tuple[PersonaRecord, ...],
        now_s: float,
        asked_id: int = 0,
    ) -> None:
        talk = RecentTalk(user_id, answering, now_s, asked_id=asked_id)
        self._talks.put(channel_id, talk)

    def note_passed(self, channel_id: int, user_id: int, *, is_for_others: bool) -> None:
        """Note an unanswered message. It counts if it was written by or for other people."""
        talk = self._talks.get(channel_id)
        if talk is not None and (is_for_others or user_id != talk.user_id):
            self._talks.put(channel_id, replace(talk, passed=talk.passed + 1))

    def may_answer(self, channel_id: int, user_id: int, config: TurnConfig, now_s: float) -> bool:
        """Return whether a message that addresses nobody has a chance of an answer."""
        if config.interjection_chance:
            return True
        talk = self._talks.get(channel_id) if config.attention_ms else None
        return talk is not None and talk.chance(user_id, now_s, config) > 0

    def decide(
        self,
        incoming: IncomingMessage,
        config: TurnConfig,
        now_s: float,
        draw: Callable[[], float],
    ) -> Admission:
        """Decide about a message that addresses nobody. `draw` returns a number below 1."""
        talk = self._talks.get(incoming.channel_id) if config.attention_ms else None
        if talk is not None and incoming.said.id < talk.asked_id:
            talk = None
        heeded = 0.0 if talk is None else talk.chance(incoming.user_id, now_s, config)
        chance = max(heeded, config.interjection_chance)
        if not chance:
            return Admission("unaddressed")
        drew = draw()
        odds = odds_as_text(chance, drew)
        if talk is None or heeded < chance:
            return Admission("interjection" if drew < chance else "uninvited", odds)
        detail = (f"{now_s - talk.at_s:.0f}", *odds)
        if drew >= chance:
            return Admission("inattentive", detail)
        is_theirs = incoming.user_id == talk.user_id
        return Admission("attention" if is_theirs else "overhearing", detail)
