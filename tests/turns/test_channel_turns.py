"""One turn per channel: what waits, what interrupts, what is never answered twice."""

from __future__ import annotations

import asyncio
import gc
import weakref
from dataclasses import replace
from typing import Any

import pytest

from oshaberi.bot.conversation.messages import ChannelPath, IncomingMessage
from oshaberi.bot.storage import StorageError
from oshaberi.bot.storage.records import PersonaRecord
from oshaberi.bot.turns.caches import BoundedCache, KeyedLocks
from oshaberi.bot.turns.notices import FULL, RESTARTED, TOO_SOON
from oshaberi.stream.provider_protocol import Silence, Step
from oshaberi.virtual_time import run_virtual
from tests.turns.turn_harness import (
    ALICE,
    BOB,
    CHANNEL,
    REN,
    SERVER,
    TOMORI,
    FakeTurnChannel,
    TurnHarness,
    run_turns,
    spoil,
    tasks_left,
    text,
)

SLOW: list[Step] = [text("One.\n"), Silence(10_000), text("Two.")]
SEEN: list[Step] = [text("One.\nTwo"), Silence(10_000), text(" or three.")]
"""The first line is visible before the silence; the second is not."""


def asked_last(harness: TurnHarness, number: int) -> str:
    """The question of a request, without the note behind what was said since."""
    items = harness.models.requests[number].items
    current = [item.text for item in items if getattr(item, "tag", "") == "current"]
    return "\n".join(text for text in current if not text.startswith("(Now answer"))


def told(harness: TurnHarness, number: int) -> list[str]:
    items = harness.models.requests[number].items
    return [item.text for item in items if getattr(item, "tag", "") in ("history", "current")]


async def statuses(harness: TurnHarness) -> list[str]:
    return [turn.status for turn in await harness.turns()]


def test_others_wait() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("first")
        await asyncio.sleep(1)
        assert await harness.hear("second", BOB) == "mention"
        assert (harness.channel_turns.running(), harness.channel_turns.waiting()) == (1, 1)
        await harness.channel_turns.idle()
        assert harness.turn_channel.contents == ["One.", "Two.", "Hm."]
        note = '(Now answer what Bob wrote: "second". What stands after it was said since.)'
        assert told(harness, 1) == ["Alice: first", "Bob: second", "One.", "Two.", note]
        assert (harness.channel_turns.running(), harness.channel_turns.waiting()) == (0, 0)

    run_turns(scenario, SLOW)


def test_a_follow_up_restarts_with_what_was_visible() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("first")
        await asyncio.sleep(1)
        await harness.answer("no, second")
        assert harness.turn_channel.contents == ["One.", "Hm."]
        assert await statuses(harness) == ["follow_up_interrupt", "completed"]
        assert told(harness, 1) == ["Alice: first", "One.", "Alice: no, second"]

    run_turns(scenario, SEEN)


def test_quick_follow_ups_belong_together() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("first")
        await asyncio.sleep(1)
        await harness.hear("second")
        await harness.hear("third")
        await harness.channel_turns.idle()
        assert len(harness.models.requests) == 2
        assert asked_last(harness, 1) == "Alice: second\nAlice: third"

    run_turns(scenario, SLOW)


def test_a_message_that_is_not_admitted_interrupts_nothing() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("first")
        await asyncio.sleep(1)
        assert await harness.hear("lol", mention=False) == "unaddressed"
        await harness.channel_turns.idle()
        assert harness.turn_channel.contents == ["One.", "Two."]

    run_turns(scenario, SLOW)


def test_the_queue_policy_interrupts_nobody() -> None:
    async def scenario(harness: TurnHarness) -> None:
        for words in ("first", "second", "third"):
            await harness.hear(words)
        await harness.channel_turns.idle()
        assert await statuses(harness) == ["completed"] * 3
        assert [asked_last(harness, number) for number in range(3)] == [
            "Alice: first",
            "Alice: second",
            "Alice: third",
        ]

    run_turns(scenario, SLOW, turn={"follow_up_policy": "queue"})


