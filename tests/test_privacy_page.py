"""docs/privacy.md: every table, period and test that it names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from oshaberi.bot.config import DECLARED
from oshaberi.bot.storage.schema.table_rows import Base

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
TESTS = ROOT / "tests"


@pytest.mark.parametrize("table", sorted(Base.metadata.tables))
def test_every_table_is_on_the_page(table: str) -> None:
    assert f"`{table}`" in PAGE


@pytest.mark.parametrize("key", sorted(key for key in DECLARED if key.startswith("retention_")))
def test_every_period_is_on_the_page_with_its_default(key: str) -> None:
    assert f"| `{key}` |" in PAGE
    default = DECLARED[key].default
    assert default == 0 or f"`{key}` ({default})" in PAGE


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(test_\w+)`", PAGE))))
def test_what_proves_it_exists(name: str) -> None:
    files = [path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")]
    assert any(f"def {name}(" in text for text in files)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`(tests/[\w/]+\.py)`", PAGE))))
def test_the_files_it_names_exist(path: str) -> None:
    assert (ROOT / path).is_file()
