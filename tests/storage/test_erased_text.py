"""Deleted text is in no file of the data folder: on a running database, and after kill -9."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from oshaberi.bot.storage import Database, SecretVault, head_revision, sqlite_erasure, upgrade
from oshaberi.bot.storage.records import (
    ConversationSummary,
    Exchange,
    Fact,
    KeyRecord,
    ModelRecord,
    PersonaRecord,
    SpriteRecord,
    TurnRecord,
    TurnTraces,
)
from oshaberi.bot.storage.repositories.personal_data import RetentionPeriods
from oshaberi.bot.storage.schema.ownership import DataSubject
from oshaberi.bot.storage.sqlite_backups import backup_path, backups_of, write_backup
from oshaberi.bot.storage.sqlite_erasure import SqliteErasure, is_clean
from oshaberi.virtual_time import run_virtual

from .migrated_database import place_database
from .scenario_database import KEY, NOON, Clock, with_database

SECRET = "the-jade-teapot-in-the-attic"
OTHER = "nobody-asked-to-delete-this"
SERVER, ROOM, ANN, BEN = 11, 110, 1, 2
LIMIT_S = 30.0

_SEARCH = """
import sys
from pathlib import Path
folder, word = Path(sys.argv[1]), sys.argv[2].encode()
for path in sorted(folder.rglob("*")):
    if path.is_file() and word in path.read_bytes():
        print(path.name)
