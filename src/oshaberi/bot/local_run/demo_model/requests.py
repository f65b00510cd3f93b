"""Reads a request to the demo model: who asks what, which persona answers, with which tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

# Finds the tool that a message asks for: `call roll_dice`, “use the dice tool”. Pure.


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


# Reads a request to the demo model: who asks what, which persona answers, with which tools.
#
# It expects the format of Oshaberi's turns: the persona in the system text, `Name: words` from
# users.


Fields = Mapping[str, Any]

_LABEL = re.compile(
    r"""^(?P<name>[^\s\[(:：][^\n:：]{0,80}?)
        (?:\ \(in\ reply\ to\ [^\n]*?"\))?:\ (?P<words>\S)""",
    re.MULTILINE | re.VERBOSE,
)
_NAMED = re.compile(r'\(Now answer what (?P<name>.+?) wrote: "(?P<words>.*?)"\. What stands')
"""The note that names the question if something was said after it."""
_YOU_ARE = re.compile(r"\bYou are ([^\n,.]{1,64}), and you take part|\bYou are ([\w'-]+)")
_UNSPOKEN_TO = re.compile(
    r"^The last message does not address .*\n.* write only (\S+?)\.?$", re.MULTILINE
)
"""The rules of a turn that nobody asked for: they say how to say nothing."""
_FACES = re.compile(r"\bFaces: ([^\n]+)")
_INDENTED = re.compile(r"^  ", re.MULTILINE)
_MENTION = re.compile(r"<@!?\d+>|(?<![\w.-])@[\w.]+")
_FILE = re.compile(r"^\[file ([^\n]+)\]\n.*?^\[end of \1\]$", re.MULTILINE | re.DOTALL)
_FILE_NOTE = re.compile(r"^\s*\[(?:image|file)(?:: | )[^\n]*\]\s*$", re.MULTILINE)
_DIRECT = "Place: a direct message"
_JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


class DemoRequestError(Exception):
    """The request cannot be answered; the message says why. Not raised outside this package."""


@dataclass(frozen=True)
class DemoRequest:
    """One parsed request."""

    words: str
    """What a user said last."""
    user: str = ""
    system: str = field(default="", repr=False)
    tools: Mapping[str, Fields] = field(default_factory=dict)
    """The parameters of the tools that may be called, by tool name."""
    result: str | None = None
    """The result of a tool, if the model is asked again after a call."""
    has_files: bool = False
    """Whether the newest message came with pictures or files."""
    turns: int = 0
    most_tokens: int | None = None
    prompt: str = field(default="", repr=False)
    """Everything that was sent, for counting tokens."""

    @property
    def is_japanese(self) -> bool:
        return _JAPANESE.search(self.words) is not None

    @property
    def is_direct(self) -> bool:
        return _DIRECT in self.prompt

    @cached_property
    def named(self) -> RequestedTool | None:
        """Return the tool that the message asks for by name, or None."""
        return named_in(self.words, self.tools)

    @cached_property
    def persona(self) -> str:
        """Return the persona that is to speak; empty if the request names none."""
        found = _YOU_ARE.search(self.system)
        return (found[1] or found[2]) if found else ""

    @cached_property
    def silence_marker(self) -> str:
        """Return the text that means "say nothing", if nobody addressed the persona; else empty."""
        found = _UNSPOKEN_TO.search(self.system)
        return found[1] if found else ""

    @cached_property
    def faces(self) -> tuple[str, ...]:
        """Return the persona's sprites, as the system text lists them."""
        found = _FACES.search(self.system)
        names = found[1].rstrip(". ").split(",") if found else ()
        return tuple(name.strip() for name in names if name.strip())


def read(body: Any) -> DemoRequest:
    """Parse a request. Raises DemoRequestError."""
    if not isinstance(body, dict):
        raise DemoRequestError("the body must be a JSON object")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise DemoRequestError("'messages' must be a list with at least one message")
    if not all(isinstance(message, dict) for message in messages):
        raise DemoRequestError("every message must be an object")
    if body.get("stream") is not True:
        raise DemoRequestError("the demo model only streams: set 'stream' to true")
    users = [_text(m) for m in messages if m.get("role") == "user"]
    user, words = _newest(users[-1] if users else "")
    last = messages[-1]
    return DemoRequest(
        words=_FILE_NOTE.sub("", words).strip(),
        user=user,
        system="\n".join(_text(m) for m in messages if m.get("role") in ("system", "developer")),
        tools=_tools(body.get("tools")),
        result=_text(last) if last.get("role") == "tool" else None,
        has_files=_FILE_NOTE.search(words) is not None,
        turns=len(users),
        most_tokens=_most(body),
        prompt="\n".join(map(_text, messages)),
    )


def _newest(text: str) -> tuple[str, str]:
    """Return the last speaker in a text with lines of several people, and what they said."""
    if (named := _NAMED.search(text)) is not None:
        return named["name"], _plain(named["words"])
    text = _FILE.sub("", text)
    labels = list(_LABEL.finditer(text))
    if not labels:
        return "", _plain(text)
    last = labels[-1]
    return last["name"].strip(), _plain(_INDENTED.sub("", text[last.start("words") :]))


def _plain(text: str) -> str:
    return _MENTION.sub(" ", text).strip()


def _text(message: Fields) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts: Sequence[Any] = content if isinstance(content, list) else ()
    return "\n".join(
        str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part
    )


def _tools(declared: Any) -> dict[str, Fields]:
    found: dict[str, Fields] = {}
    for tool in declared if isinstance(declared, list) else ():
        function = tool.get("function") if isinstance(tool, dict) else None
        if isinstance(function, dict) and isinstance(function.get("name"), str):
            parameters = function.get("parameters")
            found[function["name"]] = parameters if isinstance(parameters, dict) else {}
    return found


def _most(body: Fields) -> int | None:
    most = body.get("max_completion_tokens") or body.get("max_tokens")
    return most if isinstance(most, int) and most > 0 else None
