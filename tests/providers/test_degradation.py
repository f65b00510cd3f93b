"""Spec 02, parameter degradation: fewer parameters, at most four times, never after a beginning."""

from __future__ import annotations

from dataclasses import replace

import pytest

from oshaberi.providers.adapter_base import Adapter
from oshaberi.providers.request.context_items import ToolDeclaration
from oshaberi.providers.wire.parameter_fallback import ParameterFallback
from oshaberi.stage.model_servers import ModelServer
from oshaberi.stage.model_servers.model_script import (
    Call,
    Count,
    ErrorEvent,
    Refuse,
    RefuseParameters,
    Say,
    Status,
    Step,
    Think,
)
from tests.providers.adapter_runs import ASK, error, read, run, text
from tests.providers.provider_families import FAMILIES

OPENAI = FAMILIES[0]
FULL = replace(
    ASK,
    tools=(ToolDeclaration("look"),),
    stop_strings=("###",),
    temperature=0.5,
    top_p=0.9,
    thinking="low",
    max_output_tokens=300,
)
MANDATORY = {"model", "messages", "stream"}
ALL = {
    *MANDATORY,
    *("stream_options", "tools", "stop", "temperature", "top_p", "reasoning_effort"),
    "max_completion_tokens",
}


def _asked(*script: Step) -> tuple[list[set[str]], str]:
    """The keys of each request that was made, and what came of it."""

    async def scenario(adapter: Adapter, server: ModelServer) -> tuple[list[set[str]], str]:
        found = await read(adapter, FULL)
        keys = [set(request.json) for request in server.requests]
        return keys, text(found) or error(found).type

    return run(OPENAI, scenario, *[script] * 6)


def test_everything_is_sent_at_first() -> None:
    assert _asked(Say("ok")) == ([ALL], "ok")


@pytest.mark.parametrize("in_stream", [False, True])
def test_stream_options_go_first(in_stream: bool) -> None:
    refusal = RefuseParameters("stream_options", in_stream=in_stream)
    assert _asked(refusal, Say("ok")) == ([ALL, ALL - {"stream_options"}], "ok")


@pytest.mark.parametrize("in_stream", [False, True])
def test_then_what_the_error_names(in_stream: bool) -> None:
    refusal = RefuseParameters("temperature", "top_p", in_stream=in_stream)
    keys, said = _asked(refusal, Say("ok"))
    less = ALL - {"stream_options"}
    # The first refusal named the temperature, the second did too; the third names the other.
    assert keys == [ALL, less, less - {"temperature"}, MANDATORY | {"tools"}]
    assert said == "ok"


def test_then_the_optional_ones() -> None:
    keys, said = _asked(RefuseParameters("stop", named=False), Say("ok"))
    assert keys == [ALL, ALL - {"stream_options"}, MANDATORY | {"tools"}]
    assert said == "ok"


def test_at_last_only_the_mandatory_ones() -> None:
    keys, said = _asked(RefuseParameters("tools", "stop", named=False), Say("ok"))
    assert keys == [ALL, ALL - {"stream_options"}, MANDATORY | {"tools"}, MANDATORY]
    assert said == "ok"


def test_at_most_four_retries() -> None:
    keys, said = _asked(Status(400, '{"error": {"message": "the temperature is wrong"}}'))
    assert len(keys) == 5
    assert keys[-1] == MANDATORY
    assert said == "api_error"


@pytest.mark.parametrize(
    "kind",
    ["rate_limit", "auth", "model_error", "context_length", "balance_exhausted", "content_blocked"],
)
def test_other_refusals_are_final(kind: str) -> None:
    keys, said = _asked(Refuse(kind))  # type: ignore[arg-type]
    assert (len(keys), said) == (1, kind)


@pytest.mark.parametrize("before", [Say("Once"), Think("Hm"), Call("look")], ids=type)
def test_nothing_is_asked_again_after_a_beginning(before: Step) -> None:
    keys, _said = _asked(before, ErrorEvent("api_error", "Unsupported parameter: 'stop'"))
    assert len(keys) == 1


def test_nothing_is_cached() -> None:
    async def scenario(adapter: Adapter, server: ModelServer) -> list[bool]:
        await read(adapter)
        await read(adapter)
        return ["stream_options" in request.json for request in server.requests]

    refusal = RefuseParameters("stream_options")
    script = (refusal, Say("ok"), Count(1, 1))
    assert run(OPENAI, scenario, *[script] * 4) == [True, False, True, False]


def test_a_ladder_skips_what_changes_nothing() -> None:
    fallback = ParameterFallback({"model": 1, "messages": 2, "stream": 3})
    assert fallback.down("anything") is None
    fallback = ParameterFallback({"model": 1, "seed": 2})
    assert fallback.down("seed") == {"model": 1}
    assert fallback.down("seed") is None
