"""Makes bodies as Discord's description wants them, and breaks each in one place. From a seed.

A break is of one kind: type, null, required, length, count, range, choice, format or set. The same
seed makes the same bodies.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from discord_stage.request_schema.check import constraint_table

Json = dict[str, Any]
DEPTH_MOST = 6
EXTRA_CHANCE = 0.25
LONG = 6000
"""Longer texts than this are not written: the body would be refused for its size."""
OTHER_TYPES: dict[str, tuple[object, ...]] = {
    "string": (5, True, [], {}, 1.5),
    "snowflake": (True, [], {}, "abc", "1.5", "-3", "", 1.5),
    "integer": ("x", True, [], {}, 1.5),
    "number": ("x", True, [], {}),
    "boolean": ("x", 5, [], {}),
    "list": ("x", 5, True, {}),
    "object": ("x", 5, True, []),
    "union": (),
}


@dataclass(frozen=True, slots=True)
class BrokenBody:
    kind: str
    path: tuple[str | int, ...]
    body: Any
    valid: Any
    """The same without the break."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value stands, what it must be, and whether its key must be there."""

    path: tuple[str | int, ...]
    node: Json
    required: bool


class BrokenBodies:
    """`one(node)` is the next broken body for a node of the constraint table."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def one(self, node: Json) -> BrokenBody:
        for _ in range(200):
            valid = self.valid(node)
            places = [p for p in self._places(node, valid) if p.path]
            self._random.shuffle(places)
            for place in places[:3]:
                broken = self._broken(valid, place)
                if broken is not None:
                    return broken
        raise AssertionError(f"nothing can be broken in {node}")

    def valid(self, node: Json, depth: int = 0) -> Any:
        node = self._chosen(_resolved(node), depth)
        make: dict[str, Callable[[Json, int], Any]] = {
            "string": self._string,
            "integer": self._whole,
            "number": self._whole,
            "boolean": lambda _node, _depth: self._random.random() < 0.5,
            "list": self._list,
            "object": self._object,
            "any": lambda _node, _depth: "x",
        }
        return make[node["is"]](node, depth)

    def _chosen(self, node: Json, depth: int) -> Json:
        while node["is"] == "union":
            branches = [_resolved(branch) for branch in node["of"]]
            shallow = [b for b in branches if b["is"] != "object" or not _holds_objects(b)]
            node = self._random.choice(shallow if shallow and depth > 2 else branches)
        return node

    def _string(self, node: Json, _depth: int) -> str:
        if "values" in node:
            return str(self._random.choice(node["values"]))
        match node.get("format"):
            case "snowflake":
                return str(self._random.randint(10**17, 10**18))
            case "uri":
                return "https://example.com/a.png"
            case "date-time":
                return "2026-01-02T03:04:05+00:00"
            case _:
                return "#abcdef" if "pattern" in node else self._text(node)

    def _text(self, node: Json) -> str:
        least = max(node.get("min", 0), 1)
        letters = self._random.randint(least, max(least, min(node.get("max", 12), least + 8)))
        return "".join(self._random.choice("abcdefghij") for _ in range(letters))

    def _whole(self, node: Json, _depth: int) -> Any:
        if "values" in node:
            return self._random.choice(node["values"])
        least = max(node.get("min", 0), 0)
        return self._random.randint(least, min(node.get("max", least + 5), least + 5))

    def _list(self, node: Json, depth: int) -> list[Any]:
        least = node.get("min", 0)
        count = max(least, self._random.randint(0, 2) if depth < DEPTH_MOST else 0)
        made: list[Any] = []
        for _ in range(min(count, node.get("max", count)) * 20):
            entry = self.valid(node["items"], depth + 1)
            if len(made) < count and not (node.get("unique") and entry in made):
                made.append(entry)
        return made

    def _object(self, node: Json, depth: int) -> Json:
        if "each" in node:
            return {"de": self.valid(node["each"], depth + 1)}
        needed = node.get("required", ())
        return {
            key: self.valid(field, depth + 1)
            for key, field in node.get("fields", {}).items()
            if key in needed or (depth < DEPTH_MOST and self._random.random() < EXTRA_CHANCE)
        }

    def _places(
        self, node: Json, value: Any, path: tuple[str | int, ...] = (), required: bool = False
    ) -> Iterator[_Place]:
        node = _resolved(node)
        if node["is"] == "union":
            yield _Place(path, node, required)
            if isinstance(value, dict):
                node = _branch_of(node, value)
        else:
            yield _Place(path, node, required)
        if isinstance(value, list) and "items" in node:
            for number, entry in enumerate(value):
                yield from self._places(node["items"], entry, (*path, number))
        elif isinstance(value, dict) and "fields" in node:
            # Where several branches have all its keys, inner ones may be another's.
            known = {key: entry for key, entry in value.items() if key in node["fields"]}
            for key, entry in known.items():
                needed = key in node.get("required", ())
                yield from self._places(node["fields"][key], entry, (*path, key), needed)

    def _broken(self, valid: Any, place: _Place) -> BrokenBody | None:
        ways = list(self._ways(place, _at(valid, place.path)))
        if not ways:
            return None
        kind, value = self._random.choice(ways)
        body = copy.deepcopy(valid)
        holder, last = _at(body, place.path[:-1]), place.path[-1]
        if kind == "required":
            del holder[last]
        else:
            holder[last] = value
        return BrokenBody(kind, place.path, body, valid)

    def _ways(self, place: _Place, value: Any) -> Iterator[tuple[str, Any]]:
        """Every way to break it: its kind, and the value that stands there instead."""
        node, kind = place.node, place.node["is"]
        if place.required:
            yield "required", None
        if not node.get("null") and kind not in ("any", "union"):
            yield "null", None
        wrong = OTHER_TYPES["snowflake" if node.get("format") == "snowflake" else kind]
        if wrong:
            yield "type", self._random.choice(wrong)
        if "values" in node:
            yield "choice", "nothing-of-the-kind" if kind == "string" else 98_765
        elif kind in ("integer", "number"):
            yield from (("range", node["max"] + 1),) if "max" in node else ()
            yield from (("range", node["min"] - 1),) if "min" in node else ()
        elif kind == "string":
            yield from _bad_texts(node)
        elif kind == "list":
            yield from self._bad_lists(node, value)

    def _bad_lists(self, node: Json, value: list[Any]) -> Iterator[tuple[str, Any]]:
        if value and node.get("max", LONG) < 200:
            yield "count", [copy.deepcopy(value[0]) for _ in range(node["max"] + 1)]
        if node.get("min"):
            yield "count", value[: node["min"] - 1]
        if value and node.get("unique"):
            yield "set", [value[0], copy.deepcopy(value[0])]


def _bad_texts(node: Json) -> Iterator[tuple[str, Any]]:
    if "max" in node and node["max"] <= LONG:
        start = "https://example.com/" if node.get("format") == "uri" else ""
        yield "length", start + "x" * (node["max"] + 1)
    if node.get("min"):
        yield "length", "x" * (node["min"] - 1)
    if node.get("format") == "uri":
        yield from (("format", "no address"), ("format", "example.com"), ("format", "http://"))
    if node.get("format") == "date-time":
        yield from (("format", "yesterday"), ("format", "2026-13-45T99:00:00Z"))


def _resolved(node: Json) -> Json:
    if node["is"] != "shape":
        return node
    shape = constraint_table().shapes[node["name"]]
    return shape | {"null": True} if node.get("null") else shape


def _holds_objects(node: Json) -> bool:
    return "components" in node.get("fields", {}) or "options" in node.get("fields", {})


def _branch_of(node: Json, value: Json) -> Json:
    """The branch that the value was made from: it has its type, and all its keys."""
    branches = [b for b in map(_resolved, node["of"]) if "fields" in b]
    for branch in branches:
        fields = branch["fields"]
        same = all(
            value.get(key) in fields[key]["values"]
            for key in ("type", "trigger_type", "entity_type")
            if value.get(key) is not None and "values" in fields.get(key, {})
        )
        if same and value.keys() <= fields.keys():
            return branch
    return {"is": "any"}


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        value = value[step]
    return value
