"""Refuses requests that differ from Discord's description: path variables, query, body."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from discord_stage.refusals import FormErrors
from discord_stage.world.records import Json

# The table of what each route accepts and returns: read once, looked up by method and path.


TABLE_FILE = Path(__file__).with_name("constraints.json")
_VARIABLE = re.compile(r"\{[^{}]*\}")


def route_key(method: str, path: str) -> str:
    """Return `POST /channels/{}/messages`, the same key no matter what the variables are called."""
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
        """Return whether a success is 201 (Created)."""
        return 201 in self.statuses and 200 not in self.statuses


@dataclass(frozen=True, slots=True)
class ConstraintTable:
    routes: dict[str, RouteConstraints]
    shapes: dict[str, Json]
    """Objects by name; a node `{"is": "shape", "name": …}` refers to one."""
    missing: tuple[str, ...]
    """`METHOD /path` of every route that Discord has and the stage lacks."""

    def missing_route(self, method: str, path: str) -> str | None:
        """Return Discord's route for a path, if the stage does not have it."""
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


# The formats of texts in a request: URLs and times.


_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s<>\"{}|\\^`]+")


def is_uri(text: str) -> bool:
    """Return whether a text is an absolute URL with something after its scheme."""
    if not _URI.fullmatch(text):
        return False
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return False
    return bool(parts.netloc or parts.path.strip("/"))


def is_date_time(text: str) -> bool:
    """Return whether a text is ISO 8601 with a date and a time."""
    if len(text) < len("2015-01-01T00:00") or text[10] not in "Tt ":
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


# Compares a value with a node of the constraint table; each difference is a form error.
#
# `check` collects them, and `refusals` makes the answer of them.
#
# The codes and messages are Discord's (50035). A general JSON Schema validator would find the
# same differences, but does not know Discord's messages or what it tolerates (an id may be a
# number, a set of permissions a text), so both would have to be written around it.


FieldPath = tuple[str | int, ...]
PERMISSIONS = frozenset({"allow", "deny", "permissions", "default_member_permissions"})
"""Sets of bits that clients write as texts, as Discord's documentation says."""
DISCRIMINATORS = ("type", "trigger_type", "entity_type")
"""The fields whose value decides which branch of a union is meant."""
SNOWFLAKE_MOST = 2**64 - 1
_SNOWFLAKE = re.compile(r"0|[1-9][0-9]*", re.ASCII)


class FieldProblem(NamedTuple):
    path: FieldPath
    code: str
    message: str


Problems = Iterator[FieldProblem]


def differences(node: Json, value: Any, path: FieldPath = ()) -> Problems:
    """Return what is wrong with the value, each problem with its place."""
    if node["is"] == "shape":
        shape = constraint_table().shapes[node["name"]]
        node = shape | {"null": True} if node.get("null") else shape
    if value is None:
        if not node.get("null") and node["is"] != "any":
            yield FieldProblem(path, "BASE_TYPE_REQUIRED", "This field is required")
        return
    yield from _KINDS[node["is"]](node, value, path)


def _any(_node: Json, _value: Any, _path: FieldPath) -> Problems:
    yield from ()


def _string(node: Json, value: Any, path: FieldPath) -> Problems:
    if node.get("format") == "snowflake":
        yield from _snowflake(value, path)
    elif not isinstance(value, str):
        yield FieldProblem(
            path, "STRING_TYPE_CONVERT", f'Could not interpret "{_cut(value)}" as string.'
        )
    elif "values" in node:
        yield from _choice(node, value, path)
    else:
        yield from _length(node, len(value), path)
        yield from _format(node, value, path)


def _snowflake(value: Any, path: FieldPath) -> Problems:
    """Check an id. discord.py sends ids as numbers, and Discord accepts that."""
    number = value if isinstance(value, int) and not isinstance(value, bool) else None
    if isinstance(value, str) and _SNOWFLAKE.fullmatch(value) and len(value) <= 20:
        number = int(value)
    if number is None or not 0 <= number <= SNOWFLAKE_MOST:
        message = f'Value "{_cut(value)}" is not snowflake.'
        yield FieldProblem(path, "NUMBER_TYPE_COERCE", message)


