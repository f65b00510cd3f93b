"""Step 04, rule by rule: statuses, stops, timeouts, errors, what passes from stream to stream."""

from __future__ import annotations

import asyncio

import pytest

from oshaberi.chunks import Chunk, ProviderError, ThoughtPart, ToolCall, Usage
from oshaberi.delivery.recording_sink import ScriptedFault
from oshaberi.delivery.response import ResponseState
from oshaberi.stream import FollowUp, ScriptedProvider, Silence, Step, Stop, StopRegistry

from .scripted_streams import CHANNEL, chunks, play

LOOK = Chunk("function_call", calls=(ToolCall("look", {"q": 1}),))
OOPS = Chunk("error", error=ProviderError("rate_limit", "slow down"))
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n"


@pytest.mark.parametrize(
    ("steps", "status", "messages"),
    [
        (["one\ntwo"], "completed", ["one", "two"]),
        ([], "empty_response", []),
        (["  \n "], "empty_response", []),
        (["<think>hm</think>"], "empty_response", []),
        ([Chunk("text", thoughts=(ThoughtPart("hm"),))], "empty_response", []),
        (["text", LOOK, "never"], "function_call", ["text"]),
        ([LOOK], "function_call", []),
        (["half", OOPS, "never"], "error", ["half"]),
        (["half", Silence(200_000), "never"], "timeout", ["half"]),
        (["half", Stop("1"), "never"], "stopped_by_user", ["half"]),
        (["one\nha", FollowUp("1"), "lf"], "follow_up_interrupt", ["one"]),
    ],
)
def test_status(steps: list[str | Step], status: str, messages: list[str]) -> None:
    played = play(*steps)
    assert (played.result.status, played.messages) == (status, messages)


def test_text_and_call_in_one_chunk_text_first() -> None:
    both = Chunk("function_call", "look!", calls=(ToolCall("a"), ToolCall("b")))
    played = play(both)
    assert played.messages == ["look!"]
    assert played.result.data == ToolCall("a")
    assert [call.name for call in played.result.calls] == ["a", "b"]


def test_done_goes_on_and_keeps_the_finish_reason() -> None:
    played = play("a", Chunk("done", finish_reason="length", usage=Usage(3, 4)), "b")
    assert played.messages == ["ab"]
    assert (played.result.finish_reason, played.result.usage) == ("length", Usage(3, 4))


def test_links_to_what_is_cited_stand_behind_the_text() -> None:
    links = "\n\n-# [A page](<https://a.test/x>)"
    done = Chunk("done", finish_reason="stop", links=links)
    played = play("It is so.", done)
    assert played.messages == ["It is so.", "-# [A page](<https://a.test/x>)"]


def test_links_before_a_call() -> None:
    links = "\n\n-# [A page](<https://a.test/x>)"
    call = Chunk("function_call", calls=(ToolCall("look"),), finish_reason="stop", links=links)
    played = play("It is so.", call)
    assert played.messages == ["It is so.", "-# [A page](<https://a.test/x>)"]


def test_a_divided_summary_is_several_thoughts() -> None:
    parts = [ThoughtPart(text, "summary") for text in ("One ", "thing.", "", "Another.")]
    played = play(*(Chunk("text", thoughts=(part,)) for part in parts), "Yes.")
    assert played.result.thought_log.texts == ["One thing.", "Another."]


def test_thoughts_of_chunks_and_blocks_stay_out_of_the_reply() -> None:
    def thought(text: str) -> Chunk:
        return Chunk("text", thoughts=(ThoughtPart(text),))

    summary = Chunk("text", thoughts=(ThoughtPart("S", "summary"),))
    played = play(thought("I "), thought("see"), summary, "Hi<think>b</think>", thought("again"))
    assert played.result.thought_log.texts == ["I see", "S", "b", "again"]
    assert played.result.thought_log.of_kind("summary") == ["S"]
    assert played.messages == ["Hi"]
    assert played.result.accumulated_text == "Hi"


