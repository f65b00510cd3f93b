"""What `make help` and `make release` rely on."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import discord_stage
from oshaberi import __version__
from tests import release
from tests.release import ReleaseError

ROOT = Path(__file__).parents[1]


def test_help_names_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [phony] = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    printed = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True
    ).stdout
    assert re.findall(r"^  make (\S+) +\S", printed, re.MULTILINE) != []
    assert set(re.findall(r"^  make (\S+) +\S", printed, re.MULTILINE)) == set(phony.split())


def test_the_changelog_has_this_version_with_a_date() -> None:
    release.check_changelog(__version__)
    release.check_changelog(discord_stage.__version__, release.STAGE)


def test_a_version_without_a_date_is_no_release() -> None:
    with pytest.raises(ReleaseError, match=r"no heading '## 99\.0\.0 - YYYY-MM-DD'"):
        release.check_changelog("99.0.0")
