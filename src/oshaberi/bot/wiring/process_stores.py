"""Opens the database and Redis, which processes share, and takes this process's lease."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass

from oshaberi.bot.coordination.process_coordination import (
    InstanceLease,
    ProcessCoordination,
    SingleProcess,
)
from oshaberi.bot.settings.cache_invalidation import cache_invalidation
from oshaberi.config import LoadedSettings
from oshaberi.errors import ConfigError
from oshaberi.storage import Database, SecretVault
from oshaberi.storage.postgres_lease import postgres_lease
from oshaberi.storage.sqlite_ownership import sole_owner


@dataclass(frozen=True, slots=True)
class ProcessStores:
    """The database and the coordination. `leases` tell which processes have ended."""

    db: Database
    shared: ProcessCoordination
    leases: Mapping[str, InstanceLease]


@asynccontextmanager
async def open_stores(settings: LoadedSettings) -> AsyncIterator[ProcessStores]:
    """Open the stores for the block."""
    vault = SecretVault.from_environment_or_file(settings.secret_key_file)
    with _owned(settings):
        async with (
            Database.open(settings.database_url, vault) as db,
            shared_state(settings.redis_url, settings.instance) as shared,
            postgres_lease(settings.database_url, settings.instance) as lease,
            cache_invalidation(db, settings.redis_url),
        ):
            leases = {**shared.leases, **({} if lease is None else {"postgresql": lease})}
            yield ProcessStores(db, shared, leases)


@asynccontextmanager
async def shared_state(
    redis_url: str | None, instance: str = ""
) -> AsyncIterator[ProcessCoordination]:
    """Use memory, or Redis if there is a URL. Raises ConfigError if Redis is not reachable."""
    if redis_url is None:
        yield SingleProcess()
        return
    try:
        from oshaberi.bot.coordination.redis_coordination import over_redis
    except ImportError:
        raise ConfigError('redis_url: needs pip install "oshaberi[redis]"') from None

    async with over_redis(redis_url, instance) as shared:
        yield shared


def _owned(settings: LoadedSettings) -> AbstractContextManager[object]:
    """Keep a second process off a SQLite file. With Redis that is not needed: turns hold locks."""
    if settings.redis_url is not None:
        return nullcontext()
    return sole_owner(settings.database_url, settings.instance)
