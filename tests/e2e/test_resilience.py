"""Models that fail: other keys, other models, another try; and one notice if nothing helps."""

from __future__ import annotations

from discord_stage.model_servers import AnthropicWire, OpenAIWire
from discord_stage.model_servers.scripts import (
    Count,
    Cut,
    Finish,
    Refuse,
    Say,
    Stall,
    Status,
    Think,
)
from tests.e2e.bot_harness import BotHarness, run_with_bot

BUSY = Status(
    429, '{"error": {"message": "slow down", "code": "rate_limit_exceeded"}}', {"retry-after": "60"}
)


def test_after_a_429_the_second_model_answers() -> None:
    async def scenario(here: BotHarness) -> None:
        here.post("the kettle is on", user="mika")
        here.ask("hello")
        await here.says("Hi from here.")
        assert here.notices() == []
        assert "mika: the kettle is on" in here.asked(model=1).text
        assert "You love tea." in here.asked(model=1).system
        told = await here.run("status")
        assert "anthropic/model-1: 1 request, 30 tokens read, 5 written" in told
        here.ask("again")
        await here.says("Hi from here.", "And again.")
        assert [len(model.requests) for model in here.models] == [1, 2]

    run_with_bot(
        scenario,
        BUSY,
        wires=[OpenAIWire(), AnthropicWire()],
        scripts=[[(Say("Hi from here."), Count(30, 5)), "And again."]],
    )


def test_one_model_that_is_overloaded_is_waited_for() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hello")
        await here.says("Hi.")
        assert len(here.model.requests) == 2
        assert here.notices() == []
        here.ask("again")
        await here.asked_times(3)
        await here.wait_for(lambda: len(here.stage.calls("POST /channels/*/typing")) > 4)
        assert await here.run("stop", user="ren") == "Stopped."
        await here.says("Hi.")

    soon = Status(503, '{"error": {"message": "overloaded"}}', {"retry-after": "1"})
    late = Status(503, '{"error": {"message": "overloaded"}}', {"retry-after": "25"})
    run_with_bot(scenario, soon, "Hi.", late, "Never.", speed=20.0)


def test_a_key_that_is_refused_rests_and_the_next_is_used() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hello")
        await here.says("Hi.")
        here.ask("again")
        await here.says("Hi.", "Again.")
        keys = [here.asked(number).key for number in range(3)]
        assert keys == ["first-key", "second-key", "second-key"]
        assert here.notices() == []
        assert "openai/model-0: ready, 2 keys, 1 of them paused" in await here.run("status")

    run_with_bot(scenario, BUSY, "Hi.", "Again.", keys=[["first-key", "second-key"]])


def test_an_empty_answer_is_asked_for_again() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hello")
        await here.says("At last.")
        assert len(here.model.requests) == 3
        assert here.notices() == []

    empty = (Think("hm"), Finish("stop"))
    run_with_bot(scenario, empty, empty, "At last.")


def test_a_model_that_never_says_anything_is_told_once() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hello")
        await here.wait_for(lambda: here.notices() == ["The model gave no answer"])
        await here.idle()
        assert len(here.ours()) == 1
        assert len(here.model.requests) == 3

    run_with_bot(scenario, Finish("stop"), Finish("stop"), Finish("stop"))


def test_the_last_failure_is_told_once_and_the_next_turn_is_a_new_one() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hello")
        await here.wait_for(here.notices)
        await here.idle()
        assert here.notices() == ["This model cannot be used"]
        (embed,) = here.ours()[0].embeds
        assert embed["description"] == "The server answered HTTP 404."
        here.ask("again")
        await here.says("", "Hi.")
        assert "no such model" not in here.asked().text
        told = await here.choose("Delete this turn", here.ours()[0].id, user="ren")
        assert "is deleted" in told
        assert here.said() == ["Hi."]

    run_with_bot(
        scenario,
        Refuse("content_blocked"),
        "Hi.",
        scripts=[[Refuse("model_error", "no such model")]],
    )


def test_nothing_is_asked_again_once_text_is_visible() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hello")
        await here.wait_for(here.notices)
        await here.idle()
        assert here.said() == ["Hi.", "I was abo", ""]
        assert [len(model.requests) for model in here.models] == [1, 0]

    run_with_bot(scenario, (Say("Hi.\nI was abo"), Cut()), scripts=[["Never."]])


def test_a_failed_answer_is_tried_again_in_its_place() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hello")
        await here.wait_for(here.notices)
        await here.idle()
        assert await here.run("regenerate", user="ren") == "Answering again."
        await here.says("Hi.")

    run_with_bot(scenario, Refuse("content_blocked"), "Hi.")


def test_one_channel_that_hangs_does_not_hold_up_the_others() -> None:
    async def scenario(here: BotHarness) -> None:
        here.ask("hello")
        await here.wait_for(lambda: here.said() == ["One."])
        here.ask("hello", channel="logs")
        await here.wait_for(lambda: here.said("logs") == ["Two."])
        assert here.said() == ["One."]

    run_with_bot(scenario, (Say("One.\nOn"), Stall()), "Two.")
