"""Counts what users, channels and servers use each day. Limits apply over all processes.

A request is counted in one transaction before it is made: for every account the transaction locks a
row, compares it with the limit and increases it; if one limit is reached, nothing is counted. Rows
are locked in one order, so that two processes never wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, cast

from sqlalchemy import ColumnElement, Executable, and_, bindparam, delete, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from oshaberi.storage.outages.repository_decorators import reads, writes
from oshaberi.storage.schema.table_rows import QuotaNotice
from oshaberi.storage.schema.table_rows import UsageCount as Row
from oshaberi.storage.transactions import Transactions, count, in_passing
from oshaberi.storage.usage_accounts import (
    BudgetOwner,
    Subject,
    UsageAccount,
    UsageLimit,
    UsageTotals,
    UsedUp,
)
from oshaberi.storage.usage_day import first_kept_day
from oshaberi.storage.write_entries import WriteEntry, WriteStep

KEPT_DAYS = 62
"""The most that `retention_usage_days` can be."""
_KEY = ("day", "purse", "server_id", "subject", "subject_id")
"""The columns of the key; `purse` is that of `budget_owner`."""
_COUNTED = ("requests", "input_tokens", "output_tokens", "cost_micros")
_OLD = in_passing(delete(Row).where(Row.day < bindparam("edge")))
_OLD_NOTICES = in_passing(delete(QuotaNotice).where(QuotaNotice.day < bindparam("edge")))


class DailyUsageRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store
        self._count_up = self._counting(store, None)

    @writes
    async def reserve(
        self, day: date, limits: Sequence[UsageLimit], input_tokens: int
    ) -> UsedUp | None:
        """Count one request in all accounts, or in none. Return the limit that was reached."""
        async with self._store.write() as session:
            for limit in sorted(limits, key=lambda one: one.account):
                used = UsageTotals(1, input_tokens)
                if not await count(session, self._added(day, limit.account, used, limit)):
                    reached = await _used_up(session, day, limit)
                    await session.rollback()
                    return reached
        return None

    @reads
    async def used_up(self, day: date, limits: Sequence[UsageLimit]) -> UsedUp | None:
        """Return the first limit that is already reached. Counts nothing."""
        rows = select(Row).where(or_(*(_within(limit.account, day, day) for limit in limits)))
        async with self._store.read() as session:
            used = {_account(row): _record(row) for row in await session.scalars(rows)}
        for limit in limits:
            counted = limit.used_up(used.get(limit.account, UsageTotals()))
            if counted is not None:
                return UsedUp(limit, counted)
        return None

    async def add(self, day: date, accounts: Iterable[UsageAccount], used: UsageTotals) -> None:
        """Count what a request used beyond its reservation. The difference may be negative."""
        steps = tuple(self.adding(day, account, used) for account in accounts)
        await self._store.writer.write_entry(WriteEntry(tallies=steps))

    def adding(self, day: date, account: UsageAccount, used: UsageTotals) -> WriteStep:
        return WriteStep(self._count_up, _values(day, account, used))

    def pruning(self) -> WriteEntry:
        """Return the entry that deletes days that are too old to be shown."""
        edge = {"edge": first_kept_day(self._store.now(), KEPT_DAYS)}
        steps = (WriteStep(_OLD, edge), WriteStep(_OLD_NOTICES, edge))
        return WriteEntry(steps, repeatable=True)

    @reads
    async def of(self, account: UsageAccount, first: date, last: date) -> UsageTotals:
        """Return the totals from the first of these days to the last."""
        async with self._store.read() as session:
            return await _totals(session, _within(account, first, last))

    @reads
    async def largest_users(
        self, server_id: int, day: date, most: int
    ) -> tuple[tuple[int, UsageTotals], ...]:
        """Return the users with most tokens in a server, the largest first."""
        there = and_(
            Row.budget_owner == "server", Row.server_id == server_id, Row.subject == "user"
        )
        rows = select(Row).where(Row.day == day, there)
        by_tokens = (Row.input_tokens + Row.output_tokens).desc()
        async with self._store.read() as session:
            found = await session.scalars(rows.order_by(by_tokens, Row.subject_id).limit(most))
            return tuple((row.subject_id, _record(row)) for row in found)

    @reads
    async def by_server(
        self, owner: BudgetOwner, first: date, last: date
    ) -> Mapping[int, UsageTotals]:
        """Return the totals of each server from the first of these days to the last."""
        columns = (Row.requests, Row.input_tokens, Row.output_tokens, Row.cost_micros)
        days = Row.day.between(first, last)
        within = and_(days, Row.budget_owner == owner, Row.subject == "server")
        rows = select(Row.subject_id, *map(func.sum, columns)).where(within)
        async with self._store.read() as session:
            found = (await session.execute(rows.group_by(Row.subject_id))).all()
        return {int(server_id): UsageTotals(*map(int, sums)) for server_id, *sums in found}

    @writes
    async def tell_once(self, day: date, quota: str, subject_id: int, channel_id: int) -> bool:
        """Tell whether the caller must send the notice: True only for the first caller."""
        row = self._store.insert(QuotaNotice).values(
            day=day, quota=quota, subject_id=subject_id, channel_id=channel_id
        )
        async with self._store.write() as session:
            return await count(session, row.on_conflict_do_nothing()) > 0

    def _added(
        self, day: date, account: UsageAccount, used: UsageTotals, limit: UsageLimit
    ) -> Executable:
        """Return the statement that counts. It changes no row if the limit is reached."""
        return self._counting(self._store, limit, _values(day, account, used))

    @staticmethod
    def _counting(
        store: Transactions, limit: UsageLimit | None, values: dict[str, Any] | None = None
    ) -> Executable:
        row = store.insert(Row)
        if values is not None:
            row = row.values(values)
        counting: Executable = row.on_conflict_do_update(
            index_elements=list(_KEY),
            set_={name: getattr(Row, name) + row.excluded[name] for name in _COUNTED},
            where=_below(limit),
        )
        return counting


def _values(day: date, account: UsageAccount, used: UsageTotals) -> dict[str, Any]:
    """Return the values with the key first, because rows are locked in the order of keys."""
    return {
        "purse": account.budget_owner,
        "server_id": account.server_id,
        "subject": account.subject,
        "subject_id": account.subject_id,
        "day": day,
        "requests": used.requests,
        "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens,
        "cost_micros": used.cost_micros,
    }


def _below(limit: UsageLimit | None) -> ColumnElement[bool] | None:
    parts = []
    if limit is not None and limit.requests:
        parts.append(Row.requests < limit.requests)
    if limit is not None and limit.tokens:
        parts.append(Row.input_tokens + Row.output_tokens < limit.tokens)
    return and_(*parts) if parts else None


async def _used_up(session: AsyncSession, day: date, limit: UsageLimit) -> UsedUp:
    used = await _totals(session, _within(limit.account, day, day))
    return UsedUp(limit, limit.used_up(used) or "requests")


def _within(account: UsageAccount, first: date, last: date) -> ColumnElement[bool]:
    return and_(
        Row.day.between(first, last),
        Row.budget_owner == account.budget_owner,
        Row.server_id == account.server_id,
        Row.subject == account.subject,
        Row.subject_id == account.subject_id,
    )


async def _totals(session: AsyncSession, rows: ColumnElement[bool]) -> UsageTotals:
    columns = (Row.requests, Row.input_tokens, Row.output_tokens, Row.cost_micros)
    sums = select(*(func.coalesce(func.sum(column), 0) for column in columns)).where(rows)
    return UsageTotals(*map(int, (await session.execute(sums)).one()))


def _account(row: Row) -> UsageAccount:
    owner, subject = cast(BudgetOwner, row.budget_owner), cast(Subject, row.subject)
    return UsageAccount(owner, row.server_id, subject, row.subject_id)


def _record(row: Row) -> UsageTotals:
    return UsageTotals(row.requests, row.input_tokens, row.output_tokens, row.cost_micros)
