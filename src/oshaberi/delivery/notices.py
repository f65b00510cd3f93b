"""What a reader is told when text is missing: an error, a timeout, the limit and its file.

The embeds are those of spec 04 O9. Text beyond the message limit is handled here as well.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from oshaberi.chunks import ErrorType, ProviderError
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.exactly_once import ExactlyOnceSender
from oshaberi.delivery.ledger import DeliveryRecord
from oshaberi.delivery.outcomes import Broken, Delivered, Limit
from oshaberi.delivery.queue import MessageQueue, OutgoingMessage
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import Embed, File, Post
from oshaberi.languages import said, translatable, translated, translated_count
from oshaberi.secret_redaction import redact

log = logging.getLogger(__name__)

DESCRIPTION_LIMIT = 4096
MOST_CHARACTERS = 25_000
FILE_NAME = "rest.md"

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


class OverflowFile:
    """Collects the text beyond `max_flush_count` messages, to be attached as one file."""

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


class LimitOverrun:
    """Handles text beyond the limit as `on_limit` says (spec 07): stops, or collects a file."""

    def __init__(
        self,
        config: StreamConfig,
        response: ResponseState,
        sender: ExactlyOnceSender,
        record: DeliveryRecord,
    ) -> None:
        self._config = config
        self._response = response
        self._sender = sender
        self._record = record
        self._rest: OverflowFile | None = None

    @property
    def collects(self) -> bool:
        return self._rest is not None

    async def meet(self, limit: Limit, queue: MessageQueue) -> Broken | None:
        """Handle the first waiting message, which is over the limit."""
        if limit == "flush_limit" and self._config.on_limit == "file":
            self._rest = self._rest or OverflowFile()
            if self._rest.accepts(queue.items[0]):
                self._rest.add(queue.take())
                return None
            return await self.attach() or Broken(limit)
        if limit == "flush_limit":
            await self._notify(attached=False)
        return Broken(limit)

    async def attach(self) -> Broken | None:
        """Send the collected text as one file, at the end."""
        rest, self._rest = self._rest, None
        if rest is None or not rest.items:
            return None
        await self._notify(attached=True)
        post = Post(self._response.nonce(), files=(rest.as_file(),))
        outcome = await self._sender.deliver(post)
        if isinstance(outcome, Delivered):
            self._record.note_post(outcome.sent)
            self._response.note_attached(rest.text)
        return self._record.settle(rest.items, outcome)

    def drop(self, reason: str) -> None:
        """Discard the collected text."""
        if self._rest is not None:
            self._record.note_lost(self._rest.items, reason)
            self._rest = None

    async def _notify(self, *, attached: bool) -> None:
        """Show the notice, once per response."""
        if self._response.take_limit_notice():
            count = self._config.text.max_flush_count
            notice = flush_limit_notice(count, attached=attached)
            await show(notice, self._sender, self._response)
