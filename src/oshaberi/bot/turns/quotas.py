"""Counts every request to a model before it is made, and refuses it when a quota is used up.

Two sets of quotas apply at once: the operator's for requests with the operator's keys, and the
server's own for all requests there. If quotas are set and the database is down, no model is asked;
without quotas a failed count is only logged. Users are told once, in a notice that says when the
quota is renewed, and then by a reaction.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from oshaberi.bot.conversation.messages import TurnChannel
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.storage import Database
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
from oshaberi.bot.turns.caches import BoundedCache
from oshaberi.bot.turns.services.model_access import (
    MOST_SERVERS,
    ModelCandidate,
    OperatorChoices,
    OperatorModel,
    is_same_model,
)
from oshaberi.chunks import Usage
from oshaberi.clocks import utc_now
from oshaberi.delivery.sink import Embed
from oshaberi.errors import OshaberiError
from oshaberi.languages import translatable, translated
from oshaberi.providers.model_options import TokenPrice
from oshaberi.providers.request.token_estimate import call_tokens, text_tokens
from oshaberi.stream.result import StreamResult


def cost_of(used: Usage, candidate: ModelCandidate, links: Sequence[OperatorModel]) -> int:
    """Return the cost in millionths of a dollar: by the price, else as the provider says."""
    price = _price(candidate, links)
    if price is not None:
        return price.micros(used)
    return round((used.cost_dollars or 0) * 1_000_000)


def _price(candidate: ModelCandidate, links: Sequence[OperatorModel]) -> TokenPrice | None:
    """Return the price that is set with the model's own key, else the operator's."""
    own = candidate.model.params.get("price")
    if own and not candidate.is_operators:
        return TokenPrice(**own)
    prices = (
        link.price
        for link in links
        if link.price is not None and is_same_model(candidate.model, link)
    )
    return next(prices, None)


def used_tokens(result: StreamResult, input_tokens: int) -> Usage:
    """Return the provider's count, else an estimate, since a stopped stream reports nothing.

    A refused request used none.
    """
    if result.usage is not None:
        return result.usage
    texts = [result.accumulated_text, result.undelivered, *result.details]
    texts += result.thought_log.texts
    written = sum(map(text_tokens, texts)) + sum(map(call_tokens, result.calls))
    if result.status == "error" and not written:
        return Usage()
    return Usage(input_tokens, written)


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


@dataclass(slots=True)
class QuotaBook:
    """Where the requests of a process are counted, and by whose limits and prices."""

    db: Database
    operator: OperatorChoices
    clock: Callable[[], datetime] = utc_now
    _notified: BoundedCache[int, date] = field(default_factory=lambda: BoundedCache(MOST_SERVERS))
    """Channels that were told that quotas cannot be counted, and on which day."""

    def today(self) -> date:
        return usage_day(self.clock())

    async def is_notice_due(self, refusal: QuotaRefusal, place: QuotaPlace) -> bool:
        """Return whether a notice is due, and note that it is sent.

        For a user's quota it is due once a day, for any other once a day in each channel.
        """
        if isinstance(refusal, QuotaUnknownError):
            return self._is_first_today(place.channel_id)
        return await self._is_first(refusal.reached, place.channel_id)

    async def _is_first(self, reached: UsedUp, channel_id: int) -> bool:
        account = reached.limit.account
        if account.subject == "user":
            channel_id = 0
        # A different limit than the last notice named is news.
        quota = f"{account.budget_owner} {account.server_id} {quota_name(reached)} {reached.most}"
        try:
            return await self.db.usage_counts.tell_once(
                self.today(), quota, account.subject_id, channel_id
            )
        except StorageError as error:
            log.error("whether a quota was told cannot be looked up: %s", error)
            return False

    def _is_first_today(self, channel_id: int) -> bool:
        """Return whether this is the channel's first such notice today. Remembered in memory."""
        day = self.today()
        if self._notified.get(channel_id) == day:
            return False
        self._notified.put(channel_id, day)
        return True


@dataclass(frozen=True, slots=True)
class _Limits:
    """Every account in which a request is counted, and whether any of them has a limit."""

    all: Sequence[UsageLimit]
    are_set: bool


