"""The tool `schedule`: for whoever asked and nobody else, and only when they have asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from oshaberi.bot.conversation.messages import Person
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.bot.storage import Database
from oshaberi.bot.storage.records import ScheduleRecord
from oshaberi.bot.tools import ToolBox, ToolContext, builtin_tools
from oshaberi.chunks import ToolCall
from oshaberi.providers.request.model_request import ToolResult
from tests.storage.migrated_database import opened_database
from tests.tools.fake_tool_context import CHANNEL, MIKA, REN, SERVER, context

BOX = ToolBox(builtin_tools())


def with_database(scenario: Callable[[Database], Awaitable[None]]) -> None:
    async def main() -> None:
        async with opened_database() as db:
            await scenario(db)

    asyncio.run(main())


async def run(given: ToolContext, action: str, **args: Any) -> ToolResult:
    call = ToolCall("schedule", {"action": action, **args})
    (result,) = await BOX.run([call], given, timeout_ms=60_000, result_limit_chars=10_000)
    return result


async def ask(db: Database, action: str, author: Person = MIKA, **args: Any) -> str:
    result = await run(context(author=author, store=db), action, **args)
    assert not result.is_error, result
    return result.content


async def refused(db: Database, action: str, author: Person = MIKA, **args: Any) -> str:
    result = await run(context(author=author, store=db), action, **args)
    assert result.is_error, result
    return result.content


def test_it_is_for_who_asked_in_this_channel() -> None:
    async def scenario(db: Database) -> None:
        told = await ask(db, "add", when="in 20 minutes", text="milk")
        assert told == (
            "Scheduled. #1 reminder, Tue 2026-11-03 21:25 (UTC), in messages <t:1793741109:f>: milk"
        )
        (record,) = await db.schedules.of_server(SERVER)
        assert (record.user_id, record.channel_id, record.kind) == (MIKA.id, CHANNEL, "reminder")
        assert await db.schedules.of_user(REN.id) == ()

    with_database(scenario)


def test_a_time_zone_is_asked_for_and_learnt_from_a_clock() -> None:
    async def scenario(db: Database) -> None:
        assert "Ask what time it is for them" in await refused(
            db, "add", when="tomorrow at nine", text="milk"
        )
        assert "morning or in the evening" in await refused(db, "time_zone", zone="it is 6 for me")
        told = await ask(db, "time_zone", zone="it is 6 am for me")
        assert told.startswith("Stored: UTC+09:00, where it is Wednesday 06:05 now. Places")
        assert "Asia/Tokyo" in told
        assert await ask(db, "time_zone", zone="Tokyo") == (
            "Stored: Asia/Tokyo, where it is Wednesday 06:05 now."
        )
        told = await ask(db, "add", when="every monday at nine", text="hello")
        assert "Mon 2026-11-09 09:00 (Asia/Tokyo)" in told
        assert "then Mon 2026-11-16 09:00 (Asia/Tokyo)" in told

    with_database(scenario)


def test_nobody_sees_or_cancels_what_others_have() -> None:
    async def scenario(db: Database) -> None:
        await ask(db, "add", REN, when="in 1 hour", text="a secret")
        elsewhere = ScheduleRecord(99, 1, MIKA.id, "reminder", "elsewhere", None)
        other = await db.schedules.add(replace(elsewhere, is_paused=True), 10, 10)
        assert isinstance(other, ScheduleRecord)
        assert await ask(db, "list") == "The user has scheduled here:\n(nothing)"
        for number in (1, other.id, 0, -5, 10**30):
            assert "no #" in await refused(db, "cancel", number=number)
        assert "a secret" in await ask(db, "list", REN)
        assert await ask(db, "cancel", REN, number=1) == "Cancelled: #1."

    with_database(scenario)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"when": "whenever", "text": "x"}, "do not understand that time"),
        ({"when": "in 1 hour", "text": ""}, "nothing to be reminded of"),
        ({"when": "in 1 hour", "text": "x" * 1001}, "too long"),
        ({"when": "every minute", "text": "spam"}, "too often"),
        ({"when": "in 1 hour", "text": "x", "what": "task"}, "schedule_tasks_enabled"),
    ],
)
def test_the_rules_hold_for_a_model_too(args: dict[str, Any], words: str) -> None:
    async def scenario(db: Database) -> None:
        assert words in await refused(db, "add", **args)
        assert await db.schedules.of_server(SERVER) == ()

    with_database(scenario)


def test_a_model_can_fill_no_more_than_the_askers_own_list() -> None:
    async def scenario(db: Database) -> None:
        for _ in range(10):
            await ask(db, "add", when="in 1 hour", text="x")
        assert "schedules_per_user" in await refused(db, "add", when="in 1 hour", text="x")

    with_database(scenario)


def test_it_is_offered_only_to_who_has_addressed_the_bot() -> None:
    def offers(**more: Any) -> bool:
        given = context(store=Any, **more)
        return "schedule" in {one.name for one in BOX.declarations(given)}

    assert offers()
    assert not offers(is_addressed=False)
    assert not offers(turn=TurnConfig(schedules_per_user=0))


def test_another_bot_schedules_nothing() -> None:
    async def scenario(db: Database) -> None:
        robot = replace(MIKA, is_bot=True)
        assert "nothing can be scheduled" in await refused(
            db, "add", robot, when="in 1 hour", text="x"
        )

    with_database(scenario)
