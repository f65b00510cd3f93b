"""docs/glossary.md: each term once, and what it names exists."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "glossary.md"
ROW = re.compile(r"^\| ([^|]+) \| [^|]+ \| `((?:oshaberi|discord_stage)[\w.]*)` \|$", re.MULTILINE)
ROWS: list[tuple[str, str]] = ROW.findall(PAGE.read_text(encoding="utf-8"))


def test_every_row_is_read() -> None:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:2] == "| "]
    headings = [line for line in lines if line.startswith("| term |")]
    assert len(ROWS) == len(lines) - len(headings) > 60


def test_no_term_stands_twice() -> None:
    terms = [term for term, _ in ROWS]
    assert sorted(set(terms)) == sorted(terms)


@pytest.mark.parametrize("name", sorted({name for _, name in ROWS}))
def test_what_it_names_exists(name: str) -> None:
    package, _, last = name.rpartition(".")
    if last[:1].isupper():
        assert hasattr(import_module(package), last)
    else:
        import_module(name)
