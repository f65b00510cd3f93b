"""Live mode while the text is not finished: what is shown when, and how it is made right."""

from __future__ import annotations

from typing import Any

import pytest

from oshaberi import TextEngine
from oshaberi.delivery.recording_sink import RecordingSink, ScriptedFault
from oshaberi.stream import FollowUp, Silence, Stop

from ..stream.scripted_streams import Played, play

BEGIN = "Once upon a time there was a "
ALTER = {"persona": {"name": "Ren", "is_alter": True, "avatar_url": "https://x.test/ren"}}
TOMORI = {
    "persona": {"name": "Tomori", "sprites": [{"name": "mad", "avatar_url": "https://x.test/mad"}]}
}


def live(*steps: Any, **more: Any) -> Played:
    return play(*steps, delivery="live", **more)


def told(played: Played) -> list[tuple[str, int, str]]:
    """Everything that reached the channel: what, when, and the text."""
    kinds = ("message", "edit", "delete")
    found = [record for record in played.sink.records if record["kind"] in kinds]
    return [(r["kind"], r["at_ms"], r.get("content", "")) for r in found]


def test_the_line_grows_at_most_once_a_second_by_whole_words() -> None:
    words = [step for n in range(12) for step in (f"word{n} half", Silence(250), f"{n}", " ")]
    played = live(BEGIN, *words)
    times = [at for _, at, _ in told(played)]
    assert times == [0, 1000, 2000, 3000, 4000]
    shown = [text for _, _, text in told(played)]
    assert [text.split()[-1] for text in shown] == ["word0", "word3", "word7", "word11", "half11"]
    assert played.result.metrics.messages == 1


def test_finished_text_replaces_what_was_shown() -> None:
    played = live(BEGIN, "*lit", Silence(1500), "tle fox", Silence(100), "*\nIt was happy.")
    assert [(kind, at) for kind, at, _ in told(played)] == [
        ("message", 0),
        ("edit", 1500),
        ("edit", 2500),
    ]
    assert told(played)[1][2] == "Once upon a time there was a *little*"
    assert played.messages == ["Once upon a time there was a *little fox*\nIt was happy."]


def test_open_markup_is_closed() -> None:
    played = live("He said **something really (very) strange ", Silence(100), "today** to me.")
    assert told(played)[0][2] == "He said **something really (very) strange**"


def test_nothing_is_shown_that_may_be_a_name() -> None:
    played = live("Tomori ", Silence(3000), "(mad", Silence(3000), "): go away", text=TOMORI)
    assert [(kind, text) for kind, _, text in told(played)] == [("message", "go away")]


def test_a_table_is_not_shown_before_it_is_known() -> None:
    steps = ["Animals: ", "name | age", Silence(2000), "\n---|---", Silence(2000), "\nfox | 3\n"]
    played = live(*steps)
    assert told(played) == []
    assert len(played.of("file")) == 1


def test_code_is_shown_with_its_fence_closed() -> None:
    played = live("```py\nx = 1\n", "y = ", Silence(1500), "2\n```")
    assert told(played) == [
        ("message", 0, "```py\nx = 1\ny =\n```"),
        ("edit", 1500, "```py\nx = 1\ny = 2\n```"),
    ]


def test_a_thought_is_never_shown() -> None:
    steps = [BEGIN, "<think>what was it again, ", Silence(2000), "a fox?</think>", "little fox."]
    played = live(*steps)
    assert played.messages == [f"{BEGIN}little fox."]
    assert not any("again" in text for _, _, text in told(played))


def test_a_message_that_has_no_room_is_put_right_before_the_next_begins() -> None:
    first, begun = "f" * 40, "This line is going to be "
    steps = [f"{first}\n{begun}", Silence(1500), "much too long for the other message."]
    played = live(*steps, text={"max_single_message_length": 100})
    assert [text for _, _, text in told(played)][:4] == [
        first,
        f"{first}\n{begun.strip()}",
        first,
        f"{begun}much too long for the other message.",
    ]


@pytest.mark.parametrize("line", ["Some more words about the wood. ", "- a fox in the wood\n"])
def test_nothing_is_taken_away_that_was_shown(line: str) -> None:
    text = "".join(f"{n} {line}" if n % 30 else f"\n\n{line}" for n in range(1, 200))
    played = live(*(step for word in text.split(" ") for step in (f"{word} ", Silence(20))))
    shown: dict[str, str] = {}
    for record in played.sink.records:
        assert record["kind"] != "delete"
        if record["kind"] in ("message", "edit"):
            content = record["content"]
            assert content.startswith(shown.get(record["id"], ""))
            shown[record["id"]] = content
    assert len(shown) > 3


def test_a_mention_has_to_notify_so_what_was_shown_goes() -> None:
    known = [{"name": "al", "kind": "user", "id": "1234567890123456789"}]
    steps = ["You should have asked somebody like ", Silence(1500), "@al, who knows."]
    played = live(*steps, text={"known": known}, reply_to=True)
    assert [kind for kind, _, _ in told(played)] == ["message", "delete", "message"]
    assert [record["reply"] for record in played.of("message")] == [True, True]
    assert played.result.metrics.messages == len(played.response.messages) == 1
    assert played.response.first_url == "https://discord.test/channels/1/1/2"


def test_a_stop_allows_one_closing_edit() -> None:
    played = live(BEGIN, Silence(1500), "little fo", Silence(100), Stop("1"))
    assert told(played)[1:] == [
        ("edit", 1500, f"{BEGIN}little"),
        ("edit", 1600, f"{BEGIN}little fo"),
    ]
    assert played.result.undelivered == ""


