"""Other bots: answered by an allow-list and in bounded rounds. Proxies count as their people."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from oshaberi.bot.conversation.messages import IncomingMessage, Person
from oshaberi.bot.conversation.turn_config import PROXY_BOTS
from tests.turns.turn_harness import ALICE, BOB, TurnHarness, run_turns

ROBO = Person(77, "Robo", is_bot=True)
HOOK = Person(88, "Feed", is_bot=True, application_id=89)
NOT_HEARD = 4711
PROXIED = Person(66, "Mika | she", is_bot=True, application_id=PROXY_BOTS[0])


async def why(harness: TurnHarness) -> str | None:
    return await harness.channel_turns.why(harness.turn_channel.people[-1].id)


def test_only_listed_bots_are_answered() -> None:
    async def scenario(harness: TurnHarness) -> None:
        assert await harness.answer("hi", Person(78, "Other", is_bot=True)) == "bot"
        assert await why(harness) == "Because bots are not answered (answer_bots)."
        assert await harness.answer("hi", ROBO) == "mention"
        assert await harness.answer("hi", HOOK) == "mention"
        assert await harness.answer("hi", ROBO, mention=False) == "unaddressed"

    run_turns(scenario, turn={"answer_bots": [ROBO.id, 89]})


def test_bots_answer_each_other_a_few_times_only() -> None:
    async def scenario(harness: TurnHarness) -> None:
        reasons = [await harness.answer("hi", ROBO) for _ in range(4)]
        assert reasons == ["mention", "mention", "bot_rounds", "bot_rounds"]
        assert await why(harness) == (
            "Because bots had answered each other often enough; now a person has to write "
            "(bot_rounds_limit)."
        )
        await harness.answer("stop it", BOB, mention=False)
        assert await harness.answer("hi", ROBO) == "mention"
        assert await harness.answer("hi", HOOK) == "mention"
        assert await harness.answer("hi", ROBO) == "bot_rounds"

    run_turns(scenario, turn={"answer_bots": [ROBO.id, HOOK.id], "bot_rounds_limit": 2})


def test_the_bot_does_not_go_on_listening_to_bots() -> None:
    def draw() -> float:
        raise AssertionError("nothing is drawn for a bot")

    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("hi", ROBO)
        assert await harness.answer("and you", ROBO, mention=False) == "unaddressed"

    listening = {"attention_ms": 60_000, "interjection_chance": 1.0}
    run_turns(scenario, turn={"answer_bots": [ROBO.id], **listening}, draw=draw)


def test_a_proxys_message_is_its_persons() -> None:
    async def scenario(harness: TurnHarness) -> None:
        for _ in range(3):
            assert await copied(harness, NOT_HEARD) == "mention"
            await harness.channel_turns.idle()
        assert (await harness.turns())[-1].user_id == ALICE.id
        unlisted = replace(PROXIED, application_id=1)
        assert await harness.answer("hi", unlisted) == "bot"

    run_turns(scenario, turn={"bot_rounds_limit": 1})


def test_a_bot_that_is_listed_as_a_proxy_does_not_go_on_for_ever() -> None:
    async def scenario(harness: TurnHarness) -> None:
        reasons = [await harness.answer("hi", PROXIED) for _ in range(3)]
        assert reasons == ["mention", "mention", "bot_rounds"]
        # Whoever speaks through a proxy writes a message of their own each time.
        for _ in range(3):
            await harness.answer("m: hi", BOB, mention=False)
            assert await harness.answer("hi", PROXIED) == "mention"

    run_turns(scenario, turn={"bot_rounds_limit": 2})


def test_no_proxies() -> None:
    async def scenario(harness: TurnHarness) -> None:
        assert await harness.answer("hi", PROXIED) == "bot"

    run_turns(scenario, turn={"proxy_bots": []})


async def copied(harness: TurnHarness, original_id: int, words: str = "hi") -> str:
    author = replace(PROXIED, id=ALICE.id)
    incoming = harness.turn_channel.write(words, author)
    made = replace(incoming, copied_id=original_id)
    return await harness.channel_turns.submit(made, harness.turn_channel)


def test_the_copy_takes_the_place_of_a_question_that_waits() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("m: hi")
        original = harness.turn_channel.people[-1]
        assert await copied(harness, original.id) == "mention"
        harness.turn_channel.people.remove(original)
        harness.channel_turns.withdraw(original.id, harness.turn_channel.channel_id)
        await harness.channel_turns.idle()
        assert await harness.channel_turns.why(original.id) == (
            "Because a proxy bot replaced it by its copy."
        )
        (request,) = harness.models.requests
        assert getattr(request.items[-1], "text", "").endswith("Mika | she: hi")
        assert await harness.question_ids() == []

    run_turns(scenario, turn={"burst_wait_ms": 700})


def test_a_listed_webhook_that_repeats_somebody_is_not_them() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("hi there")
        original = harness.turn_channel.people[-1]
        made = harness.turn_channel.write("hi", replace(HOOK, id=ALICE.id))
        echo = replace(made, copied_id=original.id, webhook=HOOK)
        assert await harness.channel_turns.submit(echo, harness.turn_channel) == "mention"
        await harness.channel_turns.idle()
        assert [turn.user_id for turn in await harness.turns()] == [ALICE.id, HOOK.id]
        reply = harness.turn_channel.write("hi", replace(HOOK, id=ALICE.id), mention=False)
        reply = replace(
            reply,
            said=replace(reply.said, reply_to=original.id),
            replied=replace(original, by_us=True),
            copied_id=original.id,
            webhook=HOOK,
        )
        assert await harness.channel_turns.submit(reply, harness.turn_channel) == "unaddressed"

    turn = {"answer_bots": [HOOK.id], "burst_wait_ms": 700, "follow_up_policy": "queue"}
    run_turns(scenario, turn=turn)


def test_the_copy_of_an_answered_question_is_not_answered_again() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer("m: hi?")
        assert await copied(harness, harness.turn_channel.people[-1].id, "hi?") == "copy"
        assert await why(harness) == (
            "Because it is the copy that a proxy bot made of a message that was answered."
        )
        assert len(harness.models.requests) == 1

    run_turns(scenario, turn={"burst_wait_ms": 700})


def test_bots_are_not_answered_late() -> None:
    async def scenario(harness: TurnHarness) -> None:
        def heard(author: Person) -> IncomingMessage:
            return harness.turn_channel.write("hi", author)

        admits: Any = harness.channel_turns.admits
        assert [await admits(heard(one)) for one in (ROBO, PROXIED, ALICE)] == [False, True, True]

    run_turns(scenario, turn={"answer_bots": [ROBO.id]})
