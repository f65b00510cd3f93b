"""How many turns run at once, who is next, and what a reader sees of the wait."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from oshaberi.bot.turns.notices import FULL, OVERLOADED
from oshaberi.bot.turns.running.turn import CROWDED_SECONDS
from oshaberi.bot.turns.services.turn_slots import CROWD, NEAR_PLACES, NoTurnSlotError, TurnSlots
from oshaberi.delivery.typing_indicator import KEEP_ALIVE_SECONDS, QUIET_SECONDS
from oshaberi.stream.provider_protocol import Silence, Step
from oshaberi.virtual_time import run_virtual
from tests.delivery.seen_typing import TypingWatch
from tests.turns.turn_harness import (
    ALICE,
    CHANNEL,
    SERVER,
    FakeTurnChannel,
    TurnHarness,
    quick,
    run_turns,
    spoil,
    text,
)

SLOW: list[Step] = [text("One.\nTw"), Silence(10_000), text("o.")]


class WaitingLine:
    """Turns of a second each, and the order in which they began."""

    def __init__(self, slots: int, max_wait_s: float = 600) -> None:
        self.slots = TurnSlots(slots, max_wait_s)
        self.begun: list[str] = []
        self.near: dict[str, asyncio.Event] = {}
        self.refused: dict[str, str] = {}

    def enter(self, name: str, server: int, channel: int = 0) -> asyncio.Task[None]:
        self.near[name] = asyncio.Event()
        return asyncio.create_task(self._turn(name, server, channel or id(name)))

    async def _turn(self, name: str, server: int, channel: int) -> None:
        try:
            async with self.slots.slot(server, channel, self.near[name]):
                self.begun.append(name)
                await asyncio.sleep(1)
        except NoTurnSlotError as refusal:
            self.refused[name] = refusal.reason


def virtually(scenario: Coroutine[Any, Any, None]) -> None:
    run_virtual(scenario)


def test_no_more_than_the_slots_run_at_once_and_the_rest_in_order() -> None:
    async def scenario() -> None:
        line = WaitingLine(3)
        tasks = [line.enter(str(number), 1) for number in range(10)]
        await asyncio.sleep(0.5)
        assert (line.begun, line.slots.taken, line.slots.waiting) == (["0", "1", "2"], 3, 7)
        await asyncio.gather(*tasks)
        assert line.begun == [str(number) for number in range(10)]
        assert asyncio.get_running_loop().time() == pytest.approx(4)
        assert (line.slots.taken, line.slots.waiting, line.slots.is_free) == (0, 0, True)

    virtually(scenario())


def test_a_server_with_many_questions_does_not_hold_up_another() -> None:
    async def scenario() -> None:
        line = WaitingLine(1)
        names = [*(f"a{number}" for number in range(5)), "b0", "b1", "c0"]
        servers = {"a": 1, "b": 2, "c": 3}
        await asyncio.gather(*(line.enter(name, servers[name[0]]) for name in names))
        assert line.begun == ["a0", "a1", "b0", "c0", "a2", "b1", "a3", "a4"]

    virtually(scenario())


def test_each_direct_message_counts_as_a_server() -> None:
    async def scenario() -> None:
        line = WaitingLine(1)
        names = [("a0", 7), ("a1", 7), ("a2", 7), ("b0", 8)]
        await asyncio.gather(*(line.enter(name, 0, channel) for name, channel in names))
        assert line.begun == ["a0", "a1", "b0", "a2"]

    virtually(scenario())


def test_those_who_are_next_know_that_their_turn_is_near() -> None:
    async def scenario() -> None:
        line = WaitingLine(1)
        tasks = [line.enter(f"a{number}", 1) for number in range(20)]
        await asyncio.sleep(0.5)
        near = [name for name, event in line.near.items() if event.is_set()]
        assert near == [f"a{number}" for number in range(1, NEAR_PLACES + 1)]
        await asyncio.sleep(1)
        assert line.near[f"a{NEAR_PLACES + 1}"].is_set()
        await asyncio.gather(*tasks)

    virtually(scenario())


def test_nobody_waits_for_ever() -> None:
    async def scenario() -> None:
        line = WaitingLine(1, max_wait_s=2.5)
        await asyncio.gather(*(line.enter(f"a{number}", 1) for number in range(5)))
        assert line.begun == ["a0", "a1", "a2"]
        assert line.refused == {"a3": "waited too long", "a4": "waited too long"}
        assert line.slots.is_free

    virtually(scenario())


def test_whoever_asks_anew_keeps_the_place() -> None:
    async def scenario() -> None:
        line = WaitingLine(1)
        tasks = [line.enter(f"a{number}", 1, channel=number + 1) for number in range(4)]
        await asyncio.sleep(0.5)
        tasks[1].cancel()
        await asyncio.sleep(0.1)
        tasks[1] = line.enter("a1 anew", 1, channel=2)
        await asyncio.gather(*tasks)
        assert line.begun == ["a0", "a1 anew", "a2", "a3"]

    virtually(scenario())


@pytest.mark.parametrize("moment_s", [0.5, 1.0, 1.5, 2.0, 2.5])
def test_a_turn_that_is_cancelled_at_any_moment_takes_no_slot_with_it(moment_s: float) -> None:
    async def scenario() -> None:
        line = WaitingLine(2)
        tasks = [line.enter(f"a{number}", number % 2 + 1) for number in range(9)]
        await asyncio.sleep(moment_s)
        for task in tasks[1::2]:
            task.cancel()
        await asyncio.wait(tasks)
        assert (line.slots.taken, line.slots.waiting) == (0, 0)
        assert set(line.begun) >= {"a0", "a2", "a4", "a6", "a8"}

    virtually(scenario())


def test_when_the_process_ends_nobody_gets_a_slot_any_more() -> None:
    async def scenario() -> None:
        line = WaitingLine(1)
        tasks = [line.enter(f"a{number}", 1) for number in range(3)]
        await asyncio.sleep(0.5)
        line.slots.dismiss_waiting()
        await asyncio.gather(*tasks)
        assert (line.begun, line.refused) == (["a0"], {"a1": "ending", "a2": "ending"})
        assert line.slots.is_free

    virtually(scenario())


def test_a_free_slot_goes_to_the_server_that_runs_fewest() -> None:
    async def scenario() -> None:
        line = WaitingLine(3)
        names = ["a0", "a1", "b0", "a2", "a3", "b1", "c0"]
        servers = {"a": 1, "b": 2, "c": 3}
        tasks = [line.enter(name, servers[name[0]]) for name in names]
        await asyncio.sleep(0.5)
        assert line.begun == ["a0", "a1", "b0"]
        await asyncio.gather(*tasks)
        assert set(line.begun[3:6]) == {"a2", "b1", "c0"}

    virtually(scenario())


def test_the_server_with_the_most_running_turns_is_hurried_first() -> None:
    async def scenario() -> None:
        slots = TurnSlots(6)
        hurried: list[str] = []
        tasks: list[asyncio.Task[None]] = []

        async def turn(name: str, server: int) -> None:
            async with slots.slot(server, hash(name), None, lambda: hurried.append(name)):
                await asyncio.sleep(10)

        async def enter(*names: str) -> None:
            tasks.extend(asyncio.create_task(turn(name, ord(name[0]))) for name in names)
            await asyncio.sleep(0)

        await enter("a0", "a1", "a2", "b0", "b1", "c0")
        await enter("a3", "a4")
        assert hurried == [], "a server gives way to others, not to itself"
        await enter("d0", "e0")
        assert hurried == ["a0", "a1", "a2"]
        await enter("f0", "g0")
        assert hurried == ["a0", "a1", "a2", "b0", "b1"]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert (slots.taken, slots.waiting, slots._hurried) == (0, 0, 0)

    virtually(scenario())


# -- in turns --------------------------------------------------------------------------------------


async def ask_elsewhere(
    harness: TurnHarness, number: int, server_id: int = SERVER
) -> FakeTurnChannel:
    """The same question in another channel of the same server, or of another one."""
    place = FakeTurnChannel(CHANNEL + number, server_id=server_id, first_id=1000 * number)
    await harness.channel_turns.submit(place.write("hi"), place)
    return place


def typing_times(place: FakeTurnChannel) -> list[float]:
    """When the typing indicator is shown, in seconds from the beginning."""
    times: list[float] = []

    async def typing(_ms: int | None) -> None:
        times.append(round(asyncio.get_running_loop().time(), 1))

    spoil(place.channel, "typing", typing)
    return times


def test_questions_wait_for_a_slot_with_the_typing_indicator() -> None:
    async def scenario(harness: TurnHarness) -> None:
        harness.change(slots=TurnSlots(1))
        await harness.hear("hi")
        other = await ask_elsewhere(harness, 1)
        shown = typing_times(other)
        await asyncio.sleep(9)
        assert harness.turn_channel.contents == ["One."]
        assert other.contents == []
        assert len(harness.models.requests) == 1
        assert shown == pytest.approx([QUIET_SECONDS, QUIET_SECONDS + KEEP_ALIVE_SECONDS], abs=0.06)
        await harness.channel_turns.idle()
        assert harness.turn_channel.contents == ["One.", "Two."]
        assert other.contents == ["Three."]
        assert await harness.question_ids() == []
        assert harness.services.traffic.slots.is_free

    run_turns(scenario, SLOW, [text("Three.")])


@pytest.mark.parametrize("is_quiet", [False, True])
def test_who_waits_too_long_is_told_so(is_quiet: bool) -> None:
    async def scenario(harness: TurnHarness) -> None:
        harness.change(slots=TurnSlots(1, max_wait_s=3))
        await harness.hear("hi")
        other = await ask_elsewhere(harness, 1)
        await harness.channel_turns.idle()
        asked = other.people[0].id
        assert other.contents == []
        assert other.embeds == ([] if is_quiet else [OVERLOADED])
        assert other.reactions == ([(asked, FULL)] if is_quiet else [])
        assert all(one.post.reply for one in other.channel.posted)
        assert len(harness.models.requests) == 1
        assert await harness.question_ids() == []
        assert await harness.seen(other.channel_id) == asked

    run_turns(scenario, SLOW, stream=quick(suppress_user_errors=is_quiet))


def test_a_stop_ends_the_wait() -> None:
    async def scenario(harness: TurnHarness) -> None:
        harness.change(slots=TurnSlots(1))
        await harness.hear("hi")
        other = await ask_elsewhere(harness, 1)
        await asyncio.sleep(1)
        assert harness.channel_turns.stop(other.channel_id, ALICE.id, may_manage=False).ok
        await asyncio.sleep(1)
        assert not harness.channel_turns.is_busy(other.channel_id)
        await harness.channel_turns.idle()
        assert other.contents == []
        assert len(harness.models.requests) == 1

    run_turns(scenario, SLOW)


def test_what_waits_for_a_slot_is_left_to_the_next_process() -> None:
    async def scenario(harness: TurnHarness) -> None:
        harness.change(slots=TurnSlots(1))
        await harness.hear("hi")
        other = await ask_elsewhere(harness, 1)
        await asyncio.sleep(1)
        await harness.channel_turns.shutdown(60)
        assert harness.turn_channel.contents == ["One.", "Two."]
        assert (other.contents, other.embeds) == ([], [])
        assert await harness.question_ids() == [other.people[0].id]

    run_turns(scenario, SLOW)


def test_a_turn_that_begins_soon_is_not_announced() -> None:
    """Under load a slot is free in a moment: a request for the indicator would only delay it."""

    async def scenario(harness: TurnHarness) -> None:
        harness.change(slots=TurnSlots(1))
        await harness.hear("hi")
        other = await ask_elsewhere(harness, 1)
        shown = typing_times(other)
        await asyncio.sleep(0.5)
        assert harness.services.traffic.slots.waiting == 1
        assert shown == []
        await harness.channel_turns.idle()
        assert shown == [0.6]

    run_turns(scenario, [text("One.\nTw"), Silence(600), text("o.")], [text("Two.")])


@pytest.mark.parametrize("others", [CROWD - 1, CROWD])
def test_in_a_crowd_the_indicator_waits(others: int) -> None:
    """Its requests would come before the first messages of all who have asked."""

    async def scenario(harness: TurnHarness) -> None:
        slots = harness.services.traffic.slots
        slots._taken = others
        watch = TypingWatch(harness.turn_channel.channel)
        await harness.answer()
        first = CROWDED_SECONDS if others >= CROWD else 0.0
        assert watch.asked_at[0] == pytest.approx(first)
        assert watch.longest_silence(9) <= first + 1

    run_turns(scenario, [Silence(9000), text("Hm.")])


TYPED_SLOWLY = quick(
    humanizer_degree=2,
    base_type_speed_ms_per_char=200,
    min_visible_typing_duration_ms=10_000,
    max_typing_time_ms=10_000,
    max_backlog_ms=60_000,
)
LINES = "\n".join(f"Line {number}." for number in range(6))


def test_slow_typing_in_five_channels_keeps_no_other_server_waiting() -> None:
    """Before, the other server waited until one of the five had typed to its end."""

    async def scenario(harness: TurnHarness) -> None:
        harness.change(slots=TurnSlots(5))
        places = [await ask_elsewhere(harness, number) for number in range(1, 6)]
        await asyncio.sleep(3)
        assert [len(place.contents) for place in places] == [1] * 5, "all of them are typing"
        other = await ask_elsewhere(harness, 6, server_id=999)
        await asyncio.sleep(1)
        assert other.contents == ["Hello."]
        await harness.channel_turns.idle()
        assert [place.contents for place in places] == [LINES.split("\n")] * 5
        assert harness.services.traffic.slots.is_free

    run_turns(scenario, *([text(LINES)] for _ in range(5)), [text("Hello.")], stream=TYPED_SLOWLY)


def test_the_waits_of_one_server_give_way_to_no_question_of_its_own() -> None:
    async def scenario(harness: TurnHarness) -> None:
        harness.change(slots=TurnSlots(1))
        first = await ask_elsewhere(harness, 1)
        own = await ask_elsewhere(harness, 2)
        await asyncio.sleep(3)
        assert (len(first.contents), own.contents) == (1, [])
        await harness.channel_turns.idle()
        assert (first.contents, own.contents) == (LINES.split("\n"), ["Hello."])

    run_turns(scenario, [text(LINES)], [text("Hello.")], stream=TYPED_SLOWLY)


def test_the_next_answer_in_the_channel_takes_its_time_again() -> None:
    async def scenario(harness: TurnHarness) -> None:
        harness.change(slots=TurnSlots(1))
        slow = await ask_elsewhere(harness, 1)
        await asyncio.sleep(3)
        await ask_elsewhere(harness, 2, server_id=999)
        await harness.channel_turns.idle()
        assert len(slow.contents) == 6
        await harness.channel_turns.submit(slow.write("and now?"), slow)
        await asyncio.sleep(3)
        assert len(slow.contents) == 7, "it types as slowly as before"
        await harness.channel_turns.idle()
        assert len(slow.contents) == 12

    answers = ([text(LINES)], [text("Hello.")], [text(LINES)])
    run_turns(scenario, *answers, stream=TYPED_SLOWLY)
