r"""How models write a marker of silence, and what they write behind it: a reason, or a sentence.

`NO_REPLY`, `**no_reply**.` and `- NO\_REPLY` are markers; `NO_REPLY (they talk to each other)` and
`NO_REPLY: not for me` give a reason; in `NO_REPLY is what I write` and `NO_REPLY@mail` the marker
is a word like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum, auto
from functools import lru_cache

import regex

MOST_BLANKS = 200
"""After so many blanks nobody waits any longer for what may follow a marker."""
_UNSEEN = "\u200b\u200c\u200d\u2060\ufeff"
_OPENING_SIGNS = "`\"'*_~[(“‘「«<|-+#> \t\n" + _UNSEEN
_OPENING = rf"""(?:[-*+>#]{{1,3}}[ \t]{{1,3}})?[`"'*_~\[(“‘「«<|{_UNSEEN}]{{0,3}}"""
"""A list item, a quote, a heading or small print, and marks around a word."""
_GESTURE = r"(?:(?:<a?:\w{1,32}:\d{1,20}>|:\w{1,32}:|[^\w\s<`:]){1,4}+\s{0,3})?"
"""Emoji and signs before the marker with which an answer begins: they are no words."""
_CLOSING = rf"""[`"'*_~\])”’」»>|.!?。！？…{_UNSEEN}]{{0,4}}+"""
_SETS_APART = frozenset("])」»>|.!?。！？…")
"""Behind a marker they make it a remark or a sentence of its own."""
_NO_SPACE_AFTER = frozenset("。！？…")
_WITHIN_WORDS = frozenset("-'’.@/\\=+&%$#~")
"""Between a marker and a letter they make one word of both: `NO_REPLY@mail`, `NO_REPLY.txt`."""
_AROUND_REASON = " \t\n:：;,、.。!?！？…—–-()（）[]{}「」“”\"'`*_~|<>#/=→" + _UNSEEN
_BLANKS = regex.compile(r"[^\S\n]*")


class After(Enum):
    """What stands behind a marker."""

    UNDECIDED = auto()
    LINE_END = auto()
    REASON = auto()
    SENTENCE = auto()
    """The marker is a word of a sentence, or a part of a longer word; or there is none."""


SILENT = (After.LINE_END, After.REASON)


class SilencePatterns:
    """The patterns of some markers. `is_offered`: the model was told of them, so that any word
    behind one begins a reason. `is_topic`: somebody asked about them, so that a marker with words
    behind it is talked about. `names`: what the persona may call itself before its words.
    """

    def __init__(
        self, markers: Sequence[str], names: Iterable[str], *, is_offered: bool, is_topic: bool
    ) -> None:
        longest_first = sorted(markers, key=len, reverse=True)
        words = "|".join(map(_written, longest_first))
        alone = _OPENING + f"(?:{'|'.join(map(_written_alone, longest_first))})"
        first = _label(names) + f"(?:{alone}|{_GESTURE}{alone})"
        blanks = rf"\s{{0,{MOST_BLANKS}}}"
        self._last = regex.compile(rf"(?:{words})[.!]?{blanks}")
        self._fenced = regex.compile(rf"```\w{{0,12}}\s{{1,8}}{alone}\s{{0,8}}```{blanks}")
        self._begun = {False: regex.compile(alone), True: regex.compile(first)}
        self._whole = {
            False: regex.compile(f"{alone}({_CLOSING})"),
            True: regex.compile(f"{first}({_CLOSING})"),
        }
        letters = {sign for marker in markers for sign in (marker[0].lower(), marker[0].upper())}
        self.first_signs = frozenset((*_OPENING_SIGNS, "\\", *letters))
        """What a marker can begin with, and what may stand before it."""
        self._shortest = min(map(len, markers))
        self._is_offered = is_offered
        self.is_topic = is_topic

    def after(self, text: str, *, is_first: bool, is_end: bool = False) -> After:
        """Tell what stands behind the marker with which the text begins, if it does.

        `is_first`: these are the first words of the answer.
        """
        if not is_end and _is_partial(self._begun[is_first], text):
            return After.UNDECIDED
        found = self._whole[is_first].match(text)
        if found is None:
            return After.SENTENCE
        return self._what_follows(found[1], text[found.end() :], is_end=is_end)

    def is_last_word(self, text: str, *, is_end: bool = False) -> bool:
        """Return whether the text is a marker, or may become one, with nothing behind it."""
        return self._last.fullmatch(text, partial=not is_end) is not None

    def is_fenced(self, text: str, *, is_end: bool = False) -> bool:
        """Return whether the text is a code block with a marker alone, or may become one."""
        return self._fenced.fullmatch(text, partial=not is_end) is not None

    def is_half(self, text: str) -> bool:
        """Return whether the text is half of a marker, with what stands before it, or more."""
        patterns = (self._last, self._fenced, *self._begun.values())
        begun = any(_is_partial(pattern, text) for pattern in patterns)
        return begun and 2 * len(text.strip(_OPENING_SIGNS)) >= self._shortest

    def reason_in(self, text: str) -> str:
        """Return what follows the marker with which an answer begins, even if it is repeated."""
        found = self._whole[True].match(text)
        while found is not None:
            text = text[found.end() :].lstrip()
            found = self._whole[False].match(text)
        return text

    def _what_follows(self, closing: str, text: str, *, is_end: bool) -> After:
        if self.is_topic:
            return _only_blanks(text, is_end=is_end)
        blanks = _BLANKS.match(text)
        gap = 0 if blanks is None else blanks.end()
        sign, is_apart = text[gap : gap + 1], not _SETS_APART.isdisjoint(closing)
        if not sign or sign == "\n":
            return After.LINE_END if sign or is_end else _undecided(gap)
        if gap:
            return _reason(not _is_letter(sign) or is_apart or self._is_offered)
        if _is_letter(sign):
            return _reason(not _NO_SPACE_AFTER.isdisjoint(closing))
        if sign in _WITHIN_WORDS:
            undecided = len(text) == 1 and not is_end
            return After.UNDECIDED if undecided else _reason(not _is_letter(text[1:2]))
        return _reason(sign != "," or self._is_offered)


@lru_cache(maxsize=256)
def silence_patterns(
    markers: tuple[str, ...], names: tuple[str, ...], *, is_offered: bool, is_topic: bool
) -> SilencePatterns:
    """Return the patterns, which the streams of a persona share."""
    return SilencePatterns(markers, names, is_offered=is_offered, is_topic=is_topic)


def trimmed_reason(text: str) -> str:
    """Return a reason in one line, without the signs around it."""
    return " ".join(text.split()).strip(_AROUND_REASON)


def _reason(is_one: bool) -> After:
    return After.REASON if is_one else After.SENTENCE


def _only_blanks(text: str, *, is_end: bool) -> After:
    if text.strip():
        return After.SENTENCE
    return After.LINE_END if is_end else _undecided(len(text))


def _undecided(blanks: int) -> After:
    return After.UNDECIDED if blanks <= MOST_BLANKS else After.SENTENCE


def _is_partial(pattern: regex.Pattern[str], text: str) -> bool:
    found = pattern.fullmatch(text, partial=True)
    return found is not None and bool(found.partial)


def _is_letter(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _label(names: Iterable[str]) -> str:
    """Return a pattern of a persona's name before its words, as `Mochi (shy): `."""
    escaped = "|".join(map(regex.escape, sorted(filter(None, names), key=len, reverse=True)))
    if not escaped:
        return ""
    mood, marks = r"(?: ?\([^()\n]{1,32}\))?", "[*_]{0,2}"
    return rf"(?:{marks}(?i:{escaped}){mood}{marks}[:：]{marks}\s{{0,3}})?"


def _written(marker: str) -> str:
    r"""Return a pattern of a marker as models write it: `NO_REPLY`, `NO\_REPLY`."""
    return regex.escape(marker).replace("_", r"\\?_")


def _written_alone(marker: str) -> str:
    """Return a pattern of it on a line of its own: in any case, unless it is an ordinary word."""
    return _written(marker) if marker.isalpha() else f"(?i:{_written(marker)})"
