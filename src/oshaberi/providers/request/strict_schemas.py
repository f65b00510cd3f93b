"""Tool schemas that an API can enforce: its subset of JSON Schema, without undeclared properties.

If an API enforces a schema, the model can write nothing else (`strict`). A tool asks for that; a
schema outside the subset is sent without it, because otherwise the whole request would be refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oshaberi.providers.capabilities.model_capabilities import ModelCapabilities
from oshaberi.providers.request.model_request import ToolDeclaration

MOST_LEVELS = 5
"""APIs enforce values within values only to this depth."""
_TYPES = frozenset({"type", "enum", "const", "anyOf"})
"""One of these restricts a value; without them it may be anything."""
_KNOWN = _TYPES | {
    *("description", "title", "default", "items"),
    *("properties", "required", "additionalProperties"),
}

Schema = dict[str, Any]


def strict_schema(
    tool: ToolDeclaration, capabilities: ModelCapabilities, *, all_required: bool = False
) -> Schema | None:
    """Return the schema in an enforceable form; None if the tool or the model does not want that.

    With `all_required`, as OpenAI wants it, no parameter may be optional.
    """
    if not tool.strict or not capabilities.strict_tools or "anyOf" in tool.parameters:
        return None
    schema = _closed(tool.parameters, all_required, MOST_LEVELS)
    return schema if schema is not None and schema.get("type") == "object" else None


def asks_for_strict(sent: Mapping[str, Any]) -> bool:
    """Return whether a body of any family wants a schema to be enforced."""
    config = sent.get("tool_config")
    if isinstance(config, Mapping) and "function_calling_config" in config:
        return True
    tools = [one for one in sent.get("tools") or () if isinstance(one, Mapping)]
    return any(one.get("strict") or (one.get("function") or {}).get("strict") for one in tools)


def _closed(schema: Any, all_required: bool, levels: int) -> Schema | None:
    """Return the schema without undeclared properties; None if a part of it cannot be enforced."""
    if not isinstance(schema, Mapping) or not schema.keys() <= _KNOWN or levels < 0:
        return None
    if not schema.keys() & _TYPES:
        return None
    if all_required and "default" in schema:
        return None
    made = dict(schema)
    for name, several in (("items", False), ("anyOf", True)):
        if name in schema:
            inner = schema[name] if several else [schema[name]]
            if not isinstance(inner, list | tuple):
                return None
            closed = [_closed(one, all_required, levels - 1) for one in inner]
            if None in closed:
                return None
            made[name] = closed if several else closed[0]
    if schema.get("type") != "object":
        return made
    return _closed_object(schema, made, all_required, levels)


def _closed_object(
    schema: Mapping[str, Any], made: Schema, all_required: bool, levels: int
) -> Schema | None:
    properties = schema.get("properties") or {}
    if schema.get("additionalProperties", False) is not False:
        return None
    if all_required and set(schema.get("required") or ()) != properties.keys():
        return None
    closed = {name: _closed(one, all_required, levels - 1) for name, one in properties.items()}
    if None in closed.values():
        return None
    required = list(schema.get("required") or ())
    return {**made, "properties": closed, "required": required, "additionalProperties": False}
