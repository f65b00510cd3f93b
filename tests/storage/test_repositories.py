"""What is put in comes out again: servers, models, keys, memories, messages, turns."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from oshaberi.bot.storage import Database, StorageError
from oshaberi.bot.storage.records import (
    MOST_FACTS,
    TAKEN_BACK,
    Exchange,
    Fact,
    KeyRecord,
    ModelRecord,
    TurnRecord,
    UsageRecord,
)
from oshaberi.bot.tools import ToolBox, builtin_tools
from oshaberi.chunks import ToolCall

from ..tools.fake_tool_context import MIKA, context
from .scenario_database import NOON, Clock, ask, with_database

SERVER, CHANNEL, USER = 2**62 + 1, 2**62 + 2, 2**62 + 3
"""As large as Discord's ids will be for a long time."""


def test_settings_of_a_server(url: str) -> None:
    async def scenario(db: Database) -> None:
        assert await db.servers.config(SERVER) == {}
        await db.servers.set_config(SERVER, "humanizer_degree", 3)
        await db.servers.set_config(SERVER, "humanizer_degree", 1)
        await db.servers.set_config(SERVER, "llm_stop_strings", ["終わり", "a\x00b"])
        await db.servers.set_config(SERVER, "persona", None)
        await db.servers.set_config(0, "delivery", "live")
        assert await db.servers.config(SERVER) == {
            "humanizer_degree": 1,
            "llm_stop_strings": ["終わり", "a\x00b"],
            "persona": None,
        }
        await db.servers.reset_config(SERVER, "persona")
        assert set(await db.servers.config(SERVER)) == {"humanizer_degree", "llm_stop_strings"}
        await db.servers.reset_config(SERVER)
        assert await db.servers.config(SERVER) == {}
        assert await db.servers.config(0) == {"delivery": "live"}

    with_database(url, scenario)


def test_what_is_stored_is_there_after_a_restart(url: str) -> None:
    with_database(url, lambda db: db.servers.set_config(SERVER, "notify", "last"))
    assert with_database(url, lambda db: db.servers.config(SERVER)) == {"notify": "last"}


def test_a_chain_of_models(url: str) -> None:
    async def scenario(db: Database) -> None:
        first = ModelRecord(SERVER, "openai", "big", params={"temperature": 0.5})
        second = ModelRecord(SERVER, "anthropic", "small", base_url="https://x.test", position=7)
        await db.models.set_chain(SERVER, [first])
        await db.models.set_chain(SERVER, [second, first])
        chain = await db.models.chain(SERVER)
        assert [replace(m, id=0) for m in chain] == [
            replace(second, position=0),
            replace(first, position=1),
        ]
        await db.models.set_chain(SERVER, [])
        assert await db.models.chain(SERVER) == ()

    with_database(url, scenario)


def test_a_chain_in_direct_messages_is_one_persons(url: str) -> None:
    async def scenario(db: Database) -> None:
        await db.models.set_chain(0, [ModelRecord(0, "google", "mine", user_id=USER)], USER)
        (mine,) = await db.models.chain(0, USER)
        assert (mine.model, mine.server_id, mine.user_id) == ("mine", 0, USER)
        assert await db.models.chain(0, USER + 1) == ()
        assert await db.models.chain(SERVER, USER) == ()
        assert await db.models.chain(USER) == (), "a server may have the same number"
        with pytest.raises(StorageError, match="to a server or to a person"):
            await db.models.set_chain(0, [ModelRecord(0, "google", "everybody's")])

    with_database(url, scenario)


