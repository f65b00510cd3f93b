"""Turns a request into what the demo model plays: tokens, thoughts, calls, pauses, errors.

The same words at the same point of a conversation always get the same answer.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, cast

from oshaberi.chunks import ErrorType
from oshaberi.stage.demo_model.page_prompts import PROMPTS
from oshaberi.stage.demo_model.request_reading import DemoRequest
from oshaberi.stage.demo_model.scene_choice import scene_of, take_of
from oshaberi.stage.demo_model.small_talk import remembered, talk
from oshaberi.stage.demo_model.tool_arguments import asked_arguments, made_arguments
from oshaberi.stage.demo_model.written_scenes import SceneCue, filled
from oshaberi.stage.model_servers.model_script import (
    Call,
    Cut,
    ErrorEvent,
    Refuse,
    Say,
    Stall,
    Think,
)

TOKEN_SIZES = (3, 4, 4, 5, 5, 6)
MOST_COUNTED = 5000
MOST_QUOTED = 30
_TIMESTAMP = re.compile(r"<t:\d+(?::\w)?>")
_REMARKS = (
    "still here", "this is going well", "I could do this all day", "you may stop me, you know",
    "the button is right there", "counting is mostly breathing", "no refunds", "a fine number",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pause:
    """The model is silent for `ms`, at normal speed."""

    ms: int


Beat = Say | Think | Call | Pause | ErrorEvent | Refuse | Stall | Cut
"""What the server does next. Each `Say` and each `Think` is one token."""


def beats(asked: DemoRequest) -> Iterator[Beat]:
    """Yield the answer, step by step."""
    rng = Random(f"{asked.words}\n{asked.turns}")
    scene = scene_of(asked)
    if scene is None:
        yield from (Say(token) for token in tokens(talk(asked, rng), rng))
        return
    gaps = _gaps(asked)
    for cue in take_of(scene, asked, rng).cues:
        yield from _beats(cue, asked, gaps, rng)


def tokens(text: str, rng: Random) -> Iterator[str]:
    """Yield the text in pieces of a few characters, cut anywhere."""
    at = 0
    while at < len(text):
        size = rng.choice(TOKEN_SIZES)
        yield text[at : at + size]
        at += size


def count_of(text: str) -> int:
    """Estimate how many tokens a text has."""
    return -(-len(text) * len(TOKEN_SIZES) // sum(TOKEN_SIZES))


def _beats(
    cue: SceneCue, asked: DemoRequest, gaps: Mapping[str, str], rng: Random
) -> Iterator[Beat]:
    text = filled(cue.text, gaps)
    match cue.do:
        case "think":
            yield from (Think(token) for token in tokens(text.strip(), rng))
            return
        case "pause":
            yield Pause(int(cue.about))
        case "call":
            yield _call(filled(cue.about, gaps), asked, rng)
        case "error":
            yield ErrorEvent(cast(ErrorType, cue.about))
        case "refuse":
            yield Refuse(cast(ErrorType, cue.about))
        case "stall":
            yield Stall()
        case "drop":
            yield Cut()
        case "count":
            yield from (Say(token) for token in tokens_of(_counting(rng), rng))
        case "faces":
            text = "".join(
                filled(text, {"face": face}) for face in asked.faces[int(cue.about) - 1 :]
            )
        case "prompts":
            text = "\n".join(f"- “{prompt.text}”" for prompt in PROMPTS) + "\n" + text
    yield from (Say(token) for token in tokens(text, rng))


def tokens_of(texts: Iterable[str], rng: Random) -> Iterator[str]:
    for text in texts:
        yield from tokens(text, rng)


def _gaps(asked: DemoRequest) -> dict[str, str]:
    """Return the values for the placeholders in a scene."""
    faces = itertools.cycle(asked.faces or ("happy",))
    return {
        "user": asked.user or "you",
        "persona": asked.persona or "I",
        "time": _time_in((asked.result or "").strip()),
        "fact": remembered(asked.words),
        **_tool_gaps(asked),
        **{f"face{number}": next(faces) for number in range(1, 7)},
        "all_faces": ", ".join(asked.faces),
    }


def _time_in(result: str) -> str:
    """Return the time from a result of the tool `current_time`, without its notes for the model."""
    found = _TIMESTAMP.search(result)
    return found[0] if found else result.partition("\n")[0].rstrip(".")


def _counting(rng: Random) -> Iterator[str]:
    for number in range(1, MOST_COUNTED):
        remark = f" ({rng.choice(_REMARKS)})" if number % 7 == 0 else ""
        yield f"{number}…{remark}\n"


def _tool_gaps(asked: DemoRequest) -> dict[str, str]:
    named = asked.named
    lines = (asked.result or "").strip().splitlines()[:MOST_QUOTED]
    return {
        "tool": named.tool if named else "",
        "arguments": _json(_arguments(named.tool, asked)) if named else "",
        "quoted_result": "\n".join(f"> {line}" for line in lines),
        "tools": ", ".join(f"`{name}`" for name in asked.tools),
        "a_tool": next(reversed(list(asked.tools)), ""),
    }


def _call(name: str, asked: DemoRequest, rng: Random) -> Call:
    id_ = f"call_{rng.getrandbits(40):010x}"
    return Call(name, _json(_arguments(name, asked)), id=id_)


def _arguments(name: str, asked: DemoRequest) -> dict[str, Any]:
    schema = asked.tools[name]
    if asked.named is not None:
        return asked_arguments(schema, asked.words, asked.named.rest)
    return made_arguments(schema, remembered(asked.words))


def _json(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)
