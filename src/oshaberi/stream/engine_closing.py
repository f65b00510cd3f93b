"""Ends the text before the model has: for a stop, a follow-up, or the end of the process."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard

from oshaberi.delivery.deliverer import Deliverer
from oshaberi.delivery.ledger import Ledger
from oshaberi.events import Event, Message, Table, Withheld
from oshaberi.stream.context import StreamTextEngine
from oshaberi.stream.model_output import ModelOutput

# Ends an answer that the end of the process cuts off: never in mid-sentence.
#
# The engine's forced flush returns everything. Unfinished text is cut back to the last complete
# sentence, line or row; the model writes the rest again when the answer is continued.


UNFINISHED = "incomplete_clause"
_FENCE = "```"
_SENTENCE_ENDS = re.compile(r"[.!?…。．｡！？][)\]}\"'»”’」』*_~|`]*$")


def without_unfinished(events: Sequence[Event]) -> list[Event]:
    """Return the events of a forced flush without an unfinished sentence, line or row."""
    at = next((n for n in reversed(range(len(events))) if _is_text(events[n])), None)
    if at is None or any(is_trimmed(event) for event in events[at:]):
        return list(events)
    return [*events[:at], *_whole(events[at]), *events[at + 1 :]]


def _is_text(event: Event) -> bool:
    return isinstance(event, Message | Table)


def is_trimmed(event: Event) -> TypeGuard[Withheld]:
    return isinstance(event, Withheld) and event.reason == UNFINISHED


def _whole(last: Event) -> list[Event]:
    match last:
        case Message(text=text, boundary="stop"):
            kept = whole_part(text)
            shown: list[Event] = [replace(last, text=kept)] if kept else []
            return shown + _withheld(last, _behind(kept, text))
        case Table(source=source, rows=rows):
            # Its last row may be incomplete.
            before, _, row = source.rpartition("\n")
            if len(rows) < 2:
                return _withheld(last, source)
            return [replace(last, source=before, rows=rows[:-1]), *_withheld(last, row)]
    return [last]


def _behind(kept: str, text: str) -> str:
    """Return what `text` has behind `kept`. Both may end with a fence that the flush added."""
    return text.removesuffix(_FENCE)[len(kept.removesuffix(_FENCE)) :].strip()


def _withheld(last: Message | Table, text: str) -> list[Event]:
    return [Withheld(text, UNFINISHED, last.segment, last.span)] if text else []


def whole_part(text: str) -> str:
    """Return the text if it ends with a sentence, else its complete lines; empty if none."""
    if text.endswith(_FENCE):
        return _whole_code(text)
    if _SENTENCE_ENDS.search(text):
        return text
    return text.rpartition("\n")[0].rstrip()


def _whole_code(text: str) -> str:
    """Drop the last line of a code block, which may be incomplete; the flush closed it."""
    body = text.removesuffix(_FENCE).rstrip("\n")
    before, _, _ = body.rpartition("\n")
    if not before:
        return ""
    if before.split("\n")[-1].startswith(_FENCE):  # the opening fence: no line was whole
        return before.rpartition("\n")[0].rstrip()
    return f"{before}\n{_FENCE}"


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
        """Return what the engine holds at process end, up to the last clean boundary."""
        if not self._output.engine_open:
            return []
        messages = await self._feed_rest()
        guarded = self._output.guarded
        last = self._last(trim=True)
        return messages + self._output.sorted(last if guarded else without_unfinished(last))

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

    def _last(self, *, trim: bool) -> Sequence[Event]:
        if self._output.guarded:
            return self._engine.finish()
        return self._engine.flush("stop", trim_incomplete_clause=trim)

    def _drop(self, dropped: Sequence[Withheld], reason: str) -> None:
        for withheld in dropped:
            fate = self._deliverer.fate_of(withheld.text, reason)
            self._ledger.drop(replace(withheld, reason=fate))
