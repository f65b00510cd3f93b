"""Sets the status reactions under a question: 👀 while it is answered, then ✅ or ⚠️ (spec 09).

A message that is not answered gets 🈵, ⏳ or 🔇, which say why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from oshaberi.conversation.turn_channel import TurnChannel
from oshaberi.turns.admission.channel_queue import QueuedJob
from oshaberi.turns.background_tasks import BackgroundTasks
from oshaberi.turns.turn_outcome import TurnOutcome

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
            self._background.start(_replaced(working, job, _end_sign(outcomes)))

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


async def _replaced(working: asyncio.Task[None], job: QueuedJob, sign: str | None) -> None:
    await asyncio.wait({working})
    message_id = job.asked[-1].said.id
    if sign is not None:
        await job.turn_channel.react(message_id, sign)
    await job.turn_channel.unreact(message_id, WORKING)
