"""Connections to models: kept and shared, stale ones replaced, silence and proxies as before."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from discord_stage.model_servers import ModelServer, OpenAIResponsesWire, OpenAIWire
from discord_stage.model_servers.scripts import Say
from oshaberi.providers.base import Adapter
from oshaberi.providers.connections import sdk
from oshaberi.providers.connections.aiohttp_transport import AiohttpTransport
from oshaberi.providers.connections.model_connections import StreamedBody
from oshaberi.providers.registry import connect
from oshaberi.virtual_time import run_virtual
from tests.providers.adapter_runs import error, read, run, text
from tests.providers.provider_families import KEY, Family, every_family, having

EVENT = b'data: {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}\n\n'
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"


def answer(body: bytes = EVENT, head: bytes = HEAD) -> bytes:
    return head + b"content-length: %d\r\n\r\n" % len(body) + body


# -- kept and shared -----------------------------------------------------------------------------


@having("usage")  # not NovelAI: the adapter closes the connection at the last token
def test_answers_use_the_connection_of_the_one_before(family: Family) -> None:
    async def scenario(adapter: Adapter, server: ModelServer) -> None:
        for _ in range(3):
            assert (await read(adapter))[-1].type == "done"
            await server.idle()
        assert [connection.completed for connection in server.connections] == [3]

    run(family, scenario)


def test_adapters_share_their_connections_and_the_last_one_closes_them() -> None:
    async def main() -> None:
        async with ModelServer(OpenAIWire()) as server:
            one, other = (
                connect("openai", model, api_key=key, base_url=server.url)
                for model, key in (("model-1", "key-1"), ("model-2", "key-2"))
            )
            await read(one)
            await server.idle()
            await read(other)
            await server.idle()
            await one.aclose()
            await read(other)
            (connection,) = server.connections
            assert connection.completed == 3
            assert not connection.closed.is_set()
            await other.aclose()
            await server.all_closed()
            keys = [request.headers["authorization"] for request in server.requests]
            assert keys == ["Bearer key-1", "Bearer key-2", "Bearer key-2"]

    asyncio.run(main())


# -- a server that closes kept connections -------------------------------------------------------


@dataclass
class RawServer:
    """Answers with the given bytes, or closes where there are none left for the connection."""

    answers: list[list[bytes]]
    url: str = ""
    requests: list[int] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = len(self.requests)
        self.requests.append(0)
        left = list(self.answers[number]) if number < len(self.answers) else []
        while head := await _head(reader):
            length = next(
                int(line.split(b":")[1])
                for line in head.lower().split(b"\r\n")
                if line.startswith(b"content-length")
            )
            await reader.readexactly(length)
            self.requests[number] += 1
            if not left:
                break
            writer.write(left.pop(0))
            await writer.drain()
        writer.close()


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


@asynccontextmanager
async def raw_server(*answers: list[bytes]) -> AsyncIterator[RawServer]:
    raw = RawServer(list(answers))
    server = await asyncio.start_server(raw.serve, "127.0.0.1", 0)
    raw.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield raw
    finally:
        server.close()
        await server.wait_closed()


def with_raw_server(
    scenario: Callable[[Adapter, RawServer], Awaitable[None]], *answers: list[bytes]
) -> None:
    async def main() -> None:
        async with raw_server(*answers) as server:
            adapter = connect("openai", "model-1", api_key=KEY, base_url=server.url)
            try:
                await scenario(adapter, server)
            finally:
                await adapter.aclose()

    asyncio.run(main())


def test_a_request_is_sent_again_where_the_kept_connection_was_closed_under_it() -> None:
    async def scenario(adapter: Adapter, server: RawServer) -> None:
        assert text(await read(adapter)) == "Hi"
        assert text(await read(adapter)) == "Hi"
        assert server.requests == [2, 1]

    with_raw_server(scenario, [answer()], [answer()])


def test_a_new_connection_that_is_closed_is_a_failure() -> None:
    async def scenario(adapter: Adapter, server: RawServer) -> None:
        assert error(await read(adapter)).type == "network"
        assert server.requests == [1]

    with_raw_server(scenario, [])


def test_it_is_sent_again_only_once() -> None:
    async def scenario(adapter: Adapter, server: RawServer) -> None:
        assert text(await read(adapter)) == "Hi"
        assert error(await read(adapter)).type == "network"
        assert server.requests == [2, 1]

    with_raw_server(scenario, [answer()], [])


# -- the body ------------------------------------------------------------------------------------


def test_a_compressed_stream_is_read() -> None:
    async def scenario(adapter: Adapter, _server: RawServer) -> None:
        assert text(await read(adapter)) == "Hi"

    packed = answer(gzip.compress(EVENT), HEAD + b"content-encoding: gzip\r\n")
    with_raw_server(scenario, [packed])


@dataclass
class SlowContent:
    """Pieces with the seconds before each; the waiter gets the exception that is set."""

    pieces: list[tuple[float, bytes]]
    failed: asyncio.Future[bytes] = field(default_factory=lambda: asyncio.Future())

    def set_exception(self, failure: BaseException) -> None:
        self.failed.set_exception(failure)

    async def readany(self) -> bytes:
        after, piece = self.pieces.pop(0) if self.pieces else (0.0, b"")
        await asyncio.wait({self.failed}, timeout=after)
        return self.failed.result() if self.failed.done() else piece


async def _all(body: StreamedBody) -> list[bytes]:
    return [piece async for piece in body]


def test_silence_ends_a_body_and_long_streams_do_not() -> None:
    async def main() -> None:
        steady = SlowContent([(9.0, b"x")] * 10)
        assert await _all(StreamedBody(steady, 10.0)) == [b"x"] * 10
        silent = SlowContent([(9.0, b"x"), (11.0, b"y")])
        began = asyncio.get_running_loop().time()
        with pytest.raises(TimeoutError):
            await _all(StreamedBody(silent, 10.0))
        assert asyncio.get_running_loop().time() - began == pytest.approx(19.0)

    run_virtual(main())


def test_a_reader_that_takes_its_time_is_no_silence() -> None:
    async def main() -> list[bytes]:
        found = []
        async for piece in StreamedBody(SlowContent([(1.0, b"x"), (1.0, b"y")]), 10.0):
            await asyncio.sleep(100)
            found.append(piece)
        return found

    assert run_virtual(main()) == [b"x", b"y"]


def test_a_closed_body_leaves_no_timer() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        body = StreamedBody(SlowContent([(1.0, b"x"), (1.0, b"y")]), 10.0)
        assert await anext(body) == b"x"
        body.close()
        await asyncio.sleep(100)
        return loop.time()

    assert run_virtual(main()) == pytest.approx(101.0)


@every_family
def test_tokens_that_arrived_together_keep_their_places(family: Family) -> None:
    words = [f"{number} " for number in range(200)]

    async def scenario(adapter: Adapter, _server: ModelServer) -> None:
        found = await read(adapter)
        assert [chunk.content for chunk in found if chunk.content] == words

    run(family, scenario, [Say(*words)])


# -- which client --------------------------------------------------------------------------------


def transport_of(adapter: Any) -> Any:
    return adapter._client._client._transport


def test_an_sdk_sends_with_aiohttp() -> None:
    assert isinstance(transport_of(connect("anthropic", "m", api_key=KEY)), AiohttpTransport)


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY"])
@pytest.mark.parametrize(
    ("provider", "route"),
    [
        ("openai", "/v1/chat/completions"),
        ("openai-responses", "/v1/responses"),
        ("anthropic", "/v1/v1/messages"),
        ("ollama-native", "/v1/api/chat"),
    ],
)
def test_a_proxy_is_used(
    provider: str, route: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def proxied() -> bytes:
        asked: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked.set_result(await reader.readline())
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        monkeypatch.setenv(variable, f"http://127.0.0.1:{port}")
        adapter = connect(provider, "m", api_key=KEY, base_url="http://model.invalid/v1")
        assert error(await read(adapter)).type == "network"
        await adapter.aclose()
        server.close()
        return await asked

    line = asyncio.run(proxied())
    assert line.startswith(f"POST http://model.invalid{route}".encode())


def test_a_socks_proxy_is_not_passed_by(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with ModelServer(OpenAIWire()) as server:
            adapter = connect("openai", "m", api_key=KEY, base_url=server.url)
            monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
            refused = error(await read(adapter))
            assert refused.type == "network"
            assert "SOCKS" in refused.message
            assert server.requests == []
            monkeypatch.setenv("NO_PROXY", "127.0.0.1")
            assert (await read(adapter))[-1].type == "done"
            await adapter.aclose()

    asyncio.run(main())


def test_name_and_password_in_a_url_are_sent_instead_of_the_key() -> None:
    async def main() -> None:
        async with ModelServer(OpenAIWire()) as server:
            url = server.url.replace("://", "://me:secret@")
            adapter = connect("openai", "m", api_key=KEY, base_url=url)
            await read(adapter)
            await adapter.aclose()
            assert server.requests[0].headers["authorization"] == "Basic bWU6c2VjcmV0"

    asyncio.run(main())


@pytest.mark.parametrize("provider", ["openai", "openai-responses"])
def test_a_request_is_that_of_openais_own_client(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The adapters have no SDK in them, so here they are compared with it."""
    openai = pytest.importorskip("openai")
    monkeypatch.delenv("OPENAI_CUSTOM_HEADERS", raising=False)

    async def main() -> None:
        wire = OpenAIWire() if provider == "openai" else OpenAIResponsesWire()
        async with (
            ModelServer(wire) as server,
            openai.AsyncOpenAI(api_key=KEY, base_url=server.url, max_retries=0) as client,
        ):
            adapter = connect(provider, "m", api_key=KEY, base_url=server.url)
            await read(adapter)
            await adapter.aclose()
            ours = server.requests[0]
            place = client.chat.completions if provider == "openai" else client.responses
            async for _event in await place.create(**json.loads(ours.body)):
                pass
            theirs = server.requests[1]
        assert (ours.method, ours.path) == (theirs.method, theirs.path)
        assert json.loads(ours.body) == json.loads(theirs.body)
        for name in ("authorization", "content-type"):
            assert ours.headers[name] == theirs.headers[name]

    asyncio.run(main())


def test_without_aiohttp_an_sdk_sends_with_httpx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk, "find_spec", lambda _name: None)
    adapter = connect("anthropic", "m", api_key=KEY)
    assert isinstance(transport_of(adapter), httpx2.AsyncHTTPTransport)
