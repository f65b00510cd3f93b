"""Turns `<br>` outside code into a newline (spec 06 S4)."""

from __future__ import annotations

from oshaberi.text.atoms import code_limit
from oshaberi.text.config import TextConfig
from oshaberi.text.line_kinds import BREAK_TAG
from oshaberi.text.normalize.pieces import Normalizer, SegmentWork, code_and_urls, outside


class HtmlBreaks(Normalizer):
    """Makes one newline of each; none is added where a newline follows anyway."""

    def __init__(self, config: TextConfig) -> None:
        self._limit = code_limit(config.hold_limit)

    def apply(self, work: SegmentWork) -> None:
        for piece in work.pieces:
            if "<" in piece.text and BREAK_TAG.search(piece.text):
                piece.text = self._broken(piece.text)

    def _broken(self, text: str) -> str:
        out = []
        at = 0
        for tag in outside(BREAK_TAG.finditer(text), code_and_urls(text, self._limit)):
            out.append(text[at : tag.start()].rstrip(" \t"))
            at = tag.end()
            while at < len(text) and text[at] in " \t":
                at += 1
            if text[at : at + 1] != "\n":
                out.append("\n")
        out.append(text[at:])
        return "".join(out)
