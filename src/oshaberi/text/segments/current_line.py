"""Keeps the facts about the line being read: its kind, and the list item it belongs to."""

from __future__ import annotations

from typing import Final

from oshaberi.text.copied_state import CopiedState
from oshaberi.text.line_kinds import BlockKind, block_kind, indent, is_rule
from oshaberi.text.segments.line_breaks import (
    PUNCTUATION,
    LineBreak,
    carry_end,
    ellipsis_stays,
    joins_block,
)
from oshaberi.text.segments.visible_buffer import VisibleBuffer
from oshaberi.text.sentences.inline_lists import begins_items
from oshaberi.text.text_config import TextConfig

_HEAD: Final = 64


class CurrentLine(CopiedState):
    """Reads the line's beginning at most once, so that it may leave the buffer."""

    def __init__(self, buffer: VisibleBuffer, config: TextConfig) -> None:
        self._buffer = buffer
        self._blocks = config.paragraph_mode == "blocks" and config.humanizer_degree > 0
        self.begin(0)

    def begin(self, at: int, item: int | None = None) -> None:
        """Start a line at `at`. `item` is the indentation of the list item it continues."""
        self._buffer.line = at
        self._kind: BlockKind | None = None
        self._holds_items: bool | None = None
        self.item = item
        self.has_bar = False
        self.is_fresh = True

    def kind(self) -> BlockKind:
        """Return the line's kind by its marker. Also notes the list item it begins."""
        if self._kind is None:
            head = self._buffer.text[self._buffer.line : self._buffer.line + _HEAD]
            self._kind = block_kind(head)
            if self._kind == "list" and self.item is None:
                self.item = indent(head)
        return self._kind

    def holds_items(self) -> bool:
        """Tell whether the line may be a list (`a. Wash b. Dry`).

        The markers of a list end no sentence.
        """
        if self._holds_items is None:
            self._holds_items = begins_items(self._buffer.text, self._buffer.line)
        return self._holds_items

    def remember(self) -> None:
        """Compute all facts, because the beginning of the line will be dropped."""
        self.kind()
        self.holds_items()

    def block(self) -> BlockKind:
        """Return the kind of the line's block. A line that continues a list item is `list`."""
        kind = self.kind()
        return kind if self.item is None else "list"

    def unsent(self, brk: LineBreak) -> str:
        """Return what is in the buffer of this line, which ends at `brk`."""
        return self._buffer.text[max(self._buffer.line, self._buffer.start) : brk.at]

    def item_goes_on(self, brk: LineBreak) -> bool:
        """Tell whether the next line is indented deeper than this line's list item."""
        if brk.solid == brk.line:
            return False
        self.kind()
        if self.item is None:
            return False
        return indent(self._buffer.text[brk.line : brk.solid]) > self.item

    def joins_next(self, brk: LineBreak, final: bool) -> int:
        """Tell whether the next line stays with this one: 0, 1 or WAIT."""
        if self._is_bare_subtext(brk):
            return 1
        text = self._buffer.text
        joined = joins_block(text, self.block(), brk, final) if self._blocks else 0
        if joined == 0 and text[brk.solid] in PUNCTUATION:
            return ellipsis_stays(text, brk.solid, self._buffer.limit, final)
        return joined

    def carried_end(self, brk: LineBreak, final: bool) -> int:
        """Return the end of the next line's punctuation that belongs here; 0 if none, or WAIT.

        A rule vanishes (spec 06 S4), so nothing joins it.
        """
        text = self._buffer.text
        end = carry_end(text, brk.solid, final) if text[brk.solid] in PUNCTUATION else 0
        return 0 if end and is_rule(self.unsent(brk)) else end

    def _is_bare_subtext(self, brk: LineBreak) -> bool:
        """Tell whether the line is only `-#`, which joins the next line (C7)."""
        line = self._buffer.line
        if not self._buffer.whole_line() or not self._buffer.text.startswith("-#", line):
            return False
        return self._buffer.text[line : brk.at].strip() == "-#"
