"""Ends an answer that the end of the process cuts off: never in mid-sentence.

The engine's forced flush returns everything. Unfinished text is cut back to the last complete
sentence, line or row; the model writes the rest again when the answer is continued.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard

from oshaberi.events import Event, Message, Table, Withheld

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
