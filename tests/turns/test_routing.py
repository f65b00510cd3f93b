"""Which personas answer, and whose message an old one was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from oshaberi.bot.conversation.messages import ChannelMessage, ChannelPath, IncomingMessage, Person
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.turns.personas import (
    AnswerPlace,
    AttributedSpeaker,
    allowed_in,
    speaker_of,
    who_answers,
    who_is_called,
    who_speaks_up,
)
from tests.turns.turn_harness import ALICE, BOT_ID, EPOCH, REN, TOMORI

KAI = PersonaRecord(7, "Kai", aliases=("Captain",), triggers=("kai",))
HERE = ChannelPath(7, 50, None, 5)
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
    assert allowed_in((REN, grown_up), AnswerPlace(HERE, False, EPOCH)) == (REN,)
    assert allowed_in((REN, grown_up), AnswerPlace(HERE, True, EPOCH)) == (REN, grown_up)


def test_some_personas_answer_only_in_some_channels() -> None:
    here, elsewhere = (
        replace(KAI, options={"channels": [5]}),
        replace(KAI, options={"channels": [6]}),
    )
    place = AnswerPlace(HERE, False, EPOCH)
    assert allowed_in((REN, here, elsewhere), place) == (REN, here)
    assert place.silences(elsewhere) == "not_here"


def test_some_personas_sleep() -> None:
    sleeper = replace(KAI, options={"awake_hours": "22-6:30 Asia/Tokyo"})
    noon, night = EPOCH.replace(hour=3, minute=0), EPOCH.replace(hour=21, minute=29)
    assert AnswerPlace(HERE, False, noon).silences(sleeper) == "asleep"
    assert AnswerPlace(HERE, False, night).silences(sleeper) is None
    assert AnswerPlace(HERE, False, None).silences(sleeper) is None


def talkative(persona: PersonaRecord, share: float) -> PersonaRecord:
    return replace(persona, card={"data": {"extensions": {"talkativeness": share}}})


def test_who_speaks_up_where_nobody_is_called() -> None:
    personas = (talkative(TOMORI, 0), talkative(REN, 0.5), talkative(KAI, 1))
    counts = {"Tomori": 0, "Ren": 0, "Kai": 0}
    firsts = set()
    for number in range(400):
        said = IncomingMessage(ChannelMessage(number, ALICE, "hm", EPOCH), 50, 7)
        found = who_speaks_up(said, personas)
        assert found == who_speaks_up(said, personas)
        firsts.add(found[0].name)
        for one in found:
            counts[one.name] += 1
    assert (counts["Tomori"], counts["Kai"]) == (0, 400)
    assert 160 < counts["Ren"] < 240
    assert firsts == {"Ren", "Kai"}


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
