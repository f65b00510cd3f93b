"""Stores questions that have no answer yet, so that a restart does not lose them.

If the database fails, a question is still answered, but a crash loses it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Collection

from oshaberi.storage.storage_errors import StorageAwayError
from oshaberi.storage.stored_records import StoredQuestion
from oshaberi.turns.admission.channel_queue import QueuedJob
from oshaberi.turns.services.turn_services import TurnServices

log = logging.getLogger(__name__)

RESTART = "restart"
"""The reason of an answer that is continued automatically after a restart."""


class OpenQuestions:
    """The open questions of one process."""

    def __init__(self, services: TurnServices) -> None:
        self._services = services

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
        if job.is_message:
            await self.settle(job.turn_channel.channel_id, job.message_ids)
        elif job.why == RESTART:
            await self.settle(job.turn_channel.channel_id, (_asked_id(job),))

    async def settle(self, channel_id: int, message_ids: Collection[int]) -> None:
        """Delete questions that were answered, refused with a notice, or withdrawn."""
        store = self._services.store
        if store is not None:
            await _stored(store.questions.settle(channel_id, message_ids))

    async def note_seen(self, channel_id: int, message_id: int) -> None:
        """Store up to which message a channel needs no search after a restart."""
        store = self._services.store
        if store is not None:
            await _stored(store.seen.note(channel_id, message_id))

    async def _keep(self, job: QueuedJob, *, is_begun: bool) -> None:
        store = self._services.store
        if store is None:
            return
        question = StoredQuestion(
            channel_id=job.turn_channel.channel_id,
            message_id=_asked_id(job),
            server_id=job.turn_channel.server_id,
            user_id=job.user_id,
            instance=self._services.instance,
            why=job.why,
            is_begun=is_begun,
        )
        await _stored(store.questions.keep(question))


def _asked_id(job: QueuedJob) -> int:
    """Return the id of the question; for a continued answer, that of its first part."""
    earlier = None if job.continues is None else job.continues.asked_id
    return earlier or job.message_ids[-1]


async def _stored(write: Awaitable[None]) -> None:
    try:
        await write
    except StorageAwayError:
        log.debug("which questions are open is stored when the database is back")
    except Exception as error:
        # An answer that a crash could lose is better than none.
        log.warning("which questions are open could not be stored: %s", error)
