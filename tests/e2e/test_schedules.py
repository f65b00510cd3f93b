"""Due schedules: the bot speaks by itself, once, whatever happens in between."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from oshaberi.bot.schedules.schedule_rules import id_of_due
from oshaberi.bot.storage.records import ScheduleRecord, StoredQuestion
from oshaberi.bot.turns.admission.occasions import Occasion
from tests.bot.client_harness import MEMBER, OWNER
from tests.e2e.bot_harness import BotHarness, run_lives, run_with_bot


def user_id(here: BotHarness, name: str = MEMBER) -> int:
    return here.stage.world.user(name).id


async def scheduled(here: BotHarness, text: str, **more: Any) -> ScheduleRecord:
    """Store a schedule that has just become due."""
    now = datetime.now(UTC).replace(microsecond=0)
    values: dict[str, Any] = {"kind": "reminder", "next_at": now} | more
    record = ScheduleRecord(
        here.server_id, here.id_of("general"), user_id(here), text=text, **values
    )
    stored = await here.db.schedules.add(record, 10, 100)
    assert isinstance(stored, ScheduleRecord)
    return stored


async def come(here: BotHarness) -> None:
    """Let happen what is due."""
    await here.bot.due_schedules.look()
    await here.idle()


def test_a_reminder_is_posted_once_and_notifies_only_its_author() -> None:
    async def scenario(here: BotHarness) -> None:
        other = user_id(here, OWNER)
        await scheduled(here, f"buy milk, <@{other}> @everyone")
        await come(here)
        (message,) = here.ours()
        me = user_id(here)
        assert message.content == (
            f"⏰ <@{me}>, you wanted to be reminded: buy milk, <@{other}> @everyone"
        )
        assert message.mentions == [me]
        assert not message.mention_everyone
        await come(here)
        assert len(here.ours()) == 1
        assert here.model.requests == []
        assert await here.db.questions.left_by("main") == ()

    run_with_bot(scenario)


def test_a_task_is_done_by_the_model() -> None:
    async def scenario(here: BotHarness) -> None:
        here.post("nice weather", user=OWNER)
        await scheduled(here, "say hello to everybody", kind="task")
        await come(here)
        await here.says("Hello, everybody!")
        last = here.asked().question
        assert "Nobody has just written" in last
        assert last.endswith("Renny: say hello to everybody")
        turn = await here.db.turns.last(here.id_of("general"))
        assert turn is not None
        assert turn.user_id == user_id(here)
        assert turn.why.startswith("schedule ")

    run_with_bot(scenario, "Hello, everybody!")


def test_what_was_taken_before_a_kill_is_done_by_the_next_process() -> None:
    async def first(here: BotHarness) -> None:
        record = await scheduled(here, "drink water")
        assert record.next_at is not None
        question = StoredQuestion(
            record.channel_id,
            id_of_due(record.id, record.next_at),
            record.server_id,
            record.user_id,
            "main",
            f"schedule {record.id}",
        )
        assert await here.db.schedules.take(record, None, question)

    async def second(here: BotHarness) -> None:
        me = user_id(here)
        await here.says(f"⏰ <@{me}>, you wanted to be reminded: drink water")
        assert here.ours()[0].mentions == [me]
        assert await here.db.questions.open_in(here.id_of("general")) == frozenset()
        await come(here)

    async def third(here: BotHarness) -> None:
        await come(here)
        assert len(here.ours()) == 1

    run_lives([first, second, third])


def test_a_persona_may_begin_for_nobody_in_particular() -> None:
    """What another reason than a schedule needs: an instruction of ours, a persona, no asker."""

    async def scenario(here: BotHarness) -> None:
        await here.persona("Mochi", prompt="You sing.")
        here.post("it is quiet here", user=OWNER)
        channel = await here.bot.client.find_turn_channel(here.id_of("general"))
        assert channel is not None
        now = datetime.now(UTC)
        occasion = Occasion(
            id=id_of_due(7, now),
            why="schedule 7",
            at=now,
            instruction="Nobody has written for an hour. Say something new.",
            persona="Mochi",
        )
        begun = [await here.bot.channel_turns.begin(occasion, channel) for _ in range(2)]
        assert begun == ["schedule", "seen"]
        await here.idle()
        (message,) = here.ours()
        assert message.content == "La la."
        told = "\n(Nobody has written for an hour. Say something new.)"
        assert here.asked().question.endswith(told)
        assert "You sing." in here.asked().system
        assert await here.db.questions.open_in(here.id_of("general")) == frozenset()
        turn = await here.db.turns.last(here.id_of("general"))
        assert turn is not None
        assert (turn.user_id, turn.asked_id, turn.persona) == (0, occasion.id, "Mochi")

    run_with_bot(scenario, "La la.")
