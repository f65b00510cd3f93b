"""Does the work after an answer: shows thoughts, stores memories and records.

Each of these may fail without affecting the answer or the others.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from oshaberi.bot.storage import Database
from oshaberi.bot.storage.errors import StorageAwayError
from oshaberi.bot.storage.records import (
    Exchange,
    StoredQuestion,
    TurnRecord,
    TurnTraces,
    UsedRequest,
)
from oshaberi.bot.turns.admission.channel_queue import QueuedJob, TurnRequest
from oshaberi.bot.turns.caches import BoundedCache
from oshaberi.bot.turns.context.surroundings import persona_of
from oshaberi.bot.turns.notices import NoticeSender
from oshaberi.bot.turns.outcome import TurnOutcome
from oshaberi.bot.turns.thoughts import log_thoughts, shown_thoughts
from oshaberi.delivery.attachments import (
    PERSONA_MODE,
    AttachmentRenderer,
    DeliveryPlugIns,
    PersonaMessage,
    TableRenderer,
    rendered_block,
)
from oshaberi.delivery.ledger import DELIVERED, Ledger
from oshaberi.delivery.posting import face_of
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import File, Sent
from oshaberi.events import Table
from oshaberi.render.grid import Picture


def cut_question(job: QueuedJob, instance: str) -> StoredQuestion:
    """Return the question to store: the one that the first part of the answer answers."""
    asked_id = None if job.continues is None else job.continues.asked_id
    return StoredQuestion(
        channel_id=job.turn_channel.channel_id,
        message_id=asked_id or job.newest.said.id,
        server_id=job.turn_channel.server_id,
        user_id=job.user_id,
        instance=instance,
        why=job.why,
        is_begun=True,
    )


log = logging.getLogger(__name__)

Effect = Callable[[], Awaitable[int | None]]

_SHOWN_AFTER = ("completed", "error", "timeout", "empty_response")


@dataclass(frozen=True, slots=True)
class TurnRecords:
    """Where turns are stored, by whom and when. Deleted messages are left out."""

    db: Database
    instance: str
    clock: Callable[[], datetime]
    deleted_messages: BoundedCache[int, bool]


class PostTurnEffects:
    """The work after one turn."""

    def __init__(
        self,
        records: TurnRecords,
        turn_request: TurnRequest,
        announcer: NoticeSender,
        plug_ins: DeliveryPlugIns,
    ) -> None:
        self._records = records
        self._plug_ins = plug_ins
        self._asked = turn_request
        self._job = turn_request.job
        self._settings = turn_request.job.settings
        self._announcer = announcer
        self._stored: TurnRecord | None = None

    async def follow(
        self,
        outcome: TurnOutcome,
        response: ResponseState,
        tables: AttachmentSources,
        used: Sequence[UsedRequest] = (),
    ) -> TurnOutcome:
        """Do the work. Return the outcome, including the message that shows the thoughts.

        `used` are requests that have not been counted yet.
        """
        shown = await _quietly("thoughts shown", lambda: self._show_thoughts(outcome))
        if shown:
            outcome = replace(outcome, message_ids=(*outcome.message_ids, shown))
        await _quietly("records", lambda: self._keep(outcome, response, tables, used))
        return outcome

    async def _keep(
        self,
        outcome: TurnOutcome,
        response: ResponseState,
        tables: AttachmentSources,
        used: Sequence[UsedRequest],
    ) -> None:
        """Store all records of the turn in one transaction, and end its journal."""
        traces = self._traces(outcome, response, tables, used)
        self._stored = traces.turn
        failed = await self._records.db.keep_turn(replace(traces, journal_key=response.key))
        for what, error in failed.items():
            if not isinstance(error, StorageAwayError):  # then it is kept, and stored later
                log.error("after a turn: %s failed; the answer itself is there: %s", what, error)

    def leave(
        self,
        outcome: TurnOutcome,
        response: ResponseState,
        tables: AttachmentSources,
        used: Sequence[UsedRequest] = (),
    ) -> None:
        """Store a cancelled turn. Its journal stays open, because a message may be on its way."""
        self._records.db.queue_turn(self._traces(outcome, response, tables, used))

    async def add_notice(self, notice: Sent) -> None:
        """Add a notice, which was sent later, to the stored turn."""
        stored = self._stored
        if stored is None or notice.id is None:
            return
        message_ids = tuple(sorted({*stored.message_ids, notice.id}))
        work = self._records.db.turns.set_messages(replace(stored, message_ids=message_ids))
        await _quietly("a notice", lambda: work)

    def _traces(
        self,
        outcome: TurnOutcome,
        response: ResponseState,
        tables: AttachmentSources,
        used: Sequence[UsedRequest],
    ) -> TurnTraces:
        turn, record = self._settings.turn, self._record(outcome)
        traces = TurnTraces(
            turn=record,
            exchange=self._exchange(outcome, record),
            keep_exchanges=turn.short_memory_size,
            exchange_days=turn.short_memory_days,
            sprites={one.message_id: (one.persona, one.sprite) for one in response.sprites},
            tables=tables.sources(result.ledger for result in outcome.results),
            used=tuple(used),
        )
        if outcome.status != "interrupted":
            return traces
        question = cut_question(self._job, self._records.instance)
        if turn.continue_after_restart:
            return replace(traces, cut_question=question)
        return replace(traces, settled_question_id=question.message_id)

    async def log_thoughts(self, outcome: TurnOutcome) -> None:
        config, persona = self._settings.turn, self._asked.persona
        face = face_of(None, persona_of(persona))
        logs = [result.thought_log for result in outcome.results]
        work = log_thoughts(self._job.turn_channel, config, persona, face, logs)
        await _quietly("thought log", lambda: work)

    async def _show_thoughts(self, outcome: TurnOutcome) -> int | None:
        if outcome.interrupted or outcome.is_silent or outcome.status not in _SHOWN_AFTER:
            return None
        thoughts = [text for result in outcome.results for text in result.thought_log.texts]
        limit = self._settings.stream.text.max_single_message_length
        text = shown_thoughts(thoughts, self._settings.turn.reasoning_display, limit)
        if not text:
            return None
        shown = self._displayed(text, number=len(outcome.message_ids))
        sent = await self._announcer.say_quietly(shown.text, shown.face)
        return None if sent is None else sent.id

    def _displayed(self, text: str, number: int) -> PersonaMessage:
        """Return a message of the persona as the display mode shows it."""
        persona, stream = self._asked.persona, self._settings.stream
        message = PersonaMessage(text, face_of(None, persona_of(persona)), persona.name, "", number)
        if stream.display_mode == PERSONA_MODE or stream.delivery == "live":
            return message
        limit = stream.text.max_single_message_length
        return self._plug_ins.shown(stream.display_mode, message, limit)

    def _record(self, outcome: TurnOutcome) -> TurnRecord:
        earlier = self._job.continues
        return TurnRecord(
            channel_id=self._job.turn_channel.channel_id,
            server_id=self._job.turn_channel.server_id,
            user_id=self._job.user_id,
            asked_id=self._job.asked_id if earlier is None else earlier.asked_id,
            persona=self._asked.persona.name,
            message_ids=tuple(sorted({*outcome.message_ids, *outcome.notice_ids})),
            status=outcome.status,
            undelivered=outcome.undelivered,
            why=self._job.why,
            at=self._records.clock(),
            answer_id=None if earlier is None else earlier.first_id,
            questions=self._questions(outcome),
        )

    def _questions(self, outcome: TurnOutcome) -> dict[int, str]:
        """Return why each message was answered or not, so that it is known after a restart."""
        if self._job.kind != "answer" and self._job.occasion is None:
            return {}
        ids = [one.said.id for one in self._job.asked if not one.said.by_us]
        reasons = {one: outcome.unsaid or self._asked.reason_of(one) for one in ids}
        return {
            one: self._job.why if why in (None, "seen") else why for one, why in reasons.items()
        }

    def _exchange(self, outcome: TurnOutcome, record: TurnRecord) -> Exchange | None:
        """Return the exchange with the time of the turn's record, so that both can be found."""
        if not self._settings.turn.short_memory_size or not (outcome.text or outcome.details):
            return None
        deleted = self._records.deleted_messages
        if any(deleted.get(one.said.id) for one in self._job.asked):
            return None
        return Exchange(
            channel_id=self._job.turn_channel.channel_id,
            user_id=self._job.user_id,
            asked="\n".join(incoming.said.text for incoming in self._job.asked),
            answered=outcome.text,
            details=outcome.details,
            persona=self._asked.persona.name,
            at=record.at,
        )


