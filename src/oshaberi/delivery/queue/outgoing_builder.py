"""Makes outgoing messages of the engine's events, and of the parts of a table sent as code."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from oshaberi.delivery.bookkeeping.character_ledger import Ledger
from oshaberi.delivery.degree_policy import paces
from oshaberi.delivery.delivery_plug_ins import DeliveryPlugIns
from oshaberi.delivery.outgoing_message import OutgoingMessage, as_text, history_of
from oshaberi.delivery.pacing.interruptible_waits import InterruptibleWaits
from oshaberi.delivery.pacing.typing_pace import Wait, pause_ms, table_typing_ms, typing_ms
from oshaberi.delivery.queue.plug_in_attachments import block_files, rendered_block
from oshaberi.delivery.queue.table_attachments import TableRenderer, as_code, table_files
from oshaberi.delivery.response_state import ResponseState
from oshaberi.delivery.sink import File
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.events import Message, Table


class OutgoingBuilder:
    """Numbers the messages of a response and enters them into the ledger."""

    def __init__(
        self,
        config: StreamConfig,
        response: ResponseState,
        ledger: Ledger,
        renderer: TableRenderer,
        plug_ins: DeliveryPlugIns,
        waits: InterruptibleWaits,
    ) -> None:
        self._config = config
        self._response = response
        self._ledger = ledger
        self._renderer = renderer
        self._plug_ins = plug_ins
        self._waits = waits
        self._paces = paces(config)

    def pack(self, event: Message | Table) -> OutgoingMessage:
        number = self._response.next_number()
        text = "" if isinstance(event, Table) else event.text
        return OutgoingMessage(
            number=number,
            text=text,
            identity=event.identity,
            entries=(self._ledger.expect(event),),
            history=history_of(event),
            ready_at=self._waits.now(),
            wait=self._wait(number, event),
            table=event if isinstance(event, Table) else None,
            block=rendered_block(text, self._plug_ins),
        )

    def files(self, item: OutgoingMessage) -> Coroutine[Any, Any, tuple[File, ...]]:
        """Return the files that the message becomes; none if it is sent as text."""
        if item.table is not None:
            self._response.tables += 1
            number = self._response.tables
            return table_files(item.table, number, self._config, self._renderer, self._waits)
        assert item.block is not None, "`becomes_file` tells"
        return block_files(item.block, self._plug_ins, self._waits)

    def plain(self, item: OutgoingMessage) -> list[OutgoingMessage]:
        """Return the messages of a table as code. Its history belongs to the last one."""
        if item.table is None:
            return [as_text(item, item.number, item.text, item.history)]
        *before, last = as_code(item.table, self._config, self._renderer)
        for entry in item.entries:
            self._ledger.split(entry, len(before) + 1)
        parts = [as_text(item, self._response.next_number(), text, "") for text in before]
        return [*parts, as_text(item, item.number, last, item.history)]

    def _wait(self, number: int, event: Message | Table) -> Wait:
        config = self._config
        if not self._paces:
            return Wait(0, 0)
        if isinstance(event, Table):
            return Wait(pause_ms(number, config), table_typing_ms(config))
        return Wait(pause_ms(number, config), typing_ms(event.text, config))
