"""Custom emoji: shortcodes are resolved, repeated ones are removed (spec 06 S3, S4)."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import regex

from oshaberi.text.atoms import CUSTOM_EMOJI, code_limit
from oshaberi.text.config import TextConfig
from oshaberi.text.line_kinds import marker_end
from oshaberi.text.normalize.pieces import (
    UNSPACED,
    Edit,
    Normalizer,
    SegmentWork,
    TextPiece,
    code_and_urls,
    outside,
    rewrite,
)
from oshaberi.text.normalize.standard_emoji import standard_emoji

# Finds the emoji that the model wrote: `:name:`, `<:name:id>`, and `<:name:>`.
#
# Times, `std::vector`, ports, `a:b:c` and reStructuredText's `:ref:` before a backtick are text.


_GLUED: Final = rf"[^\W_{UNSPACED}]"  # a letter or digit that belongs to the same word
_CODE: Final = "[A-Za-z0-9_+-]{1,64}:"
# Each begins with the character it looks for, so that `re` skips other text quickly.
_WRITTEN: Final = re.compile(
    r"[<:](?:(?<=<)a?:(\w{1,32}):(\d{0,20})>"
    rf"|(?<=:)(?<!{_GLUED}:)(?<!::){_CODE}(?::{_CODE})*(?!{_GLUED}|[:`]))"
)
_BEFORE_NAME: Final = re.compile(r":[\w+-]")
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
    if text.count(":") < 2 or _BEFORE_NAME.search(text) is None:
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


# Removes custom emoji that the bot's last messages already used (spec 06 S3).


_SAYS_SOMETHING: Final = regex.compile(r"[\p{L}\p{N}\p{So}]")


class EmojiRepeats(Normalizer):
    """Removes recently used emoji, unless only punctuation would remain."""

    def __init__(self, config: TextConfig, recent: frozenset[str]) -> None:
        self._limit = code_limit(config.hold_limit)
        self._recent = recent

    def apply(self, work: SegmentWork) -> None:
        for piece in work.pieces:
            if ":" in piece.text:
                self._clean(piece, work)

    def _clean(self, piece: TextPiece, work: SegmentWork) -> None:
        text = piece.text
        written = written_emoji(text, self._limit, self._recent)
        found = [e for e in written if e.name.lower() in self._recent]
        if not found:
            return
        rest = rewrite(text, ((e.at, e.stop, "") for e in found))
        if _SAYS_SOMETHING.search(rest, marker_end(text)):
            piece.text = rest
            work.withheld += [(text[e.at : e.stop], "duplicate_emoji") for e in found]


def emoji_repeats(config: TextConfig) -> EmojiRepeats | None:
    """Make the rule, if the last messages have any custom emoji."""
    if not config.emoji_unique_lookback:
        return None
    messages = config.recent_bot_messages[-config.emoji_unique_lookback :]
    recent = frozenset(m[1].lower() for text in messages for m in CUSTOM_EMOJI.finditer(text))
    return EmojiRepeats(config, recent) if recent else None


# Replaces `:name:` by the guild's emoji, a Unicode emoji, or nothing (spec 06 S4).
#
# With emoji off, it is always nothing: every `:name:` is an attempt at an emoji.


_UNRESOLVED: Final = "unresolved_shortcode"
_DISABLED: Final = "emoji_disabled"
_NO_MARK: Final = regex.compile(r"\P{M}|\Z")
_LENGTHS: Final = range(2, 33)  # of a custom emoji's name


class EmojiShortcodes(Normalizer):
    """Knows the guild's emoji by name and by id."""

    def __init__(self, config: TextConfig) -> None:
        self._limit = code_limit(config.hold_limit)
        self._enabled = config.emoji_usage_enabled
        self._preserve = config.emoji_preserve_unresolved_shortcodes
        self._exact: dict[str, str] = {}
        self._folded: dict[str, str] = {}
        self._ids: set[str] = set()
        for tag in config.emojis:
            if known := CUSTOM_EMOJI.fullmatch(tag.strip()):
                self._exact.setdefault(known[1], known[0])
                self._folded.setdefault(known[1].lower(), known[0])
                self._ids.add(known[2])

    def apply(self, work: SegmentWork) -> None:
        for piece in work.pieces:
            if ":" in piece.text:
                self._clean(piece, work)

    def _clean(self, piece: TextPiece, work: SegmentWork) -> None:
        edits: list[Edit] = []
        text = piece.text
        for one in written_emoji(text, self._limit, self._folded):
            old = text[one.at : one.stop]
            new, reason = self._resolve(one, old)
            stop = one.stop if new else _after_marks(text, one.stop)
            if new != old:
                edits.append((one.at, stop, new))
            if not new:
                work.withheld.append((text[one.at : stop], reason))
        if edits:
            piece.text = rewrite(text, edits)

    def _resolve(self, one: WrittenEmoji, old: str) -> tuple[str, str]:
        """Return the replacement; empty, with the reason, if the emoji is removed."""
        guild = self._exact.get(one.name) or self._folded.get(one.name.lower())
        if not self._enabled:
            return ("", _DISABLED) if guild or _looks_like_emoji(one) else (old, "")
        if one.id and self._keeps_tag(one.id):
            return old, ""
        if guild:
            return guild, ""
        standard = standard_emoji(one.name)
        if standard:
            return standard, ""
        if self._preserve or not self._ids or not _looks_like_emoji(one):
            return old, ""
        return "", _UNRESOLVED

    def _keeps_tag(self, tag_id: str) -> bool:
        """Return whether a tag stays. Without a list of the guild's emoji, all do."""
        return tag_id in self._ids or not self._ids


def _after_marks(text: str, at: int) -> int:
    """Return the index after combining marks, which go with a removed emoji."""
    found = _NO_MARK.search(text, at)
    return found.start() if found else at


def _looks_like_emoji(one: WrittenEmoji) -> bool:
    """Return whether it may be an emoji.

    A name without a letter is rather a time (`:30:`) or a table's line (`:---:`).
    """
    if one.id is not None:
        return True
    return len(one.name) in _LENGTHS and any(char.isalpha() for char in one.name)
