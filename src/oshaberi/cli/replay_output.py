"""What `replay` and `explain` print for people: progress, and records as a transcript."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TextIO, TypeVar

from oshaberi.terminal_output import TerminalPalette, can_move, counted

# Progress: one changing line on a terminal, a line now and then in a pipe.


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
        last_s = self._now()
        for number, item in enumerate(items):
            if self._live:
                self._out.write(f"{_ERASE_LINE}{number + 1} of {len(items)} {noun}")
                self._out.flush()
            elif self._now() - last_s >= EVERY_S:
                self._out.write(f"{number} of {len(items)} {noun}\n")
                last_s = self._now()
            yield item
        self.clear()

    def clear(self) -> None:
        """Erase the line. Call it before anything else is written to the same terminal."""
        if self._live:
            self._out.write(_ERASE_LINE)
            self._out.flush()


# The records of a replay: when, who, what.


Record = Mapping[str, Any]
_INDENT = " " * 12


class Transcript:
    """Turns each record into lines."""

    def __init__(self, palette: TerminalPalette) -> None:
        self._paint = palette.paint
        self._palette = palette

    def title(self, name: str) -> str:
        return self._paint(name, "bold")

    def lines(self, record: Record) -> list[str]:
        first, *others = self._result_lines(record)
        clock = f"{record['at_ms'] / 1000:8.2f} s  " if "at_ms" in record else _INDENT
        return [self._paint(clock, "dim") + first, *(_INDENT + line for line in others)]

    def _result_lines(self, record: Record) -> list[str]:
        match record["kind"]:
            case "message":
                return self._message(record)
            case "typing":
                return [self._paint(f"typing, {record['ms'] / 1000:.2f} s …", "dim")]
            case "file":
                return self._file(record)
            case "embed":
                return [self._paint(f"[{record['title']}]", "warn"), record["description"]]
            case "reply_notice":
                return [self._paint(f"↪ {record['username']} replies", "dim")]
            case "edit":
                return self._identity_lines(f"#{record['id']} now", record["content"])
            case "delete":
                return [self._paint(f"#{record['id']} is deleted", "dim")]
            case _:
                return self._result(record)

    def _message(self, record: Record) -> list[str]:
        name = record["username"] or "bot"
        return self._identity_lines(f"↪ {name}" if record["reply"] else name, record["content"])

    def _identity_lines(self, name: str, content: str) -> list[str]:
        first, *others = self._palette.lines_of(content)
        margin = " " * (len(name) + 2)
        return [f"{self._paint(name, 'name')}: {first}", *(margin + line for line in others)]

    def _file(self, record: Record) -> list[str]:
        size = f"{record['width']} × {record['height']}, " if record["width"] else ""
        head = f"[{record['name']}, {size}{record['bytes']} bytes]"
        return [head, *(self._paint(line, "code") for line in record["source"].splitlines())]

    def _result(self, record: Record) -> list[str]:
        because = f" ({record['stop_reason']})" if record["stop_reason"] else ""
        count = record["messages_sent"]
        messages = counted(count, "message")
        lines = [self._paint(f"{record['status']}{because}, {messages}", "bold")]
        for label, texts in (
            ("thought", record["thoughts"]),
            ("details", record["details"]),
            ("undelivered", [record["undelivered"]] if record["undelivered"] else []),
        ):
            lines += [f"{label}: {_one_line(text)}" for text in texts]
        if record["data"]:
            lines.append("data: " + ", ".join(f"{k} {v}" for k, v in record["data"].items()))
        return lines


def _one_line(text: str) -> str:
    return " ⏎ ".join(text.split("\n"))
