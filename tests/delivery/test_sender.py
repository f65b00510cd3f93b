"""Recovery and exactly-once, fault by fault (spec 07), against a channel that behaves like one."""

from __future__ import annotations

import pytest

from oshaberi.delivery.outcomes import RECOVERIES, RefusalRecovery, recovery_of
from oshaberi.delivery.recording_sink import CallKind, RecordingSink, ScriptedFault, Trouble

from ..stream.scripted_streams import Played, play

ALTER = {"persona": {"name": "Ren", "is_alter": True, "avatar_url": "https://x.test/ren"}}
DOUBTS: tuple[Trouble, ...] = ("timeout", "reset_before_write", "reset_after_write", "http_503")
LINES = "one\ntwo\nthree"


def via(
    kind: CallKind, *faults: ScriptedFault, lines: str = LINES, readable: bool = True
) -> Played:
    """Three lines through the bot or through the webhook."""
    return play(
        lines,
        text=ALTER if kind == "webhook_send" else {},
        sink=lambda: RecordingSink(faults, readable=readable),
    )


@pytest.mark.parametrize("kind", ["send", "webhook_send"])
@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize("doubt", DOUBTS)
def test_one_doubt_is_cleared_up(kind: CallKind, nth: int, doubt: Trouble) -> None:
    played = via(kind, ScriptedFault(kind, nth, doubt))
    assert played.messages == ["one", "two", "three"]
    assert played.result.status == "completed"
    assert played.result.undelivered == ""


@pytest.mark.parametrize("kind", ["send", "webhook_send"])
@pytest.mark.parametrize("doubt", DOUBTS)
def test_twins_stay_two(kind: CallKind, doubt: Trouble) -> None:
    played = via(kind, ScriptedFault(kind, 2, doubt), lines="ha\nha\nha")
    assert played.messages == ["ha", "ha", "ha"]
    assert [sent.id for sent in played.response.messages] == [1, 2, 3]


@pytest.mark.parametrize("doubts", [["reset_after_write"] * 4, ["http_503"] * 4, [*DOUBTS]])
@pytest.mark.parametrize("kind", ["send", "webhook_send"])
def test_several_doubts_about_one_message(kind: CallKind, doubts: list[Trouble]) -> None:
    played = via(kind, *(ScriptedFault(kind, n, doubt) for n, doubt in enumerate(doubts, 1)))
    assert played.messages == ["one", "two", "three"]
    assert played.result.undelivered == ""


def test_the_bot_repeats_after_1_2_4_8_seconds() -> None:
    played = via("send", *(ScriptedFault("send", n, "http_503") for n in range(1, 5)))
    assert played.of("message")[0]["at_ms"] == 15_000


def test_after_90_seconds_it_gives_up() -> None:
    played = via("send", *(ScriptedFault("send", n, "http_503") for n in range(1, 50)))
    assert played.result.status == "error"
    assert 75_000 < played.result.metrics.duration_ms <= 90_000
    assert played.result.undelivered == LINES
    assert played.result.ledger.sums() == {"error": len(LINES) - 2}


def test_after_90_seconds_without_a_trace_the_bot_speaks_for_the_webhook() -> None:
    played = via(
        "webhook_send", *(ScriptedFault("webhook_send", n, "http_503") for n in range(1, 50))
    )
    assert played.messages == ["**Ren**: one", "two", "three"]
    assert played.result.status == "completed"
    assert 75_000 < played.times[0] <= 90_000
    assert [record["via"] for record in played.of("message")] == ["bot"] * 3


def test_without_history_the_bot_does_not_speak_for_the_webhook() -> None:
    faults = [ScriptedFault("webhook_send", n, "http_503") for n in range(1, 50)]
    played = via("webhook_send", *faults, readable=False)
    assert played.messages == []
    assert played.result.ledger.sums() == {"uncertain": len(LINES) - 2}


def test_a_message_that_arrived_is_found_at_last() -> None:
    """Every answer was lost, and the nonce is forgotten by then: the channel knows."""
    faults = [ScriptedFault("send", n, "reset_after_write") for n in range(1, 20)]
    played = via("send", *faults, lines="one")
    assert played.messages == ["one"]
    assert played.result.status == "completed"


def test_without_history_a_webhook_message_is_never_repeated() -> None:
    fault = ScriptedFault("webhook_send", 2, "reset_after_write")
    played = via("webhook_send", fault, readable=False)
    assert played.messages == ["one", "two", "three"]
    assert played.result.undelivered == "two"
    assert played.result.ledger.sums() == {"delivered": 8, "uncertain": 3}


@pytest.mark.parametrize("code", [10003, 50001, 50013, 50007, 50278])
@pytest.mark.parametrize("kind", ["send", "webhook_send"])
def test_the_channel_is_gone(kind: CallKind, code: int) -> None:
    played = via(kind, ScriptedFault(kind, 2, code))
    assert played.messages == ["one"]
    assert played.result.stop_reason == "channel_unavailable"
    assert played.result.undelivered == "two\nthree"


@pytest.mark.parametrize("code", [200000, 240000, 40005, 50035, 50006, 12345])
@pytest.mark.parametrize("kind", ["send", "webhook_send"])
def test_one_refused_message_is_withheld_under_its_code(kind: CallKind, code: int) -> None:
    played = via(kind, ScriptedFault(kind, 2, code))
    assert played.messages == ["one", "three"]
    assert played.result.status == "completed"
    assert played.result.undelivered == "two"
    assert played.result.ledger.sums() == {"delivered": 8, str(code): 3}


