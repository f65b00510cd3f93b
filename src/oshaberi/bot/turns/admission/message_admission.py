"""Decides about each message that the bot receives, with what it knows of earlier ones.

`rules` decides by the message alone; this module adds the loop guard for bots, the bot's
attention and the cooldown. It reads the database only for what the caches lack.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime

from oshaberi.bot.clocks import loop_time_s
from oshaberi.bot.conversation.messages import ChannelPath, IncomingMessage, TurnChannel
from oshaberi.bot.conversation.turn_config import EffectiveSettings
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.turns.admission.answer_reasons import (
    ADMITTED,
    BY_CHANCE,
    UNINVITED,
    Admission,
    Refused,
    reason_word,
)
from oshaberi.bot.turns.admission.channel_queue import Arrival, QueuedJob, burst_of
from oshaberi.bot.turns.admission.rules import (
    BotRounds,
    ChannelAttention,
    Cooldowns,
    UnaddressedMessage,
    admission,
    why_ignored,
)
from oshaberi.bot.turns.personas import PersonaCache, allowed_in, who_answers
from oshaberi.bot.turns.services.turn_services import SettingsOf


@dataclass(frozen=True, slots=True)
class HeardMessage:
    """A message with the settings that apply to it, and the decision of the rules."""

    incoming: IncomingMessage
    settings: EffectiveSettings
    personas: tuple[PersonaRecord, ...]
    admission: Admission

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
        return HeardMessage(incoming, settings, personas, decided)

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

        A stored question is not refused any more: `known_why` is why it was admitted. Of a proxy's
        copy it is what was decided about the original: nobody has two chances.
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
            found = self.attention.decide(incoming, config, loop_time_s(), self.draw)
        if not found.ok:
            if is_new:
                self.attention.note_passed(
                    incoming.channel_id, incoming.user_id, is_for_others=incoming.is_for_others
                )
            return found
        if not self._answering(heard, found.as_stored):
            return Admission("age_restricted")
        if not self._has_rounds(incoming, config.bot_rounds_limit):
            return Admission("bot_rounds")
        is_known = arrival == "stored" or reason_word(known_why) in ADMITTED
        cooldown_ms = 0 if is_known else config.cooldown_ms
        by_chance = (self._unasked,) if found.reason in UNINVITED else ()
        for cooldowns in (self.cooldowns, *by_chance):
            if not cooldowns.allows(incoming.user_id, loop_time_s(), cooldown_ms):
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
        if job.settings.turn.attention_ms and job.is_message and is_person:
            channel_id, asked_id = job.turn_channel.channel_id, job.message_ids[0]
            self.attention.note_talk(
                channel_id, job.user_id, job.answering, loop_time_s(), asked_id
            )

    def _has_rounds(self, incoming: IncomingMessage, most: int) -> bool:
        channel_id = incoming.channel_id
        return not _may_be_automatic(incoming) or self.bot_rounds.allows(channel_id, most)

    def _answering(self, heard: HeardMessage, why: str) -> tuple[PersonaRecord, ...]:
        """Return the personas that answer; none if they may answer only in age-restricted channels.

        If the message is answered by chance and calls no persona, the one of the last talk answers.
        """
        incoming, uncalled = heard.incoming, heard.settings.turn.answering_persona
        talk = self.attention.talk(incoming.channel_id)
        if talk is not None and talk.answering and reason_word(why) in UNINVITED:
            uncalled = talk.answering[0].name
        answering = who_answers(incoming, heard.personas, uncalled=uncalled)
        return allowed_in(answering, incoming.is_age_restricted)


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