class TestStop:
    def test_it_beats_a_follow_up(self) -> None:
        played = play("half", FollowUp("1"), Stop("2"))
        assert played.result.status == "stopped_by_user"
        assert played.result.stop_reason == "user_request"

    def test_the_buffer_leaves_as_one_message_without_typing(self) -> None:
        played = play("one\n", Silence(9000), "(two\nthree.", Stop("1"), degree=2)
        assert played.messages == ["one", "(two\nthree."]
        assert played.of("typing") == []

    def test_behind_a_queue_nothing_leaves(self) -> None:
        played = play("one\ntwo\nthree", Stop("1"), " more", degree=2)
        assert played.messages == ["one"]
        assert played.result.undelivered == "two\nthree"
        assert {e.fate for e in played.result.ledger.entries} == {"delivered", "stop"}

    def test_at_degree_0_the_whole_aggregate_leaves(self) -> None:
        played = play("word " * 900, Stop("1"), degree=0)
        assert len(played.messages) == 3
        assert played.result.undelivered == ""

    def test_it_wakes_the_typing(self) -> None:
        played = play("one\n" + "x" * 300 + "\nend", Silence(1700), Stop("1"), degree=2)
        assert len(played.of("typing")) == 1
        assert played.messages == ["one"]
        assert played.result.metrics.duration_ms == 1700

    def test_while_the_queue_drains(self) -> None:
        """The model is done, the last messages are still being typed."""

        def provider(stops: StopRegistry) -> ScriptedProvider:
            loop = asyncio.get_running_loop()
            loop.call_later(1.2, stops.request_stop, CHANNEL, "1")
            return ScriptedProvider(chunks(["one\ntwo\nthree\nfour"]))

        played = play(provider=provider, degree=2)
        assert played.messages == ["one", "two"]
        assert played.result.undelivered == "three\nfour"
        assert played.result.status == "stopped_by_user"
        assert played.result.metrics.duration_ms == 1200

    def test_a_send_on_the_wire_is_awaited_and_counted(self) -> None:
        late = ScriptedFault("send", 1, delay_ms=3000)
        played = play("one\ntwo\nx", Silence(500), Stop("1"), faults=[late])
        assert played.messages == ["one"]
        assert played.result.undelivered == "two\nx"
        assert played.result.metrics.duration_ms == 3000

    def test_behind_a_send_on_the_wire_the_buffer_leaves(self) -> None:
        late = ScriptedFault("send", 1, delay_ms=3000)
        played = play("one\ntwo.", Silence(500), Stop("1"), faults=[late])
        assert played.messages == ["one", "two."]

    def test_but_not_for_ever(self) -> None:
        late = ScriptedFault("send", 1, delay_ms=18_000)
        played = play("one\ntwo\n", Silence(500), Stop("1"), faults=[late])
        assert played.messages == []
        assert played.result.undelivered == "one\ntwo"
        assert played.result.ledger.sums() == {"uncertain": 3, "stop": 3}
        assert played.result.metrics.duration_ms == 10_500

    def test_a_send_that_waits_for_a_rate_limit_is_withdrawn(self) -> None:
        held = ScriptedFault("send", 1, rate_limit_ms=30_000)
        played = play("one\ntwo", Silence(500), Stop("1"), faults=[held])
        assert played.messages == []
        assert played.result.ledger.sums() == {"stop": 6}
        assert played.result.metrics.duration_ms == 500

    def test_it_ends_the_waiting_between_retries(self) -> None:
        down = [ScriptedFault("send", n, "http_503") for n in range(1, 9)]
        played = play("one\ntwo\n", Silence(3500), Stop("1"), faults=down)
        assert played.result.metrics.duration_ms == 3500
        assert played.result.ledger.sums() == {"uncertain": 3, "stop": 3}

    def test_nothing_is_sent_when_all_is_suppressed(self) -> None:
        played = play("half", Stop("1"), suppress_text_output=True)
        assert played.sink.records == []
        assert played.result.accumulated_text == "half"

    def test_the_rest_of_a_large_chunk_is_reported(self) -> None:
        lines = "".join(f"line {n} {'x' * 100}\n" for n in range(500))

        def provider(stops: StopRegistry) -> ScriptedProvider:
            asyncio.get_running_loop().call_later(2, stops.request_stop, CHANNEL, "1")
            return ScriptedProvider(chunks([lines]))

        late = ScriptedFault("send", 1, delay_ms=5000)
        many = {"max_flush_count": 1000}
        played = play(provider=provider, faults=[late], text=many)
        assert len(played.messages) == 1
        assert [*played.messages, *played.result.undelivered.split("\n")] == lines.split("\n")[:-1]


