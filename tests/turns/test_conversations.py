"""One turn per channel: what waits, what interrupts, what is never answered twice."""

from __future__ import annotations

import asyncio
import gc
import weakref
from dataclasses import replace
from typing import Any

import pytest

from oshaberi.conversation.conversation_messages import IncomingMessage
from oshaberi.storage import StorageError
from oshaberi.storage.stored_records import PersonaRecord
from oshaberi.stream.provider_protocol import Silence, Step
from oshaberi.turns.bounded_cache import BoundedCache, KeyedLocks
from oshaberi.turns.channel_turns import FULL, TOO_SOON
from oshaberi.virtual_time import run_virtual
from tests.turns.house import (
    ALICE,
    BOB,
    CHANNEL,
    REN,
    SERVER,
    TOMORI,
    FakeRoom,
    House,
    play,
    spoil,
    text,
)

SLOW: list[Step] = [text("One.\n"), Silence(10_000), text("Two.")]
SEEN: list[Step] = [text("One.\nTwo"), Silence(10_000), text(" or three.")]
"""The first line is visible before the silence; the second is not."""


def asked_last(house: House, number: int) -> str:
    last: Any = house.models.requests[number].items[-1]
    words: str = last.text
    return words


def told(house: House, number: int) -> list[str]:
    items = house.models.requests[number].items
    return [item.text for item in items if getattr(item, "tag", "") in ("history", "current")]


def statuses(house: House) -> list[str]:
    return [turn.status for turn in house.store.turns.kept]


def test_others_wait() -> None:
    async def scene(house: House) -> None:
        await house.hear("first")
        await asyncio.sleep(1)
        assert await house.hear("second", BOB) == "mention"
        assert (house.talks.running(), house.talks.waiting()) == (1, 1)
        await house.talks.idle()
        assert house.turn_channel.contents == ["One.", "Two.", "Hm."]
        assert told(house, 1) == ["Alice: first", "One.", "Two.", "Bob: second"]
        assert (house.talks.running(), house.talks.waiting()) == (0, 0)

    play(scene, SLOW)


def test_a_follow_up_restarts_with_what_was_visible() -> None:
    async def scene(house: House) -> None:
        await house.hear("first")
        await asyncio.sleep(1)
        await house.answer("no, second")
        assert house.turn_channel.contents == ["One.", "Hm."]
        assert statuses(house) == ["follow_up_interrupt", "completed"]
        assert told(house, 1) == ["Alice: first", "One.", "Alice: no, second"]

    play(scene, SEEN)


def test_quick_follow_ups_belong_together() -> None:
    async def scene(house: House) -> None:
        await house.hear("first")
        await asyncio.sleep(1)
        await house.hear("second")
        await house.hear("third")
        await house.talks.idle()
        assert len(house.models.requests) == 2
        assert asked_last(house, 1) == "Alice: second\nAlice: third"

    play(scene, SLOW)


def test_a_message_that_is_not_admitted_interrupts_nothing() -> None:
    async def scene(house: House) -> None:
        await house.hear("first")
        await asyncio.sleep(1)
        assert await house.hear("lol", mention=False) == "unaddressed"
        await house.talks.idle()
        assert house.turn_channel.contents == ["One.", "Two."]

    play(scene, SLOW)


def test_the_queue_policy_interrupts_nobody() -> None:
    async def scene(house: House) -> None:
        for words in ("first", "second", "third"):
            await house.hear(words)
        await house.talks.idle()
        assert statuses(house) == ["completed"] * 3
        assert [asked_last(house, number) for number in range(3)] == [
            "Alice: first",
            "Alice: second",
            "Alice: third",
        ]

    play(scene, SLOW, turn={"follow_up_policy": "queue"})


def test_the_collect_policy_joins_what_waits_of_one_user() -> None:
    async def scene(house: House) -> None:
        await house.hear("first")
        await house.hear("second")
        await house.hear("aside", BOB)
        await house.hear("third")
        await house.talks.idle()
        assert [asked_last(house, number) for number in range(3)] == [
            "Alice: first",
            "Alice: second\nAlice: third",
            "Bob: aside",
        ]

    play(scene, SLOW, turn={"follow_up_policy": "collect"})


