"""The demo model's server: an OpenAI-compatible API that answers token by token.

It answers only this machine, stores nothing, and stops when the client closes the connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from types import TracebackType

from aiohttp import web
from aiohttp.typedefs import Handler

from discord_stage.json_bodies import parse_json
from discord_stage.model_servers.openai_wire import OpenAIWire
from discord_stage.model_servers.scripts import (
    Call,
    Count,
    Cut,
    ErrorEvent,
    FinishReason,
    Refuse,
    Say,
    Stall,
    Think,
)
from discord_stage.model_servers.wire_format import (
    Encoder,
    Frame,
    ReceivedRequest,
    WireAnswer,
    in_bytes,
)
from oshaberi.bot.local_run.demo_model.playback import Beat, Pause, beats, count_of
from oshaberi.bot.local_run.demo_model.requests import DemoRequest, DemoRequestError, read
from oshaberi.clocks import loop_time_s
from oshaberi.http_server_log import SERVER_LOG

HOST = "127.0.0.1"
MODEL = "demo-model"
TOKENS_PER_SECOND = 40.0
FIRST_TOKEN_MS = 300
REQUEST_MOST = 32 * 1024 * 1024
_WIRE = OpenAIWire()


class DemoModel:
    """The demo model. `speed` 2 is twice as fast, infinity never waits; it can be changed."""

    def __init__(self, speed: float = 1.0, *, port: int = 0) -> None:
        self.speed = speed
        self.running = 0
        """How many answers are running."""
        self._port = port
        self._quiet = asyncio.Event()
        self._runner: web.AppRunner
        self._address = ""

    @property
    def url(self) -> str:
        """Return the base URL for a client."""
        return f"http://{self._address}/v1"

    @property
    def tokens_per_second(self) -> float:
        return TOKENS_PER_SECOND * self.speed

    @tokens_per_second.setter
    def tokens_per_second(self, wanted: float) -> None:
        self.speed = wanted / TOKENS_PER_SECOND

    async def __aenter__(self) -> DemoModel:
        application = web.Application(middlewares=[self._door], client_max_size=REQUEST_MOST)
        application.router.add_post("/v1/chat/completions", self._complete)
        application.router.add_get("/v1/models", self._models)
        application.router.add_route("*", "/{path:.*}", _nowhere)
        # A client that disconnects cancels the answer, also during a pause.
        self._runner = web.AppRunner(
            application,
            access_log=None,
            logger=SERVER_LOG,
            handler_cancellation=True,
            shutdown_timeout=0.5,
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, HOST, self._port).start()
        self._address = f"{HOST}:{self._runner.addresses[0][1]}"
        self._quiet.set()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._runner.cleanup()

    async def idle(self) -> None:
        """Wait until no answer is running."""
        await self._quiet.wait()

    @web.middleware
    async def _door(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse websites: they send an Origin or another Host."""
        port = self._address.rpartition(":")[2]
        if "Origin" in request.headers or request.host not in (
            f"{HOST}:{port}",
            f"localhost:{port}",
        ):
            return _refused(403, "the demo model answers only programs on this machine")
        return await handler(request)

    async def _models(self, _request: web.Request) -> web.Response:
        model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "oshaberi"}
        return web.json_response({"object": "list", "data": [model]})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        try:
            asked = read(parse_json(body))
        except DemoRequestError as error:
            return _refused(400, str(error))
        except ValueError:
            return _refused(400, "the body is not JSON")
        received = ReceivedRequest(request.method, request.path, {}, body)
        with self._counted():
            answer = beats(asked)
            first = next(answer, None)
            if isinstance(first, Refuse):
                return _whole(_WIRE.refuse(first))
            return await _DemoAnswer(self, request, asked, _WIRE.encoder(received)).tell(
                first, answer
            )

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self.running += 1
        self._quiet.clear()
        try:
            yield
        finally:
            self.running -= 1
            if not self.running:
                self._quiet.set()


class _DemoAnswer:
    """One streamed answer."""

    def __init__(
        self, model: DemoModel, request: web.Request, asked: DemoRequest, encoder: Encoder
    ) -> None:
        self._model = model
        self._request = request
        self._asked = asked
        self._encoder = encoder
        self._response = web.StreamResponse(headers={"Content-Type": _WIRE.content_type})
        self._tokens = 0
        self._due = loop_time_s()

    async def tell(self, first: Beat | None, rest: Iterator[Beat]) -> web.StreamResponse:
        try:
            return await self._tell(first, rest)
        except ConnectionError:  # the client has gone
            return self._response

    async def _tell(self, first: Beat | None, rest: Iterator[Beat]) -> web.StreamResponse:
        await self._response.prepare(self._request)
        await self._write(self._encoder.begin())
        await self._wait(FIRST_TOKEN_MS / 1000)
        reason: FinishReason = "stop"
        for beat in chain([first] if first else [], rest):
            if isinstance(beat, Cut):
                return self._hang_up()
            if self._is_full():
                reason = "length"
                break
            await self._play(beat)
            if isinstance(beat, ErrorEvent):
                return self._response
            reason = "tool_calls" if isinstance(beat, Call) else reason
        count = Count(count_of(self._asked.prompt), self._tokens)
        await self._write(self._encoder.end(reason, count))
        return self._response

    async def _play(self, beat: Beat) -> None:
        match beat:
            case Say():
                await self._token()
                await self._write(self._encoder.say("".join(beat.pieces)))
            case Think():
                await self._token()
                await self._write(self._encoder.think(beat))
            case Call():
                for frame in self._encoder.call(beat):
                    await self._token()
                    await self._write([frame])
            case Pause(ms):
                await self._wait(ms / 1000)
            case ErrorEvent():
                await self._write(self._encoder.error(beat))
            case Stall():
                await asyncio.Event().wait()
            case Refuse() | Cut():
                pass  # handled at the beginning, or at the end of the answer

    def _hang_up(self) -> web.StreamResponse:
        if self._request.transport is not None:
            self._request.transport.abort()
        return self._response

    def _is_full(self) -> bool:
        most = self._asked.most_tokens
        return most is not None and self._tokens >= most

    async def _token(self) -> None:
        self._tokens += 1
        await self._wait(1 / TOKENS_PER_SECOND)

    async def _wait(self, seconds: float) -> None:
        """Wait by a schedule, so that many short waits add up to the right time."""
        now = loop_time_s()
        self._due = max(self._due, now - 0.1) + seconds / self._model.speed
        await asyncio.sleep(max(0.0, self._due - now))

    async def _write(self, frames: Sequence[Frame]) -> None:
        for frame in frames:
            await self._response.write(in_bytes(frame))


def _whole(answer: WireAnswer) -> web.Response:
    return web.Response(
        status=answer.status,
        text=answer.body,
        content_type="application/json",
        headers=dict(answer.headers),
    )


def _refused(status: int, message: str) -> web.Response:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return web.json_response({"error": error}, status=status)


async def _nowhere(request: web.Request) -> web.Response:
    known = "POST /v1/chat/completions and GET /v1/models"
    return _refused(404, f"nothing answers to {request.method} {request.path}; there is {known}")
