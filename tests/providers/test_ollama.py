"""Ollama's own API: the window is set, thinking is switched, calls come whole, models pulled."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from discord_stage.model_servers import ModelServer
from discord_stage.model_servers.scripts import Call, Count, Say, Status
from oshaberi.chunks import ToolCall, Usage
from oshaberi.providers.ollama import LONGEST_LINE, PullProgress, body, read
from oshaberi.providers.request.model_request import (
    ContextItem,
    Endpoint,
    ImagePart,
    Request,
    TextPart,
    Thinking,
    ToolDeclaration,
    ToolResult,
    ToolRound,
    said,
)
from oshaberi.providers.wire.steps import CallPiece
from tests.providers.adapter_runs import ASK, chunks, error, run, text
from tests.providers.adapter_runs import read as read_answer
from tests.providers.provider_families import FAMILIES

OLLAMA = next(family for family in FAMILIES if family.name == "ollama-native")
ENDPOINT = Endpoint("ollama-native", "qwen3")
MISSING = Status(404, json.dumps({"error": "model 'model-1' not found"}))


def test_what_is_sent() -> None:
    image = ContextItem("user", (TextPart("look"), ImagePart(data=b"x")), "current")
    done = ToolRound((ToolCall("now", {"in": "Kyoto"}, "c1"),), (ToolResult("six"),), "A moment.")
    request = Request(
        (said("system", "Be brief."), image, done),
        (ToolDeclaration("now", "The time"),),
        stop_strings=("###",),
        thinking="high",
        temperature=0.5,
        extra={"keep_alive": "30m", "options": {"min_p": 0.1}, "pull": True},
    )
    asked = body(request, ENDPOINT, window=8192)
    assert asked["options"] == {"num_ctx": 8192, "stop": ["###"], "temperature": 0.5, "min_p": 0.1}
    assert (asked["think"], asked["keep_alive"]) == (True, "30m")
    assert "pull" not in asked
    assert asked["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "look", "images": ["eA=="]},
        {
            "role": "assistant",
            "content": "A moment.",
            "tool_calls": [{"id": "c1", "function": {"name": "now", "arguments": {"in": "Kyoto"}}}],
        },
        {"role": "tool", "tool_name": "now", "tool_call_id": "c1", "content": "six"},
    ]
    assert asked["tools"][0]["function"]["name"] == "now"


@pytest.mark.parametrize(
    ("model", "wanted", "think"),
    [
        ("qwen3", None, None),
        ("qwen3", "off", False),
        ("qwen3", "low", True),
        ("qwen3", 9000, True),
        ("gpt-oss:20b", "off", "low"),
        ("gpt-oss:20b", "medium", "medium"),
    ],
)
def test_thinking(model: str, wanted: Thinking, think: bool | str | None) -> None:
    request = Request(ASK.items, thinking=wanted)
    assert body(request, Endpoint("ollama-native", model)).get("think") == think


@pytest.mark.parametrize(("settings", "sent"), [({"window": 8192}, 8192), ({}, None)])
def test_the_window_is_set_if_the_settings_have_one(
    settings: dict[str, int], sent: int | None
) -> None:
    async def scenario(adapter: Any, server: ModelServer) -> None:
        await read_answer(adapter)
        assert server.requests[-1].json["options"].get("num_ctx") == sent

    run(OLLAMA, scenario, **settings)


def test_tokens_are_counted_and_two_calls_are_two() -> None:
    assert chunks(OLLAMA, Say("Hi"), Count(120, 34))[-1].usage == Usage(120, 34)
    call = {"function": {"name": "now", "arguments": {}}}
    steps = read({"message": {"role": "assistant", "tool_calls": [call, call]}})
    assert len({one.key for one in steps if isinstance(one, CallPiece)}) == 2
    found = chunks(OLLAMA, Call("now", "{}"))[-1]
    assert (found.type, found.finish_reason) == ("function_call", "tool_calls")


def test_a_missing_model_is_pulled_if_it_may_be(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def scenario(adapter: Any, server: ModelServer) -> None:
        told: list[str] = []
        found = await read_answer(adapter, Request(ASK.items, on_wait=told.append))
        assert text(found) == "Here I am."
        assert [str(one) for one in told] == [
            f"model-1 is being downloaded first: {percent} % of 4.7 GB."
            for percent in (10, 50, 100)
        ]
        assert [one.path for one in server.requests] == ["/api/chat", "/api/pull", "/api/chat"]
        assert server.requests[1].json == {"model": "model-1", "stream": True}
        logged = [one.getMessage() for one in caplog.records if "first: " in one.getMessage()]
        assert logged == [str(one) for one in told]

    steps = Say(*(f"{part}00000000/4700000000" for part in (5, 7, 24, 47)))
    run(OLLAMA, scenario, (MISSING,), (steps,), (Say("Here I am."),), pull=True)


def test_the_layers_of_a_model_are_counted_together() -> None:
    progress = PullProgress()
    steps: list[dict[str, Any]] = [
        {"status": "pulling manifest"},
        {"digest": "sha256:small", "total": 10_000, "completed": 10_000},
        {"digest": "sha256:big", "total": 4_000_000_000, "completed": 0},
        {"digest": "sha256:big", "total": 4_000_000_000, "completed": 300_000_000},
        {"digest": "sha256:big", "total": 4_000_000_000, "completed": 2_100_000_000},
        {"digest": "sha256:big", "total": 4_000_000_000, "completed": 9_000_000_000},
        {"digest": "sha256:last", "total": 500, "completed": 500},
        {"digest": "sha256:bad", "total": -5, "completed": "x"},
        {"status": "success"},
    ]
    told = [str(progress.words("m")) for step in steps if progress.advances(step)]
    assert [one.partition(": ")[2] for one in told] == [
        *("100 % of 0.0 GB.", "0 % of 4.0 GB.", "50 % of 4.0 GB.", "100 % of 4.0 GB.")
    ]


def test_a_server_cannot_name_layers_without_end() -> None:
    progress = PullProgress()
    for number in range(5000):
        progress.advances({"digest": f"sha256:{number}", "total": 10, "completed": 1})
    assert len(progress._layers) == 1000


@pytest.mark.parametrize("extra", [{}, {"pull": True}])
def test_it_is_pulled_only_if_its_endpoint_may(extra: dict[str, Any]) -> None:
    """An admin's options of a model go into the request: they cannot start a download."""

    async def scenario(adapter: Any, server: ModelServer) -> None:
        problem = error(await read_answer(adapter, Request(ASK.items, extra=extra)))
        assert problem.type == "model_error"
        assert "/api/pull" not in [one.path for one in server.requests]

    run(OLLAMA, scenario, (MISSING,), (Say("never"),))


def test_a_pull_that_fails_is_an_error() -> None:
    async def scenario(adapter: Any, _server: ModelServer) -> None:
        found = await read_answer(adapter)
        assert "manifest" in error(found).message

    failed = Status(200, '{"status":"pulling manifest"}\n{"error":"pull model manifest: no"}\n')
    run(OLLAMA, scenario, (MISSING,), (failed,), (Say("never"),), pull=True)


def test_what_it_refuses_is_learned() -> None:
    refused = Status(400, json.dumps({"error": '"model-1" does not support thinking'}))

    async def scenario(adapter: Any, server: ModelServer) -> None:
        found = await read_answer(adapter, Request(ASK.items, thinking="high"))
        assert text(found) == "Fine."
        assert ["think" in one.json for one in server.requests] == [True, False]

    run(OLLAMA, scenario, (refused,), (Say("Fine."),))


def test_a_line_without_an_end_is_an_error() -> None:
    async def scenario(adapter: Any, _server: ModelServer) -> None:
        assert error(await read_answer(adapter)).message == "the answer is not a stream"

    run(OLLAMA, scenario, (Status(200, "x" * (LONGEST_LINE + 2)),))