async def _quietly(what: str, effect: Effect) -> int | None:
    try:
        return await effect()
    except Exception:
        log.exception("after a turn: %s failed; the answer itself is there", what)
        return None


class AttachmentSources:
    """A renderer that remembers the tables of one turn that became pictures or files.

    `plug_ins` remember the code blocks that they turned into files.
    """

    def __init__(self, renderer: TableRenderer, plug_ins: DeliveryPlugIns) -> None:
        attachments = {
            language: partial(self._remembering, drawn)
            for language, drawn in plug_ins.attachments.items()
        }
        self.plug_ins = replace(plug_ins, attachments=attachments)
        self._renderer = renderer
        self._shown: set[str] = set()
        self._blocks: set[str] = set()

    def pictures(self, table: Table) -> list[Picture]:
        return self._renderer.pictures(table)

    def alt_text(self, table: Table) -> str:
        self._shown.add(table.source)
        return self._renderer.alt_text(table)

    def as_code(self, table: Table, max_length: int) -> list[str]:
        return self._renderer.as_code(table, max_length)

    def sources(self, ledgers: Iterable[Ledger]) -> dict[int, str]:
        """Map each message id to the source of the table it shows."""
        return {
            entry.message_id: entry.text
            for ledger in ledgers
            for entry in ledger.entries
            if entry.message_id and entry.fate == DELIVERED and self._was_shown(entry.text)
        }

    def _was_shown(self, source: str) -> bool:
        block = rendered_block(source, self.plug_ins)
        return source in self._shown or (block is not None and block.code in self._blocks)

    def _remembering(self, draw: AttachmentRenderer, code: str) -> Sequence[File]:
        files = draw(code)
        if files:
            self._blocks.add(code)
        return files
