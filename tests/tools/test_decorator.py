"""A typed function as a tool: its schema, its arguments, and what cannot be one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, TypedDict

import pytest

from oshaberi.bot.tools import Tool, ToolContext, ToolDefinitionError, tool
from tests.tools.fake_tool_context import context


@dataclass
class Point:
    x: float
    y: float = 0.0
    tags: list[str] = field(default_factory=list)


class Route(TypedDict):
    start: Point
    name: NotRequired[str]


@dataclass
class Endless:
    inner: Endless | None = None


MANY = ["a"]


@tool
async def everything(
    context: ToolContext,
    text: str,
    count: int,
    share: float,
    sure: bool,
    mode: Literal["slow", "fast"],
    anything: Any,
    maybe: str | None,
    points: list[Point],
    route: Route,
    counts: dict[str, int],
    level: Literal[1, 2] = 1,
    later: int | None = None,
    many: list[str] = MANY,
) -> list[Any]:
    """Take everything.

    More about it.

    Args:
        text: What to say,
            in one line.
        count (int): How often.

    Returns:
        All of it.
    """
    values = [text, count, share, sure, mode, anything, maybe, points, route, counts]
    return [context.incoming.said.id, *values, level, later, many]


def run(made: Tool, **args: Any) -> Any:
    return asyncio.run(_run(made, args))


async def _run(made: Tool, args: dict[str, Any]) -> Any:
    return await made.run(context(), args)


def test_name_and_description_are_the_functions() -> None:
    assert (everything.name, everything.source) == ("everything", __name__)
    assert everything.description == "Take everything.\n\nMore about it."


def test_the_schema_comes_from_the_hints() -> None:
    point = {
        "type": "object",
        "properties": {
            "x": {"type": "number"},
            "y": {"type": "number"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["x"],
        "additionalProperties": False,
    }
    route = {
        "type": "object",
        "properties": {"start": point, "name": {"type": "string"}},
        "required": ["start"],
        "additionalProperties": False,
    }
    assert everything.parameters == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "What to say, in one line."},
            "count": {"type": "integer", "description": "How often."},
            "share": {"type": "number"},
            "sure": {"type": "boolean"},
            "mode": {"enum": ["slow", "fast"], "type": "string"},
            "anything": {},
            "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "points": {"type": "array", "items": point},
            "route": route,
            "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
            "level": {"enum": [1, 2], "type": "integer", "default": 1},
            "later": {"type": "integer"},
            "many": {"type": "array", "items": {"type": "string"}, "default": ["a"]},
        },
        "required": [
            *("text", "count", "share", "sure", "mode"),
            *("anything", "maybe", "points", "route", "counts"),
        ],
        "additionalProperties": False,
    }


def test_json_becomes_what_the_function_expects() -> None:
    got = run(
        everything,
        text="hi",
        count=5.0,
        share=1,
        sure=True,
        mode="fast",
        anything=[None],
        maybe=None,
        points=[{"x": 1}, {"x": 2, "y": 3, "tags": ["t"]}],
        route={"start": {"x": 4}},
        counts={"a": 1.0},
    )
    points = [Point(1.0), Point(2.0, 3.0, ["t"])]
    rest = [points, {"start": Point(4.0)}, {"a": 1}, 1, None, ["a"]]
    assert got == [100, "hi", 5, 1.0, True, "fast", [None], None, *rest]
    assert [type(got[2]), type(got[3]), type(got[10]["a"])] == [int, float, int]


def test_param_fields_describe_too() -> None:
    @tool(name="other-name", permission="manage_server", timeout_ms=5)
    async def one(a: int, b: str = "x") -> None:
        """Does it.

        :param a: the first
            and best
        :param str b: the second
        :returns: nothing
        """

    assert (one.name, one.permission, one.timeout_ms) == ("other-name", "manage_server", 5)
    assert one.description == "Does it."
    described = {name: got.get("description") for name, got in _properties(one).items()}
    assert described == {"a": "the first and best", "b": "the second"}


def _properties(made: Tool) -> Any:
    return made.parameters["properties"]


def test_a_plain_function_runs_in_a_thread() -> None:
    @tool(description="Tell the thread.")
    def where(loud: bool = False) -> str:
        return f"{threading.current_thread().name} {loud}"

    assert run(where, loud=True) == "oshaberi-tool True"


# -- what cannot be a tool -----------------------------------------------------------------------


def untyped(a: int) -> None:
    """Has no type."""


del untyped.__annotations__["a"]


def starred(*names: str) -> None:
    """Takes any number."""


def positional(a: int, /) -> None:
    """Has no names."""


def mixed(a: int | str) -> None:
    """Takes two kinds."""


def numbered(a: dict[int, str]) -> None:
    """JSON has only texts as keys."""


def strange(a: bytes) -> None:
    """JSON has no bytes."""


def listed(a: list[set[int]]) -> None:
    """Nor sets."""


def literal(a: Literal[None]) -> None:
    """None is no choice."""


def endless(a: Endless) -> None:
    """Contains itself."""


def unknown(a: int) -> None:
    """A type that is not there."""


unknown.__annotations__["a"] = "Nowhere"


def silent(a: int) -> None:
    raise NotImplementedError(a)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (untyped, "parameter 'a' has no type; write for example `a: str`"),
        (starred, "parameter 'names' has no name that a model could use"),
        (positional, "parameter 'a' has no name that a model could use"),
        (mixed, "parameter 'a': a tool cannot take int | str; it can take str, int,"),
        (numbered, "parameter 'a': a tool cannot take dict[int, str]; it can"),
        (strange, "parameter 'a': a tool cannot take bytes; it can take"),
        (listed, "parameter 'a': a tool cannot take set[int]; it can take"),
        (literal, "parameter 'a': a tool cannot take Literal[None]; it can"),
        (endless, "parameter 'a': Endless contains itself"),
        (unknown, "a type cannot be read: name 'Nowhere' is not defined"),
        (silent, "the model is told what a tool does; write a docstring"),
    ],
)
def test_a_bad_signature_is_one_clear_line(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        tool(function)
    text = str(caught.value)
    assert text.startswith(f"{__name__}.{function.__name__}: {words}")
    assert "\n" not in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": "two words"}, "'two words' cannot be a tool's name; use at most 64 letters"),
        ({"name": "x" * 65}, "cannot be a tool's name"),
        ({"name": "1st"}, "'1st' cannot be a tool's name"),
        ({"permission": "god"}, "permission 'god' is not one of: everyone, manage_messages"),
        ({"timeout_ms": 0}, "timeout_ms 0 is not above 0"),
    ],
)
def test_bad_options(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ToolDefinitionError, match=words):
        tool(description="x", **options)(silent)
