"""Everything about a user or a server: exported, deleted, and nothing of anybody else."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from oshaberi.bot.storage import Database
from oshaberi.bot.storage.changes import ChangeKind
from oshaberi.bot.storage.records import (
    ConversationSummary,
    Exchange,
    Fact,
    JournalledPost,
    JournalledStream,
    KeyRecord,
    ModelRecord,
    PersonaRecord,
    SpriteRecord,
    TurnRecord,
)
from oshaberi.bot.storage.repositories.models import key_scope
from oshaberi.bot.storage.repositories.personal_data import RetentionPeriods
from oshaberi.bot.storage.schema.ownership import OWNERSHIP, DataSubject
from oshaberi.bot.storage.schema.table_rows import Base
from oshaberi.bot.storage.usage import UsageAccount, UsageTotals

from .database_servers import copied_postgres_url, migrated_postgres_url
from .migrated_database import place_database
from .scenario_database import NOON, Clock, with_database

ANN, BEN = 1001, 1002
TEA, COFFEE = 2001, 2002
TEA_ROOM, COFFEE_ROOM, ANNS_DIRECT = 3001, 3002, 3003
ASKED = (
    (TEA, TEA_ROOM, ANN),
    (COFFEE, COFFEE_ROOM, ANN),
    (0, ANNS_DIRECT, ANN),
    (TEA, TEA_ROOM, BEN),
)
LONG_AGO = NOON - timedelta(days=1)
DAY = LONG_AGO.date()


async def fill(db: Database) -> None:
    """Ann asks in both servers and in direct messages, Ben in one of them."""
    for server in (TEA, COFFEE):
        await db.servers.set_config(server, "humanizer_degree", 1)
        sprite = SpriteRecord("happy")
        await db.personas.save(PersonaRecord(server, "Ren", "p", sprites=(sprite,)))
        await db.models.set_chain(server, [ModelRecord(server, "openai", "big")])
        await db.keys.add(KeyRecord(server, "openai", f"sk-{server}"))
        await db.facts.add(Fact(server, "about the server"))
        await db.usage.add(server, "openai", "big", 1, 1)
    await _summarised(db)
    await db.models.set_chain(0, [ModelRecord(0, "openai", "small", user_id=ANN)], ANN)
    await db.keys.add(KeyRecord(0, "openai", "sk-ann", "mine", user_id=ANN))
    for number, (server, room, user) in enumerate(ASKED):
        await _asked(db, server, room, user, 10 * number)


async def _summarised(db: Database) -> None:
    """Both took part in one of these conversations, one alone in the other."""
    for room, users in ((TEA_ROOM, (ANN, BEN)), (COFFEE_ROOM, (ANN * 10, BEN))):
        summary = ConversationSummary(room, "Ann told a secret.", 1, 9, 9, frozenset(users))
        await db.summaries.keep(summary, days=9)


async def _asked(db: Database, server: int, room: int, user: int, number: int) -> None:
    await db.facts.add(Fact(server, f"{user} likes it", user))
    exchange = Exchange(room, user, f"{user} asks in {room}", "answer")
    await db.memory.add(exchange, keep=99, days=9)
    await db.sprite_messages.remember(number + 1, room, "Ren", "happy")
    await db.tables.remember(number + 2, room, "| a |")
    await db.seen.note(room, number)
    messages = (number + 1, number + 2)
    await db.turns.remember(
        TurnRecord(room, server, user, number, "Ren", messages, "completed", at=LONG_AGO)
    )
    key = f"stream-{number}"
    stream = JournalledStream(key, "main", server, room, user, number, "Ren", LONG_AGO)
    await db.journal.begin(stream)
    await db.journal.intend(key, JournalledPost(f"{key}-1", 1, {"content": "answer"}))
    accounts = [
        UsageAccount("operator", 0, "user", user),
        UsageAccount("operator", 0, "channel", room),
        UsageAccount("server", server, "user", user),
        UsageAccount("server", server, "server", server),
    ]
    for day in (DAY, NOON.date()):
        await db.usage_counts.add(day, accounts, UsageTotals(1, 1, 1, 1))
        await db.usage_counts.tell_once(day, "user", user, room)


@pytest.fixture(scope="module")
def filled_sqlite(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What `fill` leaves, to be copied: filling takes longer than a test."""
    file = tmp_path_factory.mktemp("filled") / "oshaberi.sqlite3"
    place_database(file)
    with_database(f"sqlite:///{file}", fill)
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return file.read_bytes()


@pytest.fixture(scope="module")
def filled_postgres() -> str:
    url = migrated_postgres_url()
    with_database(url, fill)
    return url


