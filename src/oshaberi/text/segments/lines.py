"""What is known about the line being read: its kind, what follows it, an unfinished URL."""

from __future__ import annotations

import re
from typing import Final

from oshaberi.text.atoms import bracket_end, url_stop
from oshaberi.text.config import TextConfig
from oshaberi.text.copied_state import CopiedState
from oshaberi.text.line_kinds import (
    MARKER_BEGINS,
    BlockKind,
    begins_block,
    block_kind,
    indent,
    is_rule,
)
from oshaberi.text.markers.rules import WAIT
from oshaberi.text.measure import has_visible
from oshaberi.text.segments.buffer import VisibleBuffer
from oshaberi.text.sentences.ends import begins_items

# Spec 05 B3: looks at what follows a newline, to decide whether the segment ends there.
#
# Pure functions over the text known so far; None or WAIT means that more text is needed.


_SOLID: Final = re.compile(r"\S")
PUNCTUATION: Final = frozenset(".,!?;。！？、，…")
"""A line that begins with one of these may belong to the line before."""
_CARRIED: Final = re.compile(r"[.,!?;。！？、，]+")
_ELLIPSIS: Final = ("...", "。。")
_SHORT_ELLIPSIS: Final = re.compile(r"(?:…[.,!?;。！？、，…]?|[.,!?;。！？、，]…)(?![^\s])")
_CARRY_MAX: Final = 16
_MARKER_MAX: Final = 12
_JOINS_LIKE: Final = frozenset({"list", "quote", "subtext"})


class LineBreak:
    """A newline and the start of the next visible line."""

    __slots__ = ("at", "blank", "line", "solid")

    def __init__(self, at: int, line: int, solid: int) -> None:
        self.at = at
        self.line = line
        """Where the next line that is not blank begins, its indentation included."""
        self.solid = solid
        """Its first character that is not white space."""
        self.blank = line > at + 1


class NextLine:
    """How the line after a break relates to the one before it."""

    __slots__ = ("carried_end", "continues_item", "joins", "undecided")

    def __init__(self) -> None:
        self.continues_item = False
        """It is indented deeper than the list item before it."""
        self.joins = False
        """It stays in the segment of the line before."""
        self.carried_end = 0
        """The end of punctuation at its start that belongs to the line before; 0 if there is
        none."""
        self.undecided = False


def read_break(text: str, at: int, limit: int) -> LineBreak | None:
    """Return the line break at `at`, once the next visible character is known.

    That character must come before `limit`; else returns None.
    """
    after = at + 1
    known = min(len(text), limit)
    if after < known and text[after] == "\n":
        after += 1  # one blank line
    if after < known and not text[after].isspace():
        return LineBreak(at, after, after)  # the usual case
    after = at + 1
    found = _SOLID.search(text, after, limit)
    if found is None:
        return None
    solid = found.start()
    return LineBreak(at, text.rfind("\n", at, solid) + 1, solid)


def carry_end(text: str, at: int, final: bool) -> int:
    """Return the end of punctuation at `at` that belongs to the line before; 0 if none, or WAIT."""
    after = text[at + 1 : at + 2]
    if after and after not in PUNCTUATION and not after.isspace():
        return 0  # the usual case: .env
    run = _CARRIED.match(text, at, at + _CARRY_MAX + 1)
    if run is None or run.end() - at > _CARRY_MAX or text.startswith(_ELLIPSIS, at):
        return 0
    if run.end() == len(text):
        return run.end() if final else WAIT
    return run.end() if text[run.end()].isspace() else 0


def ellipsis_stays(text: str, at: int, limit: int, final: bool) -> int:
    """Return whether a line of only `…` stays with the line before: 0, 1 or WAIT.

    Usually it goes in front of the next line (S1). If nothing follows, it would be a message of
    one character, which L1 forbids.
    """
    line = _SHORT_ELLIPSIS.match(text, at) if "…" in text[at : at + 2] else None
    if line is None:
        return 0
    following = _SOLID.search(text, line.end(), limit)
    if following is None:
        if len(text) >= limit:
            return 0
        return 1 if final else WAIT
    if line.end() == following.start() or "\n" not in text[line.end() : following.start()]:
        return 0
    head = text[following.start() : following.start() + _MARKER_MAX]
    if len(head) < _MARKER_MAX and "\n" not in head and not final:
        return WAIT
    return int(begins_block(head))


def joins_block(text: str, here: BlockKind, brk: LineBreak, final: bool) -> int:
    """Return whether the next line stays with this one (`paragraph_mode = "blocks"`), or WAIT."""
    if here == "heading":
        return 1
    if here not in _JOINS_LIKE or (brk.blank and here != "list"):
        return 0
    head = text[brk.solid : brk.solid + _MARKER_MAX]
    if len(head) < _MARKER_MAX and "\n" not in head and not final:
        return WAIT
    return int(block_kind(head) == here)


# Keeps the facts about the line being read: its kind, and the list item it belongs to.


_HEAD: Final = 64
_TOO_FEW: Final = 2
"""In a response with this few messages, none is spent on a heading."""


