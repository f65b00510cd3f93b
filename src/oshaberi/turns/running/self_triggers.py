"""Lets an answer call other personas: by their trigger words, within `self_trigger_limit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from oshaberi.conversation.conversation_messages import ChannelMessage, IncomingMessage, Person
from oshaberi.storage.stored_records import PersonaRecord
from oshaberi.turns.admission.channel_queue import QueuedJob
from oshaberi.turns.admission.persona_routing import allowed_in, who_is_called
from oshaberi.turns.turn_outcome import TurnOutcome


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
