"""Extracts the readable text of an HTML page, with the standard library alone."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_UNSEEN = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object"})
_BLOCK = re.compile(
    r"""address|article|aside|blockquote|body|br|d[dlt]|details|div|fig(?:caption|ure)|footer|form
    |h[1-6]|header|hr|li|main|nav|[ou]l|option|p|pre|section|summary|table|tr""",
    re.VERBOSE,
)
_CELLS = frozenset({"td", "th"})
_SPACES = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*")


def page_text(html: str) -> tuple[str, str]:
    """Return an HTML page's title and its text, one block per line."""
    reader = _PageTextParser()
    reader.feed(html)
    reader.close()
    text = _SPACES.sub(" ", "".join(reader.seen))
    return " ".join("".join(reader.title).split()), _LINES.sub("\n", text).strip()


class _PageTextParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.seen: list[str] = []
        self.title: list[str] = []
        self._inside: list[str] = []
        self._in_title = False

    def handle_starttag(self, tag: str, _attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = not self.title
        elif tag in _UNSEEN:
            self._inside.append(tag)
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in self._inside:
            while self._inside.pop() != tag:
                pass
        self._break(tag)

    def handle_startendtag(self, tag: str, _attrs: list[tuple[str, str | None]]) -> None:
        self._break(tag)

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._inside:
            self.seen.append(data)

    def _break(self, tag: str) -> None:
        if _BLOCK.fullmatch(tag):
            self.seen.append("\n")
        elif tag in _CELLS:
            self.seen.append(" ")
