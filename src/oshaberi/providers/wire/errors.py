"""Reads the errors that SDKs raise and servers send, and adds hints that help."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from oshaberi.checked_json import bounded_seconds, parse_json, whole_count
from oshaberi.chunks import ProviderError
from oshaberi.errors import Sentence
from oshaberi.foreign_bodies import BodyTooLargeError, PackedBodyError, body_beginning
from oshaberi.providers.cloud_accounts import failed_sign_in
from oshaberi.providers.error_classification import (
    FAILED,
    NOTHING_LISTENS,
    ProviderFailure,
    connection_problem,
    our_failure,
)
from oshaberi.providers.model_listing import can_list, list_models
from oshaberi.providers.request.answer_budgets import (
    BudgetExceededError,
    BudgetName,
    budget_words,
)
from oshaberi.providers.request.model_request import Endpoint, RequestSize
from oshaberi.providers.request.preparation import WindowTooSmallError, window_words

# Reads the errors that SDKs raise and servers send: status, codes, words, retry-after.


_TIMEOUTS = frozenset({"APITimeoutError", "TimeoutException", "TimeoutError"})
_NETWORK = frozenset({"APIConnectionError", "TransportError", "OSError", "ClientError"})
_NO_SUCH_PLACE = frozenset({404, 405})
_NOTHING_THERE = re.compile(
    r"(?:404)?[ :]*(?:the )?(?:page |file )?not found[.!]?\s*", re.IGNORECASE
)
"""What servers say about a path that they do not have. For a missing model they use other words."""
_LONGEST = 2000
_STATUS_DIGITS, _HIGHEST_STATUS = 6, 99_999
_TLS_OBJECT = re.compile(r" ssl:<[^<>]*>")
"""What aiohttp writes about every connection, encrypted or not."""
REDIRECTS = frozenset({301, 302, 303, 307, 308})
"""Redirects are not followed: a server could send requests into the operator's network."""


ReadRefusal = Callable[[int, bytes], ProviderFailure]


class StreamError(Exception):
    """An open stream contains an error event, or the response is not a stream at all."""

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
    if isinstance(error, WindowTooSmallError):
        return our_failure(error.words, kind="context_length")
    if isinstance(error, BudgetExceededError):
        return _over_budget(error.name, error.most_bytes)
    if isinstance(error, BodyTooLargeError):
        return _over_budget("body_budget", error.most_bytes)
    if isinstance(error, PackedBodyError):
        own_words = Sentence("the answer is compressed in a way that cannot be read")
        return ProviderFailure(message=str(error), kind="api_error", own_words=own_words)
    cloud = failed_sign_in(error)
    if cloud is not None:
        return _not_signed_in(error, cloud)
    ancestors = {ancestor.__name__ for ancestor in type(error).__mro__}
    if ancestors & _TIMEOUTS:
        return our_failure(Sentence("the provider did not answer in time"), kind="timeout")
    status = getattr(error, "status_code", None)
    if status is None and ancestors & _NETWORK:
        return _connection_failure(error)
    if status is None:
        own_words = Sentence("the answer cannot be read")
        message = f"{own_words} ({type(error).__name__}: {_short(str(error))})"
        return ProviderFailure(message=message, own_words=own_words)
    return _http(error, status)


def _not_signed_in(error: Exception, cloud: str) -> ProviderFailure:
    own_words = Sentence("signing in at {cloud} failed", cloud=cloud)
    lines = str(error).strip().splitlines() or [""]
    reason = f"{own_words} ({type(error).__name__}: {_short(lines[0])})"
    return ProviderFailure(message=reason, kind="auth", own_words=own_words)


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
        words = Sentence("HTTP {status}: the server has no such API at this address", status=status)
    return our_failure(words, status=status, **more)


async def check_status(response: Any, read: ReadRefusal | None = None) -> None:
    """Raise StreamError if an aiohttp response is a refusal. Only the beginning of it is read."""
    status = response.status
    if 200 <= status < 300:
        return
    if status in REDIRECTS:
        raise StreamError(redirected(status))
    content = await body_beginning(response.content.iter_any(), response.headers)
    if read is not None:
        raise StreamError(read(status, content))
    try:
        body = parse_json(content)
    except ValueError:
        body = content.decode("utf-8", "replace")
    raise StreamError(_refusal(status, body, response.headers))


def _http(error: Exception, status: int) -> ProviderFailure:
    headers = getattr(getattr(error, "response", None), "headers", {})
    return _refusal(status, getattr(error, "body", None), headers)


def _refusal(status: int, body: Any, headers: Mapping[str, str]) -> ProviderFailure:
    """Read a refusal, for all families but Google's, whose errors have a form of their own."""
    if status in REDIRECTS:
        return redirected(status)
    if not body or _is_page(body):
        return refused_by_page(status, retry_after_s=_seconds(headers), body=body)
    read = body_failure(body, status)
    if name := headers.get("x-amzn-errortype"):
        read = replace(read, codes=(*read.codes, str(name).partition(":")[0]))
    if status in _NO_SUCH_PLACE and _NOTHING_THERE.fullmatch(read.message):
        return refused_by_page(status, body=body)
    return replace(read, retry_after_s=_seconds(headers))


def _is_page(body: Any) -> bool:
    """Return whether the body is a web page, which no API sends."""
    return isinstance(body, str) and body.lstrip().startswith("<")


def _upstream(inner: Mapping[str, Any]) -> str:
    """Return the error of the provider behind OpenRouter, which is hidden in `metadata.raw`."""
    metadata = inner.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return f": {_short(raw)}" if raw else ""