@pytest.fixture(params=["sqlite", "postgresql"])
def filled_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of its own for each test, filled at noon."""
    if request.param == "postgresql":
        return copied_postgres_url(request.getfixturevalue("filled_postgres"))
    file = tmp_path / "oshaberi.sqlite3"
    file.write_bytes(request.getfixturevalue("filled_sqlite"))
    return f"sqlite:///{file}"


def test_every_table_has_an_owner_or_none_on_purpose() -> None:
    assert sorted(one.name for one in OWNERSHIP) == sorted(Base.metadata.tables)
    ownerless = [one.name for one in OWNERSHIP if one.of_user is one.of_server is None]
    assert ownerless == ["instances"]


def test_what_is_found_through_a_row_goes_before_it() -> None:
    order = [one.name for one in OWNERSHIP]
    for before, after in (
        ("sprite_messages", "turns"),
        ("table_sources", "turn_messages"),
        ("turn_messages", "turns"),
        ("journal_posts", "journal_streams"),
        ("sprites", "personas"),
        ("exchanges", "channel_servers"),
        ("turns", "channel_servers"),
    ):
        assert order.index(before) < order.index(after)


def test_a_users_data_is_exported_without_secrets_and_without_others(filled_url: str) -> None:
    async def scenario(db: Database) -> None:
        found = await db.personal_data.export(DataSubject("user", ANN))
        assert set(found) == {
            *("exchanges", "facts", "turns", "turn_messages", "sprite_messages", "table_sources"),
            *("journal_streams", "journal_posts", "models", "api_keys"),
            *("usage_counts", "quota_notices", "conversation_summaries"),
        }
        assert [one["channel_id"] for one in found["conversation_summaries"]] == [str(TEA_ROOM)]
        assert "secret" not in str(found["conversation_summaries"])
        written = json.dumps(found)
        assert str(BEN) not in written
        assert '"token"' not in written
        assert "gAAAA" not in written
        assert [one["asked"] for one in found["exchanges"]] == [
            f"{ANN} asks in {room}" for room in (TEA_ROOM, COFFEE_ROOM, ANNS_DIRECT)
        ]
        assert found["exchanges"][0]["user_id"] == str(ANN)
        assert found["turns"][0]["message_ids"] == ["1", "2"]
        assert found["turns"][0]["at"] == LONG_AGO.isoformat()
        assert [one["label"] for one in found["api_keys"]] == ["mine"]

    with_database(filled_url, scenario)


def test_a_users_data_is_deleted_everywhere_and_nobody_elses(filled_url: str) -> None:
    async def scenario(db: Database) -> None:
        bens = await db.personal_data.export(DataSubject("user", BEN))
        del bens["conversation_summaries"][0]  # Ann is part of it
        counted = await db.personal_data.counts(DataSubject("user", ANN))
        gone = await db.personal_data.delete(DataSubject("user", ANN))
        assert gone == counted
        assert await db.personal_data.export(DataSubject("user", ANN)) == {}
        assert await db.personal_data.export(DataSubject("user", BEN)) == bens
        assert await db.keys.of(0, "openai", ANN) == ()
        assert [one.secret for one in await db.keys.of(TEA, "openai")] == [f"sk-{TEA}"]
        assert [one.text for one in await db.facts.of(TEA, None)] == ["about the server"]
        assert [one.user_id for one in await db.memory.recent(TEA_ROOM, 9)] == [BEN]

    with_database(filled_url, scenario)


def test_todays_counts_stay_if_limits_depend_on_them(filled_url: str) -> None:
    async def scenario(db: Database) -> None:
        today = NOON.date()
        await db.personal_data.delete(DataSubject("user", ANN), counted_until=today)
        left = await db.personal_data.export(DataSubject("user", ANN))
        assert set(left) == {"usage_counts", "quota_notices"}
        assert {one["day"] for rows in left.values() for one in rows} == {today.isoformat()}

    with_database(filled_url, scenario)


def test_a_servers_data_is_deleted_with_its_channels(filled_url: str) -> None:
    async def scenario(db: Database) -> None:
        others = await db.personal_data.export(DataSubject("server", COFFEE))
        gone = await db.personal_data.delete(DataSubject("server", TEA))
        assert set(gone) >= {"personas", "sprites", "api_keys", "exchanges", "seen_messages"}
        assert await db.personal_data.export(DataSubject("server", TEA)) == {}
        assert await db.personal_data.export(DataSubject("server", COFFEE)) == others
        assert await db.seen.last(TEA_ROOM) is None
        assert [one.channel_id for one in await db.memory.recent(ANNS_DIRECT, 9)] == [ANNS_DIRECT]
        assert TEA not in await db.departed_servers.known_servers()

    with_database(filled_url, scenario)


def test_caches_are_told(filled_url: str) -> None:
    async def scenario(db: Database) -> None:
        watched: list[tuple[ChangeKind, int | str]]
        watched = [("personas", TEA), ("keys", TEA), ("settings", COFFEE), ("keys", _scope(ANN))]
        before = {one: db.changes.stamp(*one) for one in watched}
        await db.personal_data.delete(DataSubject("server", TEA))
        changed = [one for one in watched if db.changes.stamp(*one) != before[one]]
        assert changed == [("personas", TEA), ("keys", TEA)]
        await db.personal_data.delete(DataSubject("user", ANN))
        assert db.changes.stamp("keys", _scope(ANN)) != before["keys", _scope(ANN)]

    with_database(filled_url, scenario)


def _scope(user_id: int) -> int | str:
    return key_scope(0, user_id).name


def test_channels_are_known_after_their_turns_are_gone(filled_url: str) -> None:
    async def scenario(db: Database) -> None:
        await db.departed_servers.note_channels()
        await db.departed_servers.note_channels()
        await db.expiry.delete_expired(RetentionPeriods(turns_days=1, facts_days=0, usage_days=0))
        clock.pass_days(1.5)
        assert await db.expiry.delete_expired(RetentionPeriods(1, 0, 0)) > 0
        assert await db.turns.last(TEA_ROOM) is None
        await db.personal_data.delete(DataSubject("server", TEA))
        assert await db.memory.recent(TEA_ROOM, 9) == ()
        assert len(await db.memory.recent(COFFEE_ROOM, 9)) == 1

    clock = Clock()
    with_database(filled_url, scenario, now=clock)


def test_an_answer_under_way_keeps_its_journal(filled_url: str) -> None:
    async def scenario(db: Database) -> None:
        stream = JournalledStream("now", "main", TEA, TEA_ROOM, ANN, 99, "Ren", NOON)
        await db.journal.begin(stream)
        await db.personal_data.delete(DataSubject("user", ANN))
        assert [one.key for one in await db.journal.unfinished("main")] == ["stream-30", "now"]

    with_database(filled_url, scenario)


def test_deleted_text_is_not_left_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "oshaberi.db"

    async def scenario(db: Database) -> None:
        await fill(db)
        await db.personal_data.delete(DataSubject("user", ANN))

    with_database(f"sqlite:///{file}", scenario)
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = file.read_bytes()
    assert f"{BEN} asks in".encode() in content
    assert f"{ANN} asks in".encode() not in content


def test_who_opted_out_is_known_to_every_process(url: str) -> None:
    async def scenario(db: Database) -> None:
        await db.opt_outs.add(ANN)
        await db.opt_outs.add(ANN)
        assert ANN in db.opt_outs
        assert BEN not in db.opt_outs

    with_database(url, scenario)

    async def another(db: Database) -> None:
        assert ANN not in db.opt_outs
        await db.opt_outs.refresh()
        assert ANN in db.opt_outs
        found = await db.personal_data.export(DataSubject("user", ANN))
        assert set(found) == {"opt_outs"}
        await db.personal_data.delete(DataSubject("user", ANN))
        await db.opt_outs.refresh()
        assert ANN in db.opt_outs, "what was chosen holds"
        await db.opt_outs.remove(ANN)
        assert ANN not in db.opt_outs
        await db.opt_outs.refresh()
        assert ANN not in db.opt_outs

    with_database(url, another)


def test_servers_that_were_left(filled_url: str) -> None:
    clock = Clock()

    async def scenario(db: Database) -> None:
        assert await db.departed_servers.known_servers() == {TEA, COFFEE}
        await db.departed_servers.note(TEA, [TEA_ROOM, 3009])
        clock.pass_days(2)
        await db.departed_servers.note(TEA)
        await db.departed_servers.note(COFFEE)
        assert await db.departed_servers.departed() == (TEA, COFFEE)
        assert await db.departed_servers.departed(clock() - timedelta(days=1)) == (TEA,)
        await db.departed_servers.note_return([TEA])
        assert await db.departed_servers.departed() == (COFFEE,)

    with_database(filled_url, scenario, now=clock)


@pytest.mark.parametrize(
    ("periods", "gone"),
    [
        (RetentionPeriods(0, 0, 0), set[str]()),
        (RetentionPeriods(1, 0, 0), {"turns", "turn_messages", "sprite_messages", "table_sources"}),
        (RetentionPeriods(0, 1, 0), {"facts"}),
        (RetentionPeriods(0, 0, 1), {"usage_counts", "quota_notices"}),
    ],
    ids=["nothing", "turns", "facts", "usage"],
)
def test_what_is_too_old_is_deleted(
    periods: RetentionPeriods, gone: set[str], filled_url: str
) -> None:
    clock = Clock()

    async def scenario(db: Database) -> None:
        clock.pass_days(3)
        before = set(await db.personal_data.counts(DataSubject("user", ANN)))
        await db.expiry.delete_expired(periods)
        after = set(await db.personal_data.counts(DataSubject("user", ANN)))
        assert before - after == gone

    with_database(filled_url, scenario, now=clock)
