"""Compares answers and dispatches with Discord's description of its API."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import jsonschema  # type: ignore[import-untyped]

from discord_stage.request_schema.check import route_key
from stage_server.discord_description import description

DISPATCHES = {
    "MESSAGE_CREATE": "MessageResponse",
    "MESSAGE_UPDATE": "MessageResponse",
    "CHANNEL_CREATE": "GuildChannelResponse",
    "CHANNEL_UPDATE": "GuildChannelResponse",
    "CHANNEL_DELETE": "GuildChannelResponse",
    "THREAD_CREATE": "ThreadResponse",
    "THREAD_UPDATE": "ThreadResponse",
    "GUILD_MEMBER_ADD": "GuildMemberResponse",
    "GUILD_MEMBER_UPDATE": "GuildMemberResponse",
    "GUILD_UPDATE": "GuildResponse",
    "GUILD_CREATE": "GuildResponse",
}
"""The schema of a dispatch's data. The description has only the HTTP API: others have none."""


@cache
def _loose() -> dict[str, Any]:
    """With `anyOf` for `oneOf`: objects may have further fields, so several branches may fit."""
    whole = copy.deepcopy(description())
    pending: list[Any] = [whole]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            if "oneOf" in value:
                value["anyOf"] = value.pop("oneOf")
            pending += value.values()
        elif isinstance(value, list):
            pending += value
    return whole


@cache
def _operations() -> dict[str, dict[str, Any]]:
    return {
        route_key(method, path): operation
        for path, item in _loose()["paths"].items()
        for method, operation in item.items()
        if method != "parameters"
    }


def answer_differences(method: str, path: str, status: int, answer: Any) -> list[str]:
    """`path` is the route's, with its variables."""
    responses = _operations()[route_key(method, path)]["responses"]
    if str(status) not in responses:
        return [f"status {status} is not one of {', '.join(responses)}"]
    content = responses[str(status)].get("content", {})
    if "application/json" not in content:
        return [] if answer is None else ["a body where none is described"]
    return _differences(content["application/json"]["schema"], answer)


PARTS = {"user": "UserResponse", "message": "MessageResponse", "role": "GuildRoleResponse"}
"""The schema of what dispatches without one have in them."""


def dispatch_differences(name: str, data: Any) -> list[str]:
    schema = DISPATCHES.get(name)
    found = [] if schema is None else schema_differences(schema, data)
    parts = {key: data[key] for key in PARTS if isinstance(data.get(key), dict)}
    for key, part in parts.items():
        found += [f"{key}/{text}" for text in schema_differences(PARTS[key], part)]
    member = data.get("member")
    if isinstance(member, dict) and "user" in member:
        found += [f"member/{text}" for text in schema_differences("GuildMemberResponse", member)]
    return found


def schema_differences(schema: str, value: Any) -> list[str]:
    return _differences({"$ref": f"#/components/schemas/{schema}"}, value)


def _differences(schema: Any, value: Any) -> list[str]:
    root = {"components": _loose()["components"], "allOf": [schema]}
    found: list[str] = []
    pending = list(jsonschema.Draft202012Validator(root).iter_errors(value))
    while pending:
        error = pending.pop()
        if error.context:
            pending += _best(error.context)
        else:
            where = "/".join(map(str, error.absolute_path))
            found.append(f"{where}: {error.message[:160]}")
    return sorted(set(found))


def _best(context: list[Any]) -> list[Any]:
    """The errors of the branch that fits best: the one whose errors lie deepest and are fewest."""
    branches: dict[int, list[Any]] = {}
    for error in context:
        branches.setdefault(error.schema_path[0], []).append(error)
    real = [errors for errors in branches.values() if not _is_null(errors)]

    def fit(errors: list[Any]) -> tuple[bool, int]:
        wrong_type = any(list(error.path) == ["type"] for error in errors)
        return wrong_type, len(errors)

    return min(real or list(branches.values()), key=fit)


def _is_null(errors: list[Any]) -> bool:
    return any(error.validator == "type" and error.validator_value == "null" for error in errors)
