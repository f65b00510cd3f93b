"""Reads one event of a Gemini stream: parts of an answer, calls in pieces, its end, or an error."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from oshaberi.checked_json import bounded_seconds, parse_json, whole_count
from oshaberi.chunks import Chunk, ErrorType, ThoughtPart, text_chunk
from oshaberi.errors import Sentence
from oshaberi.providers.error_classification import ProviderFailure
from oshaberi.providers.google.request import CALL, OWN, TEXT, THOUGHT
from oshaberi.providers.request.answer_budgets import (
    MOST_ARGUMENT_BYTES,
    BudgetExceededError,
    byte_size,
)
from oshaberi.providers.wire.answer_files import FileStep
from oshaberi.providers.wire.errors import StreamError, refused_by_page
from oshaberi.providers.wire.steps import (
    CallPiece,
    CitedPage,
    FinishStep,
    SignedBlock,
    Step,
    TokenCount,
    token_count,
)

# Assembles function calls whose arguments Gemini sends in pieces, each with its JSON path.
#
# `whole` returns every event as if calls came in one piece: a call is one part, in the event that
# ends it. Make one object per stream.


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


# Reads one event of a Gemini stream: parts of an answer, its end, or an error.


Part = Mapping[str, Any]

_FINISH = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "safety",
    "IMAGE_SAFETY": "safety",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
}
_MALFORMED = "MALFORMED_FUNCTION_CALL"
_BROKEN = frozenset({"UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"})
_WRITTEN = re.compile(r"default_api[.:](?P<name>\w+)\s*(?P<rest>[({].*)", re.DOTALL)
_KINDS: dict[str, ErrorType] = {"RESOURCE_EXHAUSTED": "rate_limit", "NOT_FOUND": "model_error"}
"""Codes that are clearer than their messages: every limit mentions a quota and billing."""
_LONGEST = 2000
_HIGHEST_STATUS = 99_999
_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")


class GeminiEvent(NamedTuple):
    """An event, and how many parts and calls came before it: Gemini does not number calls."""

    document: Mapping[str, Any]
    parts_before: int = 0
    calls_before: int = 0


def follow(last: GeminiEvent, document: Mapping[str, Any]) -> GeminiEvent:
    """Return the next event, with the parts and calls that came before it counted."""
    parts = _parts(last.document)
    calls = sum("functionCall" in part for part in parts)
    return GeminiEvent(document, last.parts_before + len(parts), last.calls_before + calls)


def read(event: GeminiEvent) -> Sequence[Step]:
    """Return the parts, the end and the token count, in order. Every event has a token count."""
    candidates = event.document.get("candidates")
    if not candidates:
        return _without_candidates(event.document)
    parts = _parts(event.document)
    reason = candidates[0].get("finishReason")
    if len(parts) == 1 and reason is None and parts[0].keys() == {"text"}:
        # Fast path for nearly every event.
        text = parts[0]["text"]
        return (text_chunk(text),) if text else ()
    steps = [*_said(event, parts), *_cited(candidates[0])]
    if reason is not None:
        steps += _finished(event, parts, candidates[0], reason)
        steps += _tokens(event.document)
    return steps


def refusal_failure(status: int, content: bytes) -> ProviderFailure:
    """Return the failure of a refused request. The error may be alone in a list."""
    try:
        said = parse_json(content)
    except ValueError:
        said = None
    document = next(iter(said), None) if isinstance(said, list) else said
    inner = document.get("error", document) if isinstance(document, Mapping) else None
    if not isinstance(inner, Mapping):
        text = content.decode("utf-8", "replace").strip()
        return error_failure(status, None, text, None)
    code = whole_count(inner.get("code"), _HIGHEST_STATUS) or status
    return error_failure(code, inner.get("status"), inner.get("message"), document)


def error_failure(code: Any, status: Any, message: Any, details: Any) -> ProviderFailure:
    """Return the failure of a refusal, or of an error in an open stream: they look the same."""
    number = whole_count(code, _HIGHEST_STATUS)
    said = str(message or "").strip()[:_LONGEST]
    if not said or said.startswith("<"):
        return refused_by_page(number)
    name = str(status or "")
    codes = (name,) if name else ()
    return ProviderFailure(
        number, codes, said, _retry_after(details), details, _KINDS.get(name), is_quote=True
    )


def _parts(document: Mapping[str, Any]) -> Sequence[Part]:
    candidates = document.get("candidates")
    content = candidates[0].get("content") if candidates else None
    return (content.get("parts") or ()) if content else ()


# -- answers -------------------------------------------------------------------------------------


def _said(event: GeminiEvent, parts: Sequence[Part]) -> Iterator[Step]:
    calls = event.calls_before
    for number, part in enumerate(parts, event.parts_before):
        signature = part.get("thoughtSignature")
        key = f"part {number}"
        if "functionCall" in part:
            yield _call(part["functionCall"], calls)
            # Unsigned ones are kept too: a signature belongs to one call of several.
            yield SignedBlock(key, {"kind": CALL, "signature": signature}, optional=not signature)
            calls += 1
        elif "toolCall" in part or "toolResponse" in part:
            # Google's own search beside our tools: it goes back as it came.
            yield SignedBlock(key, {"kind": OWN, "part": part}, droppable=True)
        elif isinstance(part.get("inlineData"), Mapping) and not part.get("thought"):
            # A picture that the model only thinks of is a draft.
            file = part["inlineData"]
            yield FileStep(str(file.get("data") or ""), str(file.get("mimeType") or ""))
        elif part.get("thought"):
            thought = part.get("text", "")
            yield Chunk("text", thoughts=(ThoughtPart(thought, "summary", signature),))
            if signature:
                yield SignedBlock(key, {"kind": THOUGHT, "signature": signature, "text": thought})
        else:
            if part.get("text"):
                yield Chunk("text", part["text"])
            if signature:
                yield SignedBlock(key, {"kind": TEXT, "signature": signature})


def _cited(candidate: Mapping[str, Any]) -> Iterator[CitedPage]:
    """Yield the pages on which Google's search grounded the answer."""
    grounding = candidate.get("groundingMetadata")
    chunks = grounding.get("groundingChunks") if isinstance(grounding, Mapping) else None
    for one in chunks if isinstance(chunks, list) else ():
        page = one.get("web") if isinstance(one, Mapping) else None
        if isinstance(page, Mapping) and page.get("uri"):
            yield CitedPage(str(page["uri"]), str(page.get("title") or ""))


