"""From nothing and from the first schema to the present one, once, whoever comes at once."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import create_async_engine

from oshaberi.bot.storage import (
    Database,
    SecretVault,
    StorageError,
    current_revision,
    head_revision,
    upgrade,
)
from oshaberi.bot.storage.database_urls import address_of
from oshaberi.bot.storage.records import Exchange, KeyRecord, PersonaRecord, SpriteRecord
from oshaberi.bot.storage.schema import migration
from oshaberi.bot.storage.schema.migration import VERSION_TABLE
from oshaberi.bot.storage.schema.table_rows import Base

from .scenario_database import KEY, NOON, ask, with_database

WHEN = "'2026-11-15 12:00:00+00:00'"
LATER = "'2099-01-01 00:00:00+00:00'"

VERSIONS = Path(migration.__file__).parent / "migrations" / "versions"
ALL = tuple(sorted(path.name[1:5] for path in VERSIONS.glob("r[0-9]*.py")))
"""Every revision, in order."""


@pytest.fixture
def url(empty_url: str) -> str:
    """Nothing is there yet."""
    return empty_url


def first_schema_with_data(url: str) -> None:
    assert asyncio.run(upgrade(url, to="0001")) == ("0001",)
    secret = SecretVault([KEY]).encrypt("sk")
    when, later = (WHEN, LATER) if "postgresql" in url else (WHEN[:20] + "'", LATER[:20] + "'")
    ask(
        url,
        "INSERT INTO server_settings VALUES (1, 'humanizer_degree', '3')",
        "INSERT INTO personas (id, server_id, name, name_key, prompt, aliases, triggers, samples,"
        " is_default) VALUES (5, 1, 'Ren', 'ren', 'p', '[\"fox\"]', '[]', '[]', true)",
        "INSERT INTO sprites VALUES (6, 5, 'happy', 'happy', NULL, false)",
        f"INSERT INTO sprite_messages VALUES (10, 2, 'Ren', 'happy', {when})",
        f"INSERT INTO table_sources VALUES (11, 2, '|a|', {when})",
        "INSERT INTO seen_messages VALUES (2, 11)",
        "INSERT INTO models VALUES (7, 1, 0, 'openai', 'big', NULL, '{}')",
        f"INSERT INTO api_keys VALUES (8, 1, 'openai', '{secret}', '', NULL)",
        f"INSERT INTO exchanges VALUES (9, 2, 3, 'q', 'a', 'd', {when}, {later})",
        f"INSERT INTO facts VALUES (4, 1, 3, 'likes tea', {when})",
        f"INSERT INTO journal_streams VALUES ('k', 'me', 1, 2, 3, NULL, 'Ren', {when})",
        "INSERT INTO journal_posts VALUES ('k', 'k-1', 1, '{\"content\": \"x\"}', 9, 'sent', 12)",
    )


def test_the_files_are_named_after_their_revisions() -> None:
    """They are read without Alembic."""
    scripts = ScriptDirectory.from_config(migration.alembic_config())
    in_order = [script.revision for script in scripts.walk_revisions()][::-1]
    assert list(migration.known_revisions()) == in_order == list(ALL)
    assert head_revision() == scripts.get_current_head()


def test_from_nothing(url: str) -> None:
    assert asyncio.run(current_revision(url)) is None
    assert asyncio.run(upgrade(url)) == ALL
    assert asyncio.run(current_revision(url)) == head_revision() == ALL[-1]
    assert asyncio.run(upgrade(url)) == ()


def test_from_the_first_schema_with_data_in_it(url: str) -> None:
    first_schema_with_data(url)
    assert asyncio.run(current_revision(url)) == "0001"

    async def scenario(db: Database) -> None:
        assert await db.servers.config(1) == {"humanizer_degree": 3}
        assert await db.personas.of(1) == (
            PersonaRecord(
                1, "Ren", "p", ("fox",), sprites=(SpriteRecord("happy"),), is_default=True, id=5
            ),
        )
        assert await db.sprite_messages.labels([10]) == {10: ("Ren", "happy")}
        assert await db.tables.sources([11]) == {11: "|a|"}
        assert await db.seen.last(2) == 11
        assert [one.model for one in await db.models.chain(1)] == ["big"]
        assert await db.keys.of(1, "openai") == (KeyRecord(1, "openai", "sk", id=8),)
        assert await db.memory.recent(2, 9) == (Exchange(2, 3, "q", "a", "d", "", NOON, 9),)
        assert [(fact.text, fact.at) for fact in await db.facts.of(1, 3)] == [("likes tea", NOON)]
        (stream,) = await db.journal.unfinished("me")
        assert [(post.state, post.message_id) for post in stream.posts] == [("sent", 12)]
        await db.usage.add(1, "openai", "big", 1, 1)

    with_database(url, scenario)
    assert asyncio.run(current_revision(url)) == ALL[-1]


def test_what_was_set_in_direct_messages_serves_nobody_else(url: str) -> None:
    """Server 0 was everybody, too. Whose direct messages it was is not known: nobody's, then."""
    first_schema_with_data(url)
    ask(
        url,
        "INSERT INTO models VALUES (70, 0, 0, 'openai', 'dear', NULL, '{}')",
        "INSERT INTO api_keys VALUES"
        f" (80, 0, 'openai', '{SecretVault([KEY]).encrypt('sk-direct')}', 'mine', NULL)",
    )

    async def scenario(db: Database) -> None:
        assert await db.keys.of(1, "openai") == (KeyRecord(1, "openai", "sk", id=8),)
        assert [one.model for one in await db.models.chain(1)] == ["big"]
        for server_id, user_id in ((2, 0), (2, 5), (0, 0), (0, 5)):
            assert await db.keys.of(server_id, "openai", user_id) == ()
            assert await db.models.chain(server_id, user_id) == ()
        assert (await db.keys.unowned(), await db.models.unowned()) == (1, 1)
        assert (await db.keys.adopt(5), await db.models.adopt(5)) == (1, 1)
        (key,) = await db.keys.of(0, "openai", 5)
        assert key == KeyRecord(0, "openai", "sk-direct", "mine", id=80, user_id=5)
        assert [one.model for one in await db.models.chain(0, 5)] == ["dear"]
        assert await db.keys.of(0, "openai", 6) == await db.keys.of(2, "openai") == ()
        assert (await db.keys.unowned(), await db.models.unowned()) == (0, 0)
        if "sqlite" in url:  # PostgreSQL's counter does not hear of ids that are put in by hand
            added = await db.keys.add(KeyRecord(1, "openai", "sk-new"))
            assert added.id > 80, "an id is never used twice"

    with_database(url, scenario)