@pytest.mark.parametrize("policy", ["queue", "collect"])
def test_what_waits_can_be_taken_back_and_written_anew(policy: str) -> None:
    async def scene(house: House) -> None:
        await house.hear("first")
        await asyncio.sleep(1)
        for words in ("secnod", "third", "fourth"):
            await house.hear(words, BOB)
        second, third, fourth = house.turn_channel.people[-3:]
        assert house.talks.awaits(CHANNEL, second.id)
        assert not house.talks.awaits(CHANNEL, house.turn_channel.people[0].id)
        changed = replace(second, text="second")
        house.turn_channel.people[-3] = changed
        house.talks.amend(IncomingMessage(changed, CHANNEL, SERVER, mentions_us=True))
        for gone in (third, fourth, house.turn_channel.people[0]):
            house.turn_channel.people.remove(gone)
            house.talks.withdraw(CHANNEL, gone.id)
            house.talks.withdraw(CHANNEL + 1, gone.id)
        assert house.talks.waiting() == 1
        await house.talks.idle()
        assert len(house.models.requests) == 2
        assert asked_last(house, 1) == "Bob: second"

    play(scene, SLOW, turn={"follow_up_policy": policy})


@pytest.mark.parametrize("policy", ["interrupt", "queue", "collect"])
def test_the_line_is_bounded_and_never_silent(policy: str) -> None:
    async def scene(house: House) -> None:
        await house.hear("first")
        await asyncio.sleep(1)
        reasons = [await house.hear(f"m{number}", BOB) for number in range(4)]
        assert reasons == ["mention", "mention", "full", "full"]
        refused = [one.id for one in house.turn_channel.people[-2:]]
        await house.talks.idle()
        assert house.turn_channel.reactions == [(number, FULL) for number in refused]
        assert await house.talks.why(refused[0]) is not None

    play(scene, SLOW, turn={"waiting_limit": 2, "follow_up_policy": policy})


def test_a_message_behind_a_stop_gets_its_own_turn() -> None:
    async def scene(house: House) -> None:
        await house.hear("first")
        await asyncio.sleep(1)
        await house.hear("second", BOB)
        assert house.talks.stop(CHANNEL, ALICE.id, False).ok
        await house.talks.idle()
        assert statuses(house) == ["stopped_by_user", "completed"]
        assert house.turn_channel.contents == ["One.", "Hm."]

    play(scene, SLOW)


def test_a_stop_beats_a_follow_up_and_both_are_served() -> None:
    async def scene(house: House) -> None:
        await house.hear("first")
        await asyncio.sleep(1)
        await house.hear("second")
        house.talks.stop(CHANNEL, ALICE.id, False)
        await house.talks.idle()
        assert statuses(house) == ["stopped_by_user", "completed"]
        assert asked_last(house, 1) == "Alice: second"

    play(scene, SLOW)


def test_the_channel_is_active_from_admission_on() -> None:
    async def scene(house: House) -> None:
        await house.hear("first")
        assert house.services.stops.is_active(str(CHANNEL))
        assert house.talks.stop(CHANNEL, ALICE.id, False).ok
        await house.talks.idle()
        assert house.models.requests == []
        assert house.turn_channel.channel.posted == []
        assert not house.services.stops.is_active(str(CHANNEL))

    play(scene)


def test_a_stop_while_the_history_is_read() -> None:
    async def scene(house: House) -> None:
        before = house.turn_channel.channel_info

        async def slow(*args: Any) -> Any:
            await asyncio.sleep(100)
            return await before(*args)

        spoil(house.turn_channel, "channel_info", slow)
        await house.hear("first")
        await asyncio.sleep(1)
        began = asyncio.get_running_loop().time()
        house.talks.stop(CHANNEL, ALICE.id, False)
        await house.talks.idle()
        assert asyncio.get_running_loop().time() - began < 0.05
        assert house.turn_channel.channel.posted == []

    play(scene)


def test_channels_do_not_wait_for_each_other() -> None:
    async def scene(house: House) -> None:
        other = FakeRoom(51, first_id=500)
        await house.hear("first")
        await house.talks.submit(other.write("hello", BOB), other)
        await asyncio.sleep(1)
        assert house.turn_channel.contents == ["One."]
        assert other.contents == ["Hm."]
        await house.talks.idle()

    play(scene, SEEN)


