"""The table of what each route takes and returns: read once, looked up by method and path."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from oshaberi.stage.world.discord_records import Json

TABLE_FILE = Path(__file__).with_name("constraints.json")
_VARIABLE = re.compile(r"\{[^{}]*\}")


def route_key(method: str, path: str) -> str:
    """Return `POST /channels/{}/messages`, the same key whatever the variables are called."""
    return f"{method.upper()} {_VARIABLE.sub('{}', path)}"


@dataclass(frozen=True, slots=True)
class RouteConstraints:
    """What one route takes (nodes of the table, or None), and the statuses of its answers."""

    statuses: tuple[int, ...]
    path: tuple[Json, ...] = ()
    """A node for each variable of the path, in order."""
    query: Json | None = None
    body: Json | None = None
    body_required: bool = False

    @property
    def makes_something(self) -> bool:
        """Tell whether a success is 201 (Created)."""
        return 201 in self.statuses and 200 not in self.statuses


@dataclass(frozen=True, slots=True)
class ConstraintTable:
    routes: dict[str, RouteConstraints]
    shapes: dict[str, Json]
    """Objects by name; a node `{"is": "shape", "name": …}` stands for one."""
    missing: tuple[str, ...]
    """`METHOD /path` of every route that Discord has and the stage lacks."""

    def missing_route(self, method: str, path: str) -> str | None:
        """Return the route of Discord that a path means, if the stage does not have it."""
        for name, pattern in _missing_patterns():
            if pattern.fullmatch(f"{method} {path}"):
                return name
        return None

    def route(self, method: str, path: str) -> RouteConstraints | None:
        return self.routes.get(route_key(method, path))


@cache
def constraint_table() -> ConstraintTable:
    table = json.loads(TABLE_FILE.read_text(encoding="utf-8"))
    routes = {
        key: RouteConstraints(
            tuple(entry["status"]),
            tuple(entry.get("path", ())),
            entry.get("query"),
            entry.get("body"),
            entry.get("body_required", False),
        )
        for key, entry in table["routes"].items()
    }
    return ConstraintTable(routes, table["shapes"], tuple(table["missing"]))


@cache
def _missing_patterns() -> list[tuple[str, re.Pattern[str]]]:
    """Return patterns, fixed words before variables, so that a path finds the right route."""
    names = sorted(constraint_table().missing, key=lambda name: name.count("{"))
    return [
        (name, re.compile("[^/]+".join(map(re.escape, _VARIABLE.split(name))))) for name in names
    ]
