"""A terminal as the place where messages go: names, bubbles, a typing line, colours if it can.

In a pipe the same lines come without colours and without the typing line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import TextIO

from oshaberi.delivery.sink import Embed, Face, File, Post, Sent, Wire

BULLET = "●"
_CUSTOM_EMOJI = re.compile(r"<a?(:\w+:)\d+>")
_CODES = {"dim": "2", "bold": "1", "name": "1;35", "code": "36", "emoji": "33", "warn": "33"}
_ERASE_LINE = "\r\x1b[K"
_CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"}
_CONTROLS |= {0x7F: 0x2421, **dict.fromkeys(range(0x80, 0xA0), 0xFFFD)}


def harmless(text: str) -> str:
    """A model's words must not steer the terminal: control characters become visible."""
    return text.translate(_CONTROLS)


class Palette:
    """Paints text where colours are wanted, and leaves it alone elsewhere."""

    def __init__(self, colours: bool) -> None:
        self._colours = colours

    @classmethod
    def of(cls, stream: TextIO) -> Palette:
        return cls(stream.isatty() and "NO_COLOR" not in os.environ)

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


class TerminalSink:
    """One channel, on a screen. It cannot fail the ways Discord can."""

    def __init__(self, stream: TextIO, name: str) -> None:
        self._stream = stream
        self._name = name
        self._palette = Palette.of(stream)
        self._live = stream.isatty()
        self._speaker: tuple[str, str] | None = None
        self._typing = False
        self._count = 0

    @property
    def display_name(self) -> str | None:
        return self._name

    async def send(self, post: Post, _wire: Wire) -> Sent:
        self._introduce(post.face)
        self._count += 1
        if post.content:
            self._bubble(post.content)
        for file in post.files:
            self._show_file(file)
        if post.embed is not None:
            self._show_embed(post.embed)
        return Sent(self._count, via=post.via)

    async def edit(self, _sent: Sent, post: Post) -> None:
        self._write(self._palette.paint("  (edited)", "dim"))
        self._bubble(post.content)

    async def typing(self, _ms: int | None) -> None:
        if self._live and not self._typing:
            self._stream.write(self._palette.paint(f"  {self._name} is typing…", "dim"))
            self._stream.flush()
            self._typing = True

    async def reply_notice(self, face: Face) -> None:
        self._write(self._palette.paint(f"  ↪ {face.username} answers you", "dim"))

    async def open_webhook(self) -> None:
        """Every name can be shown here."""

    async def forget_webhook(self) -> None:
        """There is none to forget."""

    async def witnesses(self, _post: Post, _since: float) -> Sequence[Sent]:
        return ()

    def clear(self) -> None:
        """Take the typing line away."""
        if self._typing:
            self._stream.write(_ERASE_LINE)
            self._stream.flush()
            self._typing = False

    def _introduce(self, face: Face | None) -> None:
        """Who speaks now, if it is not who spoke before; a face by the name of its picture."""
        name = face.username if face else self._name
        picture = face.avatar_url.rsplit("/", 1)[-1] if face and face.avatar_url else ""
        if (name, picture) != self._speaker:
            as_seen = "  " + self._palette.paint(picture, "dim")
            self._write(self._palette.paint(name, "name") + as_seen)
            self._speaker = (name, picture)

    def _bubble(self, content: str) -> None:
        first, *others = self._palette.lines_of(content)
        self._write(f"  {self._palette.paint(BULLET, 'dim')} {first}")
        for line in others:
            self._write(f"    {line}")

    def _show_file(self, file: File) -> None:
        size = f", {file.width} × {file.height}" if file.width else ""
        self._bubble(f"[{file.name}{size}]\n{file.source}".rstrip())

    def _show_embed(self, embed: Embed) -> None:
        self._bubble(f"{self._palette.paint(embed.title, 'warn')}\n{embed.description}".rstrip())

    def _write(self, line: str) -> None:
        self.clear()
        self._stream.write(line.rstrip() + "\n")
        self._stream.flush()
