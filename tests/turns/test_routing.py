"""Which personas answer, and whose message an old one was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from oshaberi.bot.conversation.messages import ChannelMessage, IncomingMessage, Person
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.turns.personas import (
    AttributedSpeaker,
    allowed_in,
    speaker_of,
    who_answers,
    who_is_called,
)
from tests.turns.turn_harness import ALICE, BOT_ID, EPOCH, REN, TOMORI

KAI = PersonaRecord(7, "Kai", aliases=("Captain",), triggers=("kai",))
PERSONAS = (TOMORI, REN, KAI)


def ours(shown_as: str | None, words: str = "hi") -> ChannelMessage:
    author = Person(BOT_ID, shown_as or "Bot", is_bot=True)
    return ChannelMessage(9, author, words, EPOCH, by_us=True, shown_as=shown_as)


def answering(words: str, **fields: Any) -> list[str]:
    said = ChannelMessage(1, ALICE, words, EPOCH)
    incoming = IncomingMessage(said, 50, fields.pop("server_id", 7), **fields)
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
        ("why?", {"replied": ChannelMessage(3, ALICE, "x", EPOCH)}, ["Tomori"]),
    ],
)
def test_who_answers(words: str, fields: dict[str, Any], names: list[str]) -> None:
    assert answering(words, **fields) == names


@pytest.mark.parametrize(
    ("words", "uncalled", "names"),
    [
        ("hello", "Kai", ["Kai"]),
        ("hello", "captain", ["Kai"]),
        ("ren?", "Kai", ["Ren"]),
        ("hello", "Somebody else", ["Tomori"]),
    ],
)
def test_a_channel_may_have_another_persona(words: str, uncalled: str, names: list[str]) -> None:
    incoming = IncomingMessage(ChannelMessage(1, ALICE, words, EPOCH), 50, 7, mentions_us=True)
    found = who_answers(incoming, PERSONAS, uncalled=uncalled)
    assert [persona.name for persona in found] == names


def test_some_personas_answer_only_in_age_restricted_channels() -> None:
    grown_up = replace(KAI, is_age_restricted=True)
    assert allowed_in((REN, grown_up), False) == (REN,)
    assert allowed_in((REN, grown_up), True) == (REN, grown_up)


def test_personas_call_each_other_by_trigger_only() -> None:
    assert [p.name for p in who_is_called("Ask Kai, Captain!", REN, PERSONAS)] == ["Kai"]
    assert who_is_called("I am Ren, the captain's friend", REN, PERSONAS) == ()


@pytest.mark.parametrize(
    ("shown_as", "words", "speaker"),
    [
        (None, "hi", AttributedSpeaker("Tomori", None, "hi")),
        ("The Bot", "hi", AttributedSpeaker("Tomori", None, "hi")),
        ("Ren", "hi", AttributedSpeaker("Ren", None, "hi")),
        ("captain", "hi", AttributedSpeaker("Kai", None, "hi")),
        ("Ren (mad)", "hi", AttributedSpeaker("Ren", "mad", "hi")),
        ("Ren (default)", "hi", AttributedSpeaker("Ren", None, "hi")),
        ("Alice (Ren)", "hi", AttributedSpeaker("Ren", "Alice", "hi")),
        ("The Bot", "**Ren**: hi", AttributedSpeaker("Ren", None, "hi")),
        ("The Bot", "**Ren (mad)**:\n- hi", AttributedSpeaker("Ren", "mad", "- hi")),
        ("The Bot", "**Note**: hi", AttributedSpeaker("Tomori", None, "**Note**: hi")),
        ("Somebody (old)", "hi", AttributedSpeaker("Somebody (old)", None, "hi")),
    ],
)
def test_whose_message_it_was(shown_as: str | None, words: str, speaker: AttributedSpeaker) -> None:
    assert speaker_of(words, shown_as, "The Bot", PERSONAS) == speaker
