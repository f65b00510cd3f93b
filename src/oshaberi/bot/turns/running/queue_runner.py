"""Runs the queues of the busy channels: in each one job after the other, when a slot is free.

A job is a question with the personas that answer it, each in a turn of its own; their answers can
call further personas.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, replace
from datetime import datetime

from oshaberi.bot.conversation.messages import ChannelMessage, IncomingMessage, Person
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.turns.admission.channel_queue import ChannelQueue, QueuedJob, TurnRequest
from oshaberi.bot.turns.admission.message_admission import MessageAdmission
from oshaberi.bot.turns.admission.questions import OpenQuestions
from oshaberi.bot.turns.admission.single_message_rules import reason_word
from oshaberi.bot.turns.answer_versions import AnswerVersions
from oshaberi.bot.turns.caches import BoundedCache
from oshaberi.bot.turns.notices import StatusReactions, notify_overload, notify_too_late
from oshaberi.bot.turns.outcome import (
    TurnOutcome,
    has_succeeded,
    log_answer,
    stop_reason,
    stored_unsaid_reason,
)
from oshaberi.bot.turns.own_threads import OwnThreads
from oshaberi.bot.turns.personas import AnswerPlace, allowed_in, who_is_called, who_joins_in
from oshaberi.bot.turns.running.greeting import Greetings, says_only_the_name
from oshaberi.bot.turns.running.turn import Turn
from oshaberi.bot.turns.running.turn_buttons import TurnButtons
from oshaberi.bot.turns.services.model_access import ModelName
from oshaberi.bot.turns.services.turn_services import (
    BackgroundTasks,
    TurnObservers,
    TurnTraffic,
)
from oshaberi.bot.turns.services.turn_slots import NoTurnSlotError, turn_slot
from oshaberi.clocks import loop_time_s
from oshaberi.languages import speak_language
from oshaberi.languages.current_language import channel_language
from oshaberi.stream.stops import ActiveChannel, InterruptedTurnError
from oshaberi.turn_tracing import TurnIds, of_turn, traced_turn

log = logging.getLogger(__name__)

LAST_SECONDS = 20.0
"""How long stopped turns may take to end: a message that is being sent is awaited (spec 04 O1), and
a hundred turns that end at once have to store what they did and send notices."""


class QueueRunner:
    """The queues of one process, by channel. `reasons` has why messages were answered or not."""

    def __init__(
        self,
        traffic: TurnTraffic,
        runner: TurnRunner,
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
        """Return why a running answer that has this message is given; None if there is none."""
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
        # In this order, so that a restart finds the question in one of the two places.
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


# An answer can call other personas, by their trigger words, within `self_trigger_limit`.
@dataclass(slots=True)
class AnsweredPersona:
    """One persona's answer in a job."""

    persona: PersonaRecord
    outcome: TurnOutcome


def called_jobs(
    job: QueuedJob, played: Sequence[AnsweredPersona], now: datetime, draw: Callable[[], float]
) -> tuple[QueuedJob, ...]:
    """Return the jobs of called personas. `self_trigger_limit` limits their answers in all.

    If an answer calls nobody, others may join in by their talkativeness (`persona_talk_enabled`).
    """
    left = job.settings.turn.self_trigger_limit - job.called
    if left <= 0 or any(one.outcome.interrupted for one in played):
        return ()
    answered = {one.persona.name for one in played}
    here = job.turn_channel
    place = AnswerPlace(here.path, here.is_age_restricted, now)
    jobs: list[QueuedJob] = []
    for one in played:
        called = who_is_called(one.outcome.text, one.persona, job.personas)
        if not called and job.settings.turn.persona_talk_enabled:
            called = who_joins_in(one.persona, job.personas, draw)
        called = allowed_in(called, place)
        fresh = tuple(persona for persona in called if persona.name not in answered)[:left]
        if fresh and one.outcome.message_ids:
            answered |= {persona.name for persona in fresh}
            left -= len(fresh)
            asked = _as_incoming(job, one, now)
            jobs.append(_reply_job(job, asked, fresh, one.outcome.message_ids))
    return _with_limits(jobs, left)


def _with_limits(jobs: list[QueuedJob], left: int) -> tuple[QueuedJob, ...]:
    """Set how many more personas each job may call: the last one all that are left, others none."""
    spent = [replace(job, called=job.settings.turn.self_trigger_limit) for job in jobs]
    if spent:
        spent[-1] = replace(spent[-1], called=spent[-1].called - left)
    return tuple(spent)


