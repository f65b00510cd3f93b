"""Shows progress: one changing line on a terminal, a line now and then in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO, TypeVar

from oshaberi.terminal_output import can_move

T = TypeVar("T")
EVERY_S = 5.0
_ERASE_LINE = "\r\x1b[K"


class Progress:
    """Shows progress on stderr, apart from the command's output."""

    def __init__(
        self, stream: TextIO | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._out = stream or sys.stderr
        self._live = can_move(self._out)
        self._now = now

    def over(self, items: Sequence[T], noun: str) -> Iterator[T]:
        """Yield the items one after another, and show how many are done."""
        told = self._now()
        for number, item in enumerate(items):
            if self._live:
                self._out.write(f"{_ERASE_LINE}{number + 1} of {len(items)} {noun}")
                self._out.flush()
            elif self._now() - told >= EVERY_S:
                self._out.write(f"{number} of {len(items)} {noun}\n")
                told = self._now()
            yield item
        self.clear()

    def clear(self) -> None:
        """Erase the line. Call it before anything else is written to the same terminal."""
        if self._live:
            self._out.write(_ERASE_LINE)
            self._out.flush()
