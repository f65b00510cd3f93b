"""The direction of the arrows: who may import whom, read from the sources themselves."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError
from itertools import pairwise
from pathlib import Path

import pytest
from docs.pictures.package_graph import (
    PICTURE,
    cycles,
    drawn,
    inner_graph,
    order,
    package_graph,
    source_nodes,
)

import oshaberi

SOURCE = Path(__file__).parents[1] / "src"
FILES = sorted(SOURCE.rglob("*.py"))
TEXT = [path for path in FILES if path.is_relative_to(SOURCE / "oshaberi" / "text")]

NO_CLOCK_NO_NET = frozenset(
    {"asyncio", "time", "datetime", "logging", "random", "secrets", "socket", "threading", "os"}
)
MAY_DRAW = frozenset({"humanize.py"})
FOR_MYPYC = "mypyc_attributes.py"  # names `mypy_extensions` for the type checker alone
OURS_IN_TEXT = ("oshaberi.events", "oshaberi.errors", "oshaberi.text")


@cache
def imports(path: Path) -> frozenset[str]:
    """Every module that `path` names in an import, wherever it stands."""
    return frozenset(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    package = ["oshaberi", *path.relative_to(SOURCE / "oshaberi").parent.parts]
    for node in source_nodes(path).imports:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            base = package[: len(package) + 1 - node.level] if node.level else []
            stem = ".".join([*base, *filter(None, [node.module])])
            yield stem
            yield from (f"{stem}.{alias.name}" for alias in node.names)


def roots(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imports(path)}


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE / "oshaberi"))


def part_of(path: Path) -> str:
    """The package that a file stands in."""
    return path.relative_to(SOURCE / "oshaberi").parts[0]


def room_of(path: Path) -> str:
    """The package that a file stands in; within the bot, the part of the bot."""
    parts = path.relative_to(SOURCE / "oshaberi").parts
    return ".".join(parts[:2]) if parts[0] == "bot" and len(parts) > 2 else parts[0]


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def test_there_is_something_to_read() -> None:
    assert len(TEXT) > 30
    assert "oshaberi.text.config" in imports(SOURCE / "oshaberi" / "text" / "engine.py")


@pytest.mark.parametrize("path", TEXT, ids=name_of)
def test_text_knows_nothing_outside(path: Path) -> None:
    """Standard library, `regex`, events, errors and its own."""
    foreign = roots(path) - sys.stdlib_module_names - {"regex", "oshaberi"}
    assert foreign == ({"mypy_extensions"} if path.name == FOR_MYPYC else set())
    ours = {name for name in imports(path) if is_within(name, "oshaberi")}
    allowed = {name for name in ours if any(is_within(name, root) for root in OURS_IN_TEXT)}
    assert ours - allowed <= {"oshaberi"}


@pytest.mark.parametrize("path", TEXT, ids=name_of)
def test_text_has_no_clock_no_network_no_chance(path: Path) -> None:
    used = roots(path) & NO_CLOCK_NO_NET
    assert used <= ({"random"} if path.name in MAY_DRAW else set())


def test_chance_comes_late() -> None:
    """Only degree 3 draws, so only there is `random` loaded."""
    path = SOURCE / "oshaberi" / "text" / "messages" / "composer.py"
    body = ast.parse(path.read_text(encoding="utf-8")).body
    at_once = {node.module for node in body if isinstance(node, ast.ImportFrom)}
    assert "oshaberi.text.messages.humanize" in imports(path)
    assert "oshaberi.text.messages.humanize" not in at_once


DISCORD_PARTS_OF_THE_BOT = {
    f"bot.{part}"
    for part in (
        *("client", "commands", "coordination", "faces", "observability", "status_page"),
        "wiring",
    )
}
"""Turns, tools, storage, settings and the conversation know no Discord library."""


@pytest.mark.parametrize(
    ("library", "packages"),
    [
        ("discord", {"discord_io", *DISCORD_PARTS_OF_THE_BOT}),
        ("discord_stage", {"bot.local_run", "cli", "inspector"}),
        ("sqlalchemy", {"bot.storage"}),
        ("alembic", {"bot.storage"}),
        ("aiosqlite", {"bot.storage"}),
        ("asyncpg", {"bot.storage"}),
        ("cryptography", {"bot.storage"}),
        ("redis", {"bot.coordination", "bot.wiring", "cli", "stream"}),
        ("mcp", {"bot.tools"}),
        ("PIL", {"render", "providers"}),
        ("pydantic", {"bot.config"}),
        ("click", {"cli", "__main__.py"}),
    ],
)
def test_only_few_packages_know_a_library(library: str, packages: set[str]) -> None:
    assert {room_of(path) for path in FILES if library in roots(path)} <= packages


def documented(heading: str) -> dict[str, set[str]]:
    """A table of packages in docs/architecture.md: each, and which others it may import."""
    page = (SOURCE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    [table] = re.findall(rf"^\| {heading} \|.*?\n\n", page, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| `(\w+)` \| [^|]* \| ([^|]*) \|$", table, re.MULTILINE)
    return {
        package: set(dict(rows)) - {package}
        if known == "everything"
        else set(re.findall(r"`(\w+)`", known))
        for package, known in rows
    }


DOCUMENTED = documented("package")
PACKAGES = {path.parent.name for path in (SOURCE / "oshaberi").glob("*/__init__.py")}
BOT_DOCUMENTED = documented("part of the bot")
BOT_PARTS = {path.parent.name for path in (SOURCE / "oshaberi" / "bot").glob("*/__init__.py")}


def test_every_file_of_the_walk_exists() -> None:
    page = (SOURCE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    walk = page[page.index("## A walk through the house") : page.index("## The packages")]
    named = re.findall(r"`([\w/]+\.py)`", walk)
    assert len(named) > 40
    assert [name for name in named if not (SOURCE / "oshaberi" / name).is_file()] == []


def packages_known_by(package: str) -> set[str]:
    """Other packages of ours that a package imports anywhere, for types too."""
    known = {
        name.split(".")[1]
        for path in FILES
        if part_of(path) == package
        for name in imports(path)
        if is_within(name, "oshaberi") and "." in name
    }
    return known & PACKAGES - {package}


def parts_known_by(part: str) -> set[str]:
    """Other parts of the bot that a part of the bot imports anywhere, for types too."""
    known = {
        name.split(".")[2]
        for path in FILES
        if room_of(path) == f"bot.{part}"
        for name in imports(path)
        if is_within(name, "oshaberi.bot") and name.count(".") > 1
    }
    return known & BOT_PARTS - {part}


def test_every_package_is_documented() -> None:
    assert set(DOCUMENTED) == PACKAGES
    assert set(BOT_DOCUMENTED) == BOT_PARTS


@pytest.mark.parametrize("package", DOCUMENTED)
def test_a_package_knows_only_what_the_architecture_says(package: str) -> None:
    assert packages_known_by(package) - DOCUMENTED[package] == set()


@pytest.mark.parametrize("part", BOT_DOCUMENTED)
def test_a_part_of_the_bot_knows_only_what_the_architecture_says(part: str) -> None:
    assert parts_known_by(part) - BOT_DOCUMENTED[part] == set()


@pytest.mark.parametrize("package", sorted(PACKAGES - {"bot", "cli"}))
def test_the_library_does_not_know_the_bot(package: str) -> None:
    """Whoever embeds the library needs nothing of what only the bot needs."""
    assert "bot" not in packages_known_by(package)


def test_importing_the_library_imports_none_of_the_bot() -> None:
    library = sorted(PACKAGES - {"bot", "cli", "inspector", "discord_io"})
    loaded = loaded_by("import oshaberi, " + ", ".join(f"oshaberi.{name}" for name in library))
    assert [name for name in loaded if is_within(name, "oshaberi.bot")] == []


@pytest.mark.parametrize("part", ["turns", "tools", "storage", "conversation"])
def test_nobody_inside_knows_who_wires_it(part: str) -> None:
    """Arrows point one way, whatever the table says."""
    assert not parts_known_by(part) & {"wiring", "client", "commands", "local_run", "recovery"}


def test_the_middle_does_not_know_the_ends() -> None:
    ends = {"bot", "providers", "scenes", "discord_io"}
    assert not packages_known_by("stream") & ends
    assert not packages_known_by("delivery") & ends


def test_packages_form_no_cycle(capsys: pytest.CaptureFixture[str]) -> None:
    """`pytest -s` prints the order: each package comes after everything it imports."""
    graph = package_graph()
    lines = [f"{name}: {', '.join(sorted(graph[name])) or '-'}" for name in order(graph)]
    with capsys.disabled():
        print("", *lines, sep="\n")  # noqa: T201
    assert len(lines) == len(PACKAGES)


def test_a_cycle_would_be_found() -> None:
    looped = {**package_graph(), "text": frozenset({"bot"})}
    with pytest.raises(CycleError):
        order(looped)


def inner_packages() -> list[str]:
    """Every package below `oshaberi`, at any depth: `bot`, `bot.turns`, …"""
    folders = {path.parent for path in FILES if path.name == "__init__.py"}
    return sorted(name_of(one).replace("/", ".") for one in folders if name_of(one) != ".")


@pytest.mark.parametrize("package", inner_packages())
def test_the_parts_of_a_package_form_no_cycle(package: str) -> None:
    assert cycles(inner_graph(package)) == set()


def test_the_parts_of_the_packages_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """`pytest -s` prints the sub-packages of each package, each after all that it imports."""
    lines = [f"{package}: {' < '.join(rooms(package))}" for package in sorted(PACKAGES)]
    with capsys.disabled():
        print("", *(line for line in lines if "<" in line), sep="\n")  # noqa: T201


def rooms(package: str) -> list[str]:
    """The sub-packages of a package, each after all that it imports."""
    folder = SOURCE.joinpath("oshaberi", *package.split("."))
    folders = {path.parent.name for path in folder.glob("*/*.py")}
    return [name for name in order(inner_graph(package)) if name in folders]


@pytest.mark.parametrize(
    ("package", "in_order"),
    [
        ("text", "markers segments messages"),
        ("bot.turns", "services admission context generation running"),
        ("bot", "client commands"),
    ],
)
def test_the_parts_of_a_package_come_in_order(package: str, in_order: str) -> None:
    """Each imports the one before it: that of a turn is the order in which a turn runs."""
    names = in_order.split()
    assert [name for name in rooms(package) if name in names] == names
    graph = inner_graph(package)
    assert all(one in graph[other] for one, other in pairwise(names))


def test_a_cycle_of_parts_would_be_found() -> None:
    graph = {**inner_graph("text"), "markers": frozenset({"messages"})}
    assert {"markers", "segments", "messages"} <= set().union(*cycles(graph))
    assert cycles({"a": frozenset("b"), "b": frozenset("c"), "c": frozenset()}) == set()


def test_the_picture_of_the_packages_is_up_to_date() -> None:
    now = drawn(package_graph())
    assert PICTURE.read_text(encoding="utf-8") == now, "run: make generate"


def test_no_class_name_is_used_twice() -> None:
    where: dict[str, list[str]] = {}
    for path in FILES:
        for node in source_nodes(path).classes:
            where.setdefault(node.name, []).append(name_of(path))
    assert {name: files for name, files in where.items() if len(files) > 1} == {}


MAPPED = (
    *("cli", "inspector", "providers", "providers.capabilities", "providers.refusals", "recording"),
    *("render", "scenes", "bot.config", "bot.local_run", "bot.local_run.demo_model", "bot.logs"),
    *("bot.storage", "bot.storage.schema", "bot.tools", "bot.tools.mcp", "delivery"),
)


@pytest.mark.parametrize("package", MAPPED)
def test_the_docstring_of_a_package_is_its_map(package: str) -> None:
    """It names each part. Where one file is like the other (commands, routes), it need not."""
    folder = SOURCE.joinpath("oshaberi", *package.split("."))
    source = (folder / "__init__.py").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", ast.get_docstring(ast.parse(source)) or ""))
    assert set(inner_graph(package)) - named == set()


ONE_CALL = {"Delivery", "ModelStreamError", "RecordingSink", "deliver", "delivery", "stop"}
"""The public names that need an event loop."""

EMPTY_WORDS = frozenset({"core", "helpers", "manager", "misc", "shared", "utils", "values"})


def test_no_module_has_an_empty_name() -> None:
    assert [name_of(path) for path in FILES if path.stem in EMPTY_WORDS] == []


def test_every_package_has_a_map() -> None:
    packages = [path for path in FILES if path.name == "__init__.py"]
    without = [p for p in packages if not ast.get_docstring(ast.parse(p.read_text("utf-8")))]
    assert [name_of(path.parent) for path in without] == []


def test_a_map_names_everything_in_its_package() -> None:
    """A docstring that lists some modules of its package lists all of them."""
    packages = [path for path in FILES if path.name == "__init__.py"]
    docs = {path.parent: ast.get_docstring(ast.parse(path.read_text("utf-8"))) for path in packages}
    maps = {folder: doc for folder, doc in docs.items() if doc and "\n- `" in doc}
    parts = [path.parent if path.name == "__init__.py" else path for path in FILES]
    missing = [p for p in parts if p.parent in maps and f"`{p.stem}`" not in maps[p.parent]]
    assert [name_of(path) for path in missing] == []


def loaded_by(statement: str) -> set[str]:
    """What a fresh interpreter has loaded after `statement`, without site packages' own doing."""
    code = f"import sys; before = set(sys.modules); {statement}; print(*set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=SOURCE
    )
    return set(done.stdout.split())


