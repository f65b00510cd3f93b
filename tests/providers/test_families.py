"""One suite over all families: the same script gives the same chunks, whatever the wire."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from discord_stage.model_servers import ModelServer
from discord_stage.model_servers.scripts import (
    Call,
    Count,
    Cut,
    ErrorEvent,
    Finish,
    Garbage,
    KeepAlive,
    NoAnswer,
    Refuse,
    RepeatTail,
    Say,
    Stall,
    Status,
    Step,
    Think,
)
from oshaberi.chunks import Chunk, ErrorType, ThoughtPart, ToolCall, Usage
from oshaberi.providers.base import Adapter
from oshaberi.providers.request.model_request import ToolResult, ToolRound, said
from tests.providers.adapter_runs import ASK, chunks, error, read, run, text, thoughts
from tests.providers.provider_families import FAMILIES, Family, every_family, having

FAULTS: dict[str, tuple[Step, ErrorType]] = {
    "closed": (Cut(), "network"),
    "reset": (Cut(reset=True), "network"),
    "garbage": (Garbage(), "api_error"),
    "not an object": (Garbage("[1, 2]"), "api_error"),
    "a string": (Garbage('"choices"'), "api_error"),
}


@every_family
def test_text(family: Family) -> None:
    found = chunks(family, Say("Hel", "lo, ", "wörld 👋\u2028!"))
    assert text(found) == "Hello, wörld 👋\u2028!"
    assert [chunk.type for chunk in found] == ["text", "text", "text", "done"]
    assert found[-1].finish_reason == "stop"


@every_family
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_cuts_of_the_network_change_nothing(family: Family, size: int) -> None:
    script = (Say("héllo 👋", " there"), Count(3, 4))
    assert chunks(family, *script, slice_bytes=size) == chunks(family, *script)


@having("thoughts")
def test_thoughts(family: Family) -> None:
    found = chunks(family, Think("The user ", "greets."), Say("Hello."))
    assert thoughts(found) == "The user greets."
    assert text(found) == "Hello."


@having("thoughts")
def test_a_glued_tail_is_a_thought(family: Family) -> None:
    found = chunks(family, Think("Something that I "), Say("must do.", "Hello! Hi."))
    assert thoughts(found) == "Something that I must do."
    assert text(found) == "Hello! Hi."


@having("signatures", "calls")
def test_signatures_go_back_with_the_results(family: Family) -> None:
    async def scenario(adapter: Adapter, server: ModelServer) -> None:
        first = await read(adapter)
        signed = tuple(part for chunk in first for part in chunk.thoughts)
        results = (ToolResult("sunny"),)
        done = ToolRound(first[-1].calls, results, "Let me see.", signed, adapter.name)
        await read(adapter, replace(ASK, items=(*ASK.items, done)))
        assert b"SIGNED-1" in server.requests[1].body
        assert b"sunny" in server.requests[1].body
        elsewhere = replace(done, provider="somebody else")
        await read(adapter, replace(ASK, items=(*ASK.items, elsewhere)))
        assert b"SIGNED-1" not in server.requests[2].body

    script = (Think("Look.", signature="SIGNED-1"), Say("Let me see."), Call("weather", "{}"))
    run(family, scenario, script)


@having("calls")
def test_one_call(family: Family) -> None:
    found = chunks(family, Call("weather", '{"city": "Kyōto", "days": 2}', id="call-a"))
    (call,) = found[-1].calls
    assert found[-1].type == "function_call"
    assert found[-1].finish_reason == "tool_calls"
    assert (call.name, call.args, call.error) == ("weather", {"city": "Kyōto", "days": 2}, None)


@having("calls")
def test_a_call_without_arguments(family: Family) -> None:
    (call,) = chunks(family, Call("now", ""))[-1].calls
    assert (call.name, call.args, call.error) == ("now", {}, None)


@having("calls")
def test_parallel_calls_keep_their_order(family: Family) -> None:
    calls = [Call(f"tool{n}", f'{{"n": {n}}}', id=f"id-{n}") for n in range(4)]
    found = chunks(family, *calls, Count(1, 2))
    assert len([chunk for chunk in found if chunk.calls]) == 1
    assert [(call.name, call.args["n"]) for call in found[-1].calls] == [
        (f"tool{n}", n) for n in range(4)
    ]


@having("calls")
def test_a_call_after_text(family: Family) -> None:
    found = chunks(family, Say("One ", "moment."), Call("look", '{"at": 1}'))
    assert text(found) == "One moment."
    assert [chunk.type for chunk in found] == ["text", "text", "function_call"]
    assert found[-1].content == ""


@having("call_pieces")
@pytest.mark.parametrize("broken", ['{"a": ', "[1]", '"x"', "nonsense", "[" * 100_000])
def test_broken_arguments_are_for_the_model_to_mend(family: Family, broken: str) -> None:
    calls = chunks(family, Call("good", "{}"), Call("bad", broken))[-1].calls
    assert [(call.name, call.args) for call in calls] == [("good", {}), ("bad", {})]
    assert calls[0].error is None
    assert calls[1].error is not None
    assert "the arguments are not" in calls[1].error


@having("call_pieces")
def test_a_call_in_pieces_shows_life(family: Family) -> None:
    """Otherwise the timer would end a long call (spec 04 O4)."""

    async def scenario(adapter: Adapter, _server: ModelServer) -> int:
        return len([raw async for raw in adapter.open(ASK)])

    assert run(family, scenario, (Call("long", '{"text": "' + "x" * 90 + '"}', pieces=30),)) > 25


def _counted(found: Sequence[Chunk]) -> Usage | None:
    """The tokens of an answer. A proxy such as LiteLLM adds a price of its own."""
    usage = found[-1].usage
    return None if usage is None else replace(usage, cost_dollars=None)


@having("usage")
def test_usage(family: Family) -> None:
    assert _counted(chunks(family, Say("Hi"), Count(120, 34))) == Usage(120, 34)


@having("usage")
def test_usage_from_the_cache(family: Family) -> None:
    found = _counted(chunks(family, Say("Hi"), Count(120, 34, 100)))
    assert found == Usage(120, 34, 100), "they are a part of the input"


@having("usage", "calls")
def test_usage_of_a_call(family: Family) -> None:
    found = chunks(family, Call("look"), Count(120, 34))
    assert (found[-1].type, _counted(found)) == ("function_call", Usage(120, 34))


@every_family
def test_a_finish_by_length_is_reported(family: Family) -> None:
    last = chunks(family, Say("Once upon a"), Finish("length"))[-1]
    assert (last.type, last.finish_reason) == ("done", "length")


@having("filter")
@pytest.mark.parametrize("before", [(), (Say("It is"),)], ids=["at once", "after text"])
def test_blocked_content_is_an_error(family: Family, before: tuple[Step, ...]) -> None:
    found = chunks(family, *before, Finish("content_filter"))
    assert error(found).type == "content_blocked"
    assert found[-1].finish_reason in ("content_filter", "safety")
    assert text(found) == ("It is" if before else "")


@pytest.mark.parametrize(
    ("family", "kind"),
    [(family, kind) for family in FAMILIES for kind in sorted(family.kinds)],
    ids=str,
)
def test_each_class_of_error(family: Family, kind: ErrorType) -> None:
    found = chunks(family, Refuse(kind))
    problem = error(found)
    assert (problem.type, len(found)) == (kind, 1)
    assert problem.provider == family.preset
    assert problem.message
    assert problem.retryable == (kind in ("rate_limit", "provider_overloaded", "timeout"))


@every_family
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_in_the_stream(family: Family, fault: str) -> None:
    step, kind = FAULTS[fault]
    found = chunks(family, Say("Half an ans"), step)
    assert text(found) == "Half an ans"
    assert error(found).type == kind


@having("error_events")
@pytest.mark.parametrize("before", [(), (Say("Half"),)], ids=["at once", "after text"])
def test_an_error_event_in_an_open_stream(family: Family, before: tuple[Step, ...]) -> None:
    found = chunks(family, *before, ErrorEvent("provider_overloaded"))
    problem = error(found)
    assert (problem.type, problem.retryable) == ("provider_overloaded", True)
    assert text(found) == ("Half" if before else "")


@every_family
def test_keep_alives_are_swallowed(family: Family) -> None:
    async def scenario(adapter: Adapter, _server: ModelServer) -> list[Chunk | None]:
        return [raw.chunk async for raw in adapter.open(ASK)]

    without = (Say("a"), Say("b"), Say("c"))
    kept_alive = (Say("a"), KeepAlive(), Say("b"), KeepAlive(), KeepAlive(), Say("c"))
    assert run(family, scenario, kept_alive) == run(family, scenario, without)


@every_family
def test_a_repeated_tail_passes_the_adapter(family: Family) -> None:
    """Cutting it off is the orchestrator's work, where the provider is known for it."""
    assert text(chunks(family, Say("The lamp was lit"), RepeatTail(8, " at six"))) == (
        "The lamp was lit was lit at six"
    )


