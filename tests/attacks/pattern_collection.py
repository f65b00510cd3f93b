"""Every regular expression of Oshaberi and of the stage, wherever it is written.

`call_sites` finds the calls of `re` and `regex` by reading the source. `made_patterns` runs in a
process of its own (`python -m tests.attacks.pattern_collection`): it notes every pattern that is
compiled while all modules are imported and while `EXERCISES` make those that depend on something.
"""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import regex

import discord_stage
import oshaberi

PACKAGES = (oshaberi, discord_stage)
SOURCES = tuple(Path(str(one.__file__)).parent for one in PACKAGES)
MODULES = ("re", "regex")
UNKNOWN = frozenset({"finditer"})
FUNCTIONS = (
    "compile",
    "search",
    "match",
    "fullmatch",
    "split",
    "sub",
    "subn",
    "findall",
    "finditer",
)


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call that gives a pattern to `re` or `regex`. `name` is `file.py::VARIABLE_OR_FUNCTION`.

    The stage's files begin with `discord_stage/`.
    """

    file: str
    first_line: int
    last_line: int
    name: str
    pattern: str | None
    """None if it is put together when the program runs."""
    flags: int
    module: str
    function: str


@dataclass(frozen=True, slots=True)
class SourcePattern:
    """One pattern of the source. `methods` are those that it is used with, as far as known."""

    name: str
    module: str
    pattern: str
    flags: int
    methods: frozenset[str]

    def compiled(self) -> Any:
        return (re if self.module == "re" else regex).compile(self.pattern, self.flags)

    @property
    def is_anchored(self) -> bool:
        """Whether it is only tried where a text begins, not at each of its places."""
        return self.methods <= {"match", "fullmatch"}


def source_patterns(made: Iterable[Made]) -> list[SourcePattern]:
    """Put together what was read and what was made. A call without a pattern is an error."""
    by_file: dict[str, list[Made]] = {}
    for one in made:
        by_file.setdefault(one[0], []).append(one)
    uses, found = _uses(), {}
    for site in call_sites():
        patterns = [(site.pattern, site.flags)] if site.pattern is not None else []
        patterns += [
            (pattern, flags)
            for _file, line, _module, pattern, flags in by_file.get(site.file, ())
            if site.first_line <= line <= site.last_line
        ]
        if not patterns:
            raise AssertionError(f"{site.name}: make its pattern in `_exercise`")
        methods = uses.get(site.name, UNKNOWN) if site.function == "compile" else {site.function}
        for pattern, flags in patterns:
            made_pattern = SourcePattern(site.name, site.module, pattern, flags, frozenset(methods))
            found[site.name, site.module, pattern, flags] = made_pattern
    return list(found.values())


# -- reading the source --------------------------------------------------------------------------


def call_sites() -> Iterator[CallSite]:
    for place, file in _files():
        yield from _sites(place, ast.parse(file.read_text("utf-8")))


def _files() -> Iterator[tuple[str, Path]]:
    files = [file for source in SOURCES for file in sorted(source.rglob("*.py"))]
    return ((_place(file) or "", file) for file in files)


def _place(file: Path) -> str | None:
    """Return how a file of ours is named here; None if it is not ours."""
    for source in SOURCES:
        if file.is_relative_to(source):
            return file.relative_to(source.parent).as_posix().removeprefix("oshaberi/")
    return None


def _sites(file: str, tree: ast.Module) -> Iterator[CallSite]:
    for name, node in _named_nodes(tree, ""):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        module = ast.unparse(node.func.value)
        if module in MODULES and node.func.attr in FUNCTIONS and node.args:
            given = {one.arg: one.value for one in node.keywords}
            last = node.args[1] if node.func.attr == "compile" and len(node.args) > 1 else None
            flags = given.get("flags", last)
            yield CallSite(
                file,
                node.lineno,
                node.end_lineno or node.lineno,
                f"{file}::{name}",
                _literal(node.args[0]),
                0 if flags is None else _flags(flags),
                module,
                node.func.attr,
            )


def _named_nodes(node: ast.AST, name: str) -> Iterator[tuple[str, ast.AST]]:
    """Yield all nodes with the function or the variable that they belong to."""
    for child in ast.iter_child_nodes(node):
        inner = name
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{name}.{child.name}".lstrip(".")
        elif isinstance(child, ast.Assign | ast.AnnAssign) and not name:
            target = child.targets[0] if isinstance(child, ast.Assign) else child.target
            inner = ast.unparse(target)
        yield inner, child
        yield from _named_nodes(child, inner)


def _literal(node: ast.expr) -> str | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if isinstance(value, str) else None


def _uses() -> dict[str, set[str]]:
    """Return the methods that are called on each variable, by its name as in `CallSite`.

    A variable that is used in any other way may be called with any method.
    """
    uses: dict[str, set[str]] = {}
    for place, file in _files():
        tree = ast.parse(file.read_text("utf-8"))
        homes = _homes(tree)
        called = {
            id(node.value): node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                name = homes.get(node.id, f"{place}::{node.id}")
                uses.setdefault(name, set()).add(called.get(id(node), "finditer"))
    return uses


def _homes(tree: ast.Module) -> dict[str, str]:
    """Return where the names are declared that a file imports from others of ours."""
    return {
        alias.asname or alias.name: f"{node.module.replace('.', '/').removeprefix('oshaberi/')}.py"
        f"::{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def _flags(node: ast.expr) -> int:
    return int(eval(ast.unparse(node), {"re": re, "regex": regex}))


# -- making the patterns -------------------------------------------------------------------------

Made = tuple[str, int, str, str, int]
"""File, line, module, pattern, flags."""


def made_patterns() -> list[Made]:
    """Return the patterns that a fresh process makes."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.attacks.pattern_collection"]
    run = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=SOURCES[0].parents[1]
    )
    return [tuple(one) for one in json.loads(run.stdout)]


