"""Counts every request to a model before it is made, and refuses it when a quota is used up."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from oshaberi.bot.conversation.messages import TurnChannel
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.storage.errors import StorageAwayError, StorageError
from oshaberi.bot.storage.records import UsedRequest
from oshaberi.bot.storage.usage import (
    BudgetOwner,
    Subject,
    UsageAccount,
    UsageLimit,
    UsageTotals,
    UsedUp,
    has_limits,
    renewal,
    usage_day,
)
from oshaberi.bot.turns.services.models import ModelCandidate, OperatorModel, is_same_model
from oshaberi.bot.turns.services.turn_services import TurnServices
from oshaberi.chunks import Usage
from oshaberi.errors import OshaberiError
from oshaberi.providers.request.token_estimate import call_tokens, text_tokens
from oshaberi.stream.result import StreamResult

# Computes the cost of a request to a model, from its tokens and the configured prices.


def cost_of(used: Usage, candidate: ModelCandidate, links: Sequence[OperatorModel]) -> int:
    """Return the cost in millionths of a dollar. Prices are in dollars per million tokens."""
    price = _price(candidate, links)
    if price is None:
        return 0
    return round(used.input_tokens * price[0] + used.output_tokens * price[1])


def _price(candidate: ModelCandidate, links: Sequence[OperatorModel]) -> tuple[float, float] | None:
    """Return the price that is set with the model's own key, else the operator's."""
    own = candidate.model.params.get("price")
    if own and not candidate.is_operators:
        return own["input"], own["output"]
    prices = (
        link.price
        for link in links
        if link.price is not None and is_same_model(candidate.model, link)
    )
    return next(prices, None)


# What a request used: as reported, else estimated. A stopped stream never reports it.


def used_tokens(result: StreamResult, input_tokens: int) -> Usage:
    """Return the provider's count, else an estimate. A refused request used none."""
    if result.usage is not None:
        return result.usage
    texts = [result.accumulated_text, result.undelivered, *result.details]
    texts += result.thought_log.texts
    written = sum(map(text_tokens, texts)) + sum(map(call_tokens, result.calls))
    if result.status == "error" and not written:
        return Usage()
    return Usage(input_tokens, written)


# Counts every request to a model before it is made, and refuses it when a quota is used up.
#
# Two sets of quotas apply at once: the operator's for requests with the operator's keys, and the
# server's own for all requests there. If quotas are set and the database is down, no model is
# asked; without quotas a failed count is only logged.


log = logging.getLogger(__name__)

SUBJECTS: tuple[Subject, ...] = ("user", "channel", "server")


@dataclass(frozen=True, slots=True)
class QuotaPlace:
    """The user and the place of a request. `server_id` is 0 in direct messages."""

    server_id: int
    channel_id: int
    user_id: int

    def id_of(self, subject: Subject) -> int:
        ids = {"user": self.user_id, "channel": self.channel_id, "server": self.server_id}
        return ids[subject]


def quota_place(turn_channel: TurnChannel, user_id: int) -> QuotaPlace:
    """Return the place. A thread counts as its channel, so that it has no quota of its own."""
    return QuotaPlace(
        turn_channel.server_id, turn_channel.path.parent_id or turn_channel.channel_id, user_id
    )


class QuotaReachedError(OshaberiError):
    """A quota is used up until `renews_at`."""

    def __init__(self, reached: UsedUp, renews_at: datetime) -> None:
        self.reached = reached
        self.renews_at = renews_at
        super().__init__(f"{quota_name(reached)} is used up until {renews_at:%Y-%m-%d %H:%M} UTC")

    @property
    def is_operators(self) -> bool:
        return self.reached.limit.account.budget_owner == "operator"


class QuotaUnknownError(OshaberiError):
    """The database is down, so it is unknown whether a quota is used up."""


QuotaRefusal = QuotaReachedError | QuotaUnknownError


@dataclass(frozen=True, slots=True)
class Reservation:
    """A request that may be made, and what was already counted for it."""

    day: date
    candidate: ModelCandidate
    counted: UsageTotals
    input_tokens: int


