"""From the database of each release to the present schema: nothing is lost."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from oshaberi.bot.storage import (
    Database,
    StorageError,
    current_revision,
    head_revision,
    sqlite_backups,
    upgrade,
)
from oshaberi.bot.storage.records import KeyRecord, SpriteRecord
from oshaberi.bot.storage.schema.migration import VERSION_TABLE, plan_upgrade
from oshaberi.bot.storage.sqlite_backups import backups_of

from .scenario_database import with_database

RELEASES = sorted((Path(__file__).parent / "releases").glob("*.sql"))
OWN = {VERSION_TABLE, "sqlite_sequence"}
Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(params=RELEASES, ids=lambda path: path.stem)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file as that release left it."""
    file = tmp_path / "data" / "oshaberi.db"
    file.parent.mkdir()
    with closing(sqlite3.connect(file)) as database:
        database.executescript(request.param.read_text(encoding="utf-8"))
    return file


def rows_of(file: Path) -> Rows:
    with closing(sqlite3.connect(file)) as database:
        database.row_factory = sqlite3.Row
        names = [
            name
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        return {
            name: [dict(row) for row in database.execute(f"SELECT * FROM {name}")]
            for name in names
            if name not in OWN
        }


def test_every_release_has_rows_in_every_table(old: Path) -> None:
    assert [name for name, rows in rows_of(old).items() if not rows] == []


def test_every_value_is_still_there(old: Path) -> None:
    before = rows_of(old)
    asyncio.run(upgrade(f"sqlite:///{old}"))
    after = rows_of(old)
    for table, rows in before.items():
        kept = [{key: row.get(key) for key in rows[0]} for row in after[table]]
        assert kept == rows, table


def test_the_repositories_read_it(old: Path) -> None:
    async def scenario(db: Database) -> None:
        assert await db.servers.config(1) == {"humanizer_degree": 3, "llm_stop_strings": ["User:"]}
        (ren,) = await db.personas.of(1)
        assert (ren.name, ren.triggers, ren.samples) == ("Ren", ("狐",), (("hi", "yip"),))
        assert ren.sprites == (SpriteRecord("happy", "https://x.test/happy.png"),)
        assert [one.model for one in await db.models.chain(1)] == ["big", "small"]
        assert await db.keys.of(0, "openai", 3) == (
            KeyRecord(0, "openai", "sk-of-a-person", "mine", id=2, user_id=3),
        )
        assert [one.asked for one in await db.memory.recent(2, 9)] == ["What is tea?"]
        assert [fact.text for fact in await db.facts.of(1, 3)] == ["likes tea"]
        (stream,) = await db.journal.unfinished("main")
        assert [post.body for post in stream.posts] == [{"content": "A drink."}]
        turn = await db.turns.of_message(14)
        assert turn is not None
        assert (turn.asked_id, turn.message_ids) == (12, (13, 14))

    with_database(f"sqlite:///{old}", scenario)


def is_behind(file: Path) -> bool:
    return asyncio.run(current_revision(f"sqlite:///{file}")) != head_revision()


def test_the_backup_is_the_database_as_it_was(old: Path) -> None:
    if not is_behind(old):
        pytest.skip("the newest release has the newest schema")
    before, revision = rows_of(old), asyncio.run(current_revision(f"sqlite:///{old}"))
    told: list[Path] = []
    asyncio.run(upgrade(f"sqlite:///{old}", on_backup=told.append))
    (backup,) = told
    assert backups_of(old) == (backup,)
    assert rows_of(backup) == before
    assert asyncio.run(current_revision(f"sqlite:///{backup}")) == revision
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert f".{revision}-" in backup.name
    assert sorted(one.suffix for one in old.parent.glob("*backup*")) == [".backup"]


def test_the_bots_start_makes_one_too_and_the_log_says_where(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = first_schema(tmp_path)
    with caplog.at_level(logging.INFO):
        with_database(url, lambda db: db.servers.config(1))
    (backup,) = backups_of(tmp_path / "one.db")
    assert str(backup) in caplog.text


def first_schema(folder: Path) -> str:
    url = f"sqlite:///{folder / 'one.db'}"
    asyncio.run(upgrade(url, to="0001"))
    assert backups_of(folder / "one.db") == ()  # there was nothing to lose
    return url


def test_nothing_to_do_makes_no_backup(tmp_path: Path) -> None:
    url = first_schema(tmp_path)
    for _ in range(2):
        asyncio.run(upgrade(url))
    assert len(backups_of(tmp_path / "one.db")) == 1


def test_it_can_be_left_out(tmp_path: Path) -> None:
    asyncio.run(upgrade(first_schema(tmp_path), backup=False))
    assert backups_of(tmp_path / "one.db") == ()


def test_without_a_backup_nothing_is_migrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = first_schema(tmp_path)

    def nowhere(file: Path, _revision: str, _at: object) -> Path:
        return file.parent / "no such folder" / "x.backup"

    monkeypatch.setattr(sqlite_backups, "backup_path", nowhere)
    with pytest.raises(StorageError, match="cannot be written, so nothing was migrated") as caught:
        asyncio.run(upgrade(url))
    assert "--no-backup" in str(caught.value)
    assert asyncio.run(current_revision(url)) == "0001"


def test_what_is_only_in_the_wal_file_is_copied(tmp_path: Path) -> None:
    url = first_schema(tmp_path)
    with closing(sqlite3.connect(tmp_path / "one.db")) as writer:
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        writer.execute("INSERT INTO seen_messages VALUES (1, 2)")
        writer.commit()
        asyncio.run(upgrade(url))
        (backup,) = backups_of(tmp_path / "one.db")
        assert rows_of(backup)["seen_messages"] == [{"channel_id": 1, "message_id": 2}]


def test_the_plan(empty_url: str) -> None:
    url = empty_url
    plan = asyncio.run(plan_upgrade(url))
    assert (plan.current, plan.copied_file) == (None, None)
    assert plan.pending[0].what == "Settings, personas, models, keys, memories, the journal."
    assert plan.pending[-1].revision == head_revision()
    asyncio.run(upgrade(url, to="0002"))
    plan = asyncio.run(plan_upgrade(url))
    assert (plan.current, plan.pending[0].revision) == ("0002", "0003")
    assert (plan.copied_file is not None) == url.startswith("sqlite")
    assert asyncio.run(current_revision(url)) == "0002"
    asyncio.run(upgrade(url))
    assert asyncio.run(plan_upgrade(url)).pending == ()
