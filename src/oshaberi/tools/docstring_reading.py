"""Reads a function's docstring: its description, and simple descriptions of parameters."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

_SECTION = re.compile(r"(Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):\s*")
_ENTRY = re.compile(r"(\w+)(?:\s*\([^)]*\))?:\s*(.*)")
_FIELD = re.compile(r":param(?:\s+[\w\[\], |.]+?)?\s+(\w+):\s*(.*)")
_OTHER_FIELD = re.compile(r":\w+[^:]*:")
_OF_PARAMETERS = ("Args", "Arguments", "Parameters")


@dataclass
class ParsedDocstring:
    """A parsed docstring. `about` is the text before the parameters."""

    about: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def described(docstring: str | None) -> ParsedDocstring:
    """Parse a docstring. Reads `Args:` with indented `name: text`, and `:param name: text`."""
    reader = _DocstringReader()
    for line in inspect.cleandoc(docstring or "").splitlines():
        reader.line(line)
    about = "\n".join(reader.about).strip()
    texts = {name: " ".join(" ".join(parts).split()) for name, parts in reader.found.items()}
    return ParsedDocstring(about, {name: text for name, text in texts.items() if text})


class _DocstringReader:
    def __init__(self) -> None:
        self.about: list[str] = []
        self.found: dict[str, list[str]] = {}
        self._section = ""
        self._indent = 0
        self._current: list[str] | None = None

    def line(self, line: str) -> None:
        section, entry = _SECTION.fullmatch(line), _FIELD.fullmatch(line)
        if section is not None:
            self._section, self._current, self._indent = section[1], None, 0
        elif entry is not None:
            self._begin(entry)
            self._section = ":"
        elif _OTHER_FIELD.match(line):
            self._section, self._current = ":", None
        elif self._section in _OF_PARAMETERS:
            self._in_section(line)
        elif self._section == ":" and self._current is not None:
            self._current.append(line)
        elif not self._section:
            self.about.append(line)

    def _in_section(self, line: str) -> None:
        indent = len(line) - len(line.lstrip())
        entry = _ENTRY.fullmatch(line.strip())
        if line.strip() and not indent:
            self._section = "?"  # prose behind the section: whose it is, nobody can say
        elif entry is not None and (self._indent == 0 or indent == self._indent):
            self._indent = indent
            self._begin(entry)
        elif self._current is not None:
            self._current.append(line)

    def _begin(self, entry: re.Match[str]) -> None:
        self._current = [entry[2]]
        self.found[entry[1]] = self._current
