"""Scenes: read with clear complaints, played through the whole pipeline, compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from oshaberi import SceneError
from oshaberi.chunks import Chunk
from oshaberi.delivery.recording_sink import ScriptedFault
from oshaberi.scenes import Scene, differences, find_scenes, load_scene, parse_scene, rechunk
from oshaberi.scenes.playback import perform
from oshaberi.stream.provider_protocol import FollowUp, Silence, Stop

FOLDER = Path(__file__).parent / "scenes"
PATHS = find_scenes([str(FOLDER)])


def scene_of(**fields: Any) -> Scene:
    return parse_scene({"chunks": ["hi"], **fields}, "x.json")


# -- the whole set -------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS, ids=[Path(path).stem for path in PATHS])
def test_every_scene_does_what_it_expects(path: str) -> None:
    scene = load_scene(path)
    assert scene.expect
    for seed in (None, 1, 2, 3):
        played = perform(scene if seed is None else rechunk(scene, seed))
        assert differences(scene.expect, played.lines) == [], f"re-cut: {seed}"
        assert played.result.ledger.problems() == [], f"re-cut: {seed}"
        json.dumps(played.lines)


def test_a_replay_is_the_same_every_time() -> None:
    scene = load_scene(str(FOLDER / "paced-lines-stay.json"))
    assert perform(scene).lines == perform(scene).lines


# -- reading -------------------------------------------------------------------------------------


def test_every_kind_of_step_is_read() -> None:
    scene = scene_of(
        chunks=[
            "a",
            {"type": "text", "content": "b"},
            {"type": "thought", "content": "hm", "kind": "summary"},
            {"type": "wait", "ms": 5},
            {"type": "stop", "by": "7"},
            {"type": "follow_up", "by": "8"},
            {"type": "done", "finish_reason": "stop"},
            {"type": "error", "error": {"type": "timeout", "message": "late"}},
            {"type": "function_call", "name": "look", "args": {"q": 1}},
        ],
        faults=[{"on": "send", "nth": 1, "delay_ms": 3000}],
    )
    first, second, thought, wait, stop, follow_up, done, error, call = scene.steps
    assert (first, second) == (Chunk("text", "a"), Chunk("text", "b"))
    assert isinstance(thought, Chunk)
    assert thought.thoughts[0].kind == "summary"
    assert (wait, stop, follow_up) == (Silence(5), Stop("7"), FollowUp("8"))
    assert isinstance(done, Chunk)
    assert done.finish_reason == "stop"
    assert isinstance(error, Chunk)
    assert error.error is not None
    assert error.error.message == "late"
    assert isinstance(call, Chunk)
    assert call.calls[0].args == {"q": 1}
    assert scene.faults == (ScriptedFault("send", 1, delay_ms=3000),)


def test_settings_find_their_place() -> None:
    scene = scene_of(config={"humanizer_degree": 3, "notify": "last"}, seed=9, emojis=["<:a:1>"])
    assert scene.config.text.humanizer_degree == 3
    assert scene.config.notify == "last"
    assert (scene.config.text.seed, scene.config.text.emojis) == (9, ("<:a:1>",))


BAD: list[tuple[dict[str, Any], str]] = [
    ({"chunks": "hi"}, "chunks: must be a list, not a text"),
    ({"chunks": [3]}, "chunks[0]: must be a text, or an object with a type"),
    ({"chunks": [{"content": "x"}]}, "chunks[0].type: is missing"),
    ({"chunks": [{"type": "txt"}]}, "chunks[0].type: 'txt' is not one of: text, thought"),
    ({"chunks": [{"type": "txet", "content": ""}]}, "did you mean 'text'?"),
    ({"chunks": [{"type": "wait"}]}, "chunks[0].ms: is missing"),
    ({"chunks": [{"type": "wait", "ms": -1}]}, "chunks[0].ms: -1 is not a whole number from 0"),
    ({"chunks": [{"type": "wait", "ms": True}]}, "chunks[0].ms: must be a whole number"),
    ({"chunks": [{"type": "wait", "ms": 1, "by": "x"}]}, "chunks[0].by: no such key"),
    ({"chunks": [{"type": "text", "content": None}]}, "content: must be a text, not null"),
    ({"chunks": [{"type": "error", "error": {"type": "oops"}}]}, "error.type: 'oops' is not one"),
    ({"chunks": [{"type": "function_call", "name": "f", "args": []}]}, "args: must be an object"),
    ({"chunk": []}, "chunk: no such key; did you mean 'chunks'?"),
    ({"config": {"humaniser_degree": 1}}, "did you mean 'humanizer_degree'?"),
    ({"config": {"humanizer_degree": 7}}, "config.humanizer_degree: 7 is not a whole number"),
    ({"config": {"thinking_pause_chance": 2}}, "config.thinking_pause_chance: 2 is not"),
    ({"config": {"starts_in_thought": 1}}, "config.starts_in_thought: must be true or false"),
    ({"config": []}, "config: must be an object, not a list"),
    ({"persona": {"aliases": []}}, "persona.name: is missing"),
    ({"persona": {"name": 5}}, "persona.name: must be a text, not a number"),
    ({"persona": {"name": "T", "sprites": [{"nam": "x"}]}}, "persona.sprites[0].nam: no such key"),
    ({"known": [{"name": "a", "kind": "bot"}]}, "known[0].kind: 'bot' is not one of: persona"),
    ({"reply_to": 1}, "reply_to: must be true or false, not a number"),
    ({"seed": "x"}, "seed: must be a whole number, not a text"),
    ({"faults": [{"on": "send"}]}, "faults[0].nth: is missing"),
    ({"faults": [{"on": "sent", "nth": 1, "error": 1}]}, "did you mean 'send'?"),
    ({"faults": [{"on": "send", "nth": 0, "error": 1}]}, "faults[0].nth: 0 is not"),
    ({"faults": [{"on": "send", "nth": 1}]}, "faults[0]: does nothing"),
    ({"faults": [{"on": "send", "nth": 1, "error": "http_500"}]}, "did you mean 'http_503'?"),
    ({"expect": {"message": []}}, "expect.message: no such key; did you mean 'messages'?"),
    ({"expect": {"messages": [{"text": "x"}]}}, "expect.messages[0].text: no such key"),
    ({"expect": {"typing": "two"}}, "expect.typing: must be a whole number"),
]


@pytest.mark.parametrize(("fields", "reason"), BAD, ids=[reason for _, reason in BAD])
def test_a_bad_scene_is_refused_by_file_key_and_reason(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(SceneError) as refusal:
        scene_of(**fields)
    assert str(refusal.value).startswith("x.json: ")
    assert reason in str(refusal.value)
    assert "\n" not in str(refusal.value)


FILES: list[tuple[bytes, str]] = [
    (b"", "is not JSON"),
    (b"{\n  'a': 1}", "(line 2, column 3)"),
    (b"\xff\xfe", "is not UTF-8 text (byte 0)"),
    (b"[]", "must be an object, not a list"),
    (b'{"chunks": [], "chunks": []}', "chunks: is given twice"),
    (b'{"name": "x"}', "chunks: is missing"),
    (b"[" * 100_000, "is nested too deeply"),
]


@pytest.mark.parametrize(("content", "reason"), FILES, ids=[reason for _, reason in FILES])
def test_a_broken_file_is_refused_by_name(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    with pytest.raises(SceneError) as refusal:
        load_scene(str(path))
    assert str(refusal.value).startswith(f"{path}: ")
    assert reason in str(refusal.value)


def test_missing_file_and_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match="cannot be read: No such file"):
        load_scene(str(tmp_path / "none.json"))
    with pytest.raises(SceneError, match="no scenes"):
        find_scenes([str(tmp_path)])


# -- cutting anew --------------------------------------------------------------------------------


def test_rechunk_keeps_the_text_and_everything_between() -> None:
    scene = scene_of(chunks=["one two three four ", "five six", {"type": "wait", "ms": 9}, "seven"])
    cut = rechunk(scene, 4)
    assert cut.text == scene.text
    assert cut.steps != scene.steps
    assert cut == rechunk(scene, 4)
    assert cut != rechunk(scene, 5)
    at = cut.steps.index(Silence(9))
    before = [step.content for step in cut.steps[:at] if isinstance(step, Chunk)]
    assert "".join(before) == "one two three four five six"


def test_a_provider_that_re_emits_keeps_its_cuts() -> None:
    scene = scene_of(chunks=["twelve chars", "twelve chars and more"], reemits=True)
    assert rechunk(scene, 1) is scene
    assert perform(scene).result.accumulated_text == "twelve chars and more"


# -- comparing -----------------------------------------------------------------------------------


def _diff(expect: dict[str, Any], **scene: Any) -> list[str]:
    return differences(expect, perform(scene_of(**scene)).lines)


def test_only_what_is_given_is_compared() -> None:
    assert _diff({}) == []
    assert _diff({"messages": [{"content": "hi"}]}) == []
    assert _diff({"messages": [{"via": "bot", "reply": False}], "embeds": 0}) == []


def test_a_difference_reads_like_a_diff() -> None:
    lines = _diff({"messages": ["hi", "ho"], "status": "error", "thoughts": ["x"]})
    assert lines == [
        "messages:",
        '    "hi"',
        '  - "ho"',
        'status: expected "error", got "completed"',
        "thoughts:",
        '  - "x"',
    ]


def test_a_wrong_name_is_a_difference() -> None:
    lines = _diff({"messages": [{"content": "hi", "username": "Ren"}]})
    assert '  - {"content": "hi", "username": "Ren"}' in lines
    assert '  + {"content": "hi", "username": null}' in lines


def test_messages_are_compared_in_their_final_state() -> None:
    config = {"delivery": "live", "humanizer_degree": 1}
    chunks = ["one\ntwo\n", {"type": "wait", "ms": 3000}, "three"]
    lines = perform(scene_of(config=config, chunks=chunks)).lines
    assert any(line["kind"] == "edit" for line in lines)
    assert differences({"messages": ["one\ntwo\nthree"]}, lines) == []
