"""Cuts one segment into messages: by line, by sentence, or only for length (spec 07, Chunking)."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final, NamedTuple

import regex

from oshaberi.text.code_block_splitting import BLANK, split_code
from oshaberi.text.config import TextConfig
from oshaberi.text.copied_state import CopiedState
from oshaberi.text.line_kinds import BlockKind, block_kind, indent, is_intro
from oshaberi.text.markers.closed_pairs import find_spans
from oshaberi.text.measure import (
    extends,
    fits,
    grapheme_edge,
    has_visible,
    utf16_len,
    utf16_offset,
    whole_edge,
)
from oshaberi.text.messages.emoji_runs import EmojiPart, parts
from oshaberi.text.sentences.ends import sentence_ends

# Finds the ranges of a text that must stay in one message (spec 07, "Kept whole").


_FENCE_RUN: Final = re.compile("`{3,}")


class ProtectedRanges:
    """The spans that no cut may enter: disjoint, each fits into a message."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self.spans = spans
        self._starts = [start for start, _ in spans]

    @classmethod
    def of(cls, text: str, limit: int, hold_limit: int) -> ProtectedRanges:
        """Find the widest spans that fit. Of two that cross, an atom wins, else the first.

        Marks that join a span's last character are part of it. If they do not fit with it, only
        an atom stays whole: its last character is cut.
        """
        spans: list[tuple[int, int, bool]] = []
        for start, end, is_atom in _spans(text, hold_limit):
            marked = end
            while extends(text, marked):
                marked += 1
            if marked > end and fits(text[start:marked], limit):
                end = marked
            elif not fits(text[start:end], limit) or (marked > end and not is_atom):
                continue
            if spans and start < spans[-1][1]:
                if end <= spans[-1][1] or spans[-1][2] or not is_atom:
                    continue
                spans.pop()
            spans.append((start, end, is_atom))
        return cls([(start, end) for start, end, _ in spans])

    def around(self, at: int) -> int:
        """Return the start of the span that a cut at `at` would split, or -1."""
        i = bisect_left(self._starts, at) - 1
        return self._starts[i] if i >= 0 and at < self.spans[i][1] else -1

    def last_end(self, low: int, high: int) -> int:
        """Return the last end of a span from `low` to `high`, or -1."""
        i = bisect_left(self._starts, high) - 1
        return self.spans[i][1] if i >= 0 and low <= self.spans[i][1] <= high else -1

    def last(self, mark: regex.Pattern[str], text: str, low: int, high: int) -> int:
        """Return the last `mark` between `low` and `high` outside the spans, or -1."""
        while low < high and (found := mark.search(text, low, high)):
            span = self.around(found.start())
            if span < 0:
                return found.start()
            high = span + 1
        return -1


def fences(text: str) -> list[tuple[int, int]]:
    """Return the fenced blocks of a text in which fences are balanced."""
    if "```" not in text:
        return []
    runs = list(_FENCE_RUN.finditer(text))
    pairs = zip(runs[::2], runs[1::2], strict=False)
    return [(opening.start(), closing.end()) for opening, closing in pairs]


def _spans(text: str, hold_limit: int) -> Iterator[tuple[int, int, bool]]:
    """Yield the spans of the prose, and the fenced blocks between as spans."""
    at = 0
    for fence in [*fences(text), (len(text), len(text))]:
        prose = text[at : fence[0]]
        for start, end, is_atom in find_spans(prose, hold_limit):
            yield at + start, at + end, is_atom
        if fence[0] < fence[1]:
            yield *fence, True
        at = fence[1]


# Chooses where to cut a text that is longer than a message (spec 07, degree 0).
#
# Code is cut in `text.code_block_splitting`.


_LEAD: Final = re.compile(r"[.,!?;:。！？、，…]*\s*")
# Searched backwards; each needs one character after it, so that the limit itself counts.
_BLANK_LINE: Final = regex.compile(r"(?r)\n[^\S\n]*\n")
_NEWLINE: Final = regex.compile(r"(?rs)\n(?=.)")
_INTRO_LINES: Final = 4  # several of them in a row announce nothing
_SENTENCE_VIEW: Final = 100  # how much text before and after it a sentence end may depend on


def message_end(text: str, start: int, high: int, kept: ProtectedRanges) -> int:
    """Return where a message from `start` ends, at most at `high`."""
    lead = _LEAD.match(text, start, high)
    low = max(start + 1, lead.end() if lead else start)  # no fragment of punctuation
    late = max(low, (start + high) // 2)
    for mark in (_BLANK_LINE, _NEWLINE):
        at = kept.last(mark, text, late, high + 2)
        if at > 0:
            return _before_intro(text, start, at, kept)
    at = _last_sentence(text, start, late, high, kept)
    if at < 0:
        at = kept.last(BLANK, text, low, high + 2)
    if at < 0:
        at = kept.last_end(late, high)
    return at if at > 0 and not extends(text, at) else _edge(text, start, high, kept)


def _last_sentence(text: str, start: int, low: int, high: int, kept: ProtectedRanges) -> int:
    """Return the last sentence end from `low` to `high`, or -1."""
    begin = max(start, low - _SENTENCE_VIEW)
    for end in reversed(sentence_ends(text[begin : high + _SENTENCE_VIEW])):
        at = begin + end
        if at < low:
            break
        if at <= high and kept.around(at) < 0:
            return at
    return -1


def _before_intro(text: str, start: int, end: int, kept: ProtectedRanges) -> int:
    """Return `end`, or an earlier one if the last lines announce what follows."""
    at = end
    for _ in range(_INTRO_LINES):
        line_start = text.rfind("\n", start, at) + 1
        if line_start <= start or not is_intro(text[line_start:at]):
            return at
        before = line_start
        while before > start and text[before - 1].isspace():
            before -= 1
        if before <= start or kept.around(before) >= 0:
            return at
        at = before
    return end


def _edge(text: str, start: int, high: int, kept: ProtectedRanges) -> int:
    """Return the last position up to `high` that splits neither a span nor a character."""
    window = text[start : high + 2]
    at = high
    while at > start:
        edge = start + grapheme_edge(window, 0, at - start)
        span = kept.around(edge)
        if span < 0:
            return edge
        at = span
    whole = kept.last_end(start + 1, high)  # a mark may follow that joins its last letter
    return whole if whole > 0 else start + grapheme_edge(window, 0, high - start)


# Cuts one segment into messages: by line, by sentence, or only for length (spec 07, Chunking).
#
# Cuts fall between spans; everything is done with indexes into the one text, each part of it is
# looked at a bounded number of times (L7).


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

        No sentence ends in the first `lead` characters, which were prepended to the text.
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
        """Return whether a line that fits is certainly one message, without a closer look."""
        if _may_have_emoji(line):
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
        if not _may_have_emoji(part.text):
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


def _may_have_emoji(text: str) -> bool:
    """Return whether `text` may have a custom emoji."""
    return "<:" in text or "<a:" in text


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
    """Return whether two lines form one block (`paragraph_mode = "blocks"`)."""
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
