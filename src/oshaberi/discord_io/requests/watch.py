"""Watches discord.py's network activity for one call, and returns as soon as its answer is known.

discord.py itself returns late when a bucket is empty, repeats a request after a 5xx, and does not
say whether a request was sent or still waits. Its rate limiter is still used; the outcome is
decided here.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import aiohttp
import discord
from yarl import URL

from oshaberi.clocks import loop_time_s
from oshaberi.delivery.service_outage import ServiceOutage
from oshaberi.delivery.sink import AmbiguousError, DiscordRefusalError, WireState
from oshaberi.discord_io.requests.answers import (
    RATE_LIMITED,
    HeldBackError,
    json_object,
    note_answer,
    note_failure,
    parsed,
    refusal_of,
    translated,
)
from oshaberi.discord_io.requests.guards import BanGuard, LeaseFence
from oshaberi.discord_io.requests.limits import RequestBudget

log = logging.getLogger(__name__)

T = TypeVar("T")
OnHeaders = Callable[[Mapping[str, str], float], None]
"""Called with the headers of a response, and when they arrived (loop time)."""

LONGEST_WAIT_MS = 60_000
"""The longest rate limit that is waited for here. A longer one is reported to the sender."""
LONGEST_TURN_SECONDS = 60.0
"""How long the ban guard may delay a request: aiohttp's own timeout already runs."""


class _RequestWithdrawnError(Exception):
    """Raised inside discord.py to drop a request that is no longer needed."""


class WatchedRequest:
    """One call. `answer` is the body of the success, or the error that ended the call."""

    def __init__(self, wire: WireState, on_headers: OnHeaders | None = None) -> None:
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.withdrawn = False
        self.has_turn = False
        """Whether the ban guard has let it pass, for one request."""
        self.pauses_all = False
        """Whether discord.py sleeps because of a global limit, while all other requests wait for
        this task."""
        self._wire = wire
        self._on_headers = on_headers
        self._status = 0
        self._headers: Mapping[str, str] = {}

    def leave(self, now: float) -> None:
        if self.withdrawn:
            raise _RequestWithdrawnError
        self.has_turn = self.pauses_all = False
        self._wire.leave(now)

    def head(self, status: int, headers: Mapping[str, str], now_s: float) -> None:
        self._status, self._headers = status, headers
        if self._on_headers is not None:
            self._on_headers(headers, now_s)

    def body(self, body: bytes) -> None:
        if self.answer.done():
            return
        if 200 <= self._status < 300:
            self.answer.set_result(body)
        elif self._status >= 500:
            self.answer.set_exception(refusal_of(self._status, body, self._headers))
        elif self._status == RATE_LIMITED:
            self._limited(body)

    def _limited(self, body: bytes) -> None:
        answer = json_object(body)
        if answer is None or "Via" not in self._headers:
            return  # a ban: discord.py raises at once
        self.pauses_all = bool(answer.get("global"))
        refusal = refusal_of(self._status, body, self._headers)
        if _worth_waiting(refusal):
            self._wire.hold()
        else:
            self.answer.set_exception(refusal)


def _worth_waiting(refusal: Exception) -> bool:
    if not isinstance(refusal, DiscordRefusalError) or refusal.code != RATE_LIMITED:
        return False
    return (refusal.retry_after_ms or 0) <= LONGEST_WAIT_MS


_exchange: contextvars.ContextVar[WatchedRequest | None] = contextvars.ContextVar(
    "exchange", default=None
)


OnAnswer = Callable[[str, int, float], None]
"""Called with the kind of a request, the status of its answer (0 without one) and the seconds."""
OTHER = "other"
_ROUTES: tuple[tuple[str, re.Pattern[str], str], ...] = tuple(
    (method, re.compile(path), kind)
    for method, path, kind in (
        ("POST", r"/channels/\d+/messages$", "send"),
        ("PATCH", r"/channels/\d+/messages/\d+$", "edit"),
        ("DELETE", r"/channels/\d+/messages/\d+$", "delete"),
        ("GET", r"/channels/\d+/messages", "history"),
        ("POST", r"/channels/\d+/typing$", "typing"),
        ("PUT", r"/channels/\d+/messages/\d+/reactions/", "reaction"),
        ("DELETE", r"/channels/\d+/messages/\d+/reactions/", "reaction"),
        ("POST", r"/channels/\d+/webhooks$", "webhook_create"),
        ("POST", r"/interactions/", "command"),
    )
)


