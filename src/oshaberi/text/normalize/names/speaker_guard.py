"""Stops where the model begins to speak for somebody else (spec 06 S7).

By default only for `Assistant:`, which is nobody's name, and for those who take part in the
conversation, if their label is followed by words: `alice: 3` is a score, `alice: hi` is a turn. Two
switches widen it, to all known names or to anything that looks like a speaker.
"""

from __future__ import annotations

import re
from typing import Final

from oshaberi.text.line_kinds import block_kind
from oshaberi.text.normalize.names.own_label_pattern import has_colon
from oshaberi.text.normalize.names.prose_labels import is_prose_label
from oshaberi.text.normalize.segment_pieces import Normalizer, SegmentWork, TextPiece
from oshaberi.text.text_config import TextConfig

RESERVED: Final = frozenset(("assistant", "user", "human", "system"))
NOBODY: Final = frozenset(("assistant",))
"""The one reserved speaker that no text means otherwise: `User:` may begin a list of settings."""
_LABEL: Final = re.compile(
    r"[ \t]*(?:\*{1,3}|__)?([^\s*`:：][^\n*`:：]{0,139}?)[ \t]?(?:\*{1,3}|__)?[ \t]?[:：]"
    r"(?![:：]|//)"
)
_MODIFIED: Final = re.compile(r"([^(（]+?)[ \t]*[(（][^()（）]{1,64}[)）]")
_SPEAKER_LIKE: Final = re.compile(r"(?=[^\n]*[^\W\d_])\w[\w .'’-]{0,63}")
_MAX_WORDS: Final = 4
_SETS_OFF: Final = frozenset("*_\"'“「『(（")
_WORDS: Final = re.compile(r"[\W_]*[^\W\d_]")
"""What is said begins with a letter, whatever marks come before it; a score begins with a digit."""
_SHORTEST_NAME: Final = 2


class SpeakerGuard(Normalizer):
    """Cuts before another speaker's line, so that none of it is seen."""

    def __init__(self, config: TextConfig) -> None:
        persona = config.persona
        self._own = frozenset(map(_key, persona.names)) if persona else frozenset[str]()
        self._any_speaker = config.llm_stop_speaker_pattern_enabled
        self._foreign = frozenset(map(_key, foreign_names(config))) - self._own
        self._participants = frozenset(map(_key, participant_names(config))) - self._own

    @staticmethod
    def needed(config: TextConfig) -> bool:
        return config.participant_guard_enabled or guards_all_names(config)

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
        if key in self._foreign or source in self._foreign:
            return label
        if key in self._participants or source in self._participants:
            return label if _WORDS.match(line, found.end()) else None
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


def guards_all_names(config: TextConfig) -> bool:
    """Return whether every label with a known name is foreign, whatever follows it."""
    return config.llm_stop_speaker_pattern_enabled or config.registered_speaker_guard_enabled


def foreign_names(config: TextConfig) -> list[str]:
    """Return the names whose label ends the answer, whatever follows it."""
    if not guards_all_names(config):
        return [*NOBODY] if config.participant_guard_enabled else []
    known = (name for one in config.known for name in one.names)
    return [*RESERVED, *(name for name in known if name.strip())]


def participant_names(config: TextConfig) -> list[str]:
    """Return the names whose label ends the answer if words follow it.

    Not a name that is a word of prose as well (`Note`, `Python`), nor a single letter.
    """
    if guards_all_names(config) or not config.participant_guard_enabled:
        return []
    names = (name.strip() for one in config.known if one.takes_part for name in one.names)
    return [name for name in names if len(name) >= _SHORTEST_NAME and not is_prose_label(name)]


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
