"""The direction of the arrows: who may import whom, read from the sources themselves."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
FILES = sorted(SOURCE.rglob("*.py"))
TEXT = [path for path in FILES if path.is_relative_to(SOURCE / "oshaberi" / "text")]

NO_CLOCK_NO_NET = frozenset(
    {"asyncio", "time", "datetime", "logging", "random", "secrets", "socket", "threading", "os"}
)
MAY_DRAW = frozenset({"compose.py", "humanize.py"})
OURS_IN_TEXT = ("oshaberi.events", "oshaberi.errors", "oshaberi.text")


def imports(path: Path) -> Iterator[str]:
    """Every module that `path` names in an import, wherever it stands."""
    package = ["oshaberi", *path.relative_to(SOURCE / "oshaberi").parent.parts]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            stem = ".".join([*base, *filter(None, [node.module])])
            yield stem
            yield from (f"{stem}.{alias.name}" for alias in node.names)


def roots(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imports(path)}


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE / "oshaberi"))


def part_of(path: Path) -> str:
    """The room of the house that a file stands in."""
    return path.relative_to(SOURCE / "oshaberi").parts[0]


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def test_there_is_something_to_read() -> None:
    assert len(TEXT) > 30
    assert "oshaberi.text.config" in set(imports(SOURCE / "oshaberi" / "text" / "engine.py"))


@pytest.mark.parametrize("path", TEXT, ids=name_of)
def test_text_knows_nothing_outside(path: Path) -> None:
    """Standard library, `regex`, `emoji`, events, errors and its own."""
    foreign = roots(path) - sys.stdlib_module_names - {"regex", "emoji", "oshaberi"}
    assert not foreign
    ours = {name for name in imports(path) if is_within(name, "oshaberi")}
    allowed = {name for name in ours if any(is_within(name, root) for root in OURS_IN_TEXT)}
    assert ours - allowed <= {"oshaberi"}


@pytest.mark.parametrize("path", TEXT, ids=name_of)
def test_text_has_no_clock_no_network_no_chance(path: Path) -> None:
    used = roots(path) & NO_CLOCK_NO_NET
    assert used <= ({"random"} if path.name in MAY_DRAW else set())


def test_chance_comes_late() -> None:
    """Only degree 3 draws, so only there is `random` loaded."""
    path = SOURCE / "oshaberi" / "text" / "compose.py"
    body = ast.parse(path.read_text(encoding="utf-8")).body
    at_once = {node.module for node in body if isinstance(node, ast.ImportFrom)}
    assert "random" in roots(path)
    assert not at_once & {"random", "oshaberi.text.humanize"}


@pytest.mark.parametrize(
    ("library", "rooms"),
    [
        ("discord", {"discord_io", "bot", "stage"}),
        ("sqlalchemy", {"storage"}),
        ("alembic", {"storage"}),
    ],
)
def test_only_one_room_knows_a_library(library: str, rooms: set[str]) -> None:
    assert {part_of(path) for path in FILES if library in roots(path)} <= rooms


@pytest.mark.parametrize("room", ["stream", "delivery"])
def test_the_middle_does_not_know_the_ends(room: str) -> None:
    ends = ("discord_io", "bot", "stage", "cli", "storage", "turns", "tools", "providers")
    for path in FILES:
        if part_of(path) == room:
            known = {name for name in imports(path) if name.split(".")[1:2] in [[e] for e in ends]}
            assert not {name for name in known if is_within(name, "oshaberi")}, path


def loaded_by(statement: str) -> set[str]:
    """What a fresh interpreter has loaded after `statement`, without site packages' own doing."""
    code = f"import sys; before = set(sys.modules); {statement}; print(*set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=SOURCE
    )
    return set(done.stdout.split())


def test_importing_it_is_light() -> None:
    loaded = loaded_by("import oshaberi")
    assert "oshaberi.text.engine" in loaded
    assert not loaded & {"asyncio", "emoji", "PIL", "discord", "pydantic", "sqlalchemy", "click"}


def test_a_plain_stream_stays_light() -> None:
    statement = "import oshaberi as o; e = o.TextEngine(); e.feed('Hi there.\\nYes'); e.finish()"
    assert not loaded_by(statement) & {"asyncio", "emoji", "PIL", "random", "logging"}
