"""What an outage of Discord's REST API looks like, and how the API is probed.

An outage: every request is answered with a 5xx or by the network in front of Discord (a ban of
this address), or there is no answer, no connection, no address. `delivery.service_outage` tells an
outage from a single request that fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import aiohttp
from discord.http import Route

from oshaberi.delivery.service_outage import Probe, ServiceOutage
from oshaberi.discord_io.requests.answers import RATE_LIMITED, HeldBackError

PATH = "/users/@me"
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
    """Report that a request got no answer within so many seconds."""
    if isinstance(error, asyncio.CancelledError):
        if seconds >= LONG_SECONDS:
            outage.failed(f"no answer within {seconds:.0f} s")
    elif isinstance(error, HeldBackError):
        return  # by the ban guard: it was not sent
    elif isinstance(error, aiohttp.ClientError | OSError | TimeoutError):
        outage.failed(_words(error))


def rest_probe(token: str) -> Probe:
    """Return a probe that asks Discord who the bot is."""

    async def probe() -> str | None:
        timeout = aiohttp.ClientTimeout(total=PROBE_SECONDS)
        headers = {"Authorization": f"Bot {token}"}
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout, headers=headers) as session,
                session.get(f"{Route.BASE}{PATH}", allow_redirects=False) as answer,
            ):
                return _problem(answer.status, answer.headers)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            return _words(error)

    return probe


def _problem(status: int, headers: Mapping[str, str]) -> str | None:
    """Return what is wrong with an answer; None if it comes from Discord's API itself."""
    if status >= 500:
        return f"HTTP {status}"
    is_json = "json" in headers.get("Content-Type", "")
    if status == RATE_LIMITED and "Via" not in headers and not is_json:
        return "HTTP 429: this address is banned"
    return None


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__
