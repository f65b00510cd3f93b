"""Delivery rules, one by one: reply, faces, limits, notify, joining, tables, live mode."""

from __future__ import annotations

import pytest

from oshaberi.chunks import Chunk, ToolCall
from oshaberi.delivery.attachments import PackagedRenderer
from oshaberi.delivery.recording_sink import RecordingSink, ScriptedFault
from oshaberi.delivery.response import ResponseState, SentSprite
from oshaberi.render.grid import RenderUnavailableError, TooManyPicturesError
from oshaberi.stream import Silence, Stop

from ..stream.scripted_streams import FakeRenderer, play

LOOK = Chunk("function_call", calls=(ToolCall("look"),))
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n"
MAD, SHY = "https://x.test/mad", "https://x.test/shy"
TOMORI = {
    "persona": {
        "name": "Tomori",
        "sprites": [
            {"name": "mad", "avatar_url": MAD},
            {"name": "shy", "avatar_url": SHY},
            {"name": "Voice", "avatar_url": "https://x.test/v", "is_identity": True},
        ],
    }
}
ALTER = {"persona": {"name": "Ren", "is_alter": True, "avatar_url": "https://x.test/ren"}}
MANY = {"max_flush_count": 1000}


class TestFaces:
    def test_history_has_the_label_once(self) -> None:
        text = "Tomori (mad): one\ntwo\nTomori: three\nTomori (Voice): four"
        played = play(text, text=TOMORI)
        assert played.messages == ["one", "two", "three", "four"]
        assert played.result.accumulated_text == (
            "Tomori (mad): one\ntwo\nthree\nTomori (Voice): four"
        )

    def test_sprite_records_name_message_and_sprite(self) -> None:
        played = play("Tomori (mad): one\nTomori (Voice): two\nTomori: three", text=TOMORI)
        assert played.response.sprites == [SentSprite(1, "Tomori", "mad")]

    def test_a_reply_notice_precedes_the_first_webhook_message_only(self) -> None:
        played = play("Tomori (mad): one\nTomori: two", text=TOMORI, reply_to=True)
        assert [record["kind"] for record in played.sink.records] == [
            "reply_notice", "message", "message",
        ]  # fmt: skip
        assert [record["reply"] for record in played.of("message")] == [False, False]

    def test_no_notice_after_the_bot_has_replied(self) -> None:
        played = play("one\nTomori (mad): two", text=TOMORI, reply_to=True)
        assert played.of("reply_notice") == []
        assert [record["reply"] for record in played.of("message")] == [True, False]

    def test_an_alters_name_is_made_acceptable(self) -> None:
        name = {"persona": {"name": "Discord Mod " + "x" * 90, "is_alter": True}}
        username = play("hi", text=name).of("message")[0]["username"]
        assert "discord" not in username.lower()
        assert len(username) <= 80


class TestFallback:
    FAULTS = (ScriptedFault("create_webhook", 1, 30007),)

    def test_the_name_stands_in_front_once_per_run(self) -> None:
        text = "Tomori (mad): one\ntwo\nTomori (shy): three\nTomori: four\nTomori (shy): five"
        played = play(text, text=TOMORI, faults=self.FAULTS)
        assert played.messages == [
            "**Tomori**: one", "two", "**Tomori (shy)**: three", "four", "**Tomori**: five",
        ]  # fmt: skip
        assert played.response.sprites == []

    def test_not_if_it_is_the_bots_own_name(self) -> None:
        played = play(
            "Tomori (mad): one",
            text=TOMORI,
            sink=lambda: RecordingSink(self.FAULTS, display_name="Tomori"),
        )
        assert played.messages == ["one"]

    def test_a_message_of_its_own_if_it_does_not_fit(self) -> None:
        limits = {**ALTER, "max_single_message_length": 100}
        played = play("x" * 98 + "\nmore", text=limits, faults=self.FAULTS, reply_to=True)
        assert played.messages == ["**Ren**:", "x" * 98, "more"]
        assert [record["reply"] for record in played.of("message")] == [True, False, False]

    @pytest.mark.parametrize("block", ["- item", "# head", "> said", "1. one"])
    def test_blocks_keep_their_line_start(self, block: str) -> None:
        played = play(block, text=ALTER, faults=self.FAULTS)
        assert played.messages == [f"**Ren**:\n{block}"]

    def test_accumulated_text_knows_nothing_of_it(self) -> None:
        played = play("one\ntwo", text=ALTER, faults=self.FAULTS)
        assert played.result.accumulated_text == "one\ntwo"

    def test_markup_in_a_name_is_escaped(self) -> None:
        played = play(
            "hi", text={"persona": {"name": "a*b_c", "is_alter": True}}, faults=self.FAULTS
        )
        assert played.messages == [r"**a\*b\_c**: hi"]