"""


def files_with(folder: Path, word: str) -> list[str]:
    """The files of a folder that contain a word.

    In a process of its own: closing a file that SQLite has open would end SQLite's locks on it.
    """
    command = [sys.executable, "-I", "-c", _SEARCH, str(folder), word]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "data" / "oshaberi.db"
    place_database(place)
    return place


async def filled(db: Database) -> None:
    """Something of Ann with the secret in every table that has text, and something of Ben."""
    for user, word in ((BEN, OTHER), (ANN, SECRET)):
        for number in range(30):
            at = NOON - timedelta(minutes=user * 100 + number)
            exchange = Exchange(ROOM, user, f"{word} {number}", f"so {word}", at=at)
            turn = TurnRecord(ROOM, SERVER, user, user * 1000 + number, "Ren", at=at)
            db.queue_turn(TurnTraces(turn, exchange, keep_exchanges=99, exchange_days=9))
        await db.facts.add(Fact(SERVER, f"a fact: {word}", user))
        summary = ConversationSummary(ROOM + user, f"about {word}", 1, 5000, 9, frozenset({user}))
        await db.summaries.keep(summary, days=9)
        sprite = SpriteRecord("happy", f"https://example.com/{word}.png")
        await db.personas.save(
            PersonaRecord(SERVER, f"Ren{user}", prompt=f"You say {word}.", sprites=(sprite,))
        )
        await db.servers.set_config(SERVER, f"setting_{user}", f"on {word}")
    await db.keys.add(KeyRecord(SERVER, "openai", "sk-1", label=SECRET))
    await db.models.set_chain(SERVER, [ModelRecord(SERVER, "openai", SECRET)])


async def _everything_of_ann(db: Database) -> None:
    await db.personal_data.delete(DataSubject("user", ANN))


async def _other_secrets(db: Database) -> None:
    """What belongs to the server, so that one word can be searched."""
    (key,) = await db.keys.of(SERVER, "openai")
    assert await db.keys.remove(SERVER, key.id or 0)
    await db.models.set_chain(SERVER, [])
    assert await db.personas.delete_sprite(SERVER, f"Ren{ANN}", "happy")
    assert await db.personas.delete(SERVER, f"Ren{ANN}")
    await db.servers.reset_config(SERVER, f"setting_{ANN}")


async def _the_server(db: Database) -> None:
    await _everything_of_ann(db)
    await db.personal_data.delete(DataSubject("server", SERVER))


async def _memory_and_facts(db: Database) -> None:
    await db.memory.forget_user(ANN)
    await db.summaries.forget_user(ANN)
    assert await db.facts.delete_all(SERVER, ANN)


async def _messages_on_discord(db: Database) -> None:
    """Every message of Ann is deleted, and her facts one by one."""
    await db.memory.forget_messages(ROOM, [ANN * 1000 + number for number in range(30)])
    await db.summaries.forget_messages(ROOM + ANN, [7])
    for fact in await db.facts.of(SERVER, ANN):
        assert await db.facts.delete(SERVER, ANN, fact.id or 0)


DELETIONS: dict[str, tuple[Callable[[Database], Awaitable[None]], ...]] = {
    "privacy delete": (_everything_of_ann, _other_secrets),
    "the server": (_the_server,),
    "memory": (_memory_and_facts, _other_secrets),
    "messages": (_messages_on_discord, _other_secrets),
}


@pytest.mark.parametrize("name", DELETIONS)
def test_deleted_text_is_in_no_file_of_a_running_database(name: str, file: Path) -> None:
    async def scenario(db: Database) -> None:
        await filled(db)
        assert files_with(file.parent, SECRET) != [], "the search finds what is there"
        for delete in DELETIONS[name]:
            await delete(db)
        assert await db.wait_until_erased(LIMIT_S)
        assert files_with(file.parent, SECRET) == []
        if name != "the server":
            assert file.name in files_with(file.parent, OTHER)

    with_database(f"sqlite:///{file}", scenario)
    assert files_with(file.parent, SECRET) == []


def test_what_expired_is_in_no_file_after_the_retention_run(file: Path) -> None:
    clock = Clock()

    async def scenario(db: Database) -> None:
        await filled(db)
        await _other_secrets(db)
        clock.pass_days(60)
        await db.expiry.delete_expired(RetentionPeriods(turns_days=30, facts_days=30, usage_days=9))
        await db.prune()
        assert await db.erase(LIMIT_S)
        assert files_with(file.parent, SECRET) == []

    with_database(f"sqlite:///{file}", scenario, now=clock)


def test_rows_that_moved_between_pages_leave_nothing(file: Path) -> None:
    """SQLite leaves copies of moved rows in the unused part of a page, whatever `secure_delete`."""
    dead = []
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA secure_delete = ON")
        chance = random.Random(3)
        alive: dict[str, str] = {}
        for number in range(3000):
            word = f"word-{number}-end"
            text = json.dumps(word * chance.choice((1, 5, 20, 100)))
            if not alive or chance.random() < 0.5:
                name = str(chance.random())
                database.execute("INSERT INTO server_settings VALUES (1, ?, ?)", [name, text])
                alive[name] = word
                continue
            name = chance.choice(list(alive))
            dead.append(alive.pop(name))
            if chance.random() < 0.5:
                values = [text, name]
                database.execute("UPDATE server_settings SET value = ? WHERE key = ?", values)
                alive[name] = word
            else:
                database.execute("DELETE FROM server_settings WHERE key = ?", [name])
        database.commit()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = _all_bytes(file.parent)
    assert [word for word in dead if word.encode() in content], "this is why it is rewritten"

    async def scenario(db: Database) -> None:
        assert await db.erase(LIMIT_S)
        content = _all_bytes(file.parent)
        assert [word for word in dead if word.encode() in content] == []
        assert all(word.encode() in content for word in alive.values())

    with_database(f"sqlite:///{file}", scenario)


def _all_bytes(folder: Path) -> bytes:
    code = "import sys;from pathlib import Path;sys.stdout.buffer.write(b''.join("
    code += "p.read_bytes() for p in Path(sys.argv[1]).iterdir()))"
    command = [sys.executable, "-I", "-c", code, str(folder)]
    return subprocess.run(command, check=True, capture_output=True).stdout


def test_an_exchange_that_waits_to_be_written_is_deleted_too(file: Path) -> None:
    async def scenario(db: Database) -> None:
        entry = db.memory.adding(Exchange(ROOM, ANN, SECRET, SECRET), keep=9, days=9)
        db._store.writer.queue_entry(entry)
        await _everything_of_ann(db)
        assert await db.memory.recent(ROOM, 9) == ()
        await db._store.writer.flush()
        assert await db.memory.recent(ROOM, 9) == ()

    with_database(f"sqlite:///{file}", scenario)


def test_a_reader_in_the_way_is_told_and_waited_for(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(db: Database) -> None:
        await filled(db)
        with closing(sqlite3.connect(file, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM facts").fetchone()
            await _everything_of_ann(db)
            await _other_secrets(db)
            assert not await db.wait_until_erased(0.5)
            assert files_with(file.parent, SECRET) != []
            reader.execute("COMMIT")
            assert await db.wait_until_erased(LIMIT_S)
        assert files_with(file.parent, SECRET) == []

    with caplog.at_level(logging.INFO, "oshaberi.bot.storage.sqlite_erasure"):
        with_database(f"sqlite:///{file}", scenario)
    blocked = "deleted text is still in"
    assert [blocked in one for one in caplog.messages].count(True) == 1
    assert f"deleted text is gone from {file}" in caplog.messages


_KILLED = """
import asyncio, os, signal, sys
from oshaberi.bot.storage import Database, SecretVault, sqlite_erasure, upgrade
from oshaberi.bot.storage.sqlite_erasure import SqliteErasure
from tests.storage.scenario_database import KEY, Clock
from tests.storage.test_erased_text import _everything_of_ann, _other_secrets, filled

