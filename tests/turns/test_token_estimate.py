"""One estimate of tokens: what is trimmed to a window is what a quota counts."""

from __future__ import annotations

import asyncio
import json

import pytest

from oshaberi.bot.storage.usage import UsageAccount
from oshaberi.chunks import ThoughtPart, ToolCall
from oshaberi.providers.request.model_request import (
    ContextItem,
    FilePart,
    ImagePart,
    Item,
    Request,
    ToolDeclaration,
    ToolResult,
    ToolRound,
    said,
)
from oshaberi.providers.request.preparation import overflowing
from oshaberi.providers.request.token_estimate import request_tokens
from oshaberi.stream.provider_protocol import Silence, Step
from tests.turns.turn_harness import ALICE, CHANNEL, SERVER, TurnHarness, run_turns, text

LARGEST = 1 << 20
NOW = said("user", "and now?", "current")
SHORT = tuple(said("user", word) for word in ("hi", "ok", "lol", "e", "ne", "ah") * 20)
LOOK = ToolDeclaration("look", "Look at the sea from the lighthouse, and say what is there. " * 3)
SEEK = ToolDeclaration(
    "seek",
    "灯台から海を見る",
    {"type": "object", "properties": {"地名": {"type": "string", "description": "港の名前"}}},
)
ROUND = ToolRound(
    (ToolCall("seek", {"地名": "函館"}), ToolCall("look")),
    (ToolResult("船が二つ"), ToolResult("no such tool", is_error=True)),
    "Let me look.",
    (ThoughtPart("The keeper wants to know.", "summary"), ThoughtPart("", "raw", '[{"a":1}]')),
)
PICTURE = ContextItem("user", (ImagePart(url="https://x.test/cat.png"),))
FILES = ContextItem("user", (FilePart("notes.txt", "a b c"), FilePart("x.pdf", data=b"%PDF" * 9)))

REQUESTS = {
    "one short message": Request((said("user", "hi"), NOW)),
    "many short messages": Request((*SHORT, NOW)),
    "an empty message": Request((said("user", ""), NOW)),
    "a long message": Request((said("system", "word " * 400), said("user", "so " * 90), NOW)),
    "Japanese": Request((said("user", "灯台守は毎晩、日記を書いた。" * 5), NOW)),
    "half a character": Request((said("user", "\ud83d👋"), NOW)),
    "tools without parameters": Request((said("user", "hi"), NOW), (LOOK,) * 20),
    "tools with parameters": Request((said("user", "hi"), NOW), (LOOK, SEEK)),
    "pictures": Request((PICTURE, PICTURE, NOW)),
    "files": Request((FILES, NOW)),
    "calls and results": Request((said("user", "hi"), ROUND, ROUND, NOW), (SEEK,)),
}


def room_needed(request: Request) -> int:
    """The tokens of the smallest window into which the request fits untrimmed, without answer."""
    asked = Request(request.items, request.tools, max_output_tokens=1)
    too_small, large = 0, LARGEST
    assert overflowing(asked, too_small)
    assert not overflowing(asked, large)
    while large - too_small > 1:
        middle = (too_small + large) // 2
        too_small, large = (middle, large) if overflowing(asked, middle) else (too_small, middle)
    return large - 1


@pytest.mark.parametrize("name", REQUESTS)
def test_windows_and_quotas_count_the_same(name: str) -> None:
    assert request_tokens(REQUESTS[name]) == room_needed(REQUESTS[name])


def test_a_quota_reserves_what_is_trimmed_to_a_window() -> None:
    """A stream that was stopped tells no usage: what was reserved stays counted."""

    async def scenario(harness: TurnHarness) -> None:
        for word in ("hi", "ok", "lol") * 4:
            harness.turn_channel.write(word)
        await harness.hear("and now?")
        await asyncio.sleep(1)
        harness.channel_turns.stop(CHANNEL, ALICE.id, False)
        await harness.channel_turns.idle()
        account = UsageAccount("server", SERVER, "user", ALICE.id)
        reserved = (await harness.totals(account)).input_tokens
        assert reserved == room_needed(harness.models.requests[-1])

    script: list[Step] = [text("One two three.\n"), Silence(60_000)]
    run_turns(scenario, script, turn={"quota_tokens_per_user_day": 100_000})


@pytest.mark.parametrize("tools", [(), (LOOK,), (SEEK,)])
def test_a_request_counts_at_least_a_third_of_the_text_that_the_model_reads(
    tools: tuple[ToolDeclaration, ...],
) -> None:
    items: tuple[Item, ...] = (said("user", "灯台"), ROUND)
    shown = "灯台 Let me look. 船が二つ no such tool seek look" + '{"地名": "函館"}{}'
    shown += "".join(
        one.name + one.description + json.dumps(one.parameters, ensure_ascii=False) for one in tools
    )
    assert request_tokens(Request(items, tools)) >= len(shown.encode()) / 3


def test_many_tools_without_parameters_leave_less_of_a_small_window() -> None:
    """Each has a name and a description, which the model reads too."""
    chat = Request((*(said("user", "a word or two " * 20) for _ in range(20)), NOW))
    assert not overflowing(chat, 4096)
    assert overflowing(Request(chat.items, (LOOK,) * 20), 4096)