def _as_incoming(job: QueuedJob, played: AnsweredPersona, now: datetime) -> IncomingMessage:
    """Return an answer of the bot as a message that another persona may answer."""
    newest = job.asked[-1]
    said = ChannelMessage(
        id=played.outcome.message_ids[-1],
        author=Person(
            0,
            played.persona.name,
            is_bot=True,
            can_read_history=newest.said.author.can_read_history,
            can_add_reactions=newest.said.author.can_add_reactions,
        ),
        text=played.outcome.text,
        at=now,
        by_us=True,
        shown_as=played.persona.name,
    )
    return replace(newest, said=said, mentions_us=False, replied=None)


def _reply_job(
    job: QueuedJob,
    asked: IncomingMessage,
    answering: tuple[PersonaRecord, ...],
    hidden_ids: tuple[int, ...],
) -> QueuedJob:
    return QueuedJob(
        job.turn_channel,
        (asked,),
        answering,
        job.personas,
        "persona",
        job.user_id,
        job.settings,
        hidden_ids=frozenset(hidden_ids),
        depth=job.depth + 1,
    )


SILENT = ("silent", "silent_because")


@dataclass(frozen=True, slots=True)
class JobResult:
    """The result of a job. `called` are the jobs of personas that an answer called.

    `is_settled` is false if a shutdown came before anything was said: the job can run again.
    `is_cut`: a shutdown came in the middle, and the answer can be continued.
    """

    called: tuple[QueuedJob, ...] = ()
    is_settled: bool = True
    is_cut: bool = False
    unsaid: str | None = None
    """Why no persona said anything, as it is stored; None if one did, or will after a restart."""

    @property
    def is_silent(self) -> bool:
        """Return whether the personas that were asked chose to say nothing."""
        return reason_word(self.unsaid or "") in SILENT


