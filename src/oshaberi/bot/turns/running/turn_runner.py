"""Runs a queued job when a slot is free: each persona's turn, and those that an answer calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from oshaberi.bot.conversation.messages import ChannelMessage, IncomingMessage, Person, TurnChannel
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.turns.admission.answer_reasons import reason_word
from oshaberi.bot.turns.admission.channel_queue import QueuedJob
from oshaberi.bot.turns.background_tasks import BackgroundTasks
from oshaberi.bot.turns.interruption import InterruptedTurnError, until_stopped
from oshaberi.bot.turns.notices import NoticeSender, StatusReactions
from oshaberi.bot.turns.outcome import TurnOutcome
from oshaberi.bot.turns.personas import allowed_in, who_is_called
from oshaberi.bot.turns.post_turn.answer_log import stop_reason, tell_answer, unsaid_told
from oshaberi.bot.turns.running.turn import Turn
from oshaberi.bot.turns.services.turn_services import TurnServices, loop_time_s
from oshaberi.bot.turns.services.turn_slots import NoTurnSlotError, TurnSlots
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import Embed
from oshaberi.delivery.typing_indicator import QUIET_SECONDS, TypingIndicator
from oshaberi.languages import translatable, translated
from oshaberi.stream.stops import ActiveChannel
from oshaberi.turn_ids import TurnIds, of_turn
from oshaberi.turn_spans import traced_turn

# Waits until a job may run.
#
# When its turn is near, the reader sees the typing indicator. If the job waits too long, the
# reader gets a notice.


OVERLOADED = translatable("Too many people talk to me right now")
ASK_LATER = translatable(
    "I did not get to this question in time. Please ask again in a few minutes."
)

DISCORD_AWAY = translatable("I could not reach Discord")
ASK_AGAIN = translatable(
    "Discord did not take my messages for too long. Ask again if you still need an answer."
)


@asynccontextmanager
async def turn_slot(
    slots: TurnSlots, job: QueuedJob, channel: ActiveChannel
) -> AsyncIterator[None]:
    """Hold a slot. Raises NoTurnSlotError if there is none, InterruptedTurnError on a stop."""
    async with AsyncExitStack() as stack:
        place = job.turn_channel
        near = asyncio.Event()
        slot = slots.slot(place.server_id, place.channel_id, near, channel.hurry)
        stack.callback(channel.end_hurry)
        if slots.is_free:
            await stack.enter_async_context(slot)
        else:
            async with nullcontext() if job.is_uninvited else _typing_when(near, place):
                await until_stopped(channel, stack.enter_async_context(slot))
        yield


async def tell_too_late(job: QueuedJob, channel: ActiveChannel) -> None:
    """Tell the user that Discord was away for so long that the question is not answered."""
    if not job.is_uninvited and not job.settings.stream.suppress_user_errors:
        notice = Embed(translated(DISCORD_AWAY), translated(ASK_AGAIN))
        sink = job.turn_channel.sink(_answering(job))
        await NoticeSender(sink, ResponseState(), channel).reply(notice)


async def tell_overload(job: QueuedJob, channel: ActiveChannel, reactions: StatusReactions) -> None:
    """Tell the user that the bot is overloaded; with a reaction where notices are switched off."""
    answering = _answering(job)
    if job.is_uninvited:
        return
    if not job.settings.stream.suppress_user_errors:
        sink = job.turn_channel.sink(answering)
        notice = Embed(translated(OVERLOADED), translated(ASK_LATER))
        await NoticeSender(sink, ResponseState(), channel).reply(notice)
    elif answering is not None:
        reactions.full(job.turn_channel, answering.said.id)


def _answering(job: QueuedJob) -> IncomingMessage | None:
    newest = job.asked[-1]
    return newest if job.kind == "answer" and not newest.said.by_us else None


@asynccontextmanager
async def _typing_when(near: asyncio.Event, turn_channel: TurnChannel) -> AsyncIterator[None]:
    task = asyncio.create_task(_type_when(near, turn_channel))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _type_when(near: asyncio.Event, turn_channel: TurnChannel) -> None:
    """Show the typing indicator once the turn is near, until cancelled.

    A turn that begins at once shows its own indicator.
    """
    await near.wait()
    indicator = TypingIndicator()
    indicator.keep_alive(turn_channel.sink(None), after_seconds=QUIET_SECONDS)
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        await indicator.close()


# Lets an answer call other personas: by their trigger words, within `self_trigger_limit`.


@dataclass(slots=True)
class AnsweredPersona:
    """One persona's answer in a job."""

    persona: PersonaRecord
    outcome: TurnOutcome


def called_jobs(
    job: QueuedJob, played: Sequence[AnsweredPersona], now: datetime
) -> tuple[QueuedJob, ...]:
    """Return the jobs of called personas. `self_trigger_limit` limits their answers in all."""
    left = job.settings.turn.self_trigger_limit - job.called
    if left <= 0 or any(one.outcome.interrupted for one in played):
        return ()
    answered = {one.persona.name for one in played}
    jobs: list[QueuedJob] = []
    for one in played:
        called = who_is_called(one.outcome.text, one.persona, job.personas)
        called = allowed_in(called, job.turn_channel.is_age_restricted)
        fresh = tuple(persona for persona in called if persona.name not in answered)[:left]
        if fresh and one.outcome.message_ids:
            answered |= {persona.name for persona in fresh}
            left -= len(fresh)
            asked = _as_incoming(job, one, now)
            jobs.append(_replied_by(job, asked, fresh, one.outcome.message_ids))
    return _counted(jobs, left)


