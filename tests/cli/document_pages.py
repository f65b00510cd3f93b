"""The documents of the project, and what tests read out of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted(DOCS.rglob("*.md")),
    ROOT / "examples" / "README.md",
]
_BLOCK = re.compile(r"^(`{3,})(\w*)\n(.*?)^\1$", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#{1,6} +(.*)$", re.MULTILINE)
_LINK = re.compile(r"""\]\(([^)\s]+)\)|\b(?:src|srcset)="([^"\s]+)""")
_INLINE_CODE = re.compile(r"`[^`\n]*`")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path) -> list[tuple[str, str]]:
    """The fenced blocks of a page: language and content."""
    return [(block[2], block[3]) for block in _BLOCK.finditer(text_of(page))]


def links(page: Path) -> list[str]:
    """Targets of links and pictures, code left out."""
    prose = _INLINE_CODE.sub("", _BLOCK.sub("", text_of(page)))
    return [link or source for link, source in _LINK.findall(prose)]


def anchors(page: Path) -> set[str]:
    """What a link can point at within a page, as GitHub makes it of the headings."""
    return set(_anchors(_BLOCK.sub("", text_of(page))))


def _anchors(prose: str) -> Iterator[str]:
    seen: dict[str, int] = {}
    for heading in _HEADING.findall(prose):
        words = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = seen[words] = seen.get(words, -1) + 1
        yield words if not count else f"{words}-{count}"


def with_table(text: str, mark: str, table: str) -> str:
    """The page's text with another table between `<!-- mark -->` and the next `<!-- end -->`."""
    before, found, rest = text.partition(f"<!-- {mark} -->\n")
    assert found, f"there is no table <!-- {mark} -->"
    _, end, after = rest.partition("<!-- end -->")
    return f"{before}{found}{table}\n{end}{after}"


def table(head: str, rows: list[str]) -> str:
    columns = head.count("|") - 1
    return "\n".join([head, "|" + "---|" * columns, *rows])
