"""A chain of models and keys: what is tried, what is shown, what rests."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from oshaberi.bot.storage.records import KeyRecord, ModelRecord, UsageRecord
from oshaberi.bot.turns.services.key_cooldowns import KeyCooldowns, rest_seconds
from oshaberi.bot.turns.services.model_access import OperatorModel
from oshaberi.chunks import Chunk, ProviderError, ThoughtPart
from oshaberi.stream.provider_protocol import Silence
from tests.turns.turn_harness import (
    ALICE,
    CHANNEL,
    EPOCH,
    SERVER,
    TurnHarness,
    fails,
    link,
    quick,
    run_turns,
    spoil,
    text,
    used,
)

TWO_KEYS = (link("m", "k1", "k2"), link("spare", "s1"))


def test_the_next_key_is_tried_quietly() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert harness.models.asked == [("m", "k1"), ("m", "k2")]
        assert harness.turn_channel.contents == ["Fine."]
        assert harness.turn_channel.embeds == []

    run_turns(scenario, [fails("rate_limit")], [text("Fine.")], links=TWO_KEYS)


def test_the_next_model_is_tried_when_all_keys_failed() -> None:
    async def scenario(harness: TurnHarness) -> None:
        harness.models.play([text("Spare.")], model="spare")
        await harness.answer()
        assert harness.models.asked == [("m", "k1"), ("m", "k2"), ("spare", "s1")]
        assert harness.turn_channel.contents == ["Spare."]
        assert harness.turn_channel.embeds == []

    run_turns(scenario, [fails("auth")], [fails("balance_exhausted")], links=TWO_KEYS)


@pytest.mark.parametrize("kind", ["model_error", "content_blocked"])
def test_other_keys_do_not_help_against_a_models_own_fault(kind: str) -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert harness.models.asked == [("m", "k1"), ("spare", "s1")]

    run_turns(scenario, [fails(kind)], links=TWO_KEYS)


def test_a_silent_model_is_given_up_quietly() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert harness.models.asked == [("m", "k1"), ("spare", "s1")]
        assert harness.turn_channel.contents == ["Hm."]
        assert harness.turn_channel.embeds == []

    config = quick(inactivity_timeout_ms=1000)
    run_turns(scenario, [Silence(60_000)], links=TWO_KEYS, stream=config)


def test_a_model_that_only_thinks_is_given_up() -> None:
    async def scenario(harness: TurnHarness) -> None:
        harness.models.play(endless, model="spare")
        await harness.answer()
        assert harness.models.asked == [("m", "k1"), ("spare", "s1")]
        assert harness.turn_channel.embeds == ["The model took too long to answer"]
        assert "thought for 300 s" in harness.turn_channel.channel.records[-1]["description"]
        assert (await harness.turns())[-1].status == "timeout"

    thought = Chunk("text", thoughts=(ThoughtPart("hm", "raw"),))
    endless = [step for _ in range(100) for step in (thought, Silence(10_000))]
    run_turns(scenario, endless, links=TWO_KEYS)


def test_the_last_failure_is_shown_once() -> None:
    async def scenario(harness: TurnHarness) -> None:
        later = fails("provider_overloaded", {"retry_after_s": 60}, "come later")
        harness.models.play([later], model="spare")
        await harness.answer()
        assert harness.turn_channel.embeds == ["The model is overloaded right now"]
        assert harness.turn_channel.channel.records[-1]["description"] == "come later"
        assert (await harness.turns())[-1].status == "error"

    limit = fails("rate_limit", {"retry_after_s": 60})
    run_turns(scenario, [limit], [fails("network")], links=TWO_KEYS)


def test_errors_stay_hidden_if_the_operator_wants_it() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert harness.turn_channel.channel.posted == []

    run_turns(scenario, [fails("network")], stream=quick(suppress_user_errors=True))


def test_nothing_is_tried_again_once_text_is_visible() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert harness.models.asked == [("m", "k1")]
        assert harness.turn_channel.contents == ["Once upon"]
        assert harness.turn_channel.embeds == ["The model could not be reached"]

    run_turns(scenario, [text("Once upon"), fails("network")], links=TWO_KEYS)


def test_keys_rest_as_long_as_the_provider_says() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        await harness.answer()
        assert harness.models.asked == [("m", "k1"), ("m", "k2"), ("m", "k2")]
        await asyncio.sleep(61)
        await harness.answer()
        assert harness.models.asked[-1] == ("m", "k1")

    run_turns(scenario, [fails("rate_limit", {"retry_after_s": 60})], links=TWO_KEYS)


def test_if_everything_rests_the_shortest_rest_is_broken() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert harness.turn_channel.embeds == ["The model's rate limit is reached"]
        harness.models.asked.clear()
        await harness.answer()
        assert harness.models.asked == [("m", "k2")]

    run_turns(
        scenario,
        [fails("rate_limit", {"retry_after_s": 500})],
        [fails("rate_limit", {"retry_after_s": 200})],
        links=[link("m", "k1", "k2")],
    )


@pytest.mark.parametrize("stored", [True, False])
def test_a_rest_that_was_broken_with_success_is_over(stored: bool) -> None:
    async def scenario(harness: TurnHarness) -> None:
        if stored:
            await harness.have_models(
                ModelRecord(SERVER, "scripted", "m"),
                keys=[KeyRecord(SERVER, "scripted", "k1", id=1)],
            )
        await harness.answer()
        key = KeyRecord(SERVER if stored else 0, "scripted", "k1", id=int(stored))
        assert rest_left_s(harness, key) == 3600
        await harness.answer()
        assert harness.turn_channel.contents == ["Fine."]
        assert rest_left_s(harness, key) == 0
        kept = await harness.db.keys.of(SERVER, "scripted")
        assert [rest_left_s(harness, one) for one in kept] == [0] * len(kept)

    run_turns(scenario, [fails("auth")], [text("Fine.")], links=[link("m", "k1")])


def rest_left_s(harness: TurnHarness, key: KeyRecord) -> float:
    return harness.services.models.rest_seconds_left(key)


def test_an_answer_that_began_before_the_refusal_does_not_end_the_rest() -> None:
    async def scenario(harness: TurnHarness) -> None:
        first = asyncio.create_task(harness.answer())
        await asyncio.sleep(1)
        key = KeyRecord(0, "scripted", "k1")
        harness.services.models.cooldowns.note(
            key, 60, harness.services.clock(), asyncio.get_running_loop().time()
        )
        await first
        assert harness.turn_channel.contents == ["Fine."]
        assert rest_left_s(harness, key) > 0

    run_turns(scenario, [Silence(5000), text("Fine.")], links=[link("m", "k1")])


def test_an_overloaded_model_is_waited_for_with_the_indicator_shown() -> None:
    shown_at: list[float] = []

    async def typing(_ms: int | None) -> None:
        shown_at.append(asyncio.get_running_loop().time())

    async def scenario(harness: TurnHarness) -> None:
        spoil(harness.turn_channel.channel, "typing", typing)
        await harness.answer()
        assert harness.models.asked == [("m", "k1")] * 3
        assert harness.turn_channel.contents == ["Fine."]
        assert harness.turn_channel.embeds == []
        assert asyncio.get_running_loop().time() == pytest.approx(12 + 8, abs=1)
        assert list(map(round, shown_at)) == [0, 8, 16]

    run_turns(
        scenario,
        [fails("rate_limit", {"retry_after_s": 12})],
        [fails("provider_overloaded")],
        [text("Fine.")],
        links=[link("m", "k1")],
    )


def test_who_is_waited_for_is_who_was_overloaded() -> None:
    async def scenario(harness: TurnHarness) -> None:
        harness.models.play([fails("model_error")], model="spare")
        await harness.answer()
        assert [model for model, _ in harness.models.asked] == ["m", "spare", "m"]
        assert harness.turn_channel.contents == ["Hm."]

    run_turns(
        scenario, [fails("provider_overloaded")], links=[link("m", "k1"), link("spare", "s1")]
    )


@pytest.mark.parametrize(
    ("failures", "waited_s"),
    [
        ([fails("rate_limit", {"retry_after_s": 31})], 0),
        ([fails("rate_limit", {"retry_after_s": 20})] * 2, 20),
        ([fails("provider_overloaded")] * 3, 10),
        ([fails("network")], 0),
    ],
)
def test_patience_ends_and_the_failure_is_told(failures: list[Chunk], waited_s: float) -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert len(harness.models.asked) == len(failures)
        assert len(harness.turn_channel.embeds) == 1
        assert asyncio.get_running_loop().time() == pytest.approx(waited_s, abs=1)

    run_turns(scenario, *([one] for one in failures))


def test_a_stop_ends_the_waiting() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("hi")
        await asyncio.sleep(5)
        assert harness.channel_turns.stop(CHANNEL, ALICE.id, False).ok
        await harness.channel_turns.idle()
        assert asyncio.get_running_loop().time() < 6
        assert len(harness.models.asked) == 1
        assert harness.turn_channel.channel.posted == []
        assert (await harness.turns())[-1].status == "stopped_by_user"

    run_turns(scenario, [fails("rate_limit", {"retry_after_s": 25})])


def test_a_follow_up_ends_the_waiting() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("hi")
        await asyncio.sleep(5)
        await harness.answer("never mind")
        assert harness.turn_channel.contents == ["Fine."]

    run_turns(scenario, [fails("rate_limit", {"retry_after_s": 25})], [text("Fine.")])


def test_stored_keys_rest_in_the_database_too() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.have_models(
            ModelRecord(SERVER, "scripted", "m"), keys=[KeyRecord(SERVER, "scripted", "own", id=3)]
        )
        await harness.answer()
        assert harness.models.asked == [("m", "own")]
        (key,) = await harness.db.keys.of(SERVER, "scripted")
        assert key.rest_until == EPOCH + timedelta(seconds=70)

    run_turns(scenario, [fails("rate_limit", {"retry_after_s": 70})])


def test_a_rest_that_another_process_noted_counts() -> None:
    cooldowns = KeyCooldowns()
    key = KeyRecord(0, "scripted", "k", rest_until=EPOCH + timedelta(seconds=5))
    assert cooldowns.seconds_left(key, EPOCH, 100.0) == 5
    assert cooldowns.seconds_left(key, EPOCH + timedelta(seconds=5), 105.0) == 0
    assert cooldowns.seconds_left(None, EPOCH, 100.0) == 0


@pytest.mark.parametrize(
    ("kind", "raw", "seconds"),
    [
        ("rate_limit", {"retry_after_s": 2.5}, 2.5),
        ("rate_limit", {"retry_after_s": None}, 30),
        ("rate_limit", None, 30),
        ("rate_limit", {"retry_after_s": 10**9}, 86_400),
        ("auth", {}, 3600),
        ("balance_exhausted", "text", 3600),
    ],
)
def test_how_long_a_key_rests(kind: Any, raw: Any, seconds: float) -> None:
    assert rest_seconds(ProviderError(kind, raw=raw)) == seconds


def test_the_operators_key_is_not_sent_where_an_admin_says() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.have_models(
            ModelRecord(SERVER, "openai", "m", base_url="http://evil.test"),
            ModelRecord(SERVER, "openai", "n"),
        )
        harness.models.play([fails("model_error")])
        await harness.answer()
        assert harness.models.asked == [("m", None), ("n", "operators")]

    run_turns(
        scenario,
        links=[
            OperatorModel(ModelRecord(0, "openai", name), ("operators",)) for name in ("m", "n")
        ],
    )


def test_keys_of_the_settings_serve_the_same_model_at_the_same_address_only() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.have_models(
            ModelRecord(SERVER, "openai", "x", base_url="http://other.test"),
            ModelRecord(SERVER, "openai", "y", base_url="http://mine.test"),
            ModelRecord(SERVER, "openai", "x", base_url="http://mine.test"),
        )
        harness.models.play([fails("model_error")], model="x")
        harness.models.play([fails("model_error")], model="y")
        await harness.answer()
        assert harness.models.asked == [("x", None), ("y", None), ("x", "given")]

    run_turns(
        scenario,
        links=[OperatorModel(ModelRecord(0, "openai", "x", "http://mine.test"), ("given",))],
    )


def test_an_empty_answer_is_asked_for_twice_more() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert len(harness.models.requests) == 3
        assert harness.turn_channel.contents == ["At last."]

    run_turns(scenario, [], [Chunk("done", finish_reason="stop")], [text("At last.")])


def test_an_answer_that_stays_empty_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert len(harness.models.requests) == 3
        assert harness.turn_channel.embeds == ["The model gave no answer"]
        assert "empty_response: the model sent no text" in caplog.text
        assert (await harness.turns())[-1].status == "empty_response"

    run_turns(scenario, [], [], [])


def test_after_length_the_oldest_history_goes() -> None:
    async def scenario(harness: TurnHarness) -> None:
        for number in range(8):
            harness.turn_channel.write(f"old {number}", mention=False)
        await harness.answer("now")
        told = [
            [item.text for item in request.items if getattr(item, "tag", "") == "history"]
            for request in harness.models.requests
        ]
        assert [len(one) for one in told] == [8, 4, 2]
        assert told[2] == ["Alice: old 6", "Alice: old 7"]

    cut = [Chunk("done", finish_reason="length")]
    run_turns(scenario, cut, cut, [text("Fits.")])


def test_a_conversation_too_long_is_shortened_before_another_model_is_asked() -> None:
    async def scenario(harness: TurnHarness) -> None:
        for number in range(8):
            harness.turn_channel.write(f"old {number}", mention=False)
        await harness.answer("now")
        assert harness.models.asked == [("m", "k1")] * 2
        assert harness.turn_channel.contents == ["Fits."]

    off = {"summarise_history": False}
    run_turns(scenario, [fails("context_length")], [text("Fits.")], links=TWO_KEYS, turn=off)


def test_without_a_model_the_reader_is_told_what_to_do() -> None:
    async def scenario(harness: TurnHarness) -> None:
        harness.operator.models = ()
        await harness.answer()
        assert harness.turn_channel.embeds == ["This model cannot be used"]
        assert "/model" in harness.turn_channel.channel.records[-1]["description"]

    run_turns(scenario)


def test_a_model_that_cannot_be_connected_is_skipped() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert harness.models.asked == [("spare", None)]
        assert harness.turn_channel.contents == ["Hm."]

    run_turns(scenario, links=[link("broken"), link("spare")])


def test_parameters_of_the_model() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        request = harness.models.requests[0]
        assert (request.temperature, request.thinking) == (0.5, "low")
        assert request.extra == {"min_p": 0.1}
        assert request.stop_strings == ("###",)
        assert request.speaker_guard
        assert "Ren" in request.speakers

    params = {"temperature": 0.5, "thinking": "low", "min_p": 0.1, "top_p": None}
    run_turns(
        scenario,
        links=[OperatorModel(ModelRecord(0, "scripted", "m", params=params))],
        turn={"llm_stop_strings": ("###",)},
        stream=quick(registered_speaker_guard_enabled=True),
    )


def test_a_wrong_parameter_is_the_models_fault_not_a_crash() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert harness.models.asked == [("spare", None)]

    bad = OperatorModel(ModelRecord(0, "scripted", "m", params={"thinking": "much"}))
    run_turns(scenario, links=[bad, link("spare")])


def test_usage_is_noted_of_every_attempt() -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.answer()
        assert await harness.usage() == UsageRecord(SERVER, "scripted", "m", 2, 12, 7)

    run_turns(scenario, [used(5, 0)], [text("Hi."), used(7, 7)])


def test_the_operators_settings_of_a_model_go_with_the_operators_model_only() -> None:
    """Headers, the region of a cloud, the right to pull: an admin's chain does not bring them."""

    async def scenario(harness: TurnHarness) -> None:
        await harness.have_models(
            ModelRecord(SERVER, "openai", "m", base_url="http://evil.test"),
            ModelRecord(SERVER, "openai", "m", params={"pull": True, "region": "x"}),
        )
        harness.models.play([fails("model_error")])
        await harness.answer()
        assert harness.models.asked == [("m", None), ("m", "operators")]
        assert harness.models.settings == [{}, {"headers": {"X-Tea": "1"}}]

    model = ModelRecord(0, "openai", "m")
    link = OperatorModel(model, ("operators",), settings={"headers": {"X-Tea": "1"}})
    run_turns(scenario, links=[link])
