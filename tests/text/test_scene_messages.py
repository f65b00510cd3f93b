"""Every scene that only text decides, through the text engine alone: whole, by letter, re-cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from oshaberi import Details, Event, Message, Table, TextEngine, Thought
from oshaberi.chunks import Chunk
from oshaberi.scenes import Scene, find_scenes, load_scene, rechunk

FOLDER = Path(__file__).parents[1] / "scenes"


def _is_text_only(scene: Scene) -> bool:
    texts = (
        isinstance(step, Chunk) and step == Chunk("text", step.content) for step in scene.steps
    )
    return not scene.faults and all(texts)


def _text_only() -> list[Any]:
    paths = find_scenes([str(FOLDER)])
    scenes = [(Path(path).stem, load_scene(path)) for path in paths]
    return [pytest.param(scene, id=name) for name, scene in scenes if _is_text_only(scene)]


SCENES = _text_only()


def _as_given(scene: Scene) -> list[str]:
    return [step.content for step in scene.steps if isinstance(step, Chunk)]


CUTS: dict[str, Callable[[Scene], Iterable[str]]] = {
    "as given": _as_given,
    "whole": lambda scene: [scene.text],
    "by letter": lambda scene: scene.text,
    "re-cut 1": lambda scene: _as_given(rechunk(scene, 1)),
    "re-cut 2": lambda scene: _as_given(rechunk(scene, 2)),
}


def _events(scene: Scene, pieces: Iterable[str]) -> list[Event]:
    engine = TextEngine(scene.config.text)
    events = [event for piece in pieces for event in engine.feed(piece)]
    return events + engine.finish()


def _username(message: Message, scene: Scene) -> str | None:
    """As delivery will show it: an alter's own face is a name too."""
    if message.identity is not None:
        return message.identity.username
    persona = scene.config.text.persona
    return persona.name if persona is not None and persona.is_alter else None


def _seen(message: Message, scene: Scene, wanted: str | dict[str, Any]) -> str | dict[str, Any]:
    """What the engine decides of the fields that are asked for."""
    if isinstance(wanted, str):
        return message.text
    fields = {"content": message.text, "username": _username(message, scene)}
    return {key: value for key, value in fields.items() if key in wanted}


def _asked(wanted: str | dict[str, Any]) -> str | dict[str, Any]:
    if isinstance(wanted, str):
        return wanted
    return {key: value for key, value in wanted.items() if key in ("content", "username")}


def test_there_are_scenes() -> None:
    assert len(SCENES) > 90


@pytest.mark.parametrize("scene", SCENES)
def test_the_engine_says_what_the_scene_expects(scene: Scene) -> None:
    for cut, pieces in CUTS.items():
        _check(scene, _events(scene, pieces(scene)), f"cut: {cut}")


def _check(scene: Scene, events: list[Event], cut: str) -> None:
    expect = scene.expect or {}
    messages = [event for event in events if isinstance(event, Message)]
    # How many of them may be sent is decided behind the engine.
    messages = messages[: scene.config.send_message_limit or None]
    wanted = expect["messages"]
    assert len(messages) == len(wanted), cut
    seen = [_seen(m, scene, w) for m, w in zip(messages, wanted, strict=True)]
    assert seen == [_asked(w) for w in wanted], cut

    taken = {
        "files": [event.source.strip() for event in events if isinstance(event, Table)],
        "thoughts": [event.text for event in events if isinstance(event, Thought)],
        "details": [event.text for event in events if isinstance(event, Details)],
    }
    assert {key: taken[key] for key in taken if key in expect} == {
        key: expect[key] for key in taken if key in expect
    }, cut
