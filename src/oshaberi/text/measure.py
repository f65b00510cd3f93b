"""Lengths as Discord counts them, and where text may be cut without breaking a character."""

from __future__ import annotations

from typing import Final

import regex

_CLUSTER: Final = regex.compile(r"\X")
_LAST_PLAIN: Final = regex.compile(r"(?r)[ -~\n\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff]")
_LAST_FLAGS: Final = regex.compile(r"(?r)[\U0001f1e6-\U0001f1ff]{4,}")
_EXTENDS: Final = regex.compile(r"[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]")
_CLUSTER_TAIL: Final = 16
_VISIBLE: Final = regex.compile(r"[^\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]")
"""A visible character: not white space, a control or a format character, and not a letter or a sign
that is drawn as nothing (Hangul fillers, the blank Braille pattern)."""


def utf16_len(text: str) -> int:
    """Return the length in UTF-16 code units: never less than Discord counts."""
    if text.isascii():
        return len(text)
    # `utf-16-le` would have no byte order mark to leave out, but Python looks it up each time.
    return (len(text.encode("utf-16", "surrogatepass")) >> 1) - 1


def fits(text: str, units: int) -> bool:
    """Return whether `text` has at most `units` UTF-16 code units."""
    length = len(text)
    return 2 * length <= units or (length <= units and utf16_len(text) <= units)


def has_visible(text: str) -> bool:
    """Return whether a reader sees anything (L1)."""
    if not text:
        return False
    first = text[0]
    if (
        "!" <= first <= "~"
        or "\u00ae" <= first <= "\u034e"  # Latin letters
        or "\u2010" <= first <= "\u2027"  # dashes, quotes, the ellipsis
        or "\u3001" <= first <= "\u312f"
        or "\u3200" <= first <= "\ud7a3"
        or "\uff01" <= first <= "\uff9d"  # full-width forms
    ):
        return True  # the usual case
    return _VISIBLE.search(text) is not None


def first_visible(text: str, start: int, end: int) -> int:
    """Return the index of the first visible character; `start` if there is none."""
    found = _VISIBLE.search(text, start, end)
    return found.start() if found else start


def unseen_end(text: str, start: int, end: int) -> int:
    """Return where the format characters that begin `text[start:end]` end; `start` if none do.

    Those that are part of the first visible character stay with it.
    """
    at = first_visible(text, start, end)
    while at > start and extends(text, at):
        at -= 1
    return at if text[start:at].strip() else start


def utf16_offset(text: str, start: int, units: int) -> int:
    """Return the largest end so that `text[start:end]` has at most `units` UTF-16 units."""
    end = min(len(text), start + units)
    excess = utf16_len(text[start:end]) - units
    while excess > 0:
        # Each code point has one or two units, so this many can go without going too far.
        end -= (excess + 1) >> 1
        excess = utf16_len(text[start:end]) - units
    return end


def extends(text: str, at: int) -> bool:
    """Return whether the character at `at` belongs to the one before it."""
    if at >= len(text):
        return False
    code = ord(text[at])
    if (
        code < 0x300  # Latin letters and signs
        or 0x2010 <= code < 0x20D0  # dashes, quotes and other signs
        or 0x3000 <= code < 0x302A  # East Asian punctuation
        or 0x309B <= code < 0xA66F  # kana, Han
        or 0xFF00 <= code < 0xFF9E  # full-width forms
    ):
        return False  # the usual case
    return _EXTENDS.match(text, at) is not None


def grapheme_edge(text: str, start: int, at: int) -> int:
    """Return the last grapheme edge in (start, at]; `at` if one cluster fills it all."""
    edge = whole_edge(text, start, at)
    return edge if edge > start else at


def whole_edge(text: str, start: int, at: int) -> int:
    """Return the last grapheme edge in [start, at]; `start` if one cluster fills it all."""
    if at >= len(text):
        return len(text)
    plain = _LAST_PLAIN.search(text, start + 1, at)
    anchor = plain.start() if plain else min(start, at - 1)
    # `\X` looks back over a whole chain of flags: it gets a slice, with the last of them.
    flags = _LAST_FLAGS.search(text, anchor, at)
    if flags:
        anchor = flags.end() - 2 - (flags.end() - flags.start()) % 2
    window = text[anchor : at + _CLUSTER_TAIL]
    edge = start
    for cluster in _CLUSTER.finditer(window):
        if anchor + cluster.end() > at:
            edge = anchor + cluster.start()
            break
        edge = anchor + cluster.end()
    return max(edge, start)
