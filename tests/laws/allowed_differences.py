"""Which differences between V and what went out the specification lists (L3, L5)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import regex

from .expected_atoms import LINK, utf16, without_code_breaks
from .visible_text import BLOCK_MARK, UNSEEN, is_unseen_sign

NEXT_MESSAGE = "\x1e"
"""Joins the messages into one string. Python counts it as whitespace."""

BREAK = re.compile(r"</?br\s*/?>", re.IGNORECASE)
"""HTML reads </br> as <br>, too."""
_CARRIED = re.compile(r"[.,!?;。！？、，]{1,16}(?=\s|$)")
_CARRIED_END = re.compile(r"\n\s*[.,!?;。！？、，]{1,16}$")
_ORPHAN = frozenset(".,!?;。！？、，…")
_PUNCTUATION = re.compile(r"[.,!?;:。！？、，…]+")
_TOKEN_END = re.compile(r"<a?:\w+:\d+>[.,!?;:。！？、，…]*$")
_TOKEN_START = re.compile(r"<a?:\w+:\d+>")
_EXTENDS = regex.compile(r"[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]")
_UNSEEN = regex.compile(rf"{UNSEEN}*")
_UNSEEN_REST = regex.compile(rf"{UNSEEN}*\Z")
_UNSEEN_END = regex.compile(rf"(?r){UNSEEN}*$")
_SENTENCE_END = re.compile(r"[。．｡！？!?.…](?:[^\w\s]|_)*$")
_SPAN_STARTS = frozenset('([{（「『“„«»《*~|"`<\\')
_SPAN_ENDS = frozenset(')]}）」』”“»«》*~|"`>')
_WIDE = frozenset("。．｡！？")
_LONGEST_IN_CLUSTER = 16
"""More format characters than any emoji or letter has."""


@dataclass(slots=True)
class Sides:
    """A prose `source`, the `outputs` that came of it, and these as one string."""

    source: str
    outputs: list[str]
    limit: int
    buffer: int
    loosely: bool = False
    """Degree 3: case may change, commas, semicolons and a final period may go."""
    packed: bool = False
    """Several lines may share a message, so that any of them may be cut."""
    hold: int = 500
    out: str = ""
    lines: str = field(init=False)
    """The source without the line breaks that stand in inline code."""

    def __post_init__(self) -> None:
        self.lines = without_code_breaks(self.source, self.hold)

    def may_join(self, before: str, i: int, j: int) -> bool:
        """Whether the white space `before` the place may be gone."""
        source, out = self.source, self.out
        if "\n" in before and _CARRIED.match(source, i):
            return True
        if self.follows_expression(i, j):
            return True
        if _TOKEN_START.match(source, i) and _TOKEN_END.search(source[: i - len(before)]):
            return True  # emoji that share a message
        head = self._head(j)
        word = source[i - len(before) - 1]
        fragment = self._ends_in_fragment(i, j) or (head and _PUNCTUATION.fullmatch(head))
        end = out.find(NEXT_MESSAGE, j)
        message = head + out[j : end if end >= 0 else len(out)]
        near_cut = "\n" in before or word == ">" or utf16(message) > self.limit // 2
        return bool(fragment) and near_cut

    def follows_expression(self, i: int, j: int) -> bool:
        """S1: an expression was put in front of what follows."""
        head = self._head(j)
        return _is_expression(head) or self._is_own_segment(head, i)

    def _head(self, j: int) -> str:
        """What the line of the message has before `j`; behind code it begins with a blank."""
        start = max(self.out.rfind(NEXT_MESSAGE, 0, j), self.out.rfind("\n", 0, j)) + 1
        return self.out[start:j].lstrip()

    def _ends_in_fragment(self, i: int, j: int) -> bool:
        """Punctuation at `i` that ends a word of V, or its message."""
        run = _PUNCTUATION.match(self.source, i)
        if run is None:
            return False
        behind = self.source[run.end() : run.end() + 1] or " "
        if behind.isspace() or BREAK.match(self.source, run.end()):
            return True
        return self.out.startswith(NEXT_MESSAGE, j + run.end() - i)

    def _is_own_segment(self, head: str, i: int) -> bool:
        """S1 where segments share a line: the punctuation before `i` stood behind a sentence, or
        behind what was carried."""
        run = head[len(head.rstrip("".join(_ORPHAN))) :]
        return any(self._stands_alone(run[k:], i, gap=k > 0) for k in range(len(run)))

    def _stands_alone(self, orphan: str, i: int, *, gap: bool) -> bool:
        """With `gap`: white space stood before it, so the punctuation there is the sentence's."""
        if not _is_expression(orphan):
            return False
        source = BREAK.sub(lambda tag: " " * len(tag[0]), self.source[:i])
        at = i
        for char in reversed(orphan):
            at -= 1
            while at >= 0 and source[at] != char:  # a blank, or a stray that was withheld
                if not source[at].isspace() and source[at] not in _ORPHAN:
                    return False
                at -= 1
        before = source[: max(at, 0)].rstrip()
        stop = (_SENTENCE_END if self.loosely else _CARRIED_END).search(before)
        if stop is None or len(before) < at:
            return stop is not None
        return not gap and not _WIDE.isdisjoint(stop[0])

    def may_cut(self, i: int, kept: list[tuple[int, int]], full: bool) -> bool:
        """A message may begin inside a word only at an emoji, span, sentence, or in a huge word.

        Whitespace inside an atom cannot be cut at, nor inside a span that a full message ends in.
        """
        inside = {k for a, b in kept for k in range(a, b)}
        start = i
        while start and (
            not self.source[start - 1].isspace()
            or start - 1 in inside
            or _EXTENDS.match(self.source, start)  # a cluster, whose blank is no place to cut at
        ):
            start -= 1
        end = i
        while end < len(self.source) and (not self.source[end].isspace() or end in inside):
            end += 1
        if full and not _SPAN_STARTS.isdisjoint(self.source[max(0, i - self.limit) : i]):
            return True
        if BLOCK_MARK in self.source[start:i] or end - start >= min(self.buffer, self.limit) // 5:
            return True
        before = self.source[start:i]
        return bool(
            _TOKEN_END.search(before)
            or _TOKEN_START.match(self.source, i)
            or _SENTENCE_END.search(before)
            or self.source[i] in _SPAN_STARTS
            or (before and before[-1] in _SPAN_ENDS)
        )

    def _paragraph(self, i: int) -> str:
        """In `blocks` that is what is cut when it is too long for the buffer."""
        return self.source[self.source.rfind("\n\n", 0, i) + 1 : i]

    def _line(self, i: int) -> tuple[int, str]:
        """Where the line around `i` begins, and its text; `<br>` ends lines, too."""
        start = self.lines.rfind("\n", 0, i) + 1
        end = self.lines.find("\n", i)
        for found in BREAK.finditer(self.lines, start, end if end >= 0 else len(self.lines)):
            if found.start() >= i:
                return start, self.lines[start : found.start()]
            start = found.end()
        return start, self.lines[start : end if end >= 0 else len(self.lines)]

    def _is_cut_for_length(self, i: int) -> bool:
        """Whether what is at `i` stands in more than a message holds; in code `<br>` is text."""
        start = 0 if self.packed else self.lines.rfind("\n", 0, i) + 1
        end = -1 if self.packed else self.lines.find("\n", i)
        text = self.lines[start : end if end >= 0 else len(self.lines)]
        return utf16(text) > min(self.limit, self.buffer)

    def is_unseen(self, i: int, j: int) -> bool:
        """B8: whether what is at `i` stands in a segment or message with nothing visible."""
        start, line = self._line(i)
        held = _is_expression(self.out[self.out.rfind(NEXT_MESSAGE, 0, j) + 1 : j])
        cut = not j or held or skip(self.out, j) > j or j == len(self.out)
        if cut and self._is_cut_for_length(i):
            return True
        rest = self.source[i:]
        most = min(self.limit, self.buffer)
        if _UNSEEN_REST.match(rest) and utf16(self._paragraph(i) + rest) > most:
            return True  # what is left behind a cut, at the very end
        behind = _UNSEEN.match(line, i - start)
        after = behind.end() if behind else 0
        if after < len(line) and not _TOKEN_START.match(line, after):
            return False
        tail = _UNSEEN_END.search(line[: i - start])
        before = line[: tail.start() if tail else 0]
        carried = start and line[len(before)].isspace() and _CARRIED.fullmatch(before.strip())
        if not before or carried or _TOKEN_END.search(before):
            return True
        stop = _SENTENCE_END.search(before) if self.loosely else None
        wide = stop is not None and not _WIDE.isdisjoint(stop[0])
        return wide or (stop is not None and line[len(before)].isspace())

    def unseen_run_end(self, i: int, j: int) -> int:
        """B8: where the rest of a long run ends that was a segment, between two that were packed
        into one message; 0 if it cannot have been one. What a cluster may have is never one."""
        if not self._is_cut_for_length(i):
            return 0
        end, kept = _run_end(self.source, i), _run_end(self.out, j) - j
        return end - kept if end - kept > i + _LONGEST_IN_CLUSTER else 0


def _run_end(text: str, at: int) -> int:
    while at < len(text) and is_unseen_sign(text[at]):
        at += 1
    return at


def _is_expression(text: str) -> bool:
    """S1: what is held and put in front of the next segment; by decision 2 `:…`, too."""
    if len(text) > 2:
        return _ORPHAN.issuperset(text)
    return "…" in text and text.strip(":…") in _ORPHAN | {""}


def skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def could_close(source: str, closers: str) -> bool:
    """Whether the last lines of V hold an opener for each closer put behind them."""
    lines = [line for line in source.split("\n") if line.strip()][-2:]
    tail = LINK.sub("", "\n".join(lines))  # in a whole link nothing is open
    openers = {
        ")": "(", "）": "（", "」": "「", "』": "『", "”": "“„", "“": "„", "»": "«", "«": "»",
        "》": "《", '"': '"', "*": "*", "~": "~", "|": "|",
    }  # fmt: skip
    return all(closers.count(c) <= sum(tail.count(o) for o in openers[c]) for c in set(closers))
