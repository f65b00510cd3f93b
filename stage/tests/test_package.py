"""What is no program and must be installed all the same: the page and the constraints."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import discord_stage

PACKAGE = Path(discord_stage.__file__).parent
PAGE = PACKAGE / "page"
IMPORT = re.compile(r'^import .* from "(\.[^"]+)";', re.MULTILINE)


def test_the_page_finds_all_its_files() -> None:
    index = (PAGE / "index.html").read_text(encoding="utf-8")
    named = set(re.findall(r'(?:href|src)="/page/([^"]+)"', index))
    assert len(named) > 10
    for script in PAGE.rglob("*.js"):
        for other in IMPORT.findall(script.read_text("utf-8")):
            named.add(str((script.parent / other).resolve().relative_to(PAGE)))
    assert "js/view/message.js" in named
    assert [name for name in sorted(named) if not (PAGE / name).is_file()] == []


def test_every_script_and_style_is_used() -> None:
    """A file that nobody names is dead, or its name is misspelt."""
    shipped = [path for path in PAGE.rglob("*") if path.suffix in (".js", ".css")]
    told = "\n".join(p.read_text("utf-8") for p in PAGE.rglob("*") if p.suffix in (".js", ".html"))
    assert [path.name for path in sorted(shipped) if f"/{path.name}" not in told] == []


def test_the_constraints_are_found() -> None:
    assert files("discord_stage.request_schema").joinpath("constraints.json").is_file()
