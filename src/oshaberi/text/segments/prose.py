"""Reads prose: markers, lines, sentences, URLs, overflow, and where a block begins (spec 05)."""

from __future__ import annotations

import re
from typing import Final

from oshaberi.events import Boundary
from oshaberi.text.atoms import (
    backticks_end,
    code_limit,
    inline_code_close,
    url_end,
)
from oshaberi.text.code_block_splitting import CodeBlock
from oshaberi.text.config import TextConfig
from oshaberi.text.copied_state import CopiedState
from oshaberi.text.decision_observer import Observer
from oshaberi.text.markdown_tables import is_row
from oshaberi.text.markers.closed_pairs import interest_in, url_start
from oshaberi.text.markers.open_markers import HeldBoundary, OpenMarkers
from oshaberi.text.markers.rules import MARK_HANDLERS, MARKS, WAIT
from oshaberi.text.segments.buffer import (
    NEVER,
    BlockSuccessor,
    SegmentReader,
    Trim,
    VisibleBuffer,
)
from oshaberi.text.segments.code import CodeReader
from oshaberi.text.segments.lines import CurrentLine, LineBreak, UnfinishedUrl, read_break
from oshaberi.text.segments.release import SegmentRelease
from oshaberi.text.segments.tables import TableReader, heads_table
from oshaberi.text.sentences.ends import TERMINATORS, cut_off_end, run_end, sentence_end

# Spec 05 B1, B7: prose gives way to a code block or a table.
#
# The text before it leaves, and what was open is literal, since no pair spans a block (H2).


_QUOTED_FENCE: Final = re.compile(r"[> \t]*")


class BlockOpening(CopiedState):
    """Releases the text before a block and makes the block's reader."""

    def __init__(
        self,
        buffer: VisibleBuffer,
        open_markers: OpenMarkers,
        release: SegmentRelease,
        config: TextConfig,
    ) -> None:
        self._buffer = buffer
        self._open_markers = open_markers
        self._release = release
        whole = config.humanizer_degree == 0
        self._longest_code = NEVER if whole else config.max_single_message_length
        self._longest_table = config.flush_buffer_size_code_block

    def code(self, at: int, ticks: int, successor: BlockSuccessor) -> CodeReader:
        """Begin code at the fence `at`. Quote marks before it belong to it."""
        buffer = self._buffer
        self._use_held()
        prefix = buffer.text[buffer.line : at] if buffer.whole_line() else "-"
        quoted = _QUOTED_FENCE.fullmatch(prefix) is not None
        self._leave(buffer.line if quoted else at, "code_open")
        block = CodeBlock(self._longest_code, prefix if quoted else "", ticks)
        return CodeReader(buffer, block, ticks, at + ticks, successor)

    def table(self, rows: int, successor: BlockSuccessor) -> TableReader:
        """Begin a table whose header is the current line, and whose rows begin at `rows`."""
        self._use_held()
        self._leave(self._buffer.line, "newline")
        return TableReader(self._buffer, rows, self._longest_table, successor)

    def _use_held(self) -> None:
        self._open_markers.literal()
        self._release.use_free()

    def _leave(self, cut: int, reason: Boundary) -> None:
        self._release.leave(HeldBoundary(cut, cut, reason))


# Reads prose: markers, lines, sentences, URLs, and overflow (spec 05 B1, B3-B5, B7, H1-H3).


_LINES: Final = interest_in(MARKS)
_SENTENCES: Final = interest_in(MARKS + TERMINATORS)
_QUOTE_BLOCK: Final = ">>> "


