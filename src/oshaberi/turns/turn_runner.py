"""Runs a queued job: each persona's turn in order, with status reactions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from oshaberi.conversation.conversation_messages import ChannelMessage, IncomingMessage, Person
from oshaberi.storage.stored_records import PersonaRecord
from oshaberi.stream.stops.stop_registry import ActiveChannel
from oshaberi.turns.admission.channel_queue import QueuedJob
from oshaberi.turns.admission.persona_routing import who_is_called
from oshaberi.turns.turn import Turn
from oshaberi.turns.turn_interruption import InterruptedTurnError, until_stopped
from oshaberi.turns.turn_outcome import TurnOutcome
from oshaberi.turns.turn_services import TurnServices

log = logging.getLogger(__name__)

WORKING, DONE, TROUBLE = "👀", "✅", "⚠️"


class BackgroundTasks:
    """Courtesies that nobody waits for: reactions, the thought log."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[None]:
        task = asyncio.create_task(self._guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def settle(self, seconds: float) -> None:
        """Wait for what is under way, and end what takes longer."""
        if self._tasks:
            _, late = await asyncio.wait(set(self._tasks), timeout=seconds)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)

    async def _guarded(self, work: Coroutine[Any, Any, object]) -> None:
        try:
            await work
        except Exception as error:
            # A courtesy: the answer does not depend on it.
            log.info("a courtesy failed: %s", error)


@dataclass(slots=True)
class AnsweredPersona:
    """One persona's part of a job."""

    persona: PersonaRecord
    outcome: TurnOutcome


@dataclass(frozen=True, slots=True)
class JobResult:
    """`called` are the turns of personas that an answer called.

    Not settled: it was cut off by a shutdown before anything was said, and can be asked again.
    """

    called: tuple[QueuedJob, ...] = ()
    is_settled: bool = True


class TurnRunner:
    def __init__(self, services: TurnServices, background: BackgroundTasks) -> None:
        self._services = services
        self._background = background

    async def of(self, job: QueuedJob, channel: ActiveChannel) -> JobResult:
        working = self._react_working(job)
        played: list[AnsweredPersona] = []
        try:
            async with AsyncExitStack() as stack:
                alone = self._services.alone(f"turn:{job.turn_channel.channel_id}")
                await until_stopped(channel, stack.enter_async_context(alone))
                await self._play(job, channel, played)
        except InterruptedTurnError as stop:
            return JobResult(is_settled=stop.request.reason != "system_request")
        finally:
            self._react_done(job, working, played)
        unsaid = played and all(_is_unsaid(one.outcome) for one in played)
        return JobResult(self._called(job, played), not unsaid)

    async def _play(
        self, job: QueuedJob, channel: ActiveChannel, played: list[AnsweredPersona]
    ) -> None:
        for persona in job.answering[: job.settings.turn.max_answering_personas]:
            turn = Turn(
                self._services, job.turn_channel, job.turn_request(persona), job.settings, channel
            )
            outcome = await turn.run()
            played.append(AnsweredPersona(persona, outcome))
            self._background.start(turn.log_thoughts(outcome))
            if outcome.interrupted:
                return

    def _react_working(self, job: QueuedJob) -> asyncio.Task[None] | None:
        if not job.settings.turn.status_reactions or not job.is_message:
            return None
        return self._background.start(job.turn_channel.react(job.asked[-1].said.id, WORKING))

    def _react_done(
        self, job: QueuedJob, working: asyncio.Task[None] | None, played: list[AnsweredPersona]
    ) -> None:
        if working is not None:
            outcomes = [one.outcome for one in played]
            self._background.start(_after(working, job, _mark(outcomes)))

    def _called(self, job: QueuedJob, played: list[AnsweredPersona]) -> tuple[QueuedJob, ...]:
        """Personas may answer each other, but not for ever: all their answers are counted."""
        left = job.settings.turn.self_trigger_limit - job.called
        if left <= 0 or any(one.outcome.interrupted for one in played):
            return ()
        answered = {one.persona.name for one in played}
        jobs: list[QueuedJob] = []
        for one in played:
            called = who_is_called(one.outcome.text, one.persona, job.personas)
            fresh = tuple(persona for persona in called if persona.name not in answered)[:left]
            if fresh and one.outcome.message_ids:
                answered |= {persona.name for persona in fresh}
                left -= len(fresh)
                asked = _as_incoming(job, one, self._services.clock())
                jobs.append(_replied_by(job, asked, fresh, one.outcome.message_ids))
        return _counted(jobs, left)


def _counted(jobs: list[QueuedJob], left: int) -> tuple[QueuedJob, ...]:
    """The last of them may call as many as are left, the others nobody."""
    spent = [replace(job, called=job.settings.turn.self_trigger_limit) for job in jobs]
    if spent:
        spent[-1] = replace(spent[-1], called=spent[-1].called - left)
    return tuple(spent)


def _mark(outcomes: list[TurnOutcome]) -> str | None:
    if any(outcome.interrupted for outcome in outcomes):
        return None
    succeeded = outcomes and all(outcome.succeeded for outcome in outcomes)
    return DONE if succeeded else TROUBLE


def _is_unsaid(outcome: TurnOutcome) -> bool:
    return outcome.stop_reason == "system_request" and not outcome.message_ids


async def _after(working: asyncio.Task[None], job: QueuedJob, mark: str | None) -> None:
    await asyncio.wait({working})
    message = job.asked[-1].said.id
    if mark is not None:
        await job.turn_channel.react(message, mark)
    await job.turn_channel.unreact(message, WORKING)


def _as_incoming(job: QueuedJob, played: AnsweredPersona, now: datetime) -> IncomingMessage:
    """An answer of ours, as a message that somebody else may answer."""
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
    return IncomingMessage(said, newest.channel_id, newest.server_id, newest.parent_id)


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