def test_the_collect_policy_joins_what_waits_of_one_user() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("first")
        await harness.hear("second")
        await harness.hear("aside", BOB)
        await harness.hear("third")
        await harness.channel_turns.idle()
        assert [asked_last(harness, number) for number in range(3)] == [
            "Alice: first",
            "Alice: second\nAlice: third",
            "Bob: aside",
        ]

    run_turns(scenario, SLOW, turn={"follow_up_policy": "collect"})


@pytest.mark.parametrize("policy", ["queue", "collect"])
def test_what_waits_can_be_taken_back_and_written_anew(policy: str) -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("first")
        await asyncio.sleep(1)
        for words in ("secnod", "third", "fourth"):
            await harness.hear(words, BOB)
        second, third, fourth = harness.turn_channel.people[-3:]
        assert harness.channel_turns.awaits(CHANNEL, second.id)
        assert not harness.channel_turns.awaits(CHANNEL, harness.turn_channel.people[0].id)
        changed = replace(second, text="second")
        harness.turn_channel.people[-3] = changed
        edited = IncomingMessage(changed, CHANNEL, SERVER, mentions_us=True)
        await harness.channel_turns.amend(edited)
        for gone in (third, fourth, harness.turn_channel.people[0]):
            harness.turn_channel.people.remove(gone)
            harness.channel_turns.withdraw(CHANNEL, gone.id)
            harness.channel_turns.withdraw(CHANNEL + 1, gone.id)
        assert harness.channel_turns.waiting() == 1
        await harness.channel_turns.idle()
        assert len(harness.models.requests) == 2
        assert asked_last(harness, 1) == "Bob: second"

    run_turns(scenario, SLOW, turn={"follow_up_policy": policy})


@pytest.mark.parametrize("policy", ["interrupt", "queue", "collect"])
def test_the_line_is_bounded_and_never_silent(policy: str) -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("first")
        await asyncio.sleep(1)
        reasons = [await harness.hear(f"m{number}", BOB) for number in range(4)]
        assert reasons == ["mention", "mention", "full", "full"]
        refused = [one.id for one in harness.turn_channel.people[-2:]]
        await harness.channel_turns.idle()
        assert harness.turn_channel.reactions == [(number, FULL) for number in refused]
        assert await harness.channel_turns.why(refused[0]) is not None

    run_turns(scenario, SLOW, turn={"waiting_limit": 2, "follow_up_policy": policy})


def test_a_message_behind_a_stop_gets_its_own_turn() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("first")
        await asyncio.sleep(1)
        await harness.hear("second", BOB)
        assert harness.channel_turns.stop(CHANNEL, ALICE.id, False).ok
        await harness.channel_turns.idle()
        assert await statuses(harness) == ["stopped_by_user", "completed"]
        assert harness.turn_channel.contents == ["One.", "Hm."]

    run_turns(scenario, SLOW)


def test_a_stop_beats_a_follow_up_and_both_are_served() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("first")
        await asyncio.sleep(1)
        await harness.hear("second")
        harness.channel_turns.stop(CHANNEL, ALICE.id, False)
        await harness.channel_turns.idle()
        assert await statuses(harness) == ["stopped_by_user", "completed"]
        assert asked_last(harness, 1) == "Alice: second"

    run_turns(scenario, SLOW)


def test_the_channel_is_active_from_admission_on() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("first")
        assert str(CHANNEL) in harness.services.traffic.stops._channels
        assert harness.channel_turns.stop(CHANNEL, ALICE.id, False).ok
        await harness.channel_turns.idle()
        assert harness.models.requests == []
        assert harness.turn_channel.channel.posted == []
        assert str(CHANNEL) not in harness.services.traffic.stops._channels

    run_turns(scenario)


