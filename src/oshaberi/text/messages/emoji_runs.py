"""Puts custom emoji that stand alone into messages of their own: Discord then shows them large.

Spec 07, "Custom emoji". Runs are judged line by line, in one pass.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from oshaberi.text.atoms import CUSTOM_EMOJI
from oshaberi.text.line_kinds import block_kind, indent, marker_end
from oshaberi.text.measure import extends, has_visible
from oshaberi.text.sentences.ends import TERMINATORS, clause_end_at

_SENTENCE_SIGNS: Final = tuple(".!?。！？")
_PUNCTUATION: Final = re.compile(r"[.,!?;:。！？、，…]+")
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9]+")


class EmojiPart(NamedTuple):
    """A stretch of text that becomes a message, and the message's text."""

    start: int
    end: int
    text: str


class _Emoji(NamedTuple):
    start: int
    end: int
    name: str


def parts(
    text: str, start: int, end: int, prefix_length: int, kept: Sequence[tuple[int, int]]
) -> list[EmojiPart]:
    """Split `text[start:end]` into messages. Emoji inside the `kept` spans are plain text."""
    made: list[EmojiPart] = []
    at = start
    for run, stop in _standing_alone(text, start, end, kept):
        _add_text(made, text, at, run[0].start)
        made += _grouped(text, run, stop, prefix_length)
        at = stop
    _add_text(made, text, at, end)
    return made


def _standing_alone(
    text: str, start: int, end: int, kept: Sequence[tuple[int, int]]
) -> Iterator[tuple[list[_Emoji], int]]:
    """Yield the runs that stand alone, each with the end of the punctuation after it."""
    runs = _runs(text, start, end, kept)
    i = 0
    in_list = False
    while i < len(runs) and start < end:
        line_end = text.find("\n", start, end)
        line_end = end if line_end < 0 else line_end
        line = text[start:line_end]
        in_list = block_kind(line) == "list" or (in_list and indent(line) > 0)
        first = i
        while i < len(runs) and runs[i][0].start < line_end:
            i += 1
        if i > first and not in_list:  # rule (b)
            text_start = start + marker_end(line)
            marked = start < text_start == runs[first][0].start
            yield from _judge_line(text, text_start, line_end, runs[first:i], marked)
        start = line_end + 1


def _runs(text: str, start: int, end: int, kept: Sequence[tuple[int, int]]) -> list[list[_Emoji]]:
    """Return runs of emoji with only spaces between them, outside the kept spans."""
    runs: list[list[_Emoji]] = []
    i = max(0, bisect_left(kept, (start, start)) - 1)
    last = -1
    for found in CUSTOM_EMOJI.finditer(text, start, end):
        while i < len(kept) and kept[i][1] <= found.start():
            i += 1
        if i < len(kept) and kept[i][0] < found.start() and found.end() < kept[i][1]:
            continue
        if extends(text, found.end()):
            continue
        emoji = _Emoji(found.start(), found.end(), found[1])
        gap = text[last : emoji.start] if last >= 0 else "x"
        if "\n" not in gap and not gap.strip():
            runs[-1].append(emoji)
        else:
            runs.append([emoji])
        last = emoji.end
    return runs


def _judge_line(
    text: str, start: int, end: int, runs: list[list[_Emoji]], marked: bool
) -> Iterator[tuple[list[_Emoji], int]]:
    """Yield the runs of one line that are not part of its sentences.

    `marked`: the line's marker has no other text so far, so the first run stays with it.
    """
    gaps = _gaps(text, start, end, runs)
    last_text = max((i for i, gap in enumerate(gaps) if _is_text(gap)), default=-1)
    before = marked
    for i, run in enumerate(runs):
        before = before or _is_text(gaps[i])
        after = last_text > i
        punctuation = _PUNCTUATION.match(text, run[-1].end, end)
        if punctuation and extends(text, punctuation.end()):
            continue
        if before and (punctuation or (marked and i == 0)):
            continue
        if before and after and not _ends_sentence(gaps[i]):  # rule (a)
            continue
        yield run, punctuation.end() if punctuation else run[-1].end


def _ends_sentence(before: str) -> bool:
    """Return whether the text before an emoji ends with a sentence, or with an ellipsis.

    The signs are those of spec 07; `clause_end_at` knows the periods of abbreviations.
    """
    before = before.rstrip()
    if not before.endswith(_SENTENCE_SIGNS):
        return False
    return clause_end_at(before + " ", len(before.rstrip(TERMINATORS))) > 0


def _gaps(text: str, start: int, end: int, runs: list[list[_Emoji]]) -> list[str]:
    """Return the text before, between and after the runs."""
    edges = [start]
    for run in runs:
        edges += (run[0].start, run[-1].end)
    edges.append(end)
    return [text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _is_text(gap: str) -> bool:
    return has_visible(_PUNCTUATION.sub("", gap))


def _grouped(text: str, run: list[_Emoji], stop: int, prefix_length: int) -> list[EmojiPart]:
    """Make one message per family of names. The punctuation after the last emoji goes with it."""
    made: list[EmojiPart] = []
    family = ""
    for emoji in run:
        tag = text[emoji.start : emoji.end]
        before, family = family, _family(emoji.name, prefix_length)
        if family and family == before:
            made[-1] = EmojiPart(made[-1].start, emoji.end, made[-1].text + tag)
        else:
            made.append(EmojiPart(emoji.start, emoji.end, tag))
    if stop > made[-1].end:
        tail = text[made[-1].end : stop]
        made[-1] = EmojiPart(made[-1].start, stop, made[-1].text + tail)
    return made


def _family(name: str, prefix_length: int) -> str:
    """Return the common prefix of names that are joined; empty if the name is too short."""
    letters = _NOT_IN_NAMES.sub("", name.lower())
    return letters[:prefix_length] if len(letters) >= prefix_length else ""


def _add_text(made: list[EmojiPart], text: str, start: int, end: int) -> None:
    piece = text[start:end].strip()
    if piece:
        at = text.index(piece, start)
        made.append(EmojiPart(at, at + len(piece), piece))
