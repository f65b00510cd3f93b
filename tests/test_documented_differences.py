"""Decision 16: each difference from TomoriBot's documents has a reason, and is as it says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from oshaberi import TextConfig, TextEngine
from oshaberi.bot.config import DECLARED
from oshaberi.bot.conversation.turn_config import TurnConfig
from oshaberi.delivery.recording_sink import ScriptedFault
from oshaberi.events import Message
from oshaberi.providers import connect
from oshaberi.providers.model_options import OPTIONS
from oshaberi.stream import Silence, Step, Stop
from tests.delivery.limited_sink import LimitedSink
from tests.stream.scripted_streams import play
from tests.turns.turn_harness import TurnHarness, run_turns
from tests.turns.turn_harness import text as said

RECORD = (
    Path(__file__).parents[1] / "docs/decisions/0016-where-we-differ-from-tomoribots-documents.md"
)
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in RECORD.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| theirs")
]
THEIRS: dict[str, Any] = tomllib.loads(
    "\n".join(found[1] for row in ROWS if (found := re.match(r"`(.+?)`", row[3])))
)
"""The settings of the table that give their way, with the values that are written there."""
SOUP = {"emojis": ("<:soup:111111111111111111>", "<:xdd:222222222222222222>")}
REN: dict[str, Any] = {"known": ({"name": "Ren", "kind": "persona"},)}
REN_HERE: dict[str, Any] = {"known": ({"name": "Ren", "kind": "persona", "takes_part": True},)}
TABLE = "| a | b |\n| --- | --- |\n| 1 | 2 |"
BS = " ".join("b" * 74)
TOMORI: dict[str, Any] = {"persona": {"name": "Tomori", "aliases": ("Lilya",)}}
GUARD = {"llm_stop_speaker_pattern_enabled": True}
KNOWN_GUARD = {"registered_speaker_guard_enabled": True}
RESERVED = ("Assistant", "User", "Human", "System")
MAD = {"name": "mad", "avatar_url": "https://x.test/mad"}


def messages(text: str, degree: int = 1, **settings: Any) -> list[str]:
    engine = TextEngine(TextConfig(humanizer_degree=degree, **settings))
    events = [*engine.feed(text), *engine.finish()]
    return [event.text for event in events if isinstance(event, Message)]


def test_every_difference_has_a_reason() -> None:
    assert len(ROWS) > 30
    assert [row for row in ROWS if len(row) != 4 or not row[1] or not row[2]] == []


def test_their_way_is_a_setting() -> None:
    assert len(THEIRS) == len([row for row in ROWS if row[3] != "–"]) == 8
    assert [name for name in THEIRS if name not in DECLARED and name not in OPTIONS] == []


def theirs(name: str) -> dict[str, Any]:
    return {name: THEIRS[name]}


@pytest.mark.parametrize(
    ("text", "our_messages", "their_messages", "setting", "settings"),
    [
        ("- a\n- b", ["- a\n- b"], ["- a", "- b"], "paragraph_mode", {}),
        ("> a\n> b", ["> a\n> b"], ["> a", "> b"], "paragraph_mode", {}),
        ("o\n# a\nb\nc", ["o", "# a\nb", "c"], ["o", "# a", "b", "c"], "paragraph_mode", {}),
        (
            f"(a\n{'b' * 600}\nc)\nd",
            ["(a", "b" * 600, "c)", "d"],
            [f"(a\n{'b' * 600}\nc)", "d"],
            "hold_limit",
            {},
        ),
        *(
            (f"hi\n{line}", ["hi", line], ["hi"], "registered_speaker_guard_enabled", known)
            for line, known in [("Ren: hello", REN), ("Ren: 3", REN_HERE)]
        ),
    ],
)
def test_both_ways(
    text: str,
    our_messages: list[str],
    their_messages: list[str],
    setting: str,
    settings: dict[str, Any],
) -> None:
    assert messages(text, **settings) == our_messages
    assert messages(text, **settings, **theirs(setting)) == their_messages


def test_a_long_answer_is_packed_or_has_one_message_per_line() -> None:
    lines = [f"This is line {number}." for number in range(499)]
    half = TextConfig().max_flush_count // 2
    packed = messages("\n".join(lines[:60]))
    assert packed == [*lines[: half - 1], "\n".join(lines[half - 1 : 60])]
    assert messages("\n".join(lines), **theirs("max_flush_count")) == lines


@pytest.mark.parametrize(
    ("settings", "took_ms"), [({}, 4000), (theirs("max_backlog_ms"), 11_250)], ids=["ours", "their"]
)
def test_waits_are_limited_or_add_up(settings: dict[str, Any], took_ms: int) -> None:
    text = "\n".join(["A line of words."] * 16)
    played = play(text, degree=2, thinking_pause_chance=0.0, **settings)
    assert played.times[-1] == pytest.approx(took_ms, abs=500)


@pytest.mark.parametrize(
    ("settings", "count"),
    [({}, 5), (theirs("join_when_blocked"), 8)],
    ids=["ours", "their"],
)
def test_lines_beyond_the_rate_limit_are_joined_or_wait(
    settings: dict[str, Any], count: int
) -> None:
    text = "\n".join(f"line {number}" for number in range(8))
    played = play(text, degree=1, sink=LimitedSink, **settings)
    assert len(played.messages) == count
    assert "\n".join(played.messages) == text


@pytest.mark.parametrize(
    ("settings", "message"),
    [({}, "ha ha ha ha ha ha"), (theirs("reemits"), "ha ha ha")],
    ids=["ours", "their"],
)
def test_a_repetition_is_kept_or_cut(settings: dict[str, Any], message: str) -> None:
    model = connect("ollama", "a-model", **settings)
    played = play("ha ha ha ", "ha ha ha ", reemits=model.reemits)
    assert played.messages == [message]


@pytest.mark.parametrize(
    ("settings", "server_id", "is_reply"),
    [
        ({}, 7, [False, False]),
        (theirs("reply_mode"), 7, [True, False]),
        (theirs("reply_mode"), 0, [False, False]),
    ],
    ids=["ours", "their", "their, in direct messages"],
)
def test_the_first_message_replies_or_not(
    settings: dict[str, Any], server_id: int, is_reply: list[bool]
) -> None:
    async def scenario(harness: TurnHarness) -> None:
        await harness.hear("hi")
        await harness.channel_turns.idle()
        posted = harness.turn_channel.channel.posted
        assert [one.post.reply for one in posted] == is_reply

    turn = {"reply_mode": TurnConfig().reply_mode, **settings}
    run_turns(scenario, [said("a\nb")], turn=turn, turn_channel={"server_id": server_id})


@pytest.mark.parametrize(
    ("text", "found", "settings"),
    [
        ("- a\n  - b\n- c", ["- a\n  - b", "- c"], {"paragraph_mode": "lines"}),
        ("a\n- b\n- c", ["a\n\n- b\n- c"], {"degree": 0}),
        ("a\n> b\n> c\n-# d\n-# e", ["a\n\n> b\n> c\n\n-# d\n-# e"], {"degree": 0}),
        ("(a\nb\n\nc)", ["(a", "b", "c)"], {}),
        ("(a\nb\n```\nc\n```\nd)", ["(a", "b", "```\nc\n```", "d)"], {}),
        (f"(a\nb\n{TABLE}\nc)", ["(a", "b", "c)"], {}),
        (f"{'a ' * 450}({'b ' * 200}b) c", [("a " * 450).strip(), f"({'b ' * 200}b) c"], {}),
        ("(a\nb\n(c", ["(a", "b", "(c)"], {}),
        ("see http:\nnext", ["see http:", "next"], {}),
        (":soup: :xdd:", ["<:soup:111111111111111111>", "<:xdd:222222222222222222>"], SOUP),
        ("a\n?!?!\nb", ["a?!?!", "b"], {}),
        ("a\n...\nb", ["a", "...b"], {}),
        ("a\n…", ["a…"], {}),
        ("```\na\n```\n…", ["```\na\n```"], {}),
        (f"{TABLE}\n…", [], {}),
        ("…", ["…"], {}),
        ("a\n..\nb", ["a..", "b"], {}),
        ("```\na\n```\n..", ["```\na\n```"], {}),
        (f"{TABLE}\n.\nb", ["b"], {}),
        ("..", [".."], {}),
        (
            f"{'a ' * 900}__{'b ' * 99}b__",
            [f"{'a ' * 900}__{BS}", f"{'b ' * 25}b__"],
            {"degree": 0},
        ),
        ("```html\n<think>a</think>\n```", ["```html\n<think>a</think>\n```"], {}),
        ("hi :smile: :nothing:", ["hi 😄"], SOUP),
        ("hi :smile: :nothing:", ["hi 😄 :nothing:"], {}),
        ("a\n---\nb<br>c", ["a", "b", "c"], {}),
        ("Ren: hi\nNote: a\nStep 1: b\nRen: c", ["Ren: hi", "Note: a", "Step 1: b"], GUARD),
        *((f"hi\n{name}: a", ["hi"], KNOWN_GUARD) for name in RESERVED),
        ("hi\nRen: hello", ["hi"], REN_HERE),
        ("hi\nAssistant: a", ["hi"], {}),
        ("hi\nUser: a", ["hi", "User: a"], {}),
        ("Let me see.\nTomori: Lilya: a.Tomori: b", ["Let me see.", "a.", "b"], TOMORI),
        ("Sure! Tomori: a\nb.Lilya: c", ["Sure! Tomori: a", "b.Lilya: c"], TOMORI),
        ("a plan</think>Tomori: b", ["b"], TOMORI),
        (' a"\nb', ['"Oh\n a"', "b"], {"output_prefill": '"Oh\n'}),
    ],
)
def test_ours(text: str, found: list[str], settings: dict[str, Any]) -> None:
    assert messages(text, **settings) == found


def test_a_details_block_is_kept_without_its_summary() -> None:
    played = play("<details><summary>Title</summary>a</details>b")
    assert (played.result.details, played.messages) == (("a",), ["b"])


def test_a_code_block_leaves_message_by_message() -> None:
    part = "a line of code\n" * 60
    played = play(f"```py\n{part}\n{part}\n{part}", Silence(60_000), "```")
    assert played.times == [0, 60_000]
    assert played.messages == [f"```py\n{part}\n{part}\n```", f"```py\n{part}```"]


def test_a_plain_label_ends_a_sprite() -> None:
    persona = {"name": "Ren", "sprites": [MAD]}
    played = play("Ren (mad): a\nb\nRen: c", text={"persona": persona})
    assert [record["via"] for record in played.of("message")] == ["webhook", "webhook", "bot"]


def test_degree_1_types_nothing_and_degree_2_everything_but_the_first() -> None:
    steps: tuple[str | Step, ...] = ("One.\nTwo.\n", Silence(10), "Three.")
    assert play(*steps, degree=1).times == [0, 10, 10]
    first, second, third = play(*steps, degree=2).times
    assert first == 0 < second < third


def test_what_is_beyond_a_limit_is_kept_or_attached() -> None:
    lines = "\n".join(["x" * 1900] * 5)
    stopped = play(lines, text={"max_flush_count": 2})
    attached = play(lines, text={"max_flush_count": 2}, on_limit="file")
    assert stopped.result.undelivered == "\n".join(["x" * 1900] * 3)
    assert (len(stopped.of("file")), len(attached.of("file"))) == (0, 1)
    assert play("a\nb\nc\nd", send_message_limit=2).result.undelivered == "c\nd"


def test_a_stopped_answer_ends_at_a_clause_and_keeps_the_rest() -> None:
    played = play("One two. Three, four fi", Silence(9), Stop("7"))
    assert (played.messages, played.result.undelivered) == (["One two."], "Three, four fi")


def test_a_persona_without_a_webhook_is_named() -> None:
    persona = {"name": "Ren", "is_alter": True}
    fault = ScriptedFault("create_webhook", 1, 30007)
    assert play("a", text={"persona": persona}, faults=[fault]).messages == ["**Ren**: a"]
