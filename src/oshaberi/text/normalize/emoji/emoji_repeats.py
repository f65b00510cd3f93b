"""Removes custom emoji that the bot's last messages already used (spec 06 S3)."""

from __future__ import annotations

from typing import Final

import regex

from oshaberi.text.line_kinds import marker_end
from oshaberi.text.markers.open_markers import code_limit
from oshaberi.text.normalize.editable_ranges import rewrite
from oshaberi.text.normalize.emoji.written_emoji import written_emoji
from oshaberi.text.normalize.segment_pieces import Normalizer, SegmentWork, TextPiece
from oshaberi.text.text_config import TextConfig
from oshaberi.text.urls_and_mentions import CUSTOM_EMOJI

_SAYS_SOMETHING: Final = regex.compile(r"[\p{L}\p{N}\p{So}]")


class EmojiRepeats(Normalizer):
    """Removes recently used emoji, unless only punctuation would remain."""

    def __init__(self, config: TextConfig) -> None:
        self._limit = code_limit(config.hold_limit)
        self._recent = _recent_names(config)

    @staticmethod
    def needed(config: TextConfig) -> bool:
        return bool(_recent_names(config))

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


def _recent_names(config: TextConfig) -> frozenset[str]:
    if not config.emoji_unique_lookback:
        return frozenset()
    recent = config.recent_bot_messages[-config.emoji_unique_lookback :]
    return frozenset(m[1].lower() for text in recent for m in CUSTOM_EMOJI.finditer(text))