def kind_of(method: str, path: str) -> str:
    """Return the kind of a request, for the label of a metric: never an id."""
    for wanted, pattern, kind in _ROUTES:
        if method == wanted and pattern.search(path):
            return kind
    return OTHER


class RequestMeter:
    """Times Discord's answers by kind of request, and counts refused webhooks. One per client."""

    def __init__(self) -> None:
        self.on_answer: OnAnswer = lambda _kind, _status, _seconds: None
        self.on_webhook_refusal: Callable[[int], None] = lambda _code: None
        """Called with Discord's code when a channel has no webhook for us."""


class RequestTrace(aiohttp.TraceConfig):
    """Sees every request of the client's session: `discord.Client(http_trace=RequestTrace())`.

    It reports progress to the calls of a `RequestSender`, and every answer to the ban guard and
    to the meter. No request is sent before the budget has room for it.
    """

    def __init__(
        self,
        guard: BanGuard | None = None,
        budget: RequestBudget | None = None,
        fence: LeaseFence | None = None,
        meter: RequestMeter | None = None,
        outage: ServiceOutage | None = None,
    ) -> None:
        super().__init__()
        self.outage = outage
        self.guard = guard or BanGuard()
        self.budget = budget or RequestBudget()
        self.fence = fence or LeaseFence()
        self.fence.guard(self)
        self.meter = meter or RequestMeter()
        self.on_request_start.append(self._on_start)
        self.on_request_end.append(self._on_head)
        self.on_request_exception.append(self._on_error)
        self.on_response_chunk_received.append(_on_body)

    async def _on_start(
        self,
        _session: aiohttp.ClientSession,
        ctx: SimpleNamespace,
        params: aiohttp.TraceRequestStartParams,
    ) -> None:
        exchange = _exchange.get()
        if _may_wait(params.url) and not (exchange and exchange.has_turn):
            await self._turn()
        left_s = await self.budget.admit(params.url.path) if _is_api(params.url) else None
        ctx.counts = left_s is not None
        ctx.left_at = loop_time_s() if left_s is None else left_s
        if exchange:
            exchange.leave(ctx.left_at)

    async def _on_error(
        self,
        _session: aiohttp.ClientSession,
        ctx: SimpleNamespace,
        params: aiohttp.TraceRequestExceptionParams,
    ) -> None:
        seconds = self._note_end(ctx, params, 0, loop_time_s())
        if self.outage is not None and seconds is not None:
            note_failure(self.outage, params.exception, seconds)

    async def _on_head(
        self,
        _session: aiohttp.ClientSession,
        ctx: SimpleNamespace,
        params: aiohttp.TraceRequestEndParams,
    ) -> None:
        now_s = loop_time_s()
        self._note_end(ctx, params, params.response.status, now_s)
        if _is_api(params.url):
            self.guard.note(params.response.status)
            if self.outage is not None:
                note_answer(self.outage, params.response.status, params.response.headers)
        if exchange := _exchange.get():
            exchange.head(params.response.status, params.response.headers, now_s)

    def _note_end(
        self,
        ctx: SimpleNamespace,
        params: aiohttp.TraceRequestEndParams | aiohttp.TraceRequestExceptionParams,
        status: int,
        now_s: float,
    ) -> float | None:
        """Note that a request has ended. Return how long one to Discord's API took.

        Returns None for other requests, and for one that was not sent.
        """
        if getattr(ctx, "counts", False):
            ctx.counts = False
            self.budget.answered(now_s)
        left_at = getattr(ctx, "left_at", None)
        if left_at is None or not _is_api(params.url):
            return None
        seconds: float = now_s - left_at
        self.meter.on_answer(kind_of(params.method, params.url.path), status, seconds)
        return seconds

    async def _turn(self) -> None:
        if not self.guard.is_spaced:
            return
        try:
            async with asyncio.timeout(LONGEST_TURN_SECONDS):
                await self.guard.turn()
        except TimeoutError:
            raise HeldBackError from None


