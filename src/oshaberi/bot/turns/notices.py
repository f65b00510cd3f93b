"""What people see of a turn besides its answer: notices, and reactions under the question."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from oshaberi.bot.conversation.messages import TurnChannel
from oshaberi.bot.turns.admission.channel_queue import QueuedJob
from oshaberi.bot.turns.outcome import TurnOutcome
from oshaberi.bot.turns.services.turn_services import BackgroundTasks
from oshaberi.chunks import ProviderError
from oshaberi.delivery.exactly_once import ExactlyOnceSender
from oshaberi.delivery.notices import error_notice, timeout_notice
from oshaberi.delivery.outcomes import Delivered, NoWebhook
from oshaberi.delivery.response import ResponseState
from oshaberi.delivery.sink import Embed, Post, Sent, Sink, WebhookFace
from oshaberi.delivery.waits import InterruptibleWaits
from oshaberi.languages import translatable, translated, translated_count
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

    async def show(self, embed: Embed) -> Sent | None:
        """Send a notice. Return its message, or None if it did not arrive."""
        sent = await self._post(Post(self._nonce(), embed=embed))
        if sent is None:
            log.warning("a notice could not be shown: %s", embed.title)
        return sent

    async def reply(self, embed: Embed) -> None:
        """Send a notice as a reply to the question."""
        if await self._post(Post(self._nonce(), embed=embed, reply=True)) is None:
            log.warning("a notice could not be shown: %s", embed.title)

    async def say_quietly(self, text: str, face: WebhookFace | None) -> Sent | None:
        """Send a silent message, with the name of `face` if there is a webhook."""
        post = Post(self._nonce(), text, face=face, silent=True, suppress_embeds=True)
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

    def _nonce(self) -> str:
        return self._response.nonce(self._response.next_number())


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
        return self._background.start(job.turn_channel.react(job.asked[-1].said.id, WORKING))

    def done(
        self, job: QueuedJob, working: asyncio.Task[None] | None, outcomes: Sequence[TurnOutcome]
    ) -> None:
        """Replace the "working" reaction by the one for the outcome."""
        if working is not None:
            self._background.start(_replace_working(working, job, _end_sign(outcomes)))

    def full(self, turn_channel: TurnChannel, message_id: int) -> None:
        """Show that a message is not answered, because too many wait in the channel."""
        self._background.start(turn_channel.react(message_id, FULL))

    def too_soon(self, turn_channel: TurnChannel, message_id: int) -> None:
        """Show that a message is not answered, because its author is in a cooldown."""
        self._background.start(turn_channel.react(message_id, TOO_SOON))

    def mute(self, turn_channel: TurnChannel, message_id: int) -> None:
        """Show that a message is not answered, because the bot may not write there."""
        self._background.start(turn_channel.react(message_id, MUTE))


async def show_used_up(turn_channel: TurnChannel, message_id: int) -> None:
    """Show that a message is not answered, because a quota is used up."""
    await turn_channel.react(message_id, USED_UP)


def _end_sign(outcomes: Sequence[TurnOutcome]) -> str | None:
    if any(outcome.interrupted for outcome in outcomes):
        return None
    succeeded = outcomes and all(outcome.succeeded for outcome in outcomes)
    return DONE if succeeded else TROUBLE


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