def test_a_stop_while_the_history_is_read() -> None:
    async def scenario(harness: TurnHarness) -> None:
        before = harness.turn_channel.channel_info

        async def slow(*args: Any) -> Any:
            await asyncio.sleep(100)
            return await before(*args)

        spoil(harness.turn_channel, "channel_info", slow)
        await harness.hear("first")
        await asyncio.sleep(1)
        began = asyncio.get_running_loop().time()
        harness.channel_turns.stop(CHANNEL, ALICE.id, False)
        await harness.channel_turns.idle()
        assert asyncio.get_running_loop().time() - began < 0.05
        assert harness.turn_channel.channel.posted == []

    run_turns(scenario)


def test_channels_do_not_wait_for_each_other() -> None:
    async def scenario(harness: TurnHarness) -> None:
        other = FakeTurnChannel(51, first_id=500)
        await harness.hear("first")
        await harness.channel_turns.submit(other.write("hello", BOB), other)
        await asyncio.sleep(1)
        assert harness.turn_channel.contents == ["One."]
        assert other.contents == ["Hm."]
        await harness.channel_turns.idle()

    run_turns(scenario, SEEN)


def test_a_redelivered_message_is_not_answered_twice() -> None:
    async def scenario(harness: TurnHarness) -> None:
        incoming = harness.turn_channel.write("hi")
        assert await harness.channel_turns.submit(incoming, harness.turn_channel) == "mention"
        assert await harness.channel_turns.submit(incoming, harness.turn_channel) == "seen"
        await harness.channel_turns.idle()
        assert await harness.channel_turns.submit(incoming, harness.turn_channel) == "seen"
        await harness.channel_turns.idle()
        assert len(harness.models.requests) == 1

    run_turns(scenario)


def test_a_message_that_could_not_be_taken_may_come_again() -> None:
    async def scenario(harness: TurnHarness) -> None:
        good = harness.settings.of

        async def broken(_path: ChannelPath) -> Any:
            raise OSError("no database")

        incoming = harness.turn_channel.write("hi")
        harness.settings.of = broken
        with pytest.raises(OSError, match="no database"):
            await harness.channel_turns.submit(incoming, harness.turn_channel)
        harness.settings.of = good
        assert await harness.channel_turns.submit(incoming, harness.turn_channel) == "mention"
        await harness.channel_turns.idle()
        assert harness.turn_channel.contents == ["Hm."]

    run_turns(scenario)


def test_messages_keep_their_order_however_long_admission_takes() -> None:
    async def scenario(harness: TurnHarness) -> None:
        good = harness.settings.of
        delays = iter([3.0, 2.0, 1.0])

        async def slow(path: ChannelPath) -> Any:
            await asyncio.sleep(next(delays))
            return await good(path)

        harness.settings.of = slow
        async with asyncio.TaskGroup() as group:
            for words in ("first", "second", "third"):
                group.create_task(harness.hear(words, BOB))
        await harness.channel_turns.idle()
        assert [asked_last(harness, n) for n in range(3)] == [
            "Bob: first",
            "Bob: second",
            "Bob: third",
        ]

    run_turns(scenario, turn={"follow_up_policy": "queue"})


def test_only_the_process_that_claims_a_message_answers() -> None:
    asked: list[int] = []

    async def claim(message_id: int) -> bool:
        asked.append(message_id)
        return False

    async def scenario(harness: TurnHarness) -> None:
        assert await harness.answer("noise", mention=False) == "unaddressed"
        assert await harness.answer() == "claimed"
        assert harness.models.requests == []
        assert asked == [harness.turn_channel.people[-1].id]

    run_turns(scenario, claim=claim)


def test_cooldown() -> None:
    async def scenario(harness: TurnHarness) -> None:
        assert await harness.answer() == "mention"
        assert await harness.answer() == "cooldown"
        assert harness.turn_channel.reactions == [(harness.turn_channel.people[-1].id, TOO_SOON)]
        assert await harness.answer(author=BOB) == "mention"
        await asyncio.sleep(5)
        assert await harness.answer() == "mention"

    run_turns(scenario, turn={"cooldown_ms": 5000})


