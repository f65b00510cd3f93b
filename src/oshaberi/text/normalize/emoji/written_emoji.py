"""Finds the emoji that the model wrote: `:name:`, `<:name:id>`, and `<:name:>`.

Times, `std::vector`, ports, `a:b:c` and reStructuredText's `:ref:` before a backtick are text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from oshaberi.text.normalize.editable_ranges import UNSPACED, code_and_urls, outside

_GLUED = rf"[^\W_{UNSPACED}]"  # a letter or digit that belongs to the same word
_WRITTEN = re.compile(
    r"<a?:(\w{1,32}):(\d{0,20})>"
    rf"|(?<!{_GLUED})(?<!:)(?::[A-Za-z0-9_+-]{{1,64}}:)+(?!{_GLUED}|[:`])"
)
_NAME = re.compile(r":([A-Za-z0-9_+-]+):")


@dataclass(frozen=True, slots=True)
class WrittenEmoji:
    """An emoji in the text: its place, its name, and for a tag the id (or "")."""

    at: int
    stop: int
    name: str
    id: str | None = None


def written_emoji(text: str, limit: int) -> list[WrittenEmoji]:
    """Every emoji written in `text`, in order, outside code and URLs."""
    matches = list(_WRITTEN.finditer(text)) if ":" in text else []
    if not matches:
        return []
    found: list[WrittenEmoji] = []
    for match in outside(matches, code_and_urls(text, limit)):
        if match[1] is not None:
            found.append(WrittenEmoji(match.start(), match.end(), match[1], match[2]))
        else:
            names = _NAME.finditer(text, match.start(), match.end())
            found += [WrittenEmoji(one.start(), one.end(), one[1]) for one in names]
    return found
