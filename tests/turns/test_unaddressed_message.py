"""A message that is not for the bot is ignored at once, for the reason that a full look finds."""

from __future__ import annotations

import asyncio
from itertools import product
from typing import Any

import pytest

from oshaberi.bot.conversation.messages import ChannelMessage, IncomingMessage, Person
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.storage.changes import ChangeFeed, StoredChange
from oshaberi.bot.storage.errors import StorageAwayError
from oshaberi.bot.turns.admission.rules import ADMITTED, admission, why_ignored
from oshaberi.bot.turns.caches import StoredCache
from oshaberi.stream.provider_protocol import Silence
from oshaberi.virtual_time import run_virtual
from tests.turns.turn_harness import (
    ALICE,
    BOB,
    EPOCH,
    REN,
    TOMORI,
    TurnHarness,
    is_unaddressed,
    run_turns,
    text,
    unaddressed,
)

CAT = Person(31, "Cat", role_ids=frozenset({900, 901}))
LISTS: tuple[dict[str, Any], ...] = (
    {},
    {"blocked_users": (ALICE.id,)},
    {"blocked_roles": (901,)},
    {"blocked_channels": (40,)},
    {"allowed_users": (ALICE.id,)},
    {"allowed_roles": (900,)},
    {"allowed_channels": (51, 40)},
    {"allowed_channels": (51,)},
    {"auto_channels": (45,)},
)
WORDS = ("hello", "hey ren", "`ren`", "see https://ren.test", "good `x` morning ren", ":ren:", "")
MENTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"mentions_others": True},
    {"replied": ChannelMessage(3, BOB, "x", EPOCH)},
)


def heard(words: str, author: Person, **more: Any) -> IncomingMessage:
    reply_to = 3 if "replied" in more else None
    said = ChannelMessage(9, author, words, EPOCH, reply_to=reply_to)
    return IncomingMessage(said, 50, 7, parent_id=45, category_id=40, **more)


@pytest.mark.parametrize("lists", LISTS)
def test_the_reason_is_that_of_a_full_look(lists: dict[str, Any]) -> None:
    config = TurnConfig(**lists)
    for words, author, more in product(WORDS, (ALICE, CAT), MENTIONS):
        incoming = heard(words, author, **more)
        full = admission(incoming, (TOMORI, REN), config).reason
        expected = None if full in ADMITTED else full
        assert why_ignored(unaddressed(incoming), (TOMORI, REN), config) == expected


def test_it_is_remembered_why() -> None:
    async def scenario(harness: TurnHarness) -> None:
        assert await harness.hear("hello", mention=False) == "unaddressed"
        number = harness.turn_channel.people[-1].id
        told = await harness.channel_turns.why(number)
        assert told == "Because nobody was addressed: no mention, reply, name or trigger word."

    run_turns(scenario)


def test_a_busy_channel_looks_in_full() -> None:
    """It may be part of the question that its author has begun."""

    async def scenario(harness: TurnHarness) -> None:
        channel_turns, turn_channel = harness.channel_turns, harness.turn_channel
        await harness.hear("hey")
        more = unaddressed(turn_channel.write("about cats", mention=False))
        assert await channel_turns.why_ignored(more) is None
        await channel_turns.idle()
        assert await channel_turns.why_ignored(more) == "unaddressed"

    run_turns(scenario, [text("Hm."), Silence(5000), text(" Yes.")])


def test_what_came_first_is_decided_first() -> None:
    """A question before it is still being admitted: then this may belong to it."""

    async def scenario(harness: TurnHarness) -> None:
        channel_turns, turn_channel = harness.channel_turns, harness.turn_channel
        later = unaddressed(turn_channel.write("about cats", mention=False))
        async with channel_turns._entering.through(turn_channel.channel_id):
            assert await channel_turns.why_ignored(later) is None

    run_turns(scenario)


