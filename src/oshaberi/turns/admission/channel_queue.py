"""The queue of a channel: the running job, and the messages that wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from oshaberi.conversation.conversation_messages import IncomingMessage
from oshaberi.conversation.turn_channel import TurnChannel
from oshaberi.storage.stored_records import PersonaRecord, TurnRecord
from oshaberi.stream.stops.stop_registry import ActiveChannel
from oshaberi.turns.turn_request import Kind, TurnRequest
from oshaberi.turns.turn_services import EffectiveConfigs

Arrival = Literal["new", "missed", "stored"]
"""Whether a message comes now, came while nobody listened, or was admitted by a process that has
ended since."""


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """One piece of work for a channel.

    `depth` counts the personas that answered each other up to this job. `called` counts the
    answers of personas to each other that its message has caused so far.
    """

    turn_channel: TurnChannel
    asked: tuple[IncomingMessage, ...]
    answering: tuple[PersonaRecord, ...]
    personas: tuple[PersonaRecord, ...]
    why: str
    user_id: int
    settings: EffectiveConfigs
    kind: Kind = "answer"
    text: str = ""
    before: int | None = None
    told: frozenset[int] = frozenset()
    depth: int = 0
    called: int = 0
    continues: TurnRecord | None = None
    arrival: Arrival = "new"
    asked_s: float | None = None
    """When its first message was written, by the loop's clock; None if it is not a message."""

    @property
    def message_ids(self) -> tuple[int, ...]:
        return tuple(incoming.said.id for incoming in self.asked)

    @property
    def is_message(self) -> bool:
        """Tell whether it is a person's message. Further ones of that person can be joined."""
        return self.kind == "answer" and self.depth == 0 and self.before is None

    def turn_request(self, persona: PersonaRecord) -> TurnRequest:
        return TurnRequest(
            self.asked,
            persona,
            self.personas,
            self.why,
            self.user_id,
            kind=self.kind,
            text=self.text,
            before=self.before,
            told=self.told,
            continues=self.continues,
        )


def joined(first: QueuedJob, second: QueuedJob) -> QueuedJob:
    """Join two jobs: both messages, answered by the personas of either."""
    answering = tuple(dict.fromkeys((*first.answering, *second.answering)))
    times_s = [one for one in (first.asked_s, second.asked_s) if one is not None]
    return replace(
        second,
        asked=first.asked + second.asked,
        answering=answering,
        asked_s=min(times_s, default=None),
    )


@dataclass(frozen=True, slots=True)
class BusyChannel:
    """A channel in which a turn runs or waits for a slot, for people to look at."""

    server_id: int
    channel_id: int
    user_id: int
    why: str
    seconds: float | None
    """Since the question; None if nobody asked."""
    waiting: int
    """Messages that wait behind it."""


@dataclass(slots=True)
class ChannelQueue:
    """The running job of one channel, and the jobs that wait."""

    job: QueuedJob
    channel: ActiveChannel
    waiting: deque[QueuedJob] = field(default_factory=deque)

    @property
    def messages(self) -> int:
        return sum(len(job.asked) for job in self.waiting)

    @property
    def oldest_waiting(self) -> int | None:
        return min((incoming.said.id for incoming in _asked(self.waiting)), default=None)

    def awaits(self, message_id: int) -> bool:
        return any(incoming.said.id == message_id for incoming in _asked(self.waiting))

    def put_first(self, job: QueuedJob) -> None:
        """Put an interrupting job first, joined with one of the same user that is there."""
        head = self.waiting[0] if self.waiting else None
        if head is not None and head.user_id == job.user_id and head.is_message:
            self.waiting[0] = joined(head, job)
        else:
            self.waiting.appendleft(job)

    def put_in_order(self, job: QueuedJob) -> None:
        """Put a late message before those written after it. It interrupts nothing."""
        newer = (
            number
            for number, other in enumerate(self.waiting)
            if other.is_message and other.message_ids[0] > job.message_ids[0]
        )
        self.waiting.insert(next(newer, len(self.waiting)), job)

    def busy(self, now_s: float) -> BusyChannel:
        """Describe the queue, for people to look at."""
        job = self.job
        return BusyChannel(
            job.turn_channel.server_id,
            job.turn_channel.channel_id,
            job.user_id,
            job.why,
            None if job.asked_s is None else now_s - job.asked_s,
            self.messages,
        )

    def withdraw(self, message_id: int) -> None:
        """Remove a waiting message, so that it is not answered."""
        kept = [_without(job, message_id) for job in self.waiting]
        self.waiting = deque(job for job in kept if job.asked)

    def amend(self, changed: IncomingMessage) -> None:
        """Replace a waiting message by its edited version."""
        self.waiting = deque(_amended(job, changed) for job in self.waiting)

    def collect(self, job: QueuedJob) -> None:
        for number, other in enumerate(self.waiting):
            if other.user_id == job.user_id and other.is_message:
                older, newer = sorted((other, job), key=lambda one: one.message_ids[-1])
                self.waiting[number] = joined(older, newer)
                return
        self.put_in_order(job)


def _without(job: QueuedJob, message_id: int) -> QueuedJob:
    return replace(job, asked=tuple(one for one in job.asked if one.said.id != message_id))


def _amended(job: QueuedJob, changed: IncomingMessage) -> QueuedJob:
    if all(one.said.id != changed.said.id for one in job.asked):
        return job
    asked = tuple(changed if one.said.id == changed.said.id else one for one in job.asked)
    return replace(job, asked=asked)


def _asked(jobs: Iterable[QueuedJob]) -> Iterable[IncomingMessage]:
    return (incoming for job in jobs for incoming in job.asked)
