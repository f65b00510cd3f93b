"""What is no program and must be installed all the same: scripts, scenes, migrations."""

from __future__ import annotations

import subprocess
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

ENTRY = "extension.js"
"""What the stage's page loads of a folder that is added to it."""
ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "oshaberi"
OURS = [p for p in PACKAGE.rglob("*") if p.is_file() and "__pycache__" not in p.parts]


def test_the_wheel_is_the_whole_folder() -> None:
    """Hatch packs all that git does not ignore, unless the settings say otherwise."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        build = tomllib.load(file)["tool"]["hatch"]["build"]
    # hatch_build.py, which does nothing unless it is asked to.
    compiling: dict[str, dict[str, str]] = {"custom": {}}
    assert build == {"targets": {"wheel": {"packages": ["src/oshaberi"], "hooks": compiling}}}


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is not a checkout")
def test_nothing_of_it_is_ignored_by_git() -> None:
    names = "\n".join(str(path.relative_to(ROOT)) for path in OURS)
    command = ["git", "check-ignore", "--no-index", "--stdin"]
    asked = subprocess.run(command, cwd=ROOT, input=names, capture_output=True, text=True)
    assert (asked.returncode, asked.stdout) == (1, "")


def test_every_script_and_style_is_used() -> None:
    """A file that nobody names is dead, or its name is misspelt."""
    shipped = {path for path in OURS if path.suffix in (".js", ".css")}
    shipped -= {path for path in shipped if path.name == ENTRY}
    told = "\n".join(p.read_text("utf-8") for p in OURS if p.suffix in (".js", ".html"))
    assert len(shipped) > 10
    assert [path.name for path in sorted(shipped) if f"/{path.name}" not in told] == []


def test_scenes_and_migrations_are_found() -> None:
    from oshaberi.bot.local_run.demo_model.written_scenes import library
    from oshaberi.bot.storage import head_revision

    assert len(library()) >= 20
    assert files("oshaberi.bot.local_run.demo_model").joinpath("talk.json").is_file()
    versions = files("oshaberi.bot.storage").joinpath("schema", "migrations", "versions")
    written = [
        path.read_text("utf-8")
        for path in map(Path, map(str, versions.iterdir()))
        if path.suffix == ".py"
    ]
    assert any(head_revision() in text for text in written)
