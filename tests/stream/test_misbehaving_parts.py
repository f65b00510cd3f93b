"""Providers, sinks and callbacks that misbehave: always one result, nothing left behind."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from oshaberi.chunks import Chunk, ProviderError
from oshaberi.delivery.recording_sink import RecordingSink
from oshaberi.delivery.sink import Post, Sent, WireState
from oshaberi.stream import (
    ScriptedProvider,
    Silence,
    Stop,
    StopRegistry,
    StreamConfig,
    StreamContext,
    stream_to_sink,
)
from oshaberi.text.config import TextConfig
from oshaberi.virtual_time import run_virtual

from .scripted_streams import CHANNEL, Played, chunks, play

Raw = AsyncIterator[Any]


class Custom(ScriptedProvider):
    """A provider whose stream is any function."""

    def __init__(self, stream: Callable[[], Any]) -> None:
        super().__init__([])
        self._custom = stream

    def open(self, _request: Any = None) -> Any:
        return self._custom()


def run(stream: Callable[[], Any], **settings: Any) -> Played:
    return play(provider=lambda _stops: Custom(stream), **settings)


def test_one_that_raises_at_once() -> None:
    def refuse() -> Raw:
        raise ConnectionError("no route")

    played = run(refuse)
    assert played.result.status == "error"
    assert isinstance(played.result.data, ProviderError)
    assert played.result.data.message == "no route"
    assert len(played.of("embed")) == 1


def test_one_that_raises_in_mid_sentence() -> None:
    async def stream() -> Raw:
        yield Chunk("text", "half a sen")
        raise ConnectionResetError("gone")

    played = run(stream)
    assert played.messages == ["half a sen"]
    assert played.result.status == "error"


def test_one_that_is_cancelled_from_inside() -> None:
    async def stream() -> Raw:
        yield Chunk("text", "half")
        raise asyncio.CancelledError

    played = run(stream)
    assert played.messages == ["half"]
    assert played.result.data == ProviderError("network", provider="script")


@pytest.mark.parametrize("method", ["normalise", "classify"])
def test_one_whose_own_code_fails(method: str, caplog: pytest.LogCaptureFixture) -> None:
    async def stream() -> Raw:
        yield Chunk("text", "fine")
        yield "nonsense"
        raise ValueError("late")

    def fail(value: Any) -> Any:
        if isinstance(value, Chunk):
            return value
        raise TypeError("a bug")

    provider = Custom(stream)
    setattr(provider, method, fail)
    caplog.set_level(logging.CRITICAL)
    played = play(provider=lambda _stops: provider)
    assert played.result.status == "error"
    assert played.messages == ["fine"]
    message = "a bug" if method == "normalise" else "late"
    assert getattr(played.result.data, "message", None) == message


def test_one_that_hangs_is_closed() -> None:
    closed: list[str] = []

    async def stream() -> Raw:
        try:
            yield Chunk("text", "half")
            await asyncio.sleep(10**6)
        finally:
            closed.append("yes")

    played = run(stream)
    assert played.result.status == "timeout"
    assert closed == ["yes"]


def test_one_that_ignores_being_cancelled() -> None:
    async def stream() -> Raw:
        yield Chunk("text", "half")
        try:
            await asyncio.sleep(10**6)
        except asyncio.CancelledError:
            yield Chunk("text", " and never")

    played = run(stream)
    assert played.messages == ["half"]
    assert played.result.status == "timeout"


def test_one_that_does_not_close(caplog: pytest.LogCaptureFixture) -> None:
    class Stubborn:
        def __init__(self) -> None:
            self._chunks = iter([Chunk("text", "hello")])

        def __aiter__(self) -> Stubborn:
            return self

        async def __anext__(self) -> Chunk:
            try:
                return next(self._chunks)
            except StopIteration:
                raise StopAsyncIteration from None

        async def aclose(self) -> None:
            await asyncio.sleep(10**6)

    played = run(Stubborn)
    assert played.result.status == "completed"
    assert "did not close" in caplog.text


def test_one_without_a_way_to_close() -> None:
    class Bare:
        def __aiter__(self) -> Bare:
            return self

        async def __anext__(self) -> Chunk:
            raise StopAsyncIteration

    assert run(Bare).result.status == "empty_response"


@pytest.mark.slow
def test_one_that_sends_a_megabyte_in_one_chunk() -> None:
    text = "".join(f"line {n} of very many\n" for n in range(50_000))
    played = run(lambda: _once(text), degree=0, text={"max_flush_count": 1000})
    assert "".join(played.messages).replace("\n", "") == text.replace("\n", "")
    limited = run(lambda: _once(text))
    assert limited.result.stop_reason == "flush_limit"
    assert len(limited.messages) == 40
    sent = "".join(limited.messages) + limited.result.undelivered
    assert sent.replace("\n", "") == text.replace("\n", "")


async def _once(text: str) -> Raw:
    yield Chunk("text", text)


def test_one_that_ends_in_the_middle_of_a_tag() -> None:
    played = play("so <thi")
    assert played.messages == ["so <thi"]


class BrokenSink(RecordingSink):
    """Fails in a way that no sink should."""

    def __init__(self, error: BaseException, nth: int = 1) -> None:
        super().__init__()
        self._error = error
        self._left = nth

    async def send(self, post: Post, wire: WireState) -> Sent:
        self._left -= 1
        if self._left == 0:
            raise self._error
        return await super().send(post, wire)


def test_a_sink_with_a_bug_is_an_error_and_never_repeats() -> None:
    bug = TypeError("surrogates not allowed")
    played = play("one\ntwo\nthree", sink=lambda: BrokenSink(bug, nth=2))
    assert played.result.status == "error"
    assert played.result.data is bug
    assert played.messages == ["one"]
    assert played.result.ledger.sums() == {"delivered": 3, "uncertain": 3, "error": 5}


@pytest.mark.parametrize("error", [OSError(104, "reset"), TimeoutError(), asyncio.CancelledError()])
def test_a_sink_that_is_cut_off_is_asked_again(error: BaseException) -> None:
    played = play("one\ntwo", sink=lambda: BrokenSink(error))
    assert played.messages == ["one", "two"]
    assert played.result.status == "completed"


def test_a_sink_that_never_answers() -> None:
    class Deaf(RecordingSink):
        async def send(self, post: Post, wire: WireState) -> Sent:
            await asyncio.sleep(10**6)
            return await super().send(post, wire)

    played = play("one\ntwo", sink=Deaf)
    assert played.result.status == "error"
    assert played.result.undelivered == "one\ntwo"
    assert played.result.metrics.duration_ms <= 90_000


def test_a_typing_indicator_that_fails_or_hangs_blocks_nothing() -> None:
    class NoTyping(RecordingSink):
        async def typing(self, ms: int | None) -> None:
            if ms is None:
                raise PermissionError("403")
            await asyncio.sleep(10**6)

    played = play("one\ntwo", degree=2, sink=NoTyping)
    assert played.messages == ["one", "two"]
    assert played.result.metrics.duration_ms < 5000


def test_a_progress_callback_that_raises(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> str:
        def progress(_what: str) -> None:
            raise RuntimeError("not now")

        provider = ScriptedProvider(chunks(["hello"]))
        context = StreamContext(progress=progress)
        result = await stream_to_sink(provider, None, StreamConfig(), context, RecordingSink())
        return result.status

    assert run_virtual(main()) == "completed"
    assert "a progress callback failed" in caplog.text


@pytest.mark.parametrize("method", ["feed", "finish"])
def test_an_engine_with_a_bug(method: str, caplog: pytest.LogCaptureFixture) -> None:
    from oshaberi import TextEngine

    class Buggy(TextEngine):
        pass

    def bug(*_args: object) -> None:
        raise ZeroDivisionError

    setattr(Buggy, method, bug)

    async def main() -> tuple[str, list[str], object]:
        provider = ScriptedProvider(chunks(["hello\n"]))
        context = StreamContext(make_engine=lambda config, _carry: Buggy(config))
        sink = RecordingSink()
        result = await stream_to_sink(provider, None, StreamConfig(), context, sink)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert provider.closed
        return result.status, sink.contents, type(result.data)

    assert run_virtual(main()) == ("error", [], ZeroDivisionError)
    assert "a fault of ours" in caplog.text


def test_an_engine_that_cannot_be_made(caplog: pytest.LogCaptureFixture) -> None:
    def refuse(_config: TextConfig, _carry: object) -> Any:
        raise ZeroDivisionError

    async def main() -> str:
        context = StreamContext(make_engine=refuse)
        provider = ScriptedProvider([])
        result = await stream_to_sink(provider, None, StreamConfig(), context, RecordingSink())
        return result.status

    assert run_virtual(main()) == "error"
    assert "could not begin" in caplog.text


@pytest.mark.parametrize("after_ms", [0, 100, 900, 1500, 2200])
def test_cancellation_is_passed_on_and_leaves_nothing(after_ms: int) -> None:
    async def main() -> tuple[bool, bool]:
        stops = StopRegistry()
        provider = ScriptedProvider([*chunks(["one\ntwo\nthree\nfour"]), Silence(2000)])
        context = StreamContext(channel=CHANNEL, stops=stops)
        stream = stream_to_sink(provider, None, StreamConfig(), context, RecordingSink())
        task = asyncio.create_task(stream)
        await asyncio.sleep(after_ms / 1000)
        task.cancel()
        await asyncio.wait({task})
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert CHANNEL not in stops._channels
        return task.cancelled(), provider.closed

    cancelled, closed = run_virtual(main())
    assert cancelled
    assert closed or after_ms == 0


def test_on_a_real_loop_a_stop_is_quick() -> None:
    async def main() -> tuple[float, str]:
        loop = asyncio.get_running_loop()
        stops = StopRegistry()
        provider = ScriptedProvider([*chunks(["one\ntwo\nthree"]), Silence(60_000)])
        context = StreamContext(channel=CHANNEL, stops=stops)
        stream = stream_to_sink(provider, None, StreamConfig(), context, RecordingSink())
        task = asyncio.create_task(stream)
        for _ in range(50):
            await asyncio.sleep(0)
        stopped_at = loop.time()
        assert stops.request_stop(CHANNEL, "1")
        result = await task
        return loop.time() - stopped_at, result.status

    seconds, status = asyncio.run(main())
    assert status == "stopped_by_user"
    assert seconds < 0.05


@pytest.mark.parametrize(("stopped", "fate"), [(False, "error"), (True, "uncertain")])
def test_a_sink_that_ignores_being_cancelled_once(stopped: bool, fate: str) -> None:
    class Stubborn(RecordingSink):
        async def send(self, post: Post, wire: WireState) -> Sent:
            try:
                await asyncio.sleep(10**6)
            except asyncio.CancelledError:
                await asyncio.sleep(10**6)
            return await super().send(post, wire)

    played = play("one\n", *([Stop("u")] if stopped else []), sink=Stubborn)
    assert played.messages == []
    assert played.result.ledger.sums() == {fate: 3}
    assert played.result.metrics.duration_ms <= 100_000
