"""Model chains and encrypted API keys, and who uses them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, cast

from sqlalchemy import ColumnElement, and_, delete, func, select, update

from oshaberi.bot.storage.changes import StoredChange
from oshaberi.bot.storage.errors import StorageError
from oshaberi.bot.storage.outages import reads, writes
from oshaberi.bot.storage.records import KeyRecord, ModelRecord
from oshaberi.bot.storage.schema.table_rows import ApiKeyRow, ModelRow
from oshaberi.bot.storage.secret_vault import SecretVault
from oshaberi.bot.storage.transactions import Transactions, count

# The scope of stored models and API keys: one server, or one person's direct messages.
#
# Stored models and keys are never for everybody. Models for everybody are in the operator's
# settings (`models`).


ScopeKind = Literal["server", "direct"]
NOBODY = 0


@dataclass(frozen=True, slots=True)
class KeyScope:
    """A scope. `owner_id` is a server's id, or a person's id for their direct messages.

    `direct` with the owner 0 is what older versions stored in direct messages without an owner. It
    is not used until the bot's owner adopts it.
    """

    kind: ScopeKind
    owner_id: int

    @property
    def is_somebodys(self) -> bool:
        return self.owner_id != NOBODY

    @property
    def name(self) -> int | str:
        """Return the owner for `StoredChange`."""
        return self.owner_id if self.kind == "server" else f"user {self.owner_id}"

    @property
    def server_id(self) -> int:
        return self.owner_id if self.kind == "server" else 0

    @property
    def user_id(self) -> int:
        return self.owner_id if self.kind == "direct" else 0


UNOWNED = KeyScope("direct", NOBODY)


def key_scope(server_id: int, user_id: int) -> KeyScope:
    """Return the scope of a place. In direct messages `server_id` is 0 and `user_id` decides."""
    return KeyScope("server", server_id) if server_id else KeyScope("direct", user_id)


# The model chains: of servers, of their channels, and of people in direct messages.


Chain = tuple[ModelRecord, ...]


class ModelRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    @reads
    async def chains(self, server_id: int, user_id: int = 0) -> dict[int, Chain]:
        """Return the chains of a server by channel, or (`server_id` 0) of a person.

        Channel 0 has the chain of the whole server.
        """
        scope = key_scope(server_id, user_id)
        if not scope.is_somebodys:
            return {}
        rows = select(ModelRow).where(_models_within(scope)).order_by(ModelRow.position)
        found: dict[int, Chain] = {}
        async with self._store.read() as session:
            for row in await session.scalars(rows):
                found[row.channel_id] = (*found.get(row.channel_id, ()), _record(row))
        return found

    async def chain(self, server_id: int, user_id: int = 0, channel_id: int = 0) -> Chain:
        """Return one chain: of the whole server, of one channel, or of a person."""
        return (await self.chains(server_id, user_id)).get(channel_id, ())

    @writes
    async def set_chain(
        self,
        server_id: int,
        records: Sequence[ModelRecord],
        user_id: int = 0,
        channel_id: int = 0,
    ) -> None:
        """Replace the chain. The order of the models counts, not their `position`."""
        scope = key_scope(server_id, user_id)
        if not scope.is_somebodys:
            raise StorageError("a chain of models belongs to a server or to a person: name one")
        async with self._store.write(StoredChange("models", scope.name)) as session:
            await self._store.alone(session, f"models {scope.kind} {scope.owner_id}")
            here = and_(_models_within(scope), ModelRow.channel_id == channel_id)
            await session.execute(delete(ModelRow).where(here))
            session.add_all(_row(scope, channel_id, n, one) for n, one in enumerate(records))

    @writes
    async def tell_forgotten(self, place: str) -> None:
        """Tell all processes to forget what a model refused."""
        await self._store.tell(StoredChange("lessons", place))

    @reads
    async def count_servers(self) -> int:
        """Return how many servers have models of their own."""
        owners = select(func.count(ModelRow.owner_id.distinct())).where(ModelRow.scope == "server")
        async with self._store.read() as session:
            return await session.scalar(owners) or 0

    @reads
    async def unowned(self) -> int:
        """Count the models that older versions stored in DMs without an owner."""
        rows = select(func.count()).select_from(ModelRow).where(_models_within(UNOWNED))
        async with self._store.read() as session:
            return await session.scalar(rows) or 0

    @writes
    async def adopt(self, user_id: int) -> int:
        """Give the unowned models to this person, if they have none. Return their number."""
        scope = KeyScope("direct", user_id)
        own = select(func.count()).select_from(ModelRow).where(_models_within(scope))
        async with self._store.write(StoredChange("models", scope.name)) as session:
            await self._store.alone(session, f"models {scope.kind} {user_id}")
            if await session.scalar(own):
                return 0
            return await count(
                session, update(ModelRow).where(_models_within(UNOWNED)).values(owner_id=user_id)
            )


def _models_within(scope: KeyScope) -> ColumnElement[bool]:
    return and_(ModelRow.scope == scope.kind, ModelRow.owner_id == scope.owner_id)


def _row(scope: KeyScope, channel_id: int, position: int, record: ModelRecord) -> ModelRow:
    return ModelRow(
        scope=scope.kind,
        owner_id=scope.owner_id,
        channel_id=channel_id,
        position=position,
        provider=record.provider,
        model=record.model,
        base_url=record.base_url,
        params=dict(record.params),
    )


def _record(row: ModelRow) -> ModelRecord:
    scope = KeyScope(cast(ScopeKind, row.scope), row.owner_id)
    return ModelRecord(
        server_id=scope.server_id,
        user_id=scope.user_id,
        provider=row.provider,
        model=row.model,
        base_url=row.base_url,
        params=row.params,
        position=row.position,
        id=row.id,
    )


# API keys, stored encrypted.


class KeyRepository:
    def __init__(self, store: Transactions, vault: SecretVault) -> None:
        self._store = store
        self._vault = vault

    @reads
    async def of(self, server_id: int, provider: str, user_id: int = 0) -> tuple[KeyRecord, ...]:
        """Return the keys of a server, or (`server_id` 0) of a person; oldest first."""
        scope = key_scope(server_id, user_id)
        if not scope.is_somebodys:
            return ()
        rows = select(ApiKeyRow).where(_keys_within(scope), ApiKeyRow.provider == provider)
        async with self._store.read() as session:
            found = await session.scalars(rows.order_by(ApiKeyRow.id))
            return tuple(self._record(row) for row in found)

    @reads
    async def by_provider(
        self, server_id: int, user_id: int = 0
    ) -> dict[str, tuple[KeyRecord, ...]]:
        """Return all keys of a server, or (`server_id` 0) of a person, by provider."""
        scope = key_scope(server_id, user_id)
        found: dict[str, tuple[KeyRecord, ...]] = {}
        if not scope.is_somebodys:
            return found
        rows = select(ApiKeyRow).where(_keys_within(scope)).order_by(ApiKeyRow.id)
        async with self._store.read() as session:
            for row in await session.scalars(rows):
                found[row.provider] = (*found.get(row.provider, ()), self._record(row))
        return found

    @writes
    async def add(self, record: KeyRecord) -> KeyRecord:
        scope = key_scope(record.server_id, record.user_id)
        if not scope.is_somebodys:
            raise StorageError("an API key belongs to a server or to a person: name one")
        row = ApiKeyRow(
            scope=scope.kind,
            owner_id=scope.owner_id,
            provider=record.provider,
            token=self._vault.encrypt(record.secret),
            label=record.label,
            rest_until=record.rest_until,
        )
        async with self._store.write(StoredChange("keys", scope.name)) as session:
            session.add(row)
            await session.flush()
        return replace(record, id=row.id)

    @writes
    async def remove(self, server_id: int, key_id: int, user_id: int = 0) -> bool:
        scope = key_scope(server_id, user_id)
        rows = delete(ApiKeyRow).where(_keys_within(scope), ApiKeyRow.id == key_id)
        async with self._store.write(StoredChange("keys", scope.name)) as session:
            return await count(session, rows) > 0

    @reads
    async def unowned(self) -> int:
        """Count the keys that older versions stored in direct messages without an owner."""
        rows = select(func.count()).select_from(ApiKeyRow).where(_keys_within(UNOWNED))
        async with self._store.read() as session:
            return await session.scalar(rows) or 0

    @writes
    async def adopt(self, user_id: int) -> int:
        """Give the unowned keys to this person. Return their number."""
        rows = update(ApiKeyRow).where(_keys_within(UNOWNED)).values(owner_id=user_id)
        change = StoredChange("keys", key_scope(0, user_id).name)
        async with self._store.write(change) as session:
            return await count(session, rows)

    @writes
    async def rest(self, key_id: int, until: datetime) -> None:
        """Store a cooldown, and tell the caches of the key's owner."""
        row = update(ApiKeyRow).where(ApiKeyRow.id == key_id).values(rest_until=until)
        owner = row.returning(ApiKeyRow.scope, ApiKeyRow.owner_id)
        async with self._store.write() as session:
            found = (await session.execute(owner)).one_or_none()
        if found is not None:
            scope = KeyScope(cast(ScopeKind, found.scope), found.owner_id)
            await self._store.tell(StoredChange("keys", scope.name))

    async def check(self) -> None:
        """Raise if a key cannot be decrypted. Changes nothing."""
        async with self._store.read() as session:
            for row in await session.scalars(select(ApiKeyRow)):
                self._renew_secret(row)

    async def renew(self) -> None:
        """Check that all keys can be decrypted; encrypt older ones anew with the first key."""
        async with self._store.read() as session:
            rows = (await session.scalars(select(ApiKeyRow))).all()
        old = [row for row in rows if not self._vault.is_current(row.token)]
        fresh = {row.id: self._renew_secret(row) for row in old}
        if not fresh:
            return
        async with self._store.write() as session:
            for key_id, token in fresh.items():
                await session.execute(
                    update(ApiKeyRow).where(ApiKeyRow.id == key_id).values(token=token)
                )

    def _renew_secret(self, row: ApiKeyRow) -> str:
        try:
            return self._vault.encrypt(self._vault.decrypt(row.token))
        except StorageError as error:
            raise StorageError(f"{error} (or empty the table api_keys)") from None

    def _record(self, row: ApiKeyRow) -> KeyRecord:
        scope = KeyScope(cast(ScopeKind, row.scope), row.owner_id)
        return KeyRecord(
            server_id=scope.server_id,
            user_id=scope.user_id,
            provider=row.provider,
            secret=self._vault.decrypt(row.token),
            label=row.label,
            rest_until=row.rest_until,
            id=row.id,
        )


def _keys_within(scope: KeyScope) -> ColumnElement[bool]:
    return and_(ApiKeyRow.scope == scope.kind, ApiKeyRow.owner_id == scope.owner_id)
