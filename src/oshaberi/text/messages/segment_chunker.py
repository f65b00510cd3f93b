"""Cuts one segment into messages: by line, by sentence, or only for length (spec 07, Chunking).

Cuts fall between spans; everything is done with indexes into the one text, each part of it is
looked at a bounded number of times (L7).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from oshaberi.text.code_block_splitting import split_code
from oshaberi.text.copied_state import CopiedState
from oshaberi.text.line_kinds import BlockKind, block_kind, indent
from oshaberi.text.messages.emoji_runs import EmojiPart, has_emoji, parts
from oshaberi.text.messages.length_cuts import message_end
from oshaberi.text.messages.protected_ranges import ProtectedRanges, fences
from oshaberi.text.sentences.sentence_end_search import sentence_ends
from oshaberi.text.text_config import TextConfig
from oshaberi.text.text_measure import fits, has_visible, utf16_len, utf16_offset, whole_edge

_NEWLINES: Final = re.compile(r"\n\s*(?<=\n)")
_PUNCTUATION: Final = re.compile(r"[.,!?;:。！？、，]+|[.,!?;:。！？、，…]{1,2}")
_ELLIPSIS: Final = ("...", "。。")
_SIGNS: Final = ".,!?;:。！？、，…"


class ChunkLine(NamedTuple):
    start: int
    end: int
    kind: BlockKind
    indent: int


class SegmentChunker(CopiedState):
    """Turns segments into messages. Keeps nothing between calls."""

    def __init__(self, config: TextConfig) -> None:
        self._limit = config.max_single_message_length
        self._hold_limit = config.hold_limit
        self._prefix_length = config.emoji_run_prefix_length
        self._in_blocks = config.paragraph_mode == "blocks"
        self._by_sentence = config.humanizer_degree == 3

    def split(self, text: str, lead: int = 0) -> list[str]:
        """Make one message per line (degree 3: per sentence) and per lone run of emoji.

        No sentence ends in the first `lead` characters, which were put in front of the text.
        """
        stripped = text.strip()
        if "\n" not in stripped and self._fits(stripped) and self._is_single(stripped, lead):
            return [stripped] if has_visible(stripped) else []
        kept = ProtectedRanges.of(text, self._limit, self._hold_limit)
        made: list[EmojiPart] = []
        for start, end in self._ranges(text, kept, lead):
            made += self._messages(text, start, end, kept)
        return self._tidy(text, made, kept)

    def fit(self, text: str) -> list[str]:
        """Keep everything together as far as the limit allows."""
        stripped = text.strip()
        if self._fits(stripped):
            return [stripped] if has_visible(stripped) else []
        kept = ProtectedRanges.of(stripped, self._limit, self._hold_limit)
        made: list[EmojiPart] = []
        at = 0
        for start, end in fences(stripped):
            if self._fits(stripped[start:end]):
                continue
            made += self._pieces(stripped, at, start, kept)
            code = split_code(stripped[start:end], self._limit)
            made += [EmojiPart(start, end, message) for message in code]
            at = end
        made += self._pieces(stripped, at, len(stripped), kept)
        return self._tidy(stripped, made, kept)

    def _is_single(self, line: str, lead: int) -> bool:
        """Tell quickly whether a line that fits is certainly one message."""
        if has_emoji(line):
            return False
        if not self._by_sentence or block_kind(line) != "text":
            return True
        ends = sentence_ends(line[lead:])
        return not ends or lead + ends[0] == len(line)

    def _fits(self, text: str) -> bool:
        return fits(text, self._limit)

    # By line and by sentence

    def _ranges(self, text: str, kept: ProtectedRanges, lead: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges that form one message each, whatever their length."""
        for start, end, kind in self._groups(_lines(text, kept)):
            if not self._by_sentence or kind != "text":
                yield start, end
                continue
            at, start = start, max(start, lead)
            for stop in sentence_ends(text[start:end]):
                if kept.around(start + stop) < 0:
                    yield at, start + stop
                    at = start + stop
            yield at, end

    def _groups(self, lines: Iterator[ChunkLine]) -> Iterator[tuple[int, int, BlockKind]]:
        """Yield groups of lines that share a message, with the kind of the first."""
        head = last = item = None
        for line in lines:
            if item and line.indent > item.indent:
                last = line
                continue
            if head and last and not (self._in_blocks and _one_block(item or last, line, last.end)):
                yield head.start, last.end, head.kind
                head = None
            head = head or line
            last = line
            item = line if line.kind == "list" else None
        if head and last:
            yield head.start, last.end, head.kind

    def _messages(
        self, text: str, start: int, end: int, kept: ProtectedRanges
    ) -> Iterator[EmojiPart]:
        part = _trimmed(text, start, end)
        if not has_emoji(part.text):
            yield from self._pieces(text, part.start, part.end, kept)
            return
        # From the start of the line: its indentation tells a list's continuation.
        for piece in parts(text, start, end, self._prefix_length, kept.spans):
            if self._fits(piece.text):
                yield piece
            elif piece.text == text[piece.start : piece.end]:
                yield from self._pieces(text, piece.start, piece.end, kept)
            else:
                for run in self.fit(piece.text):
                    yield EmojiPart(piece.start, piece.end, run)

    # For length

    def _pieces(
        self, text: str, start: int, end: int, kept: ProtectedRanges
    ) -> Iterator[EmojiPart]:
        """Yield `text[start:end]` in parts that fit."""
        _, end, _ = _trimmed(text, start, end)
        while start < end:
            while start < end and text[start].isspace():
                start += 1
            stop = min(end, utf16_offset(text, start, self._limit))
            if stop < end:
                stop = message_end(text, start, stop, kept)
            if stop > start:
                yield _trimmed(text, start, stop)
            start = stop

    # Fragments

    def _tidy(self, text: str, made: list[EmojiPart], kept: ProtectedRanges) -> list[str]:
        """Join punctuation to the part before, else to the next. Invisible parts go (B8)."""
        out: list[EmojiPart] = []
        waiting: EmojiPart | None = None
        for part in made:
            if not has_visible(part.text):
                continue
            if waiting:
                joined = self._joined(text, waiting, part, kept)
                waiting = None
            elif out and _is_fragment(part.text):
                joined = self._joined(text, out.pop(), part, kept)
            else:
                joined = [part]
            if not out and len(joined) == 1 and _is_fragment(joined[0].text):
                waiting = joined[0]
            else:
                out += joined
        if waiting:
            out.append(waiting)
        return [part.text for part in out]

    def _joined(
        self, text: str, first: EmojiPart, second: EmojiPart, kept: ProtectedRanges
    ) -> list[EmojiPart]:
        """Join both; else cut text elsewhere, so that neither is a fragment; else keep both."""
        gap = _gap(text, first, second)
        whole = first.text + gap + second.text
        if self._fits(whole):
            return [EmojiPart(first.start, second.end, whole)]
        room = self._limit - (utf16_len(whole) - utf16_len(first.text))
        is_text = first.text == text[first.start : first.end] and not _is_fragment(first.text)
        if room > 1 and is_text:
            high = utf16_offset(text, first.start, room)
            at = message_end(text, first.start, high, kept)
            run = first.start + len(first.text.rstrip(_SIGNS))
            signs = text[run : first.end] + gap + second.text
            if first.start < run < at and signs.startswith(_ELLIPSIS):
                at = run  # an ellipsis is never cut
            rest = _trimmed(text, at, first.end)
            tail = rest.text + gap + second.text
            is_whole = kept.around(at) < 0 and whole_edge(text, first.start, at) == at
            if is_whole and self._fits(tail):
                head = _trimmed(text, first.start, at)
                last = EmojiPart(rest.start, second.end, tail)
                return [head, last] if has_visible(head.text) else [last]
        return [first, second]


