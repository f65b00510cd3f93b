"""The queue of a channel: the running job, and the messages that wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from oshaberi.conversation.conversation_messages import IncomingMessage
from oshaberi.conversation.turn_channel import TurnChannel
from oshaberi.storage.stored_records import PersonaRecord, TurnRecord
from oshaberi.stream.stops.stop_registry import ActiveChannel
from oshaberi.turns.turn_request import Kind, TurnRequest
from oshaberi.turns.turn_services import EffectiveConfigs


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """`depth`: how many personas have answered each other to get here.

    `called`: how many answers of personas to each other its message has caused so far.
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

    @property
    def is_message(self) -> bool:
        """A person's message, which others of the same person can be joined to."""
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
    """Both messages at once; whoever either was for answers."""
    answering = tuple(dict.fromkeys((*first.answering, *second.answering)))
    return replace(second, asked=first.asked + second.asked, answering=answering)


@dataclass(slots=True)
class ChannelQueue:
    """One channel while something runs or waits in it."""

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
        """Of one user what interrupts together belongs together."""
        head = self.waiting[0] if self.waiting else None
        if head is not None and head.user_id == job.user_id and head.is_message:
            self.waiting[0] = joined(head, job)
        else:
            self.waiting.appendleft(job)

    def withdraw(self, message_id: int) -> None:
        """A message that waits is not answered any more."""
        kept = [_without(job, message_id) for job in self.waiting]
        self.waiting = deque(job for job in kept if job.asked)

    def amend(self, changed: IncomingMessage) -> None:
        """A message that waits says something else now."""
        self.waiting = deque(_amended(job, changed) for job in self.waiting)

    def collect(self, job: QueuedJob) -> None:
        for number, other in enumerate(self.waiting):
            if other.user_id == job.user_id and other.is_message:
                self.waiting[number] = joined(other, job)
                return
        self.waiting.append(job)


def _without(job: QueuedJob, message_id: int) -> QueuedJob:
    return replace(job, asked=tuple(one for one in job.asked if one.said.id != message_id))


def _amended(job: QueuedJob, changed: IncomingMessage) -> QueuedJob:
    if all(one.said.id != changed.said.id for one in job.asked):
        return job
    asked = tuple(changed if one.said.id == changed.said.id else one for one in job.asked)
    return replace(job, asked=asked)


def _asked(jobs: Iterable[QueuedJob]) -> Iterable[IncomingMessage]:
    return (incoming for job in jobs for incoming in job.asked)
