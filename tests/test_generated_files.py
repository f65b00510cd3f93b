"""`make generate` writes every generated file, and a second time it has nothing to write."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.document_pages import text_of
from tests.generated_files import ROOT, generated, write_all


def test_nothing_is_left_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the repository as it is; so it is the same every time, too."""
    monkeypatch.setattr(Path, "write_text", _refuse)
    assert write_all() == [], "run: make generate"


def _refuse(path: Path, *_: object, **__: object) -> None:
    raise AssertionError(f"{path.relative_to(ROOT)} is out of date; run: make generate")


def test_what_is_out_of_date_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("old", encoding="utf-8")
    monkeypatch.setattr("tests.generated_files.generated", lambda: iter([(page, "new")]))
    assert write_all() == [page]
    assert text_of(page) == "new"
    assert write_all() == []


def test_the_list_for_contributors_is_complete() -> None:
    """Each generated file is in the table of CONTRIBUTING.md, and no other."""
    page = text_of(ROOT / "CONTRIBUTING.md")
    [rows] = re.findall(r"^\| file \| made from \|\n.*?\n\n", page, re.MULTILINE | re.DOTALL)
    named = {path for one in re.findall(r"`([\w/.*-]+/[\w.*-]+)`", rows) for path in ROOT.glob(one)}
    assert named == {path for path, _ in generated()}


def test_the_files_named_by_the_page_about_changes_exist() -> None:
    page = text_of(ROOT / "docs" / "changing.md")
    named = set(re.findall(r"`((?:src|tests|docs|examples)/[\w/.-]+|[\w-]+\.(?:md|toml))`", page))
    assert len(named) > 30
    assert [one for one in sorted(named) if not (ROOT / one).exists()] == []
