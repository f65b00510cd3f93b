"""Counts every request to a model before it is made, and refuses it when a quota is used up.

Two purses hold at once: the operator's quotas for what runs on the operator's keys, and the
server's own for everything that runs there. If quotas are set and the database is away, nothing
is asked; without quotas a count that fails is only logged.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from oshaberi.chunks import Usage
from oshaberi.conversation.turn_channel import TurnChannel
from oshaberi.conversation.turn_config import TurnConfig
from oshaberi.errors import OshaberiError
from oshaberi.storage.storage_errors import StorageError
from oshaberi.storage.usage_accounts import (
    Purse,
    Subject,
    UsageAccount,
    UsageLimit,
    UsageTotals,
    UsedUp,
)
from oshaberi.turns.generation.model_chain import ModelCandidate, is_same_model
from oshaberi.turns.turn_services import TurnServices
from oshaberi.turns.turn_store import TurnStore

log = logging.getLogger(__name__)

SUBJECTS: tuple[Subject, ...] = ("user", "channel", "server")


@dataclass(frozen=True, slots=True)
class QuotaPlace:
    """Who asks, and where. `server_id` 0 is direct messages."""

    server_id: int
    channel_id: int
    user_id: int

    def id_of(self, subject: Subject) -> int:
        ids = {"user": self.user_id, "channel": self.channel_id, "server": self.server_id}
        return ids[subject]


def quota_place(turn_channel: TurnChannel, user_id: int) -> QuotaPlace:
    """In a thread its channel: else everybody would open one."""
    return QuotaPlace(
        turn_channel.server_id, turn_channel.parent_id or turn_channel.channel_id, user_id
    )


class QuotaReachedError(OshaberiError):
    """A quota is used up until `renews_at`."""

    def __init__(self, reached: UsedUp, renews_at: datetime) -> None:
        self.reached = reached
        self.renews_at = renews_at
        super().__init__(f"{quota_name(reached)} is used up until {renews_at:%Y-%m-%d %H:%M} UTC")

    @property
    def is_operators(self) -> bool:
        return self.reached.limit.account.purse == "operator"


class QuotaUnknownError(OshaberiError):
    """The database is away, so nobody knows whether a quota is used up."""


QuotaRefusal = QuotaReachedError | QuotaUnknownError


@dataclass(frozen=True, slots=True)
class Reservation:
    """A request that may be made, and what was counted for it already."""

    day: date
    candidate: ModelCandidate
    counted: UsageTotals
    input_tokens: int


class RequestQuota:
    """Of one turn. `own` has the quotas of the server itself."""

    def __init__(self, services: TurnServices, own: TurnConfig, place: QuotaPlace) -> None:
        self._services = services
        self._own = own
        self._place = place

    async def refusal(self, candidates: Sequence[ModelCandidate]) -> QuotaRefusal | None:
        """Why none of these may be asked. Nothing is counted: it is for before the work begins."""
        refused: QuotaRefusal | None = None
        for pays in dict.fromkeys(one.is_operators for one in candidates if not one.lacks_key):
            refused = await self._look(limits_of(self._services, self._own, self._place, pays))
            if refused is None:
                return None
        return refused

    async def reserve(
        self, candidate: ModelCandidate, input_tokens: int
    ) -> Reservation | QuotaRefusal:
        """Count a request that is about to be made."""
        day = self._today()
        limits = limits_of(self._services, self._own, self._place, candidate.is_operators)
        if self._services.store is None or not any(limit.is_set for limit in limits):
            return Reservation(day, candidate, UsageTotals(), input_tokens)
        try:
            counts = self._services.store.usage_counts
            reached = await counts.reserve(day, limits, input_tokens)
        except StorageError as error:
            return _unknown(error)
        if reached is not None:
            return QuotaReachedError(reached, renewal(day))
        return Reservation(day, candidate, UsageTotals(1, input_tokens), input_tokens)

    async def settle(self, reservation: Reservation, used: Usage) -> None:
        """What the request took in truth. Fails quietly: the answer is there."""
        store, candidate = self._services.store, reservation.candidate
        if store is None:
            return
        limits = limits_of(self._services, self._own, self._place, candidate.is_operators)
        accounts = [limit.account for limit in limits]
        try:
            await store.usage_counts.add(reservation.day, accounts, self._rest(reservation, used))
            await self._note_model(store, candidate, used)
        except StorageError as error:
            log.error("a request could not be counted: %s", error)

    async def _note_model(self, store: TurnStore, candidate: ModelCandidate, used: Usage) -> None:
        model = candidate.model
        await store.usage.add(
            self._place.server_id,
            model.provider,
            model.model,
            used.input_tokens,
            used.output_tokens,
        )

    async def _look(self, limits: Sequence[UsageLimit]) -> QuotaRefusal | None:
        store, day = self._services.store, self._today()
        if store is None or not any(limit.is_set for limit in limits):
            return None
        try:
            reached = await store.usage_counts.used_up(day, limits)
        except StorageError as error:
            return _unknown(error)
        return None if reached is None else QuotaReachedError(reached, renewal(day))

    def _rest(self, reservation: Reservation, used: Usage) -> UsageTotals:
        counted = reservation.counted
        return UsageTotals(
            1 - counted.requests,
            used.input_tokens - counted.input_tokens,
            used.output_tokens,
            self._cost(reservation.candidate, used),
        )

    def _cost(self, candidate: ModelCandidate, used: Usage) -> int:
        """A price for a million tokens in dollars is one for a token in millionths."""
        prices = (
            link.price
            for link in self._services.models
            if link.price is not None and is_same_model(candidate.model, link)
        )
        price = next(prices, None)
        if price is None:
            return 0
        return round(used.input_tokens * price[0] + used.output_tokens * price[1])

    def _today(self) -> date:
        return today(self._services)


def today(services: TurnServices) -> date:
    return services.clock().astimezone(UTC).date()


def renewal(day: date) -> datetime:
    """When the quotas of a day begin anew."""
    return datetime.combine(day + timedelta(1), time(), UTC)


def limits_of(
    services: TurnServices, own: TurnConfig, place: QuotaPlace, operator_pays: bool
) -> list[UsageLimit]:
    """Every count that a request goes into, with its limits."""
    found = _limits("server", own, place, place.server_id)
    if operator_pays:
        found += _limits("operator", services.operator_turn(), place, 0)
    return found


def _limits(
    purse: Purse, config: TurnConfig, place: QuotaPlace, server_id: int
) -> list[UsageLimit]:
    """Direct messages are no server: strangers have nothing in common there."""
    return [
        UsageLimit(
            UsageAccount(purse, server_id, subject, place.id_of(subject)),
            getattr(config, f"quota_requests_per_{subject}_day"),
            getattr(config, f"quota_tokens_per_{subject}_day"),
        )
        for subject in SUBJECTS
        if subject != "server" or place.server_id
    ]


def quota_name(reached: UsedUp) -> str:
    """The setting that says how much it is."""
    return f"quota_{reached.counted}_per_{reached.limit.account.subject}_day"


def _unknown(error: StorageError) -> QuotaUnknownError:
    log.error("no model is asked, since the quotas cannot be counted: %s", error)
    return QuotaUnknownError(str(error))
