"""The log of streams: what it keeps is what was, it can be watched, and it stays small."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from oshaberi.chunks import Chunk, ProviderError, ToolCall
from oshaberi.delivery.recording_sink import RecordingSink
from oshaberi.delivery.sink import Sent
from oshaberi.inspector import StreamLog, trace
from oshaberi.inspector.stream_log import MOST_CHUNKS
from oshaberi.stream.context import StreamContext
from oshaberi.stream.provider_protocol import FollowUp, Silence, Step, Stop
from oshaberi.virtual_time import run_virtual
from tests.inspector.logged_streams import crumbs, stream, virtual_log

Json = dict[str, Any]
TEXT = "Hello there!\nThis is (a\nbracket) line.\nAnd the end."


def run(scenario: Callable[[StreamLog], Awaitable[Any]], **settings: int) -> StreamLog:
    async def main() -> StreamLog:
        log = virtual_log(**settings)
        await scenario(log)
        return log

    return run_virtual(main())


def scene(log: StreamLog, **which: Any) -> Json:
    kept = log.find(**which)
    assert kept is not None
    return log.scene(kept)


def test_what_is_kept_is_what_was_sent() -> None:
    sink: list[RecordingSink] = []

    async def scenario(log: StreamLog) -> None:
        sink.append(RecordingSink())
        await stream(log, crumbs(TEXT), sink=sink[0])

    log = run(scenario)
    told = trace(scene(log))
    sent = [r for r in sink[0].records if r["kind"] == "message"]
    assert [(m["text"], m["at_ms"]) for m in told["messages"]] == [
        (r["content"], r["at_ms"]) for r in sent
    ]
    summary = log.streams()[0]
    assert (summary["persona"], summary["channel"], summary["model"]) == (
        "Mochi", "general", "script",
    )  # fmt: skip
    assert (summary["status"], summary["running"]) == ("completed", False)
    assert summary["characters"] == len(TEXT)
    assert summary["messages"] == [str(r["id"]) for r in sent]


@pytest.mark.parametrize(
    ("last", "status"),
    [(Stop("7"), "stopped_by_user"), (FollowUp("7"), "follow_up_interrupt")],
)
def test_a_stream_that_was_cut_off_ends_so_again(last: Step, status: str) -> None:
    sink: list[RecordingSink] = []

    async def scenario(log: StreamLog) -> None:
        sink.append(RecordingSink())
        steps = [*crumbs(TEXT), last, Silence(60_000), Chunk("text", "never")]
        await stream(log, steps, sink=sink[0])

    told = trace(scene(run(scenario)))
    assert told["result"]["status"] == status
    assert [m["text"] for m in told["messages"]] == sink[0].contents
    assert "never" not in told["raw"]


def test_each_message_knows_its_stream() -> None:
    """A tool call makes two streams of one response."""

    async def scenario(log: StreamLog) -> None:
        context, sink = StreamContext(channel="general"), RecordingSink()
        call = Chunk("function_call", calls=(ToolCall("look"),))
        await stream(log, [Chunk("text", "Let me look.\nWait.\n"), call], context, sink)
        await stream(log, [Chunk("text", "There.")], context, sink)

    log = run(scenario)
    second, first = log.streams()
    assert (first["messages"], second["messages"]) == (["1", "2"], ["3"])
    assert (first["status"], second["status"]) == ("function_call", "completed")
    found = [log.find(message=number) for number in (1, 2, 3, 4)]
    assert [kept.id if kept else None for kept in found] == ["1", "1", "2", None]


def test_a_running_stream_can_be_looked_at() -> None:
    seen: list[tuple[Json, Json]] = []

    async def scenario(log: StreamLog) -> None:
        sink = RecordingSink()
        task = asyncio.create_task(stream(log, crumbs(TEXT, ms=100), sink=sink))
        await asyncio.sleep(0.75)
        seen.append((log.streams()[0], scene(log)))
        assert sink.contents == ["Hello there!"]
        await task

    log = run(scenario)
    (summary, document), after = seen[0], log.streams()[0]
    assert (summary["running"], summary["duration_ms"], summary["messages"]) == (True, 750, ["1"])
    assert (after["running"], len(after["messages"])) == (False, 3)
    told = trace(document)
    assert [m["text"] for m in told["messages"]] == ["Hello there!"]
    assert [(one["text"], one["fate"]) for one in told["lost"]] == [
        ("This is (a\nbracket)", "follow_up")
    ]


def test_listeners_hear_of_it_but_not_too_often() -> None:
    heard: list[Json] = []

    async def scenario(log: StreamLog) -> None:
        stop = log.listen(heard.append)
        await stream(log, crumbs("x" * 400, ms=10))
        stop()
        await stream(log, crumbs("more"))

    run(scenario)
    assert {one["id"] for one in heard} == {"1"}
    assert (heard[0]["running"], heard[-1]["running"]) == (True, False)
    assert 4 <= len(heard) <= 10


def test_it_keeps_only_the_newest() -> None:
    async def scenario(log: StreamLog) -> None:
        for number in range(12):
            await stream(log, [Chunk("text", f"number {number}")])

    log = run(scenario, most=5)
    assert [one["said"] for one in log.streams()] == [f"number {n}" for n in range(11, 6, -1)]
    assert log.find(stream="1") is None


def test_streams_that_never_end_do_not_pile_up() -> None:
    async def scenario(log: StreamLog) -> None:
        for _ in range(12):
            task = asyncio.create_task(stream(log, crumbs(TEXT, ms=500)))
            await asyncio.sleep(0.1)
            task.cancel()
            await asyncio.wait([task])

    log = run(scenario, most=5)
    assert [one["id"] for one in log.streams()] == ["12", "11", "10", "9", "8"]
    assert len(log._running) == 5


def test_it_keeps_only_so_many_bytes() -> None:
    async def scenario(log: StreamLog) -> None:
        for number in range(20):
            await stream(log, crumbs(f"{number} ".join(map(str, range(300))), ms=0))

    log = run(scenario, most_bytes=5000)
    assert 1 <= len(log.streams()) < 20
    assert log.size_bytes <= 5000


@pytest.mark.slow
def test_an_endless_stream_has_an_end_here() -> None:
    async def scenario(log: StreamLog) -> None:
        config_free = [Chunk("text", "a ") for _ in range(MOST_CHUNKS + 100)]
        await stream(log, config_free)

    log = run(scenario)
    assert log.streams()[0]["chunks"] == MOST_CHUNKS
    kept = log.find()
    assert kept is not None
    assert kept.size < 100_000
    assert kept.heard == []


def test_secrets_stay_outside() -> None:
    async def scenario(log: StreamLog) -> None:
        await stream(log, crumbs("the key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"))

    log = run(scenario)
    assert "abcdefghij" not in str(scene(log))
    assert "abcdefghij" not in str(log.streams())


def test_a_turn_that_was_cancelled_leaves_nothing_running() -> None:
    async def scenario(log: StreamLog) -> None:
        context = StreamContext(channel="general")
        task = asyncio.create_task(stream(log, crumbs(TEXT, ms=500), context))
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.wait([task])
        await stream(log, [Chunk("text", "again")], context)

    second, first = run(scenario).streams()
    assert (first["running"], first["status"]) == (False, "")
    assert second["said"] == "again"


def test_a_failed_stream_keeps_its_error_and_its_other_tries() -> None:
    async def scenario(log: StreamLog) -> None:
        context = StreamContext(channel="general")
        broken = ProviderError("provider_overloaded", "try later")
        await stream(log, [Chunk("error", error=broken)], context=context)
        await stream(log, crumbs("elsewhere"))
        await stream(log, crumbs("Hello."), context=context)
        context.response.notices.append(Sent(77))

    log = run(scenario)
    third, second, first = log.streams()
    assert first["error"] == "provider overloaded: try later"
    assert (second["error"], third["error"]) == ("", "")
    assert first["turn"] == third["turn"] != second["turn"]
    found = log.find(message=77)
    assert found is not None
    assert found.id == third["id"], "a notice that came after the stream leads to it"
