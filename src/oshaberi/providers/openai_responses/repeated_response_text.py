"""Drops text that a Responses stream repeats. Make one object per stream.

A server that sends pieces sends the same text whole as well: per part, per item and per answer.
Only new text is read from those. An item is recognised by its number and by its name, because some
servers number every item 0 or not at all, and some rename it with every event.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oshaberi.providers.wire.sse_decoder import read_object

Event = Mapping[str, Any]

SAID = "is_said"
"""The key that marks an item's event whose text came before."""

_PIECES = {
    "response.output_text.delta": "message",
    "response.refusal.delta": "message",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.reasoning_text.delta": "reasoning",
}
_PARTS = {
    "response.output_text.done": "message",
    "response.refusal.done": "message",
    "response.reasoning_summary_text.done": "reasoning",
    "response.reasoning_text.done": "reasoning",
}
_ITEMS = frozenset({"response.output_item.added", "response.output_item.done"})
_NOTHING: Event = {}


class Repetitions:
    """Remembers which items arrived in pieces, which arrived whole, and of which kinds."""

    def __init__(self) -> None:
        self._kinds: set[str] = set()
        self._in_pieces: set[tuple[str, Any]] = set()
        self._whole: set[tuple[str, Any]] = set()
        self._parts: set[tuple[Any, ...]] = set()
        self._last_type: str | None = None
        self._last_item: str | None = None

    def read_event(self, data: str) -> Event:
        """Read the data of an event, without text that came before."""
        event = read_object(data)
        if event.get("type") == self._last_type and event.get("item_id") == self._last_item:
            # Nearly every event: a piece of the same item as before.
            return event
        self._last_type = None
        kind = _PIECES.get(event.get("type", ""))
        if kind is None:
            return self._without_repetition(event)
        self._last_item = event.get("item_id")
        self._last_type = event["type"] if self._last_item else None
        self._kinds.add(kind)
        self._in_pieces.update(_names(kind, event))
        return event

    def _without_repetition(self, event: Event) -> Event:
        kind = event.get("type")
        if kind in _PARTS:
            return self._part(_PARTS[kind], event)
        if kind in _ITEMS:
            return self._item(event)
        response = event.get("response")
        if isinstance(response, Mapping) and response.get("output"):
            output = [self._news(item) for item in response["output"]]
            return {**event, "response": {**response, "output": output}}
        return event

    def _part(self, kind: str, event: Event) -> Event:
        names = _names(kind, event)
        part = (*names, event.get("content_index"), event.get("summary_index"))
        if part in self._parts or not self._in_pieces.isdisjoint(names):
            return _NOTHING
        self._kinds.add(kind)
        self._parts.add(part)
        self._whole.update(names)
        return event

    def _item(self, event: Event) -> Event:
        kind = str(event["item"].get("type"))
        self._kinds.add(kind)
        names = _names(kind, event)
        is_said = any(name in self._in_pieces or name in self._whole for name in names)
        return {**event, SAID: True} if is_said else event

    def _news(self, item: Event) -> Event:
        """Return an item of the whole answer, unless the stream has sent one of its kind."""
        return _NOTHING if item.get("type") in self._kinds else item


def _names(kind: str, event: Event) -> list[tuple[str, Any]]:
    item = event.get("item") or {}
    names = (event.get("output_index"), event.get("item_id") or item.get("id"))
    return [(kind, name) for name in names if name is not None]
