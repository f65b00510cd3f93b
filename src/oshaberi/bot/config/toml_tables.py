"""The settings file: its tables (`[[models]]`, `[persona]`, `[mcp_servers.…]`) and its mistakes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from oshaberi.bot.conversation.persona_options import checked_options
from oshaberi.bot.conversation.transcript import name_problem
from oshaberi.errors import ConfigError

MOST_DOLLARS = 1_000_000
TABLES: Any = {"extra": "forbid"}
"""Makes pydantic refuse keys that a table does not have."""


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """What a million tokens cost, in dollars (`providers.model_options.TokenPrice`)."""

    __pydantic_config__ = TABLES

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None

    def __post_init__(self) -> None:
        given = (self.input, self.output, self.cached or 0, self.cache_write or 0)
        if not all(0 <= one <= MOST_DOLLARS for one in given):
            raise ValueError(f"prices are dollars, from 0 to {MOST_DOLLARS}")


_HEADER = re.compile(r"[A-Za-z0-9_-]{1,100}")
_MODEL_OPTIONS = (
    "window",
    "max_output_tokens",
    "images",
    "thinking",
    "prefill",
    "reemits",
    "pictures",
    "search",
    "sources",
    "cache",
    "text",
)


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model of the operator's chain, for servers that have no models of their own."""

    __pydantic_config__ = TABLES

    provider: str
    model: str
    base_url: str | None = field(default=None, repr=False)
    api_keys: tuple[str, ...] = field(default=(), repr=False)
    api_key_env: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    """`temperature`, `top_p`, and parameters that go to the model's API unchanged."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with each request: for gateways that want them."""
    region: str | None = None
    project: str | None = None
    """Where a model of a cloud is (`bedrock`, `vertex`)."""
    price: ModelPrice | None = None
    window: int | None = None
    max_output_tokens: int | None = None
    images: bool | None = None
    thinking: str | int | None = None
    prefill: str | None = None
    reemits: bool | None = None
    pictures: bool | None = None
    search: bool | None = None
    sources: int | None = None
    cache: str | None = None
    text: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        from oshaberi.providers.model_addresses import whole_address
        from oshaberi.providers.model_options import options_of
        from oshaberi.providers.presets import check_search

        for name, value in self.headers.items():
            if not (_HEADER.fullmatch(name) and value.isascii() and value.isprintable()):
                raise ValueError("headers: a name or a value has characters that no header has")
        try:
            if options_of(self.all_params()).search:
                check_search(self.provider, self.base_url)
            if self.base_url is not None:
                address = whole_address(self.provider, self.base_url)
                object.__setattr__(self, "base_url", address)
        except ConfigError as wrong:
            raise ValueError(str(wrong)) from None

    def endpoint_settings(self) -> dict[str, Any]:
        """Return what only the operator may set for the address of a model."""
        given = {
            "headers": dict(self.headers),
            "region": self.region,
            "project": self.project,
            "pull": self.params.get("pull") is True,
        }
        return {name: value for name, value in given.items() if value}

    def all_params(self) -> dict[str, Any]:
        """Return `params` together with the options beside it in the file."""
        own = {name: getattr(self, name) for name in _MODEL_OPTIONS}
        return {**self.params, **{name: one for name, one in own.items() if one is not None}}

    def keys(self, environ: Mapping[str, str]) -> tuple[str, ...]:
        """Return its API keys: from the entry, the variable that it names, or the usual one."""
        if self.api_keys:
            return self.api_keys
        key = environ.get(self.variable or "", "").strip()
        return (key,) if key else ()

    def missing_key(self, environ: Mapping[str, str]) -> str | None:
        """Return the variable in which a key is expected, if there is no key anywhere."""
        return None if self.keys(environ) else self.variable

    @property
    def variable(self) -> str | None:
        """Return the variable of the key. The usual key is sent only to the usual server."""
        from oshaberi.providers.presets import PRESETS

        preset = PRESETS.get(self.provider)
        usual = preset.key_name_at(self.base_url) if preset else None
        return self.api_key_env or usual