class TestLimits:
    @pytest.mark.parametrize(("count", "status"), [(3, "completed"), (4, "stopped_by_user")])
    def test_exactly_the_limit_is_completed(self, count: int, status: str) -> None:
        text = "\n".join(letter * 90 for letter in "abcd"[:count])
        for sends, flushes in ((3, 40), (0, 3)):
            small = {"max_single_message_length": 100, "max_flush_count": flushes}
            played = play(text, text=small, send_message_limit=sends)
            assert played.result.status == status
            assert len(played.messages) == 3

    def test_the_flush_limit_shows_one_embed_the_other_none(self) -> None:
        long = "\n".join("x" * 1900 for _ in range(5))
        flushed = play(long, text={"max_flush_count": 2})
        assert flushed.result.stop_reason == "flush_limit"
        assert len(flushed.of("embed")) == 1
        limited = play(long, send_message_limit=2)
        assert limited.result.stop_reason == "send_message_limit"
        assert limited.of("embed") == []

    def test_files_count_embeds_and_notices_do_not(self) -> None:
        played = play(f"Here:\n{TABLE}\nend", text=ALTER, reply_to=True, send_message_limit=2)
        assert [record["kind"] for record in played.sink.records] == [
            "reply_notice", "message", "file",
        ]  # fmt: skip
        assert played.result.undelivered == "end"

    def test_nothing_but_the_end_of_text_is_missing(self) -> None:
        played = play("a1\nb2\n", "c3\nd4\n", "e5", send_message_limit=2)
        assert played.result.undelivered == "c3\nd4\ne5"

    def test_refused_messages_do_not_count(self) -> None:
        played = play("a\nb\nc", send_message_limit=2, faults=[ScriptedFault("send", 1, 200000)])
        assert (played.messages, played.result.status) == (["b", "c"], "completed")

    def test_the_rest_as_a_file(self) -> None:
        lines = [letter * 1900 for letter in "abcde"]
        played = play("\n".join(lines), text={"max_flush_count": 2}, on_limit="file")
        assert [record["kind"] for record in played.sink.records] == [
            "message", "message", "embed", "file",
        ]  # fmt: skip
        assert played.of("file")[0]["source"] == "\n".join(lines[2:])
        assert played.result.status == "completed"
        assert played.result.undelivered == ""
        assert played.result.accumulated_text == "\n".join(lines)
        assert played.response.attached == "\n".join(lines[2:])

    def test_a_rest_that_is_too_long_is_cut(self) -> None:
        lines = [f"{n:02}" + "x" * 1900 for n in range(20)]
        played = play("\n".join(lines), text={"max_flush_count": 2}, on_limit="file")
        attached = played.of("file")[0]["source"].split("\n")
        assert attached == lines[2:15]
        assert played.result.stop_reason == "flush_limit"
        assert played.result.undelivered == "\n".join(lines[15:])

    def test_a_stop_keeps_the_rest_back(self) -> None:
        lines = [letter * 1900 for letter in "abcde"]
        limits = {"max_flush_count": 2}
        played = play("\n".join(lines), Stop("1"), text=limits, on_limit="file")
        assert played.of("file") == []
        assert played.result.undelivered == "\n".join(lines[2:])


class TestNotify:
    @pytest.mark.parametrize(
        ("notify", "silent"),
        [("all", [0, 0, 0]), ("first", [0, 1, 1]), ("last", [1, 1, 0])],
    )
    def test_who_may_notify(self, notify: str, silent: list[int]) -> None:
        played = play("one\ntwo\nthree", notify=notify)
        assert [posted.post.silent for posted in played.sink.posted] == list(map(bool, silent))

    def test_the_newest_is_held_until_another_follows(self) -> None:
        played = play("one\ntwo\n", Silence(5000), "three\n", Silence(5000), notify="last")
        assert played.times == [5000, 10_000, 10_000]

    def test_a_tool_call_releases_it_quietly(self) -> None:
        response = ResponseState(key="k")
        first = play("one", LOOK, notify="last", response=response)
        second = play("two", notify="last", response=response)
        assert [p.post.silent for p in (*first.sink.posted, *second.sink.posted)] == [True, False]

    @pytest.mark.parametrize("degree", [1, 2])
    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("one\ntwo\nAnd", ["one", "two"]),
            ("one\ntwo\nthree.", ["one", "two\nthree."]),
            ("one\ntwo\n", ["one\ntwo"]),
            ("one\nTwo. And", ["one\nTwo."]),
            (f"one\n{TABLE}\ntwo.", ["one", "```\na b\n```\n```\n1 2\n```\ntwo."]),
        ],
    )
    def test_a_stop_releases_it(self, text: str, said: list[str], degree: int) -> None:
        played = play(text, Silence(6000), Stop("1"), notify="last", degree=degree)
        assert played.messages == said
        assert [posted.post.silent for posted in played.sink.posted][-1] is False
        assert played.result.undelivered == ("And" if "And" in text else "")
        assert played.result.ledger.problems() == []

    def test_a_stop_does_not_release_a_queue(self) -> None:
        played = play("a\nb\nc\nd", Silence(100), Stop("1"), notify="last", degree=2)
        assert played.messages == ["a"]
        assert played.result.undelivered == "b\nc\nd"

    def test_the_last_one_before_the_limit_notifies(self) -> None:
        played = play("a\nb\nc\nd", notify="last", send_message_limit=2)
        assert [posted.post.silent for posted in played.sink.posted] == [True, False]

    def test_suppressed_previews(self) -> None:
        played = play("https://x.test", suppress_embeds=True)
        assert played.sink.posted[0].post.suppress_embeds


