"""Spec 05 B1, B7: prose gives way to a code block or a table.

The text before it leaves, and what was open is literal, since no pair spans a block (H2).
"""

from __future__ import annotations

import re
from typing import Final

from oshaberi.events import Boundary
from oshaberi.text.code_block_splitting import CodeBlock
from oshaberi.text.copied_state import CopiedState
from oshaberi.text.markers.open_markers import HeldBoundary, OpenMarkers
from oshaberi.text.segments.code_reader import CodeReader
from oshaberi.text.segments.reader_protocol import BlockSuccessor
from oshaberi.text.segments.segment_release import SegmentRelease
from oshaberi.text.segments.table_reader import TableReader
from oshaberi.text.segments.visible_buffer import NEVER, VisibleBuffer
from oshaberi.text.text_config import TextConfig

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