@dataclass(frozen=True, slots=True)
class McpServerEntry:
    """An MCP server: a program to start, or a URL."""

    __pydantic_config__ = TABLES

    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    url: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    permission: Literal["everyone", "manage_messages", "manage_server"] = "everyone"
    timeout_ms: int | None = None
    asks: Literal["asker", "manage_messages", "manage_server"] | None = None

    def __post_init__(self) -> None:
        if (self.command is None) == (self.url is None):
            raise ValueError("needs either a command or a url")


@dataclass(frozen=True, slots=True)
class PersonaEntry:
    """The persona for servers that have none of their own."""

    __pydantic_config__ = TABLES

    name: str
    prompt: str = ""
    aliases: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    avatar_url: str | None = None
    age_restricted: bool = False
    """Whether it answers only in age-restricted channels."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What it does differently from the settings (`conversation.persona_options`)."""

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "options", checked_options(self.options))
        except ConfigError as wrong:
            raise ValueError(f"options.{wrong}") from None
        if not self.name.strip():
            raise ValueError("needs a name")
        problem = name_problem(" ".join(self.name.split()))
        if problem is not None:
            raise ValueError(f"cannot be called {self.name!r}: {problem}")


# What is wrong with a settings file that is not TOML, in plain words and with its line.
#
# The words name the key of the line, never its value, which may be a secret.


_PLACE = re.compile(r"(?P<what>.*) \(at (?:line (?P<line>\d+), column \d+|end of document)\)")
_KEY = re.compile(r"\s{0,20}([\w.\"'-]{1,60})\s{0,20}=\s{0,20}(.{0,9})")
_NOT_TOML: Mapping[str, str] = {
    "true": "write true and false in small letters",
    "false": "write true and false in small letters",
    "yes": "write true or false",
    "no": "write true or false",
    "on": "write true or false",
    "off": "write true or false",
    "none": "leave the line out, or begin it with #",
    "null": "leave the line out, or begin it with #",
    "“": 'use straight quotes: "like this"',
    "„": 'use straight quotes: "like this"',
    "‘": 'use straight quotes: "like this"',
    "[": 'the list cannot be read: write ["one", "two"]',
    "{": 'the table cannot be read: write { key = "value" }',
}
_TEXTS = 'texts need quotes: "like this"'
_NO_END = "the text has no end: close it with the same quote"
_TWICE = "this is in the file twice: remove one of them"
_WORDS: tuple[tuple[str, str], ...] = (
    ("Expected '='", "there is no = after the key"),
    ("Expected ']'", "the heading of the table has no end: close it with ]"),
    ("Invalid statement", "this is neither `key = value` nor a [table]"),
    ("Invalid initial character for a key", "this is neither `key = value` nor a [table]"),
    ("Unterminated string", _NO_END),
    ("Illegal character '\\n'", _NO_END),
    ("Expected \"'", _NO_END),
    ("Unclosed array", "the list has no end: close it with ]"),
    ("Unclosed inline table", "the table has no end: close it with }"),
    ("Expected newline", "a line has one setting, and a comment after it begins with #"),
    ("Unescaped '\\'", "write \\\\ for a backslash, or put the text into 'single quotes'"),
    ("Invalid hex", "write \\\\ for a backslash, or put the text into 'single quotes'"),
    ("Duplicate", _TWICE),
    ("Cannot overwrite", _TWICE),
    ("Cannot mutate", _TWICE),
    ("Cannot declare", "this table is in the file twice: for several models write [[models]]"),
)


def toml_mistake(path: Path, problem: str, text: str) -> str:
    """Return file, line and what is wrong, from the message of `tomllib` and the file's text."""
    found = _PLACE.fullmatch(problem)
    if found is None:
        return f"{path}: is not TOML: {problem}"
    lines = text.split("\n")
    number = int(found["line"] or len(lines))
    line = lines[number - 1] if number <= len(lines) else ""
    key = _KEY.match(line)
    where = f"{path}, line {number}" + (f" ({key[1]})" if key else "")
    return f"{where}: {_words(found['what'], key)}"


def _words(what: str, key: re.Match[str] | None) -> str:
    if what.startswith("Invalid value") and key is not None:
        value = key[2].strip().casefold()
        if not value:
            return "there is no value after the ="
        return _NOT_TOML.get(value) or _NOT_TOML.get(value[0]) or _TEXTS
    return next((words for begin, words in _WORDS if what.startswith(begin)), what)