@every_family
def test_an_empty_answer_is_only_an_end(family: Family) -> None:
    assert [chunk.type for chunk in chunks(family)] == ["done"]


@every_family
@pytest.mark.parametrize("reading", [False, True], ids=["closed", "cancelled"])
def test_a_consumer_that_goes_away_closes_the_connection(family: Family, reading: bool) -> None:
    async def scenario(adapter: Adapter, server: ModelServer) -> None:
        # What is merely dropped stays open here: no garbage collector shall do the work.
        sys.set_asyncgen_hooks(finalizer=lambda _generator: None)
        stream: Any = adapter.open(ASK)
        seen = asyncio.Event()

        async def consume() -> None:
            async with aclosing(stream):
                async for raw in stream:
                    if raw.chunk is not None and raw.chunk.content:
                        seen.set()
                        if not reading:
                            return

        task = asyncio.create_task(consume())
        await seen.wait()
        if reading:
            task.cancel()
        await asyncio.wait({task})
        # At the server, and before the adapter itself is closed.
        await server.all_closed()
        assert [c.completed for c in server.connections] == [0]

    run(family, scenario, (Say("Well, "), Stall()))


@every_family
def test_a_consumer_that_does_not_wait_for_an_answer_closes_the_connection(family: Family) -> None:
    async def scenario(adapter: Adapter, server: ModelServer) -> None:
        task = asyncio.create_task(read(adapter))
        await server.asked()
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()
        await server.all_closed()

    run(family, scenario, (NoAnswer(),))


