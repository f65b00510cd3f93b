"""Step 05: splits V into segments, with the reason for each boundary (B1-B8, H1-H3).

One forward pass over prose; code blocks and tables have readers of their own. Every decision
depends only on positions in V and a bounded look-ahead: if the text so far does not decide, reading
stops there and continues with the next piece.
"""

from __future__ import annotations

import re
from typing import Final

from oshaberi.events import Boundary
from oshaberi.text.atoms import backticks_end, code_limit, inline_code_close, url_end
from oshaberi.text.code_block_splitting import CodeBlock
from oshaberi.text.config import TextConfig
from oshaberi.text.copied_state import CopiedState
from oshaberi.text.markdown_tables import is_row
from oshaberi.text.markers.closed_pairs import Interest, url_start
from oshaberi.text.markers.open_markers import HeldBoundary, OpenMarkers
from oshaberi.text.markers.rules import MARK_HANDLERS, MARKS, WAIT
from oshaberi.text.segments.blocks import BlockReader, CodeReader, ProseAgain
from oshaberi.text.segments.buffer import CONTEXT, NEVER, Found, Trim, VisibleBuffer
from oshaberi.text.segments.cuts import CutWindow, SegmentRelease
from oshaberi.text.segments.lines import CurrentLine, LineBreak, UnfinishedUrl, read_break
from oshaberi.text.segments.table_blocks import TableReader, heads_table
from oshaberi.text.sentences.ends import TERMINATORS, cut_off_end, run_end, sentence_end

_WORTH_IT: Final = 2048


class SegmentSplitter(CopiedState):
    """Feeds the buffer, and lets prose and the block that is open read it in turn."""

    def __init__(
        self, config: TextConfig, *, opens_response: bool = True, is_observed: bool = False
    ) -> None:
        self.reach = CutWindow.of(config.flush_buffer_size).limit
        """How long prose without a boundary may get."""
        reach = self.reach if config.humanizer_degree else NEVER
        self._buffer = VisibleBuffer(reach, is_observed=is_observed)
        self._prose = ProseReader(self._buffer, config, opens_response=opens_response)
        self._block: BlockReader | None = None
        self.unsent = 0
        """How many characters of V are not yet in a segment."""
        self.waits_for_next = False
        """The next character decides how a line or sentence ended."""
        self.reads_code = False
        """A code block is open."""

    @property
    def end(self) -> int:
        """The length of V so far."""
        return self._buffer.end

    @property
    def reads_prose(self) -> bool:
        """Return whether neither a code block nor a table is open."""
        return self._block is None

    @property
    def ends_in_word(self) -> bool:
        """Return whether the last character may be part of an unfinished word."""
        return not self._buffer.text[-1:].isspace()

    def rest(self) -> str:
        """Return the text that is not yet in a segment, with the white space before it."""
        return self._buffer.gap + self._buffer.text[self._buffer.start :]

    def feed(self, text: str) -> list[Found]:
        """Read on. Return the segments that are complete."""
        buffer = self._buffer
        if buffer.start > CONTEXT + _WORTH_IT:
            self._forget()
        buffer.text += text
        self._read(final=False)
        self._note_state()
        return buffer.take()

    def settle(self, trim: Trim = "nothing") -> list[Found]:
        """Read to the end of the text, after which nothing more comes.

        The rest waits for `close`.
        """
        self._prose.is_cut_off = trim != "nothing"
        self._read(final=True)
        if self._block is None:
            self._prose.settle()
        return self._buffer.take()

    def close(
        self, reason: Boundary, trim: Trim = "nothing", *, has_shown: bool = False
    ) -> list[Found]:
        """Force a flush after `settle`: release everything, close what is open.

        `has_shown`: some of the segments so far were visible.
        """
        if self._block is None:
            self._prose.close(reason, trim, has_shown)
        else:
            self._block.close(reason, trim)
        return self._buffer.take()

    def retract(self, to: int) -> str:
        """Remove what is after `to` in V (C3). Return the part not in a segment."""
        text = self._buffer.retract(to)
        self._block = None
        self._prose.begin(self._buffer.start)
        self._note_state()
        return text

    def _note_state(self) -> None:
        """Set the values that the engine checks after each piece."""
        self.unsent = len(self._buffer.text) - self._buffer.start
        self.waits_for_next = self._prose.waits_for_next
        self.reads_code = isinstance(self._block, CodeReader)

    def _read(self, final: bool) -> None:
        while True:
            if self._block is None:
                self._block = self._prose.read(final)
                if self._block is None:
                    return
            again = self._block.read(final)
            if again is None:
                return
            self._block = None
            self._prose.resume(again)

    def _forget(self) -> None:
        by = self._buffer.start - CONTEXT
        self._prose.shift(by)
        if self._block is not None:
            self._block.shift(by)
        self._buffer.forget(by)