class TestJoining:
    def test_neighbours_share_a_message_when_the_sink_was_blocked(self) -> None:
        played = play("a\nb\nc\nd", faults=[ScriptedFault("send", 1, delay_ms=1500)])
        assert played.messages == ["a", "b\nc\nd"]
        assert played.result.accumulated_text == "a\nb\nc\nd"
        assert [entry.message_id for entry in played.result.ledger.entries] == [1, 2, 2, 2]

    @pytest.mark.parametrize(
        ("text", "delay_ms"),
        [("a\nb\nc", 1500), ("a\nb\nc\nd", 1000)],
        ids=["two waiting", "one second"],
    )
    def test_but_not_sooner(self, text: str, delay_ms: int) -> None:
        played = play(text, faults=[ScriptedFault("send", 1, delay_ms=delay_ms)])
        assert played.messages == text.split("\n")

    def test_pacing_is_not_being_blocked(self) -> None:
        assert len(play("a\nb\nc\nd\ne", degree=2).messages) == 5

    def test_not_code_emoji_or_tables(self) -> None:
        soup = "<:soup:111111111111111111>"
        text = f"a\nb\nc\n```\nx\n```\nd\n{soup}\ne\nf\n{TABLE}\ng\nh"
        late = [ScriptedFault("send", 1, delay_ms=1500)]
        played = play(text, faults=late, text={"emojis": [soup]})
        assert played.messages == ["a", "b\nc", "```\nx\n```", "d", soup, "e\nf", "g\nh"]

    def test_not_over_the_limit(self) -> None:
        lines = ["a", "b" * 1000, "c" * 900, "d" * 60]
        played = play("\n".join(lines), faults=[ScriptedFault("send", 1, delay_ms=1500)])
        assert played.messages == ["a", "b" * 1000 + "\n" + "c" * 900, "d" * 60]

    def test_not_across_faces(self) -> None:
        text = "a\nb\nTomori (mad): c\nTomori (mad): d\nTomori: e"
        played = play(text, text=TOMORI, faults=[ScriptedFault("send", 1, delay_ms=1500)])
        assert played.messages == ["a", "b", "c\nd", "e"]
        assert played.result.accumulated_text == "a\nb\nTomori (mad): c\nTomori (mad): d\ne"

    def test_retries_block_too(self) -> None:
        faults = [ScriptedFault("send", n, "http_503") for n in (2, 3)]
        played = play("a\nb\nc\nd\ne", faults=faults)
        assert played.messages == ["a", "b", "c\nd\ne"]