def _length(node: Json, length: int, path: FieldPath) -> Problems:
    least, most = node.get("min", 0), node.get("max")
    if most is not None and least and not least <= length <= most:
        message = f"Must be between {least} and {most} in length."
        yield FieldProblem(path, "BASE_TYPE_BAD_LENGTH", message)
    elif most is not None and length > most:
        message = f"Must be {most} or fewer in length."
        yield FieldProblem(path, "BASE_TYPE_MAX_LENGTH", message)
    elif length < least:
        yield FieldProblem(path, "BASE_TYPE_MIN_LENGTH", f"Must be {least} or more in length.")


def _format(node: Json, value: str, path: FieldPath) -> Problems:
    wanted = node.get("format")
    if wanted == "uri" and not is_uri(value):
        yield FieldProblem(path, "URL_TYPE_INVALID_URL", "Not a well formed URL.")
    if wanted == "date-time" and not is_date_time(value):
        message = f"Could not parse {_cut(value)}. Should be ISO8601."
        yield FieldProblem(path, "DATE_TIME_TYPE_PARSE", message)
    if "pattern" in node and not re.search(node["pattern"], value):
        yield FieldProblem(
            path, "STRING_TYPE_REGEX", "String value did not match validation regex."
        )


def _integer(node: Json, value: Any, path: FieldPath) -> Problems:
    bits = bool(path) and path[-1] in PERMISSIONS
    if bits and isinstance(value, str) and _SNOWFLAKE.fullmatch(value):
        value = int(value[:30])
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole:
        yield FieldProblem(path, "NUMBER_TYPE_COERCE", f'Value "{_cut(value)}" is not int.')
    elif "values" in node:
        yield from _choice(node, value, path)
    else:
        yield from _range(node, value, path, "int")


def _number(node: Json, value: Any, path: FieldPath) -> Problems:
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield FieldProblem(path, "NUMBER_TYPE_COERCE", f'Value "{_cut(value)}" is not float.')
    else:
        yield from _range(node, value, path, "float")


def _range(node: Json, value: float, path: FieldPath, kind: str) -> Problems:
    if value > node.get("max", value):
        message = f"{kind} value should be less than or equal to {node['max']}."
        yield FieldProblem(path, "NUMBER_TYPE_MAX", message)
    if value < node.get("min", value):
        message = f"{kind} value should be greater than or equal to {node['min']}."
        yield FieldProblem(path, "NUMBER_TYPE_MIN", message)


def _choice(node: Json, value: Any, path: FieldPath) -> Problems:
    values = node["values"]
    if value not in values:
        known = ", ".join(repr(one) for one in values)
        yield FieldProblem(path, "BASE_TYPE_CHOICES", f"Value must be one of ({known}).")


def _boolean(_node: Json, value: Any, path: FieldPath) -> Problems:
    if not isinstance(value, bool):
        yield FieldProblem(path, "BOOLEAN_TYPE_CONVERT", "Must be either true or false.")


def _list(node: Json, value: Any, path: FieldPath) -> Problems:
    if not isinstance(value, list):
        message = "Only iterables may be used in a ListType"
        yield FieldProblem(path, "LIST_TYPE_CONVERT", message)
        return
    yield from _length(node, len(value), path)
    seen: list[Any] = []
    for number, entry in enumerate(value):
        if node.get("unique") and str(entry) in seen:
            message = "The set already contains this value"
            yield FieldProblem((*path, number), "SET_TYPE_ALREADY_CONTAINS_VALUE", message)
        seen.append(str(entry))
        yield from differences(node["items"], entry, (*path, number))


def _object(node: Json, value: Any, path: FieldPath) -> Problems:
    if not isinstance(value, dict):
        message = "Only dictionaries may be used in a DictType"
        yield FieldProblem(path, "DICT_TYPE_CONVERT", message)
        return
    if "each" in node:
        yield from _length(node, len(value), path)
        for key, entry in value.items():
            yield from differences(node["each"], entry, (*path, key))
    for key in node.get("required", ()):
        if key not in value:
            yield FieldProblem((*path, key), "BASE_TYPE_REQUIRED", "This field is required")
    for key, field in node.get("fields", {}).items():
        if key in value:
            yield from differences(field, value[key], (*path, key))


def _union(node: Json, value: Any, path: FieldPath) -> Problems:
    branches = [_resolve_shape(branch) for branch in node["of"]]
    if isinstance(value, dict):
        yield from _object_union(branches, value, path)
        return
    found = [list(differences(branch, value, path)) for branch in branches]
    if all(found):
        yield from next((some for some in found if not _wrong_type(some)), found[0])


