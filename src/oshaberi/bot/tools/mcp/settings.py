"""Reads and checks the settings of the MCP servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from oshaberi.bot.tools.definition import APPROVERS, PERMISSIONS, Approver, Permission
from oshaberi.errors import ConfigError
from oshaberi.secret_redaction import secret_settings


@dataclass(frozen=True, slots=True)
class McpServer:
    """An MCP server: a program to start (`command`), or a URL (`url`, streamable HTTP)."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The environment of the server, besides PATH, HOME and the like."""
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    permission: Permission = "everyone"
    timeout_ms: int | None = None
    asks: Approver | None = None
    """Who has to allow each use of its tools."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the values that none of its messages may show."""
        return (*secret_settings(self.env), *secret_settings(self.headers))

    @classmethod
    def of(cls, name: str, table: Mapping[str, Any]) -> McpServer:
        """Read one server from a table of the settings file."""
        where = f"mcp_servers.{name}"
        known = [one.name for one in fields(cls) if one.name != "name"]
        for key in table:
            if key not in known:
                raise ConfigError(f"{where}.{key}: no such key; known are {', '.join(known)}")
        for key, value in table.items():
            _check(f"{where}.{key}", key, value)
        if bool(table.get("command")) == bool(table.get("url")):
            raise ConfigError(f"{where}: needs either a command or a url")
        return cls(name, **{**table, "args": tuple(table.get("args", ()))})


def mcp_servers(entries: Mapping[str, Any]) -> tuple[McpServer, ...]:
    """Read the setting `mcp_servers`: tables by name, or dataclasses with the same fields."""
    return tuple(McpServer.of(name, _table(entry)) for name, entry in entries.items())


def _table(entry: Any) -> Mapping[str, Any]:
    if isinstance(entry, Mapping):
        return entry
    given = {one.name: getattr(entry, one.name) for one in fields(entry)}
    return {name: value for name, value in given.items() if value is not None}


def _check(where: str, key: str, value: Any) -> None:
    match key:
        case "args":
            right = isinstance(value, list | tuple) and all(isinstance(v, str) for v in value)
            what = "a list of texts"
        case "env" | "headers":
            right = isinstance(value, Mapping) and all(isinstance(v, str) for v in value.values())
            what = "a table of texts"
        case "permission":
            right, what = value in PERMISSIONS, f"one of: {', '.join(PERMISSIONS)}"
        case "asks":
            right, what = value in APPROVERS, f"one of: {', '.join(APPROVERS)}"
        case "timeout_ms":
            right, what = type(value) is int and value > 0, "a whole number above 0"
        case "url":
            right = isinstance(value, str) and value.startswith(("http://", "https://"))
            what = "an http or https address"
        case _:
            right, what = isinstance(value, str), "a text"
    if not right:
        # The value may be a secret: it is not repeated.
        raise ConfigError(f"{where}: is not {what}")
