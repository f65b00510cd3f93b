"""Every link of the documents leads somewhere, and every document can be found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.document_pages import DOCS, PAGES, ROOT, anchors, links, name_of, text_of

HERE = [target for page in PAGES for target in links(page) if "://" not in target]


def _target(page: Path, link: str) -> tuple[Path, str]:
    path, _, anchor = link.partition("#")
    return ((page.parent / path).resolve() if path else page), anchor


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    local = [link for link in links(page) if "://" not in link]
    assert [link for link in local if not _target(page, link)[0].exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_anchors_are_headings(page: Path) -> None:
    local = [link for link in links(page) if "://" not in link and "#" in link]
    wrong = []
    for link in local:
        target, anchor = _target(page, link)
        if target.suffix == ".md" and anchor not in anchors(target):
            wrong.append(link)
    assert wrong == []


def test_there_are_links_to_check() -> None:
    assert len(HERE) > 80
    assert sum("#" in link for link in HERE) >= 3


def test_every_page_stands_in_the_index() -> None:
    index = DOCS / "README.md"
    listed = {_target(index, link)[0] for link in links(index)}
    pages = {page for page in PAGES if page.is_relative_to(DOCS)} - {index}
    assert sorted(name_of(page) for page in pages - listed) == []


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    """`make docs` refuses a page that is not; it takes too long to run here."""
    navigation = text_of(ROOT / "mkdocs.yml").partition("\nnav:\n")[2]
    pages = {page.relative_to(DOCS).as_posix() for page in PAGES if page.is_relative_to(DOCS)}
    named = {"README.md", *re.findall(r"[\w/-]+\.md", navigation)}
    assert sorted(page for page in pages - named if not page.startswith("decisions/")) == []


def test_every_picture_is_shown() -> None:
    shown = {_target(page, link)[0] for page in PAGES for link in links(page)}
    pictures = [p for p in (DOCS / "pictures").iterdir() if p.suffix in (".svg", ".png", ".webp")]
    assert len(pictures) >= 5
    assert [name_of(picture) for picture in pictures if picture not in shown] == []


def test_other_sites_are_asked_over_https() -> None:
    elsewhere = [link for page in PAGES for link in links(page) if "://" in link]
    assert elsewhere
    assert [link for link in elsewhere if not link.startswith("https://")] == []


def test_the_architecture_names_every_package() -> None:
    packages = {path.parent.name for path in (ROOT / "src/oshaberi").glob("*/__init__.py")}
    page = text_of(DOCS / "architecture.md")
    assert [name for name in sorted(packages) if f"`{name}`" not in page] == []
