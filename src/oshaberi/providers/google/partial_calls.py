"""Assembles function calls whose arguments Gemini sends in pieces, each with its JSON path.

`whole` returns every event as if calls came in one piece: a call is one part, in the event that
ends it. Make one object per stream.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from oshaberi.providers.request.answer_budgets import (
    MOST_ARGUMENT_BYTES,
    BudgetExceededError,
    byte_size,
)

Document = Mapping[str, Any]

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\['([^']*)'\]")
_VALUES = ("stringValue", "numberValue", "boolValue")
_MOST_ITEMS = 10_000
_MOST_STEPS = 50
_ITEM_BYTES = 8
_INDEX_DIGITS = 6


class _GrowingText(list[str]):
    """A text in pieces: they are joined once, when the call is complete."""


class PartialCalls:
    """The unfinished call, if there is one. Raises BudgetExceededError."""

    def __init__(self, most_bytes: int = MOST_ARGUMENT_BYTES) -> None:
        self._part: dict[str, Any] | None = None
        self._most_bytes = self._left_bytes = most_bytes

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
            self._put(self._part["functionCall"]["args"], piece)
        if not call.get("willContinue"):
            yield from self._end()

    def _end(self) -> list[Mapping[str, Any]]:
        ended, self._part = self._part, None
        if ended is None:
            return []
        ended["functionCall"]["args"] = _joined(ended["functionCall"]["args"])
        return [ended]

    def _put(self, args: dict[str, Any], piece: Mapping[str, Any]) -> None:
        """Set a value at its path, or append to a text there. Creates missing containers."""
        path = str(piece.get("jsonPath", ""))
        value = next((piece[name] for name in _VALUES if name in piece), None)
        self._spend(len(path) + (byte_size(value) if isinstance(value, str) else _ITEM_BYTES))
        keys = [name or quoted or int(number or 0) for name, number, quoted in _steps(path)]
        if not keys or not isinstance(keys[0], str):
            return
        place: Any = args
        for key, following in pairwise(keys):
            place = self._at(place, key, [] if isinstance(following, int) else {})
        last = keys[-1]
        before = self._at(place, last, None)
        if not isinstance(value, str):
            place[last] = value
        elif isinstance(before, _GrowingText):
            before.append(value)
        else:
            place[last] = _GrowingText([before, value] if isinstance(before, str) else [value])

    def _at(self, place: Any, key: int | str, empty: Any) -> Any:
        """Return the value at `key`; if it is missing, set it to `empty` first."""
        if isinstance(key, int):
            missing = min(key + 1, _MOST_ITEMS) - len(place)
            if missing > 0:
                self._spend(missing * _ITEM_BYTES)
                place.extend([None] * missing)
            if place[key] is None:
                place[key] = empty
        else:
            place.setdefault(key, empty)
        return place[key]

    def _spend(self, more_bytes: int) -> None:
        self._left_bytes -= more_bytes
        if self._left_bytes < 0:
            raise BudgetExceededError("argument_budget", self._most_bytes)


def _steps(path: str) -> list[tuple[str, str, str]]:
    steps = _STEP.findall(path.removeprefix("$"))
    if len(steps) > _MOST_STEPS or any(len(number) > _INDEX_DIGITS for _, number, _ in steps):
        raise ValueError("an argument has an impossible path")
    return steps


def _joined(value: Any) -> Any:
    match value:
        case _GrowingText():
            return "".join(value)
        case dict():
            return {key: _joined(inner) for key, inner in value.items()}
        case list():
            return [_joined(inner) for inner in value]
    return value
