"""Undoes tricks against word filters, if that is switched on (spec 06 S4).

U+2800 becomes a space; invisible characters are removed, unless writing or emoji need them; fancy
letters become plain. Full-width punctuation is ordinary in East Asian text: it stays there.
"""

from __future__ import annotations

import unicodedata
from typing import Final

import regex

from oshaberi.text.atoms import code_limit, protected
from oshaberi.text.config import TextConfig
from oshaberi.text.normalize.pieces import Normalizer, SegmentWork

_BRAILLE_BLANK: Final = "\u2800"
# Some format characters are visible (Arabic number signs); some invisible ones are no format.
_INVISIBLE: Final = regex.compile(
    r"[[\p{Cf}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u3164\uffa0\ufe00-\ufe0f"
    r"\U000e0100-\U000e01ef]--[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd]]+",
    regex.V1,
)
_PICTURE: Final = regex.compile(r"[\p{Extended_Pictographic}\p{Emoji_Modifier}\u20e3]")
_JOINING: Final = regex.compile(
    r"[\p{Arabic}\p{Syriac}\p{Mongolian}\p{Nko}\p{Devanagari}\p{Bengali}\p{Gurmukhi}\p{Gujarati}"
    r"\p{Oriya}\p{Tamil}\p{Telugu}\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Khmer}\p{Myanmar}]"
)
_HAN: Final = regex.compile(r"\p{Han}")
_BLACK_FLAG: Final = "\U0001f3f4"
_JOINERS: Final = frozenset("\u200c\u200d")
_PRESENTATION: Final = frozenset("\ufe0e\ufe0f")
_KEYCAPS: Final = frozenset("0123456789#*")

# A mathematical alphabet, with the letters that are in older blocks.
_LENT: Final = "ℂℊℋℌℍℎℐℑℒℕℙℚℛℜℝℤℨℬℭℯℰℱℳℴ"
_MATHEMATICAL: Final = regex.compile(r"[\U0001d400-\U0001d7ff]")
_FANCY: Final = regex.compile(rf"[{_LENT}\U0001d400-\U0001d7ff]+")
_WIDE: Final = regex.compile(r"[\uff01-\uff5e]+")
_WIDE_LETTER: Final = regex.compile(r"[Ａ-Ｚａ-ｚ０-９]")
_WIDE_FOLDED: Final = {
    ord(wide): chr(ord(wide) - 0xFEE0)
    for wide in map(chr, range(0xFF01, 0xFF5F))
    # Not those that would become markup.
    if _WIDE_LETTER.match(wide) or wide in "！？．，：；＇（）－％＆＋＝"
}


class Uncensor(Normalizer):
    """Works outside code, URLs and Discord tokens."""

    def __init__(self, config: TextConfig) -> None:
        self._limit = code_limit(config.hold_limit)
        self._spaces = config.uncensor_unicode_space_enabled
        self._sanitizes = config.uncensor_sanitize_enabled

    def apply(self, work: SegmentWork) -> None:
        for piece in work.pieces:
            if not piece.text.isascii():
                piece.text = self._clean(piece.text, work)

    def _clean(self, text: str, work: SegmentWork) -> str:
        out = []
        at = 0
        noted = len(work.withheld)
        for start, end in protected(text, self._limit):
            out += [self._clean_part(text[at:start], work), text[start:end]]
            at = end
        out.append(self._clean_part(text[at:], work))
        cleaned = "".join(out)
        if "```" in cleaned:
            # What parted backticks must stay: prose holds no fence (L4).
            del work.withheld[noted:]
            return text
        return cleaned

    def _clean_part(self, text: str, work: SegmentWork) -> str:
        if self._spaces:
            text = text.replace(_BRAILLE_BLANK, " ")
        if not self._sanitizes or text.isascii():
            return text
        text = _INVISIBLE.sub(lambda run: _needed_part(run, work), text)
        text = _FANCY.sub(_plain, text)
        return _WIDE.sub(_narrow, text)


def uncensor(config: TextConfig) -> Uncensor | None:
    """Make the rule, if one of its switches is on."""
    if config.uncensor_unicode_space_enabled or config.uncensor_sanitize_enabled:
        return Uncensor(config)
    return None


def _needed_part(run: regex.Match[str], work: SegmentWork) -> str:
    """Return the part of an invisible run that an emoji or a word's spelling needs."""
    text = run.string
    before = text[run.start() - 1] if run.start() else ""
    after = text[run.end()] if run.end() < len(text) else ""
    if before == after == "`":
        return run[0]  # without it the backticks would become a fence
    kept, removed = "", ""
    for index, char in enumerate(run[0]):
        if _is_needed(char, index, before, after):
            kept += char
        else:
            removed += char
    if removed:
        work.withheld.append((removed, "uncensor"))
    return kept


def _is_needed(char: str, index: int, before: str, after: str) -> bool:
    if not before:
        return False
    pictured = _PICTURE.match(before) is not None
    if char in _PRESENTATION:
        return index == 0 and (pictured or (before in _KEYCAPS and after == "\u20e3"))
    if char in _JOINERS:
        if pictured:
            return char == "\u200d" and _PICTURE.match(after) is not None
        return bool(_JOINING.match(before) and (_JOINING.match(after) or char == "\u200d"))
    if "\U000e0020" <= char <= "\U000e007f":
        return before == _BLACK_FLAG
    if "\U000e0100" <= char <= "\U000e01ef":
        return index == 0 and _HAN.match(before) is not None
    return False


def _plain(run: regex.Match[str]) -> str:
    if not _MATHEMATICAL.search(run[0]):
        return run[0]  # a lone ℝ is mathematics
    return unicodedata.normalize("NFKC", run[0])


def _narrow(run: regex.Match[str]) -> str:
    if not _WIDE_LETTER.search(run[0]):
        return run[0]
    return run[0].translate(_WIDE_FOLDED)