async def main():
    async with Database.open(sys.argv[1], SecretVault([KEY]), now=Clock()) as db:
        await filled(db)
        if sys.argv[2] == "before":
            SqliteErasure.want = lambda self: None
        await _everything_of_ann(db)
        await _other_secrets(db)
        assert await db.wait_until_erased(30)
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_after_kill_9(moment: str, file: Path) -> None:
    """Before it was erased, the next start does it: the deletion itself marks the file."""
    url = f"sqlite:///{file}"
    command = [sys.executable, "-c", _KILLED, url, moment]
    ended = subprocess.run(command, check=False, cwd=Path(__file__).parents[2])
    assert ended.returncode == -signal.SIGKILL
    assert bool(files_with(file.parent, SECRET)) == (moment == "before")

    async def nothing(_db: Database) -> None:
        assert files_with(file.parent, SECRET) == []

    with_database(url, nothing)
    assert is_clean(file)


def test_a_file_of_an_older_version_is_rewritten_once(file: Path) -> None:
    """It may hold what was deleted from it without care."""
    with closing(sqlite3.connect(file, isolation_level=None)) as old:
        old.execute("PRAGMA secure_delete = OFF")
        old.execute("PRAGMA user_version = 0")
        old.execute("INSERT INTO facts (server_id, text, at) VALUES (1, ?, '2026-01-01')", [SECRET])
        old.execute("DELETE FROM facts")
    assert files_with(file.parent, SECRET) != []

    async def nothing(_db: Database) -> None:
        assert files_with(file.parent, SECRET) == []

    with_database(f"sqlite:///{file}", nothing)


def test_the_backups_of_migrations_lose_it_too(file: Path) -> None:
    url = f"sqlite:///{file}"
    with_database(url, filled)
    same, old = (backup_path(file, name, NOON) for name in (head_revision(), "0001"))
    write_backup(file, same)
    with_database(url, _everything_of_ann)
    asyncio.run(upgrade(f"sqlite:///{old}", to="0001"))
    with closing(sqlite3.connect(old, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode=DELETE")
        text = "INSERT INTO facts (server_id, user_id, text, at) VALUES (1, ?, ?, '2026-01-01')"
        database.execute(text, [ANN, SECRET])
        database.execute(text, [BEN, OTHER])
    with_database(url, _the_server)
    assert files_with(file.parent, SECRET) == []
    assert backups_of(file) == (same,), "of the first schema nobody knows whose keys they are"


def test_backups_are_deleted_when_they_are_too_old(file: Path) -> None:
    new, old = (backup_path(file, "0004", NOON - timedelta(days=days)) for days in (13, 15))
    stranger = file.with_name(f"{file.name}.by-hand.backup")
    for path in (new, old, stranger):
        path.write_bytes(b"")

    async def scenario(db: Database) -> None:
        await db.delete_old_backups(14)
        assert (new.exists(), old.exists(), stranger.exists()) == (True, False, True)

    with_database(f"sqlite:///{file}", scenario)


def test_who_deletes_again_and_again_does_not_keep_the_file_busy(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began: list[float] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        erasure = SqliteErasure(file, asyncio.Lock(), lambda: None)

        def took_two_seconds(_self: SqliteErasure, _is_rewritten: bool) -> sqlite_erasure.Attempt:
            began.append(loop.time())
            return sqlite_erasure.Attempt(None, is_rewritten=True, seconds=2.0)

        monkeypatch.setattr(SqliteErasure, "_attempt", took_two_seconds)
        for _ in range(3):
            for _ in range(10):
                erasure.want()
            assert await erasure.wait_until_erased(100.0)

    run_virtual(main())
    assert len(began) == 3, "what is wanted meanwhile is erased together"
    assert [later - sooner >= 40.0 for sooner, later in pairwise(began)] == [True, True]


def test_answers_do_not_rewrite_the_file(file: Path) -> None:
    """What every answer deletes in passing is no reason to write a large file anew."""

    async def main() -> None:
        async with Database.open(f"sqlite:///{file}", SecretVault([KEY]), now=Clock()) as db:
            await db.questions.settle(ROOM, [1])
            await db.summaries.keep(ConversationSummary(ROOM, "one", 1, 2, 9), days=9)
            await db.summaries.keep(ConversationSummary(ROOM, "two", 1, 3, 9), days=9)
            await db.instances.beat("main")
            await db.prune()
            assert await db.wait_until_erased(0)
        assert is_clean(file)

    asyncio.run(main())


if os.name != "posix":
    pytest.skip("kill -9 and SQLite's locks are POSIX", allow_module_level=True)
