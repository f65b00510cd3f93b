"""What people see of a turn besides its answer: notices, and reactions under the question."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

from oshaberi.bot.conversation.messages import TurnChannel
from oshaberi.bot.turns.admission.channel_queue import QueuedJob
from oshaberi.bot.turns.services.turn_services import BackgroundTasks
from oshaberi.chunks import ProviderError
from oshaberi.delivery.exactly_once import ExactlyOnceSender, MessageEdits
from oshaberi.delivery.notices import error_notice, timeout_notice
from oshaberi.delivery.outcomes import Delivered, NoWebhook
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import Embed, Post, PostButton, Sent, Sink, WebhookFace
from oshaberi.delivery.waits import InterruptibleWaits
from oshaberi.errors import Sentence
from oshaberi.languages import said, translatable, translated, translated_count
from oshaberi.stream.result import StreamResult
from oshaberi.stream.stops import ActiveChannel

log = logging.getLogger(__name__)

RESTARTED = translatable("I am restarting")
GOES_ON = translatable("I go on with this answer when I am back; `/continue` does the same.")
CAN_GO_ON = translatable(
    "`/continue` goes on with this answer when I am back, `/regenerate` starts again."
)


def our_fault() -> Embed:
    """Return the notice for a turn that failed because of a bug in the bot."""
    return Embed(
        translated("Something went wrong here"),
        translated("The bot made a mistake; it has been logged."),
    )


def nothing_said() -> Embed:
    return Embed(
        translated("The model gave no answer"),
        translated("It was asked several times. Try again later."),
        offers_retry=True,
    )


def cut_at_limit(*, is_empty: bool) -> Embed:
    """Return the notice for an answer that ended at the model's limit for its output."""
    if is_empty:
        return Embed(
            translated("The model gave no answer"),
            translated(
                "It reached its limit for one answer before it said anything. Whoever runs the bot "
                "can raise `max_output_tokens`, or let it think less."
            ),
            offers_retry=True,
        )
    return Embed(
        translated("This answer is not complete"),
        translated("It reached the limit for one answer. `/continue` goes on with it."),
    )


def not_delivered() -> Embed:
    return Embed(
        translated("This answer is not complete"),
        translated("Discord did not accept all of it. `/continue` sends the rest."),
    )


def restart_notice(goes_on: bool) -> Embed:
    """Return the notice for an answer that is interrupted because the process ends."""
    return Embed(translated(RESTARTED), translated(GOES_ON if goes_on else CAN_GO_ON))


def failure_notice(result: StreamResult, silent_ms: int) -> Embed | None:
    """Return the notice for a failed or unfinished stream, or None (spec 04 O9)."""
    if result.status in ("timeout", "error") and isinstance(result.data, ProviderError):
        return error_notice(result.data)
    if result.status == "timeout":
        return timeout_notice(silent_ms)
    if result.finish_reason == "length" and result.status in ("completed", "empty_response"):
        return cut_at_limit(is_empty=result.status == "empty_response")
    if result.status == "empty_response":
        return nothing_said()
    return not_delivered() if result.status == "error" and result.undelivered else None


def must_wait(reason: Sentence) -> Embed:
    """Return the notice for an answer that comes much later than usual."""
    return Embed(translated("This answer has to wait"), said(reason))


def still_working(rounds: int) -> Embed:
    body = translated("{rounds} rounds of tools so far. Use /stop to end it.", rounds=rounds)
    return Embed(translated("Still working"), body)


def too_many_rounds(limit: int) -> Embed:
    body = translated_count(
        "It was ended after {count} round of tools.",
        "It was ended after {count} rounds of tools.",
        limit,
    )
    return Embed(translated("This took too many steps"), body)


def too_many_errors(limit: int) -> Embed:
    body = translated_count(
        "It was ended after {count} failure.",
        "It was ended after {count} failures in a row.",
        limit,
    )
    return Embed(translated("The tools keep failing"), body)


class NoticeSender:
    """Sends notices. A stop withdraws those that have not been sent yet."""

    def __init__(self, sink: Sink, response: ResponseState, channel: ActiveChannel) -> None:
        self._sink = sink
        self._response = response
        self._channel = channel

    async def show(self, embed: Embed, *, silent: bool = False) -> Sent | None:
        """Send a notice. Return its message, or None if it did not arrive."""
        post = Post(self._nonce(), embed=self._coloured(embed), silent=silent)
        sent = await self._post(post)
        if sent is None:
            log.warning("a notice could not be shown: %s", embed.title)
        return sent

    async def change(self, sent: Sent, embed: Embed) -> None:
        """Change a notice that was sent. A failure does not affect the answer."""
        waits = InterruptibleWaits()
        edits = MessageEdits(self._sink, waits, self._response)
        try:
            with self._channel.heard_by(waits.halt):
                await edits.edit(sent, Post("", embed=self._coloured(embed)))
        finally:
            waits.close()

    async def reply(self, embed: Embed) -> None:
        """Send a notice as a reply to the question."""
        coloured = self._coloured(embed)
        if await self._post(Post(self._nonce(), embed=coloured, reply=True)) is None:
            log.warning("a notice could not be shown: %s", embed.title)

    async def say_quietly(self, text: str, face: WebhookFace | None) -> Sent | None:
        """Send a silent message, with the name of `face` if there is a webhook."""
        post = Post(self._nonce(), text, face=face, silent=True, suppress_embeds=True)
        return await self._post(post)

    async def say_aside(self, text: str, buttons: tuple[PostButton, ...] = ()) -> Sent | None:
        """Send a silent message of the bot itself, with buttons under it."""
        post = Post(self._nonce(), text, silent=True, suppress_embeds=True, buttons=buttons)
        return await self._post(post)

    async def _post(self, post: Post) -> Sent | None:
        waits = InterruptibleWaits()
        sender = ExactlyOnceSender(self._sink, waits, self._response)
        try:
            with self._channel.heard_by(waits.halt):
                outcome = await sender.deliver(post)
                if isinstance(outcome, NoWebhook):
                    plain = Post(self._nonce(), post.content, silent=True, suppress_embeds=True)
                    outcome = await sender.deliver(plain)
        finally:
            waits.close()
        return outcome.sent if isinstance(outcome, Delivered) else None

    def _coloured(self, embed: Embed) -> Embed:
        return replace(embed, colour=self._response.notice_colour)

    def _nonce(self) -> str:
        return self._response.nonce(self._response.next_number())


