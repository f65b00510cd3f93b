"""Questions without an answer yet: stored for a restart, and changed until their turn begins."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace

from oshaberi.bot.conversation.messages import IncomingMessage, TurnChannel
from oshaberi.bot.storage import Database
from oshaberi.bot.storage.errors import StorageAwayError
from oshaberi.bot.storage.records import StoredQuestion
from oshaberi.bot.turns.admission.channel_queue import (
    ChannelQueue,
    QueuedJob,
    is_complete,
    personas_called,
)
from oshaberi.bot.turns.admission.message_admission import HeardMessage, MessageAdmission
from oshaberi.bot.turns.admission.rules import ADDRESSED, HAD_A_TURN, reason_word
from oshaberi.bot.turns.caches import BoundedCache
from oshaberi.bot.turns.services.turn_services import BackgroundTasks
from oshaberi.clocks import loop_time_s

log = logging.getLogger(__name__)

RESTART = "restart"
"""The reason of an answer that is continued automatically after a restart."""


class OpenQuestions:
    """Stores questions that have no answer yet, so that a restart does not lose them.

    If the database fails, a question is still answered, but a crash loses it.
    """

    def __init__(self, db: Database, instance: str) -> None:
        self._db = db
        self._instance = instance

    async def keep(self, job: QueuedJob) -> None:
        """Store a question before a model is asked."""
        await self._keep(job, is_begun=False)

    async def join(self, job: QueuedJob) -> None:
        """Settle all but the newest of several messages that get one answer.

        The model sees the others in the history.
        """
        if job.is_message and len(job.asked) > 1:
            await self.settle(job.turn_channel.channel_id, job.message_ids[:-1])

    async def keep_cut(self, job: QueuedJob) -> None:
        """Store a question whose answer a restart cut off, so that the answer is continued.

        If the settings do not want that, it is settled.
        """
        if job.settings.turn.continue_after_restart:
            await self._keep(job, is_begun=True)
        else:
            await self.settle(job.turn_channel.channel_id, job.message_ids)

    async def settle_job(self, job: QueuedJob) -> None:
        """Settle the questions of a job.

        Commands have none, except the one that continues an answer after a restart.
        """
        if job.is_question:
            await self.settle(job.turn_channel.channel_id, job.message_ids)
        elif job.why == RESTART:
            await self.settle(job.turn_channel.channel_id, (_asked_id(job),))

    async def settle(self, channel_id: int, message_ids: Collection[int]) -> None:
        """Delete questions that were answered, refused with a notice, or withdrawn."""
        await _try_to_store(self._db.questions.settle(channel_id, message_ids))

    async def note_seen(self, channel_id: int, message_id: int) -> None:
        """Store up to which message a channel needs no search after a restart."""
        await _try_to_store(self._db.seen.note(channel_id, message_id))

    async def _keep(self, job: QueuedJob, *, is_begun: bool) -> None:
        question = StoredQuestion(
            channel_id=job.turn_channel.channel_id,
            message_id=_asked_id(job),
            server_id=job.turn_channel.server_id,
            user_id=job.user_id,
            instance=self._instance,
            why=job.why,
            is_begun=is_begun,
        )
        await _try_to_store(self._db.questions.keep(question))


def _asked_id(job: QueuedJob) -> int:
    """Return the id of the question; for a continued answer, that of its first part."""
    earlier = None if job.continues is None else job.continues.asked_id
    return earlier or job.message_ids[-1]


async def _try_to_store(write: Awaitable[None]) -> None:
    try:
        await write
    except StorageAwayError:
        log.debug("which questions are open is stored when the database is back")
    except Exception as error:
        # An answer that a crash could lose is better than none.
        log.warning("which questions are open could not be stored: %s", error)


Claim = Callable[[int], Awaitable[bool]]
"""Decides whether this process may answer the message: of several processes, only one may."""

CLAIMED = "claimed"
"""Another process answers it. If that one ends, the message can be claimed again."""


def with_part(begun: QueuedJob, part: QueuedJob) -> QueuedJob:
    """Return a job with one more message of its author's burst.

    Every persona that one of the messages calls will answer.
    """
    asked = tuple(sorted((*begun.asked, *part.asked), key=lambda one: one.said.id))
    return replace(
        begun,
        turn_channel=part.turn_channel,
        asked=asked,
        answering=personas_called(asked, begun.personas) or begun.answering,
    )


class UnbegunQuestions:
    """Changes questions whose turns have not begun: adds a message to one, or takes one out.

    A message is taken out if it is deleted or edited, or if a proxy bot replaced it by its copy.
    `queues` is by channel.
    """

    def __init__(
        self,
        queues: Mapping[int, ChannelQueue],
        admission: MessageAdmission,
        questions: OpenQuestions,
        reasons: BoundedCache[int, str],
        background: BackgroundTasks,
        claim: Claim | None,
    ) -> None:
        self._queues = queues
        self._admission = admission
        self._questions = questions
        self._reasons = reasons
        self._background = background
        self._claim = claim

    async def is_ours(self, incoming: IncomingMessage) -> bool:
        return self._claim is None or await self._claim(incoming.said.id)

    async def join_burst(self, heard: HeardMessage, turn_channel: TurnChannel) -> str | None:
        """Add a message to the question that its author has begun, if there is one.

        Returns why the message is answered, or None if it is not part of a question.
        """
        queue = self._queues.get(heard.incoming.channel_id)
        if queue is None or not heard.may_belong:
            return None
        begun = queue.bursting(heard.incoming.user_id, loop_time_s())
        most = heard.settings.turn.waiting_limit
        if begun is None or begun.burst is None or len(begun.asked) >= most:
            return None
        begun.burst.note_message(loop_time_s())
        if heard.admission.ok and not await self.is_ours(heard.incoming):
            return CLAIMED
        still = queue.job_of(begun.message_ids[-1])
        if still is None:
            return None
        reason = heard.admission.as_stored if heard.admission.ok else "burst"
        # Before it is stored: meanwhile the rest of its question may be deleted.
        self._reasons.put(heard.incoming.said.id, reason)
        await self._add(queue, still, heard, turn_channel)
        return reason

    async def _add(
        self, queue: ChannelQueue, begun: QueuedJob, heard: HeardMessage, turn_channel: TurnChannel
    ) -> None:
        part = self._admission.job(heard, turn_channel, begun.why, "new")
        job = with_part(self._as_asked(begun, heard), part)
        queue.replace_job(begun, job)
        # One question from now on: the newest. A restart must not find the others either.
        channel_id = turn_channel.channel_id
        await asyncio.gather(
            self._questions.keep(job),
            self._questions.join(job),
            self._questions.note_seen(channel_id, job.message_ids[-2]),
        )
        if job.burst is not None and is_complete(heard.incoming):
            job.burst.end()

    def _as_asked(self, job: QueuedJob, heard: HeardMessage) -> QueuedJob:
        """Return a job as an asked one, if its author now addresses the bot.

        Until then it was answered by chance, or because every message of the channel is.
        """
        found = heard.admission
        if not job.is_unaddressed or found.reason not in ADDRESSED:
            return job
        self._admission.cooldowns.note(job.user_id, loop_time_s())
        asked = self._admission.job(heard, job.turn_channel, found.as_stored, "new")
        return replace(job, why=found.as_stored, answering=asked.answering)

    def settle_copy(self, incoming: IncomingMessage) -> bool:
        """Drop the original of a proxy's copy if it waits. Return True if it was answered."""
        copied_id = incoming.copied_id
        if copied_id is None or self.drop(incoming.channel_id, copied_id, "replaced"):
            return False
        return reason_word(self._reasons.get(copied_id) or "") in HAD_A_TURN

    async def amend(self, changed: IncomingMessage) -> None:
        """Replace a message by its edited version.

        Drop it if it no longer addresses the bot, or now addresses somebody else.
        """
        channel_id, message_id = changed.channel_id, changed.said.id
        heard = await self._admission.heard(changed)
        found = heard.admission
        was_for_us = reason_word(self._reasons.get(message_id) or "") in ADDRESSED
        if not found.ok and (was_for_us or found.reason == "others"):
            self.withdraw(channel_id, message_id, found.as_stored)
        elif (queue := self._queues.get(channel_id)) is not None:
            await self._amend(queue, heard)

    async def _amend(self, queue: ChannelQueue, heard: HeardMessage) -> None:
        message_id, found = heard.incoming.said.id, heard.admission
        job = queue.job_of(message_id)
        if job is None:
            return
        asked = self._as_asked(job, heard)
        queue.replace_job(job, asked)
        queue.amend(heard.incoming)
        if found.reason in ADDRESSED:
            # A question by itself from now on, even if the one before it is deleted.
            self._reasons.put(message_id, found.as_stored)
        if asked is not job:
            await self._questions.keep(asked)

    def withdraw(self, channel_id: int, message_id: int, reason: str) -> None:
        """Drop a message. If no other message of its question addressed the bot, drop them too."""
        queue = self._queues.get(channel_id)
        job = None if queue is None else queue.job_of(message_id)
        if queue is None or job is None or not self.drop(channel_id, message_id, reason):
            return
        left = [number for number in job.message_ids if number != message_id]
        reasons = [why for number in left if (why := self._reasons.get(number) or "") != "burst"]
        if not reasons:
            for number in left:
                self.drop(channel_id, number, "unaddressed")
        elif job.why not in reasons and (rest := queue.job_of(left[0])) is not None:
            why = next((one for one in reasons if reason_word(one) in ADDRESSED), reasons[0])
            queue.replace_job(rest, replace(rest, why=why))

    def drop(self, channel_id: int, message_id: int, reason: str) -> bool:
        """Take a message out of its question. Return whether it was part of one."""
        queue = self._queues.get(channel_id)
        left = None if queue is None else queue.withdraw(message_id)
        if left is None:
            return False
        self._reasons.put(message_id, reason)
        self._background.start(
            "settling a dropped question", self._settle_dropped(left, message_id)
        )
        return True

    async def _settle_dropped(self, left: QueuedJob, message_id: int) -> None:
        """Settle a dropped message, and store what is left of its question."""
        if left.asked and left.message_ids[-1] < message_id:
            await self._questions.keep(left)
        await self._questions.settle(left.turn_channel.channel_id, (message_id,))
