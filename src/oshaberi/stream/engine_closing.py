"""Ends the text before the model has: for a stop, a follow-up, or the end of the process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard

from oshaberi.delivery.deliverer import Deliverer
from oshaberi.delivery.ledger import Ledger
from oshaberi.events import Event, Message, Table, Withheld
from oshaberi.stream.context import StreamTextEngine
from oshaberi.stream.model_output import ModelOutput

UNFINISHED = "incomplete_clause"


def is_trimmed(event: Event) -> TypeGuard[Withheld]:
    return isinstance(event, Withheld) and event.reason == UNFINISHED


# Ends the text before the model has: for a stop, the end of the process, or a follow-up.
#
# The rest of a large chunk is fed first, in slices, since the provider is being closed and other
# streams run.


class EngineClosing:
    """Closes the text engine of one stream early. Only the first call finds something."""

    def __init__(
        self, output: ModelOutput, engine: StreamTextEngine, deliverer: Deliverer, ledger: Ledger
    ) -> None:
        self._output = output
        self._engine = engine
        self._deliverer = deliverer
        self._ledger = ledger
        self._trimmed: list[Withheld] = []
        self.unfinished = ""
        """The half clause that a stop cut off."""

    async def flush(self, *, trim: bool = False) -> tuple[list[Message | Table], bool]:
        """Return what the engine holds after a stop, and whether that was only its buffer.

        `trim`: it ends at a clause. `drop_trimmed` then reports the rest.
        """
        if not self._output.engine_open:
            return [], True
        only_buffer = not self._output.has_slices
        messages = await self._feed_rest()
        last = self._last(trim=trim)
        self._trimmed = [event for event in last if is_trimmed(event)]
        found = self._output.sorted(event for event in last if not is_trimmed(event))
        return messages + found, only_buffer

    def drop_trimmed(self, reason: str) -> None:
        """Report the half clause that a stop cut off as not delivered."""
        self.unfinished = "\n".join(event.text for event in self._trimmed)
        self._drop(self._trimmed, reason)
        self._trimmed = []

    async def flush_whole(self) -> list[Message | Table]:
        """Return what the engine holds at process end, without what may be half.

        The model writes that again when the answer is continued.
        """
        if not self._output.engine_open:
            return []
        messages = await self._feed_rest()
        return messages + self._output.sorted(self._last(only_whole=True))

    async def discard(self) -> None:
        """Drop what the engine holds, because the user wrote again. Thoughts stay."""
        if not self._output.engine_open:
            return
        messages = await self._feed_rest()
        dropped: list[Withheld] = []
        kept: list[Event] = []
        for event in self._engine.discard():
            if isinstance(event, Withheld) and event.reason == "follow_up":
                dropped.append(event)
            else:
                kept.append(event)
        self._deliverer.drop("follow_up", messages + self._output.sorted(kept))
        self._drop(dropped, "follow_up")

    async def _feed_rest(self) -> list[Message | Table]:
        self._output.engine_open = False
        messages: list[Message | Table] = []
        while rest := self._output.next_slice():
            messages += self._output.sorted(self._engine.feed(rest))
            await asyncio.sleep(0)
        return messages

    def _last(self, *, trim: bool = False, only_whole: bool = False) -> Sequence[Event]:
        if self._output.guarded:
            return self._engine.finish()
        return self._engine.flush("stop", trim_incomplete_clause=trim, only_whole=only_whole)

    def _drop(self, dropped: Sequence[Withheld], reason: str) -> None:
        for withheld in dropped:
            fate = self._deliverer.fate_of(withheld.text, reason)
            self._ledger.drop(replace(withheld, reason=fate))
