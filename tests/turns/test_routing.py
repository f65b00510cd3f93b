"""Which personas answer, and whose message an old one was."""

from __future__ import annotations

from typing import Any

import pytest

from oshaberi.storage.records import PersonaRecord
from oshaberi.turns.routing import who_answers, who_is_called
from oshaberi.turns.speakers import Speaker, speaker_of
from oshaberi.turns.values import Incoming, Person, Said
from tests.turns.house import ALICE, BOT_ID, EPOCH, REN, TOMORI

KAI = PersonaRecord(7, "Kai", aliases=("Captain",), triggers=("kai",))
PERSONAS = (TOMORI, REN, KAI)


def ours(shown_as: str | None, words: str = "hi") -> Said:
    author = Person(BOT_ID, shown_as or "Bot", is_bot=True)
    return Said(9, author, words, EPOCH, by_us=True, shown_as=shown_as)


def answering(words: str, **fields: Any) -> list[str]:
    said = Said(1, ALICE, words, EPOCH)
    incoming = Incoming(said, 50, fields.pop("server_id", 7), **fields)
    return [persona.name for persona in who_answers(incoming, PERSONAS, "The Bot")]


@pytest.mark.parametrize(
    ("words", "fields", "names"),
    [
        ("hello", {"mentions_us": True}, ["Tomori"]),
        ("hello", {}, ["Tomori"]),
        ("ren?", {}, ["Ren"]),
        ("kai and ren", {}, ["Kai", "Ren"]),
        ("ren, kai, ren", {}, ["Ren", "Kai"]),
        ("@Tomori ask the captain", {"mentions_us": True}, ["Kai"]),
        ("ask the captain", {}, ["Tomori"]),
        ("captain!", {"server_id": 0}, ["Kai"]),
        ("why?", {"replied": ours("Ren")}, ["Ren"]),
        ("why?", {"replied": ours("Ren (mad)")}, ["Ren"]),
        ("why?", {"replied": ours("Batman (Ren)")}, ["Ren"]),
        ("why?", {"replied": ours("The Bot")}, ["Tomori"]),
        ("why?", {"replied": ours("Old Name")}, ["Tomori"]),
        ("why?", {"replied": ours("The Bot", "**Ren**: I said so")}, ["Ren"]),
        ("what does kai say?", {"replied": ours("Ren")}, ["Ren", "Kai"]),
        ("thanks ren", {"replied": ours("Ren")}, ["Ren"]),
        ("why?", {"replied": Said(3, ALICE, "x", EPOCH)}, ["Tomori"]),
    ],
)
def test_who_answers(words: str, fields: dict[str, Any], names: list[str]) -> None:
    assert answering(words, **fields) == names


def test_personas_call_each_other_by_trigger_only() -> None:
    assert [p.name for p in who_is_called("Ask Kai, Captain!", REN, PERSONAS)] == ["Kai"]
    assert who_is_called("I am Ren, the captain's friend", REN, PERSONAS) == ()


@pytest.mark.parametrize(
    ("shown_as", "words", "speaker"),
    [
        (None, "hi", Speaker("Tomori", None, "hi")),
        ("The Bot", "hi", Speaker("Tomori", None, "hi")),
        ("Ren", "hi", Speaker("Ren", None, "hi")),
        ("captain", "hi", Speaker("Kai", None, "hi")),
        ("Ren (mad)", "hi", Speaker("Ren", "mad", "hi")),
        ("Ren (default)", "hi", Speaker("Ren", None, "hi")),
        ("Alice (Ren)", "hi", Speaker("Ren", "Alice", "hi")),
        ("The Bot", "**Ren**: hi", Speaker("Ren", None, "hi")),
        ("The Bot", "**Ren (mad)**:\n- hi", Speaker("Ren", "mad", "- hi")),
        ("The Bot", "**Note**: hi", Speaker("Tomori", None, "**Note**: hi")),
        ("Somebody (old)", "hi", Speaker("Somebody (old)", None, "hi")),
    ],
)
def test_whose_message_it_was(shown_as: str | None, words: str, speaker: Speaker) -> None:
    assert speaker_of(words, shown_as, "The Bot", PERSONAS) == speaker