def _wrong_type(found: list[FieldProblem]) -> bool:
    """Return whether a branch failed because the value has another type altogether."""
    return found[0].code.endswith(("_CONVERT", "_COERCE"))


def _object_union(branches: list[Json], value: Json, path: FieldPath) -> Problems:
    objects = [branch for branch in branches if "fields" in branch]
    for key in DISCRIMINATORS if objects else ():
        if all(_values(branch, key) for branch in objects):
            yield from _by_value(objects, key, value, path)
            return
    # Take the branch that knows most of the fields: each branch allows unknown ones.
    known = [len(value.keys() & branch["fields"].keys()) for branch in objects]
    best = [b for b, count in zip(objects, known, strict=True) if count == max(known)]
    yield from _problems_of_best_branch(best or branches, value, path)


def _values(branch: Json, key: str) -> list[object]:
    """Return the allowed values of a field, if it is required and has only a few."""
    values: list[object] = branch["fields"].get(key, {}).get("values", [])
    return values if key in branch.get("required", ()) else []


def _by_value(branches: list[Json], key: str, value: Json, path: FieldPath) -> Problems:
    kind = value.get(key)
    if kind is None:
        yield FieldProblem((*path, key), "BASE_TYPE_REQUIRED", "This field is required")
        return
    same = [b for b in branches if kind in _values(b, key) and not isinstance(kind, bool)]
    if not same:
        known = dict.fromkeys(str(one) for branch in branches for one in _values(branch, key))
        message = f'Value of field "{key}" must be one of ({", ".join(known)}).'
        yield FieldProblem((*path, key), "UNION_TYPE_CHOICES", message)
        return
    yield from _problems_of_best_branch(same, value, path)


def _problems_of_best_branch(branches: list[Json], value: Any, path: FieldPath) -> Problems:
    """Yield nothing if a branch fits, else the problems of the branch that fits best."""
    found = [list(differences(branch, value, path)) for branch in branches]
    if all(found):
        yield from min(found, key=len)


def _resolve_shape(node: Json) -> Json:
    return constraint_table().shapes[node["name"]] if node["is"] == "shape" else node


def _cut(value: object) -> str:
    return str(value)[:40]


_KINDS: dict[str, Callable[[Json, Any, FieldPath], Problems]] = {
    "any": _any,
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "list": _list,
    "object": _object,
    "union": _union,
}


# Refuses requests that differ from Discord's description: path variables, query, body.


_SWITCH = {"1": True, "true": True, "0": False, "false": False}


def check_request(
    constraints: RouteConstraints, path: Mapping[str, str], query: Mapping[str, str], body: Any
) -> None:
    """Raise the refusal (50035) with everything that is wrong. A missing body counts as empty."""
    errors = FormErrors()
    for problem in _problems(constraints, path, query, body):
        errors.add(*problem)
    errors.raise_if_any()


def _problems(
    constraints: RouteConstraints, path: Mapping[str, str], query: Mapping[str, str], body: Any
) -> Iterator[FieldProblem]:
    for (name, text), node in zip(path.items(), constraints.path, strict=False):
        yield from differences(node, _parse_query_text(node, text), (name,))
    if constraints.query is not None:
        yield from _query(constraints.query, query)
    if constraints.body is not None and (body is not None or constraints.body_required):
        yield from differences(constraints.body, {} if body is None else body)


def _query(node: Json, query: Mapping[str, str]) -> Iterator[FieldProblem]:
    for name in node.get("required", ()):
        if name not in query:
            yield FieldProblem((name,), "BASE_TYPE_REQUIRED", "This field is required")
    for name, field in node["fields"].items():
        if name in query:
            yield from differences(field, _parse_query_text(field, query[name]), (name,))


def _parse_query_text(node: Json, text: str) -> Any:
    """Parse a text of the query as the type that the route expects."""
    if node["is"] == "boolean":
        return _SWITCH.get(text.lower(), text)
    if node["is"] in ("integer", "number"):
        return int(text) if text.lstrip("-").isdecimal() and len(text) <= 20 else text
    if node["is"] == "list":
        return [_parse_query_text(node["items"], one) for one in text.split(",")]
    return text
