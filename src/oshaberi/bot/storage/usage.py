"""The daily usage counts and their limits. Values only.

A day begins at midnight UTC, for every server.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal

BudgetOwner = Literal["operator", "server"]
"""Whose limits apply: those of the operator, or those of the server."""
Subject = Literal["user", "channel", "server"]
Counted = Literal["requests", "tokens"]


def usage_day(at: datetime) -> date:
    """Return the day that a request made at this time counts for."""
    return at.astimezone(UTC).date()


def renewal(day: date) -> datetime:
    """Return when the quotas of a day are renewed."""
    return datetime.combine(day + timedelta(1), time(), UTC)


def first_kept_day(at: datetime, kept_days: int) -> date:
    """Return the oldest day whose counts have not been deleted yet."""
    return usage_day(at) - timedelta(kept_days)


@dataclass(frozen=True, slots=True, order=True)
class UsageAccount:
    """One count.

    The operator's budget counts requests with the operator's keys, in all servers (`server_id`
    0). A server's budget counts all requests there, with any key; `server_id` 0 is direct
    messages.
    """

    budget_owner: BudgetOwner
    server_id: int
    subject: Subject
    subject_id: int


@dataclass(frozen=True, slots=True)
class UsageLimit:
    """The daily limit of an account; 0 is no limit."""

    account: UsageAccount
    requests: int = 0
    tokens: int = 0

    @property
    def is_set(self) -> bool:
        return bool(self.requests or self.tokens)

    def used_up(self, used: UsageTotals) -> Counted | None:
        if self.requests and used.requests >= self.requests:
            return "requests"
        return "tokens" if self.tokens and used.tokens >= self.tokens else None


def has_limits(limits: Iterable[UsageLimit]) -> bool:
    """Return whether any of the limits is set."""
    return any(limit.is_set for limit in limits)


@dataclass(frozen=True, slots=True)
class UsageTotals:
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micros: int = 0
    """In millionths of a dollar, of the models whose price is known."""
    cached_tokens: int = 0
    """The part of the input that providers read from their caches."""

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class UsedUp:
    """The limit that was reached."""

    limit: UsageLimit
    counted: Counted

    @property
    def most(self) -> int:
        return self.limit.requests if self.counted == "requests" else self.limit.tokens
