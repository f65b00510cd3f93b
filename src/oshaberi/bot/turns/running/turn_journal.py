"""The entry of one turn in the database's journal, from which a restart goes on."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from oshaberi.bot.turns.admission.channel_queue import TurnRequest
from oshaberi.bot.turns.post_turn import TurnRecords
from oshaberi.delivery.journal import (
    LINES,
    JournalAwayError,
    JournalledPost,
    JournalledSink,
    JournalledStream,
)
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import Sink


class TurnJournal:
    """Writes the entry, and the messages of the answer before they are sent."""

    def __init__(
        self,
        records: TurnRecords,
        asked: TurnRequest,
        response: ResponseState,
    ) -> None:
        self._records = records
        self._asked = asked
        self._response = response
        self._newest_id = asked.job.newest.said.id

    def begin(self) -> None:
        job = self._asked.job
        answering, occasion = job.answering_message, job.occasion
        answering_id = None if answering is None else answering.said.id
        stream = JournalledStream(
            key=self._response.key,
            instance=self._records.instance,
            server_id=job.turn_channel.server_id,
            channel_id=job.turn_channel.channel_id,
            user_id=job.user_id,
            answering_id=answering_id if occasion is None else occasion.id,
            persona=self._asked.persona.name,
            began=self._records.clock(),
        )
        self._records.db.journal.queue_begin(stream)

    def journalled(self, sink: Sink) -> Sink:
        """Return a sink that stores each message before it sends it."""
        return JournalledSink(sink, self._records.db.journal, self._newest, self._response.key)

    def note_seen(self, message_ids: Iterable[int]) -> None:
        """Note messages that were in the channel before the answer."""
        self._newest_id = max([self._newest_id, *message_ids])

    async def announce_lines(self) -> None:
        """Store that messages beside the answer may be in the channel from now on.

        Like every message, they are sent even if this cannot be stored.
        """
        key = self._response.key
        entry = JournalledPost(f"{key}{LINES}", 0, {}, self._newest(), state="refused")
        with suppress(JournalAwayError):
            await self._records.db.journal.intend(key, entry)

    async def finish(self) -> None:
        """Close the entry of a turn that said nothing."""
        await self._records.db.journal.finish(self._response.key)

    def _newest(self) -> int:
        return max([self._newest_id, *(sent.id or 0 for sent in self._response.messages)])
