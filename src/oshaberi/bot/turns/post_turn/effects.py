"""Does the work after an answer: shows thoughts, stores memories and records."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace

from oshaberi.bot.conversation.messages import TurnChannel
from oshaberi.bot.conversation.transcript import plain_name
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.storage.errors import StorageAwayError
from oshaberi.bot.storage.records import (
    Exchange,
    PersonaRecord,
    StoredQuestion,
    TurnRecord,
    TurnTraces,
    UsedRequest,
)
from oshaberi.bot.turns.admission.channel_queue import TurnRequest
from oshaberi.bot.turns.generation.attachment_sources import AttachmentSources
from oshaberi.bot.turns.generation.engine_config import persona_of
from oshaberi.bot.turns.notices import NoticeSender
from oshaberi.bot.turns.outcome import TurnOutcome
from oshaberi.bot.turns.services.turn_services import EffectiveConfigs, TurnServices
from oshaberi.bot.turns.shown_reasoning import MARK, shown_thoughts
from oshaberi.delivery.attachments import PERSONA_MODE, PersonaMessage
from oshaberi.delivery.notices import DESCRIPTION_LIMIT
from oshaberi.delivery.posting import face_of
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import Embed, Sent
from oshaberi.languages import translated
from oshaberi.secret_redaction import redact
from oshaberi.stream.model_output import ThoughtLog

# Makes the record of a question whose answer a restart cut off. From it the answer continues.


def cut_question(
    services: TurnServices, turn_channel: TurnChannel, turn_request: TurnRequest
) -> StoredQuestion:
    """Return the question to store: the one that the first part of the answer answers."""
    earlier = turn_request.continues
    asked_id = None if earlier is None else earlier.asked_id
    return StoredQuestion(
        channel_id=turn_channel.channel_id,
        message_id=asked_id or turn_request.newest.said.id,
        server_id=turn_channel.server_id,
        user_id=turn_request.user_id,
        instance=services.instance,
        why=turn_request.why,
        is_begun=True,
    )


# Posts the thought log: the model's thoughts, as embeds in another channel.


MOST_EMBEDS = 10


async def log_thoughts(
    turn_channel: TurnChannel, config: TurnConfig, persona: PersonaRecord, outcome: TurnOutcome
) -> None:
    """Post the thoughts of a turn, if there is a channel for them. This may take a while."""
    channel = config.thought_log_channel_id
    if not channel or channel == turn_channel.channel_id or config.reasoning_display == "off":
        return
    embeds = thought_embeds(persona.name, [result.thought_log for result in outcome.results])
    if embeds:
        await turn_channel.log_thoughts(channel, embeds, face_of(None, persona_of(persona)))


def thought_embeds(persona: str, logs: Sequence[ThoughtLog]) -> tuple[Embed, ...]:
    """Return one embed, or several if the text is long; none without thoughts."""
    body = _body(logs)
    if not body:
        return ()
    title = f"{MARK} " + translated("{persona} thought", persona=plain_name(persona))
    head = _head(logs)
    pieces = list(_pieces(body, DESCRIPTION_LIMIT - len(head) - 2))
    if len(pieces) > MOST_EMBEDS:
        pieces = [*pieces[: MOST_EMBEDS - 1], translated("… and more than can be shown here.")]
    first, *others = pieces
    return (Embed(title, f"{head}\n\n{first}"), *(Embed(f"{title} …", one) for one in others))


def _head(logs: Sequence[ThoughtLog]) -> str:
    """Write which model answered, how long it took, and a link to the answer."""
    models = dict.fromkeys(f"{log.model} ({log.provider})" for log in logs if log.model)
    seconds = sum(log.duration_ms for log in logs) / 1000
    url = next((log.first_reply_url for log in logs if log.first_reply_url), None)
    link = [translated("[the answer]({url})", url=url)] if url else []
    return " · ".join([*models, f"{seconds:.1f} s", *link])[:1000]


def _body(logs: Sequence[ThoughtLog]) -> str:
    summaries = [text for log in logs for text in log.of_kind("summary") if text.strip()]
    raw = [text for log in logs for text in log.of_kind("raw") if text.strip()]
    sections = []
    if summaries:
        sections.append("**Summary**\n" + "\n\n".join(summaries))
    if raw:
        sections.append("**Thoughts**\n" + "\n\n".join(raw))
    # More than is shown, so that the last embed can say that there is more.
    return redact("\n\n".join(sections), (MOST_EMBEDS + 1) * DESCRIPTION_LIMIT)


def _pieces(text: str, most: int) -> Iterator[str]:
    """Split the text; at the end of a line, if there is one in the last quarter."""
    while len(text) > most:
        at = text.rfind("\n", most * 3 // 4, most)
        at = at if at > 0 else most
        yield text[:at].rstrip()
        text = text[at:].lstrip("\n")
    if text.strip():
        yield text


# Does the work after an answer: shows thoughts, stores memories and records.
#
# Each of these may fail without affecting the answer or the others.


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
