"""README.md tells the truth: its examples run as they are written, and its lists are complete."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import discord_stage
from discord_stage.request_schema.check import constraint_table
from discord_stage.rest import ENDPOINTS

README = Path(__file__).parents[1] / "README.md"
PAGE = Path(discord_stage.__file__).parent / "page"


@pytest.fixture(scope="module")
def text() -> str:
    return README.read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """As in an empty folder: none of our own settings of pytest."""
    quiet = ("-W", "ignore:'audioop' is deprecated")
    return subprocess.run(
        [sys.executable, *quiet, *arguments],
        cwd=folder,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_bot_and_its_tests_run_as_they_are_written(text: str, tmp_path: Path) -> None:
    bot, tests, _ = blocks(text, "python")
    (tmp_path / "bot.py").write_text(bot)
    (tmp_path / "test_bot.py").write_text(tests)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    done = python(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_bot.py")
    assert "2 passed" in done.stdout, done.stdout


def test_the_scripted_model_says_what_is_written(text: str, tmp_path: Path) -> None:
    *_, script = blocks(text, "python")
    (tmp_path / "script.py").write_text(script)
    done = python(tmp_path, "script.py")
    assert [done.stdout] == blocks(text, "text"), done.stderr


def test_the_numbers_of_routes(text: str) -> None:
    assert f"{len(ENDPOINTS)} routes of API v10" in text
    assert f"the {len(constraint_table().missing)} routes that" in text


def test_everything_that_an_extension_can_do_is_listed(text: str) -> None:
    """And nothing else."""
    source = (PAGE / "js" / "extensions.js").read_text(encoding="utf-8")
    body = source.split("class ExtensionPage {")[1]
    methods = re.findall(r"^  (?:get )?(\w+)\(.*\) \{$", body, re.MULTILINE)
    fields = re.findall(r"^    this\.(\w+) = ", body, re.MULTILINE)
    table = text[text.index("| `page` has |") : text.index("Modules may import")]
    first = [row.split("|")[1] for row in table.splitlines() if row.startswith("|")][2:]
    named = {name for cell in first for name in re.findall(r"`(\w+)[.(`]", cell)}
    assert named == {*methods, *fields} - {"constructor"}


def test_the_modules_that_extensions_may_import_are_there(text: str) -> None:
    named = re.search(r"files of the page \(`/page/js/(dom\.js)`, (.*?)\)", text)
    assert named is not None
    for name in (named[1], *re.findall(r"`([\w/.]+)`", named[2])):
        assert (PAGE / "js" / name).is_file(), name