def _connection_failure(error: Exception) -> ProviderFailure:
    """Return what is wrong, in our words. The library's own words are kept for programs."""
    words = connection_problem(error)
    cause = _TLS_OBJECT.sub("", _short(str(error.__cause__ or error)))
    message = f"{words} ({cause})" if words is FAILED and cause else words
    return ProviderFailure(message=message, body=cause, kind="network", own_words=words)


def _seconds(headers: Mapping[str, str]) -> float | None:
    """Return how long the server asks to wait. LiteLLM passes it on under a name of its own."""
    asked = headers.get("retry-after") or headers.get("llm_provider-retry-after") or ""
    return bounded_seconds(asked)


def _status(code: str) -> int | None:
    """Return a code of digits as a status, unless it cannot be one."""
    return whole_count(int(code), _HIGHEST_STATUS) if len(code) <= _STATUS_DIGITS else None


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text.strip()[:_LONGEST]


# Adds hints to errors: the address, the end of the key, the models that exist.


SHOWN_NAMES = 8
SHOWN_KEY = 4
_SHORTEST_KEY = 12
_LONGEST_NAME = 80
_MOST_COMPARED = 300
"""A server may list as many models as it likes, and comparing takes its time."""
_LISTING_PATIENCE_S = 5.0
_LOCAL = ("127.0.0.1", "localhost", "::1")


class ErrorHint(NamedTuple):
    """A hint for an error: `told` is for the log, `shown` for the channel."""

    told: str = ""
    shown: str = ""


async def explained(problem: ProviderError, endpoint: Endpoint, family: str) -> ProviderError:
    """Return the error with a hint. Only a missing model needs a request to the server."""
    if problem.type == "model_error":
        return _with(problem, await _models(endpoint, family))
    return _with(problem, _hint(problem, endpoint))


def with_window(problem: ProviderError, size: RequestSize) -> ProviderError:
    """Say which limit is too small, if the request is too long and nothing more can be dropped."""
    is_too_long = problem.type == "context_length" and size.window > 0
    if not is_too_long or size.base_tokens <= size.window:
        return problem
    words = window_words(size.base_tokens, size.window)
    return _with(problem, ErrorHint(words, words))


def _with(problem: ProviderError, hint: ErrorHint) -> ProviderError:
    if not hint.told:
        return problem
    shown = None if problem.shown is None else _joined(problem.shown, hint.shown)
    return replace(problem, message=_joined(problem.message, hint.told), shown=shown)


def _joined(words: str, hint: str) -> str:
    if not words or not hint:
        return words or hint
    return Sentence("{words} ({hint})", words=words, hint=hint)


def _hint(problem: ProviderError, endpoint: Endpoint) -> ErrorHint:
    status = problem.raw.get("status") if isinstance(problem.raw, dict) else None
    if problem.type in ("network", "timeout") and status is None:
        return _where(problem, endpoint)
    if status in _NO_SUCH_PLACE and problem.type == "api_error":
        return _where(problem, endpoint)
    return _key(endpoint) if problem.type == "auth" else ErrorHint()


def _where(problem: ProviderError, endpoint: Endpoint) -> ErrorHint:
    """Return the address. The channel does not see the path: some gateways put a secret there."""
    address = shown_address(endpoint.base_url)
    if not address or problem.broke_off:
        return ErrorHint()
    parts = urlsplit(address)
    may_be_off = problem.type == "timeout" or problem.shown in (NOTHING_LISTENS, FAILED)
    asks = parts.hostname in _LOCAL and may_be_off
    return ErrorHint(_at(address, asks), _at(f"{parts.scheme}://{parts.netloc}", asks))


def _at(address: str, asks: bool) -> Sentence:
    """Return the address as a hint. With `asks`, also ask whether the server has been started."""
    if asks:
        return Sentence("at {address}; is the server running?", address=address)
    return Sentence("at {address}", address=address)


def _key(endpoint: Endpoint) -> ErrorHint:
    key = endpoint.api_key
    if not key and endpoint.cloud:
        return ErrorHint()
    if not key:
        words = Sentence("no key was sent")
    elif len(key) < _SHORTEST_KEY:
        return ErrorHint()
    else:
        words = Sentence("the key that ends in {end}", end=key[-SHOWN_KEY:])
    return ErrorHint(words, words)


async def _models(endpoint: Endpoint, family: str) -> ErrorHint:
    """Return the models of the server. The channel sees them only if the server is a known one."""
    if endpoint.base_url is None or not can_list(family):
        return ErrorHint()
    offered = await list_models(
        family, endpoint.base_url, endpoint.api_key, endpoint.headers, _LISTING_PATIENCE_S
    )
    if not offered.names or endpoint.model in offered.names:
        return ErrorHint()
    missing = Sentence("{model!r} does not exist", model=endpoint.model)
    told = Sentence(
        "{model!r} does not exist; available: {names}",
        model=endpoint.model,
        names=names_shown(endpoint.model, offered.names),
    )
    return ErrorHint(told, told if endpoint.is_known_server else missing)


def names_shown(wanted: str, names: Sequence[str]) -> str:
    """List the names, most similar first, up to a limit."""
    compared = [name[:_LONGEST_NAME] for name in names[:_MOST_COMPARED]]
    near = get_close_matches(wanted[:_LONGEST_NAME], compared, n=3, cutoff=0.4)
    ordered = list(dict.fromkeys([*near, *names]))
    shown = ", ".join(name[:_LONGEST_NAME] for name in ordered[:SHOWN_NAMES])
    more = len(ordered) - SHOWN_NAMES
    return Sentence("{names} and {more} more", names=shown, more=more) if more > 0 else shown


def shown_address(url: str | None) -> str:
    """Return the URL without user name, password and query."""
    if url is None:
        return ""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    host = parts.hostname or ""
    bracketed = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{bracketed}{port}{parts.path}"