def test_keys(url: str) -> None:
    async def scenario(db: Database) -> None:
        direct = await db.keys.add(KeyRecord(0, "openai", "sk-direct", user_id=USER))
        own = await db.keys.add(KeyRecord(SERVER, "openai", "sk-own", label="mine"))
        other = await db.keys.add(KeyRecord(SERVER, "google", "sk-google"))
        assert await db.keys.of(SERVER, "openai") == (own,)
        await db.keys.rest(own.id, NOON.astimezone(timezone(timedelta(hours=9))))
        rested = (await db.keys.of(SERVER, "openai"))[0]
        assert rested.rest_until == NOON
        assert rested.rest_until.tzinfo == UTC
        assert not await db.keys.remove(SERVER, direct.id)
        assert await db.keys.remove(SERVER, own.id)
        assert not await db.keys.remove(SERVER, own.id)
        assert await db.keys.of(SERVER, "openai") == ()
        assert await db.keys.of(SERVER, "google") == (other,)

    with_database(url, scenario)


def test_a_key_of_direct_messages_serves_one_person(url: str) -> None:
    async def scenario(db: Database) -> None:
        key = await db.keys.add(KeyRecord(0, "openai", "sk-direct", user_id=USER))
        assert await db.keys.of(0, "openai", USER) == (key,)
        for server_id, user_id in ((0, USER + 1), (0, 0), (SERVER, USER), (SERVER, 0), (USER, 0)):
            assert await db.keys.of(server_id, "openai", user_id) == ()
            assert not await db.keys.remove(server_id, key.id, user_id)
        assert await db.keys.remove(0, key.id, USER)
        with pytest.raises(StorageError, match="to a server or to a person"):
            await db.keys.add(KeyRecord(0, "openai", "sk-everybodys"))

    with_database(url, scenario)


def exchange(number: int, channel_id: int = CHANNEL, user_id: int = USER) -> Exchange:
    return Exchange(channel_id, user_id, f"q{number}", f"a{number}", "kept aside", "Ren")


def test_short_memory_is_bounded(url: str) -> None:
    async def scenario(db: Database) -> None:
        for number in range(5):
            await db.memory.add(exchange(number), keep=3, days=30)
        await db.memory.add(exchange(9, channel_id=7), keep=3, days=30)
        await db.prune()
        recent = await db.memory.recent(CHANNEL, 10)
        assert [one.asked for one in recent] == ["q2", "q3", "q4"]
        assert replace(recent[0], id=0) == replace(exchange(2), at=NOON)
        assert [one.asked for one in await db.memory.recent(CHANNEL, 2)] == ["q3", "q4"]
        await db.memory.add(exchange(5), keep=0, days=30)
        assert await db.memory.recent(CHANNEL, 10) == ()
        assert len(await db.memory.recent(7, 10)) == 1

    with_database(url, scenario)


def test_short_memory_expires(url: str) -> None:
    clock = Clock()

    async def scenario(db: Database) -> None:
        await db.memory.add(exchange(1), keep=9, days=2)
        await db.memory.add(exchange(2), keep=9, days=10)
        clock.pass_days(3)
        assert [one.asked for one in await db.memory.recent(CHANNEL, 9)] == ["q2"]
        await db.memory.add(exchange(3, channel_id=7), keep=9, days=10)
        await db.prune()

    with_database(url, scenario, now=clock)
    assert ask(url, "SELECT asked FROM exchanges ORDER BY asked") == [("q2",), ("q3",)]


def test_forgetting(url: str) -> None:
    async def scenario(db: Database) -> None:
        for number, (channel_id, user_id) in enumerate([(1, 5), (1, 6), (2, 5)]):
            await db.memory.add(exchange(number, channel_id, user_id), keep=9, days=9)
        assert await db.memory.forget_user(5) == 2
        assert [one.user_id for one in await db.memory.recent(1, 9)] == [6]
        assert await db.memory.forget_channel(1) == 1
        assert await db.memory.forget_channel(1) == 0

    with_database(url, scenario)


def test_facts(url: str) -> None:
    async def scenario(db: Database) -> None:
        mine = await db.facts.add(Fact(SERVER, "likes tea", USER))
        servers = await db.facts.add(Fact(SERVER, "founded in 2020"))
        elsewhere = await db.facts.add(Fact(1, "likes coffee", USER))
        assert mine.at == NOON
        assert await db.facts.of(SERVER, USER) == (mine,)
        assert await db.facts.of(SERVER, None) == (servers,)
        assert not await db.facts.delete(SERVER, 99, mine.id)
        assert not await db.facts.delete(SERVER, None, mine.id)
        assert await db.facts.delete(SERVER, USER, mine.id)
        again = await db.facts.add(Fact(SERVER, "likes water", USER))
        assert again.id > max(mine.id, elsewhere.id), "an id is never used twice"
        assert await db.facts.delete_all(SERVER, USER) == 1
        assert await db.facts.of(1, USER) == (elsewhere,)

    with_database(url, scenario)