class CurrentLine(CopiedState):
    """Reads the line's beginning at most once, so that it may leave the buffer."""

    def __init__(self, buffer: VisibleBuffer, config: TextConfig, *, opens_response: bool) -> None:
        self._buffer = buffer
        self._blocks = config.paragraph_mode == "blocks" and config.humanizer_degree > 0
        self._heading_leaves = opens_response and config.max_flush_count > _TOO_FEW
        self.begin(0)

    def begin(self, at: int, item: int | None = None) -> None:
        """Start a line at `at`. `item` is the indentation of the list item it continues."""
        self._buffer.line = at
        self._kind: BlockKind | None = None
        self._holds_items: bool | None = None
        self.item = item
        self.has_bar = False
        self.is_fresh = True

    def begin_text(self, at: int) -> None:
        """Start a line at `at` that begins with a letter, after a line with a plain end."""
        self._buffer.line = at
        self._kind = "text"
        self._holds_items = None

    def kind(self) -> BlockKind:
        """Return the line's kind by its marker. Also notes the list item it begins."""
        if self._kind is None:
            head = self._buffer.text[self._buffer.line : self._buffer.line + _HEAD]
            self._kind = block_kind(head)
            if self._kind == "list" and self.item is None:
                self.item = indent(head)
        return self._kind

    def holds_items(self) -> bool:
        """Return whether the line may be a list (`a. Wash b. Dry`).

        The markers of a list end no sentence.
        """
        if self._holds_items is None:
            self._holds_items = begins_items(self._buffer.text, self._buffer.line)
        return self._holds_items

    def ends_plainly(self, at: int) -> bool:
        """Return whether the newline at `at` plainly stands between two lines of text.

        That is the usual case: neither line can be a block, a table's row or punctuation.
        """
        text, line = self._buffer.text, self._buffer.line
        if self.item is not None or self.has_bar or line < 0 or at + 1 >= self._buffer.limit:
            return False
        return text[line] not in MARKER_BEGINS and text[at + 1 : at + 2].isalpha()

    def remember(self) -> None:
        """Compute all facts, because the beginning of the line will be dropped."""
        self.kind()
        self.holds_items()

    def block(self) -> BlockKind:
        """Return the kind of the line's block. A line that continues a list item is `list`."""
        kind = self.kind()
        return kind if self.item is None else "list"

    def unsent(self, brk: LineBreak) -> str:
        """Return the part of this line, which ends at `brk`, that is in the buffer."""
        return self._buffer.text[max(self._buffer.line, self._buffer.start) : brk.at]

    def next_line(self, brk: LineBreak, final: bool) -> NextLine:
        """Return how the next line relates to this one."""
        following = NextLine()
        if self._item_goes_on(brk):
            following.continues_item = following.joins = True
            return following
        joined = self._joins_next(brk, final)
        carried = 0 if joined else self._carried_end(brk, final)
        if joined == WAIT or carried == WAIT:
            following.undecided = True
        following.joins = joined > 0
        following.carried_end = carried
        return following

    def _item_goes_on(self, brk: LineBreak) -> bool:
        """Return whether the next line is indented deeper than this line's list item."""
        if brk.solid == brk.line:
            return False
        self.kind()
        if self.item is None:
            return False
        return indent(self._buffer.text[brk.line : brk.solid]) > self.item

    def _joins_next(self, brk: LineBreak, final: bool) -> int:
        """Return whether the next line stays with this one: 0, 1 or WAIT."""
        if self._is_bare_subtext(brk):
            return 1
        text = self._buffer.text
        in_block = self._blocks and not self._is_first_heading()
        joined = joins_block(text, self.block(), brk, final) if in_block else 0
        if joined == 0 and text[brk.solid] in PUNCTUATION:
            return ellipsis_stays(text, brk.solid, self._buffer.limit, final)
        return joined

    def _is_first_heading(self) -> bool:
        """Return whether the line is a heading with which the response begins.

        It is sent by itself, so that nobody waits for the paragraph under it.
        """
        if not self._heading_leaves or self._buffer.has_left or self.block() != "heading":
            return False
        return not has_visible(self._buffer.text[self._buffer.start : self._buffer.line])

    def _carried_end(self, brk: LineBreak, final: bool) -> int:
        """Return the end of the next line's punctuation that belongs here; 0 if none, or WAIT.

        A horizontal rule is not sent (spec 06 S4), so no punctuation is added to it.
        """
        text = self._buffer.text
        end = carry_end(text, brk.solid, final) if text[brk.solid] in PUNCTUATION else 0
        return 0 if end and is_rule(self.unsent(brk)) else end

    def _is_bare_subtext(self, brk: LineBreak) -> bool:
        """Return whether the line is only `-#`, which joins the next line (C7)."""
        line = self._buffer.line
        if self._buffer.text[line] != "-" or not self._buffer.whole_line():
            return False
        return self._buffer.text[line : brk.at].strip() == "-#"


# Reads a URL while it arrives, so that nothing of it is read twice (L7).


class UnfinishedUrl(CopiedState):
    """How far a URL has been read, and how many brackets are open there."""

    def __init__(self) -> None:
        self._read = 0
        self._brackets = 1

    def clear(self) -> None:
        self._read = 0
        self._brackets = 1

    def shift(self, by: int) -> None:
        """Adjust the position, because the buffer dropped its first `by` characters."""
        self._read -= by

    def stop(self, text: str, begin: int, after: int, known: int) -> int:
        """Return where the URL from `begin` stops, or `known` if it goes on there.

        Its scheme ends at `after`. Right after a `(` it stops where that closes.
        """
        unread = max(after, self._read)
        found = url_stop(text, unread, known)
        if found >= 0:
            return found
        if text[begin - 1 : begin] != "(":
            self._read = known
            return known
        close = bracket_end(text, unread, known, self._brackets)
        if close == known:
            opened, closed = text.count("(", unread, known), text.count(")", unread, known)
            self._brackets += opened - closed
            self._read = known
        return close