class ProseReader(SegmentReader):
    """Reads prose during the whole stream; other readers read code and tables in between."""

    def __init__(
        self, buffer: VisibleBuffer, config: TextConfig, observer: Observer | None
    ) -> None:
        self._buffer = buffer
        self._interest = _SENTENCES if config.humanizer_degree == 3 else _LINES
        self._code_limit = code_limit(config.hold_limit)
        self._open_markers = OpenMarkers(config.hold_limit, observer)
        self._release = SegmentRelease(buffer, self._open_markers, config, observer)
        self._blocks = BlockOpening(buffer, self._open_markers, self._release, config)
        self._next: SegmentReader | None = None
        self._pos = 0
        self._period = 0
        self._in_url = False
        self._url = UnfinishedUrl()
        self._tables_off = False
        self._line = CurrentLine(buffer, config)
        self.waits_for_next = False
        """A line or sentence has ended, and the next character says how."""
        self.is_cut_off = False
        """The text ends in the middle, and what is half is kept back."""

    def begin(self, at: int) -> ProseReader:
        """Start a fresh line at `at`, with nothing open."""
        self._pos, self._period = at, 0
        self._in_url = False
        self._url.clear()
        self._open_markers.clear()
        self._line.begin(at)
        return self

    def shift(self, by: int) -> None:
        if self._buffer.line < by:
            self._line.remember()
        self._pos -= by
        self._url.shift(by)
        if self._period:
            self._period -= by
        self._open_markers.shift(by)

    def read(self, final: bool) -> SegmentReader | None:
        buffer, open_markers, search = self._buffer, self._open_markers, self._interest.search
        text, line = buffer.text, self._line
        self.waits_for_next = False
        while True:
            if line.is_fresh and not self._read_line_head(final):
                return None
            if self._in_url:
                if not self._read_url_tail(final):
                    return None
                continue
            found = search(text, self._pos)
            at = found.start() if found else len(text)
            if (
                at >= buffer.limit
                or self._period
                or (open_markers.stack and at - open_markers.stack[0][1] > open_markers.limit)
            ):
                self._settle(at)
            if found is None:
                self._pos = at - _begun_scheme(text)
                return None
            mark = text[at]
            read_mark = MARK_HANDLERS.get(mark)
            if read_mark is None:
                after = self._read_other(mark, at, final)
            else:
                if mark == "|":
                    line.has_bar = True
                after = read_mark(open_markers, text, at, final)
            if after == WAIT:
                self._pos = at
                return None
            self._pos = after
            if after < buffer.start:
                self._pos = buffer.start
            if self._next:
                following, self._next = self._next, None
                return following

    def _read_other(self, mark: str, at: int, final: bool) -> int:
        """What is no marker: the end of a line or sentence, code, a URL."""
        if mark == "\n":
            return self._read_newline(at, final)
        if mark == "`":
            return self._read_backticks(at, final)
        if mark == ":":
            return self._read_url(at, final)
        return self._read_terminator(at, final)

    def _settle(self, at: int, open_url: int = -1) -> None:
        """Handle what is due before `at`, in order: a sentence end, H3, overflow."""
        while True:
            period = self._period or NEVER
            expiry = self._open_markers.expiry() if self._open_markers.stack else NEVER
            limit = self._buffer.limit
            if period <= at and period <= expiry and period <= limit:
                self._period = 0
                self._release.use(HeldBoundary(period, period, "period"))
            elif expiry <= at and expiry <= limit:
                self._open_markers.expire()
                self._release.use_free()
            elif limit <= at:
                self._overflow(open_url)
            else:
                return

    # -- lines ----------------------------------------------------------------------------------

    def _read_line_head(self, final: bool) -> bool:
        """Read `>>> ` at a line's start: a quote up to the next blank line.

        Returns False while undecided.
        """
        head = self._buffer.text[self._pos : self._pos + 4]
        if len(head) < 4 and not final and _QUOTE_BLOCK.startswith(head):
            return False
        if head == _QUOTE_BLOCK and not self._open_markers.open[">>>"]:
            self._open_markers.push(">>>", self._pos)
        self._line.is_fresh = False
        return True

    def _read_newline(self, at: int, final: bool) -> int:
        text = self._buffer.text
        brk = read_break(text, at, self._buffer.limit)
        if brk is None:
            if len(text) >= self._buffer.limit:
                self._settle(self._buffer.limit)
                return at
            self.waits_for_next = True
            return len(text) if final else WAIT
        if self._line.has_bar and self._buffer.whole_line() and not self._tables_off:
            separator_end = heads_table(text, self._buffer.line, brk, self._buffer.limit, final)
            if separator_end == WAIT:
                self.waits_for_next = True
                return WAIT
            if separator_end:
                rows = min(separator_end + 1, len(text))
                self._next = self._blocks.table(rows, self)
                return rows
        return self._end_line(brk, final)

    def _end_line(self, brk: LineBreak, final: bool) -> int:
        line = self._line
        continued = line.item_goes_on(brk)
        joined = 1 if continued else line.joins_next(brk, final)
        carried = 0 if joined else line.carried_end(brk, final)
        if joined == WAIT or carried == WAIT:
            self.waits_for_next = True
            return WAIT
        if self._tables_off and not is_row(line.unsent(brk), leading_bar=False):
            self._tables_off = False
        if brk.blank or self._open_markers.has_links or self._open_markers.free:
            self._leave_line(brk)
        if carried and self._buffer.text[self._buffer.start : brk.at].strip():
            self._release.use(HeldBoundary(brk.at, carried, "newline", brk.solid))
        elif not joined:
            self._release.use(HeldBoundary(brk.at, brk.line, "newline"))
        line.begin(brk.line, line.item if continued else None)
        return brk.solid

    def _leave_line(self, brk: LineBreak) -> None:
        open_markers = self._open_markers
        if open_markers.has_links:
            open_markers.line_break()
        if brk.blank:
            open_markers.blank_line(brk.at)
        self._release.use_free()

    # -- sentences ------------------------------------------------------------------------------

    def _read_terminator(self, at: int, final: bool) -> int:
        text = self._buffer.text
        if at + 1 == len(text) and not final:
            self.waits_for_next = True
            return WAIT
        if self._line.block() != "text":
            return at + 1  # degree 3 keeps the lines of a list, a quote or a heading whole
        start = max(self._buffer.start, self._buffer.line)
        if self.is_cut_off:
            end = cut_off_end(text, at, start)
        else:
            end = sentence_end(text, at, final, start)
        if end == WAIT or (end == len(text) and not final):
            self.waits_for_next = True
            return WAIT
        if 0 < end < len(text) and text[end] != "\n" and not self._line.holds_items():
            self._period = end
        return run_end(text, at)

    # -- atoms that reach far -------------------------------------------------------------------

    def _read_backticks(self, at: int, final: bool) -> int:
        text = self._buffer.text
        end = backticks_end(text, at)
        if end == len(text) and not final:
            return WAIT
        if end - at > 2:
            self._next = self._blocks.code(at, end - at, self)
            return end
        close = inline_code_close(text, end, end - at, self._code_limit, final)
        if close > 0:
            self._open_markers.spans.append((at, close, True))
        return close or end

    def _read_url(self, at: int, final: bool) -> int:
        begin = url_start(self._buffer.text, at)
        if begin < 0:
            return at + 3
        reach = self._url_reach(max(begin, self._buffer.start), at + 3, final)
        if reach:
            return reach
        self._in_url = self._buffer.start > begin
        return at

    def _read_url_tail(self, final: bool) -> bool:
        """Read the rest of a URL that is too long for one message.

        Returns False while undecided.
        """
        reach = self._url_reach(self._buffer.start, self._pos, final)
        if reach == WAIT:
            return False
        self._in_url = reach == 0
        self._pos = max(reach, self._buffer.start)
        return True

    def _url_reach(self, begin: int, after: int, final: bool) -> int:
        """Return where the URL from `begin` ends; 0 if an overflow came first, or WAIT."""
        text = self._buffer.text
        known = min(len(text), self._buffer.limit)
        stop = self._url.stop(text, begin, after, known)
        if stop == known < self._buffer.limit and not final:
            return WAIT
        self._url.clear()
        if stop == known == self._buffer.limit:
            self._settle(known, begin)
            return 0
        end = max(after, url_end(text, begin, stop))
        self._open_markers.spans.append((begin, end, True))
        return end

    # -- leaving --------------------------------------------------------------------------------

    def _overflow(self, open_url: int) -> None:
        """Cut for overflow (B5). If the cut is after a newline, a line begins there."""
        cut = self._release.overflow(open_url)
        if cut and self._buffer.line < cut and self._buffer.text[cut - 1] == "\n":
            self._line.begin(cut)

    def close(self, reason: Boundary, trim: Trim) -> None:
        """Force a flush. Markers open on the last line are closed."""
        self._settle(len(self._buffer.text))
        self._release.close(reason, trim)

    # -- behind code and tables -----------------------------------------------------------------

    def behind_code(self, at: int) -> SegmentReader:
        self._pos, self._period = at, 0
        return self

    def refuse_table(self) -> SegmentReader:
        """Too long: it and every following row are text."""
        self._tables_off = True
        self._buffer.move_start(self._buffer.start)
        return self.begin(self._buffer.start)


def _begun_scheme(text: str) -> int:
    """Return how many characters at the end may be the start of `://`."""
    if text.endswith(":"):
        return 1
    return 2 if text.endswith(":/") else 0
