"""Arguments that a model wrote, and schemas that an MCP server wrote, made to take for ever."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from oshaberi.bot.tools.builtin.clock import _zone
from oshaberi.bot.tools.calls import LARGEST_ARGS, ArgumentChecks, NamedTool, OfferedTools
from oshaberi.bot.tools.decorator import tool
from oshaberi.bot.tools.definition import ToolFailedError
from oshaberi.bot.tools.mcp.content import LONGEST_SCHEMA
from oshaberi.chunks import ToolCall
from oshaberi.stream.reader import MOST_CALLS
from tests.attacks.loop_watch import computing_at_most, memory_at_most, watched_loop
from tests.turns.test_tool_loop import LOOK, Workshop, rounds_of
from tests.turns.turn_harness import TurnHarness, calls, run_turns, text

Schema = dict[str, Any]
TOO_LARGE = "too large to be checked"


def _taking(a: Schema, **more: Any) -> Schema:
    return {"type": "object", "properties": {"a": a}, **more}


def _doubling(keyword: str, levels: int = 30) -> Schema:
    """2^30 comparisons in 1.5 kB."""
    steps: Schema = {f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    steps[f"d{levels}"] = {"type": "integer" if keyword == "allOf" else "string"}
    return _taking({"$ref": "#/$defs/d0"}, **{"$defs": steps})


SHAPES: dict[str, Callable[[], tuple[Schema, dict[str, Any]]]] = {
    "each of two, thirty times": lambda: (_doubling("allOf"), {"a": 1}),
    "any of two, thirty times": lambda: (_doubling("anyOf"), {"a": 1}),
    "one of two, thirty times": lambda: (_doubling("oneOf"), {"a": 1}),
    "itself": lambda: (_taking({}, **{"$ref": "#"}), {"a": 1}),
    "itself, dynamically": lambda: (_taking({}, **{"$dynamicRef": "#"}), {"a": 1}),
    "nothing twice": lambda: (
        _taking({"uniqueItems": True}),
        {"a": [{"x": n} if n % 2 else [n] for n in range(8000)]},
    ),
    "nothing twice, deeply": lambda: (
        _taking({"uniqueItems": True}),
        {"a": [[[["x" * 100]], n] for n in range(3000)]},
    ),
    "many alternatives for many items": lambda: (
        _taking({"items": {"anyOf": [{"type": "string"}] * 700}}),
        {"a": [1] * 60_000},
    ),
    "many alternatives for a long text": lambda: (
        _taking({"anyOf": [{"type": "integer"}] * 700}),
        {"a": "x" * (LARGEST_ARGS - 1000)},
    ),
    "many alternatives for much": lambda: (
        _taking({}, anyOf=[{"required": ["b"]}] * 700),
        {"a": [["x"] * 100] * 500},
    ),
    "many errors": lambda: (_taking({"items": {"type": "string"}}), {"a": [1] * 60_000}),
    "it must hold": lambda: (_taking({"contains": {"type": "string"}}), {"a": [1] * 60_000}),
    "anything": lambda: (_taking({"items": True, "contains": {}}), {"a": [1] * 60_000}),
    "many names": lambda: (
        _taking({}, propertyNames={"anyOf": [{"maxLength": 1}] * 700}),
        {f"name{n}": n for n in range(20_000)},
    ),
    "names too many": lambda: (
        _taking({}, additionalProperties=False),
        {f"name{n}": n for n in range(20_000)},
    ),
    "names that nobody looked at": lambda: (
        _taking({}, unevaluatedProperties=False, allOf=[{"properties": {}}] * 800),
        {f"name{n}": n for n in range(10_000)},
    ),
    "a pattern that never ends": lambda: (_taking({"pattern": "(a+)+$"}), {"a": "a" * 50 + "b"}),
    "a long list of choices": lambda: (_taking({"enum": list(range(3000))}), {"a": "x" * 100_000}),
    "a huge number": lambda: (_taking({"multipleOf": 1e-300}), {"a": 10**4000}),
    "too much": lambda: (_taking({}), {"a": "x" * LARGEST_ARGS}),
    "too many": lambda: (_taking({}), {"a": [0] * LARGEST_ARGS}),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_check_takes_no_more_than_a_step_of_the_loop(shape: str) -> None:
    schema, args = SHAPES[shape]()
    assert len(json.dumps(schema)) <= LONGEST_SCHEMA
    checks = ArgumentChecks("theirs", {"type": "object"})
    checks.check({})  # imports what it needs
    checks = ArgumentChecks("theirs", schema)
    with computing_at_most():
        try:
            refusal = ""
            assert checks.check(args) == args
        except ToolFailedError as failure:
            refusal = str(failure)
    assert len(refusal) < 2000


@pytest.mark.parametrize("shape", ["each of two, thirty times", "too much", "too many"])
def test_what_takes_too_much_is_refused(shape: str) -> None:
    schema, args = SHAPES[shape]()
    with pytest.raises(ToolFailedError, match=TOO_LARGE):
        ArgumentChecks("theirs", schema).check(args)


def test_a_call_of_a_sane_size_is_checked() -> None:
    item = _taking({"type": "string"}, required=["a"], additionalProperties=False)
    schema = _taking({"type": "array", "items": item, "uniqueItems": True})
    checks = ArgumentChecks("theirs", schema)
    assert checks.check({"a": [{"a": str(n)} for n in range(500)]})
    with pytest.raises(ToolFailedError, match=r"a: the same item is there twice"):
        checks.check({"a": [{"a": "x"}, {"a": "x"}]})
    text = ArgumentChecks("theirs", _taking({"type": "string", "maxLength": 400_000}))
    assert text.check({"a": "x" * 300_000})


def test_a_name_that_no_tool_has_is_compared_only_in_part() -> None:
    @tool
    def look() -> str:
        """Look."""
        return ""

    names = {f"look_for_{n}": NamedTool("", look, ArgumentChecks("", {})) for n in range(128)}
    offered = OfferedTools(names, names)
    with computing_at_most(), pytest.raises(ToolFailedError, match="there is no tool") as caught:
        offered.find(ToolCall("look_for_" * 100_000, {}))
    assert len(str(caught.value)) < 2000


def test_a_time_zone_that_does_not_exist_is_compared_only_in_part() -> None:
    _known = _zone("Europe/Berlin")
    with computing_at_most(), pytest.raises(ToolFailedError, match="there is no time zone"):
        _zone("Europe/Berlin" * 100_000)


def test_a_hundred_thousand_calls_at_once() -> None:
    """They were all answered, kept and counted: "199984 failures in a row"."""
    tools = Workshop(*[ValueError("no")] * 200_000)

    async def scenario(harness: TurnHarness) -> None:
        with watched_loop():
            await harness.answer()
        assert [len(asked) for asked in tools.asked] == [MOST_CALLS]
        assert harness.turn_channel.embeds == ["The tools keep failing"]
        (embed,) = (one.post.embed for one in harness.turn_channel.channel.posted if one.post.embed)
        assert embed.description == "It was ended after 5 failures in a row."

    run_turns(scenario, [calls(*[LOOK] * 100_000)], tools=tools)


def test_the_model_sees_a_round_again_within_bounds() -> None:
    tools = Workshop()

    async def scenario(harness: TurnHarness) -> None:
        with memory_at_most(10):
            await harness.answer()
        (one,) = rounds_of(harness, 1)
        assert len(one.calls) == len(one.results) == MOST_CALLS
        assert harness.turn_channel.contents == ["Done."]

    run_turns(scenario, [calls(*[LOOK] * 10_000)], [text("Done.")], tools=tools)
