"""Tags that models write though Discord shows no HTML (spec 06 S4).

`<br>` outside code becomes a newline; `<think>` and `</think>` tags that belong to no block
(spec 05 C1) are removed. Everything else that looks like HTML stays.
"""

from __future__ import annotations

import re
from typing import Final

from oshaberi.text.atoms import code_limit
from oshaberi.text.captured_blocks import THINK_NAME
from oshaberi.text.config import TextConfig
from oshaberi.text.line_kinds import BREAK_TAG
from oshaberi.text.normalize.pieces import Normalizer, SegmentWork, code_and_urls, outside, rewrite

_TAG: Final = re.compile(rf"</?{THINK_NAME}(?:\s[^<>\n]{{0,160}})?/?>", re.IGNORECASE)


class StrayTags(Normalizer):
    """Removes think tags that opened or closed nothing."""

    def __init__(self, config: TextConfig) -> None:
        self._limit = code_limit(config.hold_limit)

    def apply(self, work: SegmentWork) -> None:
        for piece in work.pieces:
            text = piece.text
            if "<" not in text or not _TAG.search(text):
                continue
            found = outside(_TAG.finditer(text), code_and_urls(text, self._limit))
            work.withheld += [(tag[0], "tag") for tag in found]
            piece.text = rewrite(text, ((tag.start(), tag.end(), "") for tag in found))


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
