"""Checks a call's arguments against its tool's schema, with errors that a model can use."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Mapping
from typing import Any

from oshaberi.tools.tool_definition import ToolFailedError

log = logging.getLogger(__name__)

_MOST_ERRORS = 5
_LONGEST_ERROR = 200


class ArgumentChecks:
    """Checks the arguments of one tool. The schema is compiled at the first call."""

    def __init__(self, tool_name: str, schema: Mapping[str, Any]) -> None:
        self._tool_name = tool_name
        self._schema = schema
        self._validator: Any = None
        self._usable = True

    def checked(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments without unneeded nulls. Raises ToolFailedError if they are wrong."""
        given = self._without_nulls(args)
        errors = self._errors(given)
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
                self._validator = _validator(self._schema)
            return [_told(error) for error in self._first_errors(given)]
        except RecursionError:
            return ["they are nested too deeply"]
        except Exception as error:
            # A foreign schema may be broken in any way. Its server has to check, then.
            log.warning("the schema of %s cannot be used: %s", self._tool_name, _short(str(error)))
            self._usable = False
            return []

    def _first_errors(self, given: dict[str, Any]) -> list[Any]:
        found = sorted(self._validator.iter_errors(given), key=lambda one: str(one.json_path))
        return found[:_MOST_ERRORS]


def _takes_null(schema: Any) -> bool:
    if not isinstance(schema, Mapping) or not schema:
        return True
    kinds = schema.get("type", ())
    options = schema.get("anyOf") or schema.get("oneOf") or ()
    return "null" in kinds or any(_takes_null(one) for one in options)


def _validator(schema: Mapping[str, Any]) -> Any:
    """Compile a schema.

    It fetches no references, and runs no patterns from outside, because they may never end.
    """
    validators = importlib.import_module("jsonschema.validators")
    registry = importlib.import_module("referencing").Registry()
    kind = validators.extend(
        validators.Draft202012Validator, {"pattern": _passes, "patternProperties": _passes}
    )
    kind.check_schema(schema)
    return kind(schema, registry=registry)


def _passes(*_: Any) -> tuple[()]:
    return ()


def _told(error: Any) -> str:
    path = str(error.json_path).removeprefix("$").removeprefix(".")
    message = _short(str(error.message))
    return f"{path}: {message}" if path else message


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]}…"
