"""Draws which package imports which, from the sources: `make generate` writes packages.svg.

A row holds packages that depend only on rows below it. An arrow that follows from others is left
out: where A imports B and C, and B imports C, only A → B → C is drawn.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "oshaberi"
PICTURE = Path(__file__).with_name("packages.svg")

Graph = Mapping[str, frozenset[str]]

BOX_WIDTH, BOX_HEIGHT, GAP_X, GAP_Y, MARGIN = 112, 34, 28, 46, 20
STYLE = """
  rect { fill: #5865f2; rx: 6px } text { fill: #fff; font: 14px sans-serif; text-anchor: middle }
  path { stroke: #949ba4; stroke-width: 1.4; fill: none; marker-end: url(#head) }
"""


@cache
def package_graph() -> Graph:
    """Each package of `oshaberi` and the other packages that it imports, for types too."""
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    return {name: _imported_by(name) & packages - {name} for name in sorted(packages)}


@cache
def inner_graph(package: str) -> Graph:
    """The sub-packages and modules of a package (`bot`, `bot.turns`), and their imports."""
    folder = SOURCE.joinpath(*package.split("."))
    parts = {path.stem for path in folder.glob("*.py")} | {
        path.parent.name for path in folder.glob("*/__init__.py")
    }
    parts -= {"__init__"}
    return {name: _imported_within(folder, name) & parts - {name} for name in sorted(parts)}


def cycles(graph: Graph) -> set[frozenset[str]]:
    """The groups in which everything imports everything else, directly or through others."""
    reached = {name: _reachable(graph, name) for name in graph}
    groups = (
        frozenset(other for other in reached[name] if name in reached[other])
        for name in graph
        if name in reached[name]
    )
    return set(groups)


def order(graph: Graph) -> list[str]:
    """The packages, each behind everything it imports. A cycle raises `graphlib.CycleError`."""
    return list(TopologicalSorter(graph).static_order())


def reduced(graph: Graph) -> dict[str, frozenset[str]]:
    """Without the arrows that follow from others."""
    return {
        name: frozenset(
            known
            for known in knows
            if not any(known in _reachable(graph, other) for other in knows if other != known)
        )
        for name, knows in graph.items()
    }


def drawn(graph: Graph) -> str:
    rows = _rows(graph)
    widest = max(map(len, rows))
    width = 2 * MARGIN + widest * BOX_WIDTH + (widest - 1) * GAP_X
    height = 2 * MARGIN + len(rows) * BOX_HEIGHT + (len(rows) - 1) * GAP_Y
    places = _places(rows, width)
    arrows = [
        _arrow(places[name], places[known])
        for name, knows in sorted(reduced(graph).items())
        for known in sorted(knows)
    ]
    boxes = [_box(name, *places[name]) for name in sorted(places)]
    head = '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            "<title>Which package of oshaberi imports which</title>",
            f"<style>{STYLE}</style>",
            f'<defs>{head} orient="auto"><path d="M0 0 8 4 0 8z" style="fill:#949ba4;stroke:none"/>'
            "</marker></defs>",
            *arrows,
            *boxes,
            "</svg>\n",
        ]
    )


def _imported_by(package: str) -> frozenset[str]:
    return _imported_within(SOURCE, package)


def _imported_within(folder: Path, part: str) -> frozenset[str]:
    """The names right below `folder` that one of its parts, a folder or a module, imports."""
    depth = len(folder.relative_to(SOURCE.parent).parts)
    beginning = [*folder.relative_to(SOURCE.parent).parts]
    module = folder / f"{part}.py"
    found: set[str] = set()
    for path in [module] if module.exists() else (folder / part).rglob("*.py"):
        for name in _imported_names(path):
            words = name.split(".")
            if words[:depth] == beginning and len(words) > depth:
                found.add(words[depth])
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class SourceNodes:
    """What is asked of a source: its imports and its classes, wherever they stand."""

    imports: tuple[ast.Import | ast.ImportFrom, ...]
    classes: tuple[ast.ClassDef, ...]


@cache
def source_nodes(path: Path) -> SourceNodes:
    """Read a source once: all of them together take a second."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    return SourceNodes(
        tuple(node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)),
        tuple(node for node in nodes if isinstance(node, ast.ClassDef)),
    )


@cache
def _imported_names(path: Path) -> frozenset[str]:
    return frozenset(name for node in source_nodes(path).imports for name in _names(node))


def _names(node: ast.Import | ast.ImportFrom) -> Iterable[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names if alias.name.startswith("oshaberi.")]
    if (node.module or "").split(".")[0] == "oshaberi":
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def _reachable(graph: Graph, start: str) -> set[str]:
    found: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(graph[name])
    return found


def _rows(graph: Graph) -> list[list[str]]:
    """From the top: a package stands above everything it imports."""
    level: dict[str, int] = {}
    for name in order(graph):
        level[name] = 1 + max((level[known] for known in graph[name]), default=-1)
    return [
        sorted(name for name in level if level[name] == row)
        for row in range(max(level.values()), -1, -1)
    ]


def _places(rows: list[list[str]], width: int) -> dict[str, tuple[int, int]]:
    places: dict[str, tuple[int, int]] = {}
    for number, row in enumerate(rows):
        taken = len(row) * BOX_WIDTH + (len(row) - 1) * GAP_X
        for column, name in enumerate(row):
            x = (width - taken) // 2 + column * (BOX_WIDTH + GAP_X)
            places[name] = (x, MARGIN + number * (BOX_HEIGHT + GAP_Y))
    return places


def _arrow(start: tuple[int, int], end: tuple[int, int]) -> str:
    x1, y1 = start[0] + BOX_WIDTH // 2, start[1] + BOX_HEIGHT
    x2, y2 = end[0] + BOX_WIDTH // 2, end[1]
    bend = GAP_Y // 2 + (y2 - y1) // 4
    return f'<path d="M{x1} {y1} C{x1} {y1 + bend} {x2} {y2 - bend} {x2} {y2}"/>'


def _box(name: str, x: int, y: int) -> str:
    text = f'<text x="{x + BOX_WIDTH // 2}" y="{y + BOX_HEIGHT // 2 + 5}">{name}</text>'
    return f'<rect x="{x}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}"/>{text}'
