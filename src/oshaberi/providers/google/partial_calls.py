"""Assembles function calls whose arguments Gemini sends in pieces, each with its JSON path.

`whole` returns every event as if calls came in one piece: a call is one part, in the event that
ends it. Make one object per stream.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

Document = Mapping[str, Any]

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\['([^']*)'\]")
_VALUES = ("stringValue", "numberValue", "boolValue")
_MOST_ITEMS = 10_000


class PartialCalls:
    """The unfinished call, if there is one."""

    def __init__(self) -> None:
        self._part: dict[str, Any] | None = None

    def whole(self, document: Document) -> Document:
        """Return the event with whole calls only. Most events have none and stay unchanged."""
        candidates: list[dict[str, Any]] = document.get("candidates") or [{}]
        first, *others = candidates
        content = first.get("content") or {}
        parts = content.get("parts") or ()
        if self._part is None and not any("functionCall" in part for part in parts):
            return document
        kept = [made for part in parts for made in self._parts(part)]
        if first.get("finishReason") == "STOP":
            kept += self._end()
        changed = {**first, "content": {**content, "parts": kept}}
        return {**document, "candidates": [changed, *others]} if first else document

    def _parts(self, part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        call = part.get("functionCall")
        if call is None:
            yield part
            return
        if call.get("name"):
            yield from self._end()
            self._part = {**part, "functionCall": {**call, "args": dict(call.get("args") or {})}}
        if self._part is None:
            return
        if part.get("thoughtSignature"):
            self._part["thoughtSignature"] = part["thoughtSignature"]
        for piece in call.get("partialArgs") or ():
            _put(self._part["functionCall"]["args"], piece)
        if not call.get("willContinue"):
            yield from self._end()

    def _end(self) -> list[Mapping[str, Any]]:
        ended, self._part = self._part, None
        return [] if ended is None else [ended]


def _put(args: dict[str, Any], piece: Mapping[str, Any]) -> None:
    """Set a value at its path, or append to a text there. Creates missing containers."""
    keys = [name or quoted or int(number or 0) for name, number, quoted in _steps(piece)]
    if not keys or not isinstance(keys[0], str):
        return
    place: Any = args
    for key, following in pairwise(keys):
        place = _at(place, key, [] if isinstance(following, int) else {})
    last = keys[-1]
    value = next((piece[name] for name in _VALUES if name in piece), None)
    before = _at(place, last, None)
    is_more = isinstance(before, str) and isinstance(value, str)
    place[last] = before + value if is_more else value


def _steps(piece: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    return _STEP.findall(str(piece.get("jsonPath", "")).removeprefix("$"))


def _at(place: Any, key: int | str, empty: Any) -> Any:
    """Return the value at `key`; if it is missing, set it to `empty` first."""
    if isinstance(key, int):
        while len(place) <= key < _MOST_ITEMS:
            place.append(None)
        if place[key] is None:
            place[key] = empty
    else:
        place.setdefault(key, empty)
    return place[key]
