"""The database, open: a repository for each kind of thing that is kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from oshaberi.storage.engine import open_engine
from oshaberi.storage.facts import Facts
from oshaberi.storage.instances import Instances
from oshaberi.storage.journal import Journal
from oshaberi.storage.keys import Keys
from oshaberi.storage.memory import Memory
from oshaberi.storage.messages import SpriteMessages, TableSources
from oshaberi.storage.migrate import migrate, upgrade
from oshaberi.storage.models import Models
from oshaberi.storage.personas import Personas
from oshaberi.storage.seen import Seen
from oshaberi.storage.servers import Servers
from oshaberi.storage.store import Now, Store, utc_now
from oshaberi.storage.turns import Turns
from oshaberi.storage.urls import address_of
from oshaberi.storage.usage import Usage
from oshaberi.storage.vault import Vault


class Database:
    """Any number of tasks of one loop may use it at once."""

    def __init__(self, store: Store, vault: Vault) -> None:
        self.servers = Servers(store)
        self.personas = Personas(store)
        self.sprite_messages = SpriteMessages(store)
        self.tables = TableSources(store)
        self.models = Models(store)
        self.keys = Keys(store, vault)
        self.memory = Memory(store)
        self.facts = Facts(store)
        self.usage = Usage(store)
        self.seen = Seen(store)
        self.journal = Journal(store)
        self.instances = Instances(store)
        self.turns = Turns(store)

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str, vault: Vault, *, now: Now = utc_now) -> AsyncIterator[Database]:
        """Made if it is not there, migrated, and its secrets found to be readable."""
        address = address_of(url)
        if not address.in_memory:
            await upgrade(url)
        async with open_engine(address) as engine:
            if address.in_memory:
                await migrate(engine, address)
            database = cls(Store(engine, address, now), vault)
            await database.keys.renew()
            yield database


async def check_secrets(url: str, vault: Vault) -> None:
    """StorageError if the vault cannot read a secret. Only for a schema that is up to date."""
    address = address_of(url)
    async with open_engine(address) as engine:
        await Keys(Store(engine, address, utc_now), vault).check()
