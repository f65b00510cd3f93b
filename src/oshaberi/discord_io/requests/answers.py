"""Discord's answer to a request: a success that is read, a classified error, or an outage."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Literal

import aiohttp
import discord
from discord.http import Route

from oshaberi.checked_json import bounded_seconds, parse_json
from oshaberi.delivery.outcomes import TOKEN_REVOKED
from oshaberi.delivery.service_outage import Probe, ServiceOutage
from oshaberi.delivery.sink import AmbiguousError, DiscordRefusalError, SinkError, UnsentError

# A 4xx with a JSON code is a refusal; an answer that is neither that nor a success is ambiguous
# (facts: outcome classes).
RATE_LIMITED = 429
HELD_BACK_MS = 10_000
LONGEST_PAUSE_MS = 60_000
BAD_WEBHOOK_TOKEN = 50027
MESSAGE_GONE = 10008
MEANING_BY_CODE = frozenset({20016, 20022, 20028, 20029, 30046})
"""429s whose code means more than "too many requests"."""


class TokenRevokedError(DiscordRefusalError):
    """Discord no longer accepts the bot's token, so nothing can be sent."""

    def __init__(self, message: str = "") -> None:
        reason = f" ({message})" if message else ""
        hint = f"Discord does not accept the bot's token any more{reason}: give it a new one"
        super().__init__(TOKEN_REVOKED, hint)


class HeldBackError(aiohttp.ClientError):
    """The ban guard did not let a request pass in time. Nothing was sent."""

    def __init__(self) -> None:
        super().__init__("too many requests were refused: this one was held back")


def refusal_of(status: int, body: bytes, headers: Mapping[str, str]) -> SinkError:
    """Return the sink error for an answer that is not a success."""
    answer = json_object(body)
    if status == RATE_LIMITED:
        refusal = _too_early(answer or {}, headers)
        if answer is None and (refusal.retry_after_ms or 0) > LONGEST_PAUSE_MS:
            # Not a channel's limit: the network in front of Discord bans this address.
            return UnsentError("HTTP 429 without an answer of Discord's: this address is banned")
        return refusal
    code = None if answer is None else answer.get("code")
    if not (400 <= status < 500 and isinstance(code, int)):
        return AmbiguousError(f"HTTP {status} without an answer that says what became of it")
    message = str((answer or {}).get("message", ""))
    if status == TOKEN_REVOKED and code != BAD_WEBHOOK_TOKEN:
        return TokenRevokedError(message)
    return DiscordRefusalError(code or status, f"{code}: {message}")


def translated(error: Exception) -> Exception:
    """Turn an exception of discord.py or aiohttp into a sink error. Others stay unchanged."""
    if isinstance(error, discord.RateLimited):
        return DiscordRefusalError(RATE_LIMITED, str(error), _milliseconds(error.retry_after))
    if isinstance(error, HeldBackError):
        return DiscordRefusalError(RATE_LIMITED, str(error), HELD_BACK_MS)
    if isinstance(error, discord.HTTPException):
        return refusal_of(error.status, _body_of(error), error.response.headers)
    if isinstance(error, aiohttp.ClientConnectorError):
        return UnsentError(f"no connection: {error}")
    if isinstance(error, aiohttp.ClientError | OSError | TimeoutError):
        return AmbiguousError(f"no answer: {error!r}")
    if isinstance(error, json.JSONDecodeError):
        return AmbiguousError("a success that is no JSON")
    return error


def parsed(body: bytes) -> Any:
    """Parse the JSON of a success. Raises AmbiguousError for anything else: a proxy sent it."""
    try:
        return parse_json(body) if body else None
    except ValueError as error:
        raise AmbiguousError("a success that is no JSON") from error


def json_object(body: bytes) -> dict[str, Any] | None:
    try:
        value = parse_json(body)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _body_of(error: discord.HTTPException) -> bytes:
    """Rebuild the body of an answer from the code and text that discord.py kept."""
    if error.response.headers.get("Content-Type") != "application/json":
        return b""
    return json.dumps({"code": error.code, "message": error.text}).encode()


def _too_early(answer: dict[str, Any], headers: Mapping[str, str]) -> DiscordRefusalError:
    code = answer.get("code")
    return DiscordRefusalError(
        code if code in MEANING_BY_CODE else RATE_LIMITED,
        str(answer.get("message", "rate limited")),
        _milliseconds(answer.get("retry_after", headers.get("Retry-After"))),
    )


def _milliseconds(seconds: object) -> int | None:
    bounded = bounded_seconds(seconds)
    return None if bounded is None else round(bounded * 1000)


# A success without what it must have (`{}`, `[]`, null, an empty body) does not tell whether the
# request took effect: it is ambiguous, like a 5xx.
LONGEST_ID = 20
"""Digits of the largest number of 64 bits."""


def id_of(answer: object, what: Literal["message", "webhook", "channel"] = "message") -> int:
    """Return the id of the created or found object. Raises AmbiguousError without one."""
    value = str(answer.get("id")) if isinstance(answer, Mapping) else ""
    if not (value.isascii() and value.isdecimal() and len(value) <= LONGEST_ID):
        raise AmbiguousError(f"a success without a {what} in it")
    return int(value)


def objects_of(answer: object) -> list[dict[str, Any]]:
    """Return a list of objects, possibly empty. Raises AmbiguousError for anything else."""
    if not isinstance(answer, list) or not all(isinstance(one, dict) for one in answer):
        raise AmbiguousError("a success without a list in it")
    return answer


# An outage of Discord's REST API: every request is answered with a 5xx or by the network in front
# of Discord (a ban of this address), or there is no answer, no connection, no address.
# `delivery.service_outage` tells an outage from a single request that fails.
PROBED_PATH = "/users/@me"
PROBE_SECONDS = 10.0
LONG_SECONDS = 10.0
"""A request that was cut off sooner than this says nothing about Discord."""


def note_answer(outage: ServiceOutage, status: int, headers: Mapping[str, str]) -> None:
    """Report the answer to a request."""
    problem = _problem(status, headers)
    if problem is None:
        outage.answered()
    else:
        outage.failed(problem)


def note_failure(outage: ServiceOutage, error: BaseException, seconds: float) -> None:
    """Report that a request got no answer within this many seconds."""
    if isinstance(error, asyncio.CancelledError):
        if seconds >= LONG_SECONDS:
            outage.failed(f"no answer within {seconds:.0f} s")
    elif isinstance(error, HeldBackError):
        return  # by the ban guard: it was not sent
    elif isinstance(error, aiohttp.ClientError | OSError | TimeoutError):
        outage.failed(_words_of(error))


def rest_probe(token: str) -> Probe:
    """Return a probe that asks Discord who the bot is."""

    async def probe() -> str | None:
        timeout = aiohttp.ClientTimeout(total=PROBE_SECONDS)
        headers = {"Authorization": f"Bot {token}"}
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout, headers=headers) as session,
                session.get(f"{Route.BASE}{PROBED_PATH}", allow_redirects=False) as answer,
            ):
                return _problem(answer.status, answer.headers)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            return _words_of(error)

    return probe


def _problem(status: int, headers: Mapping[str, str]) -> str | None:
    """Return what is wrong with a response; None if it comes from Discord's API itself."""
    if status >= 500:
        return f"HTTP {status}"
    is_json = "json" in headers.get("Content-Type", "")
    if status == RATE_LIMITED and "Via" not in headers and not is_json:
        return "HTTP 429: this address is banned"
    return None


def _words_of(error: BaseException) -> str:
    return str(error) or type(error).__name__
