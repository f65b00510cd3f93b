"""Does the work after an answer: shows thoughts, stores memories and records.

Each of these may fail without affecting the answer or the others.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from oshaberi.conversation.turn_channel import TurnChannel
from oshaberi.delivery.delivery_plug_ins import PERSONA_MODE, PersonaMessage
from oshaberi.delivery.posting.webhook_identity import face_of
from oshaberi.delivery.response_state import ResponseState
from oshaberi.delivery.sink import Sent
from oshaberi.storage.storage_errors import StorageAwayError
from oshaberi.storage.stored_records import Exchange, TurnRecord, TurnTraces, UsedRequest
from oshaberi.turns.admission.turn_request import TurnRequest
from oshaberi.turns.generation.attachment_sources import AttachmentSources
from oshaberi.turns.generation.engine_config import persona_of
from oshaberi.turns.post_turn.interrupted_questions import cut_question
from oshaberi.turns.post_turn.thought_log import log_thoughts
from oshaberi.turns.services.turn_services import EffectiveConfigs, TurnServices
from oshaberi.turns.shown_reasoning import shown_thoughts
from oshaberi.turns.turn_notices import NoticeSender
from oshaberi.turns.turn_outcome import TurnOutcome

log = logging.getLogger(__name__)

Effect = Callable[[], Awaitable[int | None]]

_SHOWN_AFTER = ("completed", "error", "timeout", "empty_response")


class PostTurnEffects:
    """The work after one turn."""

    def __init__(
        self,
        services: TurnServices,
        turn_channel: TurnChannel,
        turn_request: TurnRequest,
        settings: EffectiveConfigs,
        announcer: NoticeSender,
    ) -> None:
        self._services = services
        self._turn_channel = turn_channel
        self._turn_request = turn_request
        self._settings = settings
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
        store, journal = self._services.store, self._services.journal
        if store is None:
            if journal is not None:
                await journal.finish(response.key)
            return
        traces = self._traces(outcome, response, tables, used)
        if journal is not None:
            traces = replace(traces, journal_key=response.key)
        self._stored = traces.turn
        failed = await store.keep_turn(traces)
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
        if self._services.store is not None:
            self._services.store.queue_turn(self._traces(outcome, response, tables, used))

    async def add_notice(self, notice: Sent) -> None:
        """Add a notice, which was sent later, to the stored turn."""
        store, stored = self._services.store, self._stored
        if store is None or stored is None or notice.id is None:
            return
        message_ids = tuple(sorted({*stored.message_ids, notice.id}))
        work = store.turns.set_messages(replace(stored, message_ids=message_ids))
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
        question = cut_question(self._services, self._turn_channel, self._turn_request)
        if turn.continue_after_restart:
            return replace(traces, cut_question=question)
        return replace(traces, settled_question_id=question.message_id)

    async def log_thoughts(self, outcome: TurnOutcome) -> None:
        config, persona = self._settings.turn, self._turn_request.persona
        work = log_thoughts(self._turn_channel, config, persona, outcome)
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
        persona, stream = self._turn_request.persona, self._settings.stream
        message = PersonaMessage(text, face_of(None, persona_of(persona)), persona.name, "", number)
        if stream.display_mode == PERSONA_MODE or stream.delivery == "live":
            return message
        limit = stream.text.max_single_message_length
        return self._services.plug_ins.shown(stream.display_mode, message, limit)

    def _record(self, outcome: TurnOutcome) -> TurnRecord:
        newest, earlier = self._turn_request.newest, self._turn_request.continues
        asked_id = None if newest.said.by_us else newest.said.id
        return TurnRecord(
            channel_id=self._turn_channel.channel_id,
            server_id=self._turn_channel.server_id,
            user_id=self._turn_request.user_id,
            asked_id=asked_id if earlier is None else earlier.asked_id,
            persona=self._turn_request.persona.name,
            message_ids=tuple(sorted({*outcome.message_ids, *outcome.notice_ids})),
            status=outcome.status,
            undelivered=outcome.undelivered,
            why=self._turn_request.why,
            at=self._services.clock(),
            answer_id=None if earlier is None else earlier.first_id,
            questions=self._questions(outcome),
        )

    def _questions(self, outcome: TurnOutcome) -> dict[int, str]:
        """Return why each message was answered or not, so that it is known after a restart."""
        asked = self._turn_request
        if asked.kind != "answer":
            return {}
        ids = [one.said.id for one in asked.asked if not one.said.by_us]
        reasons = {one: outcome.unsaid or asked.reason_of(one) for one in ids}
        return {one: asked.why if why in (None, "seen") else why for one, why in reasons.items()}

    def _exchange(self, outcome: TurnOutcome, record: TurnRecord) -> Exchange | None:
        """Return the exchange with the time of the turn's record, so that both can be found."""
        if not self._settings.turn.short_memory_size or not (outcome.text or outcome.details):
            return None
        if any(
            self._services.deleted_messages.get(one.said.id) for one in self._turn_request.asked
        ):
            return None
        return Exchange(
            channel_id=self._turn_channel.channel_id,
            user_id=self._turn_request.user_id,
            asked="\n".join(incoming.said.text for incoming in self._turn_request.asked),
            answered=outcome.text,
            details=outcome.details,
            persona=self._turn_request.persona.name,
            at=record.at,
        )


async def _quietly(what: str, effect: Effect) -> int | None:
    try:
        return await effect()
    except Exception:
        log.exception("after a turn: %s failed; the answer itself is there", what)
        return None
