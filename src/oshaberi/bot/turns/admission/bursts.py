"""Bursts: several messages that one person writes in one go are one question.

A burst is over when its author has asked a complete question, or has been quiet for a while.
`questions.UnbegunQuestions.join_burst` adds a message to one.
"""

from __future__ import annotations

import asyncio
import re

from oshaberi.bot.conversation.messages import IncomingMessage
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.clocks import loop_time_s

TYPING_SECONDS = 10.0
"""How long Discord shows that somebody is typing, unless they send a message first."""
ENDING = 50
"""How many characters at the end of a message are looked at for a question mark."""
_ASKED = re.compile(
    # A semicolon after a Greek letter is the question mark of Greek.
    r"(?:[?？؟⁇⁈⁉‽﹖፧❓❔]|(?<=[\u0370-\u03ff\u1f00-\u1fff])[;\u037e])"
    r"[!?！？؟\ufe0f]*[)\]}\"'*_~|”’»）」』】]*\Z"
)
"""A question mark at the end, perhaps inside a closing bracket, quote or markup."""


def is_complete(incoming: IncomingMessage) -> bool:
    """Return whether a message is a complete question: it mentions the bot and ends with a `?`.

    The mention may follow the question mark. On purpose not the rule of `text.sentences.ends`: a
    person who has asked waits for an answer, while one who has ended a sentence may go on.
    """
    end = incoming.said.own_words.rstrip()[-ENDING:]
    return incoming.mentions_us and _ASKED.search(end) is not None


def burst_of(incoming: IncomingMessage, config: TurnConfig, now_s: float) -> Burst | None:
    """Return the burst that a message begins, or None if it is answered at once."""
    if not config.burst_wait_ms or is_complete(incoming):
        return None
    return Burst(now_s, config.burst_wait_ms / 1000, config.burst_max_ms / 1000)


class Burst:
    """The messages that one person writes in one go, by the loop's clock.

    It ends `wait_s` after the last message, later if the person is typing, but at the latest
    `max_s` after the first.
    """

    def __init__(self, now_s: float, wait_s: float, max_s: float) -> None:
        self._wait_s = wait_s
        self._latest_s = now_s + max_s
        self._quiet_s = now_s + wait_s
        self._typing_s = now_s
        self._changed = asyncio.Event()

    @property
    def ends_s(self) -> float:
        return min(max(self._quiet_s, self._typing_s), self._latest_s)

    def is_open(self, now_s: float) -> bool:
        return now_s < self.ends_s

    def note_message(self, now_s: float) -> None:
        """Note a message. Its author has stopped typing."""
        self._quiet_s = now_s + self._wait_s
        self._typing_s = now_s
        self._changed.set()
        self._changed.clear()

    def note_typing(self, now_s: float) -> None:
        self._typing_s = now_s + TYPING_SECONDS

    def end(self) -> None:
        self._latest_s = 0.0
        self._changed.set()

    async def over(self) -> None:
        """Wait until the burst has ended."""
        while self.is_open(now_s := loop_time_s()):
            try:
                async with asyncio.timeout(self.ends_s - now_s):
                    await self._changed.wait()
            except TimeoutError:
                continue
