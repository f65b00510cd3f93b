"""docs/reference/events-and-errors.md is what the code has. `make generate` writes its tables."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from oshaberi import Decision, events
from oshaberi.chunks import Chunk, ErrorType, ProviderError, ThoughtPart, ToolCall, Usage
from oshaberi.events import Boundary, Event, Identity
from oshaberi.inspector.decisions import CAPTURED, ENDS, FATES, KEPT_BACK, STATUS, STOPS
from oshaberi.stream.result import Metrics, Status, StopReason, StreamResult
from tests.cli.document_pages import DOCS, ROOT, table, text_of, with_table

PAGE = DOCS / "reference" / "events-and-errors.md"
SOURCE = ROOT / "src" / "oshaberi"
EVENTS = (*get_args(Event), Identity, Decision)
CHUNKS = (Chunk, ThoughtPart, ToolCall, ProviderError, Usage)
RESULTS = (StreamResult, Metrics)


def _first_words(docstring: str | None) -> str:
    return " ".join((docstring or "").split("\n\n")[0].split())


def _fields(kind: type) -> tuple[str, ...]:
    """Of a dataclass or a named tuple."""
    named: tuple[str, ...] | None = getattr(kind, "_fields", None)
    return tuple(one.name for one in fields(kind)) if named is None else named


def _values(kinds: Iterable[type]) -> str:
    rows = []
    for kind in kinds:
        inside = ", ".join(f"`{name}`" for name in _fields(kind))
        rows.append(f"| `{kind.__name__}` | {inside} | {_first_words(inspect.getdoc(kind))} |")
    return table("| value | fields | what |", rows)


def _words(head: str, told: Mapping[str, str]) -> str:
    rows = [f"| `{key}` | {words.rstrip('.')} |" for key, words in told.items()]
    return table(f"| {head} | what |", rows)


@cache
def errors() -> dict[str, tuple[str, str, str]]:
    """Every public error of ours: by name its module, what it is a kind of, and its docstring."""
    found: dict[str, tuple[str, str, str]] = {"OshaberiError": ("oshaberi.errors", "", "")}
    classes = [
        (path, node, base.id)
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        if isinstance(base, ast.Name)
    ]
    for _ in range(3):  # a kind of a kind of a kind
        for path, node, base in classes:
            if base in found and not node.name.startswith("_"):
                told = _first_words(ast.get_docstring(node))
                found.setdefault(node.name, (_module(path), base, told))
    return found


def _module(path: Path) -> str:
    return ".".join(("oshaberi", *path.relative_to(SOURCE).with_suffix("").parts))


def _errors() -> str:
    rows = [
        f"| `{name}` | `{module}` | `{base}` | {told} |"
        for name, (module, base, told) in sorted(errors().items(), key=lambda one: one[1][0])
        if base
    ]
    return table("| error | where | a kind of | when |", rows)


def tables() -> dict[str, str]:
    return {
        "events": _values(EVENTS),
        "boundaries": _words("boundary", ENDS),
        "withheld": _words("reason", KEPT_BACK),
        "fates": _words(
            "reason", {key: told for key, told in FATES.items() if key not in KEPT_BACK}
        ),
        "captures": _words("why", CAPTURED),
        "chunks": _values(CHUNKS),
        "results": _values(RESULTS),
        "status": _words("status", STATUS),
        "stops": _words("stop_reason", STOPS),
        "errors": _errors(),
    }


def page(text: str) -> str:
    """With its tables as the code has them."""
    for mark, made in tables().items():
        text = with_table(text, mark, made)
    return text


def test_the_page_has_everything() -> None:
    text = text_of(PAGE)
    assert text == page(text), "run: make generate"


@pytest.mark.parametrize(
    ("declared", "told"), [(Boundary, ENDS), (Status, STATUS), (StopReason, STOPS)]
)
def test_the_words_are_complete(declared: object, told: Mapping[str, str]) -> None:
    assert set(get_args(declared)) == set(told)


@pytest.mark.parametrize("kind", get_args(ErrorType))
def test_every_type_of_a_models_error_is_named(kind: str) -> None:
    assert f"`{kind}`" in text_of(PAGE)


def test_events_are_the_modules_own() -> None:
    assert all(kind.__module__ == events.__name__ for kind in get_args(Event))
    assert len(get_args(Event)) == 6


def test_errors_are_found() -> None:
    found = errors()
    assert found["DiscordRefusalError"][1] == "SinkError"
    assert found["StorageError"][0] == "oshaberi.bot.storage.errors"
    assert [name for name, (_, base, told) in found.items() if base and not told] == []