class WaitNotice:
    """One quiet notice while an answer has to wait. Later reasons replace its text."""

    def __init__(self, sender: NoticeSender) -> None:
        self._sender = sender
        self._newest: Embed | None = None
        self._sent: Sent | None = None
        self._task: asyncio.Task[None] | None = None

    def tell(self, reason: Sentence) -> None:
        self._newest = must_wait(reason)
        if self._task is None or (self._task.done() and self._sent is not None):
            self._task = asyncio.create_task(self._show())

    async def settled(self) -> None:
        """Wait until it shows the latest reason."""
        if self._task is not None:
            await self._task

    async def _show(self) -> None:
        while (embed := self._newest) is not None:
            self._newest = None
            if self._sent is not None:
                await self._sender.change(self._sent, embed)
                continue
            self._sent = await self._sender.show(embed, silent=True)
            if self._sent is None:
                return


# Status reactions (spec 09): 👀 while a question is answered, then ✅ or ⚠️. A message that is not
# answered gets 🈵, ⏳ or 🔇, which say why.
WORKING, DONE, TROUBLE = "👀", "✅", "⚠️"
FULL, TOO_SOON, MUTE, USED_UP = "🈵", "⏳", "🔇", "⏳"


class StatusReactions:
    """Sets reactions in the background: no answer waits for them."""

    def __init__(self, background: BackgroundTasks) -> None:
        self._background = background

    def working(self, job: QueuedJob) -> asyncio.Task[None] | None:
        """Show that the question is being answered. Pass the returned task to `done`.

        If nobody addressed the bot, there is no reaction: nobody should see that the bot has read
        it.
        """
        is_question = job.is_message and not job.is_uninvited
        if not job.settings.turn.status_reactions or not is_question:
            return None
        return self._react(job.turn_channel, job.asked[-1].said.id, WORKING)

    def done(
        self, job: QueuedJob, working: asyncio.Task[None] | None, has_succeeded: bool | None
    ) -> None:
        """Replace the "working" reaction by the one for the outcome; None: the turn was stopped."""
        sign = None if has_succeeded is None else DONE if has_succeeded else TROUBLE
        if working is not None:
            self._background.start("a reaction", _replace_working(working, job, sign))

    def full(self, turn_channel: TurnChannel, message_id: int) -> None:
        """Show that a message is not answered, because too many wait in the channel."""
        self._react(turn_channel, message_id, FULL)

    def too_soon(self, turn_channel: TurnChannel, message_id: int) -> None:
        """Show that a message is not answered, because its author is in a cooldown."""
        self._react(turn_channel, message_id, TOO_SOON)

    def mute(self, turn_channel: TurnChannel, message_id: int) -> None:
        """Show that a message is not answered, because the bot may not write there."""
        self._react(turn_channel, message_id, MUTE)

    def _react(self, turn_channel: TurnChannel, message_id: int, sign: str) -> asyncio.Task[None]:
        return self._background.start(f"the reaction {sign}", turn_channel.react(message_id, sign))


async def show_used_up(turn_channel: TurnChannel, message_id: int) -> None:
    """Show that a message is not answered, because a quota is used up."""
    await turn_channel.react(message_id, USED_UP)


async def _replace_working(working: asyncio.Task[None], job: QueuedJob, sign: str | None) -> None:
    await asyncio.wait({working})
    message_id = job.asked[-1].said.id
    if sign is not None:
        await job.turn_channel.react(message_id, sign)
    await job.turn_channel.unreact(message_id, WORKING)


OVERLOADED = translatable("Too many people talk to me right now")
ASK_LATER = translatable(
    "I did not get to this question in time. Please ask again in a few minutes."
)

DISCORD_AWAY = translatable("I could not reach Discord")
ASK_AGAIN = translatable(
    "Discord refused my messages for too long. Ask again if you still need an answer."
)


async def notify_too_late(job: QueuedJob, channel: ActiveChannel) -> None:
    """Tell the user that Discord was away for so long that the question is not answered."""
    if not job.is_uninvited and not job.settings.stream.suppress_user_errors:
        notice = Embed(translated(DISCORD_AWAY), translated(ASK_AGAIN))
        sink = job.turn_channel.sink(job.answering_message)
        await NoticeSender(sink, ResponseState(), channel).reply(notice)


async def notify_overload(
    job: QueuedJob, channel: ActiveChannel, reactions: StatusReactions
) -> None:
    """Tell the user that the bot is overloaded; with a reaction where notices are switched off."""
    answering = job.answering_message
    if job.is_uninvited:
        return
    if not job.settings.stream.suppress_user_errors:
        sink = job.turn_channel.sink(answering)
        notice = Embed(translated(OVERLOADED), translated(ASK_LATER))
        await NoticeSender(sink, ResponseState(), channel).reply(notice)
    elif answering is not None:
        reactions.full(job.turn_channel, answering.said.id)
