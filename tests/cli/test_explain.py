"""`oshaberi explain`: every decision becomes a sentence, and no scene leaves it speechless."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
from click.testing import CliRunner

from oshaberi import TextConfig, TextEngine
from oshaberi.cli.command_group import app
from oshaberi.cli.commands.explain import explained
from oshaberi.events import Boundary
from oshaberi.inspector.decisions import BOUNDARIES, ENDS, STATUS, STOPS, TRANSFORMS, quoted, tell
from oshaberi.inspector.engine_recorder import EngineRecorder
from oshaberi.scenes import find_scenes, load_scene, parse_scene
from oshaberi.stream.result import Status, StopReason
from oshaberi.terminal_output import TerminalPalette
from oshaberi.text.normalize.table import NORMALIZERS

SCENES = Path(__file__).parents[1] / "scenes"
PLAIN = TerminalPalette(colours=False)


def told(text: str, **settings: object) -> list[str]:
    scene = parse_scene({"chunks": [text], "config": {"humanizer_degree": 1, **settings}}, "x")
    return [line.strip() for line in explained(scene, PLAIN)]


def explain(name: str) -> str:
    result = CliRunner().invoke(app, ["explain", str(SCENES / f"{name}.json")])
    assert result.exit_code == 0
    return result.stdout


def test_a_hold_and_its_end() -> None:
    lines = explain("hold-paren-over-newline").splitlines()
    assert [line.strip() for line in lines[4:10]] == [
        "1. A line or sentence ends after character 15, but “(” is still open, so it waits.",
        "2. The line ends: “I think (though⏎not sure) yes”.",
        "“(” is closed: the lines in it stay together.",
        "→ message 1: “I think (though⏎not sure) yes”",
        "3. The text ends; the rest of it: “ok”.",
        "→ message 2: “ok”",
    ]


def test_a_bracket_that_never_closes() -> None:
    lines = told("so (this never closes\n" + "and on it goes\n" * 10, hold_limit=50)
    assert "“(” was not closed for too long: it is an ordinary character." in lines


def test_faces_and_labels() -> None:
    out = explain("sprite-switch-alternates")
    removed = "The label only says who speaks, so it is removed"
    assert f"{removed}: “Tomori (mad): one” becomes “one”." in out
    assert "→ message 1, as Tomori with the sprite “mad”: “one”" in out
    assert "because Discord would otherwise show the avatar before it" in out
    assert "11 characters delivered. Kept back: 42 (labels)." in out


def test_what_was_not_delivered_has_a_reason() -> None:
    assert "“two” was not delivered: Discord refused it with code 200000." in explain(
        "fault-automod"
    )
    assert "“second par” is dropped: the user has written again." in explain("follow-up-discards")


def test_thoughts_are_told_once() -> None:
    lines = told("<think>a plan</think>Hi")
    assert [line for line in lines if "a plan" in line] == [
        "1. A think block is taken out: “a plan”."
    ]
    assert "a thought: “tail.”" in "\n".join(told("tail.</think>Answer"))


def test_segments_that_share_a_message() -> None:
    lines = told("one\ntwo", humanizer_degree=0)
    at = lines.index("1. The line ends: “one”.")
    assert lines[at + 1 : at + 4] == [
        "It waits, to share a message with what follows.",
        "2. The text ends; the rest of it: “two”.",
        "→ message 1: “one⏎⏎two”",
    ]


def test_nothing_is_told_about_nothing() -> None:
    lines = told("")
    assert "Nothing: the model sent no text." in lines
    assert "There was nothing to show." in lines


def test_long_text_is_quoted_by_its_ends() -> None:
    shown = quoted("a" * 500 + "\n" + "b" * 500)
    assert len(shown) < 150
    assert (shown[:3], shown[-3:]) == ("“aa", "bb”")


def test_there_is_a_sentence_for_everything() -> None:
    assert BOUNDARIES.keys() == ENDS.keys() == set(get_args(Boundary))
    assert TRANSFORMS.keys() >= {row.name for row in NORMALIZERS}
    assert STATUS.keys() == set(get_args(Status))
    assert STOPS.keys() == set(get_args(StopReason))


@pytest.mark.parametrize("path", find_scenes([str(SCENES)]), ids=lambda path: Path(path).stem)
def test_every_scene_can_be_explained(path: str) -> None:
    scene = load_scene(path)
    lines = list(explained(scene, PLAIN))
    assert "How it ended" in lines
    assert all(len(line) < 500 for line in lines)
    for message in (scene.expect or {})["messages"]:
        content = message if isinstance(message, str) else message["content"]
        assert any(content.split("\n")[0][:20] in line for line in lines) or "<" in content


def test_watching_changes_nothing() -> None:
    text = "One (two\nthree) <think>x</think>four\n```\ncode\n```\n...\nfive :tada:"
    engine, observer = TextEngine(TextConfig()), EngineRecorder(TextConfig(), None)
    assert observer.feed(text) + observer.finish() == engine.feed(text) + engine.finish()
    assert len(tell(observer.entries)) >= 5
    assert {field.name for field in fields(type(tell(observer.entries)[0]))} == {
        "sentence",
        "notes",
    }
