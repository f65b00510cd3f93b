"""Compares a value with a node of the constraint table; each difference is a form error.

`request_check` collects them, and `form_errors` makes the answer of them.

The codes and messages are Discord's (50035). A general JSON Schema validator would find the same
differences, but does not know Discord's messages or what it tolerates (an id may be a number, a set
of permissions a text), so both would have to be written around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from oshaberi.stage.request_schema.constraint_table import constraint_table
from oshaberi.stage.request_schema.text_formats import is_date_time, is_uri
from oshaberi.stage.world.discord_records import Json

FieldPath = tuple[str | int, ...]
PERMISSIONS = frozenset({"allow", "deny", "permissions", "default_member_permissions"})
"""Sets of bits that clients write as texts, as Discord's documentation says."""
DISCRIMINATORS = ("type", "trigger_type", "entity_type")
"""The fields whose value tells which branch of a union is meant."""
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
    branches = [_resolved(branch) for branch in node["of"]]
    if isinstance(value, dict):
        yield from _object_union(branches, value, path)
        return
    found = [list(differences(branch, value, path)) for branch in branches]
    if all(found):
        yield from next((some for some in found if not _wrong_type(some)), found[0])


def _wrong_type(found: list[FieldProblem]) -> bool:
    """Tell whether a branch failed because the value has another type altogether."""
    return found[0].code.endswith(("_CONVERT", "_COERCE"))


def _object_union(branches: list[Json], value: Json, path: FieldPath) -> Problems:
    objects = [branch for branch in branches if "fields" in branch]
    for key in DISCRIMINATORS if objects else ():
        if all(_values(branch, key) for branch in objects):
            yield from _by_value(objects, key, value, path)
            return
    # The one that knows most of its fields: any of them may have further ones.
    known = [len(value.keys() & branch["fields"].keys()) for branch in objects]
    best = [b for b, count in zip(objects, known, strict=True) if count == max(known)]
    yield from _least(best or branches, value, path)


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
    yield from _least(same, value, path)


def _least(branches: list[Json], value: Any, path: FieldPath) -> Problems:
    """Yield nothing if one branch fits, otherwise the problems of the one that fits best."""
    found = [list(differences(branch, value, path)) for branch in branches]
    if all(found):
        yield from min(found, key=len)


def _resolved(node: Json) -> Json:
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
