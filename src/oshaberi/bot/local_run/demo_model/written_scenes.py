"""Written scenes in Markdown with cues (`%% word …`), and which one fits a message."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from oshaberi.bot.local_run.demo_model.requests import DemoRequest
from oshaberi.errors import SceneError

# Reads written scenes: Markdown with a header, and cues (`%% word …`) for all that is not text.
#
# --- title: What time is it? keys: what time, clock, 何時 --- %% when tool current_time Let me
# look. %% call current_time %% when result It is {{result}}.
#
# `%% or` begins another way to play the same. A line that ends with a backslash goes on. A key
# with `=` before it counts only as the whole message. `%% faces 2` repeats what is below it for
# each face, from the second on.


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


# Chooses the scene for a message by key words: whole words only, the longest first.


_WHOLE = 1000
_NOT_WORDS = re.compile(r"[^\w\s]+")


OWN_TOOL, FILES = "own-tool", "files"


def scene_of(asked: DemoRequest) -> WrittenScene | None:
    """Choose the scene. A named tool or an attached file counts more than all other words."""
    if asked.named is not None:
        return _called(OWN_TOOL)
    return _called(FILES) if asked.has_files else scene_for(asked.words)


def _called(name: str) -> WrittenScene:
    return next(scene for scene in library() if scene.name == name)


def scene_for(words: str) -> WrittenScene | None:
    """Return the scene that the words ask for, or None."""
    plain = " ".join(_NOT_WORDS.sub(" ", words.lower()).split())
    if not plain:
        return None
    scored = [(_score(scene, plain, words.lower()), scene) for scene in library()]
    best, scene = max(scored, key=lambda one: one[0])
    return scene if best else None


def _score(scene: WrittenScene, plain: str, words: str) -> int:
    """Return how much of the text is about this scene."""
    if plain in (scene.name, scene.title.lower(), *(key.lstrip("=") for key in scene.keys)):
        return _WHOLE
    inside = (key for key in scene.keys if not key.startswith("="))
    return max((len(key) for key in inside if _pattern(key).search(words)), default=0)


@cache
def _pattern(key: str) -> re.Pattern[str]:
    """Return a pattern for a whole word or its plural. Only ASCII words have word boundaries."""
    if not key.isascii():
        return re.compile(re.escape(key))
    spaced = re.escape(key).replace(r"\ ", r"\W+")
    return re.compile(rf"(?<!\w){spaced}(?:s|es)?(?!\w)")


def take_of(scene: WrittenScene, asked: DemoRequest, rng: Random) -> SceneTake:
    """Return a random one of the takes whose condition is the first that fits the request."""
    for take in scene.takes:
        if _fits(take.when, asked):
            return rng.choice(_same(scene.takes, take))
    return scene.takes[-1]


def _same(takes: Sequence[SceneTake], take: SceneTake) -> list[SceneTake]:
    return [one for one in takes if one.when == take.when]


def _fits(when: str, asked: DemoRequest) -> bool:
    kind, _, name = when.partition(" ")
    match kind:
        case "result":
            return asked.result is not None
        case "tool":
            return asked.result is None and name in asked.tools
        case "named-result":
            return asked.named is not None and asked.result is not None
        case "named":
            return asked.named is not None
        case "tools":
            return bool(asked.tools)
        case "files":
            return asked.has_files
        case "direct":
            return asked.is_direct
        case "faces":
            return bool(asked.faces and asked.persona)
        case "persona":
            return bool(asked.persona and asked.user)
        case "japanese":
            return asked.is_japanese
        case _:
            return True
