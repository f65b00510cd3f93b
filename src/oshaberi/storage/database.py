"""An open database, with one repository for each kind of record."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from oshaberi.storage.changes.postgres_changes import listening
from oshaberi.storage.database_engine import open_engine, thread_engine
from oshaberi.storage.database_urls import address_of
from oshaberi.storage.outages.database_circuit_breaker import DatabaseMeter
from oshaberi.storage.personal_data.departed_server_repository import DepartedServerRepository
from oshaberi.storage.personal_data.expiry_repository import ExpiryRepository
from oshaberi.storage.personal_data.opt_out_repository import OptOutRepository
from oshaberi.storage.personal_data.personal_data_repository import PersonalDataRepository
from oshaberi.storage.repositories.daily_usage_repository import DailyUsageRepository
from oshaberi.storage.repositories.exchange_repository import ExchangeRepository
from oshaberi.storage.repositories.fact_repository import FactRepository
from oshaberi.storage.repositories.instance_repository import InstanceRepository
from oshaberi.storage.repositories.journal_repository import JournalRepository
from oshaberi.storage.repositories.key_repository import KeyRepository
from oshaberi.storage.repositories.last_seen_repository import LastSeenRepository
from oshaberi.storage.repositories.message_repository import (
    SpriteMessageRepository,
    TableSourceRepository,
)
from oshaberi.storage.repositories.model_repository import ModelRepository
from oshaberi.storage.repositories.persona_repository import PersonaRepository
from oshaberi.storage.repositories.question_repository import QuestionRepository
from oshaberi.storage.repositories.server_repository import ServerRepository
from oshaberi.storage.repositories.summary_repository import SummaryRepository
from oshaberi.storage.repositories.token_usage_repository import TokenUsageRepository
from oshaberi.storage.repositories.turn_repository import TurnRepository
from oshaberi.storage.schema.migration_runner import migrate, upgrade
from oshaberi.storage.secret_vault import SecretVault
from oshaberi.storage.sqlite_backups import delete_old_backups
from oshaberi.storage.storage_errors import StorageError
from oshaberi.storage.stored_records import TurnTraces, UsedRequest
from oshaberi.storage.stored_surroundings import TurnReading
from oshaberi.storage.transactions import Now, Transactions, utc_now
from oshaberi.storage.write_entries import WriteEntry

log = logging.getLogger(__name__)


class Database:
    """An open database. Any number of tasks of one event loop may use it at the same time."""

    def __init__(self, store: Transactions, vault: SecretVault) -> None:
        self._store = store
        self.changes = store.changes
        self.servers = ServerRepository(store)
        self.personas = PersonaRepository(store)
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
        self.reading = TurnReading(store)
        self.personal_data = PersonalDataRepository(store)
        self.opt_outs = OptOutRepository(store)
        self.departed_servers = DepartedServerRepository(store)
        self.expiry = ExpiryRepository(store)

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

    async def erased(self, limit_s: float) -> bool:
        """Wait until deleted text is in no file of the database. Return False after `limit_s`.

        Then a program that reads the file is in the way, and it is erased as soon as that ends.
        PostgreSQL does this itself (VACUUM).
        """
        return self._store.erasure is None or await self._store.erasure.finished(limit_s)

    async def erase(self, limit_s: float) -> bool:
        """Erase everything that was ever deleted, and what was deleted in passing."""
        if self._store.erasure is not None:
            self._store.erasure.want()
        return await self.erased(limit_s)

    async def delete_old_backups(self, days: int) -> None:
        """Delete the copies of a SQLite file beside it that are older than so many days."""
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
        """Count requests for a quota. Raises StorageAwayError if they are counted later."""
        await self._store.writer.write_entry(self._usage_entry(used))

    def queue_usage(self, used: Sequence[UsedRequest]) -> None:
        """Queue the usage of a turn that ends before it can store anything else."""
        self._store.writer.queue_entry(self._usage_entry(used))

    async def prune(self) -> None:
        """Delete data that is too old or too much. Call it now and then."""
        kept = (self.journal, self.turns, self.memory, self.summaries, self.sprite_messages)
        entries = [one.pruning() for one in (*kept, self.tables, self.usage_counts)]
        for error in await self._store.writer.write_all(entries):
            if error is not None:
                raise error
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
        steps = [
            self.usage_counts.adding(one.day, account, one.counted)
            for one in used
            for account in one.accounts
        ]
        steps += [
            self.usage.adding(
                one.server_id, one.provider, one.model, one.input_tokens, one.output_tokens
            )
            for one in used
        ]
        return WriteEntry(tallies=tuple(steps))

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
