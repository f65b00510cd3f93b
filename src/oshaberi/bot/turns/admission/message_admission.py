"""Decides about each message that the bot receives, with what it knows about earlier ones.

`rules` decides by the message alone; this module adds the cooldown, the loop guard
for bots and the bot's attention. All three are in memory, limited in size: an ignored message costs
no query.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from oshaberi.bot.conversation.messages import ChannelPath, IncomingMessage, TurnChannel
from oshaberi.bot.conversation.turn_config import EffectiveSettings, TurnConfig
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.turns.admission.channel_queue import (
    Arrival,
    QueuedJob,
    burst_of,
    sending,
)
from oshaberi.bot.turns.admission.occasions import Occasion
from oshaberi.bot.turns.admission.rules import (
    ADMITTED,
    BY_CHANCE,
    UNADDRESSED,
    UNINVITED,
    Admission,
    Refused,
    UnaddressedMessage,
    admission,
    reason_word,
    unlisted,
    why_ignored,
)
from oshaberi.bot.turns.caches import BoundedCache
from oshaberi.bot.turns.personas import (
    AnswerPlace,
    PersonaCache,
    allowed_in,
    default_of,
    persona_called,
    who_answers,
    who_is_asked,
    who_speaks_up,
)
from oshaberi.bot.turns.services.turn_services import SettingsOf
from oshaberi.clocks import loop_time_s

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


# Attention: with whom the bot talked, and how likely it is to answer messages that address nobody.
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
    """Return both numbers as text: as short as possible, but different if the numbers are."""
    for digits in (2, 4, 8):
        texts = _decimal(chance, digits), _decimal(drew, digits)
        if texts[0] != texts[1]:
            break
    return texts


def _decimal(number: float, digits: int) -> str:
    """Return a number with this many significant digits, never as `1e-05`."""
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


@dataclass(frozen=True, slots=True)
class HeardMessage:
    """A message with the settings that apply to it, and the decision of the rules."""

    incoming: IncomingMessage
    settings: EffectiveSettings
    personas: tuple[PersonaRecord, ...]
    admission: Admission
    at_s: float
    """When it was heard, by the loop's clock."""

    @property
    def may_belong(self) -> bool:
        """Return whether the message can be part of a question that its author has begun."""
        return self.admission.ok or self.admission.reason == "unaddressed"


