"""The control token of a data folder outlives the process, and nobody else reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from oshaberi.bot.local_run.page_opening import TOKEN_FILE, kept_token
from oshaberi.errors import ConfigError


def test_it_is_made_once_and_kept(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    token = kept_token(folder)
    assert len(token) >= 32
    assert kept_token(folder) == token
    assert (folder / TOKEN_FILE).stat().st_mode & 0o777 == 0o600
    assert kept_token(tmp_path / "other") != token


@pytest.mark.parametrize("text", ["", "short", "x" * 500, "with spaces " * 4, "ü" * 40])
def test_what_is_no_token_is_replaced(tmp_path: Path, text: str) -> None:
    path = tmp_path / TOKEN_FILE
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    token = kept_token(tmp_path)
    assert token != text
    assert kept_token(tmp_path) == token


def test_what_others_could_read_is_replaced(tmp_path: Path) -> None:
    token = kept_token(tmp_path)
    (tmp_path / TOKEN_FILE).chmod(0o644)
    assert kept_token(tmp_path) != token
    assert (tmp_path / TOKEN_FILE).stat().st_mode & 0o777 == 0o600


def test_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / TOKEN_FILE).mkdir()
    with pytest.raises(ConfigError, match=f"data_dir: .*{TOKEN_FILE} cannot be used"):
        kept_token(tmp_path)