def test_importing_it_is_light() -> None:
    assert loaded_by("import oshaberi") <= {"oshaberi", "__future__"}
    names = ", ".join(sorted(set(oshaberi.__all__) - ONE_CALL))
    loaded = loaded_by(f"from oshaberi import {names}")
    assert "oshaberi.text.engine" in loaded
    assert not loaded & {"asyncio", "emoji", "PIL", "discord", "pydantic", "sqlalchemy", "click"}


def test_the_one_call_imports_no_library_before_it_is_made() -> None:
    loaded = loaded_by("from oshaberi import *")
    assert "oshaberi.one_call.call" in loaded
    assert not loaded & {"PIL", "discord", "pydantic", "sqlalchemy", "click", "openai", "anthropic"}


def test_a_bot_at_rest_has_loaded_nothing_that_it_does_not_use() -> None:
    """Each of these takes megabytes; the bench of the whole bot (`start`) says how many."""
    loaded = loaded_by("import oshaberi.cli.commands.run, oshaberi.bot.wiring.bot_wiring")
    later = {"alembic", "cryptography", "emoji", "jsonschema", "openai", "PIL", "polib"}
    assert {name.partition(".")[0] for name in loaded} & later == set()
    assert "aiohttp.web" not in loaded
    assert "sqlalchemy.dialects.postgresql" not in loaded


def test_a_plain_stream_stays_light() -> None:
    statement = "import oshaberi as o; e = o.TextEngine(); e.feed('Hi there.\\nYes'); e.finish()"
    assert not loaded_by(statement) & {"asyncio", "emoji", "PIL", "random", "logging"}


def test_a_type_checker_sees_wrong_imports_of_lazy_packages() -> None:
    """A `__getattr__` of a module that mypy sees lets any name be imported from it."""
    lazy = [path for path in FILES if "def __getattr__(name" in path.read_text(encoding="utf-8")]

    for path in lazy:
        body = ast.parse(path.read_text(encoding="utf-8")).body
        seen = [one for one in body if isinstance(one, ast.FunctionDef)]
        assert "__getattr__" not in [one.name for one in seen], name_of(path)
