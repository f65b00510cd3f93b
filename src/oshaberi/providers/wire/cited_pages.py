"""The pages that an answer cites, as one line of links after its text."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from oshaberi.providers.wire.wire_event_steps import CitedPage

LONGEST_TITLE = 80
_SAFE = ":/?#[]@!$&'*+,;=%~-._"
_IN_A_LINK = str.maketrans(dict.fromkeys("[]<>\r\n", " "))


def links(pages: Iterable[CitedPage]) -> str:
    """Return small text with a link per page, without previews; empty if there are no pages."""
    made = [_link(page) for page in pages if page.url.startswith(("https://", "http://"))]
    return f"\n\n-# {' · '.join(made)}" if made else ""


def _link(page: CitedPage) -> str:
    title = " ".join(page.title.translate(_IN_A_LINK).split())[:LONGEST_TITLE].rstrip()
    host = page.url.partition("://")[2].partition("/")[0]
    return f"[{title or host}](<{quote(page.url, _SAFE)}>)"
