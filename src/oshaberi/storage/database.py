"""An open database, with one repository for each kind of record."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from oshaberi.storage.database_engine import open_engine
from oshaberi.storage.database_urls import address_of
from oshaberi.storage.repositories.exchange_repository import ExchangeRepository
from oshaberi.storage.repositories.fact_repository import FactRepository
from oshaberi.storage.repositories.instance_repository import InstanceRepository
from oshaberi.storage.repositories.journal_repository import JournalRepository
from oshaberi.storage.repositories.key_repository import KeyRepository
from oshaberi.storage.repositories.message_repository import (
    SpriteMessageRepository,
    TableSourceRepository,
)
from oshaberi.storage.repositories.model_repository import ModelRepository
from oshaberi.storage.repositories.persona_repository import PersonaRepository
from oshaberi.storage.repositories.seen_repository import SeenRepository
from oshaberi.storage.repositories.server_repository import ServerRepository
from oshaberi.storage.repositories.turn_repository import TurnRepository
from oshaberi.storage.repositories.usage_counts import UsageCounts
from oshaberi.storage.repositories.usage_repository import UsageRepository
from oshaberi.storage.schema.migration_runner import migrate, upgrade
from oshaberi.storage.secret_vault import SecretVault
from oshaberi.storage.transactions import Now, Transactions, utc_now


class Database:
    """Any number of tasks of one loop may use it at once."""

    def __init__(self, store: Transactions, vault: SecretVault) -> None:
        self.servers = ServerRepository(store)
        self.personas = PersonaRepository(store)
        self.sprite_messages = SpriteMessageRepository(store)
        self.tables = TableSourceRepository(store)
        self.models = ModelRepository(store)
        self.keys = KeyRepository(store, vault)
        self.memory = ExchangeRepository(store)
        self.facts = FactRepository(store)
        self.usage = UsageRepository(store)
        self.usage_counts = UsageCounts(store)
        self.seen = SeenRepository(store)
        self.journal = JournalRepository(store)
        self.instances = InstanceRepository(store)
        self.turns = TurnRepository(store)

    @classmethod
    @asynccontextmanager
    async def open(
        cls, url: str, vault: SecretVault, *, now: Now = utc_now
    ) -> AsyncIterator[Database]:
        """Made if it is not there, migrated, and its secrets found to be readable."""
        address = address_of(url)
        if not address.in_memory:
            await upgrade(url)
        async with open_engine(address) as engine:
            if address.in_memory:
                await migrate(engine, address)
            database = cls(Transactions(engine, address, now), vault)
            await database.keys.renew()
            yield database


async def check_secrets(url: str, vault: SecretVault) -> None:
    """StorageError if the vault cannot read a secret. Only for a schema that is up to date."""
    address = address_of(url)
    async with open_engine(address) as engine:
        await KeyRepository(Transactions(engine, address, utc_now), vault).check()
