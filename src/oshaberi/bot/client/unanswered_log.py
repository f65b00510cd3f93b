"""Tells operators about unanswered questions: counts each, logs those that can be fixed."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable

from oshaberi.conversation.conversation_messages import IncomingMessage
from oshaberi.turn_ids import TurnIds, of_turn
from oshaberi.turns.admission.answer_reasons import WHY

log = logging.getLogger(__name__)

WARNED = ("mute", "full")
"""Reasons that are logged: somebody asked the bot, and the operator or an admin can fix the
cause."""
AGAIN_SECONDS = 600.0
MOST_CHANNELS = 2000


class UnansweredLog:
    """Is told why messages are not answered. `on_unanswered` is called with each reason.

    The warning for a channel is repeated after ten minutes at the earliest.
    """

    def __init__(self) -> None:
        self.on_unanswered: Callable[[str], None] = lambda _reason: None
        self._warned_s: OrderedDict[tuple[int, str], float] = OrderedDict()

    def count(self, reason: str) -> None:
        """Count a message that was ignored for one of the reasons that are never logged."""
        self.on_unanswered(reason)

    def note(self, incoming: IncomingMessage, reason: str) -> None:
        self.on_unanswered(reason)
        if reason not in WARNED or not self._is_due(incoming.channel_id, reason):
            return
        with of_turn(TurnIds(incoming.server_id, incoming.channel_id, incoming.user_id)):
            log.warning("message %s is not answered: %s", incoming.said.id, WHY[reason])

    def _is_due(self, channel_id: int, reason: str) -> bool:
        now_s, key = asyncio.get_running_loop().time(), (channel_id, reason)
        warned_s = self._warned_s.get(key)
        if warned_s is not None and now_s - warned_s < AGAIN_SECONDS:
            return False
        self._warned_s[key] = now_s
        self._warned_s.move_to_end(key)
        if len(self._warned_s) > MOST_CHANNELS:
            self._warned_s.popitem(last=False)
        return True
