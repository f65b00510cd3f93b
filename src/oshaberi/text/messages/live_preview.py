"""What live mode can already show of unfinished text (spec 07).

The engine asks a copy of its steps how the text would end here: `showable` is the part of the open
prose that the copy reads, `messages_to_show` what is left of its messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import regex

from oshaberi.events import Event, Message, Table
from oshaberi.text.code_block_splitting import FENCE
from oshaberi.text.config import TextConfig
from oshaberi.text.markers.closed_pairs import find_spans
from oshaberi.text.normalize.own_name import MACROS
from oshaberi.text.normalize.speaker_guard import foreign_names, participant_names

# Decides whether an unfinished line may begin with a label whose colon has not come yet.
#
# Live mode shows nothing of such a line: a name of the persona will be removed (spec 06 S2,
# S4), and a foreign speaker's line must never be seen (S7).


_ANY_SPEAKER: Final = re.compile(r"[\w .'’*~()（）-]{0,66}\Z")
_MOST_WORDS: Final = 4
_LONGEST_MODIFIER: Final = 70
_BOLD: Final = re.compile(r"\A(?:\*{1,3}|__)")
_AFTER_NAME: Final = re.compile(r"[*_]{0,3}\s*(?:[(（][^\n]*)?\Z")
_AFTER_PARTICIPANT: Final = re.compile(r"[*_]{0,3}\s*(?:[(（][^\n]*)?(?:[:：][\W_]*)?\Z")
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
        """Return whether the line, without outer spaces, may still begin with a label."""
        if self._any_speaker and _may_be_speaker(line):
            return True
        text = _folded(_BOLD.sub("", line))
        if any(_may_become(text, name, _AFTER_PARTICIPANT) for name in self._participants):
            return True
        return any(_may_become(text, name, _AFTER_NAME) for name in self._names)


def _may_be_speaker(line: str) -> bool:
    """Return whether it may be a speaker's name: any name of up to four words counts."""
    return _ANY_SPEAKER.match(line) is not None and len(line.split()) <= _MOST_WORDS


def _may_become(text: str, name: str, after: re.Pattern[str]) -> bool:
    if len(text) <= len(name):
        return name.startswith(text)
    rest = text[len(name) :]
    short = len(rest) <= _LONGEST_MODIFIER
    return text.startswith(name) and short and after.match(rest) is not None


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


# Text that may still become something else is left out: half a word, a label, a table, a mention,
# a link.


_SCRIPT: Final = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}、。！？」』）]"
_EDGE: Final = regex.compile(rf"(?r)\s|(?<={_SCRIPT})(?=[^\s\p{{M}}\u200d、。！？」』）ー])")
_UNDECIDED: Final = re.compile(
    r"\[[^\]\n]{0,500}\Z|\[[^\]\n]{0,500}\]\([^)\n]{0,500}\Z|<[A-Za-z/:#!][^<>\n]{0,200}\Z"
)
_COLON: Final = re.compile("[:：]")
_LAST_WORD: Final = regex.compile(r"(?r)\S+\Z")


def showable(text: str, config: TextConfig, goes_on: bool = False) -> str:
    """Return the start of open prose that will not change, except for its markup.

    `goes_on`: its first line began earlier, so nothing there is a label.
    """
    if config.humanizer_degree > 0:
        text = _before_overflow(text, config.flush_buffer_size)
    text = text.partition("@")[0]
    if (bar := text.find("|")) >= 0:
        text = text[: text.rfind("\n", 0, bar) + 1]
    if goes_on and (colon := _COLON.search(text.partition("\n")[0])):
        text = text[: colon.start()]
    end = _word_edge(text, config.hold_limit)
    line = text.rfind("\n", 0, end) + 1
    if undecided := _UNDECIDED.search(text, line, end):
        end = undecided.start()
    may_be_label = PossibleLabels(config).may_begin
    if (line or not goes_on) and may_be_label(text[line:end].strip()):
        end = line
    return text[:end].rstrip()


def _before_overflow(text: str, size: int) -> str:
    """Return the part of a long segment that no overflow will cut off (spec 05 B5).

    The rest goes into the next message, and would have to be removed again.
    """
    if len(text) <= size:
        return text
    newline = text.find("\n", size)
    return text[: newline if newline >= 0 else size]


def _word_edge(text: str, hold_limit: int) -> int:
    """Return the end of the last whole word, not inside an atom. Open pairs will be closed."""
    found = _EDGE.search(text)
    edge = found.start() if found else 0
    for start, end, is_atom in find_spans(text, hold_limit):
        if is_atom and start < edge < end:
            return start
    return edge


def messages_to_show(events: Iterable[Event], in_prose: bool, in_word: bool) -> list[Message]:
    """Return the messages, without the last word of code if that may be half."""
    messages = _before_table(events)
    return messages if in_prose else _without_half_word(messages, in_word)


def _before_table(events: Iterable[Event]) -> list[Message]:
    """Return the messages up to a table, which is not shown before its last row."""
    found = []
    for event in events:
        if isinstance(event, Table):
            break
        if isinstance(event, Message):
            found.append(event)
    return found


def _without_half_word(messages: list[Message], in_word: bool) -> list[Message]:
    """Remove an unfinished word of code. A block without a whole word is not shown."""
    if not messages or not messages[-1].text.endswith(FENCE):
        return messages
    *whole, last = messages
    opening = last.text.rfind(FENCE, 0, -len(FENCE))
    info, newline, code = last.text[opening : -len(FENCE)].partition("\n")
    kept = code.rstrip()
    if in_word:
        kept = _LAST_WORD.sub("", kept).rstrip()
    text = last.text[:opening] + (f"{info}{newline}{kept}\n{FENCE}" if kept else "")
    text = text.strip()
    return [*whole, replace(last, text=text)] if text else whole
