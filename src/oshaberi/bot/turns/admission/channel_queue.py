"""The queue of a channel: the running job, and a limited number of waiting messages.

A question may consist of several messages that its author writes in one go (a burst): one answer
covers them all. `queue_runner` works through the queue.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from oshaberi.bot.conversation.messages import IncomingMessage, TurnChannel
from oshaberi.bot.conversation.turn_config import EffectiveSettings, TurnConfig
from oshaberi.bot.storage.records import PersonaRecord, TurnRecord
from oshaberi.bot.turns.admission.occasions import Occasion
from oshaberi.bot.turns.admission.rules import UNADDRESSED, UNINVITED, reason_word
from oshaberi.bot.turns.personas import AnswerPlace, allowed_in, who_answers, who_is_asked
from oshaberi.clocks import loop_time_s
from oshaberi.stream.stops import ActiveChannel

# Bursts: several messages that one person writes in one go are one question.
#
# A burst is over when its author has asked a complete question, or has been quiet for a while.
# `questions.UnbegunQuestions.join_burst` adds a message to one.


TYPING_SECONDS = 10.0
"""How long Discord shows that somebody is typing, unless they send a message first."""
ENDING = 50
"""How many characters at the end of a message are searched for a question mark."""
_ASKED = re.compile(
    # A semicolon after a Greek letter is the question mark of Greek.
    r"(?:[?？؟⁇⁈⁉‽﹖፧❓❔]|(?<=[\u0370-\u03ff\u1f00-\u1fff])[;\u037e])"
    r"[!?！？؟\ufe0f]*[)\]}\"'*_~|”’»）」』】]*\Z"
)
"""A question mark at the end, perhaps inside a closing bracket, quote or markup."""


def is_complete(incoming: IncomingMessage) -> bool:
    """Return whether a message is a complete question: it mentions the bot and ends with a `?`.

    The mention may follow the question mark. This deliberately differs from `text.sentences.ends`:
    somebody who has asked waits for an answer, while somebody who has ended a sentence may go on.
    """
    end = incoming.said.own_words.rstrip()[-ENDING:]
    return incoming.mentions_us and _ASKED.search(end) is not None


def burst_of(incoming: IncomingMessage, config: TurnConfig, now_s: float) -> Burst | None:
    """Return the burst that a message begins, or None if it is answered at once."""
    if not config.burst_wait_ms or is_complete(incoming):
        return None
    return Burst(now_s, config.burst_wait_ms / 1000, config.burst_max_ms / 1000)


class Burst:
    """The messages that one person writes in one go, by the loop's clock.

    It ends `wait_s` after the last message, later if the person is typing, but at the latest
    `max_s` after the first.
    """

    def __init__(self, now_s: float, wait_s: float, max_s: float) -> None:
        self._wait_s = wait_s
        self._latest_s = now_s + max_s
        self._quiet_s = now_s + wait_s
        self._typing_s = now_s
        self._changed = asyncio.Event()

    @property
    def ends_s(self) -> float:
        return min(max(self._quiet_s, self._typing_s), self._latest_s)

    def is_open(self, now_s: float) -> bool:
        return now_s < self.ends_s

    def note_message(self, now_s: float) -> None:
        """Note a message. Its author has stopped typing."""
        self._quiet_s = now_s + self._wait_s
        self._typing_s = now_s
        self._changed.set()
        self._changed.clear()

    def note_typing(self, now_s: float) -> None:
        self._typing_s = now_s + TYPING_SECONDS

    def end(self) -> None:
        self._latest_s = 0.0
        self._changed.set()

    async def over(self) -> None:
        """Wait until the burst has ended."""
        while self.is_open(now_s := loop_time_s()):
            try:
                async with asyncio.timeout(self.ends_s - now_s):
                    await self._changed.wait()
            except TimeoutError:
                continue


Kind = Literal["answer", "go_on", "deliver"]


Arrival = Literal["new", "missed", "stored"]
"""Whether a message is new, was missed while the bot was offline, or was admitted by a process that
has ended."""


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """One piece of work for a channel: a question, and the personas that answer it.

    `go_on` asks the model to continue its last answer; `deliver` sends `text`, which an earlier
    turn could not send. `depth` counts the personas that answered each other up to this job;
    `called` the answers of personas to each other that its message has caused so far.
    """

    turn_channel: TurnChannel
    asked: tuple[IncomingMessage, ...]
    answering: tuple[PersonaRecord, ...]
    personas: tuple[PersonaRecord, ...]
    why: str
    user_id: int
    """The user who may stop it: a person, even if a persona asked."""
    settings: EffectiveSettings
    kind: Kind = "answer"
    text: str = ""
    before: int | None = None
    """The model sees only messages from before this one."""
    hidden_ids: frozenset[int] = frozenset()
    """Messages that the model does not see: their words are already in `asked`, or they are
    questions that are answered later."""
    depth: int = 0
    called: int = 0
    continues: TurnRecord | None = None
    """The turn whose answer this one continues."""
    arrival: Arrival = "new"
    asked_s: float | None = None
    """When its first message was written, by the loop's clock; None if it is not a message."""
    burst: Burst | None = None
    """The burst of its author, open until they have finished writing."""
    occasion: Occasion | None = None
    """What makes the bot speak, if it is not a message. `asked` then has it in place of one."""
    stored: asyncio.Task[None] | None = field(default=None, compare=False)
    """The task that stores the question. No model is asked before it is done."""
    is_unaddressed: bool = field(init=False)
    """Whether the bot answers although nobody addressed it."""
    is_uninvited: bool = field(init=False)
    """Whether the message is answered by chance, so that nobody waits for the answer."""
    is_message: bool = field(init=False)
    """Whether the job answers a person's message. Others of that person can join it."""
    answering_message: IncomingMessage | None = field(init=False)
    """The message to reply to, or None."""

    def __post_init__(self) -> None:
        word, is_answer = reason_word(self.why), self.kind == "answer"
        is_message = is_answer and self.depth == 0 and self.before is None
        newest = self.asked[-1] if self.asked and is_answer and not self.occasion else None
        derived = {
            "is_unaddressed": word in UNADDRESSED,
            "is_uninvited": word in UNINVITED,
            "is_message": is_message and self.occasion is None,
            "answering_message": None if newest is None or newest.said.by_us else newest,
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def newest(self) -> IncomingMessage:
        """Return the last of the messages."""
        return self.asked[-1]

    @property
    def message_ids(self) -> tuple[int, ...]:
        return tuple(incoming.said.id for incoming in self.asked)

    @property
    def is_question(self) -> bool:
        """Return whether the job is stored as an open question until it is done."""
        return self.is_message or self.occasion is not None

    @property
    def is_for_bot(self) -> bool:
        """Return whether a person has written this for the bot, and waits for an answer."""
        return self.occasion is None and not self.is_uninvited and self.depth == 0

    @property
    def asked_id(self) -> int | None:
        """Return the id for the records of the turn: that of the message, or of the occasion."""
        if self.occasion is not None:
            return self.occasion.id
        return None if self.newest.said.by_us else self.newest.said.id

    def asks_about(self, words: Iterable[str]) -> bool:
        """Return whether somebody addresses the bot and names one of these words, in any case."""
        if self.is_unaddressed or self.occasion is not None:
            return False
        texts = [one.said.text.replace("\\", "").lower() for one in self.asked]
        return any(word.lower() in text for word in words for text in texts)


def sending(job: QueuedJob, text: str) -> QueuedJob:
    """Return the job that sends a finished text, which needs no typing delays."""
    stream = job.settings.stream
    as_written = replace(stream.text, humanizer_degree=0, aggregate_join="preserve")
    of_channel = job.settings.of_channel | {"humanizer_degree"}
    settings = replace(job.settings, stream=replace(stream, text=as_written), of_channel=of_channel)
    return replace(job, kind="deliver", text=text, settings=settings)


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One persona's answer to the question of a job."""

    job: QueuedJob
    persona: PersonaRecord
    answered_ids: frozenset[int] = frozenset()
    """The messages with which other personas answered the same question."""
    waiting_ids: Callable[[], frozenset[int]] = frozenset
    """Returns the questions of the channel that wait for a turn of their own."""
    reason_of: Callable[[int], str | None] = lambda _message_id: None
    """Returns why a message was admitted, as it is stored."""
    greeting_ids: tuple[int, ...] = ()
    """The messages with which the persona has just greeted the channel."""


def joined(first: QueuedJob, second: QueuedJob) -> QueuedJob:
    """Join two jobs: both messages, answered by the personas of both.

    If either addresses the bot, the other does not make it an answer that nobody asked for.
    """
    answering = tuple(dict.fromkeys((*first.answering, *second.answering)))
    times_s = [one for one in (first.asked_s, second.asked_s) if one is not None]
    return replace(
        second,
        why=first.why if second.is_unaddressed else second.why,
        asked=first.asked + second.asked,
        answering=answering,
        asked_s=min(times_s, default=None),
    )


@dataclass(frozen=True, slots=True)
class BusyChannel:
    """A channel in which a turn runs or waits for a slot, as operators see it."""

    server_id: int
    channel_id: int
    user_id: int
    why: str
    seconds: float | None
    """Seconds since the question; None if nobody asked."""
    waiting: int
    """Messages that wait after it."""
    is_gathering: bool = False
    """The question may not be complete: its author is still writing."""


def with_changes(job: QueuedJob, asked: tuple[IncomingMessage, ...]) -> QueuedJob:
    """Return a job after an edit or deletion, for the personas that its messages now call."""
    if not job.is_message:
        return replace(job, asked=asked)
    called = personas_called(asked, job.personas)
    if not called and asked and not job.is_uninvited:
        uncalled = job.settings.turn.answering_persona
        answering = who_answers(asked[-1], job.personas, uncalled=uncalled)
        called = allowed_in(answering, AnswerPlace.of(asked[-1]))
    return replace(job, asked=asked, answering=called or job.answering)


def personas_called(
    asked: Sequence[IncomingMessage], personas: Sequence[PersonaRecord]
) -> tuple[PersonaRecord, ...]:
    """Return the personas that the messages call and that may answer in this channel."""
    called = (persona for one in asked for persona in who_is_asked(one, personas))
    return allowed_in(tuple(dict.fromkeys(called)), AnswerPlace.of(asked[-1])) if asked else ()


@dataclass(slots=True)
class ChannelQueue:
    """The running job of one channel, and the jobs that wait."""

    job: QueuedJob
    channel: ActiveChannel
    waiting: deque[QueuedJob] = field(default_factory=deque)
    is_gathering: bool = False
    """The job has not begun: its author may still be writing."""

    @property
    def unbegun(self) -> list[QueuedJob]:
        return [*([self.job] if self.is_gathering else []), *self.waiting]

    @property
    def messages(self) -> int:
        return sum(len(job.asked) for job in self.waiting)

    def has_room_for(self, job: QueuedJob) -> bool:
        """Return whether `waiting_limit` allows the job. Stored questions are always allowed."""
        fits = self.messages + len(job.asked) <= job.settings.turn.waiting_limit
        return fits or job.arrival == "stored" or job.occasion is not None

    @property
    def oldest_waiting(self) -> int | None:
        return min((incoming.said.id for incoming in _asked(self.waiting)), default=None)

    @property
    def waiting_ids(self) -> frozenset[int]:
        return frozenset(incoming.said.id for incoming in _asked(self.waiting))

    def next_job(self) -> None:
        self.job = self.waiting.popleft()
        self.is_gathering = self.job.burst is not None

    def awaits(self, message_id: int) -> bool:
        return any(incoming.said.id == message_id for incoming in _asked(self.unbegun))

    def bursting(self, user_id: int, now_s: float) -> QueuedJob | None:
        """Return the job of a user who has not finished writing, or None."""
        for job in self.unbegun:
            if job.user_id == user_id and job.burst is not None and job.burst.is_open(now_s):
                return job
        return None

    def job_of(self, message_id: int) -> QueuedJob | None:
        """Return the job that answers this message, if it has not begun."""
        return next((job for job in self.unbegun if message_id in job.message_ids), None)

    def replace_job(self, old: QueuedJob, new: QueuedJob) -> None:
        """Replace a job that has not begun. A job without messages is dropped."""
        if self.is_gathering and self.job is old:
            self.job = new
            if not new.asked and new.burst is not None:
                new.burst.end()
        else:
            jobs = (new if job is old else job for job in self.waiting)
            self.waiting = deque(job for job in jobs if job.asked)

    def enter(self, job: QueuedJob) -> bool:
        """Put a job where `follow_up_policy` says. Return whether it interrupts the running turn.

        Only a new message interrupts, and only a turn that a message of the same user began. A
        message from before a restart waits in order of time; one that is answered by chance waits
        too.
        """
        policy = job.settings.turn.follow_up_policy
        if job.occasion is not None:
            self.waiting.append(job)
        elif policy == "collect":
            self.collect(job)
        elif job.arrival != "new":
            self.put_in_order(job)
        elif policy == "interrupt" and self._is_interrupted_by(job):
            self.put_first(job)
            return True
        else:
            self.waiting.append(job)
        return False

    def _is_interrupted_by(self, job: QueuedJob) -> bool:
        is_theirs = self.job.user_id == job.user_id and self.job.occasion is None
        return is_theirs and not job.is_uninvited

    def put_first(self, job: QueuedJob) -> None:
        """Put an interrupting job first; join it with the first one if that is the same user's."""
        head = self.waiting[0] if self.waiting else None
        if head is not None and head.user_id == job.user_id and head.is_message:
            self.waiting[0] = joined(head, job)
        else:
            self.waiting.appendleft(job)

    def put_in_order(self, job: QueuedJob) -> None:
        """Put a late message before those that were written after it. It interrupts nothing."""
        newer = (
            number
            for number, other in enumerate(self.waiting)
            if other.is_message and other.message_ids[0] > job.message_ids[0]
        )
        self.waiting.insert(next(newer, len(self.waiting)), job)

    def busy(self, now_s: float) -> BusyChannel:
        """Describe the queue, as operators see it."""
        job = self.job
        return BusyChannel(
            job.turn_channel.server_id,
            job.turn_channel.channel_id,
            job.user_id,
            job.why,
            None if job.asked_s is None else now_s - job.asked_s,
            self.messages,
            self.is_gathering,
        )

    def withdraw(self, message_id: int) -> QueuedJob | None:
        """Remove a message, so that it is not answered. Return what is left of its job."""
        job = self.job_of(message_id)
        if job is None:
            return None
        left = with_changes(job, tuple(one for one in job.asked if one.said.id != message_id))
        self.replace_job(job, left)
        return left

    def amend(self, changed: IncomingMessage) -> None:
        """Replace a message by its edited version."""
        number = changed.said.id
        job = self.job_of(number)
        if job is not None:
            asked = tuple(changed if one.said.id == number else one for one in job.asked)
            self.replace_job(job, with_changes(job, asked))

    def collect(self, job: QueuedJob) -> None:
        for number, other in enumerate(self.waiting):
            if other.user_id == job.user_id and other.is_message:
                older, newer = sorted((other, job), key=lambda one: one.message_ids[-1])
                self.waiting[number] = joined(older, newer)
                return
        self.put_in_order(job)


def _asked(jobs: Iterable[QueuedJob]) -> Iterable[IncomingMessage]:
    return (incoming for job in jobs for incoming in job.asked)
