"""Opens a database for one scenario."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from oshaberi.bot.storage import Database, SecretVault
from oshaberi.bot.storage.database_urls import address_of

T = TypeVar("T")

KEY = "0wHYgs3wUzcqbhsUcrIUTWKlHiQV7KDjYUP1AkkMX7M="
NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.time = NOON

    def __call__(self) -> datetime:
        return self.time

    def pass_days(self, days: float) -> None:
        self.time += timedelta(days=days)


def with_database(
    url: str, scenario: Callable[[Database], Awaitable[T]], *, now: Clock | None = None
) -> T:
    async def main() -> T:
        async with Database.open(url, SecretVault([KEY]), now=now or Clock()) as db:
            return await scenario(db)

    return asyncio.run(main())


def ask(url: str, *statements: str) -> list[tuple[Any, ...]]:
    """Past the repositories, as an administrator would. The rows of the last statement."""

    async def main() -> list[tuple[Any, ...]]:
        engine = create_async_engine(address_of(url).url)
        rows: list[tuple[Any, ...]] = []
        try:
            async with engine.begin() as connection:
                for statement in statements:
                    result = await connection.execute(text(statement))
                    rows = [tuple(row) for row in result] if result.returns_rows else []
        finally:
            await engine.dispose()
        return rows

    return asyncio.run(main())
