"""Names, schemas of others, and the loading of modules."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oshaberi.bot.tools import Tool, ToolFailedError, load_tools
from oshaberi.bot.tools.calls import ArgumentChecks
from oshaberi.bot.tools.definition import by_name, is_valid, valid_name
from oshaberi.errors import ConfigError


async def _nothing(*_: Any) -> str:
    return ""


def tool_named(name: str, source: str) -> Tool:
    return Tool(name, "x", {}, _nothing, source=source)


# -- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("search", "search"),
        ("files/read.text", "files_read_text"),
        ("2nd", "_2nd"),
        ("-x", "_-x"),
        ("", "tool"),
        ("日本語", "_"),
        ("a" * 64, "a" * 64),
    ],
)
def test_the_nearest_valid_name(name: str, valid: str) -> None:
    assert valid_name(name) == valid


def test_names_that_are_cut_stay_apart() -> None:
    one, other = valid_name("x" * 70 + "one"), valid_name("x" * 70 + "other")
    assert one != other
    assert is_valid(one)
    assert is_valid(other)


@given(st.lists(st.tuples(st.text(max_size=80), st.text(max_size=80)), max_size=8))
def test_every_foreign_tool_gets_a_valid_name_of_its_own(pairs: list[tuple[str, str]]) -> None:
    ours = tool_named("mine", "built-in")
    theirs = [tool_named(name, source) for name, source in pairs]
    named = by_name([ours], theirs)
    assert list(named.values()) == [ours, *theirs]
    assert all(is_valid(name) for name in named)
    assert named["mine"] is ours


# -- schemas of others ---------------------------------------------------------------------------


def test_several_errors_are_told_at_once() -> None:
    schema = {
        "type": "object",
        "properties": {"to": {"type": "array", "items": {"type": "integer"}}},
        "required": ["what"],
    }
    with pytest.raises(ToolFailedError) as caught:
        ArgumentChecks("send", schema).check({"to": [1, "x" * 1000]})
    text = str(caught.value)
    assert text.startswith("wrong arguments for send: 'what' is a required property; to[1]: 'xxx")
    assert len(text) < 400


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x.json"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}},
        {"type": "strange"},
        {"type": "object", "properties": 5},
    ],
)
def test_a_broken_schema_lets_calls_pass(
    schema: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    arguments = ArgumentChecks("theirs", schema)
    with caplog.at_level(logging.WARNING):
        assert arguments.check({"a": 1}) == {"a": 1}
        assert arguments.check({"a": 2}) == {"a": 2}
    assert len(caplog.records) == 1
    assert "the schema of theirs cannot be used" in caplog.text


def test_a_pattern_of_theirs_never_runs() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "(a+)+$"}}}
    given = {"a": "a" * 100 + "!"}
    assert ArgumentChecks("theirs", schema).check(given) == given


@pytest.mark.parametrize(
    ("depth", "words"), [(10_000, "nested too deeply"), (100_000, "too large to be checked")]
)
def test_nested_too_deeply(depth: int, words: str) -> None:
    deep: Any = 1
    for _ in range(depth):
        deep = [deep]
    recursive = {"type": "array", "items": {"$ref": "#/$defs/n"}}
    schema = {
        "type": "object",
        "$defs": {"n": {"anyOf": [{"type": "integer"}, recursive]}},
        "properties": {"a": {"$ref": "#/$defs/n"}},
    }
    with pytest.raises(ToolFailedError, match=words):
        ArgumentChecks("theirs", schema).check({"a": deep})


@pytest.mark.parametrize(
    ("schema", "kept"),
    [
        ({"type": "string"}, False),
        ({"type": ["string", "null"]}, True),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, True),
        ({}, True),
    ],
)
def test_a_null_stays_where_it_means_something(schema: dict[str, Any], kept: bool) -> None:
    arguments = ArgumentChecks("theirs", {"type": "object", "properties": {"a": schema}})
    assert arguments.check({"a": None}) == ({"a": None} if kept else {})


# -- imports -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "first",
    ["bot.tools", "bot.tools.definition", "bot.turns", "bot.tools.builtin", "bot.tools.mcp"],
)
def test_it_can_be_imported_from_everywhere_and_is_light(first: str) -> None:
    code = f"import oshaberi.{first}, oshaberi.bot.tools, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(done.stdout.split())
    assert "oshaberi.bot.tools.toolbox" in loaded
    heavy = {"mcp", "pydantic", "aiohttp", "jsonschema", "sqlalchemy", "discord", "httpx2", "emoji"}
    assert not loaded & heavy


# -- modules -------------------------------------------------------------------------------------

GOOD = '''
from oshaberi.bot.tools import tool

@tool
async def first(a: int) -> str:
    """First."""
    return str(a)

@tool
def second() -> str:
    """Second."""
    return ""

again = first
'''


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    path, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def test_tools_of_a_module_in_its_order(folder: Path) -> None:
    (folder / "my_tools.py").write_text(GOOD)
    (folder / "more_tools.py").write_text(
        "from my_tools import first\n" + GOOD.replace("irst", "ourth")
    )
    found = load_tools(["my_tools", "more_tools"], folder)
    assert [one.name for one in found] == ["first", "second", "fourth", "second"]
    assert [one.source for one in found] == ["my_tools", "my_tools", "more_tools", "more_tools"]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (None, "tools: there is no Python module 'bad_tools'; install it or put it next to"),
        ("import not_there_at_all", "tools: bad_tools needs not_there_at_all, which is not inst"),
        ("x = 1", "tools: bad_tools has no function with @tool"),
        ("1 / 0", "tools: bad_tools cannot be imported: ZeroDivisionError: division by zero"),
        ("def f(:", "tools: bad_tools cannot be imported: SyntaxError: "),
        (
            GOOD.replace("a: int", "a"),
            "tools: bad_tools.first: parameter 'a' has no type; write for example `a: str`",
        ),
    ],
)
def test_a_module_that_cannot_be_used(folder: Path, source: str | None, words: str) -> None:
    if source is not None:
        (folder / "bad_tools.py").write_text(source)
    with pytest.raises(ConfigError) as caught:
        load_tools(["bad_tools"], folder)
    assert str(caught.value).startswith(words)


def test_a_file_next_to_the_settings_hides_no_library(folder: Path) -> None:
    (folder / "json.py").write_text("raise SystemExit")
    (folder / "my_tools.py").write_text(GOOD)
    load_tools(["my_tools"], folder)
    assert sys.path[-1] == str(folder)