class TurnRunner:
    """Runs jobs, each persona's answer as one of `new_turn`.

    `reason_of` returns why a message was admitted; `failing` the models whose failures are known.
    """

    def __init__(
        self,
        new_turn: Callable[[TurnRequest, ActiveChannel], Turn],
        *,
        traffic: TurnTraffic,
        observers: TurnObservers,
        reactions: StatusReactions,
        greetings: Greetings,
        reason_of: Callable[[int], str | None],
        failing: Callable[[], frozenset[ModelName]],
        background: BackgroundTasks,
        versions: AnswerVersions,
        clock: Callable[[], datetime],
        draw: Callable[[], float],
    ) -> None:
        self._new_turn = new_turn
        self._versions = versions
        self._traffic = traffic
        self._observers = observers
        self._reactions = reactions
        self._greetings = greetings
        self._reason_of = reason_of
        self._failing = failing
        self._background = background
        self._clock = clock
        self._draw = draw
        self._running: set[Turn] = set()

    def why_written(self, message_id: int) -> str | None:
        """Return why a running answer that has this message is given; None if there is none."""
        found = (turn.why_written(message_id) for turn in self._running)
        return next(filter(None, found), None)

    async def of(self, queue: ChannelQueue) -> JobResult:
        """Run the job of a queue as soon as Discord answers and there is a slot for it."""
        place = queue.job.turn_channel
        with of_turn(TurnIds(place.server_id, place.channel_id, queue.job.user_id)):
            return await self._of(queue)

    async def _of(self, queue: ChannelQueue) -> JobResult:
        job, channel = queue.job, queue.channel
        began_s, outage = loop_time_s(), self._traffic.outage
        asked_s = began_s if job.asked_s is None else job.asked_s
        try:
            if outage is not None and outage.is_away:
                await channel.until_stopped(outage.resolved())
            if outage is not None and outage.seconds_since(asked_s) > outage.patience_s:
                await notify_too_late(job, channel)
                return JobResult(unsaid="discord_away")
            is_shown = not job.is_uninvited
            slots = self._traffic.slots
            async with turn_slot(slots, job.turn_channel, channel, is_shown=is_shown):
                return await self._with_slot(queue)
        except NoTurnSlotError as refusal:
            if refusal.reason == "ending":
                return JobResult(is_settled=False)
            if outage is not None and outage.seconds_since(began_s) > 0:
                return await self._of(queue)  # the slots were full of answers that wait
            await notify_overload(job, channel, self._reactions)
            return JobResult(unsaid="overloaded")
        except InterruptedTurnError as stop:
            is_settled = stop.request.reason != "system_request"
            return JobResult(is_settled=is_settled, unsaid=stop_reason(stop.request))

    async def _with_slot(self, queue: ChannelQueue) -> JobResult:
        job, channel = queue.job, queue.channel
        working = self._reactions.working(job)
        played: list[AnsweredPersona] = []
        try:
            async with AsyncExitStack() as stack:
                alone = self._traffic.alone(f"turn:{job.turn_channel.channel_id}")
                await channel.until_stopped(stack.enter_async_context(alone))
                await self._play(queue, played)
        finally:
            self._reactions.done(job, working, has_succeeded([one.outcome for one in played]))
            if job.is_message and any(one.outcome.is_shut_out for one in played):
                self._reactions.mute(job.turn_channel, job.asked[-1].said.id)
        unsaid = played and all(one.outcome.is_unsaid for one in played)
        cut = any(one.outcome.is_cut_by_restart for one in played)
        called = called_jobs(job, played, self._clock(), self._draw)
        reason = stored_unsaid_reason([one.outcome for one in played])
        return JobResult(called, not unsaid, cut, reason)

    async def _play(self, queue: ChannelQueue, played: list[AnsweredPersona]) -> None:
        job = queue.job
        for persona in job.answering[: job.settings.turn.max_answering_personas]:
            greeting = await self._greet(queue, persona)
            if greeting is not None and (greeting.interrupted or says_only_the_name(job, persona)):
                played.append(AnsweredPersona(persona, greeting))
                if greeting.interrupted:
                    return
                continue
            asked = TurnRequest(
                job,
                persona,
                frozenset(number for one in played for number in one.outcome.message_ids),
                lambda: queue.waiting_ids,
                self._reason_of,
                () if greeting is None else greeting.message_ids,
            )
            turn = self._new_turn(asked, queue.channel)
            known_to_fail = self._failing()
            began_s = loop_time_s() if job.asked_s is None or played else job.asked_s
            buttons = None
            if job.settings.turn.answer_buttons != "off":
                buttons = TurnButtons(job, turn.newest_message_id, self._versions)
            with of_turn(turn.ids):
                outcome = await self._with_buttons(turn, job, buttons)
                times = turn.times(job.asked_s)
                if not played:
                    self._observers.on_answered(times)
                why = reason_word(job.why)
                log_answer(outcome, times, loop_time_s() - began_s, why, known_to_fail)
                played.append(AnsweredPersona(persona, outcome))
                for what, work in turn.afterwards(outcome):
                    self._background.start(what, work)
                if buttons is not None:
                    self._background.start("the answer's buttons", buttons.finish(outcome))
            if outcome.interrupted:
                return

    async def _greet(self, queue: ChannelQueue, persona: PersonaRecord) -> TurnOutcome | None:
        """Let a persona greet that is called here for the first time; None if it is not."""
        job = await self._greetings.due(queue.job, persona)
        if job is None:
            return None
        turn = self._new_turn(TurnRequest(job, persona), queue.channel)
        with of_turn(turn.ids):
            return await self._traced(turn, job)

    async def _with_buttons(
        self, turn: Turn, job: QueuedJob, buttons: TurnButtons | None
    ) -> TurnOutcome:
        if buttons is None:
            return await self._traced(turn, job)
        if job.settings.turn.answer_buttons == "always":
            self._background.start("the button to stop", buttons.follow())
        try:
            return await self._traced(turn, job)
        finally:
            buttons.end()

    async def _traced(self, turn: Turn, job: QueuedJob) -> TurnOutcome:
        values = {"oshaberi.why": job.why, "oshaberi.kind": job.kind}
        with traced_turn(self._observers.tracer, turn.ids, values) as span:
            self._running.add(turn)
            try:
                outcome = await turn.run(is_crowded=self._traffic.slots.is_crowded)
            finally:
                self._running.discard(turn)
            span.note(
                {"oshaberi.status": outcome.status, "oshaberi.messages": len(outcome.message_ids)}
            )
            if not outcome.succeeded and not outcome.interrupted:
                span.fail(outcome.status)
            return outcome
