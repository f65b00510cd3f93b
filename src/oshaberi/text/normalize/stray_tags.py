"""Removes `<think>` and `</think>` tags that belong to no block (spec 06 S4, spec 05 C1)."""

from __future__ import annotations

import re
from typing import Final

from oshaberi.text.atoms import code_limit
from oshaberi.text.captured_blocks import THINK_NAME
from oshaberi.text.config import TextConfig
from oshaberi.text.normalize.pieces import Normalizer, SegmentWork, code_and_urls, outside, rewrite

_TAG: Final = re.compile(rf"</?{THINK_NAME}(?:\s[^<>\n]{{0,160}})?/?>", re.IGNORECASE)


class StrayTags(Normalizer):
    """Removes these tags and leaves everything else that looks like HTML."""

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