class TestTables:
    def test_a_picture_in_its_place(self) -> None:
        played = play(f"Here:\n{TABLE}\nDone\n{TABLE}", text=TOMORI)
        assert [record["kind"] for record in played.sink.records] == [
            "message", "file", "message", "file",
        ]  # fmt: skip
        assert played.of("file")[1] == {
            "kind": "file",
            "name": "table-2.png",
            "bytes": 3,
            "width": 20,
            "height": 20,
            "source": TABLE.strip(),
            "alt": "a, b",
            "via": "bot",
            "at_ms": 0,
        }
        assert played.result.accumulated_text == f"Here:\n{TABLE.strip()}\nDone\n{TABLE.strip()}"

    @pytest.mark.parametrize("error", [RenderUnavailableError(), ZeroDivisionError()])
    def test_no_picture_to_be_had(self, error: Exception, caplog: pytest.LogCaptureFixture) -> None:
        played = play(f"{TABLE}\nend", renderer=FakeRenderer(error))
        assert played.messages == ["```\na b\n```", "```\n1 2\n```", "end"]
        assert played.result.accumulated_text == f"{TABLE.strip()}\nend"
        assert bool(caplog.records) is isinstance(error, ZeroDivisionError)

    def test_switched_off(self) -> None:
        assert len(play(TABLE, render_tables=False).messages) == 2

    @pytest.mark.parametrize("code", [40005, 50013])
    def test_pictures_are_not_wanted(self, code: int) -> None:
        played = play(f"{TABLE}\nend", faults=[ScriptedFault("file", 1, code)])
        assert played.messages == ["```\na b\n```", "```\n1 2\n```", "end"]
        assert played.result.status == "completed"

    @pytest.mark.parametrize("nth", [1, 2])
    def test_as_code_it_is_delivered_only_as_a_whole(self, nth: int) -> None:
        played = play(
            f"{TABLE}\nend", render_tables=False, faults=[ScriptedFault("send", nth, 200000)]
        )
        assert len(played.messages) == 2
        assert played.result.undelivered == TABLE.strip()
        assert played.result.accumulated_text == "end"

    @pytest.mark.parametrize("rows", [170, 2400])
    def test_a_table_of_very_many_rows_is_one_file(self, rows: int) -> None:
        table = "| n | v |\n|---|---|\n" + "".join(f"|{n}|x|\n" for n in range(rows))
        text = {"flush_buffer_size_code_block": 60_000}
        played = play(f"Here:\n{table}\nend", text=text, renderer=PackagedRenderer())
        kinds = [record["kind"] for record in played.sink.records]
        assert kinds == ["message", "file", "message"]
        (file,) = played.of("file")
        assert (file["name"], file["width"]) == ("table-1.md", 0)
        assert file["source"] == table.strip()
        assert file["bytes"] == len(table.encode())
        assert file["alt"].endswith(")")  # so many rows are not told
        assert len(file["alt"]) <= 1024
        assert played.result.accumulated_text == f"Here:\n{table.strip()}\nend"
        assert played.result.undelivered == ""

    def test_a_long_table_is_still_drawn(self) -> None:
        table = "| n | v |\n|---|---|\n" + "".join(f"|{n}|x|\n" for n in range(100))
        played = play(table, renderer=PackagedRenderer())
        assert 1 < len(played.of("file")) <= 6
        assert {file["name"].rpartition(".")[2] for file in played.of("file")} == {"png"}

    @pytest.mark.parametrize("is_drawn", [True, False])
    def test_nor_is_it_a_hundred_messages_of_code(self, is_drawn: bool) -> None:
        table = TABLE.strip() + "\n| 3 | 4 |" * 100
        renderer = FakeRenderer(RenderUnavailableError())
        played = play(f"{table}\nend", render_tables=is_drawn, renderer=renderer)
        assert played.messages == ["end"]
        assert [file["source"] for file in played.of("file")] == [table]

    def test_where_files_are_not_wanted_it_is_code_after_all(self) -> None:
        table = TABLE.strip() + "\n| 3 | 4 |" * 20
        renderer = FakeRenderer(TooManyPicturesError())
        played = play(table, renderer=renderer, faults=[ScriptedFault("file", 1, 50013)])
        assert len(played.messages) == 22
        assert played.result.undelivered == ""

    def test_a_lost_answer_does_not_double_it(self) -> None:
        for text in ({}, ALTER):
            played = play(TABLE, text=text, faults=[ScriptedFault("file", 1, "reset_after_write")])
            assert len(played.of("file")) == 1
            assert played.result.status == "completed"

    def test_a_stop_reports_the_source(self) -> None:
        played = play(f"one\n{TABLE}\ntwo", Stop("1"), degree=2)
        assert played.messages == ["one"]
        assert played.result.undelivered == f"{TABLE.strip()}\ntwo"


