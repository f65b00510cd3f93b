"""Everything that one answer depends on, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from oshaberi.bot.conversation.messages import (
    ChannelInfo,
    ChannelMessage,
    IncomingMessage,
)
from oshaberi.bot.storage.records import ConversationSummary, Exchange, Fact, PersonaRecord
from oshaberi.bot.turns.shown_reasoning import is_shown_thought


@dataclass(frozen=True, slots=True)
class TurnSurroundings:
    """Everything that one answer depends on.

    `sprites` and `tables` have the original form of the bot's messages, which Discord shows
    differently. `texts` has the contents of small files by URL. `go_on`: nothing new was asked.
    """

    asked: tuple[IncomingMessage, ...]
    persona: PersonaRecord
    personas: tuple[PersonaRecord, ...]
    channel_info: ChannelInfo
    now: datetime
    facts: tuple[Fact, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    sprites: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    tables: Mapping[int, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    go_on: bool = False
    told: frozenset[int] = frozenset()
    """Messages whose words are already in `asked`."""
    summary: ConversationSummary | None = None
    """Replaces the messages up to its last one."""
    silence_marker: str = ""
    """Given if nobody addressed the bot: the model writes it to say nothing."""
    is_uninvited: bool = False
    """Whether nobody addressed the bot."""
    answered_ids: frozenset[int] = frozenset()
    """The messages with which other personas answered the same question."""
    waiting_ids: frozenset[int] = frozenset()
    """Questions in the history that get their own answer after this one."""

    @property
    def newest(self) -> ChannelMessage:
        """Return the message that is answered."""
        return self.asked[-1].said

    @property
    def history(self) -> tuple[ChannelMessage, ...]:
        """Return the history without the current question and the thoughts that the bot showed."""
        asked = set() if self.go_on else {incoming.said.id for incoming in self.asked}
        left_out = asked | self.told
        after_id = -1 if self.summary is None else self.summary.last_id
        return tuple(
            one
            for one in self.channel_info.history
            if one.id > after_id
            and one.id not in left_out
            and not (one.by_us and is_shown_thought(one.text))
        )
