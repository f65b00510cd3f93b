"""Quotas: every request counts before it is made; the end is told once, with its renewal."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from oshaberi.chunks import ToolCall
from oshaberi.conversation.turn_config import TurnConfig
from oshaberi.storage.storage_errors import StorageError
from oshaberi.storage.stored_records import KeyRecord, ModelRecord
from oshaberi.storage.usage_accounts import UsageAccount, UsageTotals
from oshaberi.stream.provider_protocol import Silence, Step
from oshaberi.turns.turn_services import OperatorModel
from tests.turns.house import (
    ALICE,
    BOB,
    CHANNEL,
    EPOCH,
    SERVER,
    FakeRoom,
    House,
    calls,
    fails,
    link,
    play,
    quick,
    spoil,
    text,
    used,
)

DAY = EPOCH.date()
RENEWS = int(datetime(2026, 12, 2, tzinfo=UTC).timestamp())
TOLD = "That was all for today"
ALICES = UsageAccount("server", SERVER, "user", ALICE.id)


def operator(**quotas: Any) -> dict[str, Any]:
    return {"operator_turn": lambda: TurnConfig(**quotas)}


def told(house: House) -> str:
    return str(house.turn_channel.channel.records[-1]["description"])


@pytest.mark.parametrize("whose", ["server", "operator"])
def test_a_users_requests_end_at_the_quota(whose: str) -> None:
    async def scene(house: House) -> None:
        for _ in range(5):
            await house.answer()
        assert len(house.models.asked) == 2
        assert house.turn_channel.embeds == [TOLD], "told once, not at every message"
        assert told(house) == (
            f"<@{ALICE.id}>: The 2 requests that you may use in a day are used up. "
            f"It goes on <t:{RENEWS}:R>, at <t:{RENEWS}:t>."
        )
        later = [said.id for said in house.turn_channel.people[3:]]
        assert [one for one in house.turn_channel.reactions if one[1] == "⏳"] == [
            (number, "⏳") for number in later
        ]
        await house.answer("and I?", BOB)
        assert len(house.models.asked) == 3
        assert [one.id for one in house.turn_channel.people][-1] not in dict(
            house.turn_channel.reactions
        )

    quota = {"quota_requests_per_user_day": 2}
    if whose == "server":
        play(scene, turn=quota)
    else:
        play(scene, **operator(**quota))


@pytest.mark.parametrize(
    ("quota", "words"),
    [
        ("quota_requests_per_channel_day", "The 2 requests that this channel may use in a day"),
        ("quota_requests_per_server_day", "The 2 requests that this server may use in a day"),
    ],
)
def test_channels_and_servers_have_quotas_of_all_their_people(quota: str, words: str) -> None:
    async def scene(house: House) -> None:
        await house.answer("hi", ALICE)
        await house.answer("hi", BOB)
        await house.answer("hi", BOB)
        assert len(house.models.asked) == 2
        assert told(house).startswith(words)
        other = FakeRoom(channel_id=CHANNEL + 1, first_id=9000)
        await house.talks.submit(other.write("hi"), other)
        await house.talks.idle()
        answered = quota == "quota_requests_per_channel_day"
        assert (other.contents, other.embeds) == ((["Hm."], []) if answered else ([], [TOLD]))

    play(scene, turn={quota: 2})


def test_a_thread_counts_as_its_channel() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        thread = FakeRoom(channel_id=CHANNEL + 1, first_id=9000, parent_id=CHANNEL)
        await house.talks.submit(thread.write("hi"), thread)
        await house.talks.idle()
        assert thread.contents == []

    play(scene, turn={"quota_requests_per_channel_day": 1})


def test_the_next_day_it_goes_on() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        await house.answer()
        await asyncio.sleep(12 * 3600)
        await house.answer()
        assert house.turn_channel.contents == ["Hm.", "Hm."]

    play(scene, turn={"quota_requests_per_user_day": 1})


def test_every_round_of_tools_counts() -> None:
    """The quota ends a turn in the middle, in words."""

    async def scene(house: House) -> None:
        await house.answer()
        assert len(house.models.asked) == 3
        assert house.turn_channel.embeds == [TOLD]
        assert house.store.usage_counts.of(DAY, ALICES).requests == 3

    again = [calls(ToolCall("look"))]
    play(scene, *[again] * 10, turn={"quota_requests_per_user_day": 3})


def test_every_retry_and_every_fallback_counts() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        assert house.models.asked == [("m", "a"), ("m", "b")]
        assert house.store.usage_counts.of(DAY, ALICES).requests == 2
        assert house.turn_channel.embeds == [TOLD]

    links = [link("m", "a", "b", "c"), link("n", "d")]
    play(
        scene,
        *[[fails("auth")]] * 3,
        links=links,
        turn={"quota_requests_per_user_day": 2},
    )


def test_tokens_are_counted_as_the_provider_says() -> None:
    async def scene(house: House) -> None:
        for _ in range(3):
            await house.answer()
        assert len(house.models.asked) == 2
        assert told(house).split(": ", 1)[1].startswith("The 1,000 tokens that you may use")
        totals = house.store.usage_counts.of(DAY, ALICES)
        assert totals == UsageTotals(2, 1200, 100)

    script = [text("Fine."), used(600, 50)]
    play(scene, script, script, turn={"quota_tokens_per_user_day": 1000})


def test_who_interrupts_every_answer_does_not_read_for_nothing() -> None:
    """A stream that was stopped tells no usage: it is estimated."""

    async def scene(house: House) -> None:
        await house.hear("a" * 3000)
        await asyncio.sleep(1)
        house.talks.stop(CHANNEL, ALICE.id, False)
        await house.talks.idle()
        totals = house.store.usage_counts.of(DAY, ALICES)
        assert totals.requests == 1
        assert totals.input_tokens > 1000
        assert totals.output_tokens > 0
        await house.answer()
        assert len(house.models.asked) == 1

    script: list[Step] = [text("One two three.\n"), Silence(60_000)]
    play(scene, script, turn={"quota_tokens_per_user_day": 1000})


def test_a_request_that_was_turned_away_takes_no_tokens() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        assert house.store.usage_counts.of(DAY, ALICES) == UsageTotals(1)

    play(scene, [fails("auth")], turn={"quota_tokens_per_user_day": 10**9})


def test_the_operators_quota_is_for_the_operators_keys() -> None:
    """A server that pays itself is not held up; it has quotas of its own."""

    async def scene(house: House) -> None:
        house.store.models.records = (ModelRecord(SERVER, "mistral", "own"),)
        house.store.keys.records = [KeyRecord(SERVER, "mistral", "theirs", id=1)]
        for _ in range(3):
            await house.answer()
        assert house.models.asked == [("own", "theirs")] * 3
        assert house.turn_channel.embeds == []
        assert house.store.usage_counts.of(DAY, ALICES).requests == 3

    play(scene, **operator(quota_requests_per_user_day=1))


def test_when_the_operator_pays_no_more_a_fallback_with_a_key_of_the_server_answers() -> None:
    async def scene(house: House) -> None:
        house.store.models.records = (
            ModelRecord(SERVER, "openai", "gpt-x"),
            ModelRecord(SERVER, "mistral", "own", position=1),
        )
        house.store.keys.records = [KeyRecord(SERVER, "mistral", "theirs", id=1)]
        for _ in range(2):
            await house.answer()
        assert house.models.asked == [("gpt-x", "sk-op"), ("own", "theirs")]
        assert house.turn_channel.embeds == []

    operators = OperatorModel(ModelRecord(0, "openai", "gpt-x"), ("sk-op",))
    play(scene, links=[operators], **operator(quota_requests_per_user_day=1))


def test_the_operators_quota_of_a_user_holds_in_all_servers_together() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        other = FakeRoom(channel_id=CHANNEL + 1, server_id=SERVER + 1, first_id=9000)
        await house.talks.submit(other.write("hi"), other)
        await house.talks.idle()
        assert len(house.models.asked) == 1

    play(scene, **operator(quota_requests_per_user_day=1))


def test_direct_messages_of_strangers_share_no_quota() -> None:
    async def scene(house: House) -> None:
        await house.answer("hi", ALICE)
        other = FakeRoom(channel_id=CHANNEL + 1, server_id=0, first_id=9000)
        await house.talks.submit(other.write("hi", BOB), other)
        await house.talks.idle()
        assert len(house.models.asked) == 2

    play(scene, turn_channel={"server_id": 0}, **operator(quota_requests_per_server_day=1))


def test_quotas_that_cannot_be_counted_are_used_up() -> None:
    """While the database is away nobody knows what was spent: nothing more is."""

    async def away(*_args: Any) -> Any:
        raise StorageError("the database cannot be reached")

    async def scene(house: House) -> None:
        spoil(house.store.usage_counts, "used_up", away)
        spoil(house.store.usage_counts, "reserve", away)
        spoil(house.store.usage_counts, "tell_once", away)
        for _ in range(3):
            await house.answer()
        assert house.models.asked == []
        assert house.turn_channel.embeds == ["No model can be asked right now"]
        assert "cannot be looked up right now" in told(house)

    play(scene, turn={"quota_requests_per_user_day": 100})


def test_without_quotas_a_database_that_is_away_holds_nobody_up() -> None:
    async def away(*_args: Any) -> Any:
        raise StorageError("the database cannot be reached")

    async def scene(house: House) -> None:
        for name in ("used_up", "reserve", "tell_once", "add"):
            spoil(house.store.usage_counts, name, away)
        await house.answer()
        assert house.turn_channel.contents == ["Hm."]
        assert house.turn_channel.embeds == []

    play(scene)


def test_a_quota_that_was_changed_is_told_again() -> None:
    quotas: dict[str, Any] = {"quota_requests_per_user_day": 1}

    async def scene(house: House) -> None:
        for _ in range(3):
            await house.answer()
        quotas["quota_requests_per_user_day"] = 2
        for _ in range(3):
            await house.answer()
        assert house.turn_channel.embeds == [TOLD, TOLD]

    play(scene, operator_turn=lambda: TurnConfig(**quotas))


def test_whoever_wants_no_notices_gets_reactions_alone() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        await house.answer()
        assert house.turn_channel.embeds == []
        assert [emoji for _, emoji in house.turn_channel.reactions] == ["⏳"]

    play(
        scene,
        stream=quick(suppress_user_errors=True),
        turn={"quota_requests_per_user_day": 1},
    )


def test_regenerate_does_not_delete_what_cannot_be_written_anew() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        reply = await house.talks.regenerate(house.turn_channel, ALICE)
        assert not reply.ok
        assert "that you may use in a day are used up" in reply.text
        assert house.turn_channel.deleted == []
        reply = await house.talks.continue_(house.turn_channel, ALICE)
        assert not reply.ok

    play(scene, turn={"quota_requests_per_user_day": 1})


def test_cost_is_what_the_price_says() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        totals = house.store.usage_counts.of(DAY, ALICES)
        assert totals == UsageTotals(1, 1000, 200, 1000 * 2 + 200 * 8)
        on_operator = UsageAccount("operator", 0, "server", SERVER)
        assert house.store.usage_counts.of(DAY, on_operator) == totals

    priced = OperatorModel(ModelRecord(0, "house", "m"), ("k",), price=(2.0, 8.0))
    play(scene, [text("Fine."), used(1000, 200)], links=[priced])


def test_a_request_that_ends_tomorrow_counts_today() -> None:
    async def scene(house: House) -> None:
        await asyncio.sleep(12 * 3600 - 5)
        await house.answer()
        assert house.store.usage_counts.of(DAY, ALICES) == UsageTotals(1, 5, 6)
        assert house.store.usage_counts.of(DAY + timedelta(1), ALICES) == UsageTotals()

    script: list[Step] = [text("Late.\n"), Silence(10_000), used(5, 6)]
    play(scene, script, turn={"quota_tokens_per_user_day": 10**6})
