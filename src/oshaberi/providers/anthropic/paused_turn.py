"""Continues an answer that the API paused while it ran its own tools (`pause_turn`).

To continue, the API wants back everything that it has sent so far. The continuation starts its
indexes and token counts again; here they become those of one answer. Nothing is done per token
before a pause: the body that ended with the pause is parsed once more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from oshaberi.providers.wire.sse_decoder import SseDecoder, read_object
from oshaberi.providers.wire.wire_event_steps import PAUSED

Event = Mapping[str, Any]
Fields = dict[str, Any]

MOST_PAUSES = 5
MOST_KEPT_BYTES = 4 * 1024 * 1024
"""The longest body that is kept whole. After a longer one, a paused answer cannot be continued."""
_KEPT_END_BYTES = 4096
STOPPED: Event = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
"""The event that ends an answer that paused too often."""

_COUNTED = (
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "output_tokens",
)


class KeptBody:
    """The bytes of one answer until its end; only the last of them if there are too many."""

    def __init__(self, most_bytes: int = MOST_KEPT_BYTES) -> None:
        self.is_whole = True
        self._pieces: list[bytes] = []
        self._size = 0
        self._most_bytes = most_bytes

    def add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > self._most_bytes:
            self.is_whole = False
            end = self.read()[-_KEPT_END_BYTES:]
            self._pieces, self._size = [end], len(end)

    def read(self) -> bytes:
        return b"".join(self._pieces)


class PausedTurn:
    """One answer over all its pauses. The adapter passes in each body when it has ended."""

    def __init__(self) -> None:
        self.pauses = 0
        self._is_lost = False
        self._blocks: list[_AnswerBlock] = []
        self._counted: dict[str, int] = {}

    @property
    def can_go_on(self) -> bool:
        """Tell whether the answer so far is known and has not paused too often."""
        return not self._is_lost and self.pauses <= MOST_PAUSES

    def is_paused_by(self, kept: KeptBody) -> bool:
        """Tell whether this body ended with a pause."""
        body = kept.read()
        if PAUSED.encode() not in body:
            return False
        if not kept.is_whole:
            self._is_lost = True
            return True
        events = _events(body)
        if not any(map(_is_pause, events)):
            return False
        self.pauses += 1
        counted: dict[str, int] = {}
        for event in events:
            self._note(event)
            usage = _message(event).get("usage") or {}
            counted |= {name: usage[name] for name in _COUNTED if usage.get(name) is not None}
        for name, tokens in counted.items():
            self._counted[name] = self._counted.get(name, 0) + tokens
        return True

    def continued(self, body: Fields) -> Fields:
        """Return the first request with the answer so far appended, for the model to continue."""
        said = [made for block in self._blocks if (made := block.whole())]
        *before, last = body["messages"]
        if last["role"] == "assistant":
            said = [*last["content"], *said]
        else:
            before.append(last)
        return {**body, "messages": [*before, {"role": "assistant", "content": said}]}

    def read_event(self, data: str) -> Fields:
        """Read an event after a pause, with the indexes and token counts of the whole answer."""
        event = read_object(data)
        if "index" in event:
            return {**event, "index": event["index"] + len(self._blocks)}
        if "message" in event:
            return {**event, "message": self._with_all_tokens(event["message"])}
        return self._with_all_tokens(event) if event.get("usage") else event

    def _note(self, event: Event) -> None:
        match event.get("type"):
            case "message_start" | "message":
                self._blocks += map(_AnswerBlock, _message(event).get("content") or ())
            case "content_block_start":
                self._blocks.append(_AnswerBlock(event["content_block"]))
            case "content_block_delta" if self._blocks:
                # Blocks come one after the other.
                self._blocks[-1].grow(event["delta"])

    def _with_all_tokens(self, holder: Event) -> Fields:
        usage = dict(holder.get("usage") or {})
        for name in _COUNTED:
            if usage.get(name) is not None:
                usage[name] += self._counted.get(name, 0)
        return {**holder, "usage": usage}


class _AnswerBlock:
    """One block of the answer, as it is sent back to the API."""

    def __init__(self, begun: Event) -> None:
        self._fields = dict(begun)
        self._grown: dict[str, list[str]] = {}

    def grow(self, delta: Event) -> None:
        match delta["type"]:
            case "text_delta":
                self._grow("text", delta["text"])
            case "thinking_delta":
                self._grow("thinking", delta["thinking"])
            case "signature_delta":
                self._grow("signature", delta["signature"])
            case "input_json_delta":
                self._grow("input", delta["partial_json"])
            case "citations_delta":
                cited = self._fields.get("citations") or []
                self._fields["citations"] = [*cited, delta["citation"]]

    def _grow(self, name: str, piece: str) -> None:
        self._grown.setdefault(name, []).append(piece)

    def whole(self) -> Fields | None:
        """Return the block, or None if it is empty: the API refuses an empty text."""
        made = dict(self._fields)
        for name, pieces in self._grown.items():
            grown = "".join(pieces)
            if grown and name == "input":
                made[name] = json.loads(grown)
            elif grown:
                made[name] = (made.get(name) or "") + grown
        is_empty = made.get("type") == "text" and not (made.get("text") or "").strip()
        return None if is_empty else made


def _events(body: bytes) -> list[Event]:
    decoder = SseDecoder()
    return [read_object(data) for data in (*decoder.feed(body), *decoder.finish())]


def _message(event: Event) -> Event:
    """Return the part of an event that has the fields of a message."""
    message: Event = event.get("message") or event
    return message


def _is_pause(event: Event) -> bool:
    delta: Event = event.get("delta") or _message(event)
    return delta.get("stop_reason") == PAUSED
