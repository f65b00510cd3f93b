"""Runs the queues of the busy channels: in each one job (`job_runner`) after the other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import ExitStack

from oshaberi.bot.turns.admission.channel_queue import ChannelQueue, QueuedJob
from oshaberi.bot.turns.admission.message_admission import MessageAdmission
from oshaberi.bot.turns.admission.questions import OpenQuestions
from oshaberi.bot.turns.caches import BoundedCache
from oshaberi.bot.turns.notices import StatusReactions
from oshaberi.bot.turns.own_threads import OwnThreads
from oshaberi.bot.turns.running.job_runner import JobRunner
from oshaberi.bot.turns.services.turn_services import (
    TurnTraffic,
)
from oshaberi.languages import speak_language
from oshaberi.languages.current_language import channel_language
from oshaberi.stream.stops import ActiveChannel

log = logging.getLogger(__name__)

LAST_SECONDS = 20.0
"""How long stopped turns may take to end: a message that is being sent is awaited (spec 04 O1), and
a hundred turns that end at once have to store what they did and send notices."""


class QueueRunner:
    """The queues of one process, by channel. `reasons` has why messages were answered or not."""

    def __init__(
        self,
        traffic: TurnTraffic,
        runner: JobRunner,
        admission: MessageAdmission,
        questions: OpenQuestions,
        reasons: BoundedCache[int, str],
        reactions: StatusReactions,
        own_threads: OwnThreads,
    ) -> None:
        self._own_threads = own_threads
        self.queues: dict[int, ChannelQueue] = {}
        self.is_closing = False
        self.on_busy: Callable[[int, bool], None] = lambda _channel_id, _busy: None
        self._stops, self._slots = traffic.stops, traffic.slots
        self._runner = runner
        self._admission = admission
        self._questions = questions
        self._reasons = reasons
        self._reactions = reactions
        self._tasks: set[asyncio.Task[None]] = set()

    def is_busy(self, channel_id: int) -> bool:
        return channel_id in self.queues

    def enter(self, job: QueuedJob) -> str:
        """Run the job now, or queue it. From now on the channel is active."""
        queue = self.queues.get(job.turn_channel.channel_id)
        if self.is_closing:
            return "closing"
        if queue is None:
            self._open(job)
            return job.why
        if not queue.has_room_for(job):
            if not job.is_uninvited:
                self._reactions.full(job.turn_channel, job.asked[-1].said.id)
            return "full"
        if queue.enter(job):
            channel = str(job.turn_channel.channel_id)
            self._stops.request_follow_up(channel, str(job.user_id))
        return job.why

    def _open(self, job: QueuedJob) -> None:
        """Make a queue for a channel that is not busy, and run the job."""
        held = ExitStack()
        queue = ChannelQueue(job, self._hold(held, job), is_gathering=job.burst is not None)
        self.queues[job.turn_channel.channel_id] = queue
        task = asyncio.create_task(self._run(queue, held))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.on_busy(job.turn_channel.channel_id, True)

    def why_written(self, message_id: int) -> str | None:
        """Return why the running answer with this message was admitted; None if there is none."""
        return self._runner.why_written(message_id)

    async def idle(self) -> None:
        """Wait until no turn runs or waits."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def close(self, grace_s: float) -> None:
        """Let turns finish for `grace_s` seconds, then end them at the next sentence."""
        self.is_closing = True
        self._slots.dismiss_waiting()
        for queue in self.queues.values():
            if queue.is_gathering and queue.job.burst is not None:
                queue.job.burst.end()
        tasks = set(self._tasks)
        if tasks:
            _, tasks = await asyncio.wait(tasks, timeout=grace_s)
        for channel_id in self.queues:
            self._stops.request_end(str(channel_id))
        if tasks:
            _, tasks = await asyncio.wait(tasks, timeout=LAST_SECONDS)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _hold(self, held: ExitStack, job: QueuedJob) -> ActiveChannel:
        channel = str(job.turn_channel.channel_id)
        return held.enter_context(self._stops.active(channel, str(job.user_id)))

    async def _run(self, queue: ChannelQueue, held: ExitStack) -> None:
        """Run all jobs of one channel."""
        channel_id = queue.job.turn_channel.channel_id
        try:
            while True:
                if await self._wait_for_burst(queue):
                    await self._perform(queue)
                if self.is_closing or not queue.waiting:
                    return
                # No instant lies between: the channel stays active.
                held.close()
                queue.next_job()
                queue.channel = self._hold(held, queue.job)
        finally:
            held.close()
            del self.queues[channel_id]
            self.on_busy(channel_id, False)

    async def _wait_for_burst(self, queue: ChannelQueue) -> bool:
        """Wait until the question is complete. Return whether it still has to be answered."""
        burst = queue.job.burst
        if burst is None:
            return True
        try:
            # A stop ends the wait; the turn finds it.
            with queue.channel.heard_by(burst.end):
                await burst.over()
        finally:
            queue.is_gathering = False
        return bool(queue.job.asked) and not self.is_closing

    async def _move(self, queue: ChannelQueue) -> bool:
        """Let a question be answered in a thread of its own, if it gets one. Return whether."""
        job = queue.job
        moved = await self._own_threads.moved(job)
        if moved is None:
            return False
        if job.stored is not None:
            await asyncio.wait({job.stored})
        # In this order, a restart finds the question in one of the two places.
        await self._note_seen(queue)
        await self._questions.keep(moved)
        await self._questions.settle(job.turn_channel.channel_id, job.message_ids)
        self.enter(moved)
        return True

    async def _perform(self, queue: ChannelQueue) -> None:
        if await self._move(queue):
            return
        job = queue.job
        if not job.is_uninvited:
            self._admission.note_talk(job)
        await self._questions.join(job)
        speak_language(channel_language(job.settings.turn.language, job.turn_channel.locale))
        try:
            performed = await self._runner.of(queue)
        except Exception:
            # The next message must be answered all the same.
            log.exception("a turn could not be run in channel %s", job.turn_channel.channel_id)
            self._note_unsaid(job, "failed")
            return
        queue.waiting.extend(performed.called)
        self._note_unsaid(job, performed.unsaid)
        if not performed.is_silent:
            self._admission.note_talk(job)
        if performed.is_settled:
            # Both together, so that one transaction stores them. A cut answer is stored with its
            # turn.
            settled = () if performed.is_cut else (self._questions.settle_job(job),)
            await asyncio.gather(self._note_seen(queue), *settled)

    def _note_unsaid(self, job: QueuedJob, reason: str | None) -> None:
        """Note why a question got no answer. Jobs that only follow an answer are not noted."""
        if reason is not None and job.kind == "answer" and not job.depth:
            for message_id in job.message_ids:
                self._reasons.put(message_id, reason)

    async def _note_seen(self, queue: ChannelQueue) -> None:
        """Store the message up to which nothing waits. A restart searches only after it."""
        if not queue.job.is_message:
            return
        newest, oldest = queue.job.asked[-1].said.id, queue.oldest_waiting
        if oldest is not None:
            newest = min(newest, oldest - 1)
        await self._questions.note_seen(queue.job.turn_channel.channel_id, newest)
