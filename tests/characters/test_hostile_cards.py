"""Hostile cards: each is read or refused in one line, within its bound of memory and time."""

from __future__ import annotations

import time
import tracemalloc

from oshaberi.bot.characters.card_files import read_card
from oshaberi.bot.characters.cards import CardError

from .hostile_cards import hostile_cards

MOST_BYTES = 100 * 1024 * 1024
MOST_CPU_S = 3.0


def test_two_hundred_hostile_cards() -> None:
    """None crashes, none takes more than 100 MB, none takes long; most are refused."""
    lines: list[str] = []
    for number, content in enumerate(hostile_cards()):
        tracemalloc.start()
        begun = time.process_time()
        try:
            assert read_card(content, "card.png").name, number
        except CardError as error:
            lines.append(str(error))
        took = time.process_time() - begun
        _now, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < MOST_BYTES, (number, peak)
        assert took < MOST_CPU_S, (number, took)
    assert len(lines) > 100
    assert [line for line in lines if "\n" in line or len(line) > 250] == []
