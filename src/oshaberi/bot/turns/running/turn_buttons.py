"""The buttons under an answer: *Stop* while it is written, the others when it is done.

Nothing of the answer waits for them, and it does not fail with them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from oshaberi.bot.conversation.answer_buttons import rows_under, rows_while_running
from oshaberi.bot.turns.admission.channel_queue import QueuedJob
from oshaberi.bot.turns.answer_versions import AnswerVersions
from oshaberi.bot.turns.outcome import TurnOutcome

MOVE_SECONDS = 3.0
"""How long an answer runs before it has *Stop*, and how long the button stays where it is."""


class TurnButtons:
    """The buttons of one turn. `newest_id` returns the newest message of its answer."""

    def __init__(
        self, job: QueuedJob, newest_id: Callable[[], int | None], versions: AnswerVersions
    ) -> None:
        self._turn_channel = job.turn_channel
        self._continues = job.continues
        self._mode = job.settings.turn.answer_buttons
        self._newest_id = newest_id
        self._versions = versions
        self._over = asyncio.Event()
        self._moving = asyncio.Lock()
        self._stops: set[int] = set()
        """The messages that may have the button *Stop*."""

    async def follow(self) -> None:
        """Keep *Stop* under the newest message while the answer is written."""
        while self._mode == "always" and not self._over.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), MOVE_SECONDS)
            newest = self._newest_id()
            if newest is not None and newest not in self._stops:
                async with self._moving:
                    await self._move(newest)

    async def _move(self, newest: int) -> None:
        if self._over.is_set():
            return
        self._stops.add(newest)
        await self._turn_channel.set_buttons(newest, rows_while_running(newest))
        await self._clear({one for one in self._stops if one != newest})

    async def _clear(self, message_ids: set[int]) -> None:
        for message_id in sorted(message_ids):
            await self._turn_channel.set_buttons(message_id, ())
            self._stops.discard(message_id)

    def end(self) -> None:
        """Note that the answer is done, in whatever way."""
        self._over.set()

    async def finish(self, outcome: TurnOutcome) -> None:
        """Put the buttons under the last message of the answer, after its records are stored."""
        self.end()
        async with self._moving:  # what has begun to move stands before what comes last
            ids = sorted({*outcome.message_ids, *outcome.notice_ids})
            if not ids or outcome.is_cut_by_restart:
                await self._clear(set(self._stops))
                return
            await self._clear({one for one in self._stops if one != ids[-1]})
            earlier = () if self._continues is None else self._continues.message_ids
            if earlier and max(earlier) not in ids:
                await self._turn_channel.set_buttons(max(earlier), ())
            place = await self._versions.place_of_message(ids[-1])
            await self._turn_channel.set_buttons(ids[-1], rows_under(self._mode, ids[-1], place))
