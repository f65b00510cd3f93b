"""An open database, with one repository for each kind of record."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from sqlalchemy import (
    ARRAY,
    JSON,
    BigInteger,
    Connection,
    and_,
    any_,
    bindparam,
    func,
    or_,
    select,
)

from oshaberi.bot.storage.changes import listening
from oshaberi.bot.storage.database_urls import address_of
from oshaberi.bot.storage.engine import open_engine, thread_engine
from oshaberi.bot.storage.errors import StorageError
from oshaberi.bot.storage.group_commit import WriteEntry
from oshaberi.bot.storage.outages import DatabaseMeter, reads
from oshaberi.bot.storage.records import (
    ConversationSummary,
    Exchange,
    Fact,
    StoredSurroundings,
    SurroundingsQuery,
    TurnTraces,
    UsedRequest,
)
from oshaberi.bot.storage.repositories.answers import (
    AnswerReactionRepository,
    AnswerVersionRepository,
)
from oshaberi.bot.storage.repositories.journal import JournalRepository, QuestionRepository
from oshaberi.bot.storage.repositories.lorebooks import LorebookRepository
from oshaberi.bot.storage.repositories.memory import (
    SUMMARY_OF,
    ExchangeRepository,
    FactRepository,
    SummaryRepository,
    exchange_record,
    fact_record,
    summary_record,
)
from oshaberi.bot.storage.repositories.messages import (
    LastSeenRepository,
    SpriteMessageRepository,
    TableSourceRepository,
    TurnRepository,
)
from oshaberi.bot.storage.repositories.models import KeyRepository, ModelRepository
from oshaberi.bot.storage.repositories.moving import MovingRepository
from oshaberi.bot.storage.repositories.personal_data import (
    DepartedServerRepository,
    ExpiryRepository,
    OptOutRepository,
    PersonalDataRepository,
)
from oshaberi.bot.storage.repositories.personas import PersonaRepository
from oshaberi.bot.storage.repositories.pictures import OwnFaceRepository, PictureRepository
from oshaberi.bot.storage.repositories.schedules import ScheduleRepository, TimeZoneRepository
from oshaberi.bot.storage.repositories.servers import InstanceRepository, ServerRepository
from oshaberi.bot.storage.repositories.speaking_first import (
    BirthdayRepository,
    OpeningRepository,
    UnapproachedRepository,
)
from oshaberi.bot.storage.repositories.talks import TalkRepository
from oshaberi.bot.storage.repositories.usage import DailyUsageRepository, TokenUsageRepository
from oshaberi.bot.storage.schema import table_rows
from oshaberi.bot.storage.schema.migration import migrate, upgrade
from oshaberi.bot.storage.secret_vault import SecretVault
from oshaberi.bot.storage.sqlite_backups import delete_old_backups
from oshaberi.bot.storage.transactions import Now, Transactions
from oshaberi.clocks import utc_now

log = logging.getLogger(__name__)

_TABLES = table_rows.Base.metadata.tables
_FACTS = _TABLES[table_rows.FactRow.__tablename__]
_EXCHANGES = _TABLES[table_rows.ExchangeRow.__tablename__]
_SPRITES = _TABLES[table_rows.SpriteMessageRow.__tablename__]
_SOURCES = _TABLES[table_rows.TableSourceRow.__tablename__]
_IDS = ARRAY(BigInteger())

_OF_USER = select(_FACTS).where(_FACTS.c.server_id == bindparam("server_id"))
_FACTS_OF_USER = _OF_USER.where(_FACTS.c.user_id == bindparam("user_id")).order_by(_FACTS.c.id)
_FACTS_OF_BOTH = _OF_USER.where(
    or_(_FACTS.c.user_id == bindparam("user_id"), _FACTS.c.user_id.is_(None))
).order_by(_FACTS.c.id)
_RECENT = (
    select(_EXCHANGES)
    .where(
        _EXCHANGES.c.channel_id == bindparam("channel_id"), _EXCHANGES.c.expires_at > bindparam("t")
    )
    .order_by(_EXCHANGES.c.id.desc())
    .limit(bindparam("most"))
)
_ROWS_AS_JSON = {
    "facts": _OF_USER.where(
        or_(
            _FACTS.c.user_id == bindparam("user_id"),
            and_(_FACTS.c.user_id.is_(None), _FACTS.c.server_id != 0),
        )
    ).order_by(_FACTS.c.id),
    "exchanges": _RECENT,
    "sprites": select(_SPRITES).where(_SPRITES.c.message_id == any_(bindparam("ids", type_=_IDS))),
    "tables": select(_SOURCES).where(_SOURCES.c.message_id == any_(bindparam("ids", type_=_IDS))),
    "summary": SUMMARY_OF,
}
_ALL_AT_ONCE = select(
    *(
        select(func.json_agg(rows.subquery(name).table_valued(), type_=JSON))
        .scalar_subquery()
        .label(name)
        for name, rows in _ROWS_AS_JSON.items()
    )
)
"""Every row as a JSON object, so that a distant database is asked only once."""
_LABELS = select(_SPRITES).where(_SPRITES.c.message_id.in_(bindparam("ids", expanding=True)))
_TABLES_SHOWN = select(_SOURCES).where(_SOURCES.c.message_id.in_(bindparam("ids", expanding=True)))


class TurnReading:
    """Reads what a turn needs about its surroundings; with PostgreSQL in one statement, as JSON."""

    def __init__(self, store: Transactions) -> None:
        self._store = store

    @reads
    async def surroundings(self, query: SurroundingsQuery) -> StoredSurroundings:
        now = self._store.now()
        if self._store.address.kind == "postgresql":
            return await self._store.read_at_once(lambda one: _read_as_json(one, query, now))
        return await self._store.read_at_once(
            lambda connection: _read_surroundings(connection, query, now)
        )


def _read_as_json(
    connection: Connection, query: SurroundingsQuery, now: datetime
) -> StoredSurroundings:
    values = {
        "server_id": query.server_id,
        "user_id": query.user_id,
        "channel_id": query.channel_id,
        "its_channel": query.channel_id,
        "t": now,
        "now": now,
        "most": query.exchanges,
        "ids": list(query.message_ids),
    }
    found = connection.execute(_ALL_AT_ONCE, values).one()
    summaries = [summary_record(row) for row in _rows(found.summary)]
    return StoredSurroundings(
        _of_server_first(fact_record(row) for row in _rows(found.facts)),
        tuple(exchange_record(row) for row in reversed(_rows(found.exchanges))),
        {row.message_id: (row.persona, row.sprite) for row in _rows(found.sprites)},
        {row.message_id: row.source for row in _rows(found.tables)},
        next(iter(summaries), None),
    )


def _rows(found: list[dict[str, Any]] | None) -> list[Any]:
    """Return JSON objects as rows, with `at` as a time."""
    return [
        SimpleNamespace(**{**row, "at": datetime.fromisoformat(row["at"]).astimezone(UTC)})
        for row in found or ()
    ]


def _of_server_first(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    return tuple(sorted(facts, key=lambda fact: fact.user_id is not None))


def _read_surroundings(
    connection: Connection, query: SurroundingsQuery, now: datetime
) -> StoredSurroundings:
    ids = {"ids": list(query.message_ids)}
    sprites = connection.execute(_LABELS, ids).all() if query.message_ids else ()
    tables = connection.execute(_TABLES_SHOWN, ids).all() if query.message_ids else ()
    return StoredSurroundings(
        _facts(connection, query),
        _exchanges(connection, query, now) if query.exchanges else (),
        {row.message_id: (row.persona, row.sprite) for row in sprites},
        {row.message_id: row.source for row in tables},
        _summary(connection, query, now),
    )


def _summary(
    connection: Connection, query: SurroundingsQuery, now: datetime
) -> ConversationSummary | None:
    row = connection.execute(SUMMARY_OF, {"its_channel": query.channel_id, "now": now}).first()
    return None if row is None else summary_record(row)


def _facts(connection: Connection, query: SurroundingsQuery) -> tuple[Fact, ...]:
    owners = {"server_id": query.server_id, "user_id": query.user_id}
    statement = _FACTS_OF_BOTH if query.server_id else _FACTS_OF_USER
    rows = connection.execute(statement, owners).all()
    return _of_server_first(map(fact_record, rows))


def _exchanges(
    connection: Connection, query: SurroundingsQuery, now: datetime
) -> tuple[Exchange, ...]:
    values = {"channel_id": query.channel_id, "t": now, "most": query.exchanges}
    rows = connection.execute(_RECENT, values).all()
    return tuple(exchange_record(row) for row in reversed(rows))


class Database:
    """An open database. Any number of tasks of one event loop may use it at the same time."""

    def __init__(self, store: Transactions, vault: SecretVault) -> None:
        self._store = store
        self.changes = store.changes
        self.servers = ServerRepository(store)
        self.personas = PersonaRepository(store)
        self.lorebooks = LorebookRepository(store)
        self.pictures = PictureRepository(store)
        self.own_faces = OwnFaceRepository(store)
        self.sprite_messages = SpriteMessageRepository(store)
        self.tables = TableSourceRepository(store)
        self.models = ModelRepository(store)
        self.keys = KeyRepository(store, vault)
        self.memory = ExchangeRepository(store)
        self.summaries = SummaryRepository(store)
        self.facts = FactRepository(store)
        self.usage = TokenUsageRepository(store)
        self.usage_counts = DailyUsageRepository(store)
        self.seen = LastSeenRepository(store)
        self.journal = JournalRepository(store)
        self.questions = QuestionRepository(store)
        self.instances = InstanceRepository(store)
        self.turns = TurnRepository(store)
        self.versions = AnswerVersionRepository(store)
        self.reactions = AnswerReactionRepository(store)
        self.reading = TurnReading(store)
        self.personal_data = PersonalDataRepository(store)
        self.moving = MovingRepository(store)
        self.opt_outs = OptOutRepository(store)
        self.departed_servers = DepartedServerRepository(store)
        self.expiry = ExpiryRepository(store)
        self.schedules = ScheduleRepository(store, self.questions)
        self.time_zones = TimeZoneRepository(store)
        self.birthdays = BirthdayRepository(store)
        self.openings = OpeningRepository(store)
        self.talks = TalkRepository(store)
        self.unapproached = UnapproachedRepository(store)

    @classmethod
    @asynccontextmanager
    async def open(
        cls, url: str, vault: SecretVault, *, now: Now = utc_now
    ) -> AsyncIterator[Database]:
        """Open a database. Creates it if missing, migrates it, and checks its secrets."""
        address = address_of(url)
        if not address.in_memory:
            await upgrade(url)
        async with open_engine(address) as engine:
            if address.in_memory:
                await migrate(engine, address)
            store = Transactions(engine, address, now, thread_engine(address))
            try:
                database = cls(store, vault)
                await database.keys.renew()
                if store.erasure is not None:
                    await store.erasure.start()
                yield database
            finally:
                await store.close()

    def watch(self, meter: DatabaseMeter) -> None:
        """Report each call, transaction and fault to this meter from now on."""
        self._store.reading.meter = self._store.writing.meter = meter

    def kept_entries(self) -> int:
        """Return how many entries wait in memory because the database is away."""
        return self._store.writer.kept

    def problem(self) -> str | None:
        """Return why the database cannot be used now, or None."""
        for breaker in (self._store.reading, self._store.writing):
            if breaker.is_away:
                return str(breaker.error())
        return None

    async def wait_until_erased(self, limit_s: float) -> bool:
        """Wait until deleted text is in no file of the database. Return False after `limit_s`.

        If so, another program is reading the file; the text is erased as soon as that program ends.
        PostgreSQL does this itself (VACUUM).
        """
        return self._store.erasure is None or await self._store.erasure.wait_until_erased(limit_s)

    async def erase(self, limit_s: float) -> bool:
        """Erase everything that was ever deleted, including what was deleted in passing."""
        if self._store.erasure is not None:
            self._store.erasure.want()
        return await self.wait_until_erased(limit_s)

    async def delete_old_backups(self, days: int) -> None:
        """Delete the copies beside a SQLite file that are older than `days`."""
        file = self._store.address.file
        if file is not None:
            now = self._store.now()
            for path in await asyncio.to_thread(delete_old_backups, file, days, now):
                log.info("the backup %s was older than %d days and is deleted", path, days)

    async def keep_turn(self, traces: TurnTraces) -> dict[str, StorageError]:
        """Store the records of a turn in one transaction. Return the errors by part.

        A refused part does not affect the others. A StorageAwayError means that the part is kept
        and stored later.
        """
        entries = self._entries(traces)
        errors = await self._store.writer.write_all(list(entries.values()))
        return {what: error for what, error in zip(entries, errors, strict=True) if error}

    def queue_turn(self, traces: TurnTraces) -> None:
        """Queue the record of a turn that ends with its process. `close` writes what is left."""
        for entry in self._entries(traces).values():
            self._store.writer.queue_entry(entry)

    async def count_usage(self, used: Sequence[UsedRequest]) -> None:
        """Count requests for a quota.

        Raises StorageAwayError if the database is away; they count later.
        """
        await self._store.writer.write_entry(self._usage_entry(used))

    def queue_usage(self, used: Sequence[UsedRequest]) -> None:
        """Queue the usage of a turn that ends before it can store anything else."""
        self._store.writer.queue_entry(self._usage_entry(used))

    async def prune(self) -> None:
        """Delete data that is too old or too much. Call it now and then."""
        kept = (self.journal, self.turns, self.memory, self.summaries, self.sprite_messages)
        entries = [one.pruning() for one in (*kept, self.tables, self.usage_counts)]
        entries += [one.pruning() for one in (self.versions, self.reactions)]
        for error in await self._store.writer.write_all(entries):
            if error is not None:
                raise error
        await self.schedules.forget_ended()
        if self._store.erasure is not None:
            await self._store.erasure.shorten()

    def _entries(self, traces: TurnTraces) -> dict[str, WriteEntry]:
        channel_id = traces.turn.channel_id
        entries = {"turn": self._turn_entry(traces)}
        if traces.exchange is not None:
            kept = {"keep": traces.keep_exchanges, "days": traces.exchange_days}
            entries["memory"] = self.memory.adding(traces.exchange, **kept)
        if traces.sprites:
            entries["sprites"] = self.sprite_messages.adding(channel_id, traces.sprites)
        if traces.tables:
            entries["tables"] = self.tables.adding(channel_id, traces.tables)
        if traces.used:
            entries["usage"] = self._usage_entry(traces.used)
        if traces.journal_key is not None:
            entries["journal"] = self.journal.finishing(traces.journal_key)
        return entries

    def _turn_entry(self, traces: TurnTraces) -> WriteEntry:
        """Return the entry that stores a turn and settles its question, both or neither."""
        entry = self.turns.adding(traces.turn)
        if traces.cut_question is not None:
            steps = self.questions.keeping(traces.cut_question).steps
        elif traces.settled_question_id is not None:
            settled_ids = (traces.settled_question_id,)
            steps = self.questions.settling(traces.turn.channel_id, settled_ids).steps
        else:
            return entry
        return WriteEntry((*entry.steps, *steps), lane=entry.lane)

    def _usage_entry(self, used: Sequence[UsedRequest]) -> WriteEntry:
        return WriteEntry(tallies=(*self.usage_counts.adding(used), *self.usage.adding(used)))

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Receive the changes of other processes, if the database can report them."""
        address = self._store.address
        if address.kind == "sqlite" or address.is_pooled:
            yield
            return
        async with listening(self._store.engine, self.changes):
            yield


async def check_secrets(url: str, vault: SecretVault) -> None:
    """Raise StorageError if the vault cannot decrypt a secret. Needs an up-to-date schema."""
    address = address_of(url)
    async with open_engine(address) as engine:
        store = Transactions(engine, address, utc_now)
        try:
            await KeyRepository(store, vault).check()
        finally:
            await store.close()


async def count_servers_with_models(url: str) -> int:
    """Return how many servers have chosen models of their own. Needs an up-to-date schema."""
    address = address_of(url)
    async with open_engine(address) as engine:
        store = Transactions(engine, address, utc_now)
        try:
            return await ModelRepository(store).count_servers()
        finally:
            await store.close()
