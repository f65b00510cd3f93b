"""What the program tells people to type is there to be typed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import click
import pytest

from oshaberi.cli.command_group import COMMANDS, app

SOURCE = Path(__file__).parents[2] / "src" / "oshaberi"
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_CALL = re.compile(r"(?<![\w/])oshaberi ([a-z]+)\b(?: ([a-z]+)\b)?([^`\n;]*)")


@cache
def told() -> tuple[tuple[str, str], ...]:
    """Every text in the sources that is not a docstring of ours, and where it is."""
    return tuple(_told())


def _told() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        ours = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or id(node) in ours:
                continue
            if isinstance(node.value, str):
                yield f"{path.name}:{node.lineno}", node.value


def shown() -> Iterator[tuple[str, str]]:
    """The same of the page and of the written scenes, as whole files."""
    for kind in ("*.js", "*.html", "*.md", "*.json"):
        for path in sorted(SOURCE.rglob(kind)):
            yield path.name, path.read_text(encoding="utf-8")


def commands(group: click.Group = app, name: str = "") -> Iterator[tuple[str, click.Command]]:
    yield name, group
    context = click.Context(group)
    for each in group.list_commands(context):
        command = group.get_command(context, each)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, f"{name} {each}".strip())
        else:
            yield f"{name} {each}".strip(), command


def options(command: click.Command) -> set[str]:
    named = (param for param in command.params if isinstance(param, click.Option))
    return {"--help", *(name for param in named for name in (*param.opts, *param.secondary_opts))}


OPTIONS = {name: options(command) for name, command in commands()}


POSTGRESQL = {"--clean", "--dbname", "--file", "--format", "--if-exists"}
"""What `oshaberi db backup` and `restore` name: options of `pg_dump` and `pg_restore`."""


def test_every_option_that_is_named_exists() -> None:
    known = POSTGRESQL.union(*OPTIONS.values())
    named = [(where, each) for where, text in told() for each in _OPTION.findall(text)]
    assert [one for one in named if one[1] not in known] == []


def test_every_command_that_is_named_exists_and_has_that_option() -> None:
    wrong = []
    for where, text in chain(told(), shown()):
        for first, second, rest in _CALL.findall(text):
            if first not in COMMANDS:
                continue
            name = f"{first} {second}" if f"{first} {second}" in OPTIONS else first
            wrong += [
                (where, name, each)
                for each in _OPTION.findall(rest)
                if each not in OPTIONS[name] and name != "stage exec"
            ]
    assert wrong == []


@pytest.mark.parametrize("name", OPTIONS)
def test_every_help_has_an_example_that_is_right(name: str) -> None:
    text = dict(commands())[name].help or ""
    assert "Example" in text
    for line in text.split("Example", 1)[1].splitlines():
        for first, second, rest in _CALL.findall(line):
            called = f"{first} {second}" if f"{first} {second}" in OPTIONS else first
            assert called in OPTIONS
            behind = rest.split(".py")[0]
            assert set(_OPTION.findall(behind)) <= OPTIONS[called]
