"""Splits one streamed fenced block into balanced code messages (spec 05 B6).

A message leaves as soon as it is certain, so the cuts depend on the text alone (L2). Only unsent
text is kept.
"""

from __future__ import annotations

import re
from typing import Final

import regex

from oshaberi.text.copied_state import CopiedState
from oshaberi.text.measure import grapheme_edge, utf16_len, utf16_offset

FENCE: Final = "```"
_LONGEST_TAG: Final = 40
_TAG: Final = re.compile(rf"[\w+#.-]{{1,{_LONGEST_TAG}}}(?!\S)", re.ASCII)
_LONG_RUN: Final = re.compile(r"`{3,}")
# An inserted U+200B on its way out: no text holds a lone half of a character.
_GAP: Final = chr(0xDFFF)
_TAB: Final = 4
# The last blank after which a cut breaks no character; what follows it must have arrived.
BLANK: Final = regex.compile(r"(?r)\s(?=[^\p{GCB=EX}\p{GCB=SM}\p{GCB=ZWJ}])")


class CodeBlock(CopiedState):
    """Takes the text between the opening and the closing backticks, and makes messages of it."""

    def __init__(self, max_length: int, prefix: str = "", ticks: int = 3) -> None:
        self._max = max_length
        self._prefix = _Prefix(prefix) if prefix else None
        self._holds_runs = ticks > len(FENCE)
        self._run = 0  # backticks at the end of what was fed: their run may go on
        self._in_info = True
        self._opening = self._reopening = FENCE
        self._room = max_length - 2 * len(FENCE)
        self._lines: list[str] = []  # whole lines of the next message
        self._ends: list[int] = []  # where they end in the source
        self._used = 0
        self._part: list[str] = []  # the line that has not ended
        self._part_units = 0
        self._is_rest = False  # the beginning of that line has left
        self._blank = True  # that line is only whitespace: it may be the closing fence's indent
        self._head: str | None = None  # its beginning, as long as its prefix is undecided
        self._read = 0  # source positions: what was read, where the line and its text began
        self._line_start = 0
        self._text_start = 0
        self._out: list[tuple[str, int]] = []

    def feed(self, text: str) -> list[tuple[str, int]]:
        """Take more of the block. Return the finished messages, each with its end in the source."""
        if self._holds_runs:
            text = self._complete_runs(text)
        self._take(text)
        return self._give()

    def close(self, *, cut_off: bool = False) -> list[tuple[str, int]]:
        """End the block. Return the rest, at least one message. `cut_off`: we add the fence."""
        self._take("`" * self._run)
        if self._head is not None:
            self._strip_prefix()
        if self._in_info and self._close_one_line():
            return self._give()
        if self._blank:
            self._part = []
        elif self._part[-1].endswith("`"):
            self._extend("\n")  # or the closing fence would grow
        elif cut_off and self._used + self._part_units < self._room:
            self._part.append("\n")
        self._emit("".join(self._lines) + "".join(self._part) + FENCE, self._read)
        return self._give()

    def _take(self, text: str) -> None:
        if "\n" not in text:
            self._read_part(text)
            return
        first, *others = text.split("\n")
        self._read_part(first)
        for line in others:
            self._end_line()
            self._read_part(line)

    def _give(self) -> list[tuple[str, int]]:
        out, self._out = self._out, []
        return out

    def _complete_runs(self, text: str) -> str:
        """Return `text` with the held backticks before it, and hold those at its end."""
        bare = text.rstrip("`")
        if not bare:
            self._run += len(text)
            return ""
        run, self._run = self._run, len(text) - len(bare)
        return "`" * run + bare

    def _read_part(self, raw: str) -> None:
        self._read += len(raw)
        if self._head is None:
            self._extend(raw)
        else:
            self._head += raw
            if self._prefix is None or self._prefix.decides(self._head):
                self._strip_prefix()

    def _strip_prefix(self) -> None:
        head, self._head = self._head or "", None
        end = self._prefix.end(head) if self._prefix else 0
        self._text_start = self._line_start + end
        self._extend(head[end:])

    def _extend(self, text: str) -> None:
        """Add more of the line, already without its prefix."""
        if not text:
            return
        if self._holds_runs and FENCE in text:
            text = _LONG_RUN.sub(_gapped, text)  # spec 05 B2
        self._part.append(text)
        self._part_units += utf16_len(text)
        if self._blank:
            self._blank = text.isspace() and text != "\n"
        if self._used + self._part_units > self._room and not self._blank:
            self._overflow()

    def _end_line(self) -> None:
        if self._head is not None:
            self._strip_prefix()
        self._read += 1
        if not (self._in_info and self._settle_info()):
            self._extend("\n")
            line = "".join(self._part)
            if not (self._is_rest and line.isspace()):  # blanks at its end are no line
                self._lines.append(line)
                self._ends.append(self._read)
                self._used += self._part_units
        self._part = []
        self._part_units = 0
        self._is_rest = False
        self._blank = True
        self._line_start = self._text_start = self._read
        if self._prefix:
            self._head = ""

    def _settle_info(self) -> bool:
        """Handle the end of the first line. Return False if it can only be code."""
        info = "".join(self._part).strip()
        tag = _TAG.match(info)
        if info and (tag is None or utf16_len(info) > max(_LONGEST_TAG, self._max // 8)):
            self._be_all_code()
            return False
        self._in_info = False
        self._reopening = f"{FENCE}{tag[0] if tag else ''}\n"
        self._open(f"{FENCE}{info}\n")
        return True

    def _close_one_line(self) -> bool:
        """Send a block without a newline as it is. Return False if it cannot be closed."""
        text = "".join(self._part)
        if text.endswith("`"):
            self._be_all_code()
            return False
        self._emit(text + FENCE if text.strip() else "\n" + FENCE, self._read)
        return True

    def _be_all_code(self) -> None:
        self._in_info = False
        self._reopening = FENCE + "\n"
        self._open(self._reopening)

    def _open(self, opening: str) -> None:
        self._opening = opening
        self._room = self._max - len(FENCE) - utf16_len(opening)

    def _emit(self, body: str, end: int) -> None:
        message = self._opening + body
        if self._holds_runs:
            message = message.replace(_GAP, "\u200b")
        self._out.append((message, end))
        self._open(self._reopening)

    def _overflow(self) -> None:
        """Cut at a line end, because no ending makes the text fit into a message."""
        if self._in_info:
            self._be_all_code()
        while self._lines and self._used + self._part_units > self._room:
            self._emit_lines(self._good_count())
        if self._part_units > self._room:
            self._cut_line()

    def _emit_lines(self, count: int) -> None:
        body = "".join(self._lines[:count])
        self._emit(body + FENCE, self._ends[count - 1])
        del self._lines[:count]
        del self._ends[:count]
        self._used -= utf16_len(body)

    def _good_count(self) -> int:
        """Return how many of the lines go into the next message (spec 07, chunking).

        All of them, or those before a blank line in the last third, preferably one that an
        unindented line follows. The line that does not fit may be incomplete, so only its first
        character counts.
        """
        found, after, following = 0, 0, self._part[0]
        for count in range(len(self._lines), 0, -1):
            if 3 * after >= self._used:
                break
            line = self._lines[count - 1]
            if line.isspace():
                if not following[:1].isspace():
                    return count
                found = found or count
            after += utf16_len(line)
            following = line
        return found or len(self._lines)

    def _cut_line(self) -> None:
        """Send full messages of a line that is longer than one message."""
        text = "".join(self._part)
        start, left = 0, self._part_units
        while left > self._room:
            window = text[start : start + self._room + 1]
            piece = window[: _line_cut(window, self._room - 1)]
            start += len(piece)
            left -= utf16_len(piece)
            self._text_start += len(piece) - piece.count(_GAP)
            self._emit(f"{piece}\n{FENCE}", self._text_start)
        self._part = [text[start:]]
        self._part_units = left
        self._is_rest = True


class _Prefix(CopiedState):
    """The prefix of each line in a quoted or indented block (spec 05 B1)."""

    def __init__(self, prefix: str) -> None:
        before, *after = prefix.split(">")
        self._indent = _columns(before)
        self._after = [_columns(blanks) for blanks in after]
        self._reach = self._indent + sum(self._after) + len(after)

    def decides(self, line: str) -> bool:
        """Return whether more text cannot change where the prefix of `line` ends."""
        return len(line) >= self._reach or bool(line.replace(">", "").strip())

    def end(self, line: str) -> int:
        """Return the end of the prefix: the quote marks, and at most the fence's white space.

        A line with fewer quote marks than the fence is code as it is.
        """
        at = _skip_columns(line, 0, self._indent)
        for columns in self._after:
            if line[at : at + 1] != ">":
                return 0
            at = _skip_columns(line, at + 1, columns)
        return at


def split_code(text: str, max_length: int) -> list[str]:
    """Split a complete block into messages within the limit."""
    if utf16_len(text) <= max_length:
        return [text]
    block = CodeBlock(max_length)
    inside = text[len(FENCE) : -len(FENCE)]
    return [message for message, _ in block.feed(inside) + block.close()]


def _line_cut(window: str, units: int) -> int:
    """Return where to cut a line within `units`: after a space, else between characters."""
    at = utf16_offset(window, 0, units)
    text_start = len(window) - len(window.lstrip())
    blank = BLANK.search(window, text_start, at + 1)
    return blank.end() if blank else grapheme_edge(window, 0, at)


def _gapped(run: re.Match[str]) -> str:
    return _GAP.join(run[0])


def _columns(blanks: str) -> int:
    columns = 0
    for char in blanks:
        columns += _TAB - columns % _TAB if char == "\t" else 1
    return columns


def _skip_columns(line: str, at: int, limit: int) -> int:
    """Return the end of the white space at `at`, at most `limit` columns."""
    columns = 0
    while at < len(line) and line[at] in " \t":
        columns += _TAB - columns % _TAB if line[at] == "\t" else 1
        if columns > limit:
            break
        at += 1
    return at
