"""What follows from an outcome: notices, the end of the delivery, and the file for what is left."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import assert_never

from oshaberi.chunks import ErrorType, ProviderError
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.delivery_record import DeliveryRecord
from oshaberi.delivery.exactly_once import ExactlyOnceSender
from oshaberi.delivery.outcomes import (
    TOKEN_REVOKED,
    Broken,
    Delivered,
    EditOutcome,
    Failed,
    Gone,
    Limit,
    NoWebhook,
    Outcome,
    Refused,
    Unavailable,
    Uncertain,
    Withdrawn,
)
from oshaberi.delivery.queue import MessageQueue, OutgoingMessage
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import Embed, File, Post
from oshaberi.delivery.waits import InterruptibleWaits
from oshaberi.languages import said, translatable, translated, translated_count
from oshaberi.secret_redaction import redact

# The embeds that tell a reader about an error, a timeout or a limit (spec 04 O9).


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


async def show(embed: Embed, sender: ExactlyOnceSender, response: ResponseState) -> None:
    """Show a notice. A failure is only logged."""
    outcome = await sender.deliver(Post(response.nonce(response.next_number()), embed=embed))
    if not isinstance(outcome, Delivered):
        log.warning("a notice could not be shown: %s (%s)", embed.title, outcome)


def error_notice(error: ProviderError) -> Embed:
    headline = translated(HEADLINES.get(error.type, HEADLINES["api_error"]))
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


# Decides what follows from a send's outcome, for its text and for the waiting messages.


MOST_FAILURES = 3


class OutcomeHandler:
    """Handles outcomes and counts failures: three in a row end the delivery."""

    def __init__(
        self, delivery_record: DeliveryRecord, queue: MessageQueue, waits: InterruptibleWaits
    ) -> None:
        self.last_error: Exception | None = None
        self.in_doubt = False
        """At a stop: something may still arrive, so nothing may overtake it."""
        self._failures = 0
        self._delivery_record = delivery_record
        self._queue = queue
        self._waits = waits

    def settle(
        self,
        items: Sequence[OutgoingMessage],
        outcome: Outcome | EditOutcome,
        *,
        edited: bool = False,
    ) -> Broken | None:
        match outcome:
            case Delivered(sent):
                self._failures = 0
                note = self._delivery_record.grown if edited else self._delivery_record.delivered
                note(items, sent)
                return None
            case Refused(error):
                log.warning("a message was refused and stays undelivered: %s", error)
                self._delivery_record.lost(items, str(error.code))
                return self._failed(error)
            case Uncertain(error=doubt):
                log.warning("nobody can say whether a message arrived: %s", _words(doubt))
                self._delivery_record.lost(items, "uncertain")
                self.in_doubt = self._waits.halted
                return self._failed(doubt)
            case Failed(error=failure, uncertain=uncertain):
                log.warning("the answer could not be delivered: %s", _words(failure))
                self._delivery_record.lost(items, "uncertain" if uncertain else "error")
                return Broken("error", failure)
            case Unavailable(error, uncertain):
                log.error("the channel cannot be written to: %s", error)
                if uncertain:
                    self._delivery_record.lost(items, "uncertain")
                else:
                    self._queue.put_back(items)
                return Broken("channel_unavailable", error)
            case Withdrawn() | NoWebhook() | Gone():
                self._queue.put_back(items)
                return None
            case _:
                assert_never(outcome)

    def _failed(self, error: Exception) -> Broken | None:
        self.last_error = error
        self._failures += 1
        return Broken("error", error) if self._failures >= MOST_FAILURES else None


def refuses_pictures(outcome: Outcome) -> bool:
    """Return whether perhaps only the pictures of a message are not wanted."""
    if isinstance(outcome, Unavailable):
        return not outcome.uncertain and outcome.error.code != TOKEN_REVOKED
    return isinstance(outcome, Refused)


def _words(error: Exception) -> str:
    """Return the error's text. A timeout has none, so its `repr` is used."""
    return str(error) or repr(error)


# Collects the text beyond `max_flush_count` messages, to be attached as one file.


MOST_CHARACTERS = 25_000
FILE_NAME = "rest.md"


class OverflowFile:
    """Collects text up to a limit."""

    def __init__(self) -> None:
        self.items: list[OutgoingMessage] = []
        self._characters = 0

    def accepts(self, item: OutgoingMessage) -> bool:
        return self._characters + len(item.history) <= MOST_CHARACTERS

    def add(self, item: OutgoingMessage) -> None:
        self.items.append(item)
        self._characters += len(item.history)

    @property
    def text(self) -> str:
        return "\n".join(_markdown(item) for item in self.items)

    def as_file(self) -> File:
        return File(FILE_NAME, f"{self.text}\n".encode(), source=self.text)


def _markdown(item: OutgoingMessage) -> str:
    return item.text if item.table is None else item.table.source


# Handles text beyond the message limit: a notice, and perhaps the rest as a file.


class LimitOverrun:
    """Applies `on_limit` (spec 07): stops, or collects text for the file."""

    def __init__(
        self,
        config: StreamConfig,
        response: ResponseState,
        sender: ExactlyOnceSender,
        delivery_record: DeliveryRecord,
        outcomes: OutcomeHandler,
    ) -> None:
        self._config = config
        self._response = response
        self._sender = sender
        self._delivery_record = delivery_record
        self._outcomes = outcomes
        self._rest: OverflowFile | None = None

    @property
    def collects(self) -> bool:
        return self._rest is not None

    async def meet(self, limit: Limit, queue: MessageQueue) -> Broken | None:
        """Handle the first waiting message, which is over the limit."""
        if limit == "flush_limit" and self._config.on_limit == "file":
            self._rest = self._rest or OverflowFile()
            if self._rest.accepts(next(iter(queue))):
                self._rest.add(queue.take())
                return None
            return await self.attach() or Broken(limit)
        if limit == "flush_limit":
            await self._tell(attached=False)
        return Broken(limit)

    async def attach(self) -> Broken | None:
        """Send the collected text as one file, at the end."""
        rest, self._rest = self._rest, None
        if rest is None or not rest.items:
            return None
        await self._tell(attached=True)
        nonce = self._response.nonce(self._response.next_number())
        outcome = await self._sender.deliver(Post(nonce, files=(rest.as_file(),)))
        if isinstance(outcome, Delivered):
            self._delivery_record.posted(outcome.sent)
            self._response.attached = rest.text
        return self._outcomes.settle(rest.items, outcome)

    def drop(self, reason: str) -> None:
        """Discard the collected text."""
        if self._rest is not None:
            self._delivery_record.lost(self._rest.items, reason)
            self._rest = None

    async def _tell(self, *, attached: bool) -> None:
        """Show the notice, once per response."""
        if not self._response.limit_shown:
            self._response.limit_shown = True
            count = self._config.text.max_flush_count
            notice = flush_limit_notice(count, attached=attached)
            await show(notice, self._sender, self._response)
