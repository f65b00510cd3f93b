"""The task of a turn: which messages to answer, as which persona, and why."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from oshaberi.conversation.conversation_messages import IncomingMessage
from oshaberi.storage.stored_records import PersonaRecord, TurnRecord
from oshaberi.turns.admission.answer_reasons import UNADDRESSED, UNINVITED, reason_word

Kind = Literal["answer", "go_on", "deliver"]


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One persona's answer to one message, or to several of one user that belong together.

    `go_on` asks the model to continue its last answer; `deliver` sends `text`, which an earlier
    turn could not send.
    """

    asked: tuple[IncomingMessage, ...]
    persona: PersonaRecord
    personas: tuple[PersonaRecord, ...]
    why: str
    user_id: int
    """The user who may stop it: a person, even if a persona asked."""
    kind: Kind = "answer"
    text: str = ""
    before: int | None = None
    """The model sees only messages from before this one."""
    told: frozenset[int] = frozenset()
    """Messages that the model does not see: their words are already in `asked`, or they are
    questions that are answered later."""
    continues: TurnRecord | None = None
    """The turn whose answer this one continues."""
    answered_ids: frozenset[int] = frozenset()
    """The messages with which other personas answered the same question."""
    waiting_ids: Callable[[], frozenset[int]] = field(default=frozenset, compare=False)
    """Returns the questions of the channel that wait for a turn of their own."""

    reason_of: Callable[[int], str | None] = field(default=lambda _message_id: None, compare=False)
    """Returns why a message was admitted, as it is stored."""

    stored: asyncio.Task[None] | None = field(default=None, compare=False)
    """Stores the question. No model is asked before it is done."""

    @property
    def newest(self) -> IncomingMessage:
        return self.asked[-1]

    @property
    def is_unaddressed(self) -> bool:
        """Tell whether the bot answers although nobody addressed it."""
        return reason_word(self.why) in UNADDRESSED

    @property
    def is_uninvited(self) -> bool:
        """Tell whether the message is answered by chance, so that nobody waits for the answer."""
        return reason_word(self.why) in UNINVITED

    def asks_about(self, words: Iterable[str]) -> bool:
        """Tell whether somebody addresses the bot and names one of these words, in any case."""
        if self.is_unaddressed:
            return False
        texts = [one.said.text.replace("\\", "").lower() for one in self.asked]
        return any(word.lower() in text for word in words for text in texts)

    @property
    def answering(self) -> IncomingMessage | None:
        """Return the message to reply to, or None."""
        ours = self.newest.said.by_us
        return self.newest if self.kind == "answer" and not ours else None