def _lines(text: str, kept: ProtectedRanges) -> Iterator[ChunkLine]:
    """Yield the lines of `text`. A newline inside a span ends no line."""
    start = 0
    for found in _NEWLINES.finditer(text):
        if kept.around(found.start()) < 0:
            yield from _line(text, start, found.start())
            start = found.end()
    yield from _line(text, start, len(text))


def _line(text: str, start: int, end: int) -> Iterator[ChunkLine]:
    line = text[start:end]
    if line and not line.isspace():
        yield ChunkLine(start, end, block_kind(line), indent(line))


def _one_block(before: ChunkLine, line: ChunkLine, end: int) -> bool:
    """Tell whether two lines form one block (`paragraph_mode = "blocks"`)."""
    if before.kind == "heading":
        return True
    if before.kind != line.kind:
        return False
    # Items may stand apart; other lines with a blank one between them are two blocks.
    return line.kind == "list" or (line.kind in ("quote", "subtext") and line.start == end + 1)


def _trimmed(text: str, start: int, end: int) -> EmojiPart:
    piece = text[start:end]
    bare = piece.lstrip()
    start += len(piece) - len(bare)
    bare = bare.rstrip()
    return EmojiPart(start, start + len(bare), bare)


def _gap(text: str, first: EmojiPart, second: EmojiPart) -> str:
    """Return the text between two joined parts: never a newline next to punctuation."""
    gap = text[first.end : second.start]
    if "\n" not in gap:
        return gap
    return "" if _is_fragment(second.text) else " "


def _is_fragment(text: str) -> bool:
    if _PUNCTUATION.fullmatch(text) is None:
        return False
    return len(text) < 3 or not text.startswith(_ELLIPSIS)
