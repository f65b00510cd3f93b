"""Classifies a provider's error from its status, code and message (spec 03), and names its cause.

The rules are a table, and the first one that matches decides. The examples in docs/providers.md
test it.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from oshaberi.chunks import ErrorType, ProviderError
from oshaberi.errors import Sentence

Redact = Callable[[str], str]

RETRYABLE: frozenset[ErrorType] = frozenset(
    {"rate_limit", "provider_overloaded", "timeout", "network"}
)
_THEIR_FAULT = re.compile(r"server[_ ]?error|\binternal", re.IGNORECASE)
FAILED_CALL = "tool_use_failed"
"""The error code if the server could not parse the model's tool call. A retry may work."""


@dataclass(frozen=True, slots=True)
class ProviderFailure:
    """The facts about an error. `codes` are its machine-readable names.

    `kind` is set if the error is already classified, such as a lost connection. `own_words`
    describe it without anything that the server sent. `is_quote`: the message is the API's text for
    people.
    """

    status: int | None = None
    codes: tuple[str, ...] = ()
    message: str = ""
    retry_after_s: float | None = None
    body: Any = None
    kind: ErrorType | None = None
    is_transient: bool = False
    own_words: str = ""
    is_quote: bool = False

    def shown(self, *, is_known: bool) -> str:
        """Return what a channel may see: the text of a known server, else only the status."""
        if self.is_quote and is_known:
            return self.message
        if self.own_words or self.status is None:
            return self.own_words
        return Sentence("The server answered HTTP {status}.", status=self.status)


def our_failure(message: str, **more: Any) -> ProviderFailure:
    """Return a failure that is described only in Oshaberi's words."""
    return ProviderFailure(message=message, own_words=message, **more)


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_BY_WORDS: tuple[tuple[ErrorType, re.Pattern[str]], ...] = (
    ("affordability", _any(r"can only afford", r"requires more credits, or fewer max_tokens")),
    (
        "balance_exhausted",
        _any(
            r"insufficient[_ ](?:balance|quota|credits?|funds)",
            r"(?:credit )?balance is too low",
            r"billing[_ ](?:hard[_ ]limit|error|not active)",
            r"payment required",
            r"out of credits",
            r"余额不足",
        ),
    ),
    (
        "context_length",
        _any(
            r"context[_ ]length[_ ]exceeded",
            r"(?:maximum|max) context length",
            r"context (?:length|window|size)",
            r"exceeds? the (?:available|maximum) context",
            r"prompt is too long",
            r"(?:input|prompt|request) (?:token count|tokens?|is) .{0,40}(?:exceed|too long)",
            r"too many (?:input )?tokens",
            r"string_above_max_length",
            r"exceed_context_size",
            r"too_many_prompt_tokens",
            r"reduce the length of the messages",
        ),
    ),
    (
        "content_blocked",
        _any(
            r"content[_ ](?:filter|policy|management policy)",
            r"content_?blocked",
            r"policy_violation",
            r"\bbio_policy\b",
            r"moderation",
            r"\bsafety\b",
            r"flagged",
            r"prohibited[_ ]content",
            r"usage polic(?:y|ies)",
            r"\bdata_inspection_failed\b",
        ),
    ),
    (
        "model_error",
        _any(
            r"model[_ ]not[_ ](?:found|exist|supported)",
            r"model .{0,120}(?:not found|does not exist|not exist|is not (?:available|supported"
            r"|a valid|loaded)|decommissioned|deprecated|been (?:removed|retired))",
            r"(?:no such|unknown|invalid|unsupported)[_ ]model",
            r"not a valid model",
            r"no endpoints found",
            r"no models? loaded",
            r"no healthy deployments for this model",
            r"supported (?:API )?model names are",
            r"deployment[_ ]?not[_ ]?found",
            r"\bdeployment .{0,120}does not exist",
            r"\bmodel: \S+$",
            r"model identifier is invalid",  # Bedrock
            r"invocation of model .{0,200}isn.t supported",
        ),
    ),
    (
        "auth",
        _any(
            r"(?:invalid|incorrect|missing|expired|no|wrong)[_ ](?:x-)?api[_ -]?key",
            r"api[_ ]key (?:is )?(?:not valid|invalid|expired|missing)",
            r"authentication[_ ]?(?:error|failed|fails)",
            r"unauthori[sz]ed",
            r"unauthenticated",
            r"permission[_ ](?:error|denied)",
            r"no auth credentials",
            r"\bno_db_connection\b",  # LiteLLM without a database, about an unknown key
        ),
    ),
    (
        "rate_limit",
        _any(r"rate[_ -]?limit", r"too many requests", r"resource[_ ]?exhausted", r"\bthrottl"),
    ),
    (
        "provider_overloaded",
        _any(
            r"overloaded",
            r"(?:at|over|no) capacity",
            r"(?:service|temporarily|server is|currently) (?:temporarily )?(?:unavailable|busy)",
            r"server[_ ]busy",
            r"high demand",
            r"loading model",
            r"\bserviceunavailable",
            r"\bmodelnotready",
        ),
    ),
    ("timeout", _any(r"timed? ?out", r"deadline[_ ]exceeded")),
)