def test_the_migrations_lead_to_the_schema(url: str) -> None:
    def differences(connection: Connection) -> Any:
        options = {"version_table": VERSION_TABLE, "compare_type": True}
        context = MigrationContext.configure(connection, opts=options)
        return compare_metadata(context, Base.metadata)

    async def main() -> Any:
        await upgrade(url)
        engine = create_async_engine(address_of(url).url)
        async with engine.connect() as connection:
            found = await connection.run_sync(differences)
        await engine.dispose()
        return found

    assert asyncio.run(main()) == []


def test_a_newer_schema_is_left_alone(url: str) -> None:
    asyncio.run(upgrade(url))
    ask(url, f"UPDATE {VERSION_TABLE} SET version_num = '0099'")
    with pytest.raises(StorageError, match="schema 0099, which is newer") as caught:
        with_database(url, lambda db: db.servers.config(1))
    assert "\n" not in str(caught.value)
    assert asyncio.run(current_revision(url)) == "0099"


def test_a_step_that_fails_leaves_nothing_behind(url: str) -> None:
    """The last table of the step is in the way: what came before it must go again."""
    first_schema_with_data(url)
    ask(url, "CREATE TABLE turn_messages (x INTEGER)")
    with pytest.raises(StorageError, match="turn_messages"):
        asyncio.run(upgrade(url))
    assert asyncio.run(current_revision(url)) == "0001"
    with pytest.raises(Exception, match="usage"):
        ask(url, "SELECT * FROM usage")
    ask(url, "DROP TABLE turn_messages")
    assert asyncio.run(upgrade(url)) == ALL[1:]


@pytest.mark.slow
def test_processes_that_start_at_once(url: str) -> None:
    code = (
        "import asyncio, json, sys; from oshaberi.bot.storage import upgrade; sys.stdin.readline();"
        "print(json.dumps(asyncio.run(upgrade(sys.argv[1]))))"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate()[0] for process in processes]
    assert sorted(json.loads(output) for output in outputs) == [
        [],
        [],
        list(ALL),
    ]


def test_engines_that_start_at_once(url: str) -> None:
    async def main() -> list[tuple[str, ...]]:
        return await asyncio.gather(*(upgrade(url) for _ in range(4)))

    assert sorted(asyncio.run(main())) == [(), (), (), ALL]


def test_databases_in_one_loop_do_not_mix_up(url: str, tmp_path: Any) -> None:
    """Alembic's state is global: two migrations of two databases must not meet in it."""
    urls = [url, *(f"sqlite:///{tmp_path}/{n}.sqlite3" for n in range(3))]

    async def main() -> list[tuple[str, ...]]:
        return await asyncio.gather(*(upgrade(one) for one in urls))

    assert asyncio.run(main()) == [ALL] * 4