def _call(call: Mapping[str, Any], number: int) -> CallPiece:
    return CallPiece(
        number, call.get("name", ""), json.dumps(call.get("args") or {}), call.get("id")
    )


def _finished(
    event: GeminiEvent, parts: Sequence[Part], candidate: Mapping[str, Any], reason: str
) -> Iterator[Step]:
    calls = event.calls_before + sum("functionCall" in part for part in parts)
    message = str(candidate.get("finishMessage") or reason)
    if reason == _MALFORMED:
        # What the model wrote is told back to it as an error of the call (spec 03).
        written = _WRITTEN.search(message)
        yield CallPiece(calls, written["name"], written["rest"]) if written else CallPiece(calls)
        yield FinishStep("tool_calls")
    elif reason in _BROKEN:
        failure = ProviderFailure(
            codes=(reason,), message=message, is_transient=True, is_quote=True
        )
        raise StreamError(failure)
    else:
        ended = _FINISH.get(reason, reason.lower())
        yield FinishStep("tool_calls" if calls and ended == "stop" else ended)


def _tokens(document: Mapping[str, Any]) -> Iterator[TokenCount]:
    usage = document.get("usageMetadata")
    if isinstance(usage, Mapping):
        yield token_count(
            (usage.get("promptTokenCount"),),
            (usage.get("candidatesTokenCount") or 0, usage.get("thoughtsTokenCount")),
            (usage.get("cachedContentTokenCount"),),
        )


# -- no answer -----------------------------------------------------------------------------------


def _without_candidates(document: Mapping[str, Any]) -> Sequence[Step]:
    error = document.get("error")
    if isinstance(error, Mapping):
        code, status, message = error.get("code"), error.get("status"), error.get("message")
        raise StreamError(error_failure(code, status, message, document))
    feedback = document.get("promptFeedback") or {}
    reason = feedback.get("blockReason")
    if reason:
        said = feedback.get("blockReasonMessage") or f"the prompt was blocked ({reason})"
        own_words = Sentence("the prompt was blocked")
        failure = ProviderFailure(
            codes=(reason,),
            message=said,
            kind="content_blocked",
            own_words=own_words,
            is_quote=True,
        )
        raise StreamError(failure)
    return tuple(_tokens(document))


def _retry_after(details: Any) -> float | None:
    """Return the delay in the error's details: `{"@type": "…RetryInfo", "retryDelay": "34s"}`."""
    inner = details.get("error", details) if isinstance(details, Mapping) else {}
    listed = inner.get("details") if isinstance(inner, Mapping) else None
    for detail in listed if isinstance(listed, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, Mapping) else None
        found = _DELAY.fullmatch(str(delay))
        if found:
            return bounded_seconds(found[1])
    return None
