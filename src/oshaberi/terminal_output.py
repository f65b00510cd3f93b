"""What a terminal may show: colours where they are wanted, and no text that steers it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TextIO

_CUSTOM_EMOJI = re.compile(r"<a?(:\w+:)\d+>")
_CODES = {"dim": "2", "bold": "1", "name": "1;35", "code": "36", "emoji": "33", "warn": "33"}
_CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"}
_CONTROLS |= {0x7F: 0x2421, **dict.fromkeys(range(0x80, 0xA0), 0xFFFD)}


def harmless(text: str) -> str:
    """A model's words must not steer the terminal: control characters become visible."""
    return text.translate(_CONTROLS)


def can_move(stream: TextIO) -> bool:
    """Whether it is a terminal that understands more than text."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class TerminalPalette:
    """Paints text where colours are wanted, and leaves it alone elsewhere."""

    def __init__(self, colours: bool) -> None:
        self._colours = colours

    @classmethod
    def of(cls, stream: TextIO) -> TerminalPalette:
        return cls(can_move(stream) and not os.environ.get("NO_COLOR"))

    def paint(self, text: str, style: str) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self._colours and text else text

    def lines_of(self, content: str) -> Iterator[str]:
        """A message line by line; code and custom emoji stand out."""
        in_code = False
        for line in harmless(content).split("\n"):
            fence = line.count("```") % 2 == 1
            if in_code or "```" in line:
                yield self.paint(line, "code")
            else:
                yield _CUSTOM_EMOJI.sub(lambda found: self.paint(found[1], "emoji"), line)
            in_code ^= fence
