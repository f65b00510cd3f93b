"""Where requests say that the stable beginning ends, for APIs that must be told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from discord_stage.model_servers import ModelServer, PromptCache
from discord_stage.model_servers.prompt_cache import TooManyMarksError
from discord_stage.model_servers.scripts import Say, Status
from oshaberi.chunks import ToolCall, Usage
from oshaberi.providers.anthropic.request import body as anthropic_body
from oshaberi.providers.model_options import TokenPrice
from oshaberi.providers.openai_chat.request import body as chat_body
from oshaberi.providers.openai_responses.request import body as responses_body
from oshaberi.providers.request.model_request import (
    CacheTime,
    ContextItem,
    Endpoint,
    Request,
    ToolDeclaration,
    ToolResult,
    ToolRound,
    said,
)
from tests.providers.adapter_runs import chunks, read, run
from tests.providers.provider_families import FAMILIES

ANTHROPIC = next(family for family in FAMILIES if family.name == "anthropic")
NOTES = said("user", "Notes", "knowledge")
ASKED = said("user", "Ada: and now?", "current")
HISTORY = (
    said("user", "Ada: hi"),
    said("user", "Ben: yo"),
    said("assistant", "hello"),
    said("user", "Ada: hm"),
)
ITEMS = (said("system", "Be brief.", "system"), *HISTORY, NOTES, ASKED)
TOOLS = (ToolDeclaration("now"), ToolDeclaration("look"))
MARK = {"cache_control": {"type": "ephemeral"}}


def _marked(value: Any, name: str = "cache_control") -> list[str]:
    """The texts of the blocks that are marked, in order."""
    if isinstance(value, dict):
        # As the API reads them.
        value = [value.get("tools", []), value.get("system", []), value["messages"]]
    found = list(_walk(value))
    return [str(one.get("text") or one.get("name") or one["type"]) for one in found if name in one]


def _walk(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            yield from _walk(inner)


def _anthropic(*items: ContextItem | ToolRound, cache: CacheTime = "5m") -> dict[str, Any]:
    return anthropic_body(Request(items, TOOLS, cache=cache), Endpoint("anthropic", "claude-x"))


def test_anthropic_is_told_the_system_text_and_the_history() -> None:
    asked = _anthropic(*ITEMS)
    assert asked["system"] == [{"type": "text", "text": "Be brief.", **MARK}]
    assert _marked(asked) == ["Be brief.", "Ada: hm"], "the system text covers the tools"
    assert _marked(_anthropic(HISTORY[0])) == ["look", "Ada: hi"], "without one, the last tool"
    assert "cache_control" not in json.dumps(_anthropic(*ITEMS, cache="off"))
    hour = _anthropic(*ITEMS, cache="1h")["system"][0]["cache_control"]
    assert hour == {"type": "ephemeral", "ttl": "1h"}


def test_a_round_of_tools_marks_the_end() -> None:
    done = ToolRound((ToolCall("now", {}, "a"),), (ToolResult("six"),))
    assert _marked(_anthropic(*ITEMS, done)) == ["Be brief.", "Ada: hm", "tool_result"]


def test_what_is_said_next_changes_nothing_before_it() -> None:
    before = _anthropic(*ITEMS)["messages"]
    more = (*HISTORY, ASKED, said("assistant", "well"))
    after = _anthropic(ITEMS[0], *more, NOTES, ASKED)["messages"]
    first, second = (
        [block["text"] for message in messages for block in message["content"]]
        for messages in (before, after)
    )
    assert first == ["Ada: hi", "\nBen: yo", "hello", "Ada: hm", "\nNotes", "\nAda: and now?"]
    assert first[:4] == second[:4]


def test_a_long_talk_has_a_mark_where_the_last_one_may_have_been() -> None:
    talk = [said(role, f"{role} {n}") for n in range(30) for role in ("user", "assistant")]
    marks = _marked(_anthropic(*talk, ASKED))
    assert marks == ["look", "user 20", "assistant 29"]


def test_others_mark_only_what_needs_it() -> None:
    request = Request(ITEMS, TOOLS)
    claude = Endpoint("openrouter", "anthropic/claude-opus-4-7", quirks={"gateway": True})
    made = chat_body(request, claude)
    assert _marked(made) == ["Be brief.", "Ada: hm"]
    assert [one["content"] for one in made["messages"][-2:]] == [
        [{"type": "text", "text": "Ada: hm", **MARK}],
        [{"type": "text", "text": "\nNotes"}, {"type": "text", "text": "\nAda: and now?"}],
    ]
    newest = Endpoint("openai", "gpt-6-mini", is_known_server=True)
    for body, name in ((chat_body, "messages"), (responses_body, "input")):
        assert _marked(body(request, newest)[name], "prompt_cache_breakpoint") == [
            "Be brief.",
            "Ada: hm",
        ]
    for endpoint in (
        Endpoint("openrouter", "openai/gpt-5.2", quirks={"gateway": True}),
        Endpoint("openai", "gpt-5.2", is_known_server=True),
        Endpoint("openai", "gpt-6-mini"),
        Endpoint("llamacpp", "claude-like"),
    ):
        made = chat_body(request, endpoint)
        assert _marked(made) == _marked(made, "prompt_cache_breakpoint") == []


def test_a_server_that_takes_no_marks_gets_none() -> None:
    refusal = Status(
        400,
        '{"type":"error","error":{"type":"invalid_request_error",'
        '"message":"system.0.cache_control: Extra inputs are not permitted"}}',
    )

    async def scenario(adapter: Any, server: ModelServer) -> None:
        await read(adapter, Request(ITEMS))
        first, second = server.requests
        assert "cache_control" in first.body.decode()
        assert "cache_control" not in second.body.decode()

    run(ANTHROPIC, scenario, (refusal,), (Say("Fine."),))


def test_reads_and_writes_are_counted_apart() -> None:
    cache = PromptCache(needs_marks=True)
    long = said("system", "tea " * 3000, "system")

    async def scenario(adapter: Any, server: ModelServer) -> list[Usage]:
        server.cache = cache
        found = [await read(adapter, Request((long, *HISTORY, ASKED))) for _ in range(2)]
        return [one[-1].usage or Usage() for one in found]

    first, second = run(ANTHROPIC, scenario)
    assert first.cached_tokens == 0
    assert first.cache_write_tokens > 3000
    assert second.cached_tokens == first.cache_write_tokens
    assert second.cache_write_tokens == 0
    assert first.input_tokens == second.input_tokens > first.cache_write_tokens


def test_the_scripted_cache_takes_four_marks() -> None:
    blocks = [{"type": "text", "text": "x", **MARK}] * 5
    with pytest.raises(TooManyMarksError):
        PromptCache(needs_marks=True).count({"messages": [{"role": "user", "content": blocks}]})


@pytest.mark.parametrize(
    ("price", "micros"),
    [
        (TokenPrice(10, 50), 10 * 1000 + 50 * 10),
        (TokenPrice(10, 50, 1), 10 * 300 + 1 * 700 + 50 * 10),
        (TokenPrice(10, 50, 1, 12.5), 10 * 100 + 1 * 700 + 12.5 * 200 + 50 * 10),
    ],
)
def test_tokens_from_the_cache_have_a_price_of_their_own(price: TokenPrice, micros: int) -> None:
    assert price.micros(Usage(1000, 10, 700, 200)) == micros


def test_openrouter_says_what_it_cost() -> None:
    openrouter = next(family for family in FAMILIES if family.name == "openrouter")
    answer = (
        'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'
        'data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"cost":0.00042,'
        '"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":3}}}\n\n'
        "data: [DONE]\n\n"
    )
    found = chunks(openrouter, Status(200, answer, {"content-type": "text/event-stream"}))
    assert found[-1].usage == Usage(10, 2, 4, 3, 0.00042)
    absurd = answer.replace("0.00042", "1e300")
    found = chunks(openrouter, Status(200, absurd, {"content-type": "text/event-stream"}))
    assert found[-1].usage == Usage(10, 2, 4, 3)