@pytest.mark.parametrize("before", ["", "It was a fox.\n"])
def test_a_follow_up_takes_back_what_was_shown(before: str) -> None:
    played = live(before + BEGIN, Silence(1500), "little", Silence(100), FollowUp("1"))
    assert played.result.status == "follow_up_interrupt"
    assert played.messages == ([before.strip()] if before else [])
    assert told(played)[-1][:2] == ("edit" if before else "delete", 1600)
    assert played.result.undelivered == f"{BEGIN}little"
    assert len(played.response.messages) == len(played.messages)


def test_the_same_message_is_not_begun_over_the_limit() -> None:
    steps = ["one\n", "```\n1\n```\n", BEGIN * 5, Silence(2000), BEGIN * 5]
    limits = {"max_single_message_length": 100}
    played = live(*steps, send_message_limit=1, text=limits)
    assert len(played.of("message")) == 1
    assert played.result.stop_reason == "send_message_limit"


def test_through_the_webhook_with_one_reply_notice() -> None:
    played = live(BEGIN, Silence(1500), "little fox.", text=ALTER, reply_to=True)
    assert played.messages == [f"{BEGIN}little fox."]
    assert len(played.of("reply_notice")) == 1
    assert played.of("message")[0]["via"] == "webhook"


def test_without_a_webhook_nothing_unfinished_is_shown() -> None:
    fault = ScriptedFault("create_webhook", 1, 50013)
    played = live(BEGIN, Silence(1500), "little fox.", text=ALTER, faults=[fault])
    assert told(played) == [("message", 1500, f"**Ren**: {BEGIN}little fox.")]


def test_what_is_refused_unfinished_may_pass_when_it_is_finished() -> None:
    faults = [ScriptedFault("send", 1, 200000)]
    played = live(BEGIN, Silence(1500), "little", Silence(1500), " fox.", faults=faults)
    assert told(played) == [("message", 3000, f"{BEGIN}little fox.")]
    assert played.result.status == "completed"


def test_a_finished_text_that_is_refused_does_not_stay_half() -> None:
    faults = [ScriptedFault("edit", 1, 200000)]
    played = live(BEGIN, Silence(1500), "bad\nok", faults=faults)
    assert played.messages == ["ok"]
    assert played.result.undelivered == f"{BEGIN}bad"


def test_a_doubtful_beginning_is_not_said_twice() -> None:
    faults = [ScriptedFault("webhook_send", 1, "reset_after_write")]
    played = live(
        BEGIN,
        Silence(2500),
        "little fox.\nIt was happy.",
        text=ALTER,
        sink=lambda: RecordingSink(faults, readable=False),
    )
    assert played.messages == [BEGIN.strip(), "It was happy."]
    assert [entry.fate for entry in played.result.ledger.entries] == ["uncertain", "delivered"]


@pytest.mark.parametrize(
    ("end", "status"), [(Stop("1"), "stopped_by_user"), (FollowUp("1"), "follow_up_interrupt")]
)
def test_a_beginning_that_may_have_arrived_is_told_at_a_stop(end: Any, status: str) -> None:
    faults = [ScriptedFault("send", 1, "reset_after_write")]
    played = live(BEGIN, Silence(100), end, faults=faults)
    assert played.result.status == status
    assert played.messages == [BEGIN.strip()]
    assert [entry.fate for entry in played.result.ledger.entries] == ["uncertain"]
    assert played.result.undelivered == BEGIN.strip()


@pytest.mark.parametrize("degree", range(4))
def test_what_is_to_notify_at_the_end_is_sent_complete(degree: int) -> None:
    played = live(BEGIN, Silence(3000), "little fox.", degree=degree, notify="last")
    assert [kind for kind, *_ in told(played)] == ["message"]
    assert played.times == [3000]


def test_an_aggregated_answer_grows_too() -> None:
    """Its first message does. Where the others are cut is decided at the end."""
    lines = [f"This is line {number} of a long answer." for number in range(60)]
    steps = [step for line in lines for step in (f"{line}\n", Silence(500))]
    played = live(*steps, degree=0)
    aggregated = play(*steps, degree=0)
    assert len(aggregated.messages) == 2
    assert played.messages == aggregated.messages
    first, second = played.times
    assert (first, second) == (0, 30_000)
    assert len([kind for kind, at, _ in told(played) if kind == "edit" and at < 20_000]) > 10


def test_a_fault_of_the_preview_costs_only_the_preview(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_engine: TextEngine) -> None:
        raise ValueError("no")

    monkeypatch.setattr(TextEngine, "preview", fail)
    played = live(BEGIN, Silence(3000), "little fox.")
    assert told(played) == [("message", 3000, f"{BEGIN}little fox.")]
    assert "could not be shown" in caplog.text


@pytest.mark.parametrize("degree", range(4))
def test_what_is_to_notify_at_the_end_notifies_though_it_has_many_lines(degree: int) -> None:
    lines = [step for n in range(4) for step in (f"This is line {n} of it\n", Silence(2000))]
    played = live(*lines, degree=degree, notify="last")
    assert [kind for kind, *_ in told(played)] == ["message"]
    assert [posted.post.silent for posted in played.sink.posted] == [False]
    assert played.messages == live(*lines, degree=degree).messages


def test_only_the_last_of_several_full_messages_notifies() -> None:
    lines = [f"This is line {number} of a long answer.\n" for number in range(120)]
    played = live(*lines, degree=1, notify="last", text={"max_flush_count": 1000})
    silent = [posted.post.silent for posted in played.sink.posted]
    assert len(silent) > 1
    assert silent == [True] * (len(silent) - 1) + [False]
    assert all(kind == "message" for kind, *_ in told(played))
