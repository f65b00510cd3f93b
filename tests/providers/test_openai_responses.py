"""The Responses adapter over a real socket: what it asks again, and where it stops."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from discord_stage.model_servers import ModelServer
from discord_stage.model_servers.scripts import (
    Call,
    ErrorEvent,
    RefuseParameters,
    Say,
    Stall,
    Status,
    Step,
    Think,
)
from oshaberi.chunks import Chunk
from oshaberi.providers.base import Adapter
from oshaberi.providers.request.model_request import ToolDeclaration, ToolResult, ToolRound
from tests.providers.adapter_runs import ASK, chunks, error, read, run, text
from tests.providers.provider_families import FAMILIES

RESPONSES = next(family for family in FAMILIES if family.name == "openai-responses")
FULL = replace(
    ASK,
    tools=(ToolDeclaration("look"),),
    stop_strings=("###",),
    temperature=0.5,
    top_p=0.9,
    thinking="low",
    max_output_tokens=300,
)
MANDATORY = {"model", "input", "stream", "store"}
ALL = MANDATORY | {"tools", "temperature", "top_p", "reasoning", "max_output_tokens"}


def _asked(request: Any, *scripts: tuple[Step, ...]) -> tuple[list[dict[str, Any]], str]:
    """The bodies of the requests that were made, and what came of it."""

    async def play(adapter: Adapter, server: ModelServer) -> tuple[list[dict[str, Any]], str]:
        found = await read(adapter, request)
        bodies = [received.json for received in server.requests]
        return bodies, text(found) or error(found).type

    return run(RESPONSES, play, *scripts)


def _refusal(message: str, code: str | None = None, param: str | None = None) -> tuple[Step, ...]:
    inner = {"message": message, "type": "invalid_request_error", "code": code, "param": param}
    return (Status(400, json.dumps({"error": inner})),)


def test_everything_is_sent_at_first() -> None:
    (body,), said = _asked(FULL, (Say("ok"),))
    assert body.keys() == ALL
    assert body["store"] is False
    assert said == "ok"


@pytest.mark.parametrize("in_stream", [False, True])
def test_what_the_error_names_goes_with_what_belongs_to_it(in_stream: bool) -> None:
    script = (RefuseParameters("temperature", in_stream=in_stream), Say("ok"))
    bodies, said = _asked(FULL, script, script)
    assert [set(body) for body in bodies] == [ALL, ALL - {"temperature", "top_p"}]
    assert said == "ok"


def test_it_is_never_stored_because_of_a_refusal() -> None:
    refusal = _refusal("Something is wrong with this request")
    bodies, said = _asked(FULL, *[refusal] * 6)
    assert all(body["store"] is False for body in bodies)
    assert set(bodies[-1]) == MANDATORY
    assert said == "api_error"


def test_without_a_summary_where_it_is_not_allowed() -> None:
    message = "Your organization must be verified to generate reasoning summaries."
    refusal = _refusal(message, "unsupported_value", "reasoning.summary")
    bodies, said = _asked(FULL, refusal, (Say("ok"),))
    assert [body["reasoning"] for body in bodies] == [
        {"effort": "low", "summary": "auto"},
        {"effort": "low"},
    ]
    assert said == "ok"


@pytest.mark.parametrize(
    "refusal",
    [
        _refusal("The encrypted content gAAA could not be verified.", "invalid_encrypted_content"),
        _refusal("Item with id 'rs_1' not found. Items are not persisted when `store` is false."),
        _refusal("Item 'rs_1' of type 'reasoning' was provided without its required item."),
    ],
)
def test_reasoning_that_is_refused_is_left_out(refusal: tuple[Step, ...]) -> None:
    """Another key of the chain may belong to another account."""

    async def play(adapter: Adapter, server: ModelServer) -> list[bool]:
        first = await read(adapter)
        signed = tuple(part for chunk in first for part in chunk.thoughts)
        done = ToolRound(first[-1].calls, (ToolResult("x"),), "", signed, adapter.name)
        found = await read(adapter, replace(ASK, items=(*ASK.items, done)))
        assert text(found) == "ok"
        return [b"SIGNED-1" in received.body for received in server.requests]

    script = (Think("Hm.", signature="SIGNED-1"), Call("look"))
    assert run(RESPONSES, play, script, refusal, (Say("ok"),)) == [False, True, False]


def test_an_error_in_the_stream_is_told_once() -> None:
    found = chunks(RESPONSES, Say("Half"), ErrorEvent("rate_limit"))
    assert (text(found), error(found).type) == ("Half", "rate_limit")


@pytest.mark.parametrize("pieces", [("One ###", " two"), ("One #", "#", "# two"), ("One ", "###")])
def test_a_stop_string_ends_the_text_here(pieces: tuple[str, ...]) -> None:
    """The API takes none, so the adapter applies it, and closes the connection."""
    request = replace(ASK, stop_strings=("###", "STOP"))
    found = chunks(RESPONSES, Say(*pieces), Stall(), request=request)
    assert text(found) == "One "
    assert (found[-1].type, found[-1].finish_reason) == ("done", "stop")


def test_what_only_began_like_a_stop_string_is_said() -> None:
    request = replace(ASK, stop_strings=("###", "STOP"))
    assert text(chunks(RESPONSES, Say("a ## b", " # ST"), request=request)) == "a ## b # ST"


def test_a_summary_in_parts_is_thoughts_apart() -> None:
    from oshaberi.stream.model_output import ThoughtCollector

    found = [
        Chunk("text", thoughts=parts)
        for chunk in chunks(RESPONSES, Think("One."), Say("Fine."))
        if (parts := chunk.thoughts)
    ]
    collector = ThoughtCollector()
    for chunk in found:
        for part in chunk.thoughts:
            collector.piece(part)
            collector.piece(replace(part, text="", signature=None))
            collector.piece(replace(part, text="Two."))
    assert [part.text for part in collector.parts()] == ["One.", "Two."]
