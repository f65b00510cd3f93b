"""One segment becomes messages (spec 07, Chunking): by line, by sentence, or only for length.

Cuts fall between spans; everything is done with indexes into the one text, each part of it is
looked at a bounded number of times (L7).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

import regex

from oshaberi.text.code import BLANK, split_code
from oshaberi.text.config import TextConfig
from oshaberi.text.emoji_runs import Part, has_emoji, parts
from oshaberi.text.lines import BlockKind, block_kind, indent, is_intro
from oshaberi.text.measure import extends, grapheme_edge, has_visible, utf16_len, utf16_offset
from oshaberi.text.scan import find_spans
from oshaberi.text.sentences import sentence_ends

_FENCE_RUN = re.compile("`{3,}")
_NEWLINES = re.compile(r"\n\s*(?<=\n)")
_PUNCTUATION = re.compile(r"[.,!?;:。！？、，]+|…{1,2}")
_ELLIPSIS = ("...", "。。")
_LEAD = re.compile(r"[\s.,!?;:。！？、，…]*")
# Searched backwards; each needs one character behind it, so that the limit itself counts.
_BLANK_LINE = regex.compile(r"(?r)\n[^\S\n]*\n")
_NEWLINE = regex.compile(r"(?rs)\n(?=.)")
_INTRO_LINES = 4  # more of them in a row announce nothing
_SENTENCE_VIEW = 100  # what a sentence end may depend on, before and behind it


class Line(NamedTuple):
    start: int
    end: int
    kind: BlockKind
    indent: int


class Kept:
    """The spans that no cut may enter: disjoint, each fits into a message."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self.spans = spans
        self._starts = [start for start, _ in spans]

    def around(self, at: int) -> int:
        """The start of the span that a cut at `at` would break, or -1."""
        i = bisect_left(self._starts, at) - 1
        return self._starts[i] if i >= 0 and at < self.spans[i][1] else -1

    def last_end(self, low: int, high: int) -> int:
        """The last end of a span from `low` to `high`, or -1."""
        i = bisect_left(self._starts, high) - 1
        return self.spans[i][1] if i >= 0 and low <= self.spans[i][1] <= high else -1

    def last(self, mark: regex.Pattern[str], text: str, low: int, high: int) -> int:
        """The last `mark` from `low` on, whole before `high`, outside the spans; or -1."""
        while low < high and (found := mark.search(text, low, high)):
            span = self.around(found.start())
            if span < 0:
                return found.start()
            high = span + 1
        return -1


class Chunker:
    """Segments in, messages out. Keeps nothing between calls."""

    def __init__(self, config: TextConfig) -> None:
        self._limit = config.max_single_message_length
        self._hold_limit = config.hold_limit
        self._prefix_length = config.emoji_run_prefix_length
        self._in_blocks = config.paragraph_mode == "blocks"
        self._by_sentence = config.humanizer_degree == 3

    def split(self, text: str) -> list[str]:
        """One message per line (degree 3: per sentence), emoji that stand alone apart."""
        stripped = text.strip()
        if "\n" not in stripped and self._fits(stripped) and self._is_single(stripped):
            return [stripped] if has_visible(stripped) else []
        kept = self._kept(text)
        made: list[Part] = []
        for start, end in self._ranges(text, kept):
            made += self._messages(text, start, end, kept)
        return self._tidy(text, made, kept)

    def fit(self, text: str) -> list[str]:
        """Everything stays together as far as the limit allows."""
        stripped = text.strip()
        if self._fits(stripped):
            return [stripped] if has_visible(stripped) else []
        kept = self._kept(stripped)
        made: list[Part] = []
        at = 0
        for start, end in _fences(stripped):
            if self._fits(stripped[start:end]):
                continue
            made += self._pieces(stripped, at, start, kept)
            code = split_code(stripped[start:end], self._limit)
            made += [Part(start, end, message) for message in code]
            at = end
        made += self._pieces(stripped, at, len(stripped), kept)
        return self._tidy(stripped, made, kept)

    def _is_single(self, line: str) -> bool:
        """Whether a line that fits is one message for sure, without a look at its spans."""
        if has_emoji(line):
            return False
        if not self._by_sentence or block_kind(line) != "text":
            return True
        ends = sentence_ends(line)
        return not ends or ends[0] == len(line)

    def _fits(self, text: str) -> bool:
        return len(text) <= self._limit and (text.isascii() or utf16_len(text) <= self._limit)

    # Spans

    def _kept(self, text: str) -> Kept:
        """The widest spans that fit; where two cross, an atom wins, else the first."""
        spans: list[tuple[int, int, bool]] = []
        for start, end, is_atom in self._spans(text):
            if not self._fits(text[start:end]):
                continue
            if spans and start < spans[-1][1]:
                if end <= spans[-1][1] or spans[-1][2] or not is_atom:
                    continue
                spans.pop()
            spans.append((start, end, is_atom))
        return Kept([(start, end) for start, end, _ in spans])

    def _spans(self, text: str) -> Iterator[tuple[int, int, bool]]:
        """The spans of the prose and, as spans, the fenced blocks between it."""
        at = 0
        for fence in [*_fences(text), (len(text), len(text))]:
            prose = text[at : fence[0]]
            for start, end, is_atom in find_spans(prose, self._hold_limit):
                yield at + start, at + end, is_atom
            if fence[0] < fence[1]:
                yield *fence, True
            at = fence[1]

    # By line and by sentence

    def _ranges(self, text: str, kept: Kept) -> Iterator[tuple[int, int]]:
        """What belongs into one message by form, whatever its length."""
        for start, end, kind in self._groups(_lines(text, kept)):
            if not self._by_sentence or kind != "text":
                yield start, end
                continue
            at = start
            for stop in sentence_ends(text[start:end]):
                if kept.around(start + stop) < 0:
                    yield at, start + stop
                    at = start + stop
            yield at, end

    def _groups(self, lines: Iterator[Line]) -> Iterator[tuple[int, int, BlockKind]]:
        """Lines that share a message, with the kind of the first."""
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

    def _messages(self, text: str, start: int, end: int, kept: Kept) -> Iterator[Part]:
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
                    yield Part(piece.start, piece.end, run)

    # For length

    def _pieces(self, text: str, start: int, end: int, kept: Kept) -> Iterator[Part]:
        """`text[start:end]` in parts that fit."""
        _, end, _ = _trimmed(text, start, end)
        while start < end:
            while start < end and text[start].isspace():
                start += 1
            stop = min(end, utf16_offset(text, start, self._limit))
            if stop < end:
                stop = self._cut(text, start, stop, kept)
            if stop > start:
                yield _trimmed(text, start, stop)
            start = stop

    def _cut(self, text: str, start: int, high: int, kept: Kept) -> int:
        """Where a message from `start` ends that may reach to `high` and no further."""
        lead = _LEAD.match(text, start, high)
        low = max(start + 1, lead.end() if lead else start)  # no message of punctuation alone
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

    # Fragments

    def _tidy(self, text: str, made: list[Part], kept: Kept) -> list[str]:
        """Punctuation and what nobody can see join what is before them, else what follows."""
        out: list[Part] = []
        waiting: Part | None = None
        for part in made:
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
        return [part.text for part in out if has_visible(part.text)]

    def _joined(self, text: str, first: Part, second: Part, kept: Kept) -> list[Part]:
        """Both as one; or cut elsewhere, so that neither is a fragment; or as they are."""
        gap = _gap(text, first, second)
        whole = first.text + gap + second.text
        if self._fits(whole):
            return [Part(first.start, second.end, whole)]
        room = self._limit - (utf16_len(whole) - utf16_len(first.text))
        if room > 1 and first.text == text[first.start : first.end]:
            high = utf16_offset(text, first.start, room)
            at = self._cut(text, first.start, high, kept)
            rest = _trimmed(text, at, first.end)
            tail = rest.text + gap + second.text
            if kept.around(at) < 0 and self._fits(tail):
                return [_trimmed(text, first.start, at), Part(rest.start, second.end, tail)]
        return [first, second]


