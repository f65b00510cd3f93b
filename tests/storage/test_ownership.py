"""Two bots on one SQLite file: the second is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from oshaberi.bot.storage import StorageError
from oshaberi.bot.storage.leases import sole_owner


def test_the_second_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'bot.db'}"
    told = pytest.raises(StorageError, match=r"another oshaberi runs on .*bot\.db; end it, or")
    with sole_owner(url, "main"):
        with told, sole_owner(url, "main"):
            pytest.fail("both are in")
        with sole_owner(url, "shards-0/1"), sole_owner(f"sqlite:///{tmp_path / 'b.db'}", "main"):
            pass
    with sole_owner(url, "main"):
        pass


def test_a_place_where_nothing_can_be_written_is_named() -> None:
    told = pytest.raises(StorageError, match=r"/proc/x/bot\.db cannot be written: .*; set data_dir")
    with told, sole_owner("sqlite:////proc/x/bot.db", "main"):
        pytest.fail("it cannot be in")


@pytest.mark.parametrize("url", ["sqlite://", "postgresql://u:p@127.0.0.1/x"])
def test_what_is_no_file_is_nobodys(url: str) -> None:
    with sole_owner(url, "main"), sole_owner(url, "main"):
        pass
