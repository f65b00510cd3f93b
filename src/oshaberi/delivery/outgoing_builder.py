"""Turns an event of the engine into messages that wait to be sent."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from oshaberi.delivery.attachments import (
    DeliveryPlugIns,
    TableRenderer,
    as_code,
    block_files,
    rendered_block,
    table_files,
)
from oshaberi.delivery.config import StreamConfig, paces
from oshaberi.delivery.pacing import pause_ms, table_typing_ms, typing_ms
from oshaberi.delivery.queue import OutgoingMessage, Wait
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import File
from oshaberi.delivery.waits import InterruptibleWaits
from oshaberi.events import Attachment, Message, Table


def history_of(event: Message | Table) -> str:
    """Return the text for the model's history, with the label the model wrote (spec 06 S2.3)."""
    text = event.source if isinstance(event, Table) else event.text
    if event.labelled and event.identity is not None:
        return f"{event.identity.label}: {text}"
    return text


def _attached(event: Message | Table) -> File | None:
    """Return the file of a picture or a sound; None if there is only its name."""
    if not isinstance(event, Attachment) or not event.content:
        return None
    return File(event.name, event.content, source=event.text)


async def _only(file: File) -> tuple[File, ...]:
    return (file,)


class OutgoingBuilder:
    """Makes the messages of a response from the engine's events, and numbers them."""

    def __init__(
        self,
        config: StreamConfig,
        response: ResponseState,
        renderer: TableRenderer,
        plug_ins: DeliveryPlugIns,
        waits: InterruptibleWaits,
    ) -> None:
        self._config = config
        self._response = response
        self._renderer = renderer
        self._plug_ins = plug_ins
        self._has_blocks = bool(plug_ins.attachments)
        self._waits = waits
        self._paces = paces(config)

    def pack(self, event: Message | Table, entry: int) -> OutgoingMessage:
        """Make a message. `entry` is its place in the ledger."""
        number = self._response.next_number()
        text = "" if isinstance(event, Table) else event.text
        return OutgoingMessage(
            number=number,
            text=text,
            identity=event.identity,
            entries=(entry,),
            history=history_of(event),
            ready_at=self._waits.now(),
            wait=self._wait(number, event),
            table=event if isinstance(event, Table) else None,
            block=rendered_block(text, self._plug_ins) if self._has_blocks else None,
            attached=_attached(event),
        )

    def files(self, item: OutgoingMessage) -> Coroutine[Any, Any, tuple[File, ...]]:
        """Return the files that the message becomes; none if it is sent as text."""
        if item.attached is not None:
            return _only(item.attached)
        if item.table is not None:
            number = self._response.next_table()
            return table_files(item.table, number, self._config, self._renderer, self._waits)
        assert item.block is not None, "see `becomes_file`"
        return block_files(item.block, self._plug_ins, self._waits)

    def as_text(self, item: OutgoingMessage) -> list[OutgoingMessage]:
        """Return the messages of a table as code. Its history belongs to the last one."""
        if item.table is None:
            return [item.with_text(item.number, item.text, item.history)]
        *before, last = as_code(item.table, self._config, self._renderer)
        parts = [item.with_text(self._response.next_number(), text, "") for text in before]
        return [*parts, item.with_text(item.number, last, item.history)]

    def _wait(self, number: int, event: Message | Table) -> Wait:
        config = self._config
        if not self._paces:
            return Wait(0, 0)
        if isinstance(event, Table):
            return Wait(pause_ms(number, config), table_typing_ms(config))
        return Wait(pause_ms(number, config), typing_ms(event.text, config))
