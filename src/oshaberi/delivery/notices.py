"""Notices that tell a reader why text is missing: an error, a timeout, a limit (spec 04 O9)."""

from __future__ import annotations

import logging
from dataclasses import replace

from oshaberi.chunks import ErrorType, ProviderError
from oshaberi.delivery.exactly_once import ExactlyOnceSender
from oshaberi.delivery.outcomes import Delivered
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import Embed, Post
from oshaberi.languages import said, translatable, translated, translated_count
from oshaberi.secret_redaction import redact

log = logging.getLogger(__name__)

DESCRIPTION_LIMIT = 4096

HEADLINES: dict[ErrorType, str] = {
    "rate_limit": translatable("The model's rate limit is reached"),
    "provider_overloaded": translatable("The model is overloaded right now"),
    "timeout": translatable("The model took too long to answer"),
    "content_blocked": translatable("The model's provider blocked this answer"),
    "auth": translatable("The model's provider does not accept our key"),
    "model_error": translatable("This model cannot be used"),
    "context_length": translatable("The conversation is too long for this model"),
    "balance_exhausted": translatable("The account at the model's provider is empty"),
    "affordability": translatable("The account at the model's provider cannot pay for this answer"),
    "network": translatable("The model could not be reached"),
    "api_error": translatable("The model failed to answer"),
}
BROKE_OFF = translatable("The answer broke off")


async def show(embed: Embed, sender: ExactlyOnceSender, response: ResponseState) -> None:
    """Show a notice. A failure is only logged."""
    embed = replace(embed, colour=response.notice_colour)
    outcome = await sender.deliver(Post(response.nonce(), embed=embed))
    if not isinstance(outcome, Delivered):
        log.warning("a notice could not be shown: %s (%s)", embed.title, outcome)


def error_notice(error: ProviderError) -> Embed:
    kind = BROKE_OFF if error.broke_off else HEADLINES.get(error.type, HEADLINES["api_error"])
    headline = translated(kind)
    body = _body(error.message if error.shown is None else error.shown, headline)
    return Embed(headline, body, offers_retry=True)


def timeout_notice(silent_ms: int) -> Embed:
    headline = translated(HEADLINES["timeout"])
    body = translated("Nothing came for {seconds:g} s.", seconds=silent_ms / 1000)
    return Embed(headline, body, offers_retry=True)


def flush_limit_notice(limit: int, *, attached: bool) -> Embed:
    if attached:
        body = translated_count(
            "It was cut after {count} message. The rest is attached.",
            "It was cut after {count} messages. The rest is attached.",
            limit,
        )
    else:
        body = translated_count(
            "It was cut after {count} message. Use /continue for the rest.",
            "It was cut after {count} messages. Use /continue for the rest.",
            limit,
        )
    return Embed(translated("This answer is very long"), body)


def _body(message: str, headline: str) -> str:
    """Return the part of the error that may be shown, unless it repeats the headline."""
    text = redact(said(message), DESCRIPTION_LIMIT).strip()
    if text.rstrip(".").casefold() == headline.casefold():
        return ""
    return text
