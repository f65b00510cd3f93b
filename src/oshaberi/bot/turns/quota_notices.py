"""Tells users that a quota is used up: once by a notice with its renewal, then by a reaction."""

from __future__ import annotations

import logging

from oshaberi.bot.storage.errors import StorageError
from oshaberi.bot.storage.usage import Subject, usage_day
from oshaberi.bot.turns.quotas import (
    QuotaPlace,
    QuotaReachedError,
    QuotaRefusal,
    QuotaUnknownError,
    quota_name,
)
from oshaberi.bot.turns.services.turn_services import TurnServices
from oshaberi.delivery.sink import Embed
from oshaberi.languages import translatable, translated

log = logging.getLogger(__name__)

_USED_UP: dict[tuple[Subject, str], str] = {
    ("user", "requests"): translatable(
        "All requests that you may use in a day ({most:,}) are used up."
    ),
    ("user", "tokens"): translatable(
        "All tokens that you may use in a day ({most:,}) are used up."
    ),
    ("channel", "requests"): translatable(
        "All requests that this channel may use in a day ({most:,}) are used up."
    ),
    ("channel", "tokens"): translatable(
        "All tokens that this channel may use in a day ({most:,}) are used up."
    ),
    ("server", "requests"): translatable(
        "All requests that this server may use in a day ({most:,}) are used up."
    ),
    ("server", "tokens"): translatable(
        "All tokens that this server may use in a day ({most:,}) are used up."
    ),
}


def quota_words(refusal: QuotaRefusal, place: QuotaPlace) -> str:
    """Say which quota is used up and when it is renewed, in the reader's time zone."""
    if isinstance(refusal, QuotaUnknownError):
        return translated(
            "How much was used today cannot be looked up right now. Try again in a moment."
        )
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


async def is_to_be_told(services: TurnServices, refusal: QuotaRefusal, place: QuotaPlace) -> bool:
    """Return whether a notice is due.

    A user's quota is told once a day, any other once a day in each channel.
    """
    if isinstance(refusal, QuotaUnknownError):
        return _is_first_today(services, place)
    return await _is_first(services, refusal, place)


async def _is_first(services: TurnServices, refusal: QuotaReachedError, place: QuotaPlace) -> bool:
    reached, store = refusal.reached, services.store
    account = reached.limit.account
    channel_id = 0 if account.subject == "user" else place.channel_id
    # Another limit than the one that was told is news.
    quota = f"{account.budget_owner} {account.server_id} {quota_name(reached)} {reached.most}"
    try:
        return store is not None and await store.usage_counts.tell_once(
            usage_day(services.clock()), quota, account.subject_id, channel_id
        )
    except StorageError as error:
        log.error("whether a quota was told cannot be looked up: %s", error)
        return False


def _is_first_today(services: TurnServices, place: QuotaPlace) -> bool:
    """Return whether this is the channel's first such notice today. Remembered in memory."""
    day, told = usage_day(services.clock()), services.quota_unknown_told
    if told.get(place.channel_id) == day:
        return False
    told.put(place.channel_id, day)
    return True
