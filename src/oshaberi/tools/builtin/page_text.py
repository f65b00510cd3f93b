"""Extracts the readable text of an HTML page in one pass, however the page is made.

It splits a page into tags and text, as the tokenizer of the HTML standard does, and builds no
tree: parsers that build one take quadratic time on hostile pages (docs/decisions/0025). No pattern
here looks back: each is possessive, or runs to the end of the page, and then the page is over.
"""

from __future__ import annotations

import re
from html import unescape

LONGEST_TITLE = 300

_TOKEN = re.compile(
    r"""
      <!--(?:-?>|(?s:.*?)(?:--!?>|\Z))
    | <[!?][^>]*+>?
    | </[^a-zA-Z][^>]*+>?
    | <(?P<end>/?)(?P<name>[a-zA-Z][^\s/>]*+)
      (?:[^>=]++|=\s*+(?:"[^"]*+"?|'[^']*+'?)?+)*+>?
    """,
    re.VERBOSE,
)
_UNSEEN = frozenset(
    {"iframe", "noembed", "noframes", "noscript", "object", "script", "style", "svg", "template"}
)
_RAW_ENDS = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)
    for name in ("iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp")
}
"""Elements whose content is text up to their end tag, whatever it looks like."""
_BLOCK = re.compile(
    r"""address|article|aside|blockquote|body|br|d[dlt]|details|div|fig(?:caption|ure)|footer|form
    |h[1-6]|header|hr|li|main|nav|[ou]l|option|p|pre|section|summary|table|tr""",
    re.VERBOSE,
)
_CELLS = frozenset({"td", "th"})
_LONGEST_NAME = 16
_HUGE_REFERENCE = re.compile(r"&#(?:[0-9]{20,}+|[xX][0-9a-fA-F]{20,}+);?")


def page_text(html: str) -> tuple[str, str]:
    """Return an HTML page's title and its text, one block per line."""
    reader = _PageReader()
    reader.read(html)
    title = " ".join(reader.title.split())[:LONGEST_TITLE]
    lines = (" ".join(line.split()) for line in "".join(reader.seen).split("\n"))
    return title, "\n".join(line for line in lines if line)


class _PageReader:
    def __init__(self) -> None:
        self.seen: list[str] = []
        self.title = ""
        self._unseen = ""
        """The outermost element that is not shown, and how often it is open."""
        self._depth = 0

    def read(self, html: str) -> None:
        at = 0
        while (token := _TOKEN.search(html, at)) is not None:
            self._add_text(html[at : token.start()])
            at = token.end()
            name = (token["name"] or "")[:_LONGEST_NAME].lower()
            if token["end"]:
                self._end(name)
            elif name and not (name in _UNSEEN and html.endswith("/>", 0, at)):
                at = self._start(name, html, at)
        self._add_text(html[at:])

    def _start(self, name: str, html: str, at: int) -> int:
        """Note a start tag, and return where reading goes on."""
        if self._unseen:
            self._depth += name == self._unseen
            return at
        self._break(name)
        if name not in _RAW_ENDS:
            if name in _UNSEEN:
                self._unseen, self._depth = name, 1
            return at
        end = _RAW_ENDS[name].search(html, at)
        content = html[at : end.start() if end else None]
        if name == "title":
            self.title = self.title or _unescaped(content[: 2 * LONGEST_TITLE])
        elif name not in _UNSEEN:
            self._add_text(content)
        return end.start() if end else len(html)

    def _end(self, name: str) -> None:
        if self._unseen:
            self._depth -= name == self._unseen
            self._unseen = self._unseen if self._depth else ""
        else:
            self._break(name)

    def _add_text(self, text: str) -> None:
        if text and not self._unseen:
            self.seen.append(_unescaped(text))

    def _break(self, name: str) -> None:
        if _BLOCK.fullmatch(name):
            self.seen.append("\n")
        elif name in _CELLS:
            self.seen.append(" ")


def _unescaped(text: str) -> str:
    if "&" not in text:
        return text
    # `unescape` raises ValueError for a number of more than 4300 digits.
    return unescape(_HUGE_REFERENCE.sub("\ufffd", text))
