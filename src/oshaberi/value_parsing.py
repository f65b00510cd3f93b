"""Parses a value from text (a variable, a slash command, --set) as its setting declares.

Anything else stays a text, which the declaration then refuses, saying what is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from oshaberi.checked_json import parse_json

SWITCH = {"true": True, "yes": True, "on": True, "1": True}
SWITCH |= {"false": False, "no": False, "off": False, "0": False}
_MENTION = re.compile(r"<(?:#|@[!&]?)(\d+)>")


def read(about: Mapping[str, Any], text: str) -> Any:
    """Parse `text` as the declaration says."""
    text = text.strip()
    if "low" in about:
        return _whole(text)
    if "switch" in about:
        return SWITCH.get(text.lower(), text)
    if "fraction" in about:
        with suppress(ValueError):
            return float(text)
    elif "choices" in about:
        return text.lower() if text.lower() in about["choices"] else text
    elif "ids" in about:
        return _items(text, re.split(r"[,\s]+", _MENTION.sub(r" \1 ", text)), _whole)
    elif "strings" in about:
        return _items(text, text.split(","), str)
    elif "table" in about:
        with suppress(ValueError):
            return parse_json(text)
    return text


def _whole(text: str) -> int | str:
    mention = _MENTION.fullmatch(text)
    number = mention[1] if mention else text
    with suppress(ValueError):
        return int(number)
    return text


def _items(text: str, parts: list[str], convert: Any) -> Any:
    """Parse a JSON list, or comma-separated items. Items with commas or line breaks need JSON."""
    if text.startswith("["):
        with suppress(ValueError):
            return parse_json(text)
        return text
    return [convert(part.strip()) for part in parts if part.strip()]
