"""Questions are stored from their admission until their answer is settled; late ones wait."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from oshaberi.bot.conversation.messages import ChannelPath
from oshaberi.bot.conversation.turn_config import EffectiveSettings, TurnConfig
from oshaberi.bot.storage.records import StoredQuestion, TurnRecord
from oshaberi.bot.turns.notices import CAN_GO_ON, GOES_ON, RESTARTED
from oshaberi.stream.provider_protocol import Silence, Step
from tests.turns.turn_harness import (
    ALICE,
    BOB,
    CHANNEL,
    TurnHarness,
    quick,
    run_turns,
    spoil,
    text,
)

SLOW: list[Step] = [text("One.\n"), Silence(5000), text("Two.")]
CUT: list[Step] = [text("One.\nTwo. And then the qui"), Silence(60_000), text("ck fox.")]


async def open_ids(harness: TurnHarness) -> list[int]:
    return await harness.question_ids()


def newest(harness: TurnHarness) -> int:
    return harness.turn_channel.people[-1].id


# -- stored ----------------------------------------------------------------------------------------


def test_a_question_is_stored_before_its_turn_begins_and_settled_after_it() -> None:
    async def scenario(harness: TurnHarness) -> None:
        begun: list[list[int]] = []
        adapters = harness.services.models.adapters
        warm = adapters.warm

        async def look_and_warm(*given: Any) -> None:
            begun.append(await open_ids(harness))
            await warm(*given)

        spoil(adapters, "warm", look_and_warm)
        harness.change(instance="main")
        await harness.hear("first")
        asked = newest(harness)
        (stored,) = await harness.questions()
        assert stored == StoredQuestion(CHANNEL, asked, 7, ALICE.id, "main", "mention")
        await harness.channel_turns.idle()
        assert begun == [[asked]]
        assert await open_ids(harness) == []

    run_turns(scenario)


def test_what_waits_is_stored_too_and_what_is_refused_is_not() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("first")
        await harness.hear("waits", BOB)
        both = await open_ids(harness)
        assert len(both) == 2
        assert await harness.hear("too many", BOB) == "full"
        assert await harness.hear("not for us", mention=False) == "unaddressed"
        assert await open_ids(harness) == both
        await harness.channel_turns.idle()
        assert await open_ids(harness) == []

    run_turns(scenario, SLOW, turn={"waiting_limit": 1})


def test_what_was_stopped_or_taken_back_is_settled() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("first")
        await harness.hear("waits", BOB)
        harness.channel_turns.withdraw(CHANNEL, newest(harness))
        await asyncio.sleep(0.1)
        assert len(await open_ids(harness)) == 1
        harness.channel_turns.stop(CHANNEL, ALICE.id, may_manage=False)
        await harness.channel_turns.idle()
        assert await open_ids(harness) == []

    run_turns(scenario, SLOW)


def test_what_is_deleted_before_it_waits_is_not_answered() -> None:
    async def scenario(harness: TurnHarness) -> None:
        keep = harness.db.questions.keep

        async def deleted_meanwhile(question: StoredQuestion) -> None:
            await keep(question)
            harness.channel_turns.withdraw(CHANNEL, question.message_id)

        harness.db.questions.keep = deleted_meanwhile  # type: ignore[method-assign]
        assert await harness.hear("oops") == "withdrawn"
        early = harness.turn_channel.write("oops")
        harness.channel_turns.withdraw(CHANNEL, early.said.id)
        assert await harness.channel_turns.submit(early, harness.turn_channel) == "withdrawn"
        await harness.channel_turns.idle()
        assert (await open_ids(harness), harness.models.requests) == ([], [])

    run_turns(scenario)


def test_what_is_answered_together_is_one_question_from_then_on() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("first")
        for words in ("second", "third"):
            await harness.hear(words, BOB)
        assert len(await open_ids(harness)) == 3
        await asyncio.sleep(6)
        assert await open_ids(harness) == [newest(harness)]
        await harness.channel_turns.idle()
        assert await open_ids(harness) == []

    run_turns(scenario, SLOW, SLOW, turn={"follow_up_policy": "collect"})


def test_a_database_that_fails_costs_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(*_given: Any) -> None:
        raise OSError("no disk")

    async def scenario(harness: TurnHarness) -> None:
        for name in ("keep", "settle"):
            spoil(harness.db.questions, name, broken)
        await harness.answer()
        assert harness.turn_channel.contents == ["Hm."]

    run_turns(scenario)
    assert "which questions are open could not be stored: no disk" in caplog.text


# -- late ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arrival", ["missed", "stored"])
@pytest.mark.parametrize("policy", ["interrupt", "queue", "collect"])
def test_an_older_message_that_comes_late_interrupts_nobody(arrival: Any, policy: str) -> None:
    async def scenario(harness: TurnHarness) -> None:
        old = harness.turn_channel.write("older")
        await harness.hear("newer")
        await asyncio.sleep(1)
        assert await harness.channel_turns.submit(old, harness.turn_channel, arrival) == "mention"
        await harness.channel_turns.idle()
        assert harness.turn_channel.contents == ["One.", "Two.", "Late."]
        assert [turn.status for turn in await harness.turns()] == ["completed"] * 2

    run_turns(scenario, SLOW, [text("Late.")], turn={"follow_up_policy": policy})


def test_late_messages_are_answered_in_the_order_in_which_they_were_written() -> None:
    async def scenario(harness: TurnHarness) -> None:
        late = [harness.turn_channel.write(f"late {n}", BOB) for n in range(4)]
        await harness.hear("now")
        await harness.hear("waits", ALICE)
        for number in (2, 0, 3, 1):
            await harness.channel_turns.submit(late[number], harness.turn_channel, "stored")
        await harness.channel_turns.idle()
        asked = [turn.asked_id or 0 for turn in await harness.turns()]
        first, *others = asked
        assert first == late[3].said.id + 1
        assert others == sorted(others)

    run_turns(scenario, SLOW, turn={"follow_up_policy": "queue"})


def test_what_was_admitted_once_is_not_refused_later() -> None:
    async def scenario(harness: TurnHarness) -> None:
        late = [harness.turn_channel.write(f"late {n}", BOB) for n in range(6)]
        await harness.hear("now")
        for one in late[:3]:
            assert (
                await harness.channel_turns.submit(one, harness.turn_channel, "stored") == "mention"
            )
        assert await harness.channel_turns.submit(late[3], harness.turn_channel, "missed") == "full"
        await harness.channel_turns.idle()
        assert len(await harness.turns()) == 4

    run_turns(scenario, SLOW, turn={"waiting_limit": 2, "cooldown_ms": 60_000})


# -- cut off by a restart --------------------------------------------------------------------------


def test_an_answer_that_is_cut_off_is_kept_and_goes_on() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("tell me")
        asked = newest(harness)
        await asyncio.sleep(1)
        await harness.channel_turns.shutdown(2)
        assert harness.turn_channel.contents == ["One.", "Two."]
        assert [one.description for one in notices(harness)] == [GOES_ON]
        (stored,) = await harness.questions()
        assert (stored.message_id, stored.is_begun) == (asked, True)
        again = restarted(harness)
        turn = await harness.db.turns.last(CHANNEL)
        assert turn is not None
        assert turn.status == "interrupted"
        assert await again.channel_turns.resume(harness.turn_channel, turn)
        assert await open_ids(harness) == [asked]
        await again.channel_turns.idle()
        assert harness.turn_channel.contents == ["One.", "Two.", "Three."]
        last = await harness.db.turns.last(CHANNEL)
        assert last is not None
        assert (last.status, last.asked_id, last.answer_id) == ("completed", asked, turn.id)
        assert (last.why, await open_ids(harness)) == ("restart", [])

    run_turns(scenario, CUT, [text("Three.")])


def test_who_goes_on_does_not_see_the_questions_that_wait() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("tell me")
        await asyncio.sleep(1)
        await harness.hear("and what about me?", BOB)
        waiting = newest(harness)
        await harness.channel_turns.shutdown(2)
        again = restarted(harness)
        turn = await harness.db.turns.last(CHANNEL)
        assert turn is not None
        assert await again.channel_turns.resume(harness.turn_channel, turn, frozenset({waiting}))
        await again.channel_turns.idle()
        seen = str(harness.models.requests[-1].items)
        assert "tell me" in seen
        assert "about me" not in seen

    run_turns(scenario, CUT)


def test_where_nobody_wants_it_to_go_on_it_does_not() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("tell me")
        await asyncio.sleep(1)
        await harness.channel_turns.shutdown(2)
        assert [one.description for one in notices(harness)] == [CAN_GO_ON]
        assert await open_ids(harness) == []

    run_turns(scenario, CUT, turn={"continue_after_restart": False})


def test_what_was_not_begun_is_kept_and_not_recorded() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("tell me")
        await harness.hear("and me", BOB)
        both = await open_ids(harness)
        await asyncio.sleep(1)
        await harness.channel_turns.shutdown(2)
        assert harness.turn_channel.contents == []
        assert notices(harness) == []
        assert await open_ids(harness) == both
        assert not any(one.is_begun for one in await harness.questions())
        assert await harness.turns() == [], "who looks for answered questions would find it"

    run_turns(scenario, [text("The qui"), Silence(60_000)])


def test_an_answer_that_is_cut_off_twice_goes_on_twice() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("tell me")
        asked = newest(harness)
        for _ in range(2):
            await asyncio.sleep(1)
            await harness.channel_turns.shutdown(2)
            (stored,) = await harness.questions()
            assert (stored.message_id, stored.is_begun) == (asked, True)
            harness = restarted(harness)
            turn = await harness.db.turns.last(CHANNEL)
            assert turn is not None
            assert await harness.channel_turns.resume(harness.turn_channel, turn)
        await harness.channel_turns.idle()
        assert harness.turn_channel.contents == ["One.", "Two.", "One.", "Two.", "End."]
        assert len({turn.first_id for turn in await harness.turns()}) == 1
        assert await open_ids(harness) == []

    run_turns(scenario, CUT, CUT, [text("End.")])


def test_a_conversation_that_has_moved_on_is_left_alone() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("tell me")
        await asyncio.sleep(1)
        await harness.channel_turns.shutdown(2)
        again = restarted(harness)
        turn = await harness.db.turns.last(CHANNEL)
        assert turn is not None
        await again.hear("something else")
        assert not await again.channel_turns.resume(harness.turn_channel, turn)
        await again.channel_turns.idle()

    run_turns(scenario, CUT)


def test_a_busy_process_has_time_to_store_what_was_cut_off() -> None:
    async def scenario(harness: TurnHarness) -> None:
        remember = harness.db.turns.remember

        async def slowly(turn: TurnRecord) -> None:
            await asyncio.sleep(15)
            await remember(turn)

        spoil(harness.db.turns, "remember", slowly)
        await harness.hear("tell me")
        await asyncio.sleep(1)
        await harness.channel_turns.shutdown(2)
        assert [turn.status for turn in await harness.turns()] == ["interrupted"]
        assert [one.is_begun for one in await harness.questions()] == [True]

    run_turns(scenario, CUT)


@pytest.mark.parametrize("lists", [{"blocked_users": (ALICE.id,)}, {"allowed_channels": (1,)}])
def test_whoever_may_not_ask_any_more_is_not_answered_further(lists: Mapping[str, Any]) -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("tell me")
        await asyncio.sleep(1)
        await harness.channel_turns.shutdown(2)
        again = restarted(harness)
        turn = await harness.db.turns.last(CHANNEL)
        assert turn is not None

        async def changed(_path: ChannelPath) -> EffectiveSettings:
            return EffectiveSettings(quick(), TurnConfig(**lists))

        harness.settings.of = changed
        assert not await again.channel_turns.resume(harness.turn_channel, turn)
        assert len(harness.models.requests) == 1

    run_turns(scenario, CUT)


def notices(harness: TurnHarness) -> list[Any]:
    posts = [posted.post for posted in harness.turn_channel.channel.posted]
    return [post.embed for post in posts if post.embed and post.embed.title == RESTARTED]


def restarted(harness: TurnHarness) -> TurnHarness:
    """Another process with the same channel and database."""
    channel_turns = type(harness.channel_turns).over(harness.services)
    return TurnHarness(harness.services, harness.turn_channel, channel_turns, harness.db)