def test_a_redelivered_message_is_not_answered_twice() -> None:
    async def scene(house: House) -> None:
        incoming = house.turn_channel.write("hi")
        assert await house.talks.submit(incoming, house.turn_channel) == "mention"
        assert await house.talks.submit(incoming, house.turn_channel) == "seen"
        await house.talks.idle()
        assert await house.talks.submit(incoming, house.turn_channel) == "seen"
        await house.talks.idle()
        assert len(house.models.requests) == 1

    play(scene)


def test_a_message_that_could_not_be_taken_may_come_again() -> None:
    async def scene(house: House) -> None:
        good = house.services.settings

        async def broken(_server_id: int) -> Any:
            raise OSError("no database")

        incoming = house.turn_channel.write("hi")
        house.services.settings = broken
        with pytest.raises(OSError, match="no database"):
            await house.talks.submit(incoming, house.turn_channel)
        house.services.settings = good
        assert await house.talks.submit(incoming, house.turn_channel) == "mention"
        await house.talks.idle()
        assert house.turn_channel.contents == ["Hm."]

    play(scene)


def test_messages_keep_their_order_however_long_admission_takes() -> None:
    async def scene(house: House) -> None:
        good = house.services.settings
        delays = iter([3.0, 2.0, 1.0])

        async def slow(server_id: int) -> Any:
            await asyncio.sleep(next(delays))
            return await good(server_id)

        house.services.settings = slow
        async with asyncio.TaskGroup() as group:
            for words in ("first", "second", "third"):
                group.create_task(house.hear(words, BOB))
        await house.talks.idle()
        assert [asked_last(house, n) for n in range(3)] == [
            "Bob: first",
            "Bob: second",
            "Bob: third",
        ]

    play(scene, turn={"follow_up_policy": "queue"})


def test_only_the_process_that_claims_a_message_answers() -> None:
    asked: list[int] = []

    async def claim(message_id: int) -> bool:
        asked.append(message_id)
        return False

    async def scene(house: House) -> None:
        assert await house.answer("noise", mention=False) == "unaddressed"
        assert await house.answer() == "claimed"
        assert house.models.requests == []
        assert asked == [house.turn_channel.people[-1].id]

    play(scene, claim=claim)


def test_cooldown() -> None:
    async def scene(house: House) -> None:
        assert await house.answer() == "mention"
        assert await house.answer() == "cooldown"
        assert house.turn_channel.reactions == [(house.turn_channel.people[-1].id, TOO_SOON)]
        assert await house.answer(author=BOB) == "mention"
        await asyncio.sleep(5)
        assert await house.answer() == "mention"

    play(scene, turn={"cooldown_ms": 5000})


def test_several_personas_answer_in_order_and_hear_each_other() -> None:
    kai = PersonaRecord(SERVER, "Kai", triggers=("kai",))

    async def scene(house: House) -> None:
        await house.answer("kai and ren?", mention=False)
        names = [record["username"] for record in house.turn_channel.channel.records[1:]]
        assert [name for name in names if name] == ["Kai", "Ren", "Ren"]
        assert asked_last(house, 1) == "Alice: kai and ren?\nKai: Me."

    play(scene, [text("Me.")], [text("And I.")], personas=(TOMORI, REN, kai))


def test_a_stop_ends_the_turns_of_all_personas() -> None:
    kai = PersonaRecord(SERVER, "Kai", triggers=("kai",))

    async def scene(house: House) -> None:
        await house.hear("kai and ren?", mention=False)
        await asyncio.sleep(1)
        house.talks.stop(CHANNEL, ALICE.id, False)
        await house.talks.idle()
        assert len(house.models.requests) == 1

    play(scene, SLOW, personas=(TOMORI, REN, kai))


