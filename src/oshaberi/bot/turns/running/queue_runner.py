"""Runs the queues of the busy channels: in each one job after the other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import ExitStack
from typing import Literal

from oshaberi.bot.turns.admission.channel_queue import ChannelQueue, QueuedJob
from oshaberi.bot.turns.admission.message_admission import MessageAdmission
from oshaberi.bot.turns.admission.questions import OpenQuestions
from oshaberi.bot.turns.background_tasks import BackgroundTasks
from oshaberi.bot.turns.caches import BoundedCache
from oshaberi.bot.turns.notices import StatusReactions
from oshaberi.bot.turns.running.turn_runner import TurnRunner
from oshaberi.bot.turns.services.turn_services import TurnServices
from oshaberi.languages import speak_language
from oshaberi.languages.current_language import channel_language
from oshaberi.stream.stops import ActiveChannel

# Applies `follow_up_policy` to a message that arrives while a turn runs (spec 04).


def queue_follow_up(job: QueuedJob, queue: ChannelQueue) -> Literal["wait", "interrupt"]:
    """Put the job into the queue. Return whether it interrupts the running turn.

    Only a new message interrupts, and only a turn of the same user. A message from before a restart
    waits in order of time, and a message that is answered by chance waits too.
    """
    policy = job.settings.turn.follow_up_policy
    if policy == "collect":
        queue.collect(job)
    elif job.arrival != "new":
        queue.put_in_order(job)
    elif policy == "interrupt" and queue.job.user_id == job.user_id and not job.is_uninvited:
        queue.put_first(job)
        return "interrupt"
    else:
        queue.waiting.append(job)
    return "wait"


# Runs the queues of the busy channels: in each one job after the other.


log = logging.getLogger(__name__)

LAST_SECONDS = 20.0
"""How long stopped turns may take to end: a message that is being sent is awaited (spec 04 O1), and
a hundred turns that end at once have to store what they did and send notices."""


class QueueRunner:
    """The queues of one process, by channel. `reasons` has why messages were answered or not."""

    def __init__(
        self,
        services: TurnServices,
        admission: MessageAdmission,
        questions: OpenQuestions,
        reasons: BoundedCache[int, str],
        background: BackgroundTasks,
    ) -> None:
        self.queues: dict[int, ChannelQueue] = {}
        self.is_closing = False
        self.on_busy: Callable[[int, bool], None] = lambda _channel_id, _busy: None
        self._services = services
        self._admission = admission
        self._questions = questions
        self._reasons = reasons
        self._reactions = StatusReactions(background)
        self._runner = TurnRunner(services, background, self._waiting_ids, reasons.get)
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
        if queue_follow_up(job, queue) == "interrupt":
            channel = str(job.turn_channel.channel_id)
            self._services.stops.request_follow_up(channel, str(job.user_id))
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
        """Return why a running answer that has this message is given; None if there is none."""
        return self._runner.why_written(message_id)

    async def idle(self) -> None:
        """Wait until no turn runs or waits."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def close(self, grace_s: float) -> None:
        """Let turns finish for `grace_s` seconds, then end them at the next sentence."""
        self.is_closing = True
        self._services.slots.dismiss_waiting()
        for queue in self.queues.values():
            if queue.is_gathering and queue.job.burst is not None:
                queue.job.burst.end()
        tasks = set(self._tasks)
        if tasks:
            _, tasks = await asyncio.wait(tasks, timeout=grace_s)
        for channel_id in self.queues:
            self._services.stops.request_end(str(channel_id))
        if tasks:
            _, tasks = await asyncio.wait(tasks, timeout=LAST_SECONDS)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _waiting_ids(self, channel_id: int) -> frozenset[int]:
        queue = self.queues.get(channel_id)
        return frozenset() if queue is None else queue.waiting_ids

    def _hold(self, held: ExitStack, job: QueuedJob) -> ActiveChannel:
        channel = str(job.turn_channel.channel_id)
        return held.enter_context(self._services.stops.active(channel, str(job.user_id)))

    async def _run(self, queue: ChannelQueue, held: ExitStack) -> None:
        """Run all jobs of one channel."""
        channel_id = queue.job.turn_channel.channel_id
        try:
            while True:
                if await self._is_written(queue):
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

    async def _is_written(self, queue: ChannelQueue) -> bool:
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

    async def _perform(self, queue: ChannelQueue) -> None:
        job = queue.job
        if not job.is_uninvited:
            self._admission.note_talk(job)
        await self._questions.join(job)
        speak_language(channel_language(job.settings.turn.language, job.turn_channel.locale))
        try:
            performed = await self._runner.of(job, queue.channel)
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
            # Both together, so that one transaction stores them. A cut is stored with its turn.
            settled = () if performed.is_cut else (self._questions.settle_job(job),)
            await asyncio.gather(self._note_seen(queue), *settled)

    def _note_unsaid(self, job: QueuedJob, reason: str | None) -> None:
        """Note why a question got no answer. Jobs that only follow an answer are not noted."""
        if reason is not None and job.kind == "answer" and not job.depth:
            for message_id in job.message_ids:
                self._reasons.put(message_id, reason)

    async def _note_seen(self, queue: ChannelQueue) -> None:
        """Store up to which message nothing waits. A restart searches only after it."""
        if not queue.job.is_message:
            return
        newest, oldest = queue.job.asked[-1].said.id, queue.oldest_waiting
        if oldest is not None:
            newest = min(newest, oldest - 1)
        await self._questions.note_seen(queue.job.turn_channel.channel_id, newest)
