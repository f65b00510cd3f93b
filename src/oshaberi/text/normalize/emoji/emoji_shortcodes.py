"""Replaces `:name:` by the guild's emoji, a Unicode emoji, or nothing (spec 06 S4).

With emoji off, it is always nothing: every `:name:` is an attempt at an emoji.
"""

from __future__ import annotations

from typing import Final

import regex

from oshaberi.text.atoms import CUSTOM_EMOJI, code_limit
from oshaberi.text.normalize.editable_ranges import Edit, rewrite
from oshaberi.text.normalize.emoji.standard_emoji import standard_emoji
from oshaberi.text.normalize.emoji.written_emoji import WrittenEmoji, written_emoji
from oshaberi.text.normalize.segment_pieces import Normalizer, SegmentWork, TextPiece
from oshaberi.text.text_config import TextConfig

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
        """Tell whether a tag stays. Without a list of the guild's emoji, all do."""
        return tag_id in self._ids or not self._ids


def _after_marks(text: str, at: int) -> int:
    """Return the index after combining marks, which go with a removed emoji."""
    found = _NO_MARK.search(text, at)
    return found.start() if found else at


def _looks_like_emoji(one: WrittenEmoji) -> bool:
    """Tell whether it may be an emoji.

    A name without a letter is rather a time (`:30:`) or a table's line (`:---:`).
    """
    if one.id is not None:
        return True
    return len(one.name) in _LENGTHS and any(char.isalpha() for char in one.name)
