"""Column types that mean the same on SQLite and PostgreSQL."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, DateTime, Dialect, Integer, Text
from sqlalchemy.types import TypeDecorator

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

RowId = BigInteger().with_variant(Integer, "sqlite")
"""SQLite numbers rows automatically only in an INTEGER column, which has 64 bits there."""


class UtcMoment(TypeDecorator[datetime]):
    """A time in UTC. SQLite drops the zone, so it is added on reading."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: Any, _dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        aware: datetime = value if value.tzinfo else value.replace(tzinfo=UTC)
        return aware.astimezone(UTC)


class StorableText(TypeDecorator[str]):
    """Any text. Characters that a database cannot hold (NUL, lone surrogates) become U+FFFD."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> str | None:
        return None if value is None else _UNSTORABLE.sub("\ufffd", value)
