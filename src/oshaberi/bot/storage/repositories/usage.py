"""What users, channels, servers and models use, by day and in total."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, cast

from sqlalchemy import ColumnElement, Executable, and_, bindparam, delete, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from oshaberi.bot.storage.group_commit import WriteEntry, WriteStep
from oshaberi.bot.storage.outages import reads, writes
from oshaberi.bot.storage.records import UsageRecord, UsedRequest
from oshaberi.bot.storage.schema.table_rows import QuotaNotice, UsageCount, UsageRow
from oshaberi.bot.storage.transactions import Transactions, count, in_passing
from oshaberi.bot.storage.usage import (
    BudgetOwner,
    Subject,
    UsageAccount,
    UsageLimit,
    UsageTotals,
    UsedUp,
    first_kept_day,
)

# Daily counts. Limits apply over all processes.
#
# A request is counted in one transaction before it is made: for every account the transaction
# locks a row, compares it with the limit and increases it; if one limit is reached, nothing is
# counted. Rows are locked in one order, so that two processes never wait for each other.


KEPT_DAYS = 62
"""The most that `retention_usage_days` can be."""
_KEY = ("day", "purse", "server_id", "subject", "subject_id")
"""The columns of the key; `purse` is that of `budget_owner`."""
_COUNTED = ("requests", "input_tokens", "output_tokens", "cost_micros", "cached_tokens")
_OLD = in_passing(delete(UsageCount).where(UsageCount.day < bindparam("edge")))
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
                if not await count(session, self._count_within(day, limit.account, used, limit)):
                    reached = await _used_up(session, day, limit)
                    await session.rollback()
                    return reached
        return None

    @reads
    async def used_up(self, day: date, limits: Sequence[UsageLimit]) -> UsedUp | None:
        """Return the first limit that is already reached. Counts nothing."""
        rows = select(UsageCount).where(
            or_(*(_within(limit.account, day, day) for limit in limits))
        )
        async with self._store.read() as session:
            used = {_account(row): _record(row) for row in await session.scalars(rows)}
        for limit in limits:
            counted = limit.used_up(used.get(limit.account, UsageTotals()))
            if counted is not None:
                return UsedUp(limit, counted)
        return None

    async def add(self, day: date, accounts: Iterable[UsageAccount], used: UsageTotals) -> None:
        """Count what a request used beyond its reservation. The difference may be negative."""
        steps = tuple(self._adding(day, account, used) for account in accounts)
        await self._store.writer.write_entry(WriteEntry(tallies=steps))

    def adding(self, used: Sequence[UsedRequest]) -> list[WriteStep]:
        """Return the steps that count requests in their accounts."""
        return [
            self._adding(one.day, account, one.counted) for one in used for account in one.accounts
        ]

    def _adding(self, day: date, account: UsageAccount, used: UsageTotals) -> WriteStep:
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
        """Return the users with the most tokens in a server, largest first."""
        there = and_(
            UsageCount.budget_owner == "server",
            UsageCount.server_id == server_id,
            UsageCount.subject == "user",
        )
        rows = select(UsageCount).where(UsageCount.day == day, there)
        by_tokens = (UsageCount.input_tokens + UsageCount.output_tokens).desc()
        async with self._store.read() as session:
            found = await session.scalars(
                rows.order_by(by_tokens, UsageCount.subject_id).limit(most)
            )
            return tuple((row.subject_id, _record(row)) for row in found)

    @reads
    async def by_server(
        self, owner: BudgetOwner, first: date, last: date
    ) -> Mapping[int, UsageTotals]:
        """Return the totals of each server from the first of these days to the last."""
        columns = [getattr(UsageCount, name) for name in _COUNTED]
        days = UsageCount.day.between(first, last)
        within = and_(days, UsageCount.budget_owner == owner, UsageCount.subject == "server")
        rows = select(UsageCount.subject_id, *map(func.sum, columns)).where(within)
        async with self._store.read() as session:
            found = (await session.execute(rows.group_by(UsageCount.subject_id))).all()
        return {int(server_id): UsageTotals(*map(int, sums)) for server_id, *sums in found}

    @writes
    async def tell_once(self, day: date, quota: str, subject_id: int, channel_id: int) -> bool:
        """Return whether the caller must send the notice: True only for the first caller."""
        row = self._store.insert(QuotaNotice).values(
            day=day, quota=quota, subject_id=subject_id, channel_id=channel_id
        )
        async with self._store.write() as session:
            return await count(session, row.on_conflict_do_nothing()) > 0

    def _count_within(
        self, day: date, account: UsageAccount, used: UsageTotals, limit: UsageLimit
    ) -> Executable:
        """Return the statement that counts. It changes no row if the limit is reached."""
        return self._counting(self._store, limit, _values(day, account, used))

    @staticmethod
    def _counting(
        store: Transactions, limit: UsageLimit | None, values: dict[str, Any] | None = None
    ) -> Executable:
        row = store.insert(UsageCount)
        if values is not None:
            row = row.values(values)
        counting: Executable = row.on_conflict_do_update(
            index_elements=list(_KEY),
            set_={name: getattr(UsageCount, name) + row.excluded[name] for name in _COUNTED},
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
        "cached_tokens": used.cached_tokens,
    }


def _below(limit: UsageLimit | None) -> ColumnElement[bool] | None:
    parts = []
    if limit is not None and limit.requests:
        parts.append(UsageCount.requests < limit.requests)
    if limit is not None and limit.tokens:
        parts.append(UsageCount.input_tokens + UsageCount.output_tokens < limit.tokens)
    return and_(*parts) if parts else None


async def _used_up(session: AsyncSession, day: date, limit: UsageLimit) -> UsedUp:
    used = await _totals(session, _within(limit.account, day, day))
    return UsedUp(limit, limit.used_up(used) or "requests")


def _within(account: UsageAccount, first: date, last: date) -> ColumnElement[bool]:
    return and_(
        UsageCount.day.between(first, last),
        UsageCount.budget_owner == account.budget_owner,
        UsageCount.server_id == account.server_id,
        UsageCount.subject == account.subject,
        UsageCount.subject_id == account.subject_id,
    )


async def _totals(session: AsyncSession, rows: ColumnElement[bool]) -> UsageTotals:
    columns = [getattr(UsageCount, name) for name in _COUNTED]
    sums = select(*(func.coalesce(func.sum(column), 0) for column in columns)).where(rows)
    return UsageTotals(*map(int, (await session.execute(sums)).one()))


def _account(row: UsageCount) -> UsageAccount:
    owner, subject = cast(BudgetOwner, row.budget_owner), cast(Subject, row.subject)
    return UsageAccount(owner, row.server_id, subject, row.subject_id)


def _record(row: UsageCount) -> UsageTotals:
    return UsageTotals(*(getattr(row, name) for name in _COUNTED))


# Totals: tokens per server and model.


MOST_MODELS = 100


class TokenUsageRepository:
    def __init__(self, store: Transactions) -> None:
        self._store = store
        row = store.insert(UsageRow)
        self._add: Executable = row.on_conflict_do_update(
            index_elements=["server_id", "provider", "model"],
            set_={
                "requests": UsageRow.requests + row.excluded.requests,
                "input_tokens": UsageRow.input_tokens + row.excluded.input_tokens,
                "output_tokens": UsageRow.output_tokens + row.excluded.output_tokens,
                "cached_tokens": UsageRow.cached_tokens + row.excluded.cached_tokens,
            },
        )

    async def add(
        self, server_id: int, provider: str, model: str, input_tokens: int, output_tokens: int
    ) -> None:
        """Count one request."""
        step = self._adding(server_id, provider, model, input_tokens, output_tokens, 0)
        await self._store.writer.write_entry(WriteEntry(tallies=(step,)))

    def adding(self, used: Sequence[UsedRequest]) -> list[WriteStep]:
        """Return the steps that count requests for their models."""
        return [
            self._adding(
                one.server_id,
                one.provider,
                one.model,
                one.input_tokens,
                one.output_tokens,
                one.cached_tokens,
            )
            for one in used
        ]

    def _adding(
        self,
        server_id: int,
        provider: str,
        model: str,
        input_tokens: int,
        output_tokens: int,
        cached_tokens: int,
    ) -> WriteStep:
        values = {
            "server_id": server_id,
            "provider": provider,
            "model": model,
            "requests": 1,
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
            "cached_tokens": cached_tokens,
        }
        return WriteStep(self._add, values)

    @reads
    async def by_model(self) -> tuple[UsageRecord, ...]:
        """Return the usage of each model in all servers together, the most used model first."""
        counts = (
            UsageRow.requests,
            UsageRow.input_tokens,
            UsageRow.output_tokens,
            UsageRow.cached_tokens,
        )
        sums = [func.sum(column) for column in counts]
        rows = select(UsageRow.provider, UsageRow.model, *sums).group_by(
            UsageRow.provider, UsageRow.model
        )
        largest = rows.order_by(sums[0].desc(), UsageRow.provider, UsageRow.model).limit(
            MOST_MODELS
        )
        async with self._store.read() as session:
            found = (await session.execute(largest)).all()
        return tuple(
            UsageRecord(0, provider, model, *map(int, used)) for provider, model, *used in found
        )

    @reads
    async def of(self, server_id: int) -> tuple[UsageRecord, ...]:
        rows = (
            select(UsageRow)
            .where(UsageRow.server_id == server_id)
            .order_by(UsageRow.provider, UsageRow.model)
        )
        async with self._store.read() as session:
            found = (await session.scalars(rows)).all()
        return tuple(
            UsageRecord(
                row.server_id,
                row.provider,
                row.model,
                row.requests,
                row.input_tokens,
                row.output_tokens,
                row.cached_tokens,
            )
            for row in found
        )
