"""Makes the table of request constraints from Discord's OpenAPI description.

    python -m discord_stage.make_constraints path/to/discord-openapi.json

The description (https://github.com/discord/discord-api-spec, `specs/openapi.json`, MIT) is not part
of the project. The table keeps facts only: for every route of the stage which fields its body and
query have, their types, limits and allowed values, and its success statuses. For the other routes
it keeps only the names. `discord_stage.request_schema` checks requests with it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from discord_stage.request_schema.check import TABLE_FILE, route_key
from discord_stage.rest import ENDPOINTS

Json = dict[str, Any]
METHODS = ("get", "post", "put", "patch", "delete")
REFERENCE = "#/components/schemas/"
LIMITS = {
    "minLength": "min",
    "maxLength": "max",
    "minItems": "min",
    "maxItems": "max",
    "minProperties": "min",
    "maxProperties": "max",
    "minimum": "min",
    "maximum": "max",
}
NAMES = {"array": "list"}
ADDED_VALUES = {"MessageReferenceType": (1,)}
"""In Discord's documentation but not in the description: a reference of type 1 forwards
(https://docs.discord.com/developers/resources/message#message-reference-types)."""


class SchemaCompactor:
    """Turns schemas into nodes of the table, and collects the objects that they name."""

    def __init__(self, schemas: Mapping[str, Json]) -> None:
        self._schemas = schemas
        self.shapes: dict[str, Json] = {}

    def node(self, schema: Json) -> Json:
        if "$ref" in schema:
            return self._named(schema["$ref"].removeprefix(REFERENCE))
        if schema.get("enum"):
            return {"is": _kinds(schema)[0], "values": schema["enum"]} | _null(schema)
        branches = schema.get("oneOf") or schema.get("anyOf")
        if branches and all("const" in branch for branch in branches):
            values = [branch["const"] for branch in branches]
            return {"is": _kinds(schema)[0], "values": values} | _null(schema)
        if branches:
            return self._union(branches)
        if "allOf" in schema:
            return self.node(schema["allOf"][0])
        return self._plain(schema)

    def _named(self, name: str) -> Json:
        """Objects stay names, because they may contain themselves; the rest is written out."""
        target = self._schemas[name]
        if "properties" not in target:
            node = self.node(target)
            if name in ADDED_VALUES:
                node["values"] = [*node["values"], *ADDED_VALUES[name]]
            return node
        if name not in self.shapes:
            self.shapes[name] = {}
            self.shapes[name] = self._plain(target)
        return {"is": "shape", "name": name}

    def _union(self, branches: Iterable[Json]) -> Json:
        branches = list(branches)
        nodes = [self.node(branch) for branch in branches if branch.get("type") != "null"]
        null: Json = {"null": True} if len(nodes) < len(branches) else {}
        return (nodes[0] if len(nodes) == 1 else {"is": "union", "of": nodes}) | null

    def _plain(self, schema: Json) -> Json:
        kinds = _kinds(schema)
        if not kinds:
            return {"is": "any"}
        found: Json = {"is": NAMES.get(kinds[0], kinds[0])} | _null(schema)
        found |= {LIMITS[key]: schema[key] for key in LIMITS if key in schema}
        if schema.get("format") in ("uri", "date-time", "snowflake"):
            found["format"] = schema["format"]
        if "pattern" in schema and schema.get("format") != "snowflake":
            found["pattern"] = schema["pattern"]
        if schema.get("uniqueItems"):
            found["unique"] = True
        if "items" in schema:
            found["items"] = self.node(schema["items"])
        return found | self._fields(schema)

    def _fields(self, schema: Json) -> Json:
        if "properties" in schema:
            found: Json = {
                "fields": {key: self.node(value) for key, value in schema["properties"].items()}
            }
            return found | ({"required": schema["required"]} if schema.get("required") else {})
        if isinstance(schema.get("additionalProperties"), dict):
            return {"each": self.node(schema["additionalProperties"])}
        return {}


def _kinds(schema: Json) -> list[str]:
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    return [kind for kind in kinds if kind != "null"]


def _null(schema: Json) -> Json:
    return {"null": True} if "null" in (schema.get("type") or ()) else {}


def _operations(description: Json) -> dict[str, tuple[str, Json]]:
    """Return every operation by its key, with its original path and the path's parameters."""
    found = {}
    for path, item in description["paths"].items():
        for method in METHODS:
            if method in item:
                shared = item.get("parameters", [])
                operation = item[method]
                operation = operation | {"parameters": shared + operation.get("parameters", [])}
                found[route_key(method, path)] = (path, operation)
    return found


def _route(path: str, operation: Json, compactor: SchemaCompactor) -> Json:
    entry: Json = {"status": [int(code) for code in operation["responses"] if code.isdigit()]}
    entry["status"].remove(429)
    named = {p["name"]: p for p in operation["parameters"]}
    variables = re.findall(r"\{(\w+)\}", path)
    if variables:
        entry["path"] = [compactor.node(named[name]["schema"]) for name in variables]
    asked = [p for p in operation["parameters"] if p["in"] == "query"]
    if asked:
        nodes = {p["name"]: compactor.node(p["schema"]) for p in asked}
        needed = [p["name"] for p in asked if p.get("required")]
        entry["query"] = {"is": "object", "fields": nodes}
        entry["query"] |= {"required": needed} if needed else {}
    body = operation.get("requestBody")
    if body and "application/json" in body["content"]:
        entry["body"] = compactor.node(body["content"]["application/json"]["schema"])
        entry["body_required"] = bool(body.get("required"))
    return entry


def constraint_table(description: Json) -> Json:
    operations = _operations(description)
    ours = {route_key(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}
    compactor = SchemaCompactor(description["components"]["schemas"])
    routes = {
        key: _route(path, operation, compactor)
        for key, (path, operation) in sorted(operations.items())
        if key in ours
    }
    missing = sorted(
        f"{key.split()[0]} {path}" for key, (path, _) in operations.items() if key not in ours
    )
    return {"routes": routes, "shapes": dict(sorted(compactor.shapes.items())), "missing": missing}


def written(table: Json) -> str:
    """Write one route or shape per line, so that a change by Discord affects few lines."""
    parts = []
    for part in ("routes", "shapes"):
        lines = [f"{json.dumps(key)}: {_packed(value)}" for key, value in table[part].items()]
        parts.append(f'"{part}": {{\n' + ",\n".join(lines) + "\n}")
    missing = ",\n".join(json.dumps(name) for name in table["missing"])
    return "{" + ",\n".join(parts) + f',\n"missing": [\n{missing}\n]}}\n'


def _packed(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"))


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m discord_stage.make_constraints discord-openapi.json\n")
        return 2
    description = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    TABLE_FILE.write_text(written(constraint_table(description)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