class RequestQuota:
    """The quotas of one turn. `own` has those of the server itself."""

    def __init__(self, services: TurnServices, own: TurnConfig, place: QuotaPlace) -> None:
        self._services = services
        self._own = own
        self._place = place
        self._unsettled: list[UsedRequest] = []

    async def refusal(self, candidates: Sequence[ModelCandidate]) -> QuotaRefusal | None:
        """Return why none of these may be asked, or None. For before a turn: counts nothing."""
        refused: QuotaRefusal | None = None
        for pays in dict.fromkeys(one.is_operators for one in candidates if not one.lacks_key):
            refused = await self._look(limits_of(self._services, self._own, self._place, pays))
            if refused is None:
                return None
        return refused

    async def reserve(
        self, candidate: ModelCandidate, input_tokens: int
    ) -> Reservation | QuotaRefusal:
        """Count a request that is about to be made, or return why it is refused."""
        day = self._today()
        limits = limits_of(self._services, self._own, self._place, candidate.is_operators)
        if self._services.store is None or not has_limits(limits):
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
        """Count what the request really used. Failures are only logged: the answer is there.

        With a quota it is counted at once, otherwise with the records of the turn.
        """
        store, request = self._services.store, self._used(reservation, used)
        if store is None:
            return
        if not reservation.counted.requests:
            self._unsettled.append(request)
            return
        try:
            await store.count_usage([request])
        except StorageAwayError as error:
            log.warning("a request is counted when the database is back: %s", error)
        except StorageError as error:
            log.error("a request could not be counted: %s", error)

    def take_unsettled(self) -> tuple[UsedRequest, ...]:
        """Remove and return the requests that are counted at the end of the turn."""
        taken, self._unsettled = tuple(self._unsettled), []
        return taken

    def settle_soon(self) -> None:
        """Queue the counts of a turn that ends early."""
        if self._unsettled and self._services.store is not None:
            self._services.store.queue_usage(self.take_unsettled())

    def _used(self, reservation: Reservation, used: Usage) -> UsedRequest:
        candidate = reservation.candidate
        limits = limits_of(self._services, self._own, self._place, candidate.is_operators)
        return UsedRequest(
            reservation.day,
            tuple(limit.account for limit in limits),
            self._rest(reservation, used),
            self._place.server_id,
            candidate.model.provider,
            candidate.model.model,
            used.input_tokens,
            used.output_tokens,
        )

    async def _look(self, limits: Sequence[UsageLimit]) -> QuotaRefusal | None:
        store, day = self._services.store, self._today()
        if store is None or not has_limits(limits):
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
            cost_of(used, reservation.candidate, self._services.models),
        )

    def _today(self) -> date:
        return usage_day(self._services.clock())


def limits_of(
    services: TurnServices, own: TurnConfig, place: QuotaPlace, operator_pays: bool
) -> list[UsageLimit]:
    """Return every account in which a request is counted, with its limits."""
    found = _limits("server", own, place, place.server_id)
    if operator_pays:
        found += _limits("operator", services.operator_turn(), place, 0)
    return found


def _limits(
    budget_owner: BudgetOwner, config: TurnConfig, place: QuotaPlace, server_id: int
) -> list[UsageLimit]:
    """Return the limits of one payer. Direct messages have no account for the server."""
    return [
        UsageLimit(
            UsageAccount(budget_owner, server_id, subject, place.id_of(subject)),
            getattr(config, f"quota_requests_per_{subject}_day"),
            getattr(config, f"quota_tokens_per_{subject}_day"),
        )
        for subject in SUBJECTS
        if subject != "server" or place.server_id
    ]


def quota_name(reached: UsedUp) -> str:
    """Return the name of the setting that has this quota."""
    return f"quota_{reached.counted}_per_{reached.limit.account.subject}_day"


def _unknown(error: StorageError) -> QuotaUnknownError:
    log.error("no model is asked, since the quotas cannot be counted: %s", error)
    return QuotaUnknownError(str(error))
