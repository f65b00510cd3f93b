"""Reads the errors that SDKs raise and servers send: status, codes, words, retry-after."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from oshaberi.checked_json import bounded_seconds, whole_count
from oshaberi.errors import Sentence
from oshaberi.foreign_bodies import BodyTooLargeError, PackedBodyError
from oshaberi.providers.error_classification import ProviderFailure, our_failure
from oshaberi.providers.request.answer_budgets import (
    BudgetExceededError,
    BudgetName,
    budget_words,
)

_TIMEOUTS = frozenset({"APITimeoutError", "TimeoutException", "TimeoutError"})
_NETWORK = frozenset({"APIConnectionError", "TransportError", "OSError", "ClientError"})
_NO_SUCH_PLACE = frozenset({404, 405})
_LONGEST = 2000
_STATUS_DIGITS, _HIGHEST_STATUS = 6, 99_999
_TLS_OBJECT = re.compile(r" ssl:<[^<>]*>")
"""What aiohttp writes about every connection, encrypted or not."""
REDIRECTS = frozenset({301, 302, 303, 307, 308})
"""Redirects are not followed: a server could send requests into the operator's network."""


class StreamError(Exception):
    """An open stream contains an error event, or the response is no stream at all."""

    def __init__(self, failure: ProviderFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def read_failure(error: Exception) -> ProviderFailure:
    """Read an error that an SDK, its transport or our own decoding raised."""
    if isinstance(error, StreamError):
        return error.failure
    if isinstance(error, json.JSONDecodeError):
        words = Sentence(
            "the provider sent something that is not JSON ({problem})", problem=error.msg
        )
        return our_failure(words, is_transient=True)
    if isinstance(error, BudgetExceededError):
        return _over_budget(error.name, error.most_bytes)
    if isinstance(error, BodyTooLargeError):
        return _over_budget("body_budget", error.most_bytes)
    if isinstance(error, PackedBodyError):
        own_words = Sentence("the answer is compressed in a way that cannot be read")
        return ProviderFailure(message=str(error), kind="api_error", own_words=own_words)
    ancestors = {ancestor.__name__ for ancestor in type(error).__mro__}
    if ancestors & _TIMEOUTS:
        return our_failure(Sentence("the provider did not answer in time"), kind="timeout")
    status = getattr(error, "status_code", None)
    if status is None and ancestors & _NETWORK:
        return ProviderFailure(
            message=_network(error),
            kind="network",
            own_words=Sentence("the connection failed"),
        )
    if status is None:
        own_words = Sentence("the answer cannot be read")
        message = f"{own_words} ({type(error).__name__}: {_short(str(error))})"
        return ProviderFailure(message=message, own_words=own_words)
    return _http(error, status)


def _over_budget(name: BudgetName, most_bytes: int) -> ProviderFailure:
    return our_failure(budget_words(name, most_bytes), codes=(name,), kind="api_error")


def body_failure(body: Any, status: int | None = None) -> ProviderFailure:
    """Read an error object of an API: `{"error": {...}}`, its content, a text or anything."""
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(inner, Mapping):
        return ProviderFailure(status, message=_short(inner), body=body)
    codes = tuple(str(inner[key]) for key in ("code", "type") if inner.get(key))
    number = next((_status(code) for code in codes if code.isdigit()), None)
    names = tuple(code for code in codes if not code.isdigit())
    said = inner.get("message") or inner.get("detail")
    message = f"{_short(said or inner)}{_upstream(inner)}"
    return ProviderFailure(
        status or number, names, message, body=body, is_quote=isinstance(said, str)
    )


def redirected(status: int) -> ProviderFailure:
    words = Sentence("HTTP {status}: the server redirects; is the base URL right?", status=status)
    return our_failure(words, status=status)


def refused_by_page(status: int | None, **more: Any) -> ProviderFailure:
    """Return the failure of a refusal without a message, or with a web page instead of one."""
    words: str = f"HTTP {status}"
    if status in _NO_SUCH_PLACE:
        words = Sentence("HTTP {status}; is the base URL right?", status=status)
    return our_failure(words, status=status, **more)


def _http(error: Exception, status: int) -> ProviderFailure:
    body = getattr(error, "body", None)
    headers = getattr(getattr(error, "response", None), "headers", {})
    if status in REDIRECTS:
        return redirected(status)
    if not body or _is_page(body):
        return refused_by_page(status, retry_after_s=_seconds(headers), body=body)
    read = body_failure(body, status)
    return replace(read, retry_after_s=_seconds(headers))


def _is_page(body: Any) -> bool:
    """Tell whether the body is a web page, which no API sends."""
    return isinstance(body, str) and body.lstrip().startswith("<")


def _upstream(inner: Mapping[str, Any]) -> str:
    """Return the error of the provider behind OpenRouter, which is hidden in `metadata.raw`."""
    metadata = inner.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return f": {_short(raw)}" if raw else ""


def _network(error: Exception) -> str:
    cause = error.__cause__ or error
    said = _TLS_OBJECT.sub("", _short(str(cause)))
    return f"the connection failed ({said})" if said else "the connection failed"


def _seconds(headers: Mapping[str, str]) -> float | None:
    return bounded_seconds(headers.get("retry-after", ""))


def _status(code: str) -> int | None:
    """Return a code of digits as a status, unless it cannot be one."""
    return whole_count(int(code), _HIGHEST_STATUS) if len(code) <= _STATUS_DIGITS else None


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text.strip()[:_LONGEST]
