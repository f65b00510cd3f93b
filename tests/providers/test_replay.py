"""The replay provider: a recorded stream, with or without its timing."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from oshaberi.chunks import Chunk, ThoughtPart, ToolCall
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.recording_sink import RecordingSink
from oshaberi.errors import SceneError
from oshaberi.providers.registry import family
from oshaberi.providers.replay import ReplayAdapter
from oshaberi.providers.request.model_request import Endpoint, Request, said
from oshaberi.recording import record_into
from oshaberi.scenes import find_scenes, load_scene
from oshaberi.scenes.playback import perform
from oshaberi.stream import ScriptedProvider, Silence, Step, StreamContext, stream_to_sink
from oshaberi.text.config import TextConfig
from oshaberi.virtual_time import run_virtual

REQUEST = Request((said("user", "hello", "current"),))
CONFIG = StreamConfig(text=TextConfig(humanizer_degree=1))
SCENES = Path(__file__).parents[1] / "scenes"


def scene(path: Path, *chunks: Any, **fields: Any) -> Path:
    path.write_text(json.dumps({"chunks": list(chunks), **fields}))
    return path


def replay(path: Path, **quirks: Any) -> ReplayAdapter:
    return ReplayAdapter(Endpoint("replay", str(path), quirks=quirks))


async def heard(adapter: ReplayAdapter) -> list[Chunk]:
    chunks = [adapter.normalise(raw) async for raw in adapter.open(REQUEST)]
    return [chunk for chunk in chunks if chunk is not None]


def test_the_registry_knows_it(tmp_path: Path) -> None:
    path = scene(tmp_path / "a.json", "hi")
    assert isinstance(family("replay")(Endpoint("replay", str(path))), ReplayAdapter)


def test_chunks_come_again(tmp_path: Path) -> None:
    path = scene(
        tmp_path / "a.json",
        {"type": "thought", "content": "Hm.", "kind": "summary"},
        "Hello ",
        "you",
        {"type": "stop", "by": "1"},
        {"type": "done", "finish_reason": "length"},
    )
    assert run_virtual(heard(replay(path))) == [
        Chunk("text", thoughts=(ThoughtPart("Hm.", "summary"),)),
        Chunk("text", "Hello "),
        Chunk("text", "you"),
        Chunk("done", finish_reason="length"),
    ]


def test_parallel_calls_are_one_answer_again(tmp_path: Path) -> None:
    calls = [{"type": "function_call", "name": n, "args": {"q": n}} for n in ("look", "look", "go")]
    (last,) = run_virtual(heard(replay(scene(tmp_path / "a.json", *calls))))
    assert last.calls == tuple(ToolCall(n, {"q": n}) for n in ("look", "look", "go"))
    assert last.type == "function_call"


def test_an_error_comes_again(tmp_path: Path) -> None:
    error = {"type": "error", "error": {"type": "rate_limit", "message": "slow down"}}
    hi, broken = run_virtual(heard(replay(scene(tmp_path / "a.json", "hi", error))))
    assert hi.content == "hi"
    assert broken.error is not None
    assert (broken.error.type, broken.error.message) == ("rate_limit", "slow down")


@pytest.mark.parametrize(("timing", "seconds"), [(True, 3.5), (False, 0.0)])
def test_with_and_without_its_timing(tmp_path: Path, timing: bool, seconds: float) -> None:
    wait = {"type": "wait", "ms": 1750}

    async def main() -> float:
        await heard(replay(scene(tmp_path / "a.json", "a", wait, "b", wait), timing=timing))
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == pytest.approx(seconds)


def test_a_folder_is_one_stream_after_another(tmp_path: Path) -> None:
    scene(tmp_path / "2.json", "second")
    scene(tmp_path / "1.json", "first", reemits=True)
    adapter = replay(tmp_path)
    assert adapter.reemits
    first, second, third = (run_virtual(heard(adapter)) for _ in range(3))
    assert [first[0].content, second[0].content] == ["first", "second"]
    (over,) = third
    assert over.error is not None
    assert over.error.type == "model_error"
    assert "has been played" in over.error.message


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(SceneError, match=r"nowhere\.json"):
        replay(Path("nowhere.json"))


def sent_by(provider: Any, config: StreamConfig) -> list[Any]:
    async def main() -> list[Any]:
        sink = RecordingSink(())
        await stream_to_sink(provider, REQUEST, config, StreamContext(), sink)
        return sink.records

    return run_virtual(main())


def test_a_recording_replayed_sends_the_same_messages(tmp_path: Path) -> None:
    steps: list[Step] = [
        Chunk("text", thoughts=(ThoughtPart("They greet me."),)),
        Chunk("text", "Hi the"),
        Silence(420),
        Chunk("text", "re!\nHow a"),
        Silence(80),
        Chunk("text", "re you?\n```py\nx = 1\n"),
        Chunk("text", "```\nbye"),
        Chunk("done", finish_reason="stop"),
    ]
    script = ScriptedProvider(steps)
    live = sent_by(record_into(tmp_path, script, channel="general", config=CONFIG), CONFIG)
    (path,) = tmp_path.iterdir()
    assert len(live) > 3
    assert sent_by(replay(path), CONFIG) == live
    assert perform(load_scene(str(path))).records == live


def test_every_scene_of_ours_can_be_a_model() -> None:
    """What the player of scenes sends and edits, and when, the replay provider does too."""
    for path in find_scenes([str(SCENES)]):
        played = load_scene(path)
        acted = {type(step).__name__ for step in played.steps}
        if acted & {"Stop", "FollowUp"} or played.faults or played.reply_to:
            continue
        sent, expected = sent_by(replay(Path(path)), played.config), perform(played).records
        if any(getattr(step, "type", "") == "function_call" for step in played.steps):
            # A call that comes at the same instant as the text may find the typing begun.
            sent, expected = ([r for r in one if r["kind"] != "typing"] for one in (sent, expected))
        assert [*sent] == [*expected], path