class MessageAdmission:
    """The admission of one process."""

    def __init__(
        self,
        settings: SettingsOf,
        persona_cache: PersonaCache,
        clock: Callable[[], datetime],
        draw: Callable[[], float],
    ) -> None:
        self.draw = draw
        self._settings = settings
        self._persona_cache = persona_cache
        self._clock = clock
        self.attention = ChannelAttention()
        self.bot_rounds = BotRounds()
        self.cooldowns = Cooldowns()
        self._unasked = Cooldowns()
        """The cooldowns of answers by chance: a user who gets one did not ask for it, and may still
        ask."""

    async def heard(self, incoming: IncomingMessage) -> HeardMessage:
        """Apply the rules. A proxy bot's message counts as that of the person behind it."""
        settings, personas = await self.known(incoming.path)
        incoming = _with_its_author(incoming, settings.turn.proxy_bots)
        decided = admission(incoming, personas, settings.turn)
        return HeardMessage(incoming, settings, personas, decided, loop_time_s())

    async def known(self, path: ChannelPath) -> tuple[EffectiveSettings, tuple[PersonaRecord, ...]]:
        """Return a channel's settings and the personas of its server."""
        settings = await self._settings(path)
        return settings, await self._persona_cache.of(path.server_id)

    def why_ignored(
        self,
        message: UnaddressedMessage,
        personas: tuple[PersonaRecord, ...],
        settings: EffectiveSettings,
    ) -> Refused | None:
        """Return why a new message is ignored, and note it; None if it may be answered.

        The reason is the one that `decide` would give, where chance plays no part.
        """
        config, channel_id, user_id = settings.turn, message.path.channel_id, message.user_id
        reason = why_ignored(message, personas, config)
        if reason is None:
            return None
        if reason == "unaddressed" and self.attention.may_answer(
            channel_id, user_id, config, loop_time_s()
        ):
            return None
        self.bot_rounds.note_person(channel_id)
        self.attention.note_passed(channel_id, user_id, is_for_others=message.is_for_others)
        return reason

    async def admits(self, incoming: IncomingMessage) -> bool:
        """Return whether a missed message would be answered. Messages of bots would not."""
        heard = await self.heard(incoming)
        is_bot = heard.incoming.said.author.is_bot
        return heard.admission.ok and not is_bot and bool(self._answering(heard, ""))

    def decide(self, heard: HeardMessage, arrival: Arrival, known_why: str) -> Admission:
        """Decide with what is known of earlier messages.

        A stored question is not refused any more: `known_why` is why it was admitted. For a proxy's
        copy, it is the decision about the original: nobody gets two chances.
        """
        incoming, config = heard.incoming, heard.settings.turn
        is_bot, is_new = incoming.said.author.is_bot, arrival == "new"
        if is_new and not _may_be_automatic(incoming):
            self.bot_rounds.note_person(incoming.channel_id)
        found = heard.admission
        if not found.ok and arrival == "stored":
            found = _readmitted(found, known_why)
        elif found.reason == "unaddressed" and reason_word(known_why) in BY_CHANCE:
            return _stored_admission(known_why)
        elif found.reason == "unaddressed" and is_new and incoming.can_answer and not is_bot:
            found = self.attention.decide(incoming, config, heard.at_s, self.draw)
        if not found.ok:
            if is_new:
                self.attention.note_passed(
                    incoming.channel_id, incoming.user_id, is_for_others=incoming.is_for_others
                )
            return found
        answering = self._asked_personas(heard, found.as_stored)
        place = AnswerPlace.of(incoming)
        if not allowed_in(answering, place):
            return Admission(place.silences(answering[0]) or "age_restricted")
        if not self._has_rounds(incoming, config.bot_rounds_limit):
            return Admission("bot_rounds")
        is_known = arrival == "stored" or reason_word(known_why) in ADMITTED
        cooldown_ms = 0 if is_known else config.cooldown_ms
        by_chance = (self._unasked,) if found.reason in UNINVITED else ()
        for cooldowns in (self.cooldowns, *by_chance):
            if not cooldowns.allows(incoming.user_id, heard.at_s, cooldown_ms):
                return Admission("cooldown")
        return found

    def job(
        self, heard: HeardMessage, turn_channel: TurnChannel, why: str, arrival: Arrival
    ) -> QueuedJob:
        incoming, now_s = heard.incoming, loop_time_s()
        is_new = arrival == "new"
        return QueuedJob(
            turn_channel,
            (incoming,),
            self._answering(heard, why),
            heard.personas,
            why,
            incoming.user_id,
            heard.settings,
            arrival=arrival,
            asked_s=now_s - self._age_s(incoming, arrival),
            burst=burst_of(incoming, heard.settings.turn, now_s) if is_new else None,
        )

    def _age_s(self, incoming: IncomingMessage, arrival: Arrival) -> float:
        """Return how long ago a message was written; 0 for a new one."""
        if arrival == "new":
            return 0.0
        return max(0.0, (self._clock() - incoming.said.at).total_seconds())

    async def occasion_job(
        self, occasion: Occasion, turn_channel: TurnChannel
    ) -> QueuedJob | Refused:
        """Return the job of an occasion, or why the bot may not speak there.

        Even a sleeping persona speaks: whoever created the occasion has chosen the time.
        """
        settings, personas = await self.known(turn_channel.path)
        if occasion.person.id and (
            reason := unlisted(occasion.person, turn_channel.path, settings.turn)
        ):
            return reason
        name = occasion.persona or settings.turn.answering_persona
        persona = (persona_called(name, personas) if name else None) or default_of(personas)
        place = AnswerPlace(turn_channel.path, turn_channel.is_age_restricted, None)
        if (silenced := place.silences(persona)) is not None:
            return silenced
        job = QueuedJob(
            turn_channel,
            (occasion.as_incoming(turn_channel),),
            (persona,),
            personas,
            occasion.why,
            occasion.person.id,
            settings,
            occasion=occasion,
        )
        return sending(job, occasion.text) if occasion.text else job

    def note_admitted(self, job: QueuedJob) -> None:
        """Note that a job enters the queue."""
        if job.arrival != "stored":
            cooldowns = self._unasked if job.is_uninvited else self.cooldowns
            cooldowns.note(job.user_id, loop_time_s())
        if _may_be_automatic(job.asked[-1]):
            self.bot_rounds.note_bot(job.turn_channel.channel_id)

    def note_talk(self, job: QueuedJob) -> None:
        """Note that the bot talks with the author of a job, or has just done so."""
        is_person = not job.asked[-1].said.author.is_bot
        is_talk = job.is_message or (job.occasion is not None and job.kind == "answer")
        if job.settings.turn.attention_ms and is_talk and is_person:
            channel_id, asked_id = job.turn_channel.channel_id, job.message_ids[0]
            self.attention.note_talk(
                channel_id, job.user_id, job.answering, loop_time_s(), asked_id
            )

    def _has_rounds(self, incoming: IncomingMessage, most: int) -> bool:
        channel_id = incoming.channel_id
        return not _may_be_automatic(incoming) or self.bot_rounds.allows(channel_id, most)

    def _answering(self, heard: HeardMessage, why: str) -> tuple[PersonaRecord, ...]:
        """Return the personas that answer; none if none of those asked may."""
        return allowed_in(self._asked_personas(heard, why), AnswerPlace.of(heard.incoming))

    def _asked_personas(self, heard: HeardMessage, why: str) -> tuple[PersonaRecord, ...]:
        """Return the personas that would answer, whether they may or not.

        If the message is answered by chance and calls no persona, the persona of the last talk
        answers. Where personas may talk among themselves, talkative ones speak up.
        """
        incoming, config = heard.incoming, heard.settings.turn
        uncalled = config.answering_persona
        talk = self.attention.talk(incoming.channel_id)
        if talk is not None and talk.answering and reason_word(why) in UNINVITED:
            uncalled = talk.answering[0].name
        elif config.persona_talk_enabled and reason_word(why) in UNADDRESSED:
            willing = allowed_in(who_speaks_up(incoming, heard.personas), AnswerPlace.of(incoming))
            return who_is_asked(incoming, heard.personas) or willing or self._default(heard)
        return who_answers(incoming, heard.personas, uncalled=uncalled)

    def _default(self, heard: HeardMessage) -> tuple[PersonaRecord, ...]:
        uncalled = heard.settings.turn.answering_persona
        return who_answers(heard.incoming, heard.personas, uncalled=uncalled)


