"""Google Gemini, through `google-genai`. Calls arrive whole; thoughts are parts that say so.

The SDK offers no way to its raw events: every one is read as JSON twice and then validated.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from oshaberi.chunks import Chunk, ErrorType, ProviderError, ThoughtPart
from oshaberi.providers.base import Adapter
from oshaberi.providers.endpoint import Endpoint
from oshaberi.providers.errors import Failure, provider_error
from oshaberi.providers.google_request import CALL, TEXT, THOUGHT, arguments
from oshaberi.providers.redactor import Redactor
from oshaberi.providers.request import Request
from oshaberi.providers.sdk import NO_KEY, StreamError, load_sdk, read_failure
from oshaberi.providers.steps import CallPiece, Finish, Keepsake, Step, Tokens

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
_KINDS: dict[str, ErrorType] = {"RESOURCE_EXHAUSTED": "rate_limit", "NOT_FOUND": "model_error"}
"""Codes that are clearer than the prose: every limit speaks of a quota and of billing."""
_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")


class Event(NamedTuple):
    """A response as the SDK made it, and how many calls and parts came before it."""

    response: Any
    calls_before: int = 0
    parts_before: int = 0


class Google(Adapter):
    """A Gemini model. Each stream has a client, and so a connection, of its own."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.name = endpoint.name
        self.model = endpoint.model
        self.reemits = endpoint.reemits
        self._endpoint = endpoint
        self._genai = load_sdk("google.genai", "google")
        self._aiohttp = load_sdk("aiohttp", "google")
        self._errors = load_sdk("google.genai.errors", "google")
        self._redact = Redactor.of(endpoint)
        self._tls: ssl.SSLContext | None = None

    async def events(self, request: Request) -> AsyncGenerator[Event, None]:
        asked = await arguments(request, self._endpoint)
        calls = parts = 0
        async with self._connected() as models:
            stream = await models.generate_content_stream(**asked)
            while (response := await self._next(stream)) is not None:
                yield Event(response, calls, parts)
                found = _parts(response)
                parts += len(found)
                calls += sum(map(_is_call, found))

    async def _next(self, stream: Any) -> Any:
        """The SDK's own timeout is for the whole stream; only its silences are limited here."""
        async with asyncio.timeout(self._endpoint.silence_seconds):
            return await anext(stream, None)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Any]:
        """A client for one stream: closing the stream alone would leave its connection open."""
        if self._tls is None:
            # A client would make three of these for itself, a tenth of a second each time.
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        async with self._session() as session:
            options = {
                "base_url": self._endpoint.base_url,
                "headers": dict(self._endpoint.headers),
                "aiohttp_client": session,
                "client_args": {"verify": self._tls},
                "async_client_args": {"verify": self._tls, "ssl": self._tls},
                # Without this a refused connection is tried again after up to ten seconds.
                "retry_options": {"attempts": 1},
            }
            key = self._endpoint.api_key or NO_KEY
            client = self._genai.Client(api_key=key, vertexai=False, http_options=options)
            try:
                yield client.aio.models
            finally:
                await client.aio.aclose()
                client.close()

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[Any]:
        """A session whose answers are closed with it, whatever the SDK still holds of them."""
        opened: list[Any] = []

        async def remember(_session: Any, _context: Any, ended: Any) -> None:
            opened.append(ended.response)

        trace = self._aiohttp.TraceConfig()
        trace.on_request_end.append(remember)
        async with self._aiohttp.ClientSession(trace_configs=[trace]) as session:
            try:
                yield session
            finally:
                for response in opened:
                    response.close()

    def read(self, event: Event) -> Sequence[Step]:
        candidates = event.response.candidates
        if not candidates:
            return self._without_candidates(event.response)
        candidate = candidates[0]
        steps = [step for found in _numbered(event) for step in _said(*found)]
        if candidate.finish_reason is not None:
            steps += self._finished(event, candidate)
            steps += _counted(event.response)
        return steps

    def classify(self, error: Exception) -> ProviderError:
        return provider_error(self._failure(error), self.name, self._redact)

    async def aclose(self) -> None:
        """Every stream closed its own connection."""

    def _without_candidates(self, response: Any) -> Sequence[Step]:
        feedback = response.prompt_feedback
        if feedback is None or feedback.block_reason is None:
            if not response.model_fields_set - {"sdk_http_response"}:
                # What is JSON and no answer, the SDK passes on as an empty one.
                raise StreamError(Failure(message="an event says nothing", is_transient=True))
            return _counted(response)
        reason = _name(feedback.block_reason)
        said = feedback.block_reason_message or f"the prompt was blocked ({reason})"
        failure = Failure(codes=(reason,), message=said, kind="content_blocked")
        return (Chunk("error", error=provider_error(failure, self.name, self._redact)),)

    def _finished(self, event: Event, candidate: Any) -> Iterator[Step]:
        reason = _name(candidate.finish_reason)
        calls = event.calls_before + sum(map(_is_call, _parts(event.response)))
        if reason == _MALFORMED:
            # The SDK drops what was written; all that can be told back is that it was no call.
            yield CallPiece(calls)
            yield Finish("tool_calls")
        elif reason in _BROKEN:
            failure = Failure(codes=(reason,), message=reason, is_transient=True)
            yield Chunk("error", error=provider_error(failure, self.name, self._redact))
        else:
            ended = _FINISH.get(reason, reason.lower())
            yield Finish("tool_calls" if calls and ended == "stop" else ended)

    def _failure(self, error: Exception) -> Failure:
        if isinstance(error, self._errors.UnknownApiResponseError):
            message = "the provider sent something that is not JSON"
            return Failure(message=message, is_transient=True)
        if isinstance(error, self._errors.APIError):
            return _api_failure(error)
        return read_failure(error)