def _is_api(url: URL) -> bool:
    """Return whether a URL is Discord's API. Pictures use another host over the same session."""
    return str(url).startswith(discord.http.Route.BASE)


def _may_wait(url: URL) -> bool:
    """Return whether a request may be delayed. Answers to commands may not: they have 3 seconds."""
    return _is_api(url) and "/interactions/" not in url.path


async def _on_body(
    _session: aiohttp.ClientSession,
    _ctx: SimpleNamespace,
    params: aiohttp.TraceResponseChunkReceivedParams,
) -> None:
    if exchange := _exchange.get():
        exchange.body(params.chunk)


def own_trace(client: discord.Client) -> RequestTrace | None:
    """Return the trace that the client was made with, if it is one of ours."""
    trace = client.http.http_trace
    return trace if isinstance(trace, RequestTrace) else None


class RequestSender:
    """Runs discord.py's raw requests, one per call, and raises sink errors."""

    def __init__(self, trace: RequestTrace | None, guard: BanGuard) -> None:
        self._watched = trace is not None
        self._outage = trace.outage if trace else None
        self._guard = guard
        self._releasing: set[asyncio.Task[Any]] = set()

    async def call(
        self,
        request: Coroutine[Any, Any, T],
        wire: WireState | None = None,
        on_headers: OnHeaders | None = None,
    ) -> T:
        """Return the parsed answer. If cancelled before the request was sent, nothing is sent."""
        wire = wire or WireState(loop_time_s())
        exchange = WatchedRequest(wire, on_headers)
        if self._watched:
            wire.hold()
        await self._turn(request, exchange)
        context = contextvars.copy_context()
        context.run(_exchange.set, exchange)
        task = asyncio.create_task(request, context=context)
        try:
            waiting: set[asyncio.Future[Any]] = {task, exchange.answer}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            return _outcome(task, exchange)
        finally:
            self._let_go(task, exchange)

    async def _turn(self, request: Coroutine[Any, Any, T], exchange: WatchedRequest) -> None:
        """Wait for the ban guard before discord.py is called, so that no timeout runs meanwhile."""
        try:
            if self._outage is not None:
                self._outage.check()
            await self._guard.turn()
        except BaseException:
            request.close()
            raise
        exchange.has_turn = True

    async def close(self) -> None:
        """Cancel the requests that still wait inside discord.py, such as for a bucket."""
        for task in self._releasing:
            task.cancel()
        if self._releasing:
            await asyncio.wait(self._releasing, timeout=1)

    def _let_go(self, task: asyncio.Task[Any], exchange: WatchedRequest) -> None:
        self._releasing.add(task)
        task.add_done_callback(self._released)
        answered = exchange.answer.done() and exchange.answer.exception() is None
        exchange.withdrawn = True
        # If it is cancelled while it sleeps for everybody, discord.py never lets anybody go on; and
        # after a # success it only waits for its bucket.
        if not (task.done() or exchange.pauses_all or answered):
            task.cancel()

    def _released(self, task: asyncio.Task[Any]) -> None:
        self._releasing.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.debug("after its answer a request of discord.py ended with %r", error)


def _outcome(task: asyncio.Task[T], exchange: WatchedRequest) -> T:
    if exchange.answer.done():
        return cast(T, parsed(exchange.answer.result()))
    if task.cancelled():
        raise AmbiguousError("the request was cut off")
    error = task.exception()
    if isinstance(error, Exception):
        raise translated(error) from error
    return task.result()


API_PATH = "/api/v10"


@contextmanager
def requests_through(url: str | None) -> Iterator[None]:
    """Send the requests of all clients of this process to `url` until the end of the block.

    None changes nothing. The gateway is not affected: its address comes from Discord.
    """
    if url is None:
        yield
        return
    before = discord.http.Route.BASE
    discord.http.Route.BASE = url.rstrip("/").removesuffix(API_PATH) + API_PATH
    try:
        yield
    finally:
        discord.http.Route.BASE = before