@pytest.mark.parametrize(("refused", "status"), [([2, 3], "completed"), ([2, 3, 4], "error")])
def test_three_refusals_in_a_row_are_an_error(refused: list[int], status: str) -> None:
    played = via(
        "send", *(ScriptedFault("send", n, 200000) for n in refused), lines="a\nb\nc\nd\ne"
    )
    assert played.result.status == status
    assert played.messages == (["a", "d", "e"] if status == "completed" else ["a"])


def test_two_and_one_and_two_are_not_three_in_a_row() -> None:
    faults = [ScriptedFault("send", n, 200000) for n in (1, 2, 4, 5)]
    assert via("send", *faults, lines="a\nb\nc\nd\ne").result.status == "completed"


@pytest.mark.parametrize("code", [10015, 50027])
class TestWebhookGone:
    def test_a_new_one_is_made(self, code: int) -> None:
        played = via("webhook_send", ScriptedFault("webhook_send", 2, code))
        assert played.messages == ["one", "two", "three"]
        assert {record["via"] for record in played.of("message")} == {"webhook"}

    def test_only_once_then_the_bot_speaks(self, code: int) -> None:
        faults = [ScriptedFault("webhook_send", n, code) for n in (2, 3)]
        played = via("webhook_send", *faults)
        assert [record["via"] for record in played.of("message")] == ["webhook", "bot", "bot"]
        assert played.messages == ["one", "**Ren**: two", "three"]


@pytest.mark.parametrize("error", [50013, 30007])
def test_no_webhook_to_be_had(error: int) -> None:
    played = play(
        LINES, text=ALTER, faults=[ScriptedFault("create_webhook", 1, error)], reply_to=True
    )
    assert played.messages == ["**Ren**: one", "two", "three"]
    assert played.of("reply_notice") == []
    assert [record["reply"] for record in played.of("message")] == [True, False, False]


@pytest.mark.parametrize("doubt", ["reset_before_write", "reset_after_write", "http_503"])
def test_a_doubtful_webhook_creation_is_repeated(doubt: Trouble) -> None:
    played = play(LINES, text=ALTER, faults=[ScriptedFault("create_webhook", 1, doubt)])
    assert {record["via"] for record in played.of("message")} == {"webhook"}


def test_a_reply_to_a_deleted_message_becomes_plain() -> None:
    played = play("one\ntwo", reply_to=True, faults=[ScriptedFault("send", 1, 10008)])
    assert played.messages == ["one", "two"]
    assert [record["reply"] for record in played.of("message")] == [False, False]


def test_a_known_nonce_whose_message_was_deleted_counts_as_delivered() -> None:
    faults = [ScriptedFault("send", 1, "reset_after_write"), ScriptedFault("send", 2, 10008)]
    played = play("one\ntwo", faults=faults)
    assert played.messages == ["one", "two"]
    assert played.result.undelivered == ""


@pytest.mark.parametrize("code", [20016, 20028, 429])
@pytest.mark.parametrize(
    ("after_ms", "status", "messages"),
    [
        (5000, "completed", ["one", "two"]),
        (60_000, "completed", ["one", "two"]),
        (60_001, "stopped_by_user", []),
    ],
)
def test_slow_mode(code: int, after_ms: int, status: str, messages: list[str]) -> None:
    played = play("one\ntwo", faults=[ScriptedFault("send", 1, code, retry_after_ms=after_ms)])
    assert (played.result.status, played.messages) == (status, messages)
    if messages:
        assert played.times[0] == after_ms


def test_the_reply_notice_is_tried_once_and_blocks_nothing() -> None:
    for trouble in (*DOUBTS, 10015, 50013):
        played = play(
            "one\ntwo",
            text=ALTER,
            reply_to=True,
            faults=[ScriptedFault("webhook_send", 1, trouble)],
        )
        assert played.messages == ["one", "two"], trouble
        assert len(played.of("reply_notice")) == (trouble == "reset_after_write")


def test_the_table_of_codes() -> None:
    assert recovery_of(999) is RefusalRecovery.LEAVE_OUT
    assert set(RECOVERIES.values()) == set(RefusalRecovery)


@pytest.mark.parametrize("code", [200000, 10003])
@pytest.mark.parametrize(
    ("doubt", "readable", "fate"),
    [
        ("reset_after_write", True, "delivered"),
        ("reset_after_write", False, "uncertain"),
        ("reset_before_write", True, None),
        ("reset_before_write", False, "uncertain"),
    ],
)
def test_a_refusal_after_a_doubt(code: int, doubt: Trouble, readable: bool, fate: str) -> None:
    """What the second attempt was told says nothing about the first."""
    faults = [ScriptedFault("send", 1, doubt), ScriptedFault("send", 2, code)]
    played = via("send", *faults, lines="one", readable=readable)
    refused = "channel_unavailable" if code == 10003 else str(code)
    assert [entry.fate for entry in played.result.ledger.entries] == [fate or refused]
    assert played.messages == (["one"] if doubt == "reset_after_write" else [])


def test_10008_without_a_doubt_is_an_ordinary_refusal() -> None:
    played = via("webhook_send", ScriptedFault("webhook_send", 1, 10008))
    assert played.messages == ["two", "three"]
    assert played.result.undelivered == "one"


def test_the_reply_notice_is_not_repeated_when_its_message_is_refused() -> None:
    refused = [ScriptedFault("webhook_send", 2, 200000)]  # the first is the notice itself
    played = play(LINES, text=ALTER, reply_to=True, faults=refused)
    assert played.messages == ["two", "three"]
    assert len(played.of("reply_notice")) == 1