def _fences(text: str) -> list[tuple[int, int]]:
    """The fenced blocks of a text in which fences are balanced."""
    if "```" not in text:
        return []
    runs = list(_FENCE_RUN.finditer(text))
    pairs = zip(runs[::2], runs[1::2], strict=False)
    return [(opening.start(), closing.end()) for opening, closing in pairs]


def _lines(text: str, kept: Kept) -> Iterator[Line]:
    """The lines of `text`; a newline inside a span ends none."""
    start = 0
    for found in _NEWLINES.finditer(text):
        if kept.around(found.start()) < 0:
            yield from _line(text, start, found.start())
            start = found.end()
    yield from _line(text, start, len(text))


def _line(text: str, start: int, end: int) -> Iterator[Line]:
    line = text[start:end]
    if line and not line.isspace():
        yield Line(start, end, block_kind(line), indent(line))


def _one_block(before: Line, line: Line, end: int) -> bool:
    """Whether two lines belong together where blocks do (`paragraph_mode = "blocks"`)."""
    if before.kind == "heading":
        return True
    if before.kind != line.kind:
        return False
    # Items may stand apart; other lines with a blank one between them are two blocks.
    return line.kind == "list" or (line.kind in ("quote", "subtext") and line.start == end + 1)


def _trimmed(text: str, start: int, end: int) -> Part:
    piece = text[start:end]
    bare = piece.lstrip()
    start += len(piece) - len(bare)
    bare = bare.rstrip()
    return Part(start, start + len(bare), bare)


def _gap(text: str, first: Part, second: Part) -> str:
    """What stands between two parts that are joined: never a newline next to punctuation."""
    gap = text[first.end : second.start]
    if "\n" not in gap or not has_visible(first.text) or not has_visible(second.text):
        return gap
    return "" if _is_fragment(second.text) else " "


def _is_fragment(text: str) -> bool:
    if _PUNCTUATION.fullmatch(text):
        return len(text) < 3 or not text.startswith(_ELLIPSIS)
    return not has_visible(text)


def _last_sentence(text: str, start: int, low: int, high: int, kept: Kept) -> int:
    """The last sentence end from `low` to `high`, or -1."""
    begin = max(start, low - _SENTENCE_VIEW)
    for end in reversed(sentence_ends(text[begin : high + _SENTENCE_VIEW])):
        at = begin + end
        if at < low:
            break
        if at <= high and kept.around(at) < 0:
            return at
    return -1


def _before_intro(text: str, start: int, end: int, kept: Kept) -> int:
    """`end`, or before the last lines if they announce what follows and others stay."""
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


def _edge(text: str, start: int, high: int, kept: Kept) -> int:
    """The last place up to `high` that breaks neither a span nor a character."""
    window = text[start : high + 2]
    at = high
    while at > start:
        edge = start + grapheme_edge(window, 0, at - start)
        span = kept.around(edge)
        if span < 0:
            return edge
        at = span
    return start + grapheme_edge(window, 0, high - start)