def _may_be_automatic(incoming: IncomingMessage) -> bool:
    """Return whether the loop guard counts a message: a bot's, or a proxy's without an original.

    Operators can list any bot as a proxy. A real proxy bot always repeats a person's message.
    """
    author = incoming.said.author
    return author.is_bot or (author.application_id is not None and incoming.copied_id is None)


def _with_its_author(incoming: IncomingMessage, proxy_bots: Collection[int]) -> IncomingMessage:
    """Return a proxy's message as a person's, and that of any other webhook as the webhook's.

    Otherwise a listed webhook that repeats somebody's words would have that person's permissions.
    """
    author = incoming.said.author
    if author.application_id is not None and author.application_id in proxy_bots:
        return replace(incoming, said=replace(incoming.said, author=replace(author, is_bot=False)))
    if incoming.webhook is None:
        return incoming
    said = replace(incoming.said, author=incoming.webhook, reply_to=None)
    return replace(incoming, said=said, replied=None, copied_id=None, webhook=None)


def _readmitted(found: Admission, why: str) -> Admission:
    """Return why a stored question was admitted, if it is now refused only as unaddressed."""
    is_admitted = reason_word(why) in ADMITTED
    return (
        _stored_admission(why)
        if found.reason in ("unaddressed", "others") and is_admitted
        else found
    )


def _stored_admission(why: str) -> Admission:
    """Return a decision that was stored."""
    word, *detail = why.split(" ")
    return Admission(word, tuple(detail))  # type: ignore[arg-type]