# -- what comes ----------------------------------------------------------------------------------


def _parts(response: Any) -> Sequence[Any]:
    candidates = response.candidates
    content = candidates[0].content if candidates else None
    return (content.parts or ()) if content is not None else ()


def _is_call(part: Any) -> bool:
    return part.function_call is not None


def _numbered(event: Event) -> Iterator[tuple[Any, int, int]]:
    """Each part, its number among all parts and among the calls of the stream."""
    calls = event.calls_before
    for number, part in enumerate(_parts(event.response), event.parts_before):
        yield part, number, calls
        calls += _is_call(part)


def _said(part: Any, number: int, calls_before: int) -> Iterator[Step]:
    signature = _signature(part.thought_signature)
    if part.function_call is not None:
        call = part.function_call
        args = json.dumps(call.args or {}, default=str)
        yield CallPiece(calls_before, call.name or "", args, call.id)
        # Unsigned ones count too: the signature belongs to a certain call of several.
        kept = {"kind": CALL, "signature": signature}
        yield Keepsake(f"part {number}", kept, optional=signature is None)
    elif part.thought:
        yield Chunk("text", thoughts=(ThoughtPart(part.text or "", "summary", signature),))
        if signature:
            kept = {"kind": THOUGHT, "signature": signature, "text": part.text or ""}
            yield Keepsake(f"part {number}", kept)
    elif part.text:
        yield Chunk("text", part.text)
    if signature and not part.thought and part.function_call is None:
        yield Keepsake(f"part {number}", {"kind": TEXT, "signature": signature})


def _signature(raw: bytes | None) -> str | None:
    return base64.b64encode(raw).decode("ascii") if raw else None


def _counted(response: Any) -> Sequence[Step]:
    usage = response.usage_metadata
    if usage is None:
        return ()
    thoughts = usage.thoughts_token_count or 0
    return (Tokens(usage.prompt_token_count, (usage.candidates_token_count or 0) + thoughts),)


def _name(value: Any) -> str:
    """An enum's member, or the plain text where the SDK does not know it yet."""
    return str(getattr(value, "value", value))


# -- what goes wrong -----------------------------------------------------------------------------


def _api_failure(error: Any) -> Failure:
    status = error.code if isinstance(error.code, int) else None
    code = str(error.status or "")
    message = str(error.message or "").strip()
    if not message or message.startswith("<"):
        hint = "; is the base URL right?" if status in (404, 405) else ""
        return Failure(status, (), f"HTTP {status}{hint}")
    return Failure(
        status,
        (code,) if code else (),
        message,
        _retry_after(error.details),
        error.details,
        _KINDS.get(code),
    )


def _retry_after(details: Any) -> float | None:
    """Hidden among the details: `{"@type": "…RetryInfo", "retryDelay": "34s"}`."""
    inner = details.get("error", details) if isinstance(details, Mapping) else {}
    listed = inner.get("details", ()) if isinstance(inner, Mapping) else ()
    for detail in listed if isinstance(listed, list) else ():
        found = _DELAY.fullmatch(str(detail.get("retryDelay"))) if _is_info(detail) else None
        if found:
            return float(found[1])
    return None


def _is_info(detail: Any) -> bool:
    return isinstance(detail, Mapping) and "retryDelay" in detail
