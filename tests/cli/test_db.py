"""`oshaberi db upgrade`: makes a database, leaves it alone the second time, fails in one line."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from oshaberi import cli
from oshaberi.storage import current_revision, head_revision, upgrade


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OSHABERI_DATA_DIR", str(tmp_path / "data"))


def test_made_and_then_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["db", "upgrade"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("applied 0001")
    assert out.endswith(f"oshaberi.db has schema {head_revision()}\n")
    with closing(sqlite3.connect(tmp_path / "data" / "oshaberi.db")) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    assert "oshaberi_schema" in tables
    assert cli.main(["db", "upgrade"]) == 0
    assert capsys.readouterr().out.endswith(f"has schema {head_revision()}; nothing to do\n")


@pytest.mark.parametrize(
    "url", ["mysql://me:pass-word@db/x", "postgresql://me:pass-word@127.0.0.1:1/x"]
)
def test_what_cannot_be_used_is_one_line_without_the_password(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OSHABERI_DATABASE_URL", url)
    assert cli.main(["db", "upgrade"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("oshaberi: ")
    assert "pass-word" not in err


def test_a_dry_run_says_what_would_be_done_and_does_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "data" / "oshaberi.db"
    assert cli.main(["db", "upgrade", "--dry-run"]) == 0
    first, *steps, last = capsys.readouterr().out.splitlines()
    assert first.endswith("oshaberi.db has no schema yet")
    assert steps[0].startswith("would apply 0001: Settings, personas")
    assert last == "nothing was changed"
    assert not file.parent.exists()
    asyncio.run(upgrade(f"sqlite:///{file}", to="0003"))
    before = file.read_bytes()
    assert cli.main(["db", "upgrade", "--dry-run"]) == 0
    first, backup, *steps, last = capsys.readouterr().out.splitlines()
    assert first.endswith("has schema 0003")
    assert backup == f"would back up {file}"
    assert steps[0].startswith("would apply 0004: Whom models and keys serve")
    assert asyncio.run(current_revision(f"sqlite:///{file}")) == "0003"
    assert file.read_bytes() == before


def test_the_backup_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "data" / "oshaberi.db"
    asyncio.run(upgrade(f"sqlite:///{file}", to="0003"))
    assert cli.main(["db", "upgrade"]) == 0
    first, second, *_rest = capsys.readouterr().out.splitlines()
    assert Path(first.removeprefix("backed up to ")).exists()
    assert second == "applied 0004"
    assert cli.main(["db", "upgrade", "--dry-run"]) == 0
    assert capsys.readouterr().out.endswith("; nothing to do\n")


def test_without_a_backup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(upgrade(f"sqlite:///{tmp_path / 'data' / 'oshaberi.db'}", to="0003"))
    assert cli.main(["db", "upgrade", "--dry-run", "--no-backup"]) == 0
    assert "back up" not in capsys.readouterr().out
    assert cli.main(["db", "upgrade", "--no-backup"]) == 0
    assert capsys.readouterr().out.startswith("applied 0004")
    assert list((tmp_path / "data").glob("*.backup")) == []
