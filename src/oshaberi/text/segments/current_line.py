"""Keeps what is known of the line being read: its kind, and the list item it belongs to."""

from __future__ import annotations

from oshaberi.text.line_kinds import BlockKind, block_kind, indent
from oshaberi.text.segments.line_breaks import LineBreak
from oshaberi.text.segments.visible_buffer import VisibleBuffer
from oshaberi.text.sentences.inline_lists import begins_items

_HEAD = 64


class CurrentLine:
    """Looks at the line's beginning at most once, even after that has left the buffer."""

    def __init__(self, buffer: VisibleBuffer) -> None:
        self._buffer = buffer
        self.begin(0)

    def begin(self, at: int, item: int | None = None) -> None:
        """A line begins at `at`; `item` is the indentation of the list item it continues."""
        self._buffer.line = at
        self._kind: BlockKind | None = None
        self._holds_items: bool | None = None
        self.item = item
        self.has_bar = False
        self.is_fresh = True

    def kind(self) -> BlockKind:
        """What the line is, by its marker; also remembers the list item it begins."""
        if self._kind is None:
            head = self._buffer.text[self._buffer.line : self._buffer.line + _HEAD]
            self._kind = block_kind(head)
            if self._kind == "list" and self.item is None:
                self.item = indent(head)
        return self._kind

    def holds_items(self) -> bool:
        """Whether the line may be a list (`a. Wash b. Dry`), whose markers end no sentence."""
        if self._holds_items is None:
            self._holds_items = begins_items(self._buffer.text, self._buffer.line)
        return self._holds_items

    def remember(self) -> None:
        """The beginning of the line is about to be forgotten."""
        self.kind()
        self.holds_items()

    def block(self) -> BlockKind:
        """The kind of block that the line is part of: what continues a list item is list."""
        kind = self.kind()
        return kind if self.item is None else "list"

    def item_goes_on(self, brk: LineBreak) -> bool:
        """The next line is indented deeper than the list item this line begins or continues."""
        self.kind()
        if self.item is None:
            return False
        return indent(self._buffer.text[brk.line : brk.solid]) > self.item

    def is_bare_subtext(self, brk: LineBreak) -> bool:
        """C7: `-#` alone joins the next line."""
        line = self._buffer.line
        if not self._buffer.whole_line() or not self._buffer.text.startswith("-#", line):
            return False
        return self._buffer.text[line : brk.at].strip() == "-#"