def test_facts_are_not_dropped_in_silence(url: str) -> None:
    async def scenario(db: Database) -> None:
        for number in range(MOST_FACTS):
            await db.facts.add(Fact(SERVER, f"fact {number}", USER))
        with pytest.raises(StorageError, match="delete some first"):
            await db.facts.add(Fact(SERVER, "one more", USER))
        await db.facts.add(Fact(SERVER, "of the server"))
        assert len(await db.facts.of(SERVER, USER)) == MOST_FACTS

    with_database(url, scenario)


def test_a_model_that_remembers_much_at_once_meets_the_limit(url: str) -> None:
    """Calls of one round run together: each sees the facts from before."""

    async def scenario(db: Database) -> None:
        for number in range(MOST_FACTS - 1):
            await db.facts.add(Fact(SERVER, f"fact {number}", MIKA.id))
        given = context(author=MIKA, server_id=SERVER, store=db)
        calls = [ToolCall("remember", {"fact": f"one more: {number}"}) for number in range(3)]
        await ToolBox(builtin_tools()).run(calls, given, timeout_ms=10_000, result_limit_chars=1000)
        assert len(await db.facts.of(SERVER, MIKA.id)) <= MOST_FACTS

    with_database(url, scenario)


def test_usage_adds_up(url: str) -> None:
    async def scenario(db: Database) -> None:
        await db.usage.add(SERVER, "openai", "big", 10, 5)
        await db.usage.add(SERVER, "openai", "big", 2**40, 1)
        await db.usage.add(SERVER, "anthropic", "small", 1, 1)
        await db.usage.add(0, "openai", "big", 1, 1)
        assert await db.usage.of(SERVER) == (
            UsageRecord(SERVER, "anthropic", "small", 1, 1, 1),
            UsageRecord(SERVER, "openai", "big", 2, 2**40 + 10, 6),
        )

    with_database(url, scenario)


def test_what_was_seen_never_goes_back(url: str) -> None:
    async def scenario(db: Database) -> None:
        assert await db.seen.last(CHANNEL) is None
        for message_id in (50, 40, 60):
            await db.seen.note(CHANNEL, message_id)
            await db.seen.note(CHANNEL + 1, message_id + 1)
        assert await db.seen.last(CHANNEL) == 60
        assert await db.seen.last(CHANNEL + 1) == 61

    with_database(url, scenario)


def test_messages_with_a_face_and_tables(url: str) -> None:
    async def scenario(db: Database) -> None:
        await db.sprite_messages.remember(1, CHANNEL, "Ren", "angry")
        await db.sprite_messages.remember(1, CHANNEL, "Ren", "happy")
        await db.sprite_messages.remember(2, CHANNEL, "Ren", "sad")
        assert await db.sprite_messages.labels([1, 3]) == {1: ("Ren", "happy")}
        assert await db.sprite_messages.labels([]) == {}
        await db.tables.remember(2, CHANNEL, "|a|\n|-|\n|\ud83d\x00|")
        assert await db.tables.sources([1, 2]) == {2: "|a|\n|-|\n|\ufffd\ufffd|"}

    with_database(url, scenario)


