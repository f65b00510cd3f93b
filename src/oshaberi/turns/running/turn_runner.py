"""Runs a queued job: each persona's turn in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial

from oshaberi.stream.stops.stop_registry import ActiveChannel
from oshaberi.turn_ids import TurnIds, of_turn
from oshaberi.turn_spans import traced_turn
from oshaberi.turns.admission.answer_reasons import reason_word
from oshaberi.turns.admission.channel_queue import QueuedJob
from oshaberi.turns.background_tasks import BackgroundTasks
from oshaberi.turns.post_turn.answer_log import tell_answer
from oshaberi.turns.running.no_answer_reasons import stop_reason, unsaid_told
from oshaberi.turns.running.self_triggers import AnsweredPersona, called_jobs
from oshaberi.turns.running.turn import Turn
from oshaberi.turns.running.turn_slot_wait import tell_overload, tell_too_late, turn_slot
from oshaberi.turns.services.turn_services import TurnServices
from oshaberi.turns.services.turn_slots import NoTurnSlotError
from oshaberi.turns.status_reactions import StatusReactions
from oshaberi.turns.turn_interruption import InterruptedTurnError, until_stopped
from oshaberi.turns.turn_outcome import TurnOutcome

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
        """Tell whether the personas that were asked chose to say nothing."""
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
        outage, began_s = self._services.outage, asyncio.get_running_loop().time()
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
            began_s = _now_s() if job.asked_s is None or played else job.asked_s
            with of_turn(turn.ids):
                outcome = await self._traced(turn, job)
                times = turn.times(job.asked_s)
                if not played:
                    self._services.on_answered(times)
                why = reason_word(job.why)
                tell_answer(outcome, times, _now_s() - began_s, why, known_to_fail)
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


def _now_s() -> float:
    return asyncio.get_running_loop().time()
