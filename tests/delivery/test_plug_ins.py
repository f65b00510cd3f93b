"""Plug-ins of delivery and tools: a broken one is one line with its name, and nothing is lost."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest

from oshaberi import plug_in_loading
from oshaberi.bot.tools.definition import GROUP as TOOL_TEXT_GROUP
from oshaberi.bot.tools.definition import apply_plug_ins, installed_tool_text
from oshaberi.delivery import attachments
from oshaberi.delivery.attachments import (
    ATTACHMENT_GROUP,
    DISPLAY_GROUP,
    DeliveryPlugIns,
    PersonaMessage,
    RenderedBlock,
    block_files,
)
from oshaberi.delivery.recording_sink import ScriptedFault
from oshaberi.delivery.sink import File, WebhookFace
from oshaberi.delivery.waits import InterruptibleWaits
from oshaberi.errors import ConfigError
from oshaberi.providers import connect
from oshaberi.stream import Silence

from ..stream.scripted_streams import play

BLOCK = "```dot\na -> b\n```"
ANSWER = f"Look:\n{BLOCK}\nNice."


def fail(*_given: Any) -> Any:
    raise ValueError("it\nbroke")


def leave(*_given: Any) -> Any:
    """As a program does that finds its arguments wrong."""
    sys.exit(2)


def drawn(code: str) -> Sequence[File]:
    return [File("graph.svg", code.encode(), source=code, alt="a graph")]


def drawing(renderer: Any = drawn) -> DeliveryPlugIns:
    return DeliveryPlugIns(attachments={"dot": renderer})


def showing(mode: Any) -> DeliveryPlugIns:
    return DeliveryPlugIns(display_modes={"mine": mode})


def only_error(caplog: pytest.LogCaptureFixture) -> str:
    (line,) = [one.getMessage() for one in caplog.records if one.levelno >= logging.ERROR]
    return line


def plug_in(monkeypatch: pytest.MonkeyPatch, *points: EntryPoint) -> None:
    def found(group: str) -> EntryPoints:
        return EntryPoints(points).select(group=group)

    monkeypatch.setattr(plug_in_loading, "installed_entry_points", found)
    monkeypatch.setattr("oshaberi.providers.registry.installed_entry_points", found)


def test_what_cannot_be_loaded_is_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    plug_in(
        monkeypatch,
        EntryPoint("gone", "no_such_module:draw", ATTACHMENT_GROUP),
        EntryPoint("DOT", f"{__name__}:drawn", ATTACHMENT_GROUP),
        EntryPoint("number", f"{__name__}:BLOCK", DISPLAY_GROUP),
        EntryPoint("without", f"{__name__}:no_such_name", TOOL_TEXT_GROUP),
        EntryPoint("parrot", "no_such_module:Parrot", "oshaberi.providers"),
    )
    with caplog.at_level(logging.ERROR):
        plug_ins = DeliveryPlugIns.installed()
        assert installed_tool_text() == {}
    assert list(plug_ins.attachments) == ["dot"]
    assert plug_ins.mode_names == ("persona",)
    named = [("gone", "ModuleNotFoundError"), ("number", "TypeError"), ("without", "Attribute")]
    assert len(caplog.messages) == len(named)
    for line, (name, error) in zip(sorted(caplog.messages), sorted(named), strict=True):
        assert line.startswith(f"the plug-in {name!r} of oshaberi.")
        assert error in line
        assert "\n" not in line
    with pytest.raises(ConfigError, match=r"plug-in 'parrot' of oshaberi\.providers failed"):
        connect("parrot", "grey")


class TestAttachments:
    def test_at_degree_0_a_block_is_a_part_of_its_message(self) -> None:
        (message,) = play(ANSWER, degree=0, plug_ins=drawing()).messages
        assert BLOCK in message

    @pytest.mark.parametrize("degree", range(1, 4))
    def test_a_block_becomes_a_file_in_its_place(self, degree: int) -> None:
        played = play(ANSWER, degree=degree, plug_ins=drawing())
        kinds = [r["kind"] for r in played.sink.records if r["kind"] in ("message", "file")]
        assert kinds == ["message", "file", "message"]
        (file,) = played.of("file")
        assert (file["source"], file["alt"]) == ("a -> b", "a graph")
        assert BLOCK in played.result.accumulated_text

    def test_live_mode_replaces_what_it_has_shown(self) -> None:
        steps = ("Look at this:\n```dot\na -> b and", Silence(3000), " c\n```\nNice to see you.")
        played = play(*steps, plug_ins=drawing(), delivery="live")
        assert played.messages == ["Look at this:", "Nice to see you."]
        assert [file["source"] for file in played.of("file")] == ["a -> b and c"]

    @pytest.mark.parametrize(
        ("renderer", "told"),
        [
            (fail, "ValueError: it broke"),
            (leave, "SystemExit: 2"),
            (lambda _code: ["x"], "'x' is no File"),
            (lambda code: [File("graph.svg", code)], "the content of 'graph.svg' is str"),
        ],
    )
    def test_a_broken_renderer_leaves_the_code(
        self, renderer: Any, told: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert play(ANSWER, plug_ins=drawing(renderer)).messages == ["Look:", BLOCK, "Nice."]
        line = only_error(caplog)
        assert line.startswith("the plug-in 'dot' of oshaberi.attachments failed")
        assert told in line

    def test_a_renderer_that_does_not_end_leaves_the_code(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(attachments, "LONGEST_S", 0.01)
        ends = threading.Event()

        async def files() -> tuple[File, ...]:
            waits = InterruptibleWaits()
            try:
                return await block_files(RenderedBlock("dot", "a"), drawing(wait), waits)
            finally:
                ends.set()

        def wait(code: str) -> Sequence[File]:
            ends.wait(10)
            return drawn(code)

        assert asyncio.run(files()) == ()
        assert "'dot' of oshaberi.attachments failed" in only_error(caplog)
        assert "TimeoutError: it took more than 0.01 s" in only_error(caplog)

    def test_what_discord_refuses_is_sent_as_code(self) -> None:
        faults = [ScriptedFault("file", 1, 50013)]
        played = play(ANSWER, plug_ins=drawing(), faults=faults)
        assert played.messages == ["Look:", BLOCK, "Nice."]

    @pytest.mark.parametrize(
        "text", ["```\na -> b\n```", "```py\na\n```", "say `dot` here", "```dot```"]
    )
    def test_others_are_not_asked(self, text: str) -> None:
        assert play(text, plug_ins=drawing(fail)).messages == [text]


REN = {"persona": {"name": "Ren", "sprites": [{"name": "mad", "avatar_url": "https://x"}]}}


class TestDisplayModes:
    def test_it_is_told_who_speaks_and_how(self) -> None:
        asked: list[PersonaMessage] = []

        def note(message: PersonaMessage) -> PersonaMessage:
            asked.append(message)
            return replace(message, face=WebhookFace("Somebody"))

        answer = "Hello.\nRen (mad): What?"
        played = play(answer, text=REN, plug_ins=showing(note), display_mode="mine")
        assert asked == [
            PersonaMessage("Hello.", None, "Ren", "", 0),
            PersonaMessage("What?", WebhookFace("Ren", "https://x"), "Ren", "mad", 1),
        ]
        assert [r["username"] for r in played.of("message")] == ["Somebody"] * 2

    @pytest.mark.parametrize(
        "answer", ["| a | b |\n|---|---|\n| c | d |", BLOCK], ids=["table", "attachment"]
    )
    def test_files_go_the_same_way(self, answer: str, caplog: pytest.LogCaptureFixture) -> None:
        def plain(message: PersonaMessage) -> PersonaMessage:
            asked.append(message)
            head = f"**{message.persona}**\n" if message.number == 0 else ""
            return replace(message, face=None, text=head + message.text)

        asked: list[PersonaMessage] = []
        plug_ins = replace(drawing(), display_modes={"mine": plain})
        text = {"persona": {"name": "Ren", "is_alter": True}}
        for words, said in ((answer, ["**Ren**"]), (f"Look:\n{answer}", ["**Ren**\nLook:", ""])):
            played = play(words, text=text, plug_ins=plug_ins, display_mode="mine")
            assert [one.post.content for one in played.sink.posted] == said
            assert {record["via"] for record in played.sink.records if "via" in record} == {"bot"}
            (file,) = played.of("file")
            assert file["source"] in answer
        assert [one.text for one in asked] == ["", "Look:", ""]
        assert caplog.messages == []

    @pytest.mark.parametrize(
        ("mode", "told"),
        [
            (fail, "ValueError: it broke"),
            (leave, "SystemExit: 2"),
            (lambda _message: "text", "is no PersonaMessage"),
            (lambda message: replace(message, text=" "), "the length of its text is 1"),
            (lambda message: replace(message, text="x" * 3000), "not 1 to 1950"),
        ],
    )
    def test_a_broken_mode_changes_nothing(
        self, mode: Any, told: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        played = play("Hello.", plug_ins=showing(mode), display_mode="mine")
        assert played.messages == ["Hello."]
        line = only_error(caplog)
        assert line.startswith("the plug-in 'mine' of oshaberi.display_modes failed")
        assert told in line

    def test_a_mode_that_is_not_installed_changes_nothing(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        plug_ins = showing(fail)
        for _ in range(2):
            played = play("Hello.\nYou.", plug_ins=plug_ins, display_mode="yours")
            assert played.messages == ["Hello.", "You."]
        assert only_error(caplog) == (
            "display_mode: 'yours' is not installed; installed: persona, mine. "
            "Messages are shown as with 'persona'"
        )


class TestToolText:
    def test_all_pass_in_order(self) -> None:
        plug_ins = {"a": str.upper, "b": lambda text: f"{text}!"}
        assert apply_plug_ins("tea", plug_ins) == "TEA!"

    @pytest.mark.parametrize("broken", [fail, leave, lambda _text: None])
    def test_a_broken_one_is_left_out(self, broken: Any, caplog: pytest.LogCaptureFixture) -> None:
        assert apply_plug_ins("tea", {"a": broken, "b": str.upper}) == "TEA"
        line = only_error(caplog)
        assert line.startswith("the plug-in 'a' of oshaberi.tool_text failed")