class TestFollowUp:
    def test_buffer_and_queue_are_dropped(self) -> None:
        played = play("one\ntwo\nthree", FollowUp("1"), degree=2)
        assert played.messages == ["one"]
        assert played.result.undelivered == "two\nthree"
        assert played.result.ledger.sums() == {"delivered": 3, "follow_up": 8}

    def test_somebody_else_does_not_interrupt(self) -> None:
        played = play("one\ntwo", FollowUp("2"), "!", user="1")
        assert played.messages == ["one", "two!"]

    def test_captured_thoughts_stay(self) -> None:
        played = play("<think>hm</think>half <think>open", FollowUp("1"))
        assert played.result.thought_log.texts[0] == "hm"
        assert played.result.undelivered == "half"


class TestTimeout:
    def test_the_buffer_leaves_then_the_embed(self) -> None:
        played = play("one\nha", Silence(120_000), Silence(1), "lf")
        kinds = [record["kind"] for record in played.sink.records]
        assert kinds == ["message", "message", "embed"]
        assert played.result.status == "timeout"
        assert played.result.metrics.duration_ms == 120_000

    def test_a_chunk_at_the_same_instant_wins(self) -> None:
        played = play("one\n", Silence(120_000), "two\n", Silence(120_000), "three")
        assert played.result.status == "completed"

    @pytest.mark.parametrize(("pause", "status"), [(999, "completed"), (1001, "timeout")])
    def test_it_restarts_at_every_chunk(self, pause: int, status: str) -> None:
        played = play("a", Silence(900), "b", Silence(pause), "c", inactivity_timeout_ms=1000)
        assert played.result.status == status

    def test_it_restarts_at_every_send(self) -> None:
        played = play(
            "one\ntwo\n" + "x",
            Silence(2500),
            "y",
            degree=2,
            inactivity_timeout_ms=2000,
        )
        assert played.times[1] > 500
        assert played.result.status == "completed"

    def test_suppressed_embed(self) -> None:
        played = play("one", Silence(130_000), suppress_user_errors=True)
        assert played.result.status == "timeout"
        assert played.of("embed") == []

    def test_not_while_the_queue_is_full(self) -> None:
        lines = "".join(f"{n}\n" for n in range(200))
        slow = [ScriptedFault("send", n, delay_ms=900) for n in range(1, 10)]
        played = play(
            *(lines[at : at + 50] for at in range(0, len(lines), 50)),
            faults=slow,
            inactivity_timeout_ms=1000,
            text={"max_flush_count": 1000},
        )
        assert played.result.status == "completed"


def thoughts(minutes: int) -> list[Step]:
    """A thought every ten seconds."""
    thought = Chunk("text", thoughts=(ThoughtPart("hm. ", "raw"),))
    return [thought, *(step for _ in range(minutes * 6) for step in (Silence(10_000), thought))]


def blank(text: str, minutes: int) -> list[Step]:
    pieces = [(Silence(10_000), Chunk("text", text)) for _ in range(minutes * 6 + 1)]
    return [step for piece in pieces for step in piece]