def _noting(module: Any, name: str, made: set[Made]) -> Callable[..., Any]:
    real = getattr(module, name)

    def noted(pattern: Any, *args: Any, **kwargs: Any) -> Any:
        frame = sys._getframe(1)
        place = _place(Path(frame.f_code.co_filename))
        if isinstance(pattern, str) and place is not None:
            flags = kwargs.get("flags", args[0] if name == "compile" and args else 0)
            made.add((place, frame.f_lineno, module.__name__, pattern, int(flags)))
        return real(pattern, *args, **kwargs)

    return noted


def _import_everything() -> None:
    for package, source in zip(PACKAGES, SOURCES, strict=True):
        for found in pkgutil.walk_packages([str(source)], f"{package.__name__}."):
            if "migrations" not in found.name and not found.name.endswith("__main__"):
                importlib.import_module(found.name)


def made_here() -> list[Made]:
    """Import everything and exercise what makes patterns, in this process."""
    made: set[Made] = set()
    for module in (re, regex):
        for name in FUNCTIONS:
            setattr(module, name, _noting(module, name, made))
    _import_everything()
    _exercise()
    return sorted({*made, *_in_data()})


def _exercise() -> None:
    """Make the patterns that depend on something: a name, a setting, a tool."""
    from discord_stage.cdn.drawn_avatars import blob
    from discord_stage.request_schema.check import _format, _missing_patterns
    from oshaberi import TextConfig, TextEngine
    from oshaberi.bot.characters.lorebooks import book_from
    from oshaberi.bot.conversation.answer_buttons import pressed_button
    from oshaberi.bot.local_run.demo_model import requests, written_scenes
    from oshaberi.bot.local_run.demo_model.playback import _assigned
    from oshaberi.bot.tools.questions import pressed_action
    from oshaberi.providers.capabilities.known_models import TABLE, capabilities_of
    from oshaberi.providers.refusals.named_fields import _anywhere
    from oshaberi.providers.wire.text_outlet import SpeakerHoldback, StopStringCut
    from oshaberi.text.config import Persona
    from oshaberi.text.silence import SilencePatterns

    for family in TABLE:
        capabilities_of(family, "no such model")
    # Anybody's pattern, which is searched with a time limit (`lore_scan.PATTERN_S`).
    book_from({"entries": [{"keys": ["/tea/i"], "content": "hot"}]})
    list(_anywhere("max_tokens", ["max_tokens"]))
    pressed_button("oshaberi:no such button")
    pressed_action("oshaberi:no such action")
    SpeakerHoldback(["Mika"], 32)
    StopStringCut(["###", "END"])
    blob("no such thing")
    for key in ("two words", "日本"):
        written_scenes._pattern(key)
    requests._pattern("read_web_page")
    _assigned({"properties": {"city": {"type": "string"}}}, "city = Kyoto")
    _missing_patterns()
    list(_format({"pattern": "[a-z]+"}, "x", ()))  # Discord's routes have none today
    SilencePatterns(["NO_REPLY", "[silence]"], ["Mika"], is_offered=True, is_topic=False)
    engine = TextEngine(TextConfig(persona=Persona("Mika", ("Mi",)), output_prefill="Well,"))
    engine.feed("Mika: Well, hello.\n")
    engine.finish()


def _in_data() -> Iterator[Made]:
    """Yield the patterns of data files, as made where they are used."""
    from discord_stage.request_schema.check import TABLE_FILE
    from oshaberi.bot.local_run.demo_model.playback import _languages

    talk = [kind["if"] for language in _languages().values() for kind in language["kinds"]]
    table = json.loads(TABLE_FILE.read_text("utf-8"))
    for name, patterns in (
        ("bot/local_run/demo_model/playback.py::talk", talk),
        ("discord_stage/request_schema/check.py::_format", _patterns_in(table)),
    ):
        (site,) = (site for site in call_sites() if site.name == name)
        yield from ((site.file, site.first_line, "re", pattern, 0) for pattern in patterns)


def _patterns_in(table: Any) -> Iterator[str]:
    """Yield the patterns of the stage's table of constraints."""
    values = table.values() if isinstance(table, dict) else table
    if isinstance(table, dict) and isinstance(table.get("pattern"), str):
        yield table["pattern"]
    for value in values if isinstance(values, Iterable) and not isinstance(values, str) else ():
        yield from _patterns_in(value)


if __name__ == "__main__":
    print(json.dumps(made_here()))  # noqa: T201
