"""Output for a terminal: colours if they are wanted, and texts without control characters.

Numbers with their nouns, for what is not translated.
"""

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
    """Make control characters visible, so that a model's text cannot control the terminal."""
    return text.translate(_CONTROLS)


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: `1 message`, `2 messages`, `2 entries`."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun[:-1]}ies" if noun.endswith("y") else f"{count} {noun}s"


def can_move(stream: TextIO) -> bool:
    """Return whether the stream is a terminal that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class TerminalPalette:
    """Colours text if colours are wanted."""

    def __init__(self, colours: bool) -> None:
        self._colours = colours

    @classmethod
    def of(cls, stream: TextIO) -> TerminalPalette:
        return cls(can_move(stream) and not os.environ.get("NO_COLOR"))

    def paint(self, text: str, style: str) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self._colours and text else text

    def lines_of(self, content: str) -> Iterator[str]:
        """Yield a message line by line, with code and custom emoji highlighted."""
        in_code = False
        for line in harmless(content).split("\n"):
            fence = line.count("```") % 2 == 1
            if in_code or "```" in line:
                yield self.paint(line, "code")
            else:
                yield _CUSTOM_EMOJI.sub(lambda found: self.paint(found[1], "emoji"), line)
            in_code ^= fence
