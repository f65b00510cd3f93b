"""Summarises the oldest part of a conversation when it does not fit into a model's window.

The model that has no room for the history writes the summary, once: the summary is stored, and it
covers more than necessary, so that the next turns need no new one. If that fails, the history is
cut instead.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.storage.records import ConversationSummary
from oshaberi.bot.storage.repositories.memory import SummaryRepository
from oshaberi.bot.turns.context.building import MOST_CHARS, summary_note, summary_request
from oshaberi.bot.turns.context.surroundings import TurnSurroundings
from oshaberi.bot.turns.generation.side_requests import ask_aside
from oshaberi.bot.turns.quotas import RequestQuota
from oshaberi.bot.turns.services.adapter_pool import ConnectedAdapter
from oshaberi.bot.turns.services.model_access import ModelCandidate
from oshaberi.bot.turns.services.turn_services import ChannelNotes
from oshaberi.clocks import loop_time_s
from oshaberi.providers.request.model_request import ContextItem, Request
from oshaberi.stream.observers import request_span
from oshaberi.stream.stops import ActiveChannel
from oshaberi.terminal_output import counted

log = logging.getLogger(__name__)

KEPT_SHARE = 0.6
"""How much of the room the messages that are not summarised may take."""
FEWEST_MESSAGES = 2
PATIENCE_S = 90.0
PAUSE_S = 600.0
"""How long after a failure no new summary is tried in a channel."""


class HistoryCondenser:
    """Summarises the history in one turn."""

    def __init__(
        self,
        summaries: SummaryRepository,
        notes: ChannelNotes,
        around: TurnSurroundings,
        turn: TurnConfig,
        quota: RequestQuota,
        channel: ActiveChannel,
    ) -> None:
        self._summaries = summaries
        self._notes = notes
        self._around = around
        self._turn = turn
        self._quota = quota
        self._channel = channel
        self._summary = around.summary
        self._channel_id = around.asked[-1].channel_id

    async def condense(
        self,
        adapter: ConnectedAdapter,
        candidate: ModelCandidate,
        asked: Request,
        items: tuple[ContextItem, ...],
        dropped: Sequence[ContextItem],
    ) -> tuple[ContextItem, ...]:
        """Return the items, with a summary instead of those that do not fit, if possible.

        `asked` is the request, which begins with `items`; `dropped` are items that an earlier
        attempt left out.
        """
        if not self._is_wanted(adapter):
            return items
        # A local server may have to be asked for its window first.
        places = await self._channel.until_stopped(adapter.left_out(asked, KEPT_SHARE))
        # What was said after the question may be left out, but is not history yet.
        asked_at = next((n for n, item in enumerate(items) if item.tag == "current"), len(items))
        unfit = [items[place] for place in sorted(places) if place < asked_at]
        old = [item for item in (*dropped, *unfit) if item.message_id is not None]
        if len(old) < FEWEST_MESSAGES:
            return items
        made = await self._summarise(adapter, candidate, asked, old)
        if made is None:
            return items
        gone = {item.message_id for item in old}
        kept = [item for item in items if item.message_id is None or item.message_id not in gone]
        if self._summary is not None:
            kept = [item for item in kept if item != summary_note(self._summary)]
        self._summary = made
        return _with_note(kept, summary_note(made))

    def _is_wanted(self, adapter: ConnectedAdapter) -> bool:
        """Return whether to summarise. A model that can only continue a text cannot summarise."""
        if not self._turn.summarise_history or adapter.continues:
            return False
        paused_until_s = self._notes.summaries_paused.get(self._channel_id) or 0.0
        return self._around.newest.author.can_read_history and loop_time_s() >= paused_until_s

    async def _summarise(
        self,
        adapter: ConnectedAdapter,
        candidate: ModelCandidate,
        asked: Request,
        old: Sequence[ContextItem],
    ) -> ConversationSummary | None:
        request = summary_request(asked, old, self._around.persona.name, self._summary)
        model, purpose = candidate.model, {"oshaberi.purpose": "summary"}
        with request_span(model.provider, model.model, purpose) as span:
            work = ask_aside(adapter, candidate, request, self._quota, PATIENCE_S)
            text = await self._channel.until_stopped(work)
            if not text:
                span.fail("no_summary")
        made = self._record(text, old) if text else None
        if made is None:
            self._notes.summaries_paused.put(self._channel_id, loop_time_s() + PAUSE_S)
            return None
        log.info("channel %s: summarised %s", self._channel_id, counted(made.messages, "message"))
        await self._keep(made)
        return made

    def _record(self, text: str, old: Sequence[ContextItem]) -> ConversationSummary | None:
        """Return the record, or None if one of the messages was deleted meanwhile."""
        ids = [item.message_id for item in old if item.message_id is not None]
        if any(self._notes.deleted_messages.get(one) for one in ids):
            return None
        authors = {one.id: one.author.id for one in self._around.history if not one.by_us}
        before = self._summary
        return ConversationSummary(
            channel_id=self._channel_id,
            text=text[:MOST_CHARS],
            first_id=min(ids) if before is None else before.first_id,
            last_id=max(ids),
            messages=len(ids) + (0 if before is None else before.messages),
            user_ids=frozenset(authors[one] for one in ids if one in authors)
            | (frozenset() if before is None else before.user_ids),
            at=self._around.now,
        )

    async def _keep(self, made: ConversationSummary) -> None:
        """Store the summary, unless the stored one reaches further (turns for old questions)."""
        try:
            known = await self._summaries.of(self._channel_id)
            if known is None or known.last_id < made.last_id:
                await self._summaries.keep(made, days=self._turn.short_memory_days)
        except Exception:
            # This turn has it anyway.
            log.exception("a summary could not be stored")


def _with_note(items: Sequence[ContextItem], note: ContextItem) -> tuple[ContextItem, ...]:
    """Insert the note before the first item of the conversation."""
    first = next(n for n, item in enumerate(items) if item.tag in ("history", "current"))
    return (*items[:first], note, *items[first:])
