"""Runs one job: a question with the personas that answer it, each in a turn of its own.

Their answers can call further personas, whose jobs come next.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from datetime import datetime

from oshaberi.bot.conversation.answer_buttons import rows_under, rows_while_running
from oshaberi.bot.conversation.messages import ChannelMessage, IncomingMessage, Person
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.turns.admission.channel_queue import ChannelQueue, QueuedJob, TurnRequest
from oshaberi.bot.turns.admission.rules import reason_word
from oshaberi.bot.turns.answer_versions import AnswerVersions
from oshaberi.bot.turns.notices import StatusReactions, notify_overload, notify_too_late
from oshaberi.bot.turns.outcome import (
    TurnOutcome,
    has_succeeded,
    log_answer,
    stop_reason,
    stored_unsaid_reason,
)
from oshaberi.bot.turns.personas import AnswerPlace, allowed_in, who_is_called, who_joins_in
from oshaberi.bot.turns.running.greeting import Greetings, says_only_the_name
from oshaberi.bot.turns.running.turn import Turn
from oshaberi.bot.turns.services.model_access import ModelName
from oshaberi.bot.turns.services.turn_services import (
    BackgroundTasks,
    TurnObservers,
    TurnTraffic,
)
from oshaberi.bot.turns.services.turn_slots import NoTurnSlotError, turn_slot
from oshaberi.clocks import loop_time_s
from oshaberi.stream.stops import ActiveChannel, InterruptedTurnError
from oshaberi.turn_tracing import TurnIds, of_turn, traced_turn

log = logging.getLogger(__name__)


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
    """Set how many more personas each job may call: the last one the rest, all others none."""
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
    """Why no persona said anything, as stored; None if one did, or will after a restart."""

    @property
    def is_silent(self) -> bool:
        """Return whether the personas that were asked chose to say nothing."""
        return reason_word(self.unsaid or "") in SILENT


class JobRunner:
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
        """Return why the running answer with this message was admitted; None if there is none."""
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
        """Let a persona greet if it is called here for the first time; None if it is not."""
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


# -- the buttons under an answer: *Stop* while it is written, the others when it is done -----------
#
# The answer neither waits for them nor fails with them.


MOVE_SECONDS = 3.0
"""How long an answer runs before it gets *Stop*, and how long the button stays in one place."""


class TurnButtons:
    """The buttons of one turn. `newest_id` returns the newest message of its answer."""

    def __init__(
        self, job: QueuedJob, newest_id: Callable[[], int | None], versions: AnswerVersions
    ) -> None:
        self._turn_channel = job.turn_channel
        self._continues = job.continues
        self._mode = job.settings.turn.answer_buttons
        self._newest_id = newest_id
        self._versions = versions
        self._over = asyncio.Event()
        self._moving = asyncio.Lock()
        self._stops: set[int] = set()
        """The messages that may have the button *Stop*."""

    async def follow(self) -> None:
        """Keep *Stop* under the newest message while the answer is written."""
        while self._mode == "always" and not self._over.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), MOVE_SECONDS)
            newest = self._newest_id()
            if newest is not None and newest not in self._stops:
                async with self._moving:
                    await self._move(newest)

    async def _move(self, newest: int) -> None:
        if self._over.is_set():
            return
        self._stops.add(newest)
        await self._turn_channel.set_buttons(newest, rows_while_running(newest))
        await self._clear({one for one in self._stops if one != newest})

    async def _clear(self, message_ids: set[int]) -> None:
        for message_id in sorted(message_ids):
            await self._turn_channel.set_buttons(message_id, ())
            self._stops.discard(message_id)

    def end(self) -> None:
        """Note that the answer is done, in whatever way."""
        self._over.set()

    async def finish(self, outcome: TurnOutcome) -> None:
        """Put the buttons under the last message of the answer, after its records are stored."""
        self.end()
        async with self._moving:  # a button already on its way goes first
            ids = sorted({*outcome.message_ids, *outcome.notice_ids})
            if not ids or outcome.is_cut_by_restart:
                await self._clear(set(self._stops))
                return
            await self._clear({one for one in self._stops if one != ids[-1]})
            earlier = () if self._continues is None else self._continues.message_ids
            if earlier and max(earlier) not in ids:
                await self._turn_channel.set_buttons(max(earlier), ())
            place = await self._versions.place_of_message(ids[-1])
            await self._turn_channel.set_buttons(ids[-1], rows_under(self._mode, ids[-1], place))
