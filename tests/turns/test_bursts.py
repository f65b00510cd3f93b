"""A question is answered when its author has finished writing: one answer to all of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from oshaberi.bot.conversation.messages import IncomingMessage
from oshaberi.bot.storage.records import StoredQuestion
from oshaberi.bot.turns.notices import FULL, TOO_SOON
from oshaberi.stream.provider_protocol import Silence, Step
from tests.turns.turn_harness import (
    ALICE,
    BOB,
    CHANNEL,
    REN,
    TurnHarness,
    dialogue_of,
    run_turns,
    text,
)

BURSTS = {"burst_wait_ms": 700, "burst_max_ms": 8000}
SLOW: list[Step] = [text("One.\nTwo"), Silence(10_000), text(" or three.")]


def now() -> float:
    return asyncio.get_running_loop().time()


def run_bursts(scenario: Any, *scripts: Any, **turn: Any) -> None:
    run_turns(scenario, *scripts, turn={**BURSTS, **turn})


def asked(harness: TurnHarness, number: int) -> str:
    items = harness.models.requests[number].items
    return "\n".join(item.text for item in items if getattr(item, "tag", "") == "current")


async def begun(harness: TurnHarness, count: int = 1) -> float:
    """When that many answers have begun."""
    while len(harness.models.requests) < count:
        await asyncio.sleep(0.01)
    return now()


def test_one_answer_to_all_of_it() -> None:
    async def scenario(harness: TurnHarness) -> None:
        assert await harness.hear("hey") == "mention"
        await asyncio.sleep(0.5)
        assert await harness.hear("I have a question", mention=False) == "burst"
        await asyncio.sleep(0.6)
        assert await harness.hear("about cats", mention=False) == "burst"
        last_s = now()
        assert harness.models.requests == []
        assert await begun(harness) - last_s == pytest.approx(0.7, abs=0.03)
        await harness.channel_turns.idle()
        assert harness.turn_channel.contents == ["Hm."]
        assert asked(harness, 0) == "Alice: hey\nAlice: I have a question\nAlice: about cats"
        ids = [said.id for said in harness.turn_channel.people]
        assert harness.turn_channel.answering[-1] == ids[-1]
        assert [await harness.channel_turns.why(one) for one in ids[:2]] == [
            "Because the bot was mentioned.",
            "Because it belongs to the question that its author had begun (burst_wait_ms).",
        ]

    run_bursts(scenario)


def test_whoever_types_is_waited_for_and_not_for_ever() -> None:
    async def scenario(harness: TurnHarness) -> None:
        began_s = now()
        await harness.hear("hey")
        await asyncio.sleep(0.3)
        harness.channel_turns.note_typing(CHANNEL, ALICE.id)
        await asyncio.sleep(4)
        assert harness.models.requests == []
        assert await harness.hear("still me", mention=False) == "burst"
        assert await begun(harness) - began_s == pytest.approx(5.0, abs=0.03)
        await harness.channel_turns.idle()
        began_s = now()
        await harness.hear("again")
        harness.channel_turns.note_typing(CHANNEL, ALICE.id)
        harness.channel_turns.note_typing(CHANNEL, BOB.id)
        harness.channel_turns.note_typing(CHANNEL + 1, ALICE.id)
        assert await begun(harness, 2) - began_s == pytest.approx(8.0, abs=0.03)
        await harness.channel_turns.idle()

    run_bursts(scenario)


@pytest.mark.parametrize(
    ("words", "mention", "waits"),
    [
        ("how tall is it?", True, False),
        ("本当？", True, False),
        ("really?!", True, False),
        ("كم ارتفاعه؟", True, False),
        ("Πόσο ψηλό είναι;", True, False),
        ("wait;", True, True),
        ("what⁉️", True, False),
        ('(how tall is "it?")', True, False),
        ("**本当？**」", True, False),
        ("`a ? b : c`", True, True),
        ("how tall? I mean it", True, True),
        ("tell me", True, True),
        ("ren, are you there?", False, True),
    ],
)
def test_a_mention_with_its_question_mark_does_not_wait(
    words: str, mention: bool, waits: bool
) -> None:
    async def scenario(harness: TurnHarness) -> None:
        began_s = now()
        await harness.hear(words, mention=mention)
        assert (await begun(harness) - began_s > 0.6) is waits
        await harness.channel_turns.idle()

    run_bursts(scenario)


def test_the_question_mark_ends_a_burst_too() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("hey")
        await asyncio.sleep(0.2)
        await harness.hear("how tall is it?")
        asked_s = now()
        assert await begun(harness) - asked_s < 0.05
        await harness.channel_turns.idle()
        assert asked(harness, 0) == "Alice: hey\nAlice: how tall is it?"

    run_bursts(scenario)


def test_off() -> None:
    async def scenario(harness: TurnHarness) -> None:
        began_s = now()
        await harness.hear("hey")
        assert await begun(harness) - began_s < 0.05
        assert await harness.hear("you", mention=False) == "unaddressed"
        await harness.channel_turns.idle()

    run_bursts(scenario, burst_wait_ms=0)


def test_others_have_bursts_of_their_own() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("hey")
        await asyncio.sleep(0.3)
        assert await harness.hear("lol", BOB, mention=False) == "unaddressed"
        assert await harness.hear("me too", BOB) == "mention"
        await asyncio.sleep(0.3)
        assert await harness.hear("please", BOB, mention=False) == "burst"
        await harness.channel_turns.idle()
        assert len(harness.models.requests) == 2
        assert asked(harness, 0).startswith("Alice: hey\n(Now answer what Alice wrote: ")
        assert "You answer Bob after this." in asked(harness, 0)
        assert asked(harness, 1).startswith("Bob: me too\nBob: please")

    run_bursts(scenario)


def test_what_is_meant_for_somebody_else_is_no_part_of_it() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("hey")
        bobs = harness.turn_channel.write("hm", BOB, mention=False).said
        aside = harness.turn_channel.write("not you", mention=False, reply_to=bobs.id, replied=bobs)
        channel_turns = harness.channel_turns
        assert await channel_turns.submit(aside, harness.turn_channel) == "others"
        assert await channel_turns.why(aside.said.id) == (
            "Because it mentions or replies to somebody else."
        )
        await channel_turns.idle()
        assert asked(harness, 0).startswith("Alice: hey\n(Now answer")

    run_bursts(scenario)


def test_a_running_answer_is_for_the_policy() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("first")
        await asyncio.sleep(2)
        assert harness.turn_channel.contents == ["One."]
        assert await harness.hear("and btw", mention=False) == "unaddressed"
        await asyncio.sleep(1)
        await harness.hear("no, second")
        await asyncio.sleep(0.3)
        assert await harness.hear("or third", mention=False) == "burst"
        await harness.channel_turns.idle()
        statuses = [turn.status for turn in await harness.turns()]
        assert statuses == ["follow_up_interrupt", "completed"]
        assert asked(harness, 1) == "Alice: no, second\nAlice: or third"

    run_bursts(scenario, SLOW)


def test_whoever_is_called_in_any_part_answers() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("hey")
        await harness.hear("ren, I mean", mention=False)
        await harness.hear("go on", mention=False)
        await harness.channel_turns.idle()
        (turn,) = await harness.turns()
        assert turn.persona == REN.name

    run_bursts(scenario)


def test_a_burst_is_one_turn_for_cooldowns_and_is_bounded() -> None:
    async def scenario(harness: TurnHarness) -> None:
        for _ in range(3):
            assert await harness.hear("hey") == "mention"
        assert await harness.hear("hey") == "cooldown"
        assert await harness.hear("lol", mention=False) == "unaddressed"
        refused = harness.turn_channel.people[-2].id
        await harness.channel_turns.idle()
        assert harness.turn_channel.reactions == [(refused, TOO_SOON)]
        assert FULL not in [emoji for _, emoji in harness.turn_channel.reactions]
        assert len(harness.models.requests) == 1

    run_bursts(scenario, cooldown_ms=5000, waiting_limit=3)


def test_what_is_deleted_or_edited_meanwhile() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("hey")
        await harness.hear("wrogn", mention=False)
        await harness.hear("gone", mention=False)
        _, wrong, gone = harness.turn_channel.people
        changed = type(wrong)(wrong.id, ALICE, "wrong", wrong.at)
        harness.turn_channel.people[1] = changed
        await harness.channel_turns.amend(IncomingMessage(changed, CHANNEL, 7))
        harness.turn_channel.people.remove(gone)
        harness.channel_turns.withdraw(CHANNEL, gone.id)
        await asyncio.sleep(0.1)
        assert await harness.question_ids() == [wrong.id]
        await harness.channel_turns.idle()
        assert asked(harness, 0) == "Alice: hey\nAlice: wrong"
        assert await harness.question_ids() == []
        await harness.hear("never mind")
        mind = harness.turn_channel.people[-1]
        harness.channel_turns.withdraw(CHANNEL, mind.id)
        await harness.channel_turns.idle()
        assert len(harness.models.requests) == 1
        assert await harness.question_ids() == []
        assert await harness.channel_turns.why(mind.id) == (
            "Because it was deleted before its turn."
        )

    run_bursts(scenario)


def test_a_mention_that_is_deleted_while_a_further_part_is_stored() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("hey")
        asked = harness.turn_channel.people[-1].id
        part = asyncio.create_task(harness.hear("what is up", mention=False))
        while len(getattr(harness.channel_turns.current(CHANNEL), "asked", ())) < 2:
            await asyncio.sleep(0)
        harness.channel_turns.withdraw(CHANNEL, asked)
        assert not part.done()
        await part
        await harness.channel_turns.idle()
        assert harness.models.requests == []
        rest = harness.turn_channel.people[-1].id
        assert await harness.channel_turns.why(rest) == (
            "Because nobody was addressed: no mention, reply, name or trigger word."
        )

    run_bursts(scenario)


def test_a_stop_ends_the_wait() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("hey")
        harness.channel_turns.note_typing(CHANNEL, ALICE.id)
        began_s = now()
        assert harness.channel_turns.stop(CHANNEL, ALICE.id, False).ok
        await harness.channel_turns.idle()
        assert now() - began_s < 0.05
        assert harness.models.requests == []
        assert await harness.question_ids() == []

    run_bursts(scenario)


def test_a_restart_in_the_middle_loses_nothing() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("hey")
        await harness.hear("what is up", mention=False)
        (stored,) = await harness.questions()
        first, second = harness.turn_channel.people
        assert stored == StoredQuestion(CHANNEL, second.id, 7, ALICE.id, "", "mention")
        began_s = now()
        await harness.channel_turns.shutdown(10)
        assert now() - began_s < 0.1
        assert harness.models.requests == []
        assert await harness.question_ids() == [second.id]
        again = type(harness.channel_turns).over(harness.services)
        incoming = IncomingMessage(second, CHANNEL, 7)
        assert await again.submit(incoming, harness.turn_channel, "stored", stored.why) == "mention"
        await again.idle()
        texts = dialogue_of(harness.models.requests[0])
        assert texts[-2:] == [f"Alice: {first.text}", f"Alice: {second.text}"]
        assert await harness.question_ids() == []

    run_bursts(scenario)


def test_what_comes_late_does_not_wait() -> None:
    async def scenario(harness: TurnHarness) -> None:
        late = harness.turn_channel.write("hey")
        began_s = now()
        await harness.channel_turns.submit(late, harness.turn_channel, "missed")
        assert await begun(harness) - began_s < 0.05
        await harness.channel_turns.idle()

    run_bursts(scenario)
