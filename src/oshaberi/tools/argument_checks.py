"""Checks a call's arguments against its tool's schema, with errors that a model can use.

Both come from outside: a model writes the arguments, an MCP server the schema. So the work has a
budget: a schema of one kilobyte can ask for 2^30 comparisons, and to describe an error the checker
writes the whole argument down. Arguments that would take more are refused.
"""

from __future__ import annotations

import importlib
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import islice
from typing import Any

from oshaberi.tools.tool_definition import ToolFailedError

log = logging.getLogger(__name__)

MOST_WORK = 10_000
"""The budget of one call. A unit is about five microseconds."""
LARGEST_ARGS = 500_000
"""In characters, about."""
_MOST_FOUND = 20
_MOST_ERRORS = 5
_LONGEST_ERROR = 200
_NODE_SIZE = 8
_TOO_LARGE = "they are too large to be checked"
_NEVER_RUN = ("pattern", "patternProperties", "unevaluatedItems", "unevaluatedProperties")
"""Patterns from outside may never end. What is "unevaluated" is found by walking the whole schema
again, past our budget."""
_REFERENCE_WORK = 10


class _TooMuchWorkError(Exception):
    """The budget is spent."""


class ArgumentChecks:
    """Checks the arguments of one tool. The schema is compiled at the first call."""

    def __init__(self, tool_name: str, schema: Mapping[str, Any]) -> None:
        self._tool_name = tool_name
        self._schema = schema
        self._validator: Any = None
        self._usable = True
        self._budget = _Budget()

    def checked(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments without unneeded nulls. Raises ToolFailedError if they are wrong."""
        try:
            given = self._without_nulls(args)
            errors = self._errors(given)
        except RecursionError:
            given, errors = {}, ["they are nested too deeply"]
        if errors:
            raise ToolFailedError(f"wrong arguments for {self._tool_name}: {'; '.join(errors)}")
        return given

    def _without_nulls(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Remove nulls from optional arguments: models write null for "not given"."""
        properties = self._schema.get("properties") or {}
        required = self._schema.get("required") or ()
        return {
            name: value
            for name, value in args.items()
            if value is not None
            or name in required
            or name not in properties
            or _takes_null(properties[name])
        }

    def _errors(self, given: dict[str, Any]) -> list[str]:
        if not self._usable:
            return []
        try:
            if self._validator is None:
                self._validator = _validator(self._schema, self._budget)
            self._budget.begin(given)
            found = islice(self._validator.iter_errors(given), _MOST_FOUND)
            return [_told(one) for one in sorted(found, key=_path)[:_MOST_ERRORS]]
        except _TooMuchWorkError:
            return [_TOO_LARGE]
        except RecursionError:
            raise
        except Exception as error:
            # A foreign schema may be broken in any way. Its server has to check, then.
            log.warning("the schema of %s cannot be used: %s", self._tool_name, _short(str(error)))
            self._usable = False
            return []


class _Budget:
    """Counts the work of one check. Each keyword of the schema costs by what it looks at."""

    def __init__(self) -> None:
        self._left = 0
        self._sizes: dict[int, int] = {}

    def begin(self, args: Mapping[str, Any]) -> None:
        """Measure the arguments. Raises _TooMuchWorkError if they are too large."""
        self._left = MOST_WORK
        self._sizes = {}
        nodes: list[Any] = [args]
        for node in nodes:  # which grows: each container behind the one that holds it
            if isinstance(node, Mapping):
                nodes += node.values()
            elif isinstance(node, list):
                nodes += node
            if _NODE_SIZE * len(nodes) > LARGEST_ARGS:
                raise _TooMuchWorkError
        for node in reversed(nodes):  # so what a container holds is measured before it
            self._sizes[id(node)] = self._measured(node)
        if self._sizes[id(args)] > LARGEST_ARGS:
            raise _TooMuchWorkError

    def spend(self, instance: Any, more: int = 0) -> None:
        shallow = len(instance) if isinstance(instance, (dict, list)) else 0
        self._left -= 1 + more + shallow // 4 + self._size(instance) // 1024
        if self._left < 0:
            raise _TooMuchWorkError

    def _measured(self, node: Any) -> int:
        if isinstance(node, Mapping):
            return _NODE_SIZE + sum(len(name) + self._size(one) for name, one in node.items())
        if isinstance(node, list):
            return _NODE_SIZE + sum(map(self._size, node))
        return self._size(node)

    def _size(self, node: Any) -> int:
        if isinstance(node, str):
            return _NODE_SIZE + len(node)
        return self._sizes.get(id(node), _NODE_SIZE)


def _takes_null(schema: Any) -> bool:
    if not isinstance(schema, Mapping) or not schema:
        return True
    kinds = schema.get("type", ())
    options = schema.get("anyOf") or schema.get("oneOf") or ()
    return "null" in kinds or any(_takes_null(one) for one in options)


def _validator(schema: Mapping[str, Any], budget: _Budget) -> Any:
    """Compile a schema. It fetches no references, and each of its keywords spends the budget.

    The schema itself is not checked: that would take longer than to use it.
    """
    validators = importlib.import_module("jsonschema.validators")
    registry = importlib.import_module("referencing").Registry()
    known = validators.Draft202012Validator.VALIDATORS
    keywords: dict[str, Callable[..., Any]]
    keywords = {name: partial(_counted, budget, name, check) for name, check in known.items()}
    keywords |= dict.fromkeys(_NEVER_RUN, _passes)
    keywords["uniqueItems"] = partial(_unique, budget)
    kind = validators.extend(validators.Draft202012Validator, keywords)
    return kind(schema, registry=registry)


def _counted(
    budget: _Budget, name: str, check: Callable[..., Any], validator: Any, *asked: Any
) -> Iterable[Any]:
    value, instance, _schema = asked
    is_reference = name in ("$ref", "$dynamicRef")
    more = _REFERENCE_WORK if is_reference else len(value) // 4 if isinstance(value, list) else 0
    budget.spend(instance, more)
    return check(validator, *asked) or ()


def _unique(budget: _Budget, _validator: Any, wanted: Any, items: Any, _schema: Any) -> Any:
    """Compare items by their JSON: the checker's own way compares each with all others."""
    if not wanted or not isinstance(items, list):
        return
    budget.spend(items, len(items))
    written = {json.dumps(item, sort_keys=True) for item in items}
    if len(written) < len(items):
        error = importlib.import_module("jsonschema.exceptions").ValidationError
        yield error("the same item is there twice")


def _passes(*_: Any) -> tuple[()]:
    return ()


def _path(error: Any) -> str:
    return str(error.json_path)


def _told(error: Any) -> str:
    path = _path(error).removeprefix("$").removeprefix(".")
    message = _short(str(error.message))
    return f"{path}: {message}" if path else message


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]}…"
