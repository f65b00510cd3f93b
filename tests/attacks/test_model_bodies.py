"""Bodies of a model's server that have no end, or grow when they are unpacked: all are bounded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from oshaberi.chunks import Chunk, ProviderError
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.recording_sink import RecordingSink
from oshaberi.foreign_bodies import ERROR_BYTES
from oshaberi.providers.base import Adapter
from oshaberi.providers.connections import sdk
from oshaberi.providers.registry import connect
from oshaberi.providers.request.answer_budgets import MOST_CALLS, AnswerBudgets
from oshaberi.stream.context import StreamContext
from oshaberi.stream.orchestrator import stream_to_sink
from oshaberi.stream.result import StreamResult
from tests.attacks.flood_server import (
    DIALECTS,
    Flood,
    FloodServer,
    event,
    flooding,
    times,
    zipped,
)
from tests.attacks.loop_watch import memory_at_most, watched_loop
from tests.providers.adapter_runs import ASK, error, read, text

every_provider = pytest.mark.parametrize("provider", DIALECTS)
with_tools = pytest.mark.parametrize("provider", [one for one in DIALECTS if DIALECTS[one].call])
BIG = "x" * 2000
SMALL = AnswerBudgets(text=20_000, thoughts=20_000, arguments=20_000, body=1_000_000)
JSON = ("content-type: application/json",)
GZIP = ("content-type: text/event-stream", "content-encoding: gzip")


def connected(provider: str, server: FloodServer, **settings: Any) -> Adapter:
    return connect(provider, "m", api_key="not-a-key", base_url=server.url, **settings)


def answered(provider: str, *floods: Flood, **settings: Any) -> tuple[list[Chunk], FloodServer]:
    """The chunks of one answer. No step of the loop may take long meanwhile."""
    with flooding(*floods) as server:

        async def main() -> list[Chunk]:
            adapter = connected(provider, server, **settings)
            try:
                await read(adapter)  # loads what is imported late
                with watched_loop():
                    return await asyncio.create_task(read(adapter))
            finally:
                await adapter.aclose()

        return asyncio.run(main()), server


def ended(provider: str, *blocks: Any, **settings: Any) -> tuple[list[Chunk], ProviderError]:
    dialect = DIALECTS[provider]
    first = Flood([dialect.text("Hi"), dialect.end])
    found, server = answered(provider, first, *[Flood(block) for block in blocks], **settings)
    assert len(server.requests) == 2, "a flood was asked for again"
    return found, error(found)


# -- what the server is asked for ----------------------------------------------------------------


@every_provider
def test_a_model_is_asked_for_plain_bytes(provider: str) -> None:
    dialect = DIALECTS[provider]
    _found, server = answered(provider, Flood([dialect.text("Hi"), dialect.end]))
    for head in server.requests:
        assert "accept-encoding: identity\r\n" in f"{head}\r\n"
        assert head.count("accept-encoding") == 1


# -- refusals ------------------------------------------------------------------------------------

BOMB = zipped(50, b'{"error": "' + b"x" * 4096 + b'"}')
REFUSALS: dict[str, Callable[[], Flood]] = {
    "gzip": lambda: Flood([BOMB], 500, ("content-encoding: gzip",)),
    "plain": lambda: Flood(times(100, b"sorry "), 500, ("content-type: text/plain",)),
    "json": lambda: Flood([b'{"error": {"message": "', *times(100, b"sorry ")], 400, ()),
    "deep": lambda: Flood(
        [b'{"error": ' + b"[" * 60_000], 400, ("content-type: application/json",)
    ),
    "brotli": lambda: Flood([b"\x0b\x02\x80" * 99], 500, ("content-encoding: br",)),
    "broken": lambda: Flood([BOMB[:9000] + b"\0" * 9000], 500, ("content-encoding: gzip",)),
}


@every_provider
@pytest.mark.parametrize("shape", REFUSALS)
def test_of_a_refusal_only_the_beginning_is_read(provider: str, shape: str) -> None:
    found, server = answered(provider, REFUSALS[shape]())
    assert error(found).type in ("api_error", "provider_overloaded")
    assert len(str(error(found).raw)) < 3 * ERROR_BYTES
    assert server.sent_bytes < 30e6


@pytest.mark.parametrize("provider", ["openai", "anthropic", "google", "novelai"])
@pytest.mark.parametrize("shape", ["gzip", "plain"])
def test_a_refusal_takes_little_memory(provider: str, shape: str) -> None:
    with flooding(REFUSALS[shape]()) as server:

        async def main() -> None:
            adapter = connected(provider, server)
            try:
                await read(adapter)
                with memory_at_most(4):
                    assert error(await read(adapter)).type == "api_error"
            finally:
                await adapter.aclose()

        asyncio.run(main())


# -- streams -------------------------------------------------------------------------------------


@every_provider
def test_a_stream_without_events_ends(provider: str) -> None:
    found, problem = ended(provider, times(300, b"\n"))
    assert problem.type == "api_error"
    assert not problem.retryable
    assert text(found) == ""


@pytest.mark.parametrize(
    "piece", [b"\r\n", b": still here\n\n", b"x", b"data: ", b"data:\n", b" \n", b"event: a\n"]
)
def test_whatever_its_lines_are(piece: bytes) -> None:
    found, problem = ended("openai", times(300, piece))
    assert problem.type == "api_error"
    assert not problem.retryable
    assert text(found) == ""


@every_provider
def test_a_stream_without_events_ends_even_if_it_is_packed(provider: str) -> None:
    dialect = DIALECTS[provider]
    first = Flood([dialect.text("Hi"), dialect.end])
    found, _server = answered(provider, first, Flood([zipped(300, b"\n")], 200, GZIP))
    assert error(found).type == "api_error"


@every_provider
def test_one_line_of_any_length_is_no_event(provider: str) -> None:
    found, problem = ended(provider, [b'data: {"x": "', *times(100, b"x" * 99)])
    assert (text(found), problem.type) == ("", "api_error")


@every_provider
def test_small_events_end_at_the_body_budget(provider: str) -> None:
    _found, problem = ended(provider, times(20, b"data: {}\n\n"), budgets=SMALL)
    assert problem.code == "body_budget"
    assert "1,000,000 bytes" in problem.message


@every_provider
def test_what_unpacks_to_nothing_counts_too(provider: str) -> None:
    nothing = b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + b"\0\0\0\xff\xff" * 12_000
    dialect = DIALECTS[provider]
    first = Flood([dialect.text("Hi"), dialect.end])
    endless = Flood([nothing, *times(20, b"\0\0\0\xff\xff" * 12_000)], 200, GZIP)
    found, _server = answered(provider, first, endless, budgets=SMALL)
    assert error(found).code == "body_budget"


# -- budgets -------------------------------------------------------------------------------------


@every_provider
@pytest.mark.parametrize("letters", ["x", "x" * 2000, "犬" * 700, "x" * 1_000_000])
def test_text_ends_at_its_budget_and_what_was_said_stays(provider: str, letters: str) -> None:
    flood = times(100, DIALECTS[provider].text(letters))
    budgets = AnswerBudgets(text=20_000)
    found, problem = ended(provider, flood, budgets=budgets)
    assert problem.code == "text_budget"
    assert "20,000 bytes" in (problem.shown or "")
    assert 19_990 <= len(text(found).encode()) <= 20_000
    assert set(text(found)) == {letters[0]}


@with_tools
@pytest.mark.parametrize("letters", ["x", "x" * 2000, "x" * 1_000_000])
def test_thoughts_end_at_their_budget(provider: str, letters: str) -> None:
    dialect = DIALECTS[provider]
    assert dialect.thought
    flood = [dialect.text("So."), *times(100, dialect.thought(letters))]
    budgets = AnswerBudgets(thoughts=20_000)
    found, problem = ended(provider, flood, budgets=budgets)
    assert problem.code == "thought_budget"
    assert text(found) == "So."
    assert sum(len(part.text) for chunk in found for part in chunk.thoughts) <= 20_000


@with_tools
@pytest.mark.parametrize("letters", ["x", "x" * 2000, "x" * 1_000_000])
def test_arguments_end_at_their_budget(provider: str, letters: str) -> None:
    dialect = DIALECTS[provider]
    assert dialect.argument
    flood = [dialect.text("So."), dialect.call, *times(100, dialect.argument(letters))]
    budgets = AnswerBudgets(arguments=20_000)
    found, problem = ended(provider, flood, budgets=budgets)
    assert problem.code == "argument_budget"
    assert text(found) == "So."
    assert not any(chunk.calls for chunk in found)


def test_an_answer_has_so_many_calls_at_most() -> None:
    calls = [
        event({"choices": [{"delta": {"tool_calls": [_called(n)]}}]}) for n in range(MOST_CALLS + 1)
    ]
    _found, problem = ended("openai", calls)
    assert problem.code == "argument_budget"


def _called(number: int) -> dict[str, Any]:
    return {"index": number, "id": f"c{number}", "function": {"name": "look", "arguments": "{}"}}


def test_a_list_that_is_mostly_gaps_is_bounded() -> None:
    pieces = [{"jsonPath": f"$.a{n}[9999]", "numberValue": 1} for n in range(1000)]
    call = {"name": "look", "partialArgs": pieces, "willContinue": True}
    document = {"candidates": [{"content": {"parts": [{"functionCall": call}]}}]}
    _found, problem = ended("google", [event(document)])
    assert problem.code == "argument_budget"


@with_tools
def test_endless_answers_take_little_memory(provider: str) -> None:
    dialect = DIALECTS[provider]
    assert dialect.thought
    assert dialect.argument
    floods = (
        [dialect.text("Hi"), dialect.end],
        times(100, dialect.text(BIG)),
        times(100, dialect.thought(BIG)),
        [dialect.call, *times(100, dialect.argument(BIG))],
        times(100, b"\n"),
        [b"data: ", *times(100, b"x")],
    )
    with flooding(*map(Flood, floods)) as server:

        async def main() -> None:
            adapter = connected(provider, server, budgets=SMALL)
            try:
                await read(adapter)
                for _ in floods[1:]:
                    with memory_at_most(20):
                        assert error(await read(adapter)).type == "api_error"
            finally:
                await adapter.aclose()

        asyncio.run(main())
    assert len(server.requests) == len(floods)


# -- the whole stream ----------------------------------------------------------------------------


async def delivered(
    adapter: Adapter, context: StreamContext, sink: RecordingSink, **settings: Any
) -> StreamResult:
    config = StreamConfig(base_type_speed_ms_per_char=0, max_typing_time_ms=0, **settings)
    with watched_loop():
        return await asyncio.create_task(stream_to_sink(adapter, ASK, config, context, sink))


@every_provider
def test_the_reader_sees_what_was_said_and_why_it_ended(provider: str) -> None:
    dialect = DIALECTS[provider]
    flood = Flood(times(100, dialect.text("A line of words.\n")))
    with flooding(Flood([dialect.text("Hi"), dialect.end]), flood) as server:

        async def main() -> None:
            adapter = connected(provider, server, budgets=AnswerBudgets(text=2000))
            sink, context = RecordingSink(), StreamContext()
            try:
                await read(adapter)
                result = await delivered(adapter, context, sink)
            finally:
                await adapter.aclose()
            assert result.status == "error"
            assert isinstance(result.data, ProviderError)
            assert result.data.code == "text_budget"
            assert result.undelivered == ""
            assert not result.ledger.problems()
            assert "A line of words." in sink.contents[0]
            notice = next(one for one in sink.records if one["kind"] == "embed")
            assert "2,000 bytes" in notice["description"]

        asyncio.run(main())


@every_provider
@pytest.mark.parametrize("what", ["text", "keep_alives", "thoughts"])
def test_a_stop_holds_however_fast_the_server_sends(provider: str, what: str) -> None:
    dialect = DIALECTS[provider]
    pieces = {
        "text": dialect.text("words "),
        "keep_alives": b": still here\n\n",
        "thoughts": (dialect.thought or dialect.text)("hm "),
    }
    flood = Flood([dialect.text("First.\n"), *times(300, pieces[what])])
    with flooding(Flood([dialect.text("Hi"), dialect.end]), flood) as server:

        async def main() -> StreamResult:
            context = StreamContext("channel")
            adapter = connected(provider, server)
            try:
                await read(adapter)
                streaming = asyncio.create_task(delivered(adapter, context, RecordingSink()))
                while server.sent_bytes < 500_000:
                    await asyncio.sleep(0)
                context.stops.request_stop("channel", "somebody")
                return await streaming
            finally:
                await adapter.aclose()

        result = asyncio.run(main())
    assert result.status == "stopped_by_user"
    assert server.sent_bytes < 20e6


# -- behind a proxy ------------------------------------------------------------------------------


@pytest.fixture
def without_aiohttp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk, "_needs_httpx", lambda: True)


@pytest.mark.usefixtures("without_aiohttp")
@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic"])
def test_behind_a_proxy_the_same_bounds_hold(provider: str) -> None:
    for refusal in (REFUSALS["gzip"], REFUSALS["json"], REFUSALS["brotli"]):
        found, _server = answered(provider, refusal())
        assert len(str(error(found).raw)) < 3 * ERROR_BYTES
    _found, problem = ended(provider, times(20, b"data: {}\n\n"), budgets=SMALL)
    assert problem.code == "body_budget"
    dialect = DIALECTS[provider]
    first = Flood([dialect.text("Hi"), dialect.end])
    packed, server = answered(provider, first, Flood([zipped(300, b"\n")], 200, GZIP))
    assert error(packed).type == "api_error"
    assert "accept-encoding: identity\r\n" in server.requests[0]
