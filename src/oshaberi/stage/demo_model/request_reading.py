"""Reads a request to the demo model: who asks what, which persona answers, which tools.

It expects the format of Oshaberi's turns: the persona in the system text, `Name: words` from users.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from oshaberi.stage.demo_model.tool_requests import RequestedTool, named_in

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
