"""Finds the emoji that the model wrote: `:name:`, `<:name:id>`, and `<:name:>`.

Times, `std::vector`, ports, `a:b:c` and reStructuredText's `:ref:` before a backtick are text.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from oshaberi.text.normalize.editable_ranges import UNSPACED, code_and_urls, outside

_GLUED: Final = rf"[^\W_{UNSPACED}]"  # a letter or digit that belongs to the same word
_CODE: Final = "[A-Za-z0-9_+-]{1,64}:"
# Each begins with what it looks for, so that `re` skips the rest of the text quickly.
_WRITTEN: Final = re.compile(
    r"[<:](?:(?<=<)a?:(\w{1,32}):(\d{0,20})>"
    rf"|(?<=:)(?<!{_GLUED}:)(?<!::){_CODE}(?::{_CODE})*(?!{_GLUED}|[:`]))"
)
_GLUED_NAME: Final = re.compile(r":(?<![<:]:)(?!\d+:)([A-Za-z0-9_]{2,32}):(?![:`])")
_NAME: Final = re.compile(r":([A-Za-z0-9_+-]+):")


@dataclass(frozen=True, slots=True)
class WrittenEmoji:
    """An emoji in the text: its position, its name, and for a tag the id (or "")."""

    at: int
    stop: int
    name: str
    id: str | None = None


def written_emoji(
    text: str, limit: int, known: Collection[str] = frozenset()
) -> list[WrittenEmoji]:
    """Return every emoji written in `text`, in order, outside code and URLs.

    Emoji whose names (in lower case) are `known` count inside a word, too: `hello:soup:`.
    """
    if text.count(":") < 2:
        return []
    found: list[WrittenEmoji] = []
    matches = list(_WRITTEN.finditer(text))
    glued = [one for one in _GLUED_NAME.finditer(text) if one[1].lower() in known] if known else []
    blocked = code_and_urls(text, limit) if matches or glued else []
    for match in outside(matches, blocked):
        if match[1] is not None:
            found.append(WrittenEmoji(match.start(), match.end(), match[1], match[2]))
        else:
            names = _NAME.finditer(text, match.start(), match.end())
            found += [WrittenEmoji(one.start(), one.end(), one[1]) for one in names]
    return _with_glued(
        found, [WrittenEmoji(*one.span(), one[1]) for one in outside(glued, blocked)]
    )


def _with_glued(found: list[WrittenEmoji], glued: list[WrittenEmoji]) -> list[WrittenEmoji]:
    """Merge both in order. Of two that overlap, the one that is not glued counts."""
    if not glued:
        return found
    merged: list[WrittenEmoji] = []
    for one in sorted([*found, *glued], key=lambda emoji: (emoji.at, emoji not in found)):
        if not merged or one.at >= merged[-1].stop:
            merged.append(one)
    return merged