# Prose: markers, lines, sentences, URLs, overflow, and where a block begins.


_QUOTED_FENCE: Final = re.compile(r"[> \t]*")
_LINES: Final = Interest(MARKS)
_SENTENCES: Final = Interest(MARKS + TERMINATORS)
_QUOTE_BLOCK: Final = ">>> "
_MAY_QUOTE: Final = frozenset(("", ">"))


class ProseReader(CopiedState):
    """Reads prose during the whole stream; other readers read code and tables in between."""

    def __init__(self, buffer: VisibleBuffer, config: TextConfig, *, opens_response: bool) -> None:
        self._buffer = buffer
        self._interest = _SENTENCES if config.humanizer_degree == 3 else _LINES
        self._code_limit = code_limit(config.hold_limit)
        self._open_markers = OpenMarkers(config.hold_limit, buffer.observer)
        self._release = SegmentRelease(buffer, self._open_markers, config)
        whole = config.humanizer_degree == 0
        self._longest_code = NEVER if whole else config.max_single_message_length
        self._longest_table = config.flush_buffer_size_code_block
        self._block: BlockReader | None = None
        self._pos = 0
        self._period = 0
        self._in_url = False
        self._url = UnfinishedUrl()
        self._tables_off = False
        self._line = CurrentLine(buffer, config, opens_response=opens_response)
        self.waits_for_next = False
        """A line or sentence has ended, and the next character says how."""
        self.is_cut_off = False
        """The text ends in the middle, and its incomplete part is kept back."""

    def begin(self, at: int) -> None:
        """Start a fresh line at `at`, with nothing open."""
        self._pos, self._period = at, 0
        self._in_url = False
        self._url.clear()
        self._open_markers.clear()
        self._line.begin(at)

    def resume(self, again: ProseAgain) -> None:
        """Read on after a block. A table that was refused, and all its rows, are text."""
        if again.refused:
            self._tables_off = True
            self._buffer.move_start(self._buffer.start)
        if again.refused or again.fresh_line:
            self.begin(again.at)
        else:
            self._pos, self._period = again.at, 0

    def shift(self, by: int) -> None:
        if self._buffer.line < by:
            self._line.remember()
        self._pos -= by
        self._url.shift(by)
        if self._period:
            self._period -= by
        self._open_markers.shift(by)

    def read(self, final: bool) -> BlockReader | None:
        """Read on. Return the block that begins, or None if more text is needed."""
        buffer, open_markers, line = self._buffer, self._open_markers, self._line
        text = buffer.text
        interest = self._interest
        self.waits_for_next = False
        while True:
            if line.is_fresh and not self._read_line_head(final):
                return None
            if self._in_url:
                if not self._read_url_tail(final):
                    return None
                continue
            at = self._pos
            mark = text[at : at + 1]
            read_mark = MARK_HANDLERS.get(mark)
            if read_mark is None:
                at = interest.next(text, at)
                mark = text[at : at + 1]
                read_mark = MARK_HANDLERS.get(mark)
            if (
                at >= buffer.limit
                or self._period
                or (open_markers.stack and at - open_markers.stack[0][1] > open_markers.limit)
            ):
                self._settle(at)
            if not mark:
                self._pos = at - _begun_scheme(text)
                return None
            if read_mark is None:
                after = self._read_other(mark, at, final)
            else:
                if mark == "|":
                    line.has_bar = True
                after = read_mark(open_markers, text, at, final)
            if after == WAIT:
                self._pos = at
                return None
            self._pos = max(after, buffer.start)
            if self._block:
                block, self._block = self._block, None
                return block

    def _read_other(self, mark: str, at: int, final: bool) -> int:
        """Read anything that is not a marker: the end of a line or sentence, code, a URL."""
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
        if head[:1] not in _MAY_QUOTE:
            self._line.is_fresh = False
            return True  # the usual case
        if len(head) < 4 and not final and _QUOTE_BLOCK.startswith(head):
            return False
        if head == _QUOTE_BLOCK and not self._open_markers.open[">>>"]:
            self._open_markers.push(">>>", self._pos)
        self._line.is_fresh = False
        return True

    def _read_newline(self, at: int, final: bool) -> int:
        if self._line.ends_plainly(at) and not (self._open_markers.waits or self._tables_off):
            self._release.leave(HeldBoundary(at, at + 1, "newline"))
            self._line.begin_text(at + 1)
            return at + 1
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
                self._block = self._open_table(rows)
                return rows
        return self._end_line(brk, final)

    def _end_line(self, brk: LineBreak, final: bool) -> int:
        line = self._line
        following = line.next_line(brk, final)
        if following.undecided:
            self.waits_for_next = True
            return WAIT
        carried = following.carried_end
        if self._tables_off and not is_row(line.unsent(brk), leading_bar=False):
            self._tables_off = False
        if brk.blank or self._open_markers.has_links or self._open_markers.free:
            self._leave_line(brk)
        if carried and self._buffer.text[self._buffer.start : brk.at].strip():
            self._release.use(HeldBoundary(brk.at, carried, "newline", brk.solid))
        elif not following.joins:
            self._release.use(HeldBoundary(brk.at, brk.line, "newline"))
        line.begin(brk.line, line.item if following.continues_item else None)
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
            self._block = self._open_code(at, end - at)
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

    def settle(self) -> None:
        """Handle everything that is due, because no more text comes."""
        self._settle(len(self._buffer.text))
        self._release.settle()

    def close(self, reason: Boundary, trim: Trim, has_shown: bool) -> None:
        """Force a flush. Markers open on the last line are closed."""
        self._release.close(reason, trim, has_shown)

    # -- where a block begins: no pair spans it, so what is open is literal (H2) ------------------

    def _open_code(self, at: int, ticks: int) -> CodeReader:
        """Begin code at the fence `at`. Quote marks before it belong to it."""
        buffer = self._buffer
        self._use_held()
        prefix = buffer.text[buffer.line : at] if buffer.whole_line() else "-"
        quoted = _QUOTED_FENCE.fullmatch(prefix) is not None
        cut = buffer.line if quoted else at
        self._release.leave(HeldBoundary(cut, cut, "code_open"))
        block = CodeBlock(self._longest_code, prefix if quoted else "", ticks)
        return CodeReader(buffer, block, ticks, at + ticks)

    def _open_table(self, rows: int) -> TableReader:
        """Begin a table whose header is the current line, and whose rows begin at `rows`."""
        self._use_held()
        cut = self._buffer.line
        self._release.leave(HeldBoundary(cut, cut, "newline"))
        return TableReader(self._buffer, rows, self._longest_table)

    def _use_held(self) -> None:
        self._open_markers.literal()
        self._release.use_free()


def _begun_scheme(text: str) -> int:
    """Return how many characters at the end may be the start of `://`."""
    if text.endswith(":"):
        return 1
    return 2 if text.endswith(":/") else 0
