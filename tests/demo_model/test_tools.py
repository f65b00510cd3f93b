"""Any tool can be tried: the demo model calls the one that is named, with what follows its name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from oshaberi.bot.local_run.demo_model.playback import asked_arguments, made_arguments
from oshaberi.bot.local_run.demo_model.requests import RequestedTool, named_in, read
from oshaberi.providers.request.model_request import ToolDeclaration, ToolResult, ToolRound
from tests.demo_model.demo_questions import CLOCK, MEMORY, answer, text

TOOLS = ("roll_dice", "react", "forget", "searchWeb", "files-read", "remember", "current_time")
DICE = ToolDeclaration(
    "roll_dice",
    "Rolls dice.",
    {
        "type": "object",
        "properties": {"sides": {"enum": [6, 20]}, "note": {"type": "string"}},
        "required": ["note"],
    },
)


@pytest.mark.parametrize(
    ("words", "tool", "rest"),
    [
        ("call roll_dice", "roll_dice", ""),
        ("ROLL_DICE please", "roll_dice", "please"),
        ("Use the dice tool", "roll_dice", ""),
        ("use the web search tool for red pandas", "searchWeb", "red pandas"),
        ("can your dice tool do it?", "roll_dice", "do it?"),
        ("please run roll dice with sides=20", "roll_dice", "sides=20"),
        ("searchWeb: cats", "searchWeb", "cats"),
        ("files-read /tmp", "files-read", "/tmp"),
        ("the `react` thing", "react", "thing"),
        ("use react on this", "react", "this"),
        ('react({"emoji": "x"})', "react", '({"emoji": "x"})'),
        ("roll_diceを使って", "roll_dice", "を使って"),
        ("current_time, then roll_dice", "current_time", "then roll_dice"),
    ],
)
def test_a_tool_is_named(words: str, tool: str, rest: str) -> None:
    found = named_in(words, TOOLS)
    assert found is not None
    assert found.tool == tool
    assert rest in found.rest


@pytest.mark.parametrize(
    "words",
    [
        "remember that I like tea",
        "forget it, how would you react?",
        "What time is it? Ask a tool",
        "use a tool",
        "the tool",
        "troll_dices",
        "pre-roll_dice",
        "the hammer tool",
        "",
    ],
)
def test_no_tool_is_named(words: str) -> None:
    assert named_in(words, TOOLS) is None


def test_it_is_called_and_its_answer_told() -> None:
    words = 'call roll_dice with {"sides": 20, "note": "a@b.test"}'
    found = answer(words, tools=(CLOCK, DICE))
    (call,) = (call for chunk in found for call in chunk.calls)
    assert (call.name, dict(call.args)) == ("roll_dice", {"sides": 20, "note": "a@b.test"})
    round_ = ToolRound((call,), (ToolResult("rolled: 3\nsum: 3"),), text(found))
    after = answer(words, round_, tools=(CLOCK, DICE))
    assert "> rolled: 3\n> sum: 3" in text(after)
    assert not [chunk for chunk in after if chunk.calls]


def test_what_is_not_said_is_made_up() -> None:
    found = answer("use the dice tool for luck", tools=(DICE,))
    (call,) = (call for chunk in found for call in chunk.calls)
    assert dict(call.args) == {"note": "luck"}


def test_scenes_still_have_their_tools() -> None:
    found = answer("Please remember that I like tea!", tools=(MEMORY, DICE))
    assert [call.name for chunk in found for call in chunk.calls] == ["remember"]


def test_it_tells_which_tools_there_are() -> None:
    told = text(answer("Which tools do you have?", tools=(CLOCK, DICE)))
    assert "`current_time`, `roll_dice`" in told
    assert "Nobody has given me any tools" in text(answer("Which tools do you have?"))


@pytest.mark.parametrize(
    ("about", "value"),
    [
        ({"type": "string"}, "words"),
        ({"type": "string", "maxLength": 2}, "wo"),
        ({"type": "string", "format": "email"}, "somebody@example.org"),
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": "integer", "exclusiveMinimum": 3}, 4),
        ({"type": "number", "maximum": 0.5}, 0.5),
        ({"type": "boolean"}, False),
        ({"type": ["null", "integer"]}, 1),
        ({"type": "null"}, None),
        ({"type": "array", "items": {"type": "boolean"}, "minItems": 2}, [False, False]),
        ({"type": "array"}, []),
        ({"enum": ["x", "y"]}, "x"),
        ({"const": 4}, 4),
        ({"default": 5}, 5),
        ({"anyOf": [{"type": "null"}, {"type": "boolean"}]}, False),
        ({"$ref": "#/$defs/Point"}, {"x": 1}),
        ({"$ref": "#/$defs/Loop"}, "words"),
        ({"$ref": "elsewhere.json"}, "words"),
        (True, "words"),
    ],
)
def test_a_value_of_every_kind(about: Any, value: Any) -> None:
    point = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    defs = {"Point": point, "Loop": {"$ref": "#/$defs/Loop"}}
    schema = {"properties": {"a": about}, "required": ["a", "unknown"], "$defs": defs}
    assert made_arguments(schema, "words") == {"a": value}


def test_a_schema_that_holds_itself_has_an_end() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}
    assert len(json.dumps(made_arguments(node, "words"))) < 200


@pytest.mark.parametrize(
    ("rest", "arguments"),
    [
        ('sides=20, note="so, so"', {"note": "so, so", "sides": 20}),
        ("note=7", {"note": "7"}),
        ("note='a b'", {"note": "a b"}),
        ("noted=7", {"note": "noted=7"}),
        ("{'not': json}", {"note": "{'not': json}"}),
        ('{"other": 1}', {"other": 1}),
        ("{" * 5000, {"note": "{" * 5000}),
    ],
)
def test_arguments_from_the_message(rest: str, arguments: dict[str, Any]) -> None:
    assert asked_arguments(DICE.parameters, f"call roll_dice {rest}", rest) == arguments


def test_it_is_read_from_the_newest_message() -> None:
    tool = {"type": "function", "function": {"name": "roll_dice"}}
    said = "Ren: call roll_dice\nAda: @Mochi call roll_dice note=hi"
    body = {"stream": True, "messages": [{"role": "user", "content": said}], "tools": [tool]}
    assert read(body).named == RequestedTool("roll_dice", "note=hi")
