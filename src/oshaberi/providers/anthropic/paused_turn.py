"""Continues an answer that the API paused while it ran its own tools (`pause_turn`).

To continue, the API wants back everything that it has sent so far. The continuation starts its
indexes and token counts again; here they become those of one answer. Nothing is done per token
before a pause: the body that ended with the pause is parsed once more.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from oshaberi.checked_json import parse_json, whole_count
from oshaberi.foreign_bodies import cut
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

    async def is_paused_by(self, kept: KeptBody) -> bool:
        """Tell whether this body ended with a pause."""
        body = kept.read()
        if PAUSED.encode() not in body:
            return False
        if not kept.is_whole:
            self._is_lost = True
            return True
        events = [event async for event in _events(body)]
        if not any(map(_is_pause, events)):
            return False
        self.pauses += 1
        counted: dict[str, int] = {}
        for event in events:
            self._note(event)
            counted |= _counts(_message(event).get("usage"))
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
        counted = _counts(holder.get("usage"))
        usage = {name: counted[name] + self._counted.get(name, 0) for name in counted}
        return {**holder, "usage": usage}


class _AnswerBlock:
    """One block of the answer, as it is sent back to the API."""

    def __init__(self, begun: Event) -> None:
        self._fields = dict(begun)
        self._grown: dict[str, list[str]] = {}
        self._cited: list[Any] = []

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
                self._cited.append(delta["citation"])

    def _grow(self, name: str, piece: str) -> None:
        self._grown.setdefault(name, []).append(piece)

    def whole(self) -> Fields | None:
        """Return the block, or None if it is empty: the API refuses an empty text."""
        made = dict(self._fields)
        if self._cited:
            made["citations"] = [*(made.get("citations") or ()), *self._cited]
        for name, pieces in self._grown.items():
            grown = "".join(pieces)
            if grown and name == "input":
                made[name] = parse_json(grown)
            elif grown:
                made[name] = (made.get(name) or "") + grown
        is_empty = made.get("type") == "text" and not (made.get("text") or "").strip()
        return None if is_empty else made


async def _events(body: bytes) -> AsyncIterator[Event]:
    """Yield the events of a body. The loop gets its turn in between, as when they came."""
    decoder = SseDecoder()
    for piece in cut(body):
        for data in decoder.feed(piece):
            yield read_object(data)
        await asyncio.sleep(0)
    for data in decoder.finish():
        yield read_object(data)


def _counts(usage: Any) -> dict[str, int]:
    given = usage if isinstance(usage, Mapping) else {}
    counts = {name: whole_count(given.get(name)) for name in _COUNTED}
    return {name: tokens for name, tokens in counts.items() if tokens is not None}


def _message(event: Event) -> Event:
    """Return the part of an event that has the fields of a message."""
    message: Event = event.get("message") or event
    return message


def _is_pause(event: Event) -> bool:
    delta: Event = event.get("delta") or _message(event)
    return delta.get("stop_reason") == PAUSED
