"""Who is answered, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest

from oshaberi.bot.conversation.messages import ChannelMessage, IncomingMessage, Person
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.turns.admission.message_admission import MOST_USERS, Cooldowns
from oshaberi.bot.turns.admission.rules import (
    ADMITTED,
    WHY,
    Admitted,
    Refused,
    admission,
    why_ignored,
)
from tests.turns.turn_harness import ALICE, BOT_ID, EPOCH, REN, TOMORI, unaddressed

PERSONAS = (TOMORI, REN)


def heard(words: str = "hello", author: Person = ALICE, **fields: Any) -> IncomingMessage:
    by_us = fields.pop("by_us", False)
    said = ChannelMessage(1, author, words, EPOCH, by_us=by_us)
    return IncomingMessage(said, **{"channel_id": 50, "server_id": 7, **fields})


def ours(words: str = "hi") -> ChannelMessage:
    return ChannelMessage(9, Person(BOT_ID, "Tomori", is_bot=True), words, EPOCH, by_us=True)


def why(
    incoming: IncomingMessage, personas: tuple[PersonaRecord, ...] = PERSONAS, **config: Any
) -> str:
    return admission(incoming, personas, TurnConfig(**config)).reason


@pytest.mark.parametrize(
    ("incoming", "reason"),
    [
        (heard(mentions_us=True), "mention"),
        (heard(replied=ours()), "reply"),
        (heard(replied=ours(), mentions_us=True), "reply"),
        (heard(server_id=0), "direct"),
        (heard("hey Ren, are you there?"), "trigger"),
        (heard("hey REN!"), "trigger"),
        (heard("ren's idea"), "trigger"),
        (heard("the children rent a wren"), "unaddressed"),
        (heard("https://ren.test and `ren` and :ren: and <:ren:12>"), "unaddressed"),
        (heard("hello"), "unaddressed"),
        (heard(replied=ChannelMessage(3, ALICE, "x", EPOCH)), "unaddressed"),
        (heard(mentions_us=True, by_us=True), "own"),
        (heard(author=Person(5, "Robot", is_bot=True), mentions_us=True), "bot"),
        (heard(mentions_us=True, can_answer=False), "mute"),
        (heard(can_answer=False), "unaddressed"),
    ],
)
def test_who_is_addressed(incoming: IncomingMessage, reason: str) -> None:
    found = admission(incoming, PERSONAS, TurnConfig())
    assert found.reason == reason
    assert found.ok == (reason in ADMITTED)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"blocked_users": (ALICE.id,)}, "blocked"),
        ({"blocked_channels": (50,)}, "blocked_channel"),
        ({"allowed_users": (77,)}, "unlisted"),
        ({"allowed_users": (ALICE.id,)}, "mention"),
        ({"allowed_channels": (51,)}, "elsewhere"),
        ({"allowed_channels": (50,)}, "mention"),
        ({"allowed_users": (ALICE.id,), "blocked_users": (ALICE.id,)}, "blocked"),
    ],
)
def test_lists(config: dict[str, Any], reason: str) -> None:
    assert why(heard(mentions_us=True), **config) == reason


def test_a_thread_belongs_to_its_channel() -> None:
    thread = heard(channel_id=60, parent_id=50)
    assert why(thread, auto_channels=(50,)) == "auto"
    assert why(heard(channel_id=60), auto_channels=(50,)) == "unaddressed"
    mention = heard(channel_id=60, parent_id=50, mentions_us=True)
    assert why(mention, allowed_channels=(50,)) == "mention"
    assert why(mention, blocked_channels=(50,)) == "blocked_channel"


@pytest.mark.parametrize(
    ("words", "fields", "reason"),
    [
        ("hello", {}, "auto"),
        ("@aya are you coming tonight?", {"mentions_others": True}, "others"),
        ("@everyone tea is ready", {"mentions_others": True}, "others"),
        ("@aya ask ren!", {"mentions_others": True}, "auto"),
        ("@aya ask Tomori!", {"mentions_others": True}, "auto"),
        ("@aya ask Chatty Bot!", {"mentions_others": True, "bot_name": "Chatty Bot"}, "auto"),
        ("@aya see https://tomori.test", {"mentions_others": True}, "others"),
        ("@aya @Tomori", {"mentions_others": True, "mentions_us": True}, "mention"),
        ("@aya look", {"mentions_others": True, "replied": ours()}, "reply"),
    ],
)
def test_where_every_message_is_answered_those_to_others_are_left_alone(
    words: str, fields: dict[str, Any], reason: str
) -> None:
    incoming = heard(words, **fields)
    config = TurnConfig(auto_channels=(50,))
    assert admission(incoming, PERSONAS, config).reason == reason
    if not incoming.is_addressed:
        ignored = why_ignored(unaddressed(incoming), PERSONAS, config)
        assert ignored == (None if reason == "auto" else reason)


def test_a_reply_to_somebody_else_is_left_alone_there_too() -> None:
    said = ChannelMessage(1, ALICE, "yes", EPOCH, reply_to=3)
    other = ChannelMessage(3, Person(77, "Aya"), "x", EPOCH)
    reply = IncomingMessage(said, channel_id=50, server_id=7, replied=other)
    assert why(reply, auto_channels=(50,)) == "others"


def test_a_channel_belongs_to_its_category() -> None:
    thread = heard(channel_id=60, parent_id=50, category_id=40)
    assert why(thread, auto_channels=(40,)) == "auto"
    mention = heard(channel_id=50, category_id=40, mentions_us=True)
    assert why(mention, allowed_channels=(40,)) == "mention"
    assert why(mention, blocked_channels=(40,)) == "blocked_channel"
    assert why(mention, allowed_channels=(41,)) == "elsewhere"


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"blocked_roles": (301,)}, "blocked_role"),
        ({"blocked_roles": (301,), "blocked_users": (ALICE.id,)}, "blocked"),
        ({"blocked_roles": (999,)}, "mention"),
        ({"allowed_roles": (302,)}, "mention"),
        ({"allowed_roles": (999,)}, "unlisted"),
        ({"allowed_roles": (999,), "allowed_users": (ALICE.id,)}, "mention"),
        ({"allowed_roles": (302,), "allowed_users": (77,)}, "mention"),
        ({"allowed_roles": (302,), "blocked_roles": (301,)}, "blocked_role"),
    ],
)
def test_roles(config: dict[str, Any], reason: str) -> None:
    author = replace(ALICE, role_ids=frozenset({301, 302}))
    assert why(heard(author=author, mentions_us=True), **config) == reason


def test_scripts_without_spaces_have_no_word_edges() -> None:
    personas = (TOMORI, PersonaRecord(7, "灯", triggers=("ともり",)))
    assert why(heard("ねえともりちゃん"), personas) == "trigger"


@pytest.mark.parametrize(
    ("words", "config", "reason"),
    [
        ("tomori, how are you?", {}, "name"),
        ("hey Ann!", {}, "name"),
        ("hi annie", {}, "name"),
        ("hello Chatty Bot", {}, "name"),
        ("Ann is late", {}, "unaddressed"),
        ("hey Ann!", {"answer_to_names": False}, "unaddressed"),
        ("hey Ann!", {"auto_channels": (50,)}, "auto"),
    ],
)
def test_a_persona_answers_to_its_name(words: str, config: dict[str, Any], reason: str) -> None:
    ann = PersonaRecord(7, "Ann", aliases=("annie",))
    incoming = heard(words, bot_name="Chatty Bot")
    assert why(incoming, (TOMORI, ann), **config) == reason
    if not incoming.is_addressed:
        ignored = why_ignored(unaddressed(incoming), (TOMORI, ann), TurnConfig(**config))
        assert ignored == (None if reason in ADMITTED else reason)
    told_another = replace(incoming, mentions_others=True)
    assert why(told_another, (TOMORI, ann), **config) == ("auto" if reason == "auto" else "others")


def test_a_trigger_of_several_words() -> None:
    personas = (TOMORI, PersonaRecord(7, "Kai", triggers=("dear Kai",)))
    assert why(heard("Oh Dear kai, help"), personas) == "trigger"
    assert why(heard("dear Kaitlyn"), personas) == "unaddressed"


def test_every_reason_has_its_words() -> None:
    reasons = {*get_args(Admitted), *get_args(Refused)}
    assert reasons <= WHY.keys()


def test_cooldown() -> None:
    cooldowns = Cooldowns()
    assert cooldowns.allows(1, 50.0, 1000)
    cooldowns.note(1, 50.0)
    assert not cooldowns.allows(1, 50.999, 1000)
    assert cooldowns.allows(1, 51.0, 1000)
    assert cooldowns.allows(2, 50.0, 1000)


def test_cooldowns_are_bounded() -> None:
    cooldowns = Cooldowns()
    for user in range(MOST_USERS + 50):
        cooldowns.note(user, 50.0)
    assert len(cooldowns) == MOST_USERS
    assert not cooldowns.allows(MOST_USERS, 50.0, 1000)
