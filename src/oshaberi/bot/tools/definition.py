"""What a tool is: a name that every provider accepts, a schema, a permission, and a function."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oshaberi.bot.tools.context import Permission, ToolContext
from oshaberi.errors import ConfigError, OshaberiError

# What a tool is: a name, a schema, a permission, and an async function that returns text.


class ToolDefinitionError(OshaberiError):
    """A function cannot be a tool. The message names the function, the mistake and the remedy."""


class ToolFailedError(OshaberiError):
    """Raised by a tool on purpose. Its text goes to the model as an error."""


RunTool = Callable[[ToolContext, Mapping[str, Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool. `parameters` is the JSON schema of an object. `run` returns text or a JSON value."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: RunTool
    permission: Permission = "everyone"
    timeout_ms: int | None = None
    """None means the setting `tool_timeout_ms`."""
    source: str = "built-in"
    """`built-in`, the Python module, or the name of the MCP server."""
    offered: Callable[[ToolContext], bool] | None = None
    """Decides whether the tool is offered in this turn; None means always."""

    def available(self, context: ToolContext) -> bool:
        """Return whether this turn may use the tool."""
        permitted = context.allows(self.permission)
        return permitted and (self.offered is None or self.offered(context))


# Makes tool names that every provider accepts, without duplicates.


LONGEST = 64
_VALID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_STRANGE = re.compile(r"[^A-Za-z0-9_-]+")
_MARK = 8


def is_valid(name: str) -> bool:
    """Return whether all APIs accept a name: 64 letters, digits, `_` and `-`, no digit first."""
    return _VALID.fullmatch(name) is not None


def valid_name(name: str) -> str:
    """Return the nearest valid name. A shortened name gets a suffix that keeps it unique."""
    plain = _STRANGE.sub("_", name) or "tool"
    if not (plain[0].isalpha() or plain[0] == "_"):
        plain = f"_{plain}"
    if len(plain) <= LONGEST:
        return plain
    mark = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:_MARK]
    return f"{plain[: LONGEST - _MARK - 1]}_{mark}"


def by_name(ours: Sequence[Tool], theirs: Iterable[Tool]) -> dict[str, Tool]:
    """Map names to tools.

    Our tools keep their names; another tool of the same name gets its source as a prefix.
    """
    _check_ours(ours)
    named = {one.name: one for one in ours}
    theirs = tuple(theirs)
    shared = Counter([*named, *(valid_name(one.name) for one in theirs)])
    for one in theirs:
        plain = valid_name(one.name)
        name = plain if shared[plain] == 1 else valid_name(f"{one.source}_{one.name}")
        named[_free(name, named)] = one
    return named


def _free(name: str, taken: dict[str, Tool]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = valid_name(f"{name[: LONGEST - 4]}_{number}")
    return free


def _check_ours(ours: Sequence[Tool]) -> None:
    for name, count in Counter(one.name for one in ours).items():
        if count > 1:
            sources = ", ".join(one.source for one in ours if one.name == name)
            raise ConfigError(f"tools: {name!r} is there twice ({sources}); rename one of them")