_BY_STATUS: Mapping[int, ErrorType] = {
    401: "auth",
    402: "balance_exhausted",
    403: "auth",
    408: "timeout",
    413: "context_length",
    429: "rate_limit",
    502: "provider_overloaded",
    503: "provider_overloaded",
    504: "timeout",
    522: "timeout",
    524: "timeout",
    529: "provider_overloaded",
}

_DECISIVE = frozenset({429, 408, 504, 522, 524})
"""Statuses that decide by themselves, unless the money is used up: their messages only give
advice."""
_MONEY = frozenset({"affordability", "balance_exhausted"})
_GAVE_UP = 499
"""Google, and proxies: the request was cancelled on the way, but not by us."""


_NO_SUCH_MODEL = frozenset({400, 404, 422})


def named_parameter(body: Any) -> str:
    """Return the parameter that an error object names in its own field; an empty text if none."""
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    return str(inner.get("param") or "") if isinstance(inner, Mapping) else ""


def error_type(failure: ProviderFailure) -> ErrorType:
    """Return the type of a failure. Codes are checked before the text: they are for programs."""
    if failure.kind is not None:
        return failure.kind
    said = (*_said_by(" ".join(failure.codes)), *_said_by(failure.message))
    if failure.status in _NO_SUCH_MODEL and not said and named_parameter(failure.body) == "model":
        return "model_error"
    if "affordability" in said:
        # A smaller request might be affordable; the code only says that credit is low.
        return "affordability"
    for kind in said:
        if failure.status not in _DECISIVE or kind in _MONEY:
            return kind
    return _BY_STATUS.get(failure.status or 0, "api_error")


def is_retryable(failure: ProviderFailure, kind: ErrorType) -> bool:
    """Return whether the same request may succeed later, such as after an error of the server."""
    if kind != "api_error":
        return kind in RETRYABLE
    said = " ".join((*failure.codes, failure.message))
    at_fault = (failure.status or 0) >= _GAVE_UP or (
        failure.status is None and _THEIR_FAULT.search(said)
    )
    return failure.is_transient or bool(at_fault) or FAILED_CALL in failure.codes


def provider_error(
    failure: ProviderFailure, provider: str, redact: Redact, *, is_known: bool = False
) -> ProviderError:
    """Return the failure as a ProviderError, without secrets.

    `is_known`: the error comes from a provider's own public server.
    """
    kind = error_type(failure)
    codes = [redact(code) for code in failure.codes]
    raw = {
        "status": failure.status,
        "codes": codes,
        "retry_after_s": failure.retry_after_s,
        "body": _redacted(failure.body, redact),
    }
    return ProviderError(
        kind,
        _without_secrets(failure.message, redact),
        codes[0] if codes else failure.status,
        is_retryable(failure, kind),
        provider,
        raw,
        shown=_without_secrets(failure.shown(is_known=is_known), redact),
    )


def _without_secrets(words: str, redact: Redact) -> str:
    """Return the words without secrets. Our own words stay translatable if they contain none."""
    redacted = redact(words)
    return words if redacted == words else redacted


def _said_by(text: str) -> Iterator[ErrorType]:
    for kind, words in _BY_WORDS:
        if text and words.search(text):
            yield kind


def _redacted(body: Any, redact: Redact) -> Any:
    match body:
        case str():
            return redact(body)
        case Mapping():
            return {str(key): _redacted(value, redact) for key, value in body.items()}
        case list() | tuple():
            return [_redacted(value, redact) for value in body]
    return body


# What is wrong with a connection to a model server, in one sentence that says what to do.
#
# HTTP libraries wrap the error of the operating system or of TLS, each in its own way. The sentence
# is made from what lies inside, so it never has a path, a password or an object in it.


NOTHING_LISTENS = Sentence("nothing listens there")
FAILED = Sentence("the connection failed")
LOST = Sentence("the connection was lost before the answer was complete")
_KINDS: tuple[tuple[type[BaseException], Sentence], ...] = (
    (ConnectionRefusedError, NOTHING_LISTENS),
    (socket.gaierror, Sentence("there is no host of this name: correct the address")),
    (
        ssl.SSLCertVerificationError,
        Sentence(
            "the certificate of the server is not trusted: use one of a known authority, or "
            "http:// within your own network"
        ),
    ),
    (
        ssl.SSLError,
        Sentence("the server does not speak https there: begin the address with http://"),
    ),
)
_HUNG_UP = frozenset({"RemoteProtocolError", "ServerDisconnectedError", "BadStatusLine"})
_MOST_CAUSES = 8


def connection_problem(error: BaseException) -> Sentence:
    """Return what its causes say, in words that fit after "cannot be asked:"."""
    causes = tuple(_causes(error))
    for kind, words in _KINDS:
        if any(isinstance(cause, kind) for cause in causes):
            return words
    if any(type(cause).__name__ in _HUNG_UP for cause in causes):
        return Sentence("the server hung up: if it speaks https, begin the address with https://")
    return FAILED


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error, then its causes. aiohttp keeps some in attributes."""
    following: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if following is None:
            return
        yield following
        for name in ("os_error", "certificate_error"):
            inner = getattr(following, name, None)
            if isinstance(inner, BaseException):
                yield inner
        following = following.__cause__ or following.__context__