def test_several_personas_answer_in_order_and_hear_each_other() -> None:
    kai = PersonaRecord(SERVER, "Kai", triggers=("kai",))

    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("kai and ren?", mention=False)
        names = [record["username"] for record in harness.turn_channel.channel.records[1:]]
        assert [name for name in names if name] == ["Kai", "Ren", "Ren"]
        assert asked_last(harness, 1) == "Alice: kai and ren?\nKai: Me."

    run_turns(scenario, [text("Me.")], [text("And I.")], personas=(TOMORI, REN, kai))


def test_a_stop_ends_the_turns_of_all_personas() -> None:
    kai = PersonaRecord(SERVER, "Kai", triggers=("kai",))

    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("kai and ren?", mention=False)
        await asyncio.sleep(1)
        harness.channel_turns.stop(CHANNEL, ALICE.id, False)
        await harness.channel_turns.idle()
        assert len(harness.models.requests) == 1

    run_turns(scenario, SLOW, personas=(TOMORI, REN, kai))


def test_personas_answer_each_other_but_not_for_ever() -> None:
    kai = PersonaRecord(SERVER, "Kai", triggers=("kai",))
    scripts = [[text("What do you say, Kai?")], [text("Ren, no!")]] * 5

    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("ren?", mention=False)
        assert [turn.persona for turn in await harness.turns()] == ["Ren", "Kai", "Ren"]
        assert [turn.why for turn in await harness.turns()] == ["trigger", "persona", "persona"]
        assert told(harness, 1) == ["Alice: ren?", "Ren: What do you say, Kai?"]
        assert (await harness.turns())[1].asked_id is None

    run_turns(scenario, *scripts, personas=(TOMORI, REN, kai), turn={"self_trigger_limit": 2})


def test_no_persona_calls_one_that_may_not_answer_there() -> None:
    kai = PersonaRecord(SERVER, "Kai", triggers=("kai",), is_age_restricted=True)

    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("ren?", mention=False)
        assert [turn.persona for turn in await harness.turns()] == ["Ren"]
        harness.turn_channel.is_age_restricted = True
        await harness.answer("ren?", mention=False)
        assert [turn.persona for turn in await harness.turns()] == ["Ren", "Ren", "Kai"]

    scripts = [[text("What do you say, Kai?")]] * 2 + [[text("No.")]]
    run_turns(scenario, *scripts, personas=(TOMORI, REN, kai))


def test_while_the_database_is_away_the_personas_are_those_that_were() -> None:
    async def away(_server_id: int) -> Any:
        raise StorageError("the database is away")

    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("ren?", mention=False)
        await asyncio.sleep(60)
        spoil(harness.db.personas, "of", away)
        assert await harness.answer("ren?", mention=False) == "trigger"
        with pytest.raises(StorageError):
            await harness.channel_turns.persona_cache.of(SERVER + 1)

    run_turns(scenario)


def test_our_own_messages_are_not_taken() -> None:
    async def scenario(harness: TurnHarness) -> None:
        ours = harness.turn_channel.write("ren!", mention=False, by_us=True, shown_as="Kai")
        assert await harness.channel_turns.submit(ours, harness.turn_channel) == "own"

    run_turns(scenario)


def test_what_was_handled_is_noted_up_to_what_still_waits() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("first")
        await asyncio.sleep(1)
        await harness.hear("bob waits", BOB)
        waiting = harness.turn_channel.people[-1].id
        await harness.hear("follow-up")
        await asyncio.sleep(1)
        assert await harness.seen() == waiting - 1
        await harness.channel_turns.idle()
        assert (await harness.seen() or 0) >= waiting

    run_turns(scenario, SLOW, SLOW)


