"""Deletes what is older than the operator wants to keep."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete

from oshaberi.storage.schema.table_rows import (
    ExchangeRow,
    FactRow,
    QuotaNotice,
    SpriteMessageRow,
    TableSourceRow,
    TurnRow,
    UsageCount,
)
from oshaberi.storage.transactions import Transactions, count
from oshaberi.storage.usage_day import first_kept_day


@dataclass(frozen=True, slots=True)
class RetentionPeriods:
    """The periods in days; 0 keeps data until somebody deletes it."""

    turns_days: int
    facts_days: int
    usage_days: int


class ExpiryRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store

    async def delete_expired(self, periods: RetentionPeriods) -> int:
        """Delete rows that are too old. Return their number."""
        now = self._store.now()
        old = [delete(ExchangeRow).where(ExchangeRow.expires_at <= now)]
        if periods.turns_days:
            since = now - timedelta(days=periods.turns_days)
            old += [delete(row).where(row.at < since) for row in _OF_TURNS]
        if periods.facts_days:
            old.append(delete(FactRow).where(FactRow.at < now - timedelta(days=periods.facts_days)))
        if periods.usage_days:
            first = first_kept_day(now, periods.usage_days)
            old += [delete(row).where(row.day < first) for row in (UsageCount, QuotaNotice)]
        async with self._store.write() as session:
            return sum([await count(session, statement) for statement in old])


_OF_TURNS = (TurnRow, SpriteMessageRow, TableSourceRow)
