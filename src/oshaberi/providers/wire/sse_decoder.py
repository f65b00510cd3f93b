"""Decodes server-sent events from bytes: `feed` returns the data of whole events.

It reads only `data` and signs of an error: an `error` field, or an event of that name. Lines
end with LF or CRLF only: a general line splitter would also cut at U+2028 and the like, which JSON
may contain. If the body is one JSON document instead of a stream, that document is returned.
Google ends a broken stream with the error as bare lines of JSON, which count as an event, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from oshaberi.checked_json import SHORT_JSON, parse_json, scan_json
from oshaberi.errors import Sentence
from oshaberi.providers.error_classification import ProviderFailure, our_failure
from oshaberi.providers.wire.errors import StreamError, body_failure

LONGEST_EVENT = 4 * 1024 * 1024
"""How many bytes may come before an event is complete, blank lines and comments included."""
_SHOWN = 300
NOT_A_STREAM = Sentence("the answer is not a stream")
NOT_A_STREAM_BUT_A_PAGE = Sentence("the answer is not a stream; is the base URL right?")
_KEPT = 8000
_NEWLINE = 10
_PLAIN = b"data: {"
_NEVER = b"\0"
"""A prefix that no event has."""
_BEGINNING = re.compile(rb"(?:event: (?!error\b)[\w.]+\n)?data: \{")

DONE: dict[str, Any] = {"done": True}
"""Stands for the data `[DONE]`."""

_ANSWERS = frozenset({"choices", "output", "content", "candidates", "promptFeedback"})
"""A JSON object with one of these keys is an answer."""


class SseDecoder:
    """Decodes one response."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._unfinished = 0
        """How many bytes have come since the last event."""
        self._data: list[bytes] = []
        self._name = b""
        self._bare: list[bytes] = []
        """The lines of a JSON object in the stream that have no `data:`."""
        self._stray: list[bytes] = []
        self._stray_size = 0
        self._is_stream = False
        self._beginning = _NEVER

    def feed(self, piece: bytes) -> Sequence[str]:
        """Return the data of the events that this piece completes."""
        beginning = self._beginning
        if (
            piece.startswith(beginning)
            and piece.find(b"\n", len(beginning)) == len(piece) - 2
            and piece[-1] == _NEWLINE
        ):
            # Nearly every piece: one event that looks like the one before.
            return (piece[len(beginning) - 1 : -2].decode("utf-8", "replace"),)
        events = self._fed(piece)
        self._count(0 if events else len(piece))
        is_between = self._is_stream and self._is_between_events()
        self._beginning = _beginning(piece) if is_between else _NEVER
        return events

    def _fed(self, piece: bytes) -> list[str]:
        if self._is_between_events():
            piece = piece.lstrip(b"\r\n")
        if b"\n" not in piece:
            if piece:
                self._parts.append(piece)
            return []
        if self._parts:
            piece = b"".join((*self._parts, piece))
            self._parts.clear()
        lines = piece.split(b"\n")
        rest = lines.pop()
        if rest:
            self._parts.append(rest)
        events: list[str] = []
        for line in lines:
            self._line(line, events)
        return events

    def finish(self) -> list[str]:
        """End the body. The last event may lack its blank line."""
        events: list[str] = []
        for line in (b"".join(self._parts), b""):
            self._line(line, events)
        if not self._is_stream and self._stray:
            return _whole_answer(b"\n".join(self._stray))
        return events

    def _is_between_events(self) -> bool:
        return not (self._parts or self._data or self._name or self._bare)

    def _line(self, line: bytes, events: list[str]) -> None:
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            self._is_stream = True
        elif not line or line == b"\r":
            self._end_of_event(events)
        elif line.startswith(b"event:"):
            self._name = line[6:].strip()
        elif line.startswith(b"error:"):
            self._is_stream = True
            events.append(_as_error(line[6:].decode("utf-8", "replace")))
        elif self._is_stream and (self._bare or line.startswith(b"{")):
            self._bare.append(line)
        elif not self._is_stream and not line.startswith(b":"):
            self._keep_stray(line)

    def _end_of_event(self, events: list[str]) -> None:
        """End an event. Events without data are ignored, unless they are a bare error."""
        if self._bare:
            said = b"\n".join(self._bare).decode("utf-8", "replace")
            self._bare.clear()
            if _is_error(said):
                events.append(said)
        data = b"\n".join(self._data).decode("utf-8", "replace")
        if data and not data.isspace():
            events.append(_as_error(data) if self._name == b"error" else data)
        self._data.clear()
        self._name = b""

    def _keep_stray(self, line: bytes) -> None:
        """Keep a line outside events: a whole JSON document, else what an error will show."""
        is_json = (self._stray[0] if self._stray else line).lstrip()[:1] in (b"{", b"[")
        if self._stray_size < (LONGEST_EVENT if is_json else _KEPT):
            self._stray.append(line)
            self._stray_size += len(line)

    def _count(self, more_bytes: int) -> None:
        self._unfinished = self._unfinished + more_bytes if more_bytes else 0
        if self._unfinished > LONGEST_EVENT:
            words = Sentence("the provider sent an endless line")
            raise StreamError(our_failure(words, kind="api_error"))


def _beginning(piece: bytes) -> bytes:
    """Return the text before the first event's JSON object, if that is only the event's name."""
    found = _BEGINNING.match(piece)
    return found[0] if found else _PLAIN


def read_object(data: str) -> dict[str, Any]:
    """Parse the data of an event. The fast path is for data without surrounding white space."""
    size = len(data)
    if size > SHORT_JSON:
        event = parse_json(data)
    else:
        try:
            event, end = scan_json(data, 0)
        except (ValueError, StopIteration):
            end = -1
        if end != size:
            if data.strip() == "[DONE]":
                return DONE
            event = parse_json(data)
    if isinstance(event, dict):
        return event
    raise TypeError("an event is not an object")


def _is_error(text: str) -> bool:
    try:
        said = parse_json(text)
    except ValueError:
        return False
    return isinstance(said, dict) and "error" in said


def _as_error(data: str) -> str:
    """Return the data of an error in the form that every family reads."""
    try:
        said = parse_json(data)
    except ValueError:
        said = data.strip()[:_KEPT]
    if isinstance(said, dict) and ("error" in said or "response" in said):
        return data
    return json.dumps({"error": said})


def _whole_answer(body: bytes) -> list[str]:
    """Read a whole answer, from a server that does not stream, or raise.

    Gemini sends a list of objects that would be events. A server may also report an error in plain
    JSON, or not be an API server at all.
    """
    text = body.decode("utf-8", "replace").strip()
    try:
        said = parse_json(text)
    except ValueError:
        own_words = NOT_A_STREAM_BUT_A_PAGE if text.startswith("<") else NOT_A_STREAM
        message = f"{own_words} ({text[:_SHOWN]})"
        failure = ProviderFailure(message=message, body=text, kind="api_error", own_words=own_words)
        raise StreamError(failure) from None
    documents = said if isinstance(said, list) else [said]
    if documents and all(map(_is_answer, documents)):
        return [json.dumps(document) for document in documents]
    raise StreamError(body_failure(next(iter(documents), said)))


def _is_answer(document: Any) -> bool:
    return isinstance(document, dict) and bool(_ANSWERS & document.keys())
