"""Commands on turns: stop, continue, regenerate, delete, why."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from oshaberi.conversation.turn_config import TurnConfig
from oshaberi.stream.provider_protocol import Silence
from oshaberi.turns import turn_control
from oshaberi.turns.admission.admission_rules import WHY
from oshaberi.turns.context.context_building import GO_ON
from tests.turns.house import (
    ALICE,
    BOB,
    CHANNEL,
    FakeRoom,
    Fixed,
    House,
    fails,
    play,
    quick,
    text,
)

MODERATOR = replace(BOB, can_manage_messages=True)
LINES = "One.\nTwo.\nThree.\nFour."


def told(house: House) -> list[str]:
    items = house.models.requests[-1].items
    return [item.text for item in items if getattr(item, "tag", "") in ("history", "current")]


def test_who_may_stop() -> None:
    async def scene(house: House) -> None:
        assert house.talks.stop(CHANNEL, ALICE.id, True) == turn_control.IDLE
        await house.hear("hi")
        await asyncio.sleep(1)
        assert house.talks.stop(CHANNEL, BOB.id, False) == turn_control.NOT_YOURS
        assert house.talks.is_busy(CHANNEL)
        assert house.talks.stop(CHANNEL, BOB.id, True) == turn_control.STOPPED
        await house.talks.idle()
        assert house.talks.stop(CHANNEL, ALICE.id, False) == turn_control.IDLE

    play(scene, [Silence(60_000)])


def test_continue_delivers_what_was_not() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        assert house.turn_channel.contents == ["One.", "Two."]
        assert await house.talks.continue_(house.turn_channel, ALICE) == turn_control.CONTINUED
        await house.talks.idle()
        assert house.turn_channel.contents == ["One.", "Two.", "Three.", "Four."]
        assert len(house.models.requests) == 1
        last = house.store.turns.kept[-1]
        assert (last.why, last.undelivered, last.status) == ("continue", "", "completed")
        assert house.turn_channel.channel.records[-1]["reply"] is False

    play(scene, [text(LINES)], stream=quick(send_message_limit=2))


def test_continue_asks_the_model_to_go_on() -> None:
    async def scene(house: House) -> None:
        await house.answer("a tale")
        await house.talks.continue_(house.turn_channel, ALICE)
        await house.talks.idle()
        assert told(house) == ["Alice: a tale", "Once", GO_ON]
        assert house.turn_channel.contents == ["Once", "upon a time."]

    play(scene, [text("Once")], [text("upon a time.")])


def test_continue_works_without_the_message_that_was_answered() -> None:
    async def scene(house: House) -> None:
        await house.answer("a tale")
        house.turn_channel.people.clear()
        assert (await house.talks.continue_(house.turn_channel, ALICE)).ok
        await house.talks.idle()
        assert told(house) == ["Once", GO_ON]

    play(scene, [text("Once")], [text("upon a time.")])


def test_nothing_to_continue() -> None:
    async def scene(house: House) -> None:
        assert await house.talks.continue_(house.turn_channel, ALICE) == turn_control.NOTHING
        house.services.store = None
        assert await house.talks.continue_(house.turn_channel, ALICE) == turn_control.NOTHING
        assert await house.talks.delete(house.turn_channel, 1, ALICE) == turn_control.UNKNOWN
        assert await house.talks.why(1) is None

    play(scene)


def test_regenerate() -> None:
    async def scene(house: House) -> None:
        house.turn_channel.write("before", BOB, mention=False)
        await house.answer("a joke")
        house.turn_channel.write("haha", BOB, mention=False)
        first = house.store.turns.kept[-1].message_ids
        assert await house.talks.regenerate(house.turn_channel, ALICE) == turn_control.REGENERATED
        await house.talks.idle()
        assert house.turn_channel.deleted == list(first)
        assert told(house) == ["Bob: before", "Alice: a joke"]
        assert house.turn_channel.contents[-1] == "Better."
        assert house.store.turns.kept[-1].why == "regenerate"
        assert house.turn_channel.channel.records[-1]["reply"] is True

    play(scene, [text("Bad.\nVery bad.")], [text("Better.")])


def test_regenerate_needs_the_message() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        house.turn_channel.people.clear()
        assert await house.talks.regenerate(house.turn_channel, ALICE) == turn_control.GONE
        assert house.turn_channel.deleted == []

    play(scene)


def test_others_may_not_and_moderators_may() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        mine = house.store.turns.kept[-1].message_ids[0]
        assert await house.talks.continue_(house.turn_channel, BOB) == turn_control.NOT_YOURS
        assert await house.talks.regenerate(house.turn_channel, BOB) == turn_control.NOT_YOURS
        assert await house.talks.delete(house.turn_channel, mine, BOB) == turn_control.NOT_YOURS
        assert house.turn_channel.deleted == []
        assert (await house.talks.delete(house.turn_channel, mine, MODERATOR)).ok
        assert (await house.talks.regenerate(house.turn_channel, MODERATOR)).ok
        await house.talks.idle()

    play(scene)


def test_while_an_answer_is_under_way() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        await house.hear("more")
        assert await house.talks.continue_(house.turn_channel, ALICE) == turn_control.BUSY
        assert await house.talks.regenerate(house.turn_channel, ALICE) == turn_control.BUSY
        await house.talks.idle()

    play(scene)


def test_of_two_that_come_at_once_one_is_done() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        for work, done in (
            (house.talks.continue_, turn_control.CONTINUED),
            (house.talks.regenerate, turn_control.REGENERATED),
        ):
            both = await asyncio.gather(*(work(house.turn_channel, ALICE) for _ in range(2)))
            assert both == [done, turn_control.BUSY]
            await house.talks.idle()
        assert house.turn_channel.contents == ["One.", "Two.", "Three."]

    play(scene, [text("One.")], [text("Two.")], [text("Three.")])


def test_who_is_not_answered_any_more_cannot_ask_again() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        here = house.turn_channel.channel_id
        for lists in (
            {"blocked_users": (ALICE.id,)},
            {"allowed_users": (BOB.id,)},
            {"blocked_channels": (here,)},
            {"allowed_channels": (here + 1,)},
        ):

            async def settings(_server_id: int, lists: Any = lists) -> Any:
                return Fixed(quick(), TurnConfig(**lists))

            house.services.settings = settings
            assert await house.talks.continue_(house.turn_channel, ALICE) == turn_control.NOT_LISTED
            assert (
                await house.talks.regenerate(house.turn_channel, ALICE) == turn_control.NOT_LISTED
            )
        mine = house.store.turns.kept[-1].message_ids[0]
        assert await house.talks.delete(house.turn_channel, mine, ALICE) == turn_control.DELETED

    play(scene)


def test_who_asks_again_too_soon_waits() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        assert await house.talks.regenerate(house.turn_channel, ALICE) == turn_control.TOO_SOON
        await asyncio.sleep(10)
        assert await house.talks.regenerate(house.turn_channel, ALICE) == turn_control.REGENERATED
        await house.talks.idle()
        assert await house.talks.continue_(house.turn_channel, ALICE) == turn_control.TOO_SOON
        assert await house.hear("hi") == "cooldown"
        assert (await house.talks.continue_(house.turn_channel, MODERATOR)).ok
        await house.talks.idle()

    play(scene, turn={"cooldown_ms": 10_000})


def test_delete_takes_the_whole_answer() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        ids = house.store.turns.kept[-1].message_ids
        assert len(ids) == 4
        elsewhere = FakeRoom(51)
        assert await house.talks.delete(elsewhere, ids[1], ALICE) == turn_control.UNKNOWN
        assert await house.talks.delete(house.turn_channel, ids[1], ALICE) == turn_control.DELETED
        assert house.turn_channel.deleted == list(ids)

    play(scene, [text(LINES)])


def test_an_answer_and_its_continuations_are_deleted_as_one() -> None:
    async def scene(house: House) -> None:
        await house.answer("a tale")
        for _ in range(2):
            assert (await house.talks.continue_(house.turn_channel, ALICE)).ok
            await house.talks.idle()
        assert house.turn_channel.contents == ["Once", "upon", "a time."]
        first, second, third = (turn.message_ids for turn in house.store.turns.kept)
        assert (
            await house.talks.delete(house.turn_channel, second[0], ALICE) == turn_control.DELETED
        )
        assert house.turn_channel.deleted == [*first, *second, *third]
        assert house.store.memory.kept == []
        assert [turn.why for turn in house.store.turns.kept] == ["mention", "continue", "continue"]

    play(scene, [text("Once")], [text("upon")], [text("a time.")])


def test_an_answer_and_its_continuation_are_told_anew_as_one() -> None:
    async def scene(house: House) -> None:
        await house.answer("before")
        await asyncio.sleep(1)
        await house.answer("a tale")
        await asyncio.sleep(1)
        await house.talks.continue_(house.turn_channel, ALICE)
        await house.talks.idle()
        old = [number for turn in house.store.turns.kept[1:] for number in turn.message_ids]
        assert await house.talks.regenerate(house.turn_channel, ALICE) == turn_control.REGENERATED
        await house.talks.idle()
        assert house.turn_channel.deleted == old
        assert told(house) == ["Alice: before", "Well.", "Alice: a tale"]
        assert [one.answered for one in house.store.memory.kept] == ["Well.", "Anew."]

    play(scene, [text("Well.")], [text("Once")], [text("upon a time.")], [text("Anew.")])


def test_what_is_continued_without_its_question_still_has_none() -> None:
    async def scene(house: House) -> None:
        await house.answer("a tale")
        asked = house.turn_channel.people[0].id
        house.turn_channel.people.clear()
        await house.talks.continue_(house.turn_channel, ALICE)
        await house.talks.idle()
        assert [turn.asked_id for turn in house.store.turns.kept] == [asked, asked]
        assert await house.talks.regenerate(house.turn_channel, ALICE) == turn_control.GONE

    play(scene, [text("Once")], [text("upon a time.")])


def test_a_deleted_answer_is_not_continued_but_can_be_told_anew() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        (turn,) = house.store.turns.kept
        assert (await house.talks.delete(house.turn_channel, turn.message_ids[0], ALICE)).ok
        assert await house.talks.continue_(house.turn_channel, ALICE) == turn_control.DELETED_BEFORE
        assert await house.talks.regenerate(house.turn_channel, ALICE) == turn_control.REGENERATED
        await house.talks.idle()
        assert house.turn_channel.contents[-1] == "Better."

    play(scene, [text(LINES)], [text("Better.")], stream=quick(send_message_limit=2))


def test_why() -> None:
    async def scene(house: House) -> None:
        await house.answer("ren?", mention=False)
        asked = house.turn_channel.people[-1].id
        mine = house.store.turns.kept[-1].message_ids[0]
        sentence = f"Because {WHY['trigger']}."
        assert await house.talks.why(asked) == sentence
        assert await house.talks.why(mine) == sentence
        await house.answer("lol", mention=False)
        ignored = house.turn_channel.people[-1].id
        assert await house.talks.why(ignored) == f"Because {WHY['unaddressed']}."
        assert await house.talks.why(424242) is None

    play(scene)


def test_after_a_failure_continue_asks_again() -> None:
    async def scene(house: House) -> None:
        await house.answer("a tale")
        assert house.turn_channel.embeds == ["The model could not be reached"]
        assert (await house.talks.continue_(house.turn_channel, ALICE)).ok
        await house.talks.idle()
        assert house.turn_channel.contents == ["Once."]

    play(scene, [fails("network")], [text("Once.")])


def test_the_guard_does_not_cut_what_is_delivered_again() -> None:
    async def scene(house: House) -> None:
        await house.answer()
        turn: Any = house.store.turns.kept[-1]
        house.store.turns.kept[-1] = replace(turn, undelivered="Yes.\nAlice: said so.\nBye.")
        await house.talks.continue_(house.turn_channel, ALICE)
        await house.talks.idle()
        assert house.turn_channel.contents[-3:] == ["Yes.", "Alice: said so.", "Bye."]

    play(scene, stream=quick(registered_speaker_guard_enabled=True))