def _counted(jobs: list[QueuedJob], left: int) -> tuple[QueuedJob, ...]:
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


def _replied_by(
    job: QueuedJob,
    asked: IncomingMessage,
    answering: tuple[PersonaRecord, ...],
    told: tuple[int, ...],
) -> QueuedJob:
    return QueuedJob(
        job.turn_channel,
        (asked,),
        answering,
        job.personas,
        "persona",
        job.user_id,
        job.settings,
        told=frozenset(told),
        depth=job.depth + 1,
    )


# Runs a queued job: each persona's turn in order.


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
    """Runs jobs. `waiting_ids` returns the messages of a channel that wait for their turn,
    `reason_of` why a message was admitted.
    """

    def __init__(
        self,
        services: TurnServices,
        background: BackgroundTasks,
        waiting_ids: Callable[[int], frozenset[int]],
        reason_of: Callable[[int], str | None],
    ) -> None:
        self._services = services
        self._background = background
        self._waiting_ids = waiting_ids
        self._reason_of = reason_of
        self._reactions = StatusReactions(background)
        self._running: set[Turn] = set()

    def why_written(self, message_id: int) -> str | None:
        """Return why a running answer that has this message is given; None if there is none."""
        found = (turn.why_written(message_id) for turn in self._running)
        return next(filter(None, found), None)

    async def of(self, job: QueuedJob, channel: ActiveChannel) -> JobResult:
        place = job.turn_channel
        with of_turn(TurnIds(place.server_id, place.channel_id, job.user_id)):
            return await self._of(job, channel)

    async def _of(self, job: QueuedJob, channel: ActiveChannel) -> JobResult:
        """Run a job as soon as Discord answers and there is a slot for it."""
        outage, began_s = self._services.outage, loop_time_s()
        asked_s = began_s if job.asked_s is None else job.asked_s
        try:
            if outage is not None and outage.is_away:
                await until_stopped(channel, outage.resolved())
            if outage is not None and outage.seconds_since(asked_s) > outage.patience_s:
                await tell_too_late(job, channel)
                return JobResult(unsaid="discord_away")
            async with turn_slot(self._services.slots, job, channel):
                return await self._with_slot(job, channel)
        except NoTurnSlotError as refusal:
            if refusal.reason == "ending":
                return JobResult(is_settled=False)
            if outage is not None and outage.seconds_since(began_s) > 0:
                return await self._of(job, channel)  # the slots were full of answers that wait
            await tell_overload(job, channel, self._reactions)
            return JobResult(unsaid="overloaded")
        except InterruptedTurnError as stop:
            is_settled = stop.request.reason != "system_request"
            return JobResult(is_settled=is_settled, unsaid=stop_reason(stop.request))

    async def _with_slot(self, job: QueuedJob, channel: ActiveChannel) -> JobResult:
        working = self._reactions.working(job)
        played: list[AnsweredPersona] = []
        try:
            async with AsyncExitStack() as stack:
                alone = self._services.alone(f"turn:{job.turn_channel.channel_id}")
                await until_stopped(channel, stack.enter_async_context(alone))
                await self._play(job, channel, played)
        finally:
            self._reactions.done(job, working, [one.outcome for one in played])
            if job.is_message and any(one.outcome.is_shut_out for one in played):
                self._reactions.mute(job.turn_channel, job.asked[-1].said.id)
        unsaid = played and all(one.outcome.is_unsaid for one in played)
        cut = any(one.outcome.is_cut_by_restart for one in played)
        called = called_jobs(job, played, self._services.clock())
        reason = unsaid_told([one.outcome for one in played])
        return JobResult(called, not unsaid, cut, reason)

    async def _play(
        self, job: QueuedJob, channel: ActiveChannel, played: list[AnsweredPersona]
    ) -> None:
        for persona in job.answering[: job.settings.turn.max_answering_personas]:
            asked = replace(
                job.turn_request(persona),
                answered_ids=frozenset(
                    number for one in played for number in one.outcome.message_ids
                ),
                waiting_ids=partial(self._waiting_ids, job.turn_channel.channel_id),
                reason_of=self._reason_of,
            )
            turn = Turn(self._services, job.turn_channel, asked, job.settings, channel)
            known_to_fail = self._services.model_outages.failing()
            began_s = loop_time_s() if job.asked_s is None or played else job.asked_s
            with of_turn(turn.ids):
                outcome = await self._traced(turn, job)
                times = turn.times(job.asked_s)
                if not played:
                    self._services.on_answered(times)
                why = reason_word(job.why)
                tell_answer(outcome, times, loop_time_s() - began_s, why, known_to_fail)
                played.append(AnsweredPersona(persona, outcome))
                self._background.start(turn.log_thoughts(outcome))
            if outcome.interrupted:
                return

    async def _traced(self, turn: Turn, job: QueuedJob) -> TurnOutcome:
        values = {"oshaberi.why": job.why, "oshaberi.kind": job.kind}
        with traced_turn(self._services.tracer, turn.ids, values) as span:
            self._running.add(turn)
            try:
                outcome = await turn.run()
            finally:
                self._running.discard(turn)
            span.note(
                {"oshaberi.status": outcome.status, "oshaberi.messages": len(outcome.message_ids)}
            )
            if not outcome.succeeded and not outcome.interrupted:
                span.fail(outcome.status)
            return outcome
