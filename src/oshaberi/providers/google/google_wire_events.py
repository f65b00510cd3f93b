"""Reads one event of a Gemini stream: parts of an answer, its end, or an error."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from oshaberi.checked_json import bounded_seconds, parse_json, whole_count
from oshaberi.chunks import Chunk, ErrorType, ThoughtPart, text_chunk
from oshaberi.errors import Sentence
from oshaberi.providers.error_classification import ProviderFailure
from oshaberi.providers.google.google_request_body import CALL, TEXT, THOUGHT
from oshaberi.providers.wire.error_reading import StreamError, refused_by_page
from oshaberi.providers.wire.wire_event_steps import (
    CallPiece,
    FinishStep,
    SignedBlock,
    Step,
    TokenCount,
    token_count,
)

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
    """Return the event that comes after another one."""
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
    steps = list(_said(event, parts))
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
