"""The journal entry of one turn: what is stored before it is sent."""

from __future__ import annotations

from collections.abc import Iterable

from oshaberi.conversation.turn_channel import TurnChannel
from oshaberi.delivery.bookkeeping.send_journal import JournalledSink, JournalledStream
from oshaberi.delivery.response_state import ResponseState
from oshaberi.delivery.sink import Sink
from oshaberi.turns.admission.turn_request import TurnRequest
from oshaberi.turns.services.turn_services import TurnServices


class TurnJournal:
    """The entry. If the process has no journal, nothing is stored."""

    def __init__(
        self,
        services: TurnServices,
        turn_channel: TurnChannel,
        turn_request: TurnRequest,
        response: ResponseState,
    ) -> None:
        self._services = services
        self._turn_channel = turn_channel
        self._turn_request = turn_request
        self._response = response
        self._newest_id = turn_request.newest.said.id

    def begin(self) -> None:
        if self._services.journal is None:
            return
        answering = self._turn_request.answering
        stream = JournalledStream(
            key=self._response.key,
            instance=self._services.instance,
            server_id=self._turn_channel.server_id,
            channel_id=self._turn_channel.channel_id,
            user_id=self._turn_request.user_id,
            answering_id=None if answering is None else answering.said.id,
            persona=self._turn_request.persona.name,
            began=self._services.clock(),
        )
        self._services.journal.queue_begin(stream)

    def journalled(self, sink: Sink) -> Sink:
        """Return a sink that stores each message before it sends it."""
        journal = self._services.journal
        if journal is None:
            return sink
        return JournalledSink(sink, journal, self._newest, self._response.key)

    def note_seen(self, message_ids: Iterable[int]) -> None:
        """Note messages that were in the channel before the answer."""
        self._newest_id = max([self._newest_id, *message_ids])

    async def finish(self) -> None:
        """Close the entry of a turn that said nothing."""
        if self._services.journal is not None:
            await self._services.journal.finish(self._response.key)

    def _newest(self) -> int:
        return max([self._newest_id, *(sent.id or 0 for sent in self._response.messages)])
