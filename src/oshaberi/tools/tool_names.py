"""Makes tool names that every provider accepts, without duplicates."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from oshaberi.errors import ConfigError
from oshaberi.tools.tool_definition import Tool

LONGEST = 64
_VALID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_STRANGE = re.compile(r"[^A-Za-z0-9_-]+")
_MARK = 8


def is_valid(name: str) -> bool:
    """Tell whether all APIs accept a name: letters, digits, `_`, `-`, up to 64, no digit first."""
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
