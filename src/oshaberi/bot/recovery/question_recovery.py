"""After a restart, answers the questions that were admitted but not answered, or sends a notice.

Each question is found by its channel and id, no matter what was written since. In a channel the bot
answers them in the order in which they were asked.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import groupby
from types import MappingProxyType

from oshaberi.bot.client.message_reader import NOT_FOUND
from oshaberi.bot.client.turn_channel import DiscordTurnChannel
from oshaberi.bot.conversation.messages import IncomingMessage
from oshaberi.bot.recovery.crash_recovery import (
    EARLIER_TURNS,
    INTERRUPTED,
    FindTurnChannel,
    LanguageOf,
    OccasionSources,
    all_of,
    is_written,
    servers_language,
    was_unseen,
)
from oshaberi.bot.recovery.unsent_post_recovery import notify_once
from oshaberi.bot.storage import Database, StorageError
from oshaberi.bot.storage.errors import StorageAwayError
from oshaberi.bot.storage.records import StoredQuestion, TurnRecord
from oshaberi.bot.turns.admission.questions import CLAIMED
from oshaberi.bot.turns.admission.rules import ADMITTED, OCCASIONS, reason_word
from oshaberi.bot.turns.channel_turns import ChannelTurns
from oshaberi.clocks import utc_now
from oshaberi.delivery.sink import Embed, Post, SinkError
from oshaberi.languages import in_language, translatable, translated
from oshaberi.terminal_output import counted

log = logging.getLogger(__name__)

AT_ONCE = 8
"""How many channels are recovered at the same time."""
TITLE = translatable("I was away")
ASK_AGAIN = translatable(
    "I was restarted before I could answer this, a while ago. Ask again if you still need it."
)
GO_ON = translatable(
    "I was away for too long to go on by myself: `/continue` goes on with the answer above."
)
IN_HAND = frozenset({*ADMITTED, *OCCASIONS, CLAIMED, "seen", "closing"})
"""Reasons not to settle a question: this process answers it or has answered it, another process
does, or this one is ending and the next will."""


class QuestionRecovery:
    """Resumes the questions of this `instance` that no process is answering any more.

    The authors of questions older than `max_age` get a notice instead.
    """

    def __init__(
        self,
        db: Database,
        instance: str,
        find_turn_channel: FindTurnChannel,
        channel_turns: ChannelTurns,
        max_age: timedelta,
        language_of: LanguageOf = servers_language,
        occasions: OccasionSources = MappingProxyType({}),
    ) -> None:
        self._db = db
        self._instance = instance
        self._occasions = occasions
        self._find_turn_channel = find_turn_channel
        self._channel_turns = channel_turns
        self._max_age = max_age
        self._language_of = language_of
        self._free = asyncio.Semaphore(AT_ONCE)
        self._running = asyncio.Lock()

    async def run(self) -> int:
        """Resume all questions and return their number. Unreachable channels do not delay others.

        Raises StorageAwayError if some are left. Run it again to resume them.
        """
        async with self._running:
            return await self._run()

    async def _run(self) -> int:
        await self._db.questions.forget_old()
        left = await self._db.questions.left_by(self._instance)
        await all_of(self._channel(questions) for questions in _by_channel(left))
        if left:
            log.info("taken up: %s of an earlier process", counted(len(left), "question"))
        return len(left)

    async def _channel(self, questions: Sequence[StoredQuestion]) -> None:
        channel_id = questions[0].channel_id
        async with self._free:
            try:
                turn_channel = await self._find_turn_channel(channel_id)
                if turn_channel is None:
                    log.warning("channel %s is gone, and questions with it", channel_id)
                    await self._settle(*questions)
                    return
                waiting = frozenset(one.message_id for one in questions if not one.is_begun)
                for question in questions:
                    await self._take_up(question, turn_channel, waiting)
            except StorageAwayError:
                raise
            except (*NOT_FOUND, SinkError, StorageError) as error:
                # They stay in the database: the next start tries again.
                log.error("channel %s: its questions are not taken up: %s", channel_id, error)

    async def _take_up(
        self, question: StoredQuestion, turn_channel: DiscordTurnChannel, waiting: frozenset[int]
    ) -> None:
        turns = await self._db.turns.newest(question.channel_id, EARLIER_TURNS)
        if not question.is_begun and any(_answers(turn, question) for turn in turns):
            await self._settle(question)
            return
        # Each needs its own turn channel: the asker decides whom an answer may mention.
        turn_channel = turn_channel.another()
        if reason_word(question.why) in self._occasions and not question.is_begun:
            await self._speak(question, turn_channel)
            return
        incoming = await turn_channel.question(question.message_id)
        if question.is_begun:
            await self._go_on(question, turn_channel, incoming, turns, waiting)
        else:
            await self._answer(question, turn_channel, incoming)

    async def _answer(
        self,
        question: StoredQuestion,
        turn_channel: DiscordTurnChannel,
        incoming: IncomingMessage | None,
    ) -> None:
        if incoming is None:
            await self._settle(question)
        elif self._is_too_old(question):
            await self._tell(question, turn_channel, incoming, ASK_AGAIN)
        else:
            outcome = await self._channel_turns.submit(
                incoming, turn_channel, "stored", question.why
            )
            if outcome not in IN_HAND:
                log.info("question %s is not answered: %s", question.message_id, outcome)
                await self._settle(question)

    async def _speak(self, question: StoredQuestion, turn_channel: DiscordTurnChannel) -> None:
        """Let the bot speak on an occasion that an earlier process had claimed."""
        occasion = await self._occasions[reason_word(question.why)](question, turn_channel)
        if occasion is None:
            await self._settle(question)
            return
        outcome = await self._channel_turns.begin(occasion, turn_channel)
        if outcome not in IN_HAND:
            log.info("occasion %s passes: %s", question.message_id, outcome)
            await self._settle(question)

    async def _go_on(
        self,
        question: StoredQuestion,
        turn_channel: DiscordTurnChannel,
        incoming: IncomingMessage | None,
        turns: Sequence[TurnRecord],
        waiting: frozenset[int],
    ) -> None:
        """Continue an answer if it is the channel's last one and was interrupted."""
        last = turns[0] if turns else None
        if last is None or last.status != INTERRUPTED or not _is_about(last, question):
            await self._end(question)
        elif not last.message_ids and reason_word(question.why) in self._occasions:
            await self._speak(question, turn_channel)
        elif not last.message_ids:
            # The answer was cut off before its first message arrived.
            await self._answer(question, turn_channel, incoming)
        elif await is_written(self._occasions, question, turn_channel):
            await self._end(question)  # a model cannot continue a text that was given
        elif self._is_too_old(question):
            await self._tell(question, turn_channel, incoming, GO_ON)
        elif not await self._channel_turns.resume(turn_channel, last, waiting):
            await self._end(question)

    async def _end(self, question: StoredQuestion) -> None:
        """Leave the answer as it is, and settle its question, so that nothing answers it again."""
        await self._db.seen.note(question.channel_id, question.message_id)
        await self._settle(question)

    async def _tell(
        self,
        question: StoredQuestion,
        turn_channel: DiscordTurnChannel,
        incoming: IncomingMessage | None,
        words: str,
    ) -> None:
        sink = turn_channel.sink(incoming)
        with in_language(await self._language_of(turn_channel.path, turn_channel.locale)):
            embed = Embed(translated(TITLE), translated(words))
        notice = Post(f"q{question.message_id}-late", embed=embed, reply=True)
        if not await notify_once(notice, sink, question.message_id):
            log.warning(
                "channel %s: the notice about a question could not be sent", question.channel_id
            )
        await self._db.seen.note(question.channel_id, question.message_id)
        await self._settle(question)

    def _is_too_old(self, question: StoredQuestion) -> bool:
        return question.at is not None and utc_now() - question.at > self._max_age

    async def _settle(self, *questions: StoredQuestion) -> None:
        numbers = [question.message_id for question in questions]
        await self._db.questions.settle(questions[0].channel_id, numbers)


def _by_channel(questions: Iterable[StoredQuestion]) -> list[list[StoredQuestion]]:
    ordered = sorted(questions, key=lambda one: (one.channel_id, one.message_id))
    return [list(group) for _, group in groupby(ordered, lambda one: one.channel_id)]


def _answers(turn: TurnRecord, question: StoredQuestion) -> bool:
    """Return whether the turn answered the question: then only its row must be deleted."""
    if turn.at is None or question.at is None or turn.at < question.at or was_unseen(turn):
        return False
    return turn.asked_id == question.message_id


def _is_about(turn: TurnRecord, question: StoredQuestion) -> bool:
    """Return whether the turn belongs to the question, or to no question (a called persona)."""
    return turn.asked_id in (None, question.message_id)
