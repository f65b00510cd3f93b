"""Decides whether an unfinished line may begin with a label whose colon has not come yet.

Live mode shows nothing of such a line: a name of the persona will be taken out (spec 06 S2, S4),
and a foreign speaker's line must never be seen (S7).
"""

from __future__ import annotations

import re
from typing import Final

from oshaberi.text.normalize.names.own_label_pattern import MACROS
from oshaberi.text.normalize.names.speaker_guard import foreign_names, participant_names
from oshaberi.text.text_config import TextConfig

_ANY_SPEAKER: Final = re.compile(r"[\w .'’*~()（）-]{0,66}\Z")
_MOST_WORDS: Final = 4
_LONGEST_MODIFIER: Final = 70
_BOLD: Final = re.compile(r"\A(?:\*{1,3}|__)")
_BEHIND_NAME: Final = re.compile(r"[*_]{0,3}\s*(?:[(（][^\n]*)?\Z")
_BEHIND_PARTICIPANT: Final = re.compile(r"[*_]{0,3}\s*(?:[(（][^\n]*)?(?:[:：][\W_]*)?\Z")
"""Also a colon without words yet: what follows decides whether it is their turn."""


class PossibleLabels:
    """The labels that mean something in one stream."""

    def __init__(self, config: TextConfig) -> None:
        own = (*config.persona.names, *MACROS) if config.persona else ()
        names = (*own, *foreign_names(config))
        self._names = tuple({_folded(name) for name in names} - {""})
        self._participants = tuple({_folded(name) for name in participant_names(config)} - {""})
        self._any_speaker = config.llm_stop_speaker_pattern_enabled

    def may_begin(self, line: str) -> bool:
        """Tell whether the line, without outer spaces, may still turn out to have one."""
        if self._any_speaker and _may_be_speaker(line):
            return True
        text = _folded(_BOLD.sub("", line))
        if any(_may_become(text, name, _BEHIND_PARTICIPANT) for name in self._participants):
            return True
        return any(_may_become(text, name, _BEHIND_NAME) for name in self._names)


def _may_be_speaker(line: str) -> bool:
    """Tell whether it may be a speaker's name: any name of up to four words counts."""
    return _ANY_SPEAKER.match(line) is not None and len(line.split()) <= _MOST_WORDS


def _may_become(text: str, name: str, behind: re.Pattern[str]) -> bool:
    if len(text) <= len(name):
        return name.startswith(text)
    rest = text[len(name) :]
    short = len(rest) <= _LONGEST_MODIFIER
    return text.startswith(name) and short and behind.match(rest) is not None


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