class TestLive:
    def test_the_last_message_grows_once_a_second(self) -> None:
        played = play("a\nb\n.", Silence(300), "c\nd", Silence(5000), "e\nf", delivery="live")
        assert played.messages == ["a\nb\n.c\nde\nf"]
        assert [record["at_ms"] for record in played.of("edit")] == [1000, 5300, 6300]
        assert played.of("edit")[0]["content"] == "a\nb\n.c"
        assert played.of("typing") == []
        assert played.result.accumulated_text == "a\nb\n.c\nde\nf"
        assert played.result.metrics.messages == 1

    def test_a_new_message_when_it_is_half_full(self) -> None:
        lines = [letter * 600 for letter in "abcde"]
        played = play("\n".join(lines), delivery="live")
        assert played.messages == ["\n".join(lines[:2]), "\n".join(lines[2:4]), lines[4]]

    def test_when_messages_are_few_they_are_filled(self) -> None:
        lines = [letter * 600 for letter in "abcdef"]
        played = play("\n".join(lines), delivery="live", text={"max_flush_count": 2})
        assert played.messages == ["\n".join(lines[:3]), "\n".join(lines[3:])]
        assert played.result.status == "completed"

    def test_what_has_to_stand_by_itself(self) -> None:
        known = [{"name": "al", "kind": "user", "id": "1234567890123456789"}]
        text = f"a\nb\nhey @al\nc\n{TABLE}\nd\ne"
        played = play(text, delivery="live", text={"known": known})
        assert played.messages == ["a\nb", "hey <@1234567890123456789>\nc", "d\ne"]
        assert len(played.of("file")) == 1

    def test_another_face_begins_anew(self) -> None:
        played = play("a\nb\nTomori (mad): c\nd\nTomori: e", text=TOMORI, delivery="live")
        assert played.messages == ["a\nb", "c\nd", "e"]
        assert [record["via"] for record in played.of("message")] == ["bot", "webhook", "bot"]

    def test_nothing_joins_an_open_quote(self) -> None:
        played = play(">>> a\nb\n\nc\nd", delivery="live")
        assert played.messages[-1] == "c\nd"

    def test_a_stop_allows_one_closing_edit(self) -> None:
        played = play("a\nb\nDone.", Silence(100), Stop("1"), delivery="live")
        assert played.messages == ["a\nb\nDone."]
        assert [record["at_ms"] for record in played.of("edit")] == [100]

    @pytest.mark.parametrize("trouble", ["reset_after_write", "reset_before_write", "timeout"])
    def test_a_doubtful_edit_is_repeated(self, trouble: str) -> None:
        fault = ScriptedFault("edit", 1, trouble)  # type: ignore[arg-type]
        played = play("a\nb", delivery="live", faults=[fault])
        assert played.messages == ["a\nb"]
        assert played.result.undelivered == ""

    @pytest.mark.parametrize("code", [10008, 30046, 10015])
    def test_a_message_that_is_gone_is_continued_in_a_new_one(self, code: int) -> None:
        played = play("a\nb\nc", delivery="live", faults=[ScriptedFault("edit", 1, code)])
        assert played.messages == ["a", "b\nc"]

    def test_a_refused_edit_withholds_its_text_alone(self) -> None:
        """First the edit that shows it unfinished, then the finished one."""
        refusals = [ScriptedFault("edit", nth, 200000) for nth in (1, 2)]
        played = play("a\nb\n", Silence(3000), "c", delivery="live", faults=refusals)
        assert played.messages == ["a\nc"]
        assert played.result.undelivered == "b"

    def test_the_channel_is_gone(self) -> None:
        played = play("a\nb\nc", delivery="live", faults=[ScriptedFault("edit", 1, 50001)])
        assert played.result.stop_reason == "channel_unavailable"
        assert played.result.undelivered == "b\nc"

    def test_edits_do_not_count_as_messages(self) -> None:
        played = play("a\nb\nc\nd", delivery="live", send_message_limit=1)
        assert played.result.status == "completed"


def test_first_url_and_ids_of_the_whole_response() -> None:
    played = play(f"one\n{TABLE}\ntwo")
    assert played.response.first_url == "https://discord.test/channels/1/1/1"
    assert played.result.thought_log.first_reply_url == played.response.first_url
    assert [sent.id for sent in played.response.messages] == [1, 2, 3]


def test_the_lines_of_a_replay() -> None:
    played = play("one\ntwo", degree=2, reply_to=True)
    typing, message = played.sink.records[1:]
    assert played.sink.records[0] == {
        "kind": "message",
        "id": 1,
        "content": "one",
        "via": "bot",
        "username": None,
        "avatar_url": None,
        "reply": True,
        "at_ms": 0,
    }
    assert list(typing) == ["kind", "ms", "at_ms"]
    assert message["at_ms"] == typing["at_ms"] + typing["ms"]


def test_a_closing_flush_whose_messages_were_joined_meanwhile(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Degree 0: the first was answered late, so those behind it share a message."""
    lines = ("one\n", "Tomori (mad): two\n", "three\n", "four\n")
    played = play(
        *lines, Stop("1"), degree=0, text=TOMORI, faults=[ScriptedFault("send", 1, "timeout")]
    )
    assert "fault of ours" not in caplog.text
    assert played.result.status == "stopped_by_user"
    assert (played.messages, played.result.undelivered) == (["two\nthree\nfour"], "one")
