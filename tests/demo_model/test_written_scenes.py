"""Every written scene through the real adapter: what it is there to show is what arrives."""

from __future__ import annotations

import asyncio

import pytest

from oshaberi.bot.local_run.demo_model import PROMPTS, DemoModel
from oshaberi.bot.local_run.demo_model.page_prompts import ALL_PROMPTS, PagePrompt
from oshaberi.bot.local_run.demo_model.written_scenes import library, scene_for, written
from oshaberi.chunks import ToolCall
from oshaberi.errors import SceneError
from oshaberi.providers.base import Adapter
from oshaberi.providers.request.model_request import ToolResult, ToolRound
from oshaberi.scenes import parse_scene
from oshaberi.scenes.playback import perform
from tests.demo_model.demo_questions import CLOCK, MEMORY, answer, ask, chunks, text, with_model

NAMES = [scene.name for scene in library()]
ENDLESS = ("count", "silence")
FAILING = ("error", "drop", "rate-limit")


def test_there_are_scenes_for_everything() -> None:
    assert len(NAMES) >= 16
    assert {*ENDLESS, *FAILING} <= set(NAMES)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in (*ENDLESS, *FAILING)])
def test_a_scene_is_told_to_its_end(name: str) -> None:
    found = answer(name)
    assert found[-1].finish_reason == "stop"
    assert "{{" not in text(found)
    assert "%%" not in text(found)
    assert bool(text(found)) == (name != "nothing")
    usage = next(chunk.usage for chunk in reversed(found) if chunk.usage)
    assert usage.input_tokens > 20
    thoughts = "".join(part.text for chunk in found for part in chunk.thoughts)
    length = len(text(found)) + len(thoughts)
    assert length / 6 <= usage.output_tokens <= length / 3 + 4


@pytest.mark.parametrize(
    ("name", "kind"),
    [("error", "provider_overloaded"), ("drop", "network"), ("rate-limit", "rate_limit")],
)
def test_a_scene_that_fails(name: str, kind: str) -> None:
    found = answer(name)
    assert found[-1].error is not None
    assert found[-1].error.type == kind
    assert bool(text(found)) == (name != "rate-limit")


@pytest.mark.parametrize("name", ENDLESS)
def test_it_stops_when_nobody_listens(name: str) -> None:
    async def scenario(model: DemoModel, adapter: Adapter) -> str:
        begun = await chunks(adapter, ask(name), most=20)
        await asyncio.wait_for(model.idle(), 30)
        return text(begun)

    assert with_model(scenario).startswith(("All right.", "I will now"))


def test_thoughts_come_both_ways() -> None:
    inside = text(answer("think hard"))
    assert inside.startswith("<think>")
    beside = answer("a proof, please")
    assert "<think>" not in text(beside)
    assert "pigeonhole" in "".join(part.text for chunk in beside for part in chunk.thoughts)


def test_a_tool_is_called_only_if_it_is_there() -> None:
    assert "`current_time`" in text(answer("What time is it?"))
    found = answer("What time is it?", tools=(CLOCK,))
    call = next(call for chunk in found for call in chunk.calls)
    assert (call.name, dict(call.args)) == ("current_time", {})
    told = "Monday, 16:30. In a message, <t:1794866607:F> shows it in every reader's own time."
    round_ = ToolRound((call,), (ToolResult(told),), text(found))
    after = answer("What time is it?", round_, tools=(CLOCK,))
    assert "it is <t:1794866607:F>." in text(after)
    assert "In a message" not in text(after)
    assert not [chunk for chunk in after if chunk.calls]


@pytest.mark.parametrize("words", ["Please remember that I like tea!", "I like teaを覚えて"])
def test_a_tool_gets_what_it_insists_on(words: str) -> None:
    found = answer(words, tools=(MEMORY,))
    calls = [call for chunk in found for call in chunk.calls]
    assert [(call.name, dict(call.args)) for call in calls] == [
        ("remember", {"fact": "I like tea"})
    ]
    round_ = ToolRound((ToolCall("remember", {}, calls[0].id),), (ToolResult("noted"),))
    assert "Written down: I like tea." in text(answer(words, round_, tools=(MEMORY,)))


def test_faces_are_those_of_the_persona() -> None:
    shown = text(answer("show me your faces"))
    assert [f"Mochi ({face}): " in shown for face in ("happy", "sleepy", "sad")] == [1, 1, 0]
    without = text(answer("show me your faces", system="You are Mochi."))
    assert "Mochi (" not in without
    assert "/sprite add" in without
    direct = text(answer("show me your faces", system="You are Mochi.\nPlace: a direct message"))
    assert "/sprite" not in direct
    assert "Mochi (" not in direct


def test_a_haiku_is_in_the_language_it_was_asked_in() -> None:
    assert text(answer("write me a haiku")).isascii()
    assert "古池や" in text(answer("俳句を詠んで"))


def test_an_impression_of_whoever_asks() -> None:
    assert "Mochi (Ren): " in text(answer("do an interview"))


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.title)
def test_prompts_show_one_feature_each(prompt: object) -> None:
    scenes = [scene_for(one.text) for one in PROMPTS]
    names = [scene.name for scene in scenes if scene is not None]
    assert names == ["table", "code", "thinking", "faces", "time", "count"]
    assert prompt in PROMPTS


@pytest.mark.parametrize("prompt", ALL_PROMPTS, ids=lambda prompt: prompt.title)
def test_every_prompt_of_the_page_has_a_scene(prompt: PagePrompt) -> None:
    assert scene_for(prompt.text) is not None


@pytest.mark.parametrize("name", [n for n in NAMES if n not in (*ENDLESS, *FAILING)])
def test_what_arrives_is_delivered_whole(name: str) -> None:
    """A written scene is good only if the pipeline has nothing to complain about."""
    said = [chunk.content for chunk in answer(name) if chunk.content]
    config = {"render_tables": False}
    persona = {"name": "Mochi", "sprites": [{"name": "happy", "avatar_url": "https://x.test/h"}]}
    scene = {"chunks": said, "config": config, "persona": persona}
    played = perform(parse_scene(scene, name))
    assert played.result.status == ("empty_response" if name == "nothing" else "completed")
    assert played.result.undelivered == ""
    assert played.result.ledger.problems() == []


def test_a_scene_that_is_written_wrong(tmp_path: object) -> None:
    from pathlib import Path

    path = Path(str(tmp_path)) / "x.md"
    path.write_text("no head")
    with pytest.raises(SceneError, match="does not begin with a head"):
        written(path)
    path.write_text("---\ntitle: x\n---\nhm")
    with pytest.raises(SceneError, match="keys is missing"):
        written(path)
    path.write_text("---\ntitle: x\nkeys: x\n---\n%% dance\n")
    with pytest.raises(SceneError, match="no such cue"):
        written(path)