def test_personas_answer_each_other_but_not_for_ever() -> None:
    kai = PersonaRecord(SERVER, "Kai", triggers=("kai",))
    scripts = [[text("What do you say, Kai?")], [text("Ren, no!")]] * 5

    async def scene(house: House) -> None:
        await house.answer("ren?", mention=False)
        assert [turn.persona for turn in house.store.turns.kept] == ["Ren", "Kai", "Ren"]
        assert [turn.why for turn in house.store.turns.kept] == ["trigger", "persona", "persona"]
        assert told(house, 1) == ["Alice: ren?", "Ren: What do you say, Kai?"]
        assert house.store.turns.kept[1].asked_id is None

    play(scene, *scripts, personas=(TOMORI, REN, kai), turn={"self_trigger_limit": 2})


def test_while_the_database_is_away_the_personas_are_those_that_were() -> None:
    async def away(_server_id: int) -> Any:
        raise StorageError("the database is away")

    async def scene(house: House) -> None:
        await house.answer("ren?", mention=False)
        await asyncio.sleep(60)
        spoil(house.store.personas, "of", away)
        assert await house.answer("ren?", mention=False) == "trigger"
        with pytest.raises(StorageError):
            await house.talks.cast.of(SERVER + 1)

    play(scene)


def test_our_own_messages_are_not_taken() -> None:
    async def scene(house: House) -> None:
        ours = house.turn_channel.write("ren!", mention=False, by_us=True, shown_as="Kai")
        assert await house.talks.submit(ours, house.turn_channel) == "own"

    play(scene)


def test_what_was_handled_is_noted_up_to_what_still_waits() -> None:
    async def scene(house: House) -> None:
        await house.hear("first")
        await asyncio.sleep(1)
        await house.hear("bob waits", BOB)
        waiting = house.turn_channel.people[-1].id
        await house.hear("follow-up")
        await asyncio.sleep(1)
        assert house.store.seen.newest == {CHANNEL: waiting - 1}
        await house.talks.idle()
        assert house.store.seen.newest[CHANNEL] >= waiting

    play(scene, SLOW, SLOW)


def test_shutdown_lets_a_turn_end() -> None:
    async def scene(house: House) -> None:
        await house.hear("first")
        await asyncio.sleep(1)
        await house.hear("second", BOB)
        await house.talks.shutdown(60)
        assert house.turn_channel.contents == ["One.", "Two."]
        assert await house.hear("late") == "closing"
        assert house.store.seen.newest == {CHANNEL: house.turn_channel.people[0].id}

    play(scene, SLOW)


def test_shutdown_stops_what_takes_too_long() -> None:
    async def scene(house: House) -> None:
        await house.hear("first")
        await asyncio.sleep(1)
        await house.talks.shutdown(2)
        assert asyncio.get_running_loop().time() < 3.1
        assert house.turn_channel.contents == ["One."]
        assert statuses(house) == ["stopped_by_user"]
        assert len(asyncio.all_tasks()) == 1

    play(scene, SLOW)


def test_a_turn_cut_off_before_its_first_word_can_be_asked_again() -> None:
    async def scene(house: House) -> None:
        await house.hear("first")
        await asyncio.sleep(1)
        await house.talks.shutdown(2)
        assert house.store.seen.newest == {}

    play(scene, [Silence(60_000)])


def test_one_turn_per_channel_over_processes() -> None:
    held = asyncio.Lock()

    async def scene(house: House) -> None:
        house.services.alone = lambda what: held if what == f"turn:{CHANNEL}" else asyncio.Lock()
        async with held:
            await house.hear("first")
            await asyncio.sleep(5)
            assert house.models.requests == []
        await house.talks.idle()
        assert house.turn_channel.contents == ["Hm."]

    play(scene)


def test_no_task_is_left() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        assert len(asyncio.all_tasks()) == 1

    play(scene, turn={"status_reactions": True, "thought_log_channel_id": 77})


def test_finished_turns_are_forgotten() -> None:
    async def scene(house: House) -> None:
        rooms: weakref.WeakSet[FakeRoom] = weakref.WeakSet()
        for number in range(1, 60):
            turn_channel = FakeRoom(1000 + number, first_id=1000 * number)
            rooms.add(turn_channel)
            await house.talks.submit(turn_channel.write("hi"), turn_channel)
            await house.talks.idle()
        house.models.requests.clear()
        del turn_channel
        gc.collect()
        assert len(rooms) == 0
        assert (house.talks.running(), house.talks.waiting()) == (0, 0)

    play(scene, turn={"status_reactions": True})


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
