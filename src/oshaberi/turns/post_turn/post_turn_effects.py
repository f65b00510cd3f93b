"""Does what follows an answer: shows and logs thoughts, stores memories and records.

Each of these may fail without hurting the answer or the others.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from oshaberi.conversation.turn_channel import TurnChannel
from oshaberi.delivery.posting.webhook_identity import face_of
from oshaberi.delivery.response_state import ResponseState
from oshaberi.storage.stored_records import Exchange, TurnRecord
from oshaberi.turns.generation.drawn_tables import DrawnTables
from oshaberi.turns.generation.engine_config import persona_of
from oshaberi.turns.post_turn.shown_reasoning import shown_thoughts
from oshaberi.turns.post_turn.thought_log import thought_embeds
from oshaberi.turns.turn_notices import NoticeSender
from oshaberi.turns.turn_outcome import TurnOutcome
from oshaberi.turns.turn_request import TurnRequest
from oshaberi.turns.turn_services import EffectiveConfigs, TurnServices
from oshaberi.turns.turn_store import TurnStore

log = logging.getLogger(__name__)

Effect = Callable[[], Awaitable[int | None]]

_SHOWN_AFTER = ("completed", "error", "timeout", "empty_response")


class PostTurnEffects:
    """Of one turn."""

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

    async def follow(
        self, outcome: TurnOutcome, response: ResponseState, tables: DrawnTables
    ) -> TurnOutcome:
        """The outcome with what was posted here."""
        shown = await _quietly("thoughts shown", lambda: self._show_thoughts(outcome))
        if shown:
            outcome = replace(outcome, message_ids=(*outcome.message_ids, shown))
        store = self._services.store
        if store is None:
            return outcome
        record = self._record(outcome)
        effects: dict[str, Effect] = {
            "turn": lambda: store.turns.remember(record),
            "memory": lambda: self._remember(store, outcome, record),
            "sprites": lambda: self._keep_sprites(store, response),
            "tables": lambda: self._keep_tables(store, outcome, tables),
        }
        for what, effect in effects.items():
            await _quietly(what, effect)
        return outcome

    async def log_thoughts(self, outcome: TurnOutcome) -> None:
        """Into another channel; may take its time."""
        channel = self._settings.turn.thought_log_channel_id
        display = self._settings.turn.reasoning_display
        if not channel or channel == self._turn_channel.channel_id or display == "off":
            return
        logs = [result.thought_log for result in outcome.results]
        embeds = thought_embeds(self._turn_request.persona.name, logs)
        if embeds:
            face = face_of(None, persona_of(self._turn_request.persona))
            await _quietly(
                "thought log", lambda: self._turn_channel.log_thoughts(channel, embeds, face)
            )

    async def _show_thoughts(self, outcome: TurnOutcome) -> int | None:
        if outcome.interrupted or outcome.status not in _SHOWN_AFTER:
            return None
        thoughts = [text for result in outcome.results for text in result.thought_log.texts]
        limit = self._settings.stream.text.max_single_message_length
        text = shown_thoughts(thoughts, self._settings.turn.reasoning_display, limit)
        if not text:
            return None
        face = face_of(None, persona_of(self._turn_request.persona))
        sent = await self._announcer.say_quietly(text, face)
        return None if sent is None else sent.id

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
        )

    async def _remember(self, store: TurnStore, outcome: TurnOutcome, record: TurnRecord) -> None:
        """At the same moment as the turn's record: who takes the turn back finds both."""
        turn = self._settings.turn
        if not turn.short_memory_size or not (outcome.text or outcome.details):
            return
        if any(
            self._services.deleted_messages.get(one.said.id) for one in self._turn_request.asked
        ):
            return
        asked = "\n".join(incoming.said.text for incoming in self._turn_request.asked)
        exchange = Exchange(
            channel_id=self._turn_channel.channel_id,
            user_id=self._turn_request.user_id,
            asked=asked,
            answered=outcome.text,
            details=outcome.details,
            persona=self._turn_request.persona.name,
            at=record.at,
        )
        await store.memory.add(exchange, keep=turn.short_memory_size, days=turn.short_memory_days)

    async def _keep_sprites(self, store: TurnStore, response: ResponseState) -> None:
        for one in response.sprites:
            await store.sprite_messages.remember(
                one.message_id, self._turn_channel.channel_id, one.persona, one.sprite
            )

    async def _keep_tables(
        self, store: TurnStore, outcome: TurnOutcome, tables: DrawnTables
    ) -> None:
        sources = tables.sources(result.ledger for result in outcome.results)
        for message_id, source in sources.items():
            await store.tables.remember(message_id, self._turn_channel.channel_id, source)


async def _quietly(what: str, effect: Effect) -> int | None:
    try:
        return await effect()
    except Exception:
        log.exception("after a turn: %s failed; the answer itself is there", what)
        return None
