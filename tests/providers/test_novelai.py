"""What is NovelAI's own: a text that goes on, stop strings made here, and where to continue."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from discord_stage.model_servers import ModelServer
from discord_stage.model_servers.novelai_wire import NovelAIWire
from discord_stage.model_servers.scripts import Finish, Say, Stall, Status
from oshaberi.chunks import Chunk, ToolCall
from oshaberi.providers.base import Adapter
from oshaberi.providers.novelai import body, prompt
from oshaberi.providers.registry import connect
from oshaberi.providers.request.model_request import (
    ContextItem,
    Endpoint,
    ImagePart,
    Request,
    TextPart,
    ToolResult,
    ToolRound,
    said,
)
from tests.providers.adapter_runs import ASK, chunks, error, read, run, text
from tests.providers.provider_families import KEY, Family

NOVELAI = Family("novelai", NovelAIWire, "novelai")
ENDPOINT = Endpoint("novelai", "kayra-v1")


# -- asking --------------------------------------------------------------------------------------


def test_a_conversation_is_a_text_that_breaks_off() -> None:
    items = (
        said("system", "Mochi is a cat."),
        said("user", "hi"),
        said("assistant", "mew"),
        ToolRound((ToolCall("look"),), (ToolResult("rain"),), "Let me see."),
        ContextItem("user", (TextPart("and this?"), ImagePart(data=b"x"))),
    )
    assert prompt(Request(items), ENDPOINT) == (
        "Mochi is a cat.\n***\nUser: hi\nAssistant: mew\nAssistant: Let me see.\n[look: rain]\n"
        "User: and this?\n[an image, not shown]\nAssistant:"
    )


def test_labels_and_prefill() -> None:
    named = replace(ENDPOINT, quirks={"user": "Ren", "assistant": "Mochi"})
    request = Request((said("user", "hi"),), prefill="Well,")
    assert prompt(request, named) == "***\nRen: hi\nMochi: Well,"


def test_parameters() -> None:
    request = replace(ASK, temperature=0.7, max_output_tokens=40, extra={"top_k": 9})
    assert body(request, replace(ENDPOINT, quirks={"body": {"cfg_scale": 2}})) == {
        "input": "Be brief.\n***\nUser: hi\nAssistant:",
        "model": "kayra-v1",
        "parameters": {
            "use_string": True,
            "max_length": 40,
            "min_length": 1,
            "temperature": 0.7,
            "cfg_scale": 2,
            "top_k": 9,
        },
    }


def test_the_key_goes_as_a_bearer() -> None:
    async def scenario(adapter: Adapter, server: ModelServer) -> str:
        await read(adapter)
        return server.requests[0].headers["authorization"]

    assert run(NOVELAI, scenario) == f"Bearer {KEY}"


def test_no_key_no_header() -> None:
    async def main() -> bool:
        async with ModelServer(NovelAIWire()) as server:
            adapter = connect("novelai", "kayra-v1", base_url=server.url)
            await read(adapter)
            await adapter.aclose()
            return "authorization" in server.requests[0].headers

    assert asyncio.run(main()) is False


# -- going on ------------------------------------------------------------------------------------


def test_an_answer_that_ran_out_says_where_to_go_on() -> None:
    async def scenario(adapter: Adapter, server: ModelServer) -> list[str]:
        first = await read(adapter, replace(ASK, max_output_tokens=5))
        (rest,) = [chunk.continuation_prefill for chunk in first if chunk.continuation_prefill]
        assert first[-1].finish_reason == "length"
        second = await read(adapter, replace(ASK, max_output_tokens=5, prefill=rest))
        (more,) = [chunk.continuation_prefill for chunk in second if chunk.continuation_prefill]
        third = await read(adapter, replace(ASK, max_output_tokens=5, prefill=more))
        assert [chunk.continuation_prefill for chunk in third] == [None] * len(third)
        assert [text(part) for part in (first, second, third)] == ["Once upon", " a time", "."]
        return [request.json["input"] for request in server.requests]

    scripts = (
        (Say("Once ", "upon"), Finish("length")),
        (Say(" a", " time"), Finish("length")),
        (Say("."),),
    )
    inputs = run(NOVELAI, scenario, *scripts)
    assert [one.rpartition("Assistant:")[2] for one in inputs] == [
        "",
        " Once upon",
        " Once upon a time",
    ]


# -- stopping ------------------------------------------------------------------------------------


def test_it_is_hung_up_on_where_it_speaks_for_the_user() -> None:
    async def scenario(adapter: Adapter, server: ModelServer) -> list[Chunk]:
        found = await read(adapter)
        await server.all_closed()
        return found

    found = run(NOVELAI, scenario, (Say("mew.\nUs", "er", ": hi", " again"), Stall()))
    assert (text(found), found[-1].finish_reason) == ("mew.", "stop")


def test_configured_strings_stop_it_too() -> None:
    request = replace(ASK, stop_strings=("END",))
    assert text(chunks(NOVELAI, Say("the E", "N", "D is near"), request=request)) == "the "


def test_what_only_began_like_a_stop_is_shown() -> None:
    assert text(chunks(NOVELAI, Say("mew.\nUs", "eful", "\n"))) == "mew.\nUseful\n"


# -- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "answer", "kind", "message"),
    [
        (
            401,
            {"statusCode": 401, "message": f"Bad {KEY}"},
            "auth",
            "Bad [secret] (the key that ends in body)",
        ),
        (402, {"statusCode": 402, "message": "subscribe"}, "balance_exhausted", "subscribe"),
        (502, "<html>Bad gateway</html>", "provider_overloaded", "HTTP 502"),
        (409, "locked", "api_error", "locked"),
    ],
)
def test_refusals(status: int, answer: Any, kind: str, message: str) -> None:
    written = answer if isinstance(answer, str) else json.dumps(answer)
    problem = error(chunks(NOVELAI, Status(status, written)))
    assert (problem.type, problem.message) == (kind, message)
    assert KEY not in f"{problem} {problem.raw}"


def test_created_is_fine_too() -> None:
    token = '{"token": "mew", "ptr": 0, "final": true}'
    stream = Status(201, f"event:newToken\nid:1\ndata:{token}\n\n", {})
    assert text(chunks(NOVELAI, stream)) == "mew"
