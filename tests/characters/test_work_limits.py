"""How much of what people bring in one process holds."""

from __future__ import annotations

import pytest

from oshaberi.bot.characters.cards import Card, CardError
from oshaberi.bot.characters.work_limits import MOST_OF_ALL, MOST_OF_SERVER, CharacterWork

CARDS = (Card(2, {"name": "Mochi"}),)
MB = 1024 * 1024


def test_a_server_holds_so_much_and_the_oldest_goes_first() -> None:
    work = CharacterWork()
    first, second = (work.hold(1, CARDS, 30 * MB) for _ in range(2))
    third = work.hold(1, CARDS, 30 * MB)
    assert work.held_bytes == 60 * MB <= MOST_OF_SERVER
    with pytest.raises(CardError, match="no longer here"):
        _ = first.cards
    assert second.cards is third.cards is CARDS


def test_all_servers_together_hold_so_much() -> None:
    work = CharacterWork()
    held = [work.hold(server, CARDS, 40 * MB) for server in range(50)]
    assert work.held_bytes <= MOST_OF_ALL
    assert [one for one in held if one._cards is not None] == held[-3:]
    for one in held:
        work.release(one)
    assert work.held_bytes == 0


def test_the_newest_stays_however_large_it_is() -> None:
    work = CharacterWork()
    assert work.hold(1, CARDS, MOST_OF_ALL * 2).cards == CARDS


def test_one_thing_at_a_time() -> None:
    work = CharacterWork()
    with work.alone("import", 1):
        with work.alone("import", 2), work.alone("draft", 1):
            pass
        with pytest.raises(CardError, match="already"), work.alone("import", 1):
            pass
    with work.alone("import", 1):
        pass
