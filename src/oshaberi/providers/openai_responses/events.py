"""Reads one event of a Responses stream, without the text that it repeats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oshaberi.chunks import Chunk, ThoughtKind, ThoughtPart, text_chunk
from oshaberi.providers.error_classification import ProviderFailure
from oshaberi.providers.wire.answer_files import FileStep
from oshaberi.providers.wire.errors import StreamError, body_failure
from oshaberi.providers.wire.sse_decoder import DONE, read_object
from oshaberi.providers.wire.steps import (
    CallPiece,
    CitedPage,
    FinishStep,
    SignedBlock,
    Step,
    token_count,
)

# Drops text that a Responses stream repeats. Make one object per stream.
#
# A server that sends pieces sends the same text whole as well: per part, per item and per answer.
# Only new text is read from those. An item is recognised by its number and by its name, because
# some servers number every item 0 or not at all, and some rename it with every event.


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


# Reads one event of a Responses stream. Pure.
#
# The API sends everything in pieces (`…delta`) and then whole, three times (`…done`,
# `output_item.done`, `response.completed`). This module reads each form as if it came alone;
# `Repetitions` removes what came before.


_INCOMPLETE = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}
_KEPT_OF_REASONING = ("type", "id", "summary", "content", "encrypted_content")
_ENDS = frozenset(
    {
        "response.completed",
        "response.incomplete",
        "response.failed",
        "response.cancelled",
        "response.done",
    }
)


def read(event: Event) -> Sequence[Step]:
    """Read one event. Unknown kinds, and tools that the API runs itself, are ignored."""
    match event.get("type"):
        case "response.output_text.delta" | "response.refusal.delta":
            # Fast path for nearly every token. A refusal is the model's own text.
            text = event["delta"]
            return (text_chunk(text),) if text else ()
        case "response.reasoning_summary_text.delta":
            return _thought(event["delta"], "summary")
        case "response.reasoning_text.delta":
            return _thought(event["delta"], "raw")
        case "response.function_call_arguments.delta":
            return (CallPiece(_key(event), arguments=event["delta"], only_continues=True),)
        case "response.reasoning_summary_part.added":
            return _paragraph(event)
        case "response.output_item.added":
            return _begun(event["item"], _key(event))
        case _:
            return _whole(event)


def _whole(event: Event) -> Sequence[Step]:
    match event.get("type"):
        case "response.output_text.annotation.added":
            return _cited((event.get("annotation"),))
        case "response.output_text.done":
            return _text(event.get("text"))
        case "response.refusal.done":
            return _text(event.get("refusal"))
        case "response.reasoning_summary_text.done":
            return _thought(event.get("text"), "summary")
        case "response.reasoning_text.done":
            return _thought(event.get("text"), "raw")
        case "response.function_call_arguments.done":
            arguments = event.get("arguments") or ""
            return (CallPiece(_key(event), "", arguments, None, True, only_continues=True),)
        case "response.output_item.done":
            words = () if event.get(SAID) else _said(event["item"])
            return (*words, *_done(event["item"], _key(event)))
        case kind if kind in _ENDS:
            return tuple(_ended(event.get("response") or {}))
        case _:
            return _of_another_kind(event)


def _of_another_kind(event: Event) -> Sequence[Step]:
    if event is DONE:
        return (FinishStep(),)
    if event.get("object") == "response":
        # A server that does not stream.
        return tuple(_ended(event))
    if event.get("type") == "error" or event.get("error"):
        raise StreamError(_failure(event))
    return ()


def _key(event: Event) -> int | str | None:
    """Return the key of an event's item. Some servers do not number items, some rename them."""
    index: int | None = event.get("output_index")
    if index is not None:
        return index
    named: str | None = event.get("item_id") or (event.get("item") or {}).get("id")
    return named


# -- items ---------------------------------------------------------------------------------------


def _begun(item: Event, key: int | str | None) -> Sequence[Step]:
    if item.get("type") == "function_call":
        return (CallPiece(key, item.get("name") or "", "", item.get("call_id")),)
    return ()


