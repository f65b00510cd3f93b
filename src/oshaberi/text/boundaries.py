"""Stage 05: V in pieces goes in, segments come out: where one ends, and why (B1-B8, H1-H3).

One forward pass. Every decision depends on positions in V and a bounded look-ahead alone: when
what has arrived does not decide, reading stops there and goes on with the next piece.
"""

from __future__ import annotations

import re
import sys
from enum import Enum, auto
from typing import Literal, NamedTuple

from oshaberi.events import Boundary
from oshaberi.text.atoms import BACKTICKS, URL_STOP, inline_code_close, url_end
from oshaberi.text.auto_close import clause_end, closing
from oshaberi.text.code import CodeBlock
from oshaberi.text.config import TextConfig
from oshaberi.text.holds import Held, Holds, code_limit
from oshaberi.text.line_breaks import (
    Break,
    carry_end,
    continues_item,
    ellipsis_stays,
    heads_table,
    joins_block,
    read_break,
)
from oshaberi.text.lines import BlockKind, block_kind, indent
from oshaberi.text.marks import MARKS, WAIT, read_mark
from oshaberi.text.observe import Observer
from oshaberi.text.overflow import Stretch, Window, choose_cut, hard_cut
from oshaberi.text.scan import url_start
from oshaberi.text.sentences import TERMINATORS, run_end, sentence_end
from oshaberi.text.table_rows import TableRows, Verdict
from oshaberi.text.tables import is_row

_LINES = re.compile(rf"[\n`{re.escape(MARKS)}]|://")
_SENTENCES = re.compile(rf"[\n`{re.escape(MARKS + TERMINATORS)}]|://")
_CONTEXT = 128
_NEVER = sys.maxsize
_HEAD = 64
_QUOTE_BLOCK = ">>> "
_QUOTED_FENCE = re.compile(r"[> \t]*")


def _begun_scheme(text: str) -> int:
    """How many characters at the end may be the beginning of `://`."""
    if text.endswith(":"):
        return 1
    return 2 if text.endswith(":/") else 0


class Mode(Enum):
    TEXT = auto()
    CODE = auto()
    TABLE = auto()


class Segment(NamedTuple):
    """A stretch of V that leaves stage 05."""

    kind: Literal["text", "code", "table", "trimmed"]
    text: str
    boundary: Boundary
    end: int
    """Where it ends in V."""
    gap: str
    """The white space between the text before it and its own."""
    line_start: bool
    ends_line: bool


