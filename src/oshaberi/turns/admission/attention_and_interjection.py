"""Remembers with whom the bot talked, and decides by chance about messages that address nobody.

All of this is in memory and limited in size: an ignored message costs no database query.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

from oshaberi.conversation.conversation_messages import IncomingMessage
from oshaberi.conversation.turn_config import TurnConfig
from oshaberi.storage.stored_records import PersonaRecord
from oshaberi.turns.admission.answer_reasons import Admission
from oshaberi.turns.bounded_cache import BoundedCache

MOST_CHANNELS = 2000
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


def told_odds(chance: float, drew: float) -> tuple[str, str]:
    """Return both numbers as they are told: as short as possible, but different if they are."""
    for digits in (2, 4, 8):
        told = _decimal(chance, digits), _decimal(drew, digits)
        if told[0] != told[1]:
            break
    return told


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
        """Tell whether a message that addresses nobody has a chance of an answer."""
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
        odds = told_odds(chance, drew)
        if talk is None or heeded < chance:
            return Admission("interjection" if drew < chance else "uninvited", odds)
        detail = (f"{now_s - talk.at_s:.0f}", *odds)
        if drew >= chance:
            return Admission("inattentive", detail)
        is_theirs = incoming.user_id == talk.user_id
        return Admission("attention" if is_theirs else "overhearing", detail)
