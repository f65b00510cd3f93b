"""Who may import whom in the stage, read from its sources."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

import discord_stage

PACKAGE = Path(discord_stage.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
NEEDED = {"aiohttp"}
"""What is always installed with the stage."""
ONLY_FOR_CLIENTS = {
    "client_runner.py": {"discord"},
    "discord_py_redirect.py": {"discord", "yarl"},
    "pytest_fixtures.py": {"discord", "pytest"},
}
"""The modules for tests of a discord.py bot, and what they need besides."""


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@cache
def imports(path: Path) -> frozenset[str]:
    """Every module that `path` names in an import, wherever it stands."""
    return frozenset(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} has a relative import"
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def inner_graph(folder: Path) -> dict[str, set[str]]:
    """The parts of a package, modules and sub-packages, and which of them each imports."""
    prefix = [*folder.relative_to(PACKAGE.parent).parts]
    parts = {path.stem for path in folder.glob("*.py")}
    parts |= {path.parent.name for path in folder.glob("*/__init__.py")}
    parts -= {"__init__"}
    graph: dict[str, set[str]] = {part: set() for part in sorted(parts)}
    for part in parts:
        for path in [folder / f"{part}.py", *(folder / part).rglob("*.py")]:
            for name in imports(path) if path.is_file() else ():
                words = name.split(".")
                if words[: len(prefix)] == prefix and words[len(prefix) :][:1]:
                    graph[part] |= {words[len(prefix)]} & parts - {part}
    return graph


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_it_needs_only_what_it_says(path: Path) -> None:
    roots = {name.partition(".")[0] for name in imports(path)}
    foreign = roots - sys.stdlib_module_names - {"discord_stage"}
    assert foreign <= NEEDED | ONLY_FOR_CLIENTS.get(name_of(path), set())


def test_a_server_needs_no_client() -> None:
    """Whoever imports the stage loads neither discord.py nor pytest."""
    code = (
        "import sys, discord_stage, discord_stage.model_servers, discord_stage.bot_runner;"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "aiohttp" in loaded
    assert not loaded & {"discord", "pytest", "oshaberi"}


FOLDERS = sorted({path.parent for path in FILES})


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_its_parts_form_no_cycle(folder: Path) -> None:
    TopologicalSorter(inner_graph(folder)).prepare()


def test_its_parts_come_in_order() -> None:
    names = ["world", "rules", "payloads", "world_changes", "interactions", "rest", "control"]
    graph = inner_graph(PACKAGE)
    in_order = TopologicalSorter(graph).static_order()
    assert [name for name in in_order if name in names] == names
    assert all(one in graph[other] for one, other in pairwise(names))


MAPPED = (
    *(".", "control", "gateway", "interactions", "model_servers", "page", "payloads"),
    *("requests", "world", "world_changes"),
)


@pytest.mark.parametrize("package", MAPPED)
def test_the_docstring_of_a_package_is_its_map(package: str) -> None:
    """It names each part. Where one file is like the other (routes), it need not."""
    folder = PACKAGE / package
    source = (folder / "__init__.py").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", ast.get_docstring(ast.parse(source)) or ""))
    assert set(inner_graph(folder.resolve())) - named == set()