class Boundaries:
    """Positions are indexes into `_text`, which keeps what is not yet sent and a little before."""

    def __init__(self, config: TextConfig, observer: Observer | None = None) -> None:
        self._config = config
        self._observer = observer
        self._interest = _SENTENCES if config.humanizer_degree == 3 else _LINES
        self._window = Window.of(config.flush_buffer_size)
        self._reach = self._window.limit if config.humanizer_degree else _NEVER
        self._blocks = config.paragraph_mode == "blocks"
        self._code_limit = code_limit(config.hold_limit)
        self._holds = Holds(config.hold_limit)
        self._mode = Mode.TEXT
        self._out: list[Segment] = []
        self._text = ""
        self._base = 0
        self._start = 0
        self._pos = 0
        self._limit = self._reach
        self._period = 0
        self._gap = ""
        self._in_url = False
        self._tables_off = False
        self._code: CodeBlock | None = None
        self._ticks = 0
        self._code_base = 0
        self._rows: TableRows | None = None
        self._begin_line(0, None)
        self.waits_for_next = False
        """A line or sentence has ended, and the next character says how."""

    # -- what the engine calls ------------------------------------------------------------------

    @property
    def unsent(self) -> int:
        """How many characters of V are not yet in a segment."""
        return len(self._text) - self._start

    @property
    def end(self) -> int:
        """The length of V so far."""
        return self._base + len(self._text)

    def rest(self) -> str:
        """The text that is not yet in a segment."""
        return self._text[self._start :]

    def feed(self, text: str, final: bool = False) -> list[Segment]:
        if self._start > _CONTEXT:
            self._forget(self._start - _CONTEXT)
        self._text += text
        self.waits_for_next = False
        while self._advance(final):
            pass
        out, self._out = self._out, []
        return out

    def close(self, reason: Boundary, trim: bool = False) -> list[Segment]:
        """The forced flush: everything leaves, what is open is closed."""
        out = self.feed("", final=True)
        if self._code:
            self._emit_code(self._code.close(), len(self._text), reason)
        elif self._rows:
            self._end_table(len(self._text), reason)
        else:
            self._close_text(reason, trim)
        self._out, out = [], out + self._out
        return out

    def retract(self, to: int) -> str:
        """C3: what is behind `to` in V never was visible. Returns what is not in a segment."""
        text = self._text[self._start :]
        self._base = to - self._start
        self._text = self._text[: self._start]
        self._pos = self._start
        self._mode, self._rows, self._period = Mode.TEXT, None, 0
        self._in_url = False
        self._holds.clear()
        self._begin_line(self._start, None)
        return text

    # -- one step -------------------------------------------------------------------------------

    def _advance(self, final: bool) -> bool:
        """Read on in the current mode; False when more text is needed."""
        if self._mode is Mode.TEXT:
            return self._read_text(final)
        if self._mode is Mode.CODE:
            return self._read_code(final)
        return self._read_table(final)

    def _read_text(self, final: bool) -> bool:
        text, search, holds = self._text, self._interest.search, self._holds
        while self._mode is Mode.TEXT:
            if self._fresh and not self._read_line_head(final):
                return False
            if self._in_url:
                if not self._read_url_tail(final):
                    return False
                continue
            found = search(text, self._pos)
            at = found.start() if found else len(text)
            if at >= self._limit or self._period or holds.stack:
                self._settle(at)
            if found is None:
                self._pos = at - _begun_scheme(text)
                return False
            after = self._read_token(at, final)
            if after == WAIT:
                self._pos = at
                return False
            if self._mode is Mode.TEXT:
                self._pos = max(after, self._start)
        return True

    def _read_token(self, at: int, final: bool) -> int:
        mark = self._text[at]
        if mark == "\n":
            return self._read_newline(at, final)
        if mark == "`":
            return self._read_backticks(at, final)
        if mark == ":":
            return self._read_url(at, final)
        if mark in TERMINATORS:
            return self._read_terminator(at, final)
        if mark == "|":
            self._has_bar = True
        return read_mark(self._holds, self._text, at, final)

    def _settle(self, at: int) -> None:
        """What falls due before `at`, in order of position: a sentence end, H3, overflow."""
        while True:
            period = self._period or _NEVER
            expiry = self._holds.expiry() if self._holds.stack else _NEVER
            due = min(period, expiry, self._limit)
            if due > at:
                return
            if due == period:
                self._period = 0
                self._use(Held(period, period, "period"))
            elif due == expiry:
                self._holds.expire()
                self._use_free()
            else:
                self._overflow()

    # -- lines ----------------------------------------------------------------------------------

    def _begin_line(self, at: int, item: int | None) -> None:
        self._line = at
        self._item = item
        self._kind: BlockKind | None = None
        self._has_bar = False
        self._fresh = True

    def _line_kind(self) -> BlockKind:
        """What the current line is, by its marker; also remembers the list item it begins."""
        if self._kind is None:
            head = self._text[self._line : self._line + _HEAD]
            self._kind = block_kind(head)
            if self._kind == "list" and self._item is None:
                self._item = indent(head)
        return self._kind

    def _read_line_head(self, final: bool) -> bool:
        """A line that begins `>>> ` is a quote down to the next blank line."""
        head = self._text[self._pos : self._pos + 4]
        if len(head) < 4 and not final and _QUOTE_BLOCK.startswith(head):
            return False
        if head == _QUOTE_BLOCK and not self._holds.open[">>>"]:
            self._holds.push(">>>", self._pos)
        self._fresh = False
        return True

    def _read_newline(self, at: int, final: bool) -> int:
        text = self._text
        brk = read_break(text, at)
        if len(text) >= self._limit and (brk is None or brk.solid >= self._limit):
            self._overflow()
            return at
        if brk is None:
            self.waits_for_next = True
            return len(text) if final else WAIT
        whole = self._line >= self._start
        if whole and self._has_bar and not self._tables_off:
            separator_end = heads_table(text, self._line, brk, self._limit, final)
            if separator_end == WAIT:
                return WAIT
            if separator_end:
                return self._begin_table(separator_end)
        return self._end_line(brk, final)

    def _end_line(self, brk: Break, final: bool) -> int:
        text = self._text
        kind = self._line_kind()
        continued = continues_item(text, self._item, brk)
        joined = int(continued or self._is_bare_subtext(brk))
        if not joined and self._blocks:
            joined = joins_block(text, kind, brk, final)
        if not joined and self._start < brk.at:
            joined = ellipsis_stays(text, brk.solid, self._limit, final)
        carried = 0 if joined else carry_end(text, brk.solid, final)
        if WAIT in (joined, carried):
            self.waits_for_next = True
            return WAIT
        row = text[max(self._line, self._start) : brk.at] if self._tables_off else ""
        if self._tables_off and not is_row(row, leading_bar=False):
            self._tables_off = False
        self._leave_line(brk)
        if carried and text[self._start : brk.at].strip():
            self._use(Held(brk.at, carried, "newline", brk.solid))
        elif not joined:
            self._use(Held(brk.at, brk.line, "newline"))
        self._begin_line(brk.line, self._item if continued else None)
        return max(brk.solid, self._start)

    def _leave_line(self, brk: Break) -> None:
        self._holds.line_break()
        if brk.blank:
            self._holds.blank_line(brk.at)
        self._use_free()

    def _is_bare_subtext(self, brk: Break) -> bool:
        """C7: `-#` alone joins the next line."""
        whole = self._line >= self._start and self._text.startswith("-#", self._line)
        return whole and self._text[self._line : brk.at].strip() == "-#"

    # -- sentences ------------------------------------------------------------------------------

    def _read_terminator(self, at: int, final: bool) -> int:
        text = self._text
        if at + 1 == len(text) and not final:
            self.waits_for_next = True
            return WAIT
        if self._in_block_line():
            return at + 1
        end = sentence_end(text, at, final, max(self._start, self._line))
        if end == WAIT or (end == len(text) and not final):
            self.waits_for_next = True
            return WAIT
        if end > 0 and end < len(text) and text[end] != "\n":
            self._period = end
        return run_end(text, at)

    def _in_block_line(self) -> bool:
        """Degree 3 keeps lines with a block marker whole, and what continues them."""
        return self._line_kind() != "text" or self._item is not None

    # -- atoms that reach far -------------------------------------------------------------------

    def _read_backticks(self, at: int, final: bool) -> int:
        text = self._text
        run = BACKTICKS.match(text, at)
        end = run.end() if run else at
        if end == len(text) and not final:
            return WAIT
        if end - at > 2:
            self._begin_code(at, end - at)
            return end
        close = inline_code_close(text, end, end - at, self._code_limit, final)
        if close > 0:
            self._holds.spans.append((at, close, True))
        return close or end

    def _read_url(self, at: int, final: bool) -> int:
        begin = url_start(self._text, at)
        if begin < 0:
            return at + 3
        reach = self._url_reach(max(begin, self._start), at + 3, final)
        if reach:
            return reach
        self._in_url = self._start > begin
        return at

    def _read_url_tail(self, final: bool) -> bool:
        """The segment begins inside a URL that is too long for one message."""
        reach = self._url_reach(self._start, self._pos, final)
        if reach == WAIT:
            return False
        self._in_url = reach == 0
        self._pos = max(reach, self._start)
        return True

    def _url_reach(self, begin: int, after: int, final: bool) -> int:
        """Where the URL from `begin`, read up to `after`, ends; 0 if an overflow came first."""
        text = self._text
        stop = URL_STOP.search(text, after, self._limit)
        if stop is None and len(text) >= self._limit:
            self._overflow(open_url=begin)
            return 0
        if stop is None and not final:
            return WAIT
        end = url_end(text, begin, stop.start() if stop else len(text))
        if end > after:
            self._holds.spans.append((begin, end, True))
        return max(end, after)

    # -- leaving --------------------------------------------------------------------------------

    def _use(self, boundary: Held) -> None:
        """Cut here, unless something that opened before is still open."""
        holds = self._holds
        if holds.stack or (holds.links and boundary.reason == "period"):
            holds.wait(boundary)
            if self._observer:
                marker = holds.stack[0][0] if holds.stack else "["
                self._observer.hold(self._base + boundary.at, marker)
        else:
            self._flush(boundary)

    def _use_free(self) -> None:
        free, self._holds.free = self._holds.free, []
        for boundary in free:
            if boundary.cut > self._start:
                self._flush(boundary)

    def _flush(self, boundary: Held, suffix: str = "") -> None:
        text, start, cut = self._text, self._start, boundary.cut
        if boundary.mend:
            raw = text[start : boundary.at].rstrip() + text[boundary.mend : cut]
        else:
            raw = text[start:cut]
        begun = raw.lstrip()
        body = begun.rstrip()
        trail = begun[len(body) :]
        if body:
            gap = self._gap + raw[: len(raw) - len(begun)]
            ends_line = "\n" in trail or boundary.reason not in ("period", "overflow", "code_open")
            self._emit("text", body + suffix, boundary.reason, cut, gap, ends_line)
            self._gap = trail
        else:
            self._gap += raw
        self._move_start(cut)

    def _emit(
        self,
        kind: Literal["text", "code", "table", "trimmed"],
        text: str,
        reason: Boundary,
        end: int,
        gap: str,
        ends_line: bool,
    ) -> None:
        line_start = self._line >= self._start or self._text[self._start - 1] == "\n"
        segment = Segment(kind, text, reason, self._base + end, gap, line_start, ends_line)
        self._out.append(segment)
        if self._observer:
            self._observer.boundary(segment)

    def _move_start(self, cut: int) -> None:
        self._start = cut
        self._limit = cut + self._reach if self._reach != _NEVER else _NEVER
        self._holds.passed(cut)

    def _overflow(self, open_url: int = -1) -> None:
        """B5. An atom that begins the segment is kept whole up to a message."""
        start, limit = self._start, self._limit
        atoms, spans = self._taken(open_url)
        if limit > start + self._reach:
            atom_end = max(
                (e for s, e, atom in self._holds.spans if atom and s <= start), default=0
            )
            whole = start < atom_end < limit
            cut = atom_end if whole else hard_cut(self._text, start, limit, atoms)
        else:
            cut = choose_cut(self._text, start, self._window, atoms, spans)
            if not cut:
                longest = self._config.max_single_message_length
                self._limit = start + max(longest, self._reach + 1)
                return
        self._flush(Held(cut, cut, "overflow"))
        self._holds.cut(cut)
        self._use_free()
        if self._line < cut and self._text[cut - 1] == "\n":
            self._begin_line(cut, None)

    def _taken(self, open_url: int) -> tuple[list[Stretch], list[Stretch]]:
        """Atoms, finished or not, and other spans of the segment."""
        holds = self._holds
        atoms = [(begin, end) for begin, end, atom in holds.spans if atom]
        atoms += [(begin, _NEVER) for begin in (open_url,) if begin >= 0]
        atoms += [(link.at, _NEVER) for link in holds.links[:1]]
        spans = [(begin, end) for begin, end, atom in holds.spans if not atom]
        spans += [(begin, _NEVER) for _, begin in holds.stack[:1]]
        return atoms, spans

    def _close_text(self, reason: Boundary, trim: bool) -> None:
        end = len(self._text)
        self._settle(end)
        openers = self._holds.force(self._line, end)
        self._use_free()
        body = self._text[self._start : end]
        kept = self._start + (clause_end(body) if trim else len(body))
        openers = [(kind, at) for kind, at in openers if self._start <= at < kept]
        lead = self._start + len(body) - len(body.lstrip())
        text = self._text[lead:kept].rstrip()
        suffix = closing(text, [(kind, at - lead) for kind, at in openers])
        self._flush(Held(kept, kept, reason), suffix)
        if removed := self._text[kept:end].strip():
            self._emit("trimmed", removed, reason, end, "", ends_line=True)
        self._move_start(end)
        self._holds.clear()

    # -- code -----------------------------------------------------------------------------------

    def _begin_code(self, at: int, ticks: int) -> None:
        """B1: the text before the fence leaves; a prefix of quote marks belongs to the fence."""
        self._holds.literal()
        self._use_free()
        prefix = self._text[self._line : at] if self._line >= self._start else "-"
        quoted = _QUOTED_FENCE.fullmatch(prefix) is not None
        cut = self._line if quoted else at
        self._flush(Held(cut, cut, "code_open"))
        whole = self._config.humanizer_degree == 0
        longest = _NEVER if whole else self._config.max_single_message_length
        self._code = CodeBlock(longest, prefix if quoted else "", ticks)
        self._ticks = ticks
        self._pos = at + ticks
        self._code_base = self._base + self._pos
        self._mode, self._period = Mode.CODE, 0

    def _read_code(self, final: bool) -> bool:
        text, code = self._text, self._code
        assert code is not None
        tick = text.find("`", self._pos)
        run = BACKTICKS.match(text, tick) if tick >= 0 else None
        if run is None or (run.end() == len(text) and not final):
            self._feed_code(code, tick if run else len(text))
            return False
        if run.end() - tick < self._ticks:
            self._feed_code(code, run.end())
            return True
        self._feed_code(code, tick)
        self._emit_code(code.close(), run.end(), "code_close")
        self._pos = run.end()
        return True

    def _feed_code(self, code: CodeBlock, end: int) -> None:
        for message, consumed in code.feed(self._text[self._pos : end]):
            self._emit_piece(message, self._code_base + consumed - self._base, "overflow")
        self._pos = end

    def _emit_code(self, pieces: list[tuple[str, int]], end: int, reason: Boundary) -> None:
        for message, consumed in pieces[:-1]:
            self._emit_piece(message, self._code_base + consumed - self._base, "overflow")
        self._emit_piece(pieces[-1][0], end, reason)
        self._code, self._mode = None, Mode.TEXT

    def _emit_piece(self, message: str, end: int, reason: Boundary) -> None:
        self._emit("code", message, reason, end, self._gap, ends_line=False)
        self._gap = ""
        self._move_start(end)

    # -- tables ---------------------------------------------------------------------------------

    def _begin_table(self, separator_end: int) -> int:
        """B7: what comes before the header leaves; the table is held."""
        self._holds.literal()
        self._use_free()
        self._flush(Held(self._line, self._line, "newline"))
        after = min(separator_end + 1, len(self._text))
        longest = self._config.flush_buffer_size_code_block
        self._rows = TableRows(self._text, self._start, after, longest)
        self._mode = Mode.TABLE
        return after

    def _read_table(self, final: bool) -> bool:
        rows = self._rows
        assert rows is not None
        verdict = rows.read(self._text, self._start, final)
        if verdict is Verdict.WAIT:
            return False
        if verdict is Verdict.END:
            self._end_table(rows.pos, "newline")
        else:
            self._tables_off = True
            self._leave_table(self._start)
        return True

    def _end_table(self, end: int, reason: Boundary) -> None:
        source = self._text[self._start : end]
        self._emit("table", source.strip(), reason, end, self._gap, ends_line=True)
        self._gap = "\n"
        self._move_start(end)
        self._leave_table(end)

    def _leave_table(self, at: int) -> None:
        self._rows, self._mode = None, Mode.TEXT
        self._pos = at
        self._limit = at + self._reach if self._reach != _NEVER else _NEVER
        self._begin_line(at, None)

    # -- memory ---------------------------------------------------------------------------------

    def _forget(self, by: int) -> None:
        """Drop what has left, once per piece: no re-slicing at each cut (L7)."""
        if self._line < by:
            self._line_kind()
        self._text = self._text[by:]
        self._base += by
        self._start -= by
        self._pos -= by
        self._line = max(self._line - by, -1)
        self._limit -= by if self._limit != _NEVER else 0
        self._period -= by if self._period else 0
        self._holds.shift(by)
        if self._rows:
            self._rows.shift(by)
