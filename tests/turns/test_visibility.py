"""What of a channel's past somebody could have read there themselves."""

from __future__ import annotations

from datetime import UTC, datetime

from oshaberi.bot.conversation.messages import (
    ChannelMessage,
    Person,
    visible_exchanges,
    visible_history,
)
from oshaberi.bot.storage.records import Exchange

NOW = datetime(2026, 11, 3, tzinfo=UTC)
MIKA, REN, BOT = Person(1, "Mika"), Person(2, "Ren", can_read_history=False), Person(3, "Bot")


def said(number: int, author: Person) -> ChannelMessage:
    return ChannelMessage(number, author, "words", NOW, by_us=author is BOT)


HISTORY = tuple(said(n, who) for n, who in enumerate([BOT, MIKA, BOT, REN, BOT, BOT, MIKA, BOT]))
EXCHANGES = (Exchange(9, 1, "a", "b"), Exchange(9, 2, "c", "d"))


def test_who_may_read_the_history_reads_all_of_it() -> None:
    assert visible_history(HISTORY, MIKA, MIKA.id) == HISTORY
    assert visible_exchanges(EXCHANGES, MIKA, MIKA.id) == EXCHANGES


def test_who_may_not_has_seen_what_came_after_their_own_words() -> None:
    assert [one.id for one in visible_history(HISTORY, REN, REN.id)] == [3, 4, 5]
    assert visible_exchanges(EXCHANGES, REN, REN.id) == EXCHANGES[1:]


def test_a_persona_reads_for_the_person_who_began_it() -> None:
    persona = Person(0, "Mochi", is_bot=True, can_read_history=False)
    assert [one.id for one in visible_history(HISTORY, persona, REN.id)] == [3, 4, 5]