def _said(item: Event) -> Iterator[Step]:
    """Yield the text of an item, if the stream has not sent it in pieces."""
    match item.get("type"):
        case "message":
            for part in item.get("content") or ():
                yield from _text(part.get("text") or part.get("refusal"))
        case "reasoning":
            for part in item.get("summary") or ():
                yield from _thought(part.get("text"), "summary")
            for part in item.get("content") or ():
                yield from _thought(part.get("text"), "raw")


def _done(item: Event, key: int | str | None) -> Iterator[Step]:
    """Yield a whole call, and the block to send back to the API with the next round."""
    place = f"item {key}"
    match item.get("type"):
        case "function_call":
            name, arguments = item.get("name") or "", item.get("arguments") or ""
            yield CallPiece(key, name, arguments, item.get("call_id"), is_whole=True)
            yield SignedBlock(place, {"type": "function_call"}, optional=True)
        case "message":
            for part in item.get("content") or ():
                yield from _cited(part.get("annotations"))
            phase = {"phase": item["phase"]} if item.get("phase") else {}
            yield SignedBlock(place, {"type": "message", **phase}, optional=True)
        case "reasoning" if item.get("encrypted_content") or item.get("content"):
            kept = {name: item[name] for name in _KEPT_OF_REASONING if item.get(name)}
            yield SignedBlock(place, {"summary": [], **kept})
        case "image_generation_call":
            if isinstance(item.get("result"), str):
                yield FileStep(item["result"])
            yield SignedBlock(place, item, optional=True, droppable=True)
        case str(kind) if kind.endswith("_call"):
            # A tool that the API runs itself: its reasoning is refused without it.
            yield SignedBlock(place, item, optional=True)


def _cited(annotations: Any) -> Sequence[CitedPage]:
    """Return the pages that a text cites. A page that is cited twice is noted once."""
    return tuple(
        CitedPage(str(one["url"]), str(one.get("title") or ""))
        for one in annotations or ()
        if isinstance(one, Mapping) and one.get("type") == "url_citation" and one.get("url")
    )


def _text(text: str | None) -> Sequence[Chunk]:
    return (Chunk("text", text),) if text else ()


def _thought(text: str | None, kind: ThoughtKind) -> Sequence[Chunk]:
    return (Chunk("text", thoughts=(ThoughtPart(text, kind),)),) if text else ()


def _paragraph(event: Event) -> Sequence[Chunk]:
    """Return an empty piece that separates the parts of a summary."""
    if not event.get("summary_index"):
        return ()
    return (Chunk("text", thoughts=(ThoughtPart("", "summary"),)),)


# -- the end -------------------------------------------------------------------------------------


def _ended(response: Event) -> Iterator[Step]:
    for index, item in enumerate(response.get("output") or ()):
        yield from _said(item)
        yield from _done(item, index)
    status = response.get("status")
    if status in ("failed", "cancelled") or response.get("error"):
        raise StreamError(_failure(response))
    if status == "incomplete":
        reason = (response.get("incomplete_details") or {}).get("reason") or "max_output_tokens"
        yield FinishStep(_INCOMPLETE.get(reason, reason))
    else:
        yield FinishStep("stop", "tool_calls")
    usage = response.get("usage")
    if isinstance(usage, Mapping):
        details = usage.get("input_tokens_details")
        given = details if isinstance(details, Mapping) else {}
        yield token_count(
            (usage.get("input_tokens"),),
            (usage.get("output_tokens"),),
            (given.get("cached_tokens"),),
            (given.get("cache_write_tokens"),),
            usage.get("cost"),
        )


def _failure(event: Event) -> ProviderFailure:
    """Return the failure of an error event or of a failed response."""
    inner = event.get("error")
    if inner is None and event.get("type") == "error":
        inner = {name: event.get(name) for name in ("code", "message", "param")}
    if not inner:
        message = f"the provider could not complete the answer ({event.get('status')})"
        return ProviderFailure(message=message, body=event, is_transient=True)
    return body_failure({"error": inner})
