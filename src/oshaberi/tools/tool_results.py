"""Turns a tool's result into text for the model, within the length limit."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

from oshaberi.text.text_measure import grapheme_edge
from oshaberi.tools.tool_definition import ToolFailedError

NOTHING = "(nothing was returned)"
_ILLEGIBLE = re.compile("[\x00\ud800-\udfff]")


def as_text(value: Any, most: int) -> str:
    """Return text as it is and other values as JSON, up to about `most` characters."""
    if value is None:
        return NOTHING
    text = value if isinstance(value, str) else _as_json(value, most)
    return _ILLEGIBLE.sub("\ufffd", text) if text.strip() else NOTHING


def cut(text: str, most: int) -> str:
    """Cut the text to `most` characters, with a note where something is missing."""
    if len(text) <= most:
        return text
    note = f"\n[cut: the result is longer than {most} characters]"
    return text[: grapheme_edge(text, 0, max(most - len(note), 1))] + note


def _as_json(value: Any, most: int) -> str:
    """Encode piece by piece, and stop as soon as there is enough."""
    parts: list[str] = []
    length = 0
    try:
        for part in json.JSONEncoder(ensure_ascii=False, default=_plain).iterencode(value):
            parts.append(part)
            length += len(part)
            if length > most:
                break
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolFailedError(f"the tool returned what is not JSON: {error}") from None
    return "".join(parts)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