@every_family
def test_half_a_character_does_not_spoil_the_request(family: Family) -> None:
    halved = replace(ASK, items=(*ASK.items, said("user", "a \ud83d b")))
    found = chunks(family, Say("Fine."), request=halved)
    assert text(found) == "Fine."


@every_family
def test_silence_ends_with_a_timeout(family: Family) -> None:
    found = chunks(family, Say("Well, "), Stall(), silence_seconds=0.25)
    assert text(found) == "Well, "
    assert error(found).type == "timeout"


@every_family
def test_nobody_there(family: Family) -> None:
    async def main() -> list[Chunk]:
        async with ModelServer(family.wire()) as server:
            adapter = family.connect(server)
        found = await read(adapter)
        await adapter.aclose()
        return found

    problem = error(asyncio.run(main()))
    assert (problem.type, problem.retryable) == ("network", True)


@every_family
def test_a_wrong_address_is_said_to_be_wrong(family: Family) -> None:
    async def main() -> list[Chunk]:
        async with ModelServer(family.wire()) as server:
            wrong = server.url + "/nowhere"
            adapter = family.connect(server, base_url=wrong)
            found = await read(adapter)
            await adapter.aclose()
            return found

    problem = error(asyncio.run(main()))
    assert (problem.type, problem.retryable) == ("api_error", False)
    assert "404" in problem.message
    assert "<html>" not in problem.message


@every_family
def test_a_page_instead_of_a_stream(family: Family) -> None:
    page = Status(200, "<!doctype html>\n<title>Welcome</title>\n", {"content-type": "text/html"})
    assert error(chunks(family, page)).type in ("api_error", "network")


@every_family
def test_one_adapter_serves_many_streams(family: Family) -> None:
    async def scenario(adapter: Adapter, server: ModelServer) -> list[str]:
        found = await asyncio.gather(*(read(adapter) for _ in range(5)))
        await server.idle()
        return sorted(map(text, found))

    scripts = [(Say("answer ", str(n)),) for n in range(5)]
    assert run(family, scenario, *scripts) == [f"answer {n}" for n in range(5)]


@every_family
def test_the_guard_cuts_before_a_foreign_label_leaves(family: Family) -> None:
    guarded = replace(ASK, speaker_guard=True, speakers=("Mika",))
    story = "I think so.\nNote: not sure.\nMi"
    found = chunks(family, Say(story, "ka: me too!", " Really."), Stall(), request=guarded)
    assert text(found) == "I think so.\nNote: not sure."
    assert (found[-1].type, found[-1].finish_reason) == ("done", "speaker_guard")


@every_family
def test_the_guard_releases_the_tail(family: Family) -> None:
    guarded = replace(ASK, speaker_guard=True, speakers=("Mika",))
    answer = "Mika: is what I said.\nOf Mika, that is.\n```\nuser: root\n```\nBye."
    assert text(chunks(family, Say(*answer), request=guarded)) == answer


@having("calls")
def test_unsigned_history_is_replayed_as_pairs(family: Family) -> None:
    done = ToolRound(
        (ToolCall("weather", {"city": "Kyoto"}), ToolCall("broken", {}, "id-2", "no JSON")),
        (ToolResult("rain-4711"), ToolResult("error-0815", is_error=True)),
        thoughts=(ThoughtPart("unsigned"),),
    )

    async def scenario(adapter: Adapter, server: ModelServer) -> bytes:
        found = await read(adapter, replace(ASK, items=(*ASK.items, done)))
        assert found[-1].type == "done"
        return server.requests[0].body

    body = run(family, scenario)
    order = [body.index(word) for word in (b"Kyoto", b"rain-4711", b"error-0815")]
    assert order == sorted(order)
    assert b"unsigned" not in body


@every_family
def test_a_redirect_is_named_and_not_followed(family: Family) -> None:
    moved = Status(302, "", {"location": "http://127.0.0.1:9/elsewhere"})
    problem = error(chunks(family, moved))
    assert "redirects" in problem.message
    assert not problem.retryable


@every_family
def test_when_a_server_wants_to_be_asked_again_is_known(family: Family) -> None:
    if family.preset in ("google", "vertex"):
        pytest.skip("it says so in the error itself (test_google)")
    busy = Status(429, '{"error": {"message": "Slow down"}}', {"retry-after": "7"})
    problem = error(chunks(family, busy))
    assert (problem.type, problem.raw["retry_after_s"]) == ("rate_limit", 7.0)
