"""Finds the tool that a message asks for: `call roll_dice`, “use the dice tool”. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

_BEFORE = re.compile(
    r"(?:`|\b(?:use|call|run|try|invoke)\s+(?:the\s+|your\s+|my\s+|tool\s+)?`?)$", re.IGNORECASE
)
_AFTER = re.compile(r"`?\s*(?:(?:tool|function)\b|[({`]|ツール|を使|を呼)", re.IGNORECASE)
_DESCRIBED = re.compile(
    r"\b(?:the|your|my|use|call|run|try|invoke)\s+([\w-][\w -]{0,59}?)\s+(?:tool|function)\b",
    re.IGNORECASE,
)
_LITTLE = frozenset(("a", "an", "the", "your", "my", "use", "call", "run", "try", "invoke", "this"))
_NAME_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_LEADING = re.compile(
    r"`?\s*(?:tool|function)?\b[\s:,]*(?:(?:with|for|about|to|on|and)\b)?[\s:,]*", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class RequestedTool:
    """A tool, and the text after its name."""

    tool: str
    rest: str


def named_in(words: str, tools: Iterable[str]) -> RequestedTool | None:
    """Return the tool that is named first. A one-word name needs "call", "tool" or the like."""
    tools = tuple(tools)
    found = [match for tool in tools for match in _mentions(words, tool)]
    if found:
        _start, end, tool = min(found, key=lambda one: (one[0], -one[1]))
        return RequestedTool(tool, _rest(words, end))
    return _described(words, tools)


def _mentions(words: str, tool: str) -> Iterable[tuple[int, int, str]]:
    for match in _pattern(tool).finditer(words):
        unmistakable = match[0].lower() == tool.lower() and len(_parts(tool)) > 1
        meant = _BEFORE.search(words[: match.start()]) or _AFTER.match(words, match.end())
        if unmistakable or meant:
            yield match.start(), match.end(), tool


@cache
def _pattern(tool: str) -> re.Pattern[str]:
    """Return a pattern for the name, as written or with spaces. Works inside Japanese text."""
    spaced = r"[\s_-]+".join(re.escape(part) for part in re.split(r"[_-]+", tool.strip("_-")))
    return re.compile(rf"(?<![A-Za-z0-9_-]){spaced}(?![A-Za-z0-9_-])", re.IGNORECASE)


def _described(words: str, tools: Iterable[str]) -> RequestedTool | None:
    """Find a tool by some words of its name."""
    for match in _DESCRIBED.finditer(words):
        said = {word for word in match[1].lower().split() if word not in _LITTLE}
        fitting = [tool for tool in tools if said and said <= _parts(tool)]
        if fitting:
            return RequestedTool(min(fitting, key=len), _rest(words, match.end()))
    return None


def _parts(tool: str) -> set[str]:
    return {part.lower() for part in _NAME_PARTS.findall(tool)}


def _rest(words: str, end: int) -> str:
    behind = words[end:]
    leading = _LEADING.match(behind)
    return behind[leading.end() if leading else 0 :].strip()
