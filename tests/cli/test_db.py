"""`oshaberi db`: makes a database, backs it up and restores it, fails in one line."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from oshaberi import cli
from oshaberi.bot.storage import current_revision, head_revision, upgrade
from oshaberi.bot.storage.leases import sole_owner
from tests.storage.migrated_database import place_database


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


def a_fact(file: Path, text: str) -> None:
    """Past the repositories, in a file that may be in use."""
    with closing(sqlite3.connect(file)) as database:
        row = "INSERT INTO facts (server_id, text, at) VALUES (1, ?, '2026-01-01')"
        database.execute(row, [text])
        database.commit()


def facts(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as database:
        return [text for (text,) in database.execute("SELECT text FROM facts ORDER BY id")]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "data" / "oshaberi.db"
    place_database(place)
    a_fact(place, "first")
    return place


def refused(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """The one line of a command that is refused."""
    capsys.readouterr()
    assert cli.main(["db", *args]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("oshaberi: ")
    return err


def test_a_backup_of_a_running_bot_has_everything(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.db"
    with (
        sole_owner(f"sqlite:///{file}", "main"),
        closing(sqlite3.connect(file, isolation_level=None)) as bot,
    ):
        bot.execute("PRAGMA journal_mode = WAL")
        bot.execute("PRAGMA wal_autocheckpoint = 0")
        a_fact(file, "only in the wal file")
        bot.execute("BEGIN IMMEDIATE")
        bot.execute("INSERT INTO facts (server_id, text, at) VALUES (1, 'unfinished', '2026')")
        assert cli.main(["db", "backup", str(copy)]) == 0
        bot.execute("COMMIT")
    out = capsys.readouterr().out
    assert out.startswith(f"backed up {file} to {copy} (schema {head_revision()}, ")
    assert facts(copy) == ["first", "only in the wal file"]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.glob("copy.db*")) == ["copy.db"]


def test_a_backup_overwrites_nothing(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = tmp_path / "taken.db"
    taken.write_text("mine")
    assert "exists already" in refused(capsys, "backup", str(taken))
    assert taken.read_text() == "mine"
    assert "cannot be written" in refused(capsys, "backup", str(tmp_path / "no" / "folder.db"))
    file.unlink()
    assert "there is no database" in refused(capsys, "backup", str(tmp_path / "new.db"))
    file.write_bytes(b"no database at all" * 100)
    assert "not a database of Oshaberi" in refused(capsys, "backup", str(tmp_path / "new.db"))
    assert not (tmp_path / "new.db").exists()


def test_a_backup_is_restored_and_the_old_database_is_kept(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.db"
    assert cli.main(["db", "backup", str(copy)]) == 0
    before = copy.read_bytes()
    a_fact(file, "later")
    capsys.readouterr()
    assert cli.main(["db", "restore", str(copy)]) == 0
    kept, restored = capsys.readouterr().out.splitlines()
    assert restored == f"restored {file} from {copy} (schema {head_revision()})"
    assert facts(file) == ["first"]
    assert facts(Path(kept.removeprefix("the old database is kept as "))) == ["first", "later"]
    assert copy.read_bytes() == before
    assert cli.main(["db", "upgrade"]) == 0
    assert facts(file) == ["first"]
    # Where nothing is, it is simply put there.
    for path in file.parent.glob("oshaberi.db*"):
        path.unlink()
    assert cli.main(["db", "restore", str(copy)]) == 0
    assert facts(file) == ["first"]


def test_a_damaged_database_is_replaced_and_kept(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.db"
    assert cli.main(["db", "backup", str(copy)]) == 0
    file.write_bytes(b"what is left of it" * 500)
    capsys.readouterr()
    assert cli.main(["db", "restore", str(copy)]) == 0
    kept = capsys.readouterr().out.splitlines()[0].removeprefix("the old database is kept as ")
    assert Path(kept).read_bytes().startswith(b"what is left")
    assert facts(file) == ["first"]


def test_nothing_is_restored_under_a_running_bot(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.db"
    assert cli.main(["db", "backup", str(copy)]) == 0
    a_fact(file, "later")
    with sole_owner(f"sqlite:///{file}", "shards-0-1"):
        assert "another oshaberi runs on" in refused(capsys, "restore", str(copy))
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        assert other.execute("SELECT count(*) FROM facts").fetchone() == (2,)
        assert "another program has" in refused(capsys, "restore", str(copy))
        other.execute("INSERT INTO facts (server_id, text, at) VALUES (1, 'still', '2026')")
    assert facts(file) == ["first", "later", "still"]
    assert list(file.parent.glob("*.restoring*")) == []


def test_what_is_no_backup_is_refused(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = file.read_bytes()
    source = tmp_path / "source.db"
    assert "there is no backup" in refused(capsys, "restore", str(source))
    source.write_bytes(b"plain text")
    assert "not a database of Oshaberi" in refused(capsys, "restore", str(source))
    source.unlink()
    with closing(sqlite3.connect(source)) as database:
        database.execute("CREATE TABLE tea (kind)")
    assert "not a database of Oshaberi" in refused(capsys, "restore", str(source))
    source.write_bytes(before)
    with closing(sqlite3.connect(source)) as database:
        database.execute("UPDATE oshaberi_schema SET version_num = '9999'")
        database.commit()
    assert "newer than this program" in refused(capsys, "restore", str(source))
    source.write_bytes(before[: len(before) // 2])
    assert "source.db" in refused(capsys, "restore", str(source))
    assert "is the database itself" in refused(capsys, "restore", str(file))
    assert file.read_bytes() == before
    assert sorted(path.name for path in file.parent.iterdir()) == ["oshaberi.db"]


def test_the_backup_of_a_migration_is_restored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "data" / "oshaberi.db"
    url = f"sqlite:///{file}"
    asyncio.run(upgrade(url, to="0003"))
    a_fact(file, "of the old schema")
    assert cli.main(["db", "upgrade"]) == 0
    backup = Path(capsys.readouterr().out.splitlines()[0].removeprefix("backed up to "))
    a_fact(file, "of the new schema")
    assert cli.main(["db", "restore", str(backup)]) == 0
    assert "(schema 0003)" in capsys.readouterr().out
    assert asyncio.run(current_revision(url)) == "0003"
    assert facts(file) == ["of the old schema"]
    assert cli.main(["db", "upgrade"]) == 0, "forward again"
    assert facts(file) == ["of the old schema"]


def test_postgresql_has_its_own_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OSHABERI_DATABASE_URL", "postgresql://bot:pass-word@db:5433/tea")
    assert refused(capsys, "backup", "x.dump").endswith(
        "pg_dump --format=custom --file=x.dump --dbname=postgresql://bot@db:5433/tea\n"
    )
    assert refused(capsys, "restore", "x.dump").endswith(
        "pg_restore --clean --if-exists --dbname=postgresql://bot@db:5433/tea x.dump\n"
    )
    assert list(tmp_path.glob("x.dump")) == []
