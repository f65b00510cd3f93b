"""`oshaberi db upgrade`: makes a database, leaves it alone the second time, fails in one line."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from oshaberi import cli
from oshaberi.storage import head_revision


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