class TestEndlessThinking:
    @pytest.mark.parametrize(
        "steps",
        [
            thoughts(60),
            ["<think>", *blank("and so on ", 60)],
            ["<think>x", *blank("</think>", 1), *blank("</think> <think>", 60)],
            ["<details>", *blank("and so on\n", 60)],
            blank("\n", 60),
            blank("", 60),
        ],
        ids=["chunks", "tags", "many blocks", "details", "newlines", "nothing"],
    )
    def test_it_ends_as_a_timeout(self, steps: list[str | Step]) -> None:
        played = play(*steps)
        assert played.result.status == "timeout"
        assert 300_000 <= played.result.metrics.duration_ms <= 400_000
        assert [record["title"] for record in played.of("embed")] == [
            "The model took too long to answer"
        ]
        assert "thought for 300 s" in played.of("embed")[0]["description"]

    def test_what_was_said_before_it_stays(self) -> None:
        played = play("one\ntwo", *thoughts(60))
        assert played.messages == ["one", "two"]
        assert played.result.status == "timeout"

    @pytest.mark.parametrize(("minutes", "status"), [(4, "completed"), (6, "timeout")])
    def test_text_in_time_ends_the_counting(self, minutes: int, status: str) -> None:
        steps = thoughts(minutes)
        played = play(*steps, "one\n", *steps, "two\n", *steps, "three")
        assert played.result.status == status

    def test_the_setting(self) -> None:
        played = play(*thoughts(60), max_thinking_ms=30_000)
        assert played.result.metrics.duration_ms == 30_000

    def test_a_slow_send_is_no_thinking(self) -> None:
        lines = "".join(f"{n}\n" for n in range(200))
        played = play(
            lines,
            *thoughts(0),
            "end",
            faults=[ScriptedFault("send", n, delay_ms=15_000) for n in range(1, 9)],
            max_thinking_ms=1000,
            text={"max_flush_count": 1000},
        )
        assert played.result.status == "completed"


class TestEndlessAnswer:
    def test_it_ends_as_a_timeout_and_what_was_said_stays(self) -> None:
        drip = [step for n in range(200) for step in (f"line {n}\n", Silence(60_000))]
        played = play(*drip)
        assert played.result.status == "timeout"
        assert isinstance(played.result.data, ProviderError)
        assert played.result.data.code == "time_budget"
        assert played.result.metrics.duration_ms == 3_600_000
        assert "\n".join(played.messages) == "\n".join(f"line {n}" for n in range(61))
        assert "after 3600 s." in played.of("embed")[0]["description"]

    def test_waits_for_discord_do_not_count(self) -> None:
        lines = "".join(f"{n}\n" for n in range(200))
        played = play(
            lines,
            Silence(500),
            "end",
            faults=[ScriptedFault("send", n, delay_ms=15_000) for n in range(1, 9)],
            max_answer_ms=1000,
            text={"max_flush_count": 1000},
        )
        assert played.result.status == "completed"


class TestError:
    def test_queue_without_waits_then_one_embed(self) -> None:
        played = play("one\ntwo\nthree", OOPS, degree=2)
        kinds = [record["kind"] for record in played.sink.records]
        assert kinds == ["message"] * 3 + ["embed"]
        assert {record["at_ms"] for record in played.sink.records} == {0}
        assert played.result.data == ProviderError("rate_limit", "slow down")

    def test_a_stop_while_it_leaves_shows_no_embed(self) -> None:
        late = ScriptedFault("send", 1, delay_ms=3000)
        error = play("one", OOPS, faults=[late])
        assert len(error.of("embed")) == 1

    def test_suppressed(self) -> None:
        assert play("x", OOPS, suppress_user_errors=True).of("embed") == []

    def test_no_embed_into_a_channel_that_is_gone(self) -> None:
        played = play("one", OOPS, faults=[ScriptedFault("send", 1, 10003)])
        assert played.result.status == "error"
        assert played.result.undelivered == "one"
        assert played.of("embed") == []

    def test_a_failing_embed_changes_nothing(self) -> None:
        played = play("one", OOPS, faults=[ScriptedFault("embed", 1, 50013)])
        assert played.result.status == "error"
        assert played.messages == ["one"]


