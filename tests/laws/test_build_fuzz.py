"""Two builds of the engine are compared, and a difference of one character is found."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.compiled_build import ROOT

from .build_fuzz import difference, differing

SOURCE = ROOT / "src"


def test_a_build_does_not_differ_from_itself() -> None:
    assert differing(SOURCE, SOURCE, seed=1, first=0, count=5) == []


def test_one_character_is_found(tmp_path: Path) -> None:
    other = tmp_path / "src"
    shutil.copytree(SOURCE, other, ignore=shutil.ignore_patterns("__pycache__", "stage"))
    joining = other / "oshaberi" / "text" / "messages" / "packing.py"
    written = joining.read_text(encoding="utf-8")
    assert written.count('return "\\n\\n"') == 1
    joining.write_text(written.replace('return "\\n\\n"', 'return "\\n"'), encoding="utf-8")
    found = differing(SOURCE, other, seed=1, first=0, count=40)
    assert 0 < len(found) < 40
    assert "Message(" in difference(SOURCE, other, 1, found[0])
