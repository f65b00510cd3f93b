"""Spec 02, parameter degradation: fewer parameters, at most four times, never after a beginning.

What was refused is remembered per endpoint and model.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

import pytest

from discord_stage.model_servers import ModelServer
from discord_stage.model_servers.scripts import (
    Call,
    Count,
    ErrorEvent,
    Finish,
    Refuse,
    RefuseParameters,
    Say,
    Status,
    Step,
    Think,
)
from oshaberi.providers.base import Adapter
from oshaberi.providers.capabilities import LearnedLimits, ModelPlace
from oshaberi.providers.registry import connect
from oshaberi.providers.request.model_request import Request, ToolDeclaration
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
        keys = [set(request.json) for request in server.requests if request.method == "POST"]
        return keys, text(found) or error(found).type

    return run(OPENAI, scenario, *[script] * 12)


def test_everything_is_sent_at_first() -> None:
    assert _asked(Say("ok")) == ([ALL], "ok")


@pytest.mark.parametrize("in_stream", [False, True])
@pytest.mark.parametrize("key", ["stream_options", "stop", "reasoning_effort", "tools"])
def test_what_the_error_names_goes_first(key: str, in_stream: bool) -> None:
    refusal = RefuseParameters(key, in_stream=in_stream)
    assert _asked(refusal, Say("ok")) == ([ALL, ALL - {key}], "ok")


@pytest.mark.parametrize("in_stream", [False, True])
def test_both_ways_of_sampling_go_together(in_stream: bool) -> None:
    refusal = RefuseParameters("temperature", "top_p", in_stream=in_stream)
    assert _asked(refusal, Say("ok")) == ([ALL, ALL - {"temperature", "top_p"}], "ok")


def test_several_are_named_one_after_the_other() -> None:
    keys, said = _asked(RefuseParameters("stop", "stream_options"), Say("ok"))
    assert keys == [ALL, ALL - {"stop"}, ALL - {"stop", "stream_options"}]
    assert said == "ok"


def test_if_nothing_is_named_the_optional_ones_go() -> None:
    keys, said = _asked(RefuseParameters("stop", named=False), Say("ok"))
    assert keys == [ALL, MANDATORY | {"tools"}]
    assert said == "ok"


def test_at_last_only_the_mandatory_ones() -> None:
    keys, said = _asked(RefuseParameters("tools", "stop", named=False), Say("ok"))
    assert keys == [ALL, MANDATORY | {"tools"}, ALL - {"tools"}, MANDATORY]
    assert said == "ok"


def test_a_word_in_a_sentence_names_nothing() -> None:
    message = "Something in the tools of our kitchen must stop; the temperature is wrong"
    keys, said = _asked(Status(400, f'{{"error": {{"message": "{message}"}}}}'))
    assert keys == [ALL, ALL - {"tools"}, MANDATORY | {"tools"}, MANDATORY]
    assert said == "api_error"


def test_at_most_four_retries() -> None:
    named = ("stop", "stream_options", "reasoning_effort", "max_completion_tokens", "seed", "tools")
    request = replace(FULL, extra={"seed": 7})

    async def scenario(adapter: Adapter, server: ModelServer) -> tuple[int, str]:
        found = await read(adapter, request)
        return len(server.requests), error(found).type

    assert run(OPENAI, scenario, *[(RefuseParameters(*named), Say("ok"))] * 7) == (5, "api_error")


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


def _twice(*script: Step, request: Request = FULL) -> list[set[str]]:
    async def scenario(adapter: Adapter, server: ModelServer) -> list[set[str]]:
        await read(adapter, request)
        await read(adapter, request)
        return [set(asked.json) for asked in server.requests]

    return run(OPENAI, scenario, *[script] * 12)


@pytest.mark.parametrize("key", ["stream_options", "stop", "tools", "max_completion_tokens"])
def test_what_was_refused_is_remembered_and_told_once(
    key: str, caplog: pytest.LogCaptureFixture
) -> None:
    less = ALL - {key}
    assert _twice(RefuseParameters(key), Say("ok"), Count(1, 1)) == [ALL, less, less]
    told = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(told) == 1
    assert told[0].getMessage().startswith("openai model-1: it ")


def test_an_empty_answer_is_an_answer() -> None:
    less = ALL - {"stop"}
    assert _twice(RefuseParameters("stop"), Finish("length")) == [ALL, less, less]


def test_tools_that_nobody_named_cost_nothing_else() -> None:
    refusal = RefuseParameters("tools", named=False)
    rest = ALL - {"tools"}
    assert _twice(refusal, Say("ok")) == [ALL, MANDATORY | {"tools"}, rest, rest]


def test_what_did_not_help_is_not_remembered() -> None:
    wrong = Status(400, '{"error": {"message": "Unsupported parameter: \'stop\'"}}')
    first, *_rest, last = _twice(wrong)
    assert first == ALL
    assert last == MANDATORY
    assert _twice(wrong).count(ALL) == 2


def test_what_was_learnt_is_shared_and_kept_apart() -> None:
    """By the same memory: for the same model under any key, and for no other model."""

    async def main() -> list[bool]:
        learned = LearnedLimits()
        async with ModelServer(OPENAI.wire()) as server:
            for script in range(6):
                del script
                server.play(RefuseParameters("stop"), Say("ok"))
            for model, key in (("a", "k" * 9), ("a", "l" * 9), ("b", "k" * 9)):
                adapter = connect(
                    "openai", model, api_key=key, base_url=server.url, learned=learned
                )
                await read(adapter, FULL)
                await adapter.aclose()
            assert learned.told(ModelPlace("openai", server.url, "a")) == (
                "it takes no stop strings",
            )
            return ["stop" in request.json for request in server.requests]

    assert asyncio.run(main()) == [True, False, False, True, False]


FAILED_CALL = (
    '{"error": {"message": "Failed to call a function. See failed_generation.", '
    '"type": "invalid_request_error", "code": "tool_use_failed"}}'
)


@pytest.mark.parametrize("in_stream", [False, True])
def test_a_call_that_failed_is_asked_for_once_more(in_stream: bool) -> None:
    """With all its parameters: they were not the reason."""
    headers = {"content-type": "text/event-stream"}
    event = Status(200, f"event: error\ndata: {FAILED_CALL}\n\n", headers)
    refusal = event if in_stream else Status(400, FAILED_CALL)

    async def scenario(adapter: Adapter, server: ModelServer) -> tuple[list[set[str]], str, bool]:
        first = text(await read(adapter, FULL))
        problem = error(await read(adapter, FULL))
        assert problem.type == "api_error"
        return [set(asked.json) for asked in server.requests], first, problem.retryable

    scripts: list[tuple[Step, ...]] = [
        (refusal,),
        (Say("ok"),),
        (refusal,),
        (refusal,),
        (Say("!"),),
    ]
    assert run(OPENAI, scenario, *scripts) == ([ALL] * 4, "ok", True)
