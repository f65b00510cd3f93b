"""Stops where the model begins to speak for somebody else (spec 06 S7)."""

from __future__ import annotations

import re
from typing import Final

from oshaberi.text.line_kinds import block_kind
from oshaberi.text.normalize.names.own_label_pattern import has_colon
from oshaberi.text.normalize.names.prose_labels import is_prose_label
from oshaberi.text.normalize.segment_pieces import Normalizer, SegmentWork, TextPiece
from oshaberi.text.text_config import TextConfig

RESERVED: Final = frozenset(("assistant", "user", "human", "system"))
_LABEL: Final = re.compile(
    r"[ \t]*(?:\*{1,3}|__)?([^\s*`:：][^\n*`:：]{0,139}?)[ \t]?(?:\*{1,3}|__)?[ \t]?[:：]"
    r"(?![:：]|//)"
)
_MODIFIED: Final = re.compile(r"([^(（]+?)[ \t]*[(（][^()（）]{1,64}[)）]")
_SPEAKER_LIKE: Final = re.compile(r"(?=[^\n]*[^\W\d_])\w[\w .'’-]{0,63}")
_MAX_WORDS: Final = 4
_SETS_OFF: Final = frozenset("*_\"'“「『(（")


class SpeakerGuard(Normalizer):
    """Cuts before another speaker's line, so that none of it is seen."""

    def __init__(self, config: TextConfig) -> None:
        persona = config.persona
        self._own = frozenset(map(_key, persona.names)) if persona else frozenset[str]()
        self._known = {_key(name) for one in config.known for name in one.names} - self._own - {""}
        self._any_speaker = config.llm_stop_speaker_pattern_enabled

    @staticmethod
    def needed(config: TextConfig) -> bool:
        return config.llm_stop_speaker_pattern_enabled or config.registered_speaker_guard_enabled

    def apply(self, work: SegmentWork) -> None:
        is_first_line = work.opens_response
        for i, piece in enumerate(work.pieces):
            if has_colon(piece.text):
                found = self._find(piece, is_first_line)
                if found is not None:
                    self._cut(work, i, *found)
                    return
            is_first_line = is_first_line and not piece.text.strip()

    def _find(self, piece: TextPiece, is_first_line: bool) -> tuple[int, str] | None:
        """Return where another speaker's line begins, and the label."""
        at = 0
        is_whole = piece.line_start
        for line in piece.text.split("\n"):
            if is_whole and not is_first_line:
                label = self._foreign_label(line)
                if label is not None:
                    return at, label
            is_first_line = is_first_line and not line.strip()
            is_whole = True
            at += len(line) + 1
        return None

    def _foreign_label(self, line: str) -> str | None:
        found = _LABEL.match(line)
        if found is None or block_kind(line) != "text":
            return None
        label = found[1]
        key = _key(label)
        modified = _MODIFIED.fullmatch(label)
        source = _key(modified[1]) if modified else key
        if key in self._own or source in self._own:
            return None
        if key in RESERVED or key in self._known or source in self._known:
            return label
        if self._any_speaker and _is_set_off(line, found.end(), label) and _is_speaker_like(label):
            return label
        return None

    @staticmethod
    def _cut(work: SegmentWork, index: int, at: int, label: str) -> None:
        piece = work.pieces[index]
        rest = [piece.text[at:], *(later.text for later in work.pieces[index + 1 :])]
        work.withheld.append(("\n".join(rest), "speaker_guard"))
        piece.text = piece.text[:at].rstrip()
        del work.pieces[index + 1 :]
        work.stop = label


def _key(name: str) -> str:
    return " ".join(name.split()).casefold()


def _is_speaker_like(label: str) -> bool:
    if not _SPEAKER_LIKE.fullmatch(label) or len(label.split()) > _MAX_WORDS:
        return False
    return not is_prose_label(label)


def _is_set_off(line: str, at: int, label: str) -> bool:
    r"""Tell whether a label ends here: not `10:30`, `C:\x` or `key:value`; but `Bob:hi` does."""
    after = line[at : at + 1]
    if not after or after.isspace() or after in _SETS_OFF or line[at - 1] == "：":
        return True
    return not after.isdigit() and after not in "\\/" and not label[0].islower()
