"""What does not fit into a model's window is summarised by the model, once, and kept."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from oshaberi.bot.conversation.messages import Person
from oshaberi.bot.storage.records import ConversationSummary
from oshaberi.bot.storage.usage import UsageAccount
from oshaberi.bot.turns.generation.history_summarising import PAUSE_S
from oshaberi.providers.request.model_request import ContextItem, Request
from oshaberi.providers.request.preparation import trimmed
from oshaberi.stream.provider_protocol import Step
from tests.turns.turn_harness import (
    ALICE,
    BOB,
    CHANNEL,
    SERVER,
    TurnHarness,
    fails,
    run_turns,
    text,
    used,
)

WORDS = "and so on " * 90
"""About 300 tokens."""
WINDOW = 3000
SUMMARY = "Alice and Bob counted."
TASK = "You summarise a part of a chat"


def chat(harness: TurnHarness, count: int, first: int = 0, author: Person = BOB) -> None:
    for number in range(first, first + count):
        harness.turn_channel.write(f"number {number}. {WORDS}", author, mention=False)


def said_in(request: Request) -> str:
    return "\n".join(item.text for item in request.items if isinstance(item, ContextItem))


def is_summary(request: Request) -> bool:
    return TASK in said_in(request)


def numbers_in(request: Request) -> list[int]:
    return [n for n in range(60) if f"number {n}. " in said_in(request)]


async def kept(harness: TurnHarness) -> ConversationSummary | None:
    return await harness.db.summaries.of(CHANNEL)


def test_the_oldest_part_is_summarised_instead_of_being_dropped() -> None:
    async def scenario(harness: TurnHarness) -> None:
        harness.models.window = WINDOW
        chat(harness, 10)
        await harness.answer("what was it about?")
        summary, answer = harness.models.requests
        assert is_summary(summary)
        assert summary.tools == ()
        old, rest = numbers_in(summary), numbers_in(answer)
        assert old + rest == list(range(10))
        assert SUMMARY in said_in(answer)
        assert harness.turn_channel.contents == ["Numbers."]
        stored = await kept(harness)
        assert stored is not None
        assert (stored.text, stored.messages) == (SUMMARY, len(old))
        assert stored.user_ids == {BOB.id}
        assert (stored.first_id, stored.last_id) == (101, 101 + len(old) - 1)

    run_turns(scenario, [text(f"<think>hm</think>{SUMMARY}")], [text("Numbers.")])


def test_it_is_done_once_for_many_turns() -> None:
    async def scenario(harness: TurnHarness) -> None:
        harness.models.window = WINDOW
        chat(harness, 10)
        for _ in range(3):
            await harness.answer("go on")
        first, *answers = harness.models.requests
        assert is_summary(first)
        assert [is_summary(one) for one in answers] == [False] * 3
        assert all(SUMMARY in said_in(one) for one in answers)
        assert all(numbers_in(one) == numbers_in(answers[0]) for one in answers)

    run_turns(scenario, [text(SUMMARY)])


def test_the_next_summary_has_the_last_one_in_it() -> None:
    async def scenario(harness: TurnHarness) -> None:
        harness.models.window = WINDOW
        chat(harness, 10)
        await harness.answer()
        before = await kept(harness)
        chat(harness, 8, first=10, author=ALICE)
        await harness.answer()
        _, _, second, answer = harness.models.requests
        assert is_summary(second)
        assert SUMMARY in said_in(second)
        assert SUMMARY not in said_in(answer)
        assert "More of it." in said_in(answer)
        after = await kept(harness)
        assert before is not None
        assert after is not None
        assert after.first_id == before.first_id
        assert after.last_id > before.last_id
        assert after.messages > before.messages
        assert after.user_ids == {ALICE.id, BOB.id}

    run_turns(scenario, [text(SUMMARY)], [text("Hm.")], [text("More of it.")])


def test_what_fits_is_left_alone() -> None:
    async def scenario(harness: TurnHarness) -> None:
        harness.models.window = 100_000
        chat(harness, 10)
        await harness.answer()
        (request,) = harness.models.requests
        assert numbers_in(request) == list(range(10))
        assert await kept(harness) is None

    run_turns(scenario)


def test_it_can_be_switched_off() -> None:
    async def scenario(harness: TurnHarness) -> None:
        harness.models.window = WINDOW
        stored = ConversationSummary(CHANNEL, SUMMARY, 1, 105, 5)
        await harness.db.summaries.keep(stored, days=1)
        chat(harness, 10)
        await harness.answer()
        (request,) = harness.models.requests
        assert not is_summary(request)
        assert SUMMARY not in said_in(request)

    run_turns(scenario, turn={"summarise_history": False})


FAILURES: list[Sequence[Step]] = [[fails("api_error")], [text("  ")], [fails("context_length")]]


@pytest.mark.parametrize("failure", FAILURES)
def test_a_summary_that_fails_costs_no_answer_and_is_not_tried_every_time(
    failure: Sequence[Step],
) -> None:
    async def scenario(harness: TurnHarness) -> None:
        harness.models.window = WINDOW
        chat(harness, 10)
        for _ in range(2):
            await harness.answer()
        asked = [is_summary(one) for one in harness.models.requests]
        assert asked == [True, False, False]
        assert harness.turn_channel.contents == ["Hm.", "Hm."]
        assert harness.turn_channel.embeds == []
        assert await kept(harness) is None
        await asyncio.sleep(PAUSE_S)
        await harness.answer()
        assert [is_summary(one) for one in harness.models.requests[3:]] == [True, False]

    run_turns(scenario, failure)


def test_what_an_api_has_no_room_for_is_summarised_too() -> None:
    """Its window is not known: it says that the request is too long."""

    async def scenario(harness: TurnHarness) -> None:
        chat(harness, 10)
        await harness.answer()
        whole, summary, answer = harness.models.requests
        assert numbers_in(whole) == list(range(10))
        assert is_summary(summary)
        assert numbers_in(summary) + numbers_in(answer) == list(range(10))
        assert SUMMARY in said_in(answer)
        assert harness.turn_channel.contents == ["Numbers."]

    run_turns(scenario, [fails("context_length")], [text(SUMMARY)], [text("Numbers.")])


def test_who_may_not_read_the_history_gets_no_summary_of_it() -> None:
    newcomer = Person(77, "New", can_read_history=False)

    async def scenario(harness: TurnHarness) -> None:
        harness.models.window = WINDOW
        chat(harness, 10)
        await harness.answer()
        assert await kept(harness) is not None
        await harness.answer("what happened?", newcomer)
        request = harness.models.requests[-1]
        assert SUMMARY not in said_in(request)
        assert numbers_in(request) == []

    run_turns(scenario, [text(SUMMARY)])


def test_a_message_that_was_deleted_meanwhile_is_in_no_summary() -> None:
    async def scenario(harness: TurnHarness) -> None:
        harness.models.window = WINDOW
        chat(harness, 10)
        harness.services.notes.deleted_messages.put(101, True)
        await harness.answer()
        assert await kept(harness) is None
        assert SUMMARY not in said_in(harness.models.requests[-1])

    run_turns(scenario, [text(SUMMARY)])


def test_a_summary_is_a_request_of_the_one_who_asked() -> None:
    async def scenario(harness: TurnHarness) -> None:
        harness.models.window = WINDOW
        chat(harness, 10)
        await harness.answer()
        account = UsageAccount("server", SERVER, "user", ALICE.id)
        totals = await harness.totals(account)
        assert (totals.requests, totals.input_tokens, totals.output_tokens) == (2, 2500, 57)

    run_turns(scenario, [text(SUMMARY), used(2000, 50)], [text("Hm."), used(500, 7)])


def test_an_old_question_is_answered_without_what_came_later() -> None:
    async def scenario(harness: TurnHarness) -> None:
        later = ConversationSummary(CHANNEL, SUMMARY, 1, 5000, 5)
        await harness.db.summaries.keep(later, days=1)
        await harness.answer()
        assert SUMMARY not in said_in(harness.models.requests[0])
        harness.models.window = WINDOW
        chat(harness, 10)
        harness.models.play([text("Of old.")])
        await harness.answer()
        assert "Of old." in said_in(harness.models.requests[-1])
        assert getattr(await kept(harness), "text", "") == SUMMARY, "it goes further"

    run_turns(scenario)


def test_what_was_said_after_the_question_is_left_out_but_not_summarised() -> None:
    async def scenario(harness: TurnHarness) -> None:
        harness.models.window = WINDOW
        await harness.hear("what was it about?")
        chat(harness, 12)
        await harness.channel_turns.idle()
        (answer,) = harness.models.requests
        shown = replace(answer, items=trimmed(answer, WINDOW))
        numbers = numbers_in(shown)
        assert 0 < len(numbers) < 12
        assert numbers == list(range(12))[-len(numbers) :], "the newest stay"
        assert 'wrote: "what was it about?". What stands after it was said' in said_in(shown)
        assert await kept(harness) is None

    run_turns(scenario, [text("Numbers.")], turn={"burst_wait_ms": 500})
