"""Removes the persona's own label from its text: `Tomori:`, `**Tomori:**` (spec 06 S4)."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import Final

from oshaberi.text.atoms import code_limit
from oshaberi.text.config import Persona, TextConfig
from oshaberi.text.line_kinds import block_kind
from oshaberi.text.normalize.pieces import (
    Normalizer,
    SegmentWork,
    TextPiece,
    code_and_urls,
    outside,
)

# The persona's own labels: `Tomori:`, `**Tomori:**`, `Tomori (mad):`, `{{char}}：`.


MACROS: Final = ("{{char}}", "{{bot}}", "{char}", "{bot}")

# A modifier may hold one level of brackets of its own. Code is never touched: no backtick in it.
_MODIFIER: Final = r"(?:[^()（）\n`]|\([^()（）\n`]{1,62}\)){1,64}"


def own_label(persona: Persona) -> re.Pattern[str]:
    """Return the pattern of one label of the persona.

    Groups: bold mark, source, modifier (None for a plain label).
    """
    names = {name.strip() for name in (*persona.names, *MACROS)} - {""}
    source = "|".join(re.escape(name) for name in sorted(names, key=lambda n: (-len(n), n)))
    return re.compile(
        rf"(\*{{1,3}}|__)?({source})(?:[ \t]{{0,2}}[(（]({_MODIFIER})[)）])?[ \t]?"
        r"(?(1)(?:\1[ \t]?[:：]|[:：][ \t]?\1)|[:：])"
        r"(?![:：]|//)[ \t]*",  # `Tomori::x` and `tomori://x` are no labels
        re.IGNORECASE,
    )


def has_colon(text: str) -> bool:
    return ":" in text or "：" in text


def text_start(line: str) -> int:
    """Return where the line's text begins, after its indentation."""
    return len(line) - len(line.lstrip(" \t"))


# Removes the persona's own label from its text (spec 06 S4).
#
# At a line's start it is removed, aliases too. The persona's name directly after a sentence, a
# bracket or an emoji becomes a newline.


_GLUED_SIGNS: Final = frozenset(".!?…。！？．｡~～♪")
_CLOSING: Final = frozenset(")]}）］｝」』】》〉»”’")
_TWO_FACED: Final = frozenset("*_|\"'")  # these can open as well: they close if they touch a word
_EMOJI_TAILS: Final = frozenset("\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")
_SHORTCODE: Final = re.compile(r":[A-Za-z0-9_+-]{2,32}:\Z")


class OwnName(Normalizer):
    """Removes own labels. Never touches another speaker's label, a list item or code."""

    def __init__(self, config: TextConfig, persona: Persona) -> None:
        self._limit = code_limit(config.hold_limit)
        self._label = own_label(persona)
        self._name = own_label(replace(persona, aliases=()))
        """What counts within a line. An alias may be an ordinary word there."""

    def apply(self, work: SegmentWork) -> None:
        for piece in work.pieces:
            if has_colon(piece.text) and self._label.search(piece.text):
                self._clean(piece, work)

    def _clean(self, piece: TextPiece, work: SegmentWork) -> None:
        lines = []
        at_start = piece.line_start
        for line in piece.text.split("\n"):
            lines.append(self._unlabelled(line, at_start, work) if has_colon(line) else line)
            at_start = True
        piece.text = "\n".join(lines)

    def _unlabelled(self, line: str, at_start: bool, work: SegmentWork) -> str:
        if block_kind(line) == "list":
            return line
        at = 0
        if at_start:
            start = text_start(line)
            end = self._chain_end(line, start)
            at = end if end > start else 0
        if at:
            work.withheld.append((line[:at], "own_name"))
        return self._unglued(line, at, work)

    def _unglued(self, line: str, at: int, work: SegmentWork) -> str:
        labels = [
            label
            for label in self._name.finditer(line, at)
            if label[3] is None and _is_glued(line, label.start())
        ]
        out = []
        for label in outside(labels, code_and_urls(line, self._limit)) if labels else ():
            start = label.start()
            if start < at:
                continue
            end = self._chain_end(line, start)
            work.withheld.append((line[start:end], "own_name"))
            out += [line[at:start], "\n"]
            at = end
        return "".join(out) + line[at:]

    def _chain_end(self, line: str, at: int) -> int:
        """Return the end of the plain labels that begin at `at`: `Tomori: Lilya: hi`."""
        while (label := self._label.match(line, at)) and label[3] is None:
            at = label.end()
        return at


def own_name(config: TextConfig) -> OwnName | None:
    """Make the rule, if there is a persona."""
    return OwnName(config, config.persona) if config.persona is not None else None


def _is_glued(line: str, at: int) -> bool:
    """Return whether a sentence, a bracket or an emoji ends right before `at`.

    This deliberately differs from `sentences.ends`: there white space must follow a period, here
    the label touches it.
    """
    before = line[at - 1] if at else ""
    if not before:
        return False
    if before in _GLUED_SIGNS or before in _CLOSING or before in _EMOJI_TAILS:
        return True
    if before in _TWO_FACED:
        return _closes(line, at, before)
    if before == ">":
        return line[at - 2 : at - 1].isdigit()  # a custom emoji or a mention
    if before == ":":
        return _SHORTCODE.search(line, max(0, at - 34), at) is not None
    return unicodedata.category(before) == "So"


def _closes(line: str, at: int, mark: str) -> bool:
    """Return whether the run of marks that ends at `at` touches a word: `*waves*Tomori: hi`."""
    while at and line[at - 1] == mark:
        at -= 1
    return at > 0 and not line[at - 1].isspace()
