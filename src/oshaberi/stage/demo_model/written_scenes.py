"""Reads written scenes: Markdown with a header, and cues (`%% word …`) for all that is not text.

    ---
    title: What time is it?
    keys: what time, clock, 何時
    ---
    %% when tool current_time
    Let me look.
    %% call current_time
    %% when result
    It is {{result}}.

`%% or` begins another way to play the same. A line that ends with a backslash goes on. A key with
`=` before it counts only as the whole message. `%% faces 2` says what is below it for each face,
from the second on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from oshaberi.errors import SceneError

FOLDER = Path(__file__).parent / "scenes"
CUES = frozenset(
    {
        "say",
        "think",
        "pause",
        "call",
        "error",
        "refuse",
        "stall",
        "drop",
        "count",
        "prompts",
        "faces",
    }
)

_HEAD = re.compile(r"---\n(?P<head>.*?)\n---\n(?P<body>.*)", re.DOTALL)
_CUE = re.compile(r"^%% (\w+)[ \t]*(.*)\n?", re.MULTILINE)
_GAP = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True)
class SceneCue:
    """One step. `about` is the text after the cue's word, `text` the text below it."""

    do: str
    about: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class SceneTake:
    """One version of a scene, and when it fits: `tool NAME`, `result`, `faces`, … or always."""

    when: str
    cues: tuple[SceneCue, ...]


@dataclass(frozen=True, slots=True)
class WrittenScene:
    """A scene. It is played if a message has one of its keys, or is just its name."""

    name: str
    title: str
    keys: tuple[str, ...]
    takes: tuple[SceneTake, ...]


@cache
def library() -> tuple[WrittenScene, ...]:
    """Return all scenes of the package, by name."""
    return tuple(written(path) for path in sorted(FOLDER.glob("*.md")))


def written(path: Path) -> WrittenScene:
    found = _HEAD.fullmatch(path.read_text(encoding="utf-8"))
    if found is None:
        raise SceneError(f"{path.name}: does not begin with a head between two lines of ---")
    lines = (line.partition(":") for line in found["head"].splitlines())
    head = {name.strip(): value.strip() for name, _, value in lines}
    missing = {"title", "keys"} - head.keys()
    if missing:
        raise SceneError(f"{path.name}: {min(missing)} is missing in its head")
    keys = tuple(key.strip().lower() for key in head["keys"].split(",") if key.strip())
    return WrittenScene(path.stem, head["title"], keys, tuple(_takes(found["body"], path.name)))


def _takes(body: str, name: str) -> Iterator[SceneTake]:
    """Split the cues into takes at `when` and `or`."""
    when, cues = "", list[SceneCue]()
    for cue in _cues(body):
        if cue.do in ("when", "or"):
            if any(said.do != "say" or said.text.strip() for said in cues):
                yield SceneTake(when, tuple(cues))
            when = cue.about if cue.do == "when" else when
            cues = [SceneCue("say", text=cue.text)]
        elif cue.do in CUES:
            cues.append(cue)
        else:
            raise SceneError(f"{name}: %% {cue.do}: no such cue; known are {', '.join(CUES)}")
    yield SceneTake(when, tuple(cues))


def _cues(body: str) -> Iterator[SceneCue]:
    do, about, at = "say", "", 0
    for found in _CUE.finditer(body):
        yield SceneCue(do, about, _joined(body[at : found.start()]))
        do, about, at = found[1], found[2].strip(), found.end()
    yield SceneCue(do, about, _joined(body[at:]).rstrip("\n"))


def _joined(text: str) -> str:
    return text.replace("\\\n", "")


def filled(text: str, gaps: Mapping[str, str]) -> str:
    """Fill the placeholders of a text. Unknown ones stay."""
    return _GAP.sub(lambda gap: gaps.get(gap[1], gap[0]), text)