def test_shutdown_lets_a_turn_end() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("first")
        await asyncio.sleep(1)
        await harness.hear("second", BOB)
        await harness.channel_turns.shutdown(60)
        assert harness.turn_channel.contents == ["One.", "Two."]
        assert await harness.hear("late") == "closing"
        assert await harness.seen() == harness.turn_channel.people[0].id

    run_turns(scenario, SLOW)


def test_shutdown_stops_what_takes_too_long() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("first")
        await asyncio.sleep(1)
        await harness.channel_turns.shutdown(2)
        assert asyncio.get_running_loop().time() < 3.1
        assert harness.turn_channel.contents == ["One."]
        assert harness.turn_channel.embeds == [RESTARTED]
        assert await statuses(harness) == ["interrupted"]
        assert tasks_left() == set()

    run_turns(scenario, SLOW)


def test_a_turn_cut_off_before_its_first_word_can_be_asked_again() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("first")
        await asyncio.sleep(1)
        await harness.channel_turns.shutdown(2)
        assert await harness.seen() is None

    run_turns(scenario, [Silence(60_000)])


def test_one_turn_per_channel_over_processes() -> None:
    held = asyncio.Lock()

    async def scenario(harness: TurnHarness) -> None:
        harness.change(alone=lambda what: held if what == f"turn:{CHANNEL}" else asyncio.Lock())
        async with held:
            await harness.hear("first")
            await asyncio.sleep(5)
            assert harness.models.requests == []
        await harness.channel_turns.idle()
        assert harness.turn_channel.contents == ["Hm."]

    run_turns(scenario)


def test_no_task_is_left() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert tasks_left() == set()

    run_turns(scenario, turn={"status_reactions": True, "thought_log_channel_id": 77})


def test_the_log_names_the_small_task_that_failed(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(harness: TurnHarness) -> None:
        async def refused(_message_id: int, _emoji: str) -> bool:
            raise ConnectionError("no way through")

        spoil(harness.turn_channel, "react", refused)
        await harness.answer()

    caplog.set_level("INFO", "oshaberi.bot.turns")
    run_turns(scenario, turn={"status_reactions": True})
    assert "the reaction 👀 failed: ConnectionError: no way through" in caplog.messages


def test_finished_turns_are_forgotten() -> None:
    async def scenario(harness: TurnHarness) -> None:
        rooms: weakref.WeakSet[FakeTurnChannel] = weakref.WeakSet()
        for number in range(1, 60):
            turn_channel = FakeTurnChannel(1000 + number, first_id=1000 * number)
            rooms.add(turn_channel)
            await harness.channel_turns.submit(turn_channel.write("hi"), turn_channel)
            await harness.channel_turns.idle()
        harness.models.requests.clear()
        del turn_channel
        gc.collect()
        assert len(rooms) == 0
        assert (harness.channel_turns.running(), harness.channel_turns.waiting()) == (0, 0)

    run_turns(scenario, turn={"status_reactions": True})


def test_small_memories_have_a_bound() -> None:
    recent: BoundedCache[int, str] = BoundedCache(3)
    for number in range(10):
        recent.put(number, "x")
    recent.put(7, "y")
    assert len(recent) == 3
    assert (recent.get(6), recent.get(7), recent.get(9)) == (None, "y", "x")


def test_the_turnstile_forgets_who_has_passed() -> None:
    async def main() -> None:
        keyed_locks: KeyedLocks[int] = KeyedLocks()
        order: list[int] = []

        async def pass_through(number: int) -> None:
            async with keyed_locks.through(number % 2):
                await asyncio.sleep(10 - number)
                order.append(number)

        await asyncio.gather(*(pass_through(number) for number in range(6)))
        assert [n for n in order if n % 2] == [1, 3, 5]
        assert [n for n in order if not n % 2] == [0, 2, 4]
        assert len(keyed_locks) == 0

    run_virtual(main())