class RequestQuota:
    """The quotas of one turn. `own` has those of the server itself."""

    def __init__(self, book: QuotaBook, own: TurnConfig, place: QuotaPlace) -> None:
        self._book = book
        self._own = own
        self._place = place
        self._unsettled: list[UsedRequest] = []
        self._known_limits: dict[bool, _Limits] = {}

    async def refusal(self, candidates: Sequence[ModelCandidate]) -> QuotaRefusal | None:
        """Return why none of these may be asked, or None.

        It is for use before a turn, and counts nothing.
        """
        refused: QuotaRefusal | None = None
        for pays in dict.fromkeys(one.is_operators for one in candidates if not one.lacks_key):
            refused = await self._look(self._limits(pays))
            if refused is None:
                return None
        return refused

    async def reserve(
        self, candidate: ModelCandidate, input_tokens: int
    ) -> Reservation | QuotaRefusal:
        """Count a request that is about to be made, or return why it is refused."""
        day, limits = self._book.today(), self._limits(candidate.is_operators)
        if not limits.are_set:
            return Reservation(day, candidate, UsageTotals(), input_tokens)
        try:
            reached = await self._book.db.usage_counts.reserve(day, limits.all, input_tokens)
        except StorageError as error:
            return _unknown(error)
        if reached is not None:
            return QuotaReachedError(reached, renewal(day))
        return Reservation(day, candidate, UsageTotals(1, input_tokens), input_tokens)

    async def settle(self, reservation: Reservation, used: Usage) -> None:
        """Count what the request really used. Failures are only logged: the answer is there.

        With a quota it is counted at once, otherwise with the records of the turn.
        """
        request = self._used(reservation, used)
        if not reservation.counted.requests:
            self._unsettled.append(request)
            return
        try:
            await self._book.db.count_usage([request])
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
        if self._unsettled:
            self._book.db.queue_usage(self.take_unsettled())

    def _used(self, reservation: Reservation, used: Usage) -> UsedRequest:
        candidate = reservation.candidate
        return UsedRequest(
            reservation.day,
            tuple(limit.account for limit in self._limits(candidate.is_operators).all),
            self._rest(reservation, used),
            self._place.server_id,
            candidate.model.provider,
            candidate.model.model,
            used.input_tokens,
            used.output_tokens,
            used.cached_tokens,
        )

    async def _look(self, limits: _Limits) -> QuotaRefusal | None:
        if not limits.are_set:
            return None
        day = self._book.today()
        try:
            reached = await self._book.db.usage_counts.used_up(day, limits.all)
        except StorageError as error:
            return _unknown(error)
        return None if reached is None else QuotaReachedError(reached, renewal(day))

    def _rest(self, reservation: Reservation, used: Usage) -> UsageTotals:
        counted = reservation.counted
        return UsageTotals(
            1 - counted.requests,
            used.input_tokens - counted.input_tokens,
            used.output_tokens,
            cost_of(used, reservation.candidate, self._book.operator.models),
            used.cached_tokens,
        )

    def _limits(self, operator_pays: bool) -> _Limits:
        known = self._known_limits.get(operator_pays)
        if known is None:
            found = limits_of(self._book.operator.turn, self._own, self._place, operator_pays)
            known = _Limits(found, has_limits(found))
            self._known_limits[operator_pays] = known
        return known


def limits_of(
    operators: TurnConfig, own: TurnConfig, place: QuotaPlace, operator_pays: bool
) -> list[UsageLimit]:
    """Return every account in which a request is counted, with its limits."""
    found = _limits("server", own, place, place.server_id)
    if operator_pays:
        found += _limits("operator", operators, place, 0)
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


_USED_UP: dict[tuple[Subject, str], str] = {
    ("user", "requests"): translatable("You have used all of today's requests ({most:,})."),
    ("user", "tokens"): translatable("You have used all of today's tokens ({most:,})."),
    ("channel", "requests"): translatable(
        "This channel has used all of today's requests ({most:,})."
    ),
    ("channel", "tokens"): translatable("This channel has used all of today's tokens ({most:,})."),
    ("server", "requests"): translatable(
        "This server has used all of today's requests ({most:,})."
    ),
    ("server", "tokens"): translatable("This server has used all of today's tokens ({most:,})."),
}


def quota_words(refusal: QuotaRefusal, place: QuotaPlace) -> str:
    """Say which quota is used up and when it is renewed, in the reader's time zone."""
    if isinstance(refusal, QuotaUnknownError):
        return translated("I cannot look up today's usage right now. Try again in a moment.")
    reached, at = refusal.reached, int(refusal.renews_at.timestamp())
    subject = reached.limit.account.subject
    words = translated(_USED_UP[subject, reached.counted], most=reached.most)
    who = f"<@{place.user_id}>: " if subject == "user" and place.server_id else ""
    again = translated("It goes on {soon}, at {clock}.", soon=f"<t:{at}:R>", clock=f"<t:{at}:t>")
    return f"{who}{words} {again}"


def quota_notice(refusal: QuotaRefusal, place: QuotaPlace) -> Embed:
    unknown = isinstance(refusal, QuotaUnknownError)
    unknown_title = translated("No model can be asked right now")
    title = unknown_title if unknown else translated("The limit for today is reached")
    return Embed(title, quota_words(refusal, place))
