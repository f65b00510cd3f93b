"""What a new process does with the questions of an earlier one, with real discord.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from discord_stage.world.records import StageMessage
from oshaberi.bot.client.turn_channel import DiscordTurnChannel
from oshaberi.bot.recovery.crash_recovery import INTERRUPTED
from oshaberi.bot.recovery.question_recovery import (
    ASK_AGAIN,
    GO_ON,
    TITLE,
    QuestionRecovery,
)
from oshaberi.bot.storage.errors import StorageAwayError
from oshaberi.bot.storage.records import StoredQuestion, TurnRecord
from oshaberi.bot.turns.admission.questions import CLAIMED
from tests.bot.client_harness import MEMBER, MODERATOR, OWNER, ClientHarness, run_with_client, world

INSTANCE = "main"
TEN_MINUTES = timedelta(minutes=10)


def recovery(harness: ClientHarness, find: Any = None) -> QuestionRecovery:
    find = find or harness.client.find_turn_channel
    return QuestionRecovery(harness.db, INSTANCE, find, harness.channel_turns, TEN_MINUTES)


async def kept(
    harness: ClientHarness,
    asked: StageMessage,
    *,
    ago: timedelta = timedelta(0),
    is_begun: bool = False,
) -> None:
    """An earlier process had taken it: this one's own it has in hand."""
    question = StoredQuestion(
        asked.channel_id,
        asked.id,
        harness.server_id,
        asked.author_id,
        INSTANCE,
        "mention",
        datetime.now(UTC) - ago,
        is_begun,
    )
    mine, harness.db.questions._process = harness.db.questions._process, "earlier"
    await harness.db.questions.keep(question)
    harness.db.questions._process = mine


def ask(
    harness: ClientHarness, words: str, channel: str = "general", user: str = MEMBER
) -> StageMessage:
    """The client hears of it and lets it be: only what is stored counts here."""
    mention = f"<@{harness.stage.world.bot.id}>"
    return harness.stage.people.post(channel, f"{mention} {words}", user=user)


async def left(harness: ClientHarness) -> list[int]:
    return [one.message_id for one in await harness.db.questions.left_by(INSTANCE)]


def told(harness: ClientHarness) -> list[Mapping[str, Any]]:
    bot = harness.stage.world.bot.id
    ours = [one for one in harness.stage.world.history("general") if one.author_id == bot]
    return [{"reply": one.reference, **one.embeds[0]} for one in ours if one.embeds]


async def handed_on(harness: ClientHarness, before: int) -> list[str]:
    return [incoming.said.text for incoming, _ in harness.channel_turns.heard[before:]]


def test_questions_of_all_channels_are_taken_up_in_the_order_of_each() -> None:
    names = [f"c{number}" for number in range(60)]

    async def scenario(harness: ClientHarness) -> None:
        for words in ("first", "second"):
            for name in names:
                await kept(harness, ask(harness, f"{words} in {name}", name))
        before = len(await harness.heard(2 * len(names)))
        assert await recovery(harness).run() == 2 * len(names)
        heard = await handed_on(harness, before)
        assert len(heard) == 2 * len(names)
        for name in names:
            here = [words.split()[1] for words in heard if words.split()[3] == name]
            assert here == ["first", "second"]

    run_with_client(scenario, world(*names))


def test_what_nobody_could_be_answered_for_is_forgotten() -> None:
    async def scenario(harness: ClientHarness) -> None:
        gone, answered = ask(harness, "taken back"), ask(harness, "answered")
        for one in (gone, answered):
            await kept(harness, one, ago=timedelta(seconds=5))
        elsewhere = ask(harness, "in a channel that goes", "logs")
        await kept(harness, elsewhere)
        turn = TurnRecord(answered.channel_id, harness.server_id, 1, answered.id, "Mochi")
        await harness.db.turns.remember(turn)
        harness.stage.people.delete(gone.id)
        harness.stage.delete_channel("logs")
        before = len(await harness.heard(3))
        await harness.stage.settled()
        await recovery(harness).run()
        assert await handed_on(harness, before) == []
        assert await left(harness) == []
        assert told(harness) == []

    run_with_client(scenario)


def test_an_answer_to_an_earlier_regeneration_hides_nothing() -> None:
    async def scenario(harness: ClientHarness) -> None:
        asked = ask(harness, "again")
        before = datetime.now(UTC) - timedelta(minutes=1)
        turn = TurnRecord(asked.channel_id, harness.server_id, 1, asked.id, "Mochi", at=before)
        await harness.db.turns.remember(turn)
        await kept(harness, asked)
        heard = len(await harness.heard(1))
        await recovery(harness).run()
        assert len(await handed_on(harness, heard)) == 1

    run_with_client(scenario)


def test_what_is_too_old_is_told_once() -> None:
    async def scenario(harness: ClientHarness) -> None:
        asked = ask(harness, "long ago")
        for _ in range(2):
            await kept(harness, asked, ago=timedelta(minutes=11))
            await recovery(harness).run()
        (notice,) = told(harness)
        assert (notice["title"], notice["description"]) == (TITLE, ASK_AGAIN)
        assert int(notice["reply"]["message_id"]) == asked.id
        assert await left(harness) == []
        assert await harness.db.seen.last(asked.channel_id) == asked.id

    run_with_client(scenario)


