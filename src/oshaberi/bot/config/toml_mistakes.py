"""What is wrong with a settings file that is not TOML, in plain words and with its line.

The words name the key of the line, never its value, which may be a secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

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
