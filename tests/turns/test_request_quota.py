"""Quotas: every request counts before it is made; the end is told once, with its renewal."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.storage.errors import StorageError
from oshaberi.bot.storage.records import KeyRecord, ModelRecord
from oshaberi.bot.storage.usage import UsageAccount, UsageTotals
from oshaberi.bot.turns.quotas import cost_of
from oshaberi.bot.turns.services.model_access import ModelCandidate, OperatorModel
from oshaberi.chunks import ToolCall, Usage
from oshaberi.providers.model_options import TokenPrice
from oshaberi.stream.provider_protocol import Silence, Step
from tests.turns.turn_harness import (
    ALICE,
    BOB,
    CHANNEL,
    EPOCH,
    SERVER,
    FakeTurnChannel,
    TurnHarness,
    calls,
    fails,
    link,
    quick,
    run_turns,
    spoil,
    text,
    used,
)

DAY = EPOCH.date()
RENEWS = int(datetime(2026, 12, 2, tzinfo=UTC).timestamp())
TOLD = "The limit for today is reached"
ALICES = UsageAccount("server", SERVER, "user", ALICE.id)


def operator(**quotas: Any) -> dict[str, Any]:
    return {"operator_turn": TurnConfig(**quotas)}


def told(harness: TurnHarness) -> str:
    return str(harness.turn_channel.channel.records[-1]["description"])


@pytest.mark.parametrize("whose", ["server", "operator"])
def test_a_users_requests_end_at_the_quota(whose: str) -> None:
    async def scenario(harness: TurnHarness) -> None:
        for _ in range(5):
            await harness.answer()
        assert len(harness.models.asked) == 2
        assert harness.turn_channel.embeds == [TOLD], "told once, not at every message"
        assert told(harness) == (
            f"<@{ALICE.id}>: You have used all of today's requests (2). "
            f"It goes on <t:{RENEWS}:R>, at <t:{RENEWS}:t>."
        )
        later = [said.id for said in harness.turn_channel.people[3:]]
        assert [one for one in harness.turn_channel.reactions if one[1] == "⏳"] == [
            (number, "⏳") for number in later
        ]
        await harness.answer("and I?", BOB)
        assert len(harness.models.asked) == 3
        assert [one.id for one in harness.turn_channel.people][-1] not in dict(
            harness.turn_channel.reactions
        )

    quota = {"quota_requests_per_user_day": 2}
    if whose == "server":
        run_turns(scenario, turn=quota)
    else:
        run_turns(scenario, **operator(**quota))


@pytest.mark.parametrize(
    ("quota", "words"),
    [
        ("quota_requests_per_channel_day", "This channel has used all of today's requests (2)"),
        ("quota_requests_per_server_day", "This server has used all of today's requests (2)"),
    ],
)
def test_channels_and_servers_have_quotas_of_all_their_people(quota: str, words: str) -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("hi", ALICE)
        await harness.answer("hi", BOB)
        await harness.answer("hi", BOB)
        assert len(harness.models.asked) == 2
        assert told(harness).startswith(words)
        other = FakeTurnChannel(channel_id=CHANNEL + 1, first_id=9000)
        await harness.channel_turns.submit(other.write("hi"), other)
        await harness.channel_turns.idle()
        answered = quota == "quota_requests_per_channel_day"
        assert (other.contents, other.embeds) == ((["Hm."], []) if answered else ([], [TOLD]))

    run_turns(scenario, turn={quota: 2})


def test_a_thread_counts_as_its_channel() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        thread = FakeTurnChannel(channel_id=CHANNEL + 1, first_id=9000, parent_id=CHANNEL)
        await harness.channel_turns.submit(thread.write("hi"), thread)
        await harness.channel_turns.idle()
        assert thread.contents == []

    run_turns(scenario, turn={"quota_requests_per_channel_day": 1})


def test_the_next_day_it_goes_on() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        await harness.answer()
        await asyncio.sleep(12 * 3600)
        await harness.answer()
        assert harness.turn_channel.contents == ["Hm.", "Hm."]

    run_turns(scenario, turn={"quota_requests_per_user_day": 1})


def test_every_round_of_tools_counts() -> None:
    """The quota ends a turn in the middle, in words."""

    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert len(harness.models.asked) == 3
        assert harness.turn_channel.embeds == [TOLD]
        assert (await harness.totals(ALICES)).requests == 3

    again = [calls(ToolCall("look"))]
    run_turns(scenario, *[again] * 10, turn={"quota_requests_per_user_day": 3})


def test_every_retry_and_every_fallback_counts() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert harness.models.asked == [("m", "a"), ("m", "b")]
        assert (await harness.totals(ALICES)).requests == 2
        assert harness.turn_channel.embeds == [TOLD]

    links = [link("m", "a", "b", "c"), link("n", "d")]
    run_turns(
        scenario,
        *[[fails("auth")]] * 3,
        links=links,
        turn={"quota_requests_per_user_day": 2},
    )


def test_tokens_are_counted_as_the_provider_says() -> None:
    async def scenario(harness: TurnHarness) -> None:
        for _ in range(3):
            await harness.answer()
        assert len(harness.models.asked) == 2
        assert (
            told(harness)
            .split(": ", 1)[1]
            .startswith("You have used all of today's tokens (1,000)")
        )
        totals = await harness.totals(ALICES)
        assert totals == UsageTotals(2, 1200, 100)

    script = [text("Fine."), used(600, 50)]
    run_turns(scenario, script, script, turn={"quota_tokens_per_user_day": 1000})


def test_who_interrupts_every_answer_does_not_read_for_nothing() -> None:
    """A stream that was stopped tells no usage: it is estimated."""

    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("a" * 3000)
        await asyncio.sleep(1)
        harness.channel_turns.stop(CHANNEL, ALICE.id, False)
        await harness.channel_turns.idle()
        totals = await harness.totals(ALICES)
        assert totals.requests == 1
        assert totals.input_tokens > 1000
        assert totals.output_tokens > 0
        await harness.answer()
        assert len(harness.models.asked) == 1

    script: list[Step] = [text("One two three.\n"), Silence(60_000)]
    run_turns(scenario, script, turn={"quota_tokens_per_user_day": 1000})


def test_a_request_that_was_turned_away_takes_no_tokens() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert await harness.totals(ALICES) == UsageTotals(1)

    run_turns(scenario, [fails("auth")], turn={"quota_tokens_per_user_day": 10**9})


def test_the_operators_quota_is_for_the_operators_keys() -> None:
    """A server that pays itself is not held up; it has quotas of its own."""

    async def scenario(harness: TurnHarness) -> None:
        await harness.have_models(
            ModelRecord(SERVER, "mistral", "own"),
            keys=[KeyRecord(SERVER, "mistral", "theirs", id=1)],
        )
        for _ in range(3):
            await harness.answer()
        assert harness.models.asked == [("own", "theirs")] * 3
        assert harness.turn_channel.embeds == []
        assert (await harness.totals(ALICES)).requests == 3

    run_turns(scenario, **operator(quota_requests_per_user_day=1))


def test_when_the_operator_pays_no_more_a_fallback_with_a_key_of_the_server_answers() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.have_models(
            ModelRecord(SERVER, "openai", "gpt-x"),
            ModelRecord(SERVER, "mistral", "own", position=1),
            keys=[KeyRecord(SERVER, "mistral", "theirs", id=1)],
        )
        for _ in range(2):
            await harness.answer()
        assert harness.models.asked == [("gpt-x", "sk-op"), ("own", "theirs")]
        assert harness.turn_channel.embeds == []

    operators = OperatorModel(ModelRecord(0, "openai", "gpt-x"), ("sk-op",))
    run_turns(scenario, links=[operators], **operator(quota_requests_per_user_day=1))


def test_the_operators_quota_of_a_user_holds_in_all_servers_together() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        other = FakeTurnChannel(channel_id=CHANNEL + 1, server_id=SERVER + 1, first_id=9000)
        await harness.channel_turns.submit(other.write("hi"), other)
        await harness.channel_turns.idle()
        assert len(harness.models.asked) == 1

    run_turns(scenario, **operator(quota_requests_per_user_day=1))


def test_direct_messages_of_strangers_share_no_quota() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("hi", ALICE)
        other = FakeTurnChannel(channel_id=CHANNEL + 1, server_id=0, first_id=9000)
        await harness.channel_turns.submit(other.write("hi", BOB), other)
        await harness.channel_turns.idle()
        assert len(harness.models.asked) == 2

    run_turns(scenario, turn_channel={"server_id": 0}, **operator(quota_requests_per_server_day=1))


def test_quotas_that_cannot_be_counted_are_used_up() -> None:
    """While the database is away nobody knows what was spent: nothing more is."""

    async def away(*_args: Any) -> Any:
        raise StorageError("the database cannot be reached")

    async def scenario(harness: TurnHarness) -> None:
        spoil(harness.db.usage_counts, "used_up", away)
        spoil(harness.db.usage_counts, "reserve", away)
        spoil(harness.db.usage_counts, "tell_once", away)
        for _ in range(3):
            await harness.answer()
        assert harness.models.asked == []
        assert harness.turn_channel.embeds == ["No model can be asked right now"]
        assert "cannot look up today's usage right now" in told(harness)

    run_turns(scenario, turn={"quota_requests_per_user_day": 100})


def test_without_quotas_a_database_that_is_away_holds_nobody_up() -> None:
    async def away(*_args: Any) -> Any:
        raise StorageError("the database cannot be reached")

    async def scenario(harness: TurnHarness) -> None:
        for name in ("used_up", "reserve", "tell_once", "add"):
            spoil(harness.db.usage_counts, name, away)
        await harness.answer()
        assert harness.turn_channel.contents == ["Hm."]
        assert harness.turn_channel.embeds == []

    run_turns(scenario)


def test_a_quota_that_was_changed_is_told_again() -> None:
    async def scenario(harness: TurnHarness) -> None:
        for _ in range(3):
            await harness.answer()
        harness.operator.turn = TurnConfig(quota_requests_per_user_day=2)
        for _ in range(3):
            await harness.answer()
        assert harness.turn_channel.embeds == [TOLD, TOLD]

    run_turns(scenario, **operator(quota_requests_per_user_day=1))


def test_whoever_wants_no_notices_gets_reactions_alone() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        await harness.answer()
        assert harness.turn_channel.embeds == []
        assert [emoji for _, emoji in harness.turn_channel.reactions] == ["⏳"]

    run_turns(
        scenario,
        stream=quick(suppress_user_errors=True),
        turn={"quota_requests_per_user_day": 1},
    )


def test_regenerate_does_not_delete_what_cannot_be_written_anew() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        reply = await harness.channel_turns.regenerate(harness.turn_channel, ALICE)
        assert not reply.ok
        assert "You have used all of today's requests (1)." in reply.text
        assert harness.turn_channel.deleted == []
        reply = await harness.channel_turns.continue_(harness.turn_channel, ALICE)
        assert not reply.ok

    run_turns(scenario, turn={"quota_requests_per_user_day": 1})


def test_cost_is_what_the_price_says() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        totals = await harness.totals(ALICES)
        assert totals == UsageTotals(1, 1000, 200, 1000 * 2 + 200 * 8)
        on_operator = UsageAccount("operator", 0, "server", SERVER)
        assert await harness.totals(on_operator) == totals

    priced = OperatorModel(ModelRecord(0, "scripted", "m"), ("k",), price=TokenPrice(2.0, 8.0))
    run_turns(scenario, [text("Fine."), used(1000, 200)], links=[priced])


def test_a_request_that_ends_tomorrow_counts_today() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await asyncio.sleep(12 * 3600 - 5)
        await harness.answer()
        assert await harness.totals(ALICES) == UsageTotals(1, 5, 6)
        assert await harness.totals(ALICES, DAY + timedelta(1)) == UsageTotals()

    script: list[Step] = [text("Late.\n"), Silence(10_000), used(5, 6)]
    run_turns(scenario, script, turn={"quota_tokens_per_user_day": 10**6})


@pytest.mark.parametrize(("price", "micros"), [(None, 4200), (TokenPrice(2.0, 8.0), 3600)])
def test_without_a_price_the_provider_says_what_it_cost(
    price: TokenPrice | None, micros: int
) -> None:
    link = OperatorModel(ModelRecord(0, "scripted", "m"), ("k",), price=price)
    used = Usage(1000, 200, cost_dollars=0.0042)
    assert cost_of(used, ModelCandidate(link.model, is_operators=True), [link]) == micros