def test_a_channel_that_cannot_be_reached_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(harness: ClientHarness) -> None:
        asked, other = ask(harness, "here"), ask(harness, "there", "logs")
        for one in (asked, other):
            await kept(harness, one)
        before = len(await harness.heard(2))

        async def find(channel_id: int) -> DiscordTurnChannel | None:
            if channel_id == asked.channel_id:
                raise ConnectionResetError("the line is dead")
            return await harness.client.find_turn_channel(channel_id)

        await recovery(harness, find).run()
        assert await handed_on(harness, before) == ["@Oshaberi there"]
        assert asked.id in await left(harness)

    run_with_client(scenario)
    assert "its questions are not taken up: the line is dead" in caplog.text


def test_what_an_outage_of_the_database_left_is_taken_up_by_the_next_look() -> None:
    async def scenario(harness: ClientHarness) -> None:
        asked, other = ask(harness, "here"), ask(harness, "there", "logs")
        for one in (asked, other):
            await kept(harness, one)
        before = len(await harness.heard(2))
        is_away = True

        async def find(channel_id: int) -> DiscordTurnChannel | None:
            if is_away and channel_id == asked.channel_id:
                raise StorageAwayError("no answer within 1.5 s")
            return await harness.client.find_turn_channel(channel_id)

        with pytest.raises(StorageAwayError):
            await recovery(harness, find).run()
        assert await handed_on(harness, before) == ["@Oshaberi there"]
        is_away = False
        await harness.db.questions.settle(other.channel_id, [other.id])
        await recovery(harness, find).run()
        assert await handed_on(harness, before + 1) == ["@Oshaberi here"]

    run_with_client(scenario)


@pytest.mark.parametrize(
    ("outcome", "stays"), [(CLAIMED, True), ("closing", True), ("mute", False)]
)
def test_what_another_process_answers_stays(outcome: str, stays: bool) -> None:
    async def scenario(harness: ClientHarness) -> None:
        async def submit(*_given: Any) -> str:
            return outcome

        asked = ask(harness, "hi")
        await harness.heard(1)
        await kept(harness, asked)
        vars(harness.channel_turns)["submit"] = submit
        await recovery(harness).run()
        assert await left(harness) == ([asked.id] if stays else [])

    run_with_client(scenario)


# -- answers that were cut off ---------------------------------------------------------------------


async def cut(harness: ClientHarness, **fields: Any) -> tuple[StageMessage, list[TurnRecord]]:
    """An answer that a restart interrupted, and whatever is resumed from now on."""
    asked = ask(harness, "tell me", user=OWNER)
    turn = TurnRecord(
        asked.channel_id, harness.server_id, asked.author_id, asked.id, "Mochi", (5,), INTERRUPTED
    )
    await harness.db.turns.remember(turn)
    await kept(harness, asked, is_begun=True, **fields)
    resumed: list[TurnRecord] = []

    async def resume(_turn_channel: Any, one: TurnRecord, _waiting: frozenset[int]) -> bool:
        resumed.append(one)
        return True

    vars(harness.channel_turns)["resume"] = resume
    return asked, resumed


def test_an_answer_that_was_cut_off_goes_on() -> None:
    async def scenario(harness: ClientHarness) -> None:
        asked, resumed = await cut(harness)
        await recovery(harness).run()
        assert [turn.asked_id for turn in resumed] == [asked.id]
        assert told(harness) == []

    run_with_client(scenario)


def test_what_was_cut_off_before_its_first_message_arrived_is_answered_anew() -> None:
    async def scenario(harness: ClientHarness) -> None:
        asked, resumed = await cut(harness)
        turn = await harness.db.turns.last(asked.channel_id)
        assert turn is not None
        await harness.db.turns.set_messages(replace(turn, message_ids=()))
        before = len(await harness.heard(1))
        await recovery(harness).run()
        assert resumed == []
        assert len(await handed_on(harness, before)) == 1
        assert told(harness) == []

    run_with_client(scenario)


def test_after_too_long_it_is_told_that_it_does_not() -> None:
    async def scenario(harness: ClientHarness) -> None:
        _asked, resumed = await cut(harness, ago=timedelta(hours=1))
        await recovery(harness).run()
        assert resumed == []
        assert [one["description"] for one in told(harness)] == [GO_ON]
        assert await left(harness) == []

    run_with_client(scenario)


def test_whoever_was_answered_since_wants_no_more_of_it() -> None:
    async def scenario(harness: ClientHarness) -> None:
        asked, resumed = await cut(harness)
        later = ask(harness, "something else", user=MODERATOR)
        turn = TurnRecord(asked.channel_id, harness.server_id, later.author_id, later.id, "Mochi")
        await harness.db.turns.remember(turn)
        await recovery(harness).run()
        assert resumed == []
        assert await left(harness) == []
        assert await harness.db.seen.last(asked.channel_id) == asked.id

    run_with_client(scenario)
