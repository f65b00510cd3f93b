"""Refuses requests that differ from Discord's description: path variables, query, body."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from oshaberi.stage.form_errors import FormErrors
from oshaberi.stage.request_schema.constraint_table import RouteConstraints
from oshaberi.stage.request_schema.field_problems import FieldProblem, differences
from oshaberi.stage.world.discord_records import Json

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
        yield from differences(node, _read(node, text), (name,))
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
            yield from differences(field, _read(field, query[name]), (name,))


def _read(node: Json, text: str) -> Any:
    """Parse a text of the query as the type that the route expects."""
    if node["is"] == "boolean":
        return _SWITCH.get(text.lower(), text)
    if node["is"] in ("integer", "number"):
        return int(text) if text.lstrip("-").isdecimal() and len(text) <= 20 else text
    if node["is"] == "list":
        return [_read(node["items"], one) for one in text.split(",")]
    return text
