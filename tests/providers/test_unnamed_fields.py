"""What a server refuses without a name is found, and costs nothing else for long."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discord_stage.model_servers.wire_format import WireAnswer
from oshaberi.providers.capabilities import LearnedLimits, ModelPlace
from oshaberi.providers.capabilities.learned import KEPT_S, Doubt, Lesson
from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.refusals.named_fields import named_tools
from oshaberi.providers.refusals.negotiation import (
    Names,
    RequestAttempt,
    narrowing,
    tools_in,
    unexplained,
    without_names,
)
from oshaberi.providers.registry import connect
from oshaberi.providers.request.model_request import Request, ToolDeclaration
from tests.providers.adapter_runs import ASK, error, read, text
from tests.providers.refusing_apis import RefusingModel, RefusingServer, anthropic, google, openai

Body = Mapping[str, Any]
PRESETS = ("openai", "anthropic", "google")
VAGUE = "Bad request: something is wrong"
TOOLS = ("ask", "bad", "cook", "draw", "eat", "find", "guess")
FULL = Request(
    ASK.items,
    tools=tuple(map(ToolDeclaration, TOOLS)),
    stop_strings=("###",),
    temperature=0.5,
    max_output_tokens=300,
)
_ERRORS = {"openai": openai, "anthropic": anthropic, "google": google}


class Played(NamedTuple):
    """How often each request was asked, and the bodies that were answered."""

    counts: list[int]
    answered: list[Body]
    told: tuple[str, ...]


def play(
    preset: str,
    refuses: Callable[[Body], str | None],
    *requests: Request,
    learned: LearnedLimits | None = None,
) -> Played:
    def rule(body: Body) -> WireAnswer | None:
        message = refuses(body)
        return _ERRORS[preset](message) if message else None

    async def main() -> Played:
        counts, answered = [], []
        known = learned or LearnedLimits()
        async with RefusingServer(RefusingModel(preset, "house-model", (rule,))) as server:
            url = server.url
            for request in requests:
                adapter = connect(
                    preset, "house-model", api_key="k" * 9, base_url=url, learned=known
                )
                before = len(server.requests)
                assert text(await read(adapter, request)) == "Hello!"
                await adapter.aclose()
                counts.append(len(server.requests) - before)
                answered.append(server.requests[-1].json)
        return Played(counts, answered, known.told(ModelPlace(preset, url, "house-model")))

    return asyncio.run(main())


def offered(body: Body) -> list[str]:
    """The tools in a body as it came over the wire."""
    groups = [one.get("functionDeclarations") or [one] for one in body.get("tools") or ()]
    return [(one.get("function") or one)["name"] for group in groups for one in group]


def refusing(*bad: str, message: str = VAGUE) -> Callable[[Body], str | None]:
    return lambda body: message if set(bad) & {*offered(body), *_fields(body)} else None


def _fields(body: Body) -> set[str]:
    return {*body, *(body.get("generationConfig") or {})}


@pytest.mark.parametrize("preset", PRESETS)
def test_one_bad_tool_costs_no_other(preset: str, caplog: pytest.LogCaptureFixture) -> None:
    played = play(preset, refusing("bad"), *[FULL] * 5)
    assert offered(played.answered[-1]) == [name for name in TOOLS if name != "bad"]
    assert len(offered(played.answered[0])) >= 3, "half of them stay even the first time"
    whole = play(preset, lambda _body: None, FULL).answered[0]
    assert _fields(played.answered[-1]) == _fields(whole), "nothing innocent stays out"
    assert max(played.counts) <= 5
    assert played.counts[-1] == 1
    assert played.told == (f"it is not sent tool bad ({VAGUE})",)
    told = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert any("tool bad" in line and VAGUE in line for line in told)


def test_a_bad_field_is_found_and_the_others_come_back() -> None:
    played = play("openai", refusing("stop"), *[FULL] * 5)
    assert "stop" not in played.answered[-1]
    assert {"temperature", "stream_options", "max_completion_tokens"} <= played.answered[-1].keys()
    assert offered(played.answered[0]) == list(TOOLS), "the tools were not suspected"
    assert sum(played.counts) <= 8
    assert played.told == (f"it is not sent stop ({VAGUE})",)


def test_two_bad_tools() -> None:
    played = play("openai", refusing("ask", "guess"), *[FULL] * 10)
    assert offered(played.answered[-1]) == list(TOOLS[1:-1])
    assert played.counts[-1] == 1
    assert max(played.counts) <= 5


def test_a_tool_and_a_field() -> None:
    played = play("openai", refusing("bad", "stop"), *[FULL] * 12)
    assert offered(played.answered[-1]) == [name for name in TOOLS if name != "bad"]
    assert "stop" not in played.answered[-1]
    assert "temperature" in played.answered[-1]
    assert max(played.counts) <= 5


@pytest.mark.parametrize(
    ("preset", "message"),
    [
        ("openai", "Invalid schema for function 'bad': In context=(), 'banana' is not valid"),
        ("anthropic", "tools.1.custom.input_schema: JSON schema is invalid"),
        ("google", "GenerateContentRequest.tools[0].function_declarations[1].parameters: no"),
    ],
)
def test_a_tool_that_is_named_goes_alone_and_at_once(preset: str, message: str) -> None:
    played = play(preset, refusing("bad", message=message), FULL, FULL)
    assert played.counts == [2, 1]
    assert [offered(body) for body in played.answered] == [
        [name for name in TOOLS if name != "bad"]
    ] * 2
    assert played.told == (f"it is not sent tool bad ({message})",)


def test_what_is_not_sent_proves_nothing() -> None:
    """A request without stop strings does not clear them, nor does it blame the rest."""
    plain = replace(FULL, stop_strings=(), temperature=None)
    played = play("openai", refusing("stop"), FULL, plain, plain, plain, FULL, FULL, FULL)
    assert played.told == (f"it is not sent stop ({VAGUE})",)
    assert "temperature" in played.answered[-1]


def test_a_wrong_name_of_a_model_is_one_request() -> None:
    async def main() -> tuple[str, int]:
        refusal = openai("No access to that, sorry.", "model", 404)
        model = RefusingModel("openai", "nonsense", (lambda _body: refusal,))
        async with RefusingServer(model) as server:
            adapter = connect("openai", "nonsense", api_key="k" * 9, base_url=server.url)
            found = await read(adapter, FULL)
            await adapter.aclose()
            asked = [one for one in server.requests if one.method == "POST"]
            return error(found).type, len(asked)

    assert asyncio.run(main()) == ("model_error", 1)


def test_thinking_is_not_unlearned_because_of_one_message() -> None:
    message = (
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
        "`tool_use`. When `thinking` is enabled, a final `assistant` message must start with one."
    )
    refused: list[Body] = []

    def refuses(body: Body) -> str | None:
        if "thinking" not in body or refused:
            return None
        refused.append(body)
        return message

    thinking = replace(FULL, thinking="high", temperature=None)
    played = play("anthropic", refuses, thinking, thinking)
    assert ["thinking" in body for body in played.answered] == [False, True]
    assert played.told == ()


def test_lessons_expire_after_a_day_and_can_be_forgotten() -> None:
    now_s = [0.0]
    learned, place = LearnedLimits(lambda: now_s[0]), ModelPlace("p", None, "m")
    learned.learn(place, Lesson("it takes no images", {"images": False}))
    learned.doubt(place, (Doubt(frozenset({"stop"}), "no"),))
    now_s[0] = KEPT_S - 1
    assert learned.told(place) == ("it takes no images", "it is not sent stop (no)")
    now_s[0] = KEPT_S
    assert learned.told(place) == ()
    assert learned.applied(place, ModelCapabilities()).images
    assert not learned.forget(place)
    learned.learn(place, Lesson("it takes no images", {"images": False}))
    assert learned.forget(place)
    assert learned.told(place) == ()


def test_only_the_operator_sees_what_an_unknown_server_said() -> None:
    learned, place = LearnedLimits(), ModelPlace("p", None, "m")
    learned.doubt(place, (Doubt(frozenset({"stop"}), "our secret lair says no", "HTTP 400"),))
    assert learned.told(place) == ("it is not sent stop (our secret lair says no)",)
    assert learned.told(place, to_operator=False) == ("it is not sent stop (HTTP 400)",)


def test_tools_of_every_family_are_taken_out_by_name() -> None:
    chat = {"tools": [{"type": "function", "function": {"name": name}} for name in "ab"]}
    messages = {"tools": [{"name": name} for name in "ab"], "tool_choice": {"type": "auto"}}
    gemini = {"tools": [{"function_declarations": [{"name": name} for name in "ab"]}]}
    for body in (chat, messages, gemini):
        assert tools_in(body) == ["a", "b"]
        assert tools_in(without_names(body, frozenset({"tool a"}))) == ["b"]
        assert without_names(body, frozenset({"tool a", "tool b"})) == {}
    assert without_names({"stop": 1, **chat}, frozenset({"stop"})) == chat


@pytest.mark.parametrize(
    ("message", "detail", "named"),
    [
        ("Invalid schema for function 'bad'", None, ["bad"]),
        ("no", {"error": {"param": "tools[1].function.parameters"}}, ["bad"]),
        ("tools.1.custom.input_schema", None, ["bad"]),
        ("tools[0].functionDeclarations[1]", None, ["bad"]),
        ("tools[99].name", None, []),
        ("a bad day for tools", None, []),
    ],
)
def test_which_tool_an_error_names(message: str, detail: Any, named: list[str]) -> None:
    assert named_tools(message, detail, TOOLS) == named


@given(
    st.sets(st.sampled_from("abcdefgh"), max_size=8),
    st.sets(st.sampled_from(["stop", "top_p", "seed"])),
    st.data(),
)
def test_the_guilty_are_found_and_nobody_else(
    tools: set[str], fields: set[str], data: st.DataObject
) -> None:
    sent = frozenset({*(f"tool {one}" for one in tools), *fields})
    guilty = (
        frozenset(data.draw(st.sets(st.sampled_from(sorted(sent)), max_size=2))) if sent else sent
    )
    doubts: tuple[Doubt, ...] = ()
    for _request in range(4):  # requests that have only some of it
        some = frozenset(data.draw(st.sets(st.sampled_from(sorted(sent))))) if sent else sent
        doubts = _searched(doubts, some, guilty, some & fields)
    for _request in range(12):
        doubts = _searched(doubts, sent, guilty, frozenset(fields))
    left_out = frozenset(name for one in doubts for name in one.names)
    assert left_out == guilty


def _searched(
    doubts: tuple[Doubt, ...], sent: Names, guilty: Names, optional: Names
) -> tuple[Doubt, ...]:
    """What is known after one request, which must have been answered."""
    attempts = narrowing(doubts, sent)
    known = RequestAttempt(attempts[-1].left_out, doubts)
    attempts += unexplained(known, optional, sent - optional, "no", Doubt(told="no"))
    found: RequestAttempt = next(one for one in attempts if not guilty & (sent - one.left_out))
    return found.doubts
