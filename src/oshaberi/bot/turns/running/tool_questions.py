"""Asks a person about tools that must not run by themselves, and waits for a button."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from oshaberi.bot.conversation.transcript import SUBTEXT, WORK
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.tools.calls import NOBODY_TO_ASK
from oshaberi.bot.tools.definition import Approver, AskedCall
from oshaberi.bot.tools.questions import (
    Action,
    ToolQuestion,
    ToolQuestions,
    id_of_button,
)
from oshaberi.bot.turns.running.quiet_lines import QuietLines
from oshaberi.clocks import loop_time_s
from oshaberi.delivery.sink import PostButton
from oshaberi.languages import translatable, translated
from oshaberi.stream.stops import ActiveChannel

log = logging.getLogger(__name__)

REFUSED = "not run: a person did not allow it; do not ask for it again in this answer"
TOO_LATE = "not run: nobody allowed it in time; do not ask for it again in this answer"
HURRIED_SECONDS = 15.0
"""How long a question still waits when other turns wait for a slot."""
MOST_NAMED = 8

_LABELS: dict[Action, str] = {
    "allow": translatable("Allow"),
    "refuse": translatable("Refuse"),
    "show": translatable("What exactly?"),
}
_WHO: dict[Approver, str] = {
    "asker": translatable("The person who asked or somebody with Manage Messages decides"),
    "manage_messages": translatable("Somebody with Manage Messages decides"),
    "manage_server": translatable("Somebody with Manage Server decides"),
}


class TurnQuestions:
    """Asks for one turn. After a refusal it asks no more: a model may call a tool again and again.

    `rest` is called while a person is waited for, and `go_on` afterwards.
    """

    def __init__(
        self,
        waiting: ToolQuestions,
        lines: QuietLines,
        config: TurnConfig,
        channel: ActiveChannel,
        *,
        channel_id: int,
        asker_id: int,
        clock: Callable[[], datetime],
        rest: Callable[[], None],
        go_on: Callable[[], None],
    ) -> None:
        self._waiting = waiting
        self._lines = lines
        self._channel = channel
        self._seconds = config.tool_question_ms / 1000
        self._channel_id = channel_id
        self._asker_id = asker_id
        self._clock = clock
        self._rest = rest
        self._go_on = go_on
        self._refusal = ""

    async def ask(self, calls: Sequence[AskedCall]) -> str:
        """Ask about these calls. Return why they may not run; empty if they may."""
        if self._refusal:
            return self._refusal
        names = ", ".join(one.name for one in calls)
        with self._waiting.waiting(self._channel_id, self._asker_id, calls) as question:
            self._rest()
            self._refusal = await self._ask(question)
            self._go_on()
        log.info("asked about %s: %s", names, self._refusal or "allowed")
        return self._refusal

    async def _ask(self, question: ToolQuestion) -> str:
        sent = await self._lines.post(self._text(question), _buttons(question))
        if sent is None:
            return NOBODY_TO_ASK
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._seconds) as limit:
                    with self._channel.hurried_by(lambda: _hurry(limit)):
                        await question.verdict
        finally:
            self._lines.remove(sent)
        if question.verdict.cancelled():
            return TOO_LATE
        # Also if somebody decided at the last moment: they were told nothing else.
        return "" if question.verdict.result() else REFUSED

    def _text(self, question: ToolQuestion) -> str:
        end = self._clock() + timedelta(seconds=self._seconds)
        return "\n".join(
            (
                f"{SUBTEXT}{WORK} {translated('I ask before I go on')}",
                translated("May I use {tools}?", tools=_named(question.calls)),
                f"{SUBTEXT}{translated(_WHO[question.approver])} · <t:{int(end.timestamp())}:R>",
            )
        )


def _hurry(limit: asyncio.Timeout) -> None:
    """End the wait soon: others wait for this turn's slot."""
    soon = loop_time_s() + HURRIED_SECONDS
    when = limit.when()
    if when is None or when > soon:
        limit.reschedule(soon)


def _named(calls: Sequence[AskedCall]) -> str:
    """Return the names of the tools. They consist of letters, digits, `_` and `-`."""
    counts = Counter(one.name for one in calls)
    named = [f"`{name}`" + (f" ×{count}" if count > 1 else "") for name, count in counts.items()]
    return ", ".join(named[:MOST_NAMED]) + (" …" if len(named) > MOST_NAMED else "")


def _buttons(question: ToolQuestion) -> tuple[PostButton, ...]:
    return tuple(
        PostButton(translated(label), id_of_button(action, question.key))
        for action, label in _LABELS.items()
    )
