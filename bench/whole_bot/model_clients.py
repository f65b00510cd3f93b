"""`python -m bench.whole_bot.model_clients`: what each HTTP client costs under the openai SDK.

With `--tls` HTTP/2 is measured too; that needs `h2`, `hypercorn` and `trustme`.

Many streams at once, each at the model's pace, so that most tokens arrive alone; the model server
is a process of its own. Counted is our processor time: per request (answers of one line against
answers of many) and per token, from the socket to the decoded event.
"""

from __future__ import annotations

import asyncio
import ssl
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import click
import httpx2
import openai

from bench.report import aligned_table
from bench.whole_bot.child_processes import BenchProcess
from bench.whole_bot.numbered_answers import TOKENS_PER_LINE, question
from oshaberi.providers.connections.aiohttp_transport import AiohttpTransport
from oshaberi.providers.connections.sdk import http_client, pieces_of
from oshaberi.providers.request.model_request import Endpoint
from oshaberi.providers.wire.sse_decoder import SseDecoder, read_object

STREAMS = 60
LINES = 6
_MICRO = 1e6

Loads = Callable[[str], Any]
Variant = tuple[str, Callable[[], Any], Loads]


@dataclass(frozen=True, slots=True)
class ClientCost:
    """Microseconds of processor time."""

    name: str
    request_us: float
    token_us: float


def _httpx() -> Any:
    return openai.DefaultAsyncHttpxClient(timeout=httpx2.Timeout(600.0))


def _sdk_aiohttp() -> Any:
    return openai.DefaultAioHttpClient(timeout=httpx2.Timeout(600.0))


def _ours() -> Any:
    return http_client(openai, Endpoint("openai", "tokens"))


def _json_readers() -> dict[str, Loads]:
    """Those that are installed; ours first."""
    found: dict[str, Loads] = {"json": read_object}
    for module, name in (("jiter", "from_json"), ("orjson", "loads"), ("msgspec.json", "decode")):
        if find_spec(module.partition(".")[0]) is not None:
            loads = getattr(import_module(module), name)
            found[module] = (lambda read: lambda data: read(data.encode()))(loads)
    return found


def _variants() -> list[Variant]:
    clients = (("httpx2 (the SDK's own)", _httpx), ("aiohttp, the SDK's transport", _sdk_aiohttp))
    variants = [(name, make, read_object) for name, make in clients]
    return variants + [
        (f"aiohttp, ours; {name}", _ours, loads) for name, loads in _json_readers().items()
    ]


def _tls_variants(authority: str) -> list[Variant]:
    def client(**way: Any) -> Any:
        return openai.DefaultAsyncHttpxClient(**way, timeout=httpx2.Timeout(600.0))

    def trust() -> ssl.SSLContext:
        return ssl.create_default_context(cafile=authority)

    return [
        ("httpx2, HTTP/1.1", lambda: client(verify=trust()), read_object),
        ("httpx2, HTTP/2", lambda: client(verify=trust(), http1=False, http2=True), read_object),
        ("aiohttp, ours", lambda: client(transport=AiohttpTransport(trust())), read_object),
    ]


async def _answer(client: Any, number: int, lines: int, loads: Loads) -> int:
    """Reads one answer as an adapter does. Returns how many events it had."""
    creating = client.chat.completions.with_streaming_response.create(
        model="tokens",
        messages=[{"role": "user", "content": question(number, lines)}],
        stream=True,
    )
    decoder, events = SseDecoder(), 0
    async with creating as response:
        async for piece in pieces_of(response):
            for data in decoder.feed(piece):
                events += 1
                if data != "[DONE]":
                    loads(data)
    return events


async def _cpu_s(client: Any, lines: int, loads: Loads) -> float:
    began = time.process_time()
    numbers = range(1, STREAMS + 1)
    await asyncio.gather(*(_answer(client, number, lines, loads) for number in numbers))
    return time.process_time() - began


async def measure(url: str, variants: Sequence[Variant], rounds: int) -> list[ClientCost]:
    """In turns, so that the machine's other work is shared alike."""
    found: dict[str, list[tuple[float, float]]] = {}
    for _ in range(rounds):
        for name, make, loads in variants:
            async with openai.AsyncOpenAI(
                base_url=url, api_key="none", http_client=make()
            ) as client:
                await _cpu_s(client, 1, loads)  # connected, and everything loaded
                short = await _cpu_s(client, 1, loads)
                long = await _cpu_s(client, LINES, loads)
            found.setdefault(name, []).append((short, long))
    return [_cost(name, times) for name, times in found.items()]


def _cost(name: str, times: Sequence[tuple[float, float]]) -> ClientCost:
    tokens = TOKENS_PER_LINE * STREAMS
    token_s = median(long - short for short, long in times) / (tokens * (LINES - 1))
    request_s = median(short for short, _ in times) / STREAMS - token_s * TOKENS_PER_LINE
    return ClientCost(name, request_s * _MICRO, token_s * _MICRO)


async def _run(rounds: int, folder: Path, *, tls: bool) -> list[ClientCost]:
    server = "bench.whole_bot.tls_token_server" if tls else "bench.whole_bot.token_server"
    async with BenchProcess.started(server, folder, {}) as model:
        url, _, authority = model.greeting.partition(" ")
        variants = _tls_variants(authority) if tls else _variants()
        return await measure(url, variants, rounds)


@click.command()
@click.option("--rounds", type=click.IntRange(1, 100), default=5, show_default=True)
@click.option("--uvloop", "fast_loop", is_flag=True, help="On uvloop, which must be installed.")
@click.option("--tls", is_flag=True, help="Over TLS, by HTTP/1.1 and by HTTP/2.")
def main(rounds: int, fast_loop: bool, tls: bool) -> None:
    """What each HTTP client costs under the openai SDK, per request and per token."""
    factory = import_module("uvloop").new_event_loop if fast_loop else None
    with (
        tempfile.TemporaryDirectory(prefix="oshaberi-clients-") as folder,
        asyncio.Runner(loop_factory=factory) as runner,
    ):
        found = runner.run(_run(rounds, Path(folder), tls=tls))
    table = [[one.name, f"{one.request_us:.0f}", f"{one.token_us:.1f}"] for one in found]
    title = f"Processor time, median of {rounds} rounds of {STREAMS} streams"
    click.echo(aligned_table(title, ["client", "µs a request", "µs a token"], table))


if __name__ == "__main__":
    main()