def test_what_was_seen_and_the_end_of_the_process() -> None:
    async def scenario(harness: TurnHarness) -> None:
        channel_turns, turn_channel = harness.channel_turns, harness.turn_channel
        asked = turn_channel.write("hello", mention=False)
        assert await channel_turns.submit(asked, turn_channel) == "unaddressed"
        assert await channel_turns.why_ignored(unaddressed(asked)) is None
        await channel_turns.shutdown(0.1)
        last = turn_channel.write("bye", mention=False)
        assert await channel_turns.why_ignored(unaddressed(last)) is None

    run_turns(scenario)


def test_chance_is_not_decided_here_and_nothing_is_drawn() -> None:
    drawn: list[float] = []

    def draw() -> float:
        drawn.append(0.99)
        return 0.99

    async def scenario(harness: TurnHarness) -> None:
        channel_turns, turn_channel = harness.channel_turns, harness.turn_channel
        await harness.answer("hi")
        near = unaddressed(turn_channel.write("and you", mention=False))
        assert await channel_turns.why_ignored(near) is None
        await asyncio.sleep(61)
        assert await channel_turns.why_ignored(near) == "unaddressed"
        assert drawn == []

    run_turns(scenario, turn={"attention_ms": 60_000}, draw=draw)


def test_talk_of_others_counts_for_the_attention() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("hi")
        attention = harness.channel_turns.admission.attention
        channel = harness.turn_channel.channel_id
        for author in (BOB, ALICE):
            assert await harness.hear("@Cat hello", author, reply_to=4, mention=False) == "others"
        talk = attention.talk(channel)
        assert talk is not None
        assert talk.passed == 2

    run_turns(scenario, turn={"attention_ms": 60_000})


def test_a_person_ends_a_round_of_bots() -> None:
    async def scenario(harness: TurnHarness) -> None:
        rounds = harness.channel_turns.admission.bot_rounds
        channel = harness.turn_channel.channel_id
        rounds.note_bot(channel)
        assert not rounds.allows(channel, 1)
        assert await harness.hear("hello", mention=False) == "unaddressed"
        assert rounds.allows(channel, 1)

    run_turns(scenario)


def test_which_messages_the_harness_takes_for_unaddressed() -> None:
    assert is_unaddressed(heard("hello", ALICE))
    assert not is_unaddressed(heard("hello", ALICE, mentions_us=True))
    assert not is_unaddressed(heard("hello", Person(5, "Robot", is_bot=True)))


def test_a_cached_value_is_read_again_after_news_of_its_owner_only() -> None:
    reads: list[int] = []

    async def main() -> None:
        feed, cache = ChangeFeed(None), StoredCache[int, int](10, "settings")

        async def load() -> int:
            reads.append(len(reads))
            return len(reads)

        async def read() -> int:
            return await cache.get(feed, 7, 7, load)

        assert [await read(), await read()] == [1, 1]
        feed.hear(StoredChange("settings", 8))
        assert [await read(), await read()] == [1, 1]
        feed.hear(StoredChange("settings", 7))
        assert [await read(), await read()] == [2, 2]
        feed.forget_all()
        assert [await read(), await read()] == [3, 3]

    run_virtual(main())


def test_a_change_while_it_is_read_counts() -> None:
    async def main() -> None:
        feed, cache = ChangeFeed(None), StoredCache[int, str](10, "settings")
        values = iter(("old", "new"))

        async def load() -> str:
            value = next(values)
            if value == "old":
                feed.hear(StoredChange("settings", 7))
            return value

        assert await cache.get(feed, 7, 7, load) == "old"
        assert await cache.get(feed, 7, 7, load) == "new"

    run_virtual(main())


def test_without_known_settings_nothing_is_ignored() -> None:
    """Its lists of blocked users are unknown: the error is that of a full look."""

    async def scenario(harness: TurnHarness) -> None:
        async def away(_path: object) -> Any:
            raise StorageAwayError("the database is away")

        harness.settings.of = away
        said = unaddressed(harness.turn_channel.write("hello", mention=False))
        with pytest.raises(StorageAwayError):
            await harness.channel_turns.why_ignored(said)

    run_turns(scenario)
