"""What cannot be opened says so in one line; what can is private, and light until it is used."""

from __future__ import annotations

import asyncio
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from oshaberi.bot import storage
from oshaberi.bot.storage import Database, StorageError, current_revision
from oshaberi.bot.storage.database_urls import address_of

from .database_servers import postgres_url
from .scenario_database import ask, with_database


def refusal(url: str) -> str:
    with pytest.raises(StorageError) as caught:
        with_database(url, lambda db: db.servers.config(1))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_an_unreachable_server_is_named_without_its_password() -> None:
    told = refusal("postgresql://user:hunter2@127.0.0.1:1/oshaberi")
    assert "127.0.0.1:1/oshaberi cannot be reached" in told
    assert "hunter2" not in told


def test_a_database_that_is_not_there() -> None:
    missing = make_url(postgres_url()).set(database="nothing")
    told = refusal(missing.render_as_string(hide_password=False))
    assert 'database "nothing" does not exist' in told


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://localhost/x", "'mysql' is not supported; allowed is sqlite"),
        ("just words", "database_url is not a URL; allowed is sqlite"),
        ("postgresql://u:hunter2@h/x?sslmode=require&channel_binding=x", "(channel_binding)"),
    ],
)
def test_a_url_that_means_nothing(url: str, said: str) -> None:
    told = refusal(url)
    assert said in told
    assert "hunter2" not in told


def test_urls_that_mean_the_same() -> None:
    for scheme in ("postgres", "postgresql", "postgresql+asyncpg"):
        address = address_of(f"{scheme}://u:p@h:5/x?sslmode=require")
        assert address.url.drivername == "postgresql+asyncpg"
        assert address.url.query == {"ssl": "require"}
    assert address_of("sqlite:////data/x.db").file == Path("/data/x.db")
    assert address_of("sqlite:///:memory:").in_memory
    assert address_of("sqlite:///~/x.db").file == Path.home() / "x.db"


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    told = refusal(f"sqlite:///{tmp_path}/file/x.sqlite3")
    assert f"{tmp_path}/file/x.sqlite3 cannot be written" in told
    assert "set data_dir or database_url" in told
    assert "cannot be written" in refusal("sqlite:////proc/oshaberi/x.sqlite3")


def test_a_file_that_is_something_else(tmp_path: Path) -> None:
    (tmp_path / "x.sqlite3").write_text("this is a letter to my aunt " * 100)
    assert "file is not a database" in refusal(f"sqlite:///{tmp_path}/x.sqlite3")
    assert (tmp_path / "x.sqlite3").read_text().startswith("this is a letter")


def test_the_files_are_for_their_owner(tmp_path: Path) -> None:
    loose = tmp_path / "a" / "x.sqlite3"
    loose.parent.mkdir()
    loose.touch(0o644)
    loose.chmod(0o644)

    async def scenario(db: Database) -> None:
        await db.servers.set_config(1, "a", 1)
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in loose.parent.iterdir()}
        assert modes == {"x.sqlite3": 0o600, "x.sqlite3-wal": 0o600, "x.sqlite3-shm": 0o600}

    with_database(f"sqlite:///{loose}", scenario)
    assert ask(f"sqlite:///{loose}", "PRAGMA journal_mode") == [("wal",)]


def test_looking_makes_no_file(tmp_path: Path) -> None:
    assert asyncio.run(current_revision(f"sqlite:///{tmp_path}/x.sqlite3")) is None
    assert not list(tmp_path.iterdir())


def test_in_memory() -> None:
    async def scenario(db: Database) -> None:
        await asyncio.gather(*(db.usage.add(1, "p", "m", 1, 1) for _ in range(20)))
        (used,), config = await asyncio.gather(db.usage.of(1), db.servers.config(1))
        assert (used.requests, config) == (20, {})

    with_database("sqlite://", scenario)


def test_importing_it_is_light() -> None:
    code = "import sys, oshaberi.bot.storage, oshaberi.bot.storage.records; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "oshaberi.bot.storage" in loaded
    assert not {"sqlalchemy", "alembic", "cryptography", "asyncpg"} & set(loaded)


def test_there_is_no_other_name() -> None:
    assert storage.Database is Database
    with pytest.raises(AttributeError, match="no attribute 'databank'"):
        getattr(storage, "data" + "bank")