class TestToolCall:
    def test_the_queue_leaves_at_once(self) -> None:
        played = play("one\ntwo\nthree", Silence(100), LOOK, degree=2)
        assert played.times == [0, 100, 100]

    def test_a_stop_before_the_text_is_visible_is_a_stop(self) -> None:
        gone = play("one\ntwo", LOOK, faults=[ScriptedFault("send", 2, 10003)])
        assert gone.result.status == "stopped_by_user"
        assert gone.result.stop_reason == "channel_unavailable"

    def test_the_response_goes_on_in_the_next_stream(self) -> None:
        response = ResponseState(key="k")
        first = play("one", LOOK, response=response, reply_to=True)
        second = play("two\nthree", response=response, reply_to=True, send_message_limit=2)
        assert first.of("message")[0]["reply"] is True
        assert second.of("message")[0]["reply"] is False
        assert second.messages == ["two"]
        assert second.result.stop_reason == "send_message_limit"
        assert [one.result.accumulated_text for one in (first, second)] == ["one", "two"]
        assert [sent.id for sent in response.messages] == [1, 1]

    def test_the_active_sprite_goes_on(self) -> None:
        persona = {"name": "T", "sprites": [{"name": "mad", "avatar_url": "https://x.test/m"}]}
        response = ResponseState(key="k")
        play("T (mad): one", LOOK, response=response, text={"persona": persona})
        second = play("two", response=response, text={"persona": persona})
        assert second.of("message")[0]["avatar_url"] == "https://x.test/m"


GUARDED = {"llm_stop_speaker_pattern_enabled": True}


class TestGuard:
    def test_what_came_before_leaves_at_its_pace(self) -> None:
        played = play("one\ntwo\nBob: three", " more\n", degree=2, text=GUARDED)
        assert played.messages == ["one", "two"]
        assert played.result.status == "stopped_by_user"
        assert played.result.stop_reason == "speaker_guard"
        assert len(played.of("typing")) == 1
        assert played.result.undelivered == ""

    def test_it_beats_a_tool_call_behind_it(self) -> None:
        played = play("one\nBob: two", LOOK, text=GUARDED)
        assert played.result.stop_reason == "speaker_guard"
        assert played.messages == ["one"]


def test_progress_hears_every_chunk_and_every_send() -> None:
    assert play("one\n", "two", Chunk("done")).progress == [
        "chunk", "chunk", "chunk", "sent", "sent",
    ]  # fmt: skip


def test_suppressed_output_is_collected() -> None:
    played = play(f"one\n{TABLE}\ntwo", suppress_text_output=True)
    assert played.sink.records == []
    assert played.result.status == "completed"
    assert played.result.accumulated_text == f"one\n{TABLE.strip()}\ntwo"
    assert played.result.undelivered == ""
    assert play(suppress_text_output=True).result.status == "empty_response"


def test_nothing_sent_at_all_is_an_error() -> None:
    played = play(
        "one\ntwo", faults=[ScriptedFault("send", 1, 200000), ScriptedFault("send", 2, 50035)]
    )
    assert played.result.status == "error"
    assert getattr(played.result.data, "code", None) == 50035
    assert played.result.undelivered == "one\ntwo"


def test_metrics() -> None:
    played = play(Silence(1000), "one\n", "two", degree=2)
    metrics = played.result.metrics
    assert (metrics.chunks, metrics.characters, metrics.messages) == (2, 7, 2)
    assert metrics.first_message_ms == 1000
    assert metrics.duration_ms - 1000 == metrics.queue_wait_ms == 750


def test_the_last_line_of_a_replay() -> None:
    record = play("one\n<details>d</details>two<think>t</think>", LOOK).result.as_record()
    assert record == {
        "kind": "result",
        "status": "function_call",
        "stop_reason": None,
        "accumulated_text": "one\ntwo",
        "thoughts": ["t"],
        "details": ["d"],
        "messages_sent": 2,
        "undelivered": "",
        "finish_reason": None,
        "data": {"name": "look", "args": {"q": 1}},
    }


def test_details_of_an_error_are_shown_without_secrets() -> None:
    leak = ProviderError("auth", "bad key sk-abcdefghijkl")
    played = play(Chunk("error", error=leak))
    assert "abcdefghijkl" not in str(played.result.as_record())
    assert "abcdefghijkl" not in str(played.sink.records)


def test_a_guard_in_the_adapter_ends_like_ours() -> None:
    played = play("Sure.\n", Chunk("done", finish_reason="speaker_guard"))
    assert played.result.status == "stopped_by_user"
    assert played.result.stop_reason == "speaker_guard"
    assert played.sink.contents == ["Sure."]