def test_messages_are_bounded(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oshaberi.bot.storage.repositories.messages.MESSAGES_PER_CHANNEL", 3)
    clock = Clock()

    async def scenario(db: Database) -> None:
        await db.tables.remember(1, 7, "of another channel")
        for message_id in range(10, 15):
            await db.tables.remember(message_id, CHANNEL, "x")
        await db.prune()
        known = await db.tables.sources(range(20))
        assert sorted(known) == [1, 12, 13, 14]
        clock.pass_days(181)
        await db.tables.remember(15, CHANNEL, "x")
        await db.prune()
        assert sorted(await db.tables.sources(range(20))) == [15]

    with_database(url, scenario, now=clock)


def turn(*message_ids: int, **changes: object) -> TurnRecord:
    record = TurnRecord(CHANNEL, SERVER, USER, 5, "Ren", message_ids, "completed", "rest", "why")
    return replace(record, **changes)  # type: ignore[arg-type]


def test_turns(url: str) -> None:
    async def scenario(db: Database) -> None:
        assert await db.turns.last(CHANNEL) is None
        await db.turns.remember(turn(10, 11))
        await db.turns.remember(turn(12, asked_id=None, at=datetime(2026, 11, 16, tzinfo=UTC)))
        await db.turns.remember(turn(13, channel_id=7))
        first = await db.turns.of_message(11)
        assert first is not None
        assert replace(first, id=0) == turn(10, 11, at=NOON)
        last = await db.turns.last(CHANNEL)
        assert last is not None
        assert last.message_ids == (12,)
        assert last == await db.turns.of_message(12)
        assert await db.turns.of_message(99) is None
        await db.turns.remember(turn(11, 14, status="stopped"))
        newer = await db.turns.of_message(11)
        assert newer is not None
        assert newer.status == "stopped"

    with_database(url, scenario)


def test_why_questions_were_answered(url: str) -> None:
    async def scenario(db: Database) -> None:
        await db.turns.remember(turn(10, questions={5: "mention", 6: "burst"}))
        await db.turns.remember(turn(questions={5: "silent_because it is late"}))
        await db.turns.remember(turn(11, channel_id=7, questions={5: "reply"}))
        assert await db.turns.reasons(CHANNEL, 5) == ("silent_because it is late", "mention")
        assert await db.turns.reasons(CHANNEL, 6) == ("burst",)
        assert await db.turns.reasons(CHANNEL, 7) == ()
        first = await db.turns.of_message(10)
        assert first is not None
        assert first.questions == {5: "mention", 6: "burst"}

    with_database(url, scenario)


def test_turns_of_one_answer(url: str) -> None:
    async def scenario(db: Database) -> None:
        await db.turns.remember(turn(10))
        first = await db.turns.last(CHANNEL)
        assert first is not None
        await db.turns.remember(turn(11, 12, answer_id=first.first_id))
        await db.turns.remember(turn(13))
        second, other = await db.turns.of_message(12), await db.turns.last(CHANNEL)
        assert second is not None
        assert other is not None
        assert second.first_id == first.id
        assert await db.turns.whole(first) == await db.turns.whole(second) == (first, second)
        assert await db.turns.whole(other) == (other,)
        await db.turns.take_back(second)
        _, gone = await db.turns.whole(first)
        assert (gone.message_ids, gone.undelivered, gone.status) == ((), "", TAKEN_BACK)
        assert gone.asked_id == 5

    with_database(url, scenario)


def test_direct_channels_newest_first(url: str) -> None:
    async def scenario(db: Database) -> None:
        for channel_id, server_id in ((1, 0), (2, 0), (3, 9), (1, 0), (4, 0)):
            await db.turns.remember(turn(channel_id=channel_id, server_id=server_id))
        assert await db.turns.direct_channels(9) == (4, 1, 2)
        assert await db.turns.direct_channels(2) == (4, 1)

    with_database(url, scenario)


def test_turns_are_bounded(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oshaberi.bot.storage.repositories.messages.TURNS_PER_CHANNEL", 2)

    async def scenario(db: Database) -> None:
        for message_id in range(1, 5):
            await db.turns.remember(turn(message_id))
        await db.prune()
        found = [await db.turns.of_message(message_id) for message_id in range(1, 5)]
        assert [one is not None for one in found] == [False, False, True, True]

    with_database(url, scenario)
    assert ask(url, "SELECT message_id FROM turn_messages ORDER BY 1") == [(3,), (4,)]
