"""Decodes server-sent events from bytes: `feed` returns the data of whole events.

Only `data` matters here. Lines end with LF or CRLF alone: a general line splitter would also cut
at U+2028 and its like, which JSON may contain.
"""

from __future__ import annotations

import json
from typing import Any

from oshaberi.providers.error_classification import ProviderFailure, our_failure
from oshaberi.providers.wire.sdk_loading import StreamError, body_failure

_raw_decode = json.JSONDecoder().raw_decode

LONGEST_LINE = 16 * 1024 * 1024
_SHOWN = 300
_KEPT = 8000


class SseDecoder:
    """One per response."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._data: list[bytes] = []
        self._stray = b""
        self._is_stream = False

    def feed(self, piece: bytes) -> list[str]:
        """The data of the events that this piece completes."""
        if not self._parts and not self._data and piece.endswith(b"\n\n"):
            return self._whole(piece)
        if b"\n" not in piece:
            self._keep(piece)
            return []
        if self._parts:
            piece = b"".join((*self._parts, piece))
            self._parts.clear()
            self._size = 0
        lines = piece.split(b"\n")
        rest = lines.pop()
        if rest:
            self._keep(rest)
        events: list[str] = []
        for line in lines:
            self._line(line, events)
        return events

    def _whole(self, piece: bytes) -> list[str]:
        """A piece that begins and ends where events do, as nearly every one does."""
        text = piece.decode("utf-8", "replace")
        at = text.find("data: ")
        if text.find("\n", at) == len(text) - 2 and _is_plain(text, at):
            self._is_stream = True
            return [text[at + 6 : -2]]
        events: list[str] = []
        for line in piece.split(b"\n"):
            self._line(line, events)
        return events

    def finish(self) -> list[str]:
        """The end of the body: a last event may lack its blank line."""
        events: list[str] = []
        for line in (b"".join(self._parts), b""):
            self._line(line, events)
        if not self._is_stream and self._stray:
            raise StreamError(_no_stream(self._stray))
        return events

    def _line(self, line: bytes, events: list[str]) -> None:
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            self._is_stream = True
        elif not line or line == b"\r":
            if self._data:
                events.append(b"\n".join(self._data).decode("utf-8", "replace"))
                self._data.clear()
        elif not self._is_stream and len(self._stray) < _KEPT and not line.startswith(b":"):
            self._stray += line[:_KEPT]

    def _keep(self, piece: bytes) -> None:
        self._parts.append(piece)
        self._size += len(piece)
        if self._size > LONGEST_LINE:
            raise StreamError(our_failure("the provider sent a line without end"))


def _is_plain(text: str, at: int) -> bool:
    """Whether the data is the first line, or the second after the event's name."""
    if at == 0:
        return True
    return text.startswith("event: ") and text.find("\n") == at - 1


def read_object(data: str) -> dict[str, Any]:
    """The data of an event as JSON. Most of it has no space around: that is cheaper to read."""
    try:
        event, end = _raw_decode(data)
    except ValueError:
        end = -1
    if end != len(data):
        event = json.loads(data)
    if isinstance(event, dict):
        return event
    raise TypeError("an event is not an object")


def _no_stream(start: bytes) -> ProviderFailure:
    """A server may say in plain JSON what is wrong, or be no such server at all."""
    text = start.decode("utf-8", "replace").strip()
    try:
        return body_failure(read_object(text))
    except (ValueError, TypeError):
        hint = "; is the base URL right?" if text.startswith("<") else ""
        own_words = f"the answer is not a stream{hint}"
        message = f"{own_words} ({text[:_SHOWN]})"
        return ProviderFailure(message=message, body=text, kind="api_error", own_words=own_words)
