"""Turns a request into what the demo model plays: tokens, thoughts, calls, pauses, errors."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, cast

from discord_stage.model_servers.scripts import (
    Call,
    Cut,
    ErrorEvent,
    FailureKind,
    Refuse,
    Say,
    Stall,
    Think,
)
from oshaberi.bot.local_run.demo_model.page_prompts import PROMPTS
from oshaberi.bot.local_run.demo_model.requests import DemoRequest
from oshaberi.bot.local_run.demo_model.written_scenes import SceneCue, filled, scene_of, take_of

# Small talk: what the demo model says when no scene fits. Its words are in `talk.json`.
#
# It greets and thanks. To every question it answers that it only plays scenes, and names some. If
# nobody addressed it, it says nothing.


_REMEMBER = re.compile(
    r"\b(?:remember|note|keep in mind)\b(?:\s+that)?[\s,:]*(.+)", re.IGNORECASE | re.DOTALL
)
_REMEMBER_JAPANESE = re.compile(r"(.+?)(?:って|と|を)?(?:覚えて|メモして)", re.DOTALL)
SCENES_NAMED = 3
NO_NAME = "you"
"""The visitor's name on the local stage. The demo model does not address anybody by this name."""

Language = Mapping[str, Any]


@cache
def _languages() -> Mapping[str, Language]:
    path = Path(__file__).parent / "talk.json"
    loaded: Mapping[str, Language] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def talk(asked: DemoRequest, rng: Random) -> str:
    """Return a few lines in answer to anything."""
    language = _languages()["ja" if asked.is_japanese else "en"]
    kinds: list[Mapping[str, Any]] = language["kinds"]
    said = asked.words.lower()
    # The last kind fits everything.
    kind = next(one for one in kinds if re.search(one["if"], said))
    if kind is kinds[-1] and asked.silence_marker:
        return asked.silence_marker
    lines = [rng.choice(lines) for lines in kind["lines"]]
    if kind is not kinds[-1]:
        lines += [rng.choice(language["admissions"])] if asked.turns <= 1 else []
        lines.append(rng.choice(language["hints"]))
    gaps = {"user": _vocative(asked.user, language), "scenes": _scenes(language, rng)}
    return "\n".join(filled(line, gaps) for line in lines)


def _vocative(user: str, language: Language) -> str:
    return "" if user.lower() in ("", NO_NAME) else f"{language['before_name']}{user}"


def _scenes(language: Language, rng: Random) -> str:
    *first, last = rng.sample(language["scenes"], SCENES_NAMED)
    return f"{language['comma'].join(first)}{language['and']}{last}"


def remembered(words: str) -> str:
    """Return the fact in “remember that I like tea”."""
    found = _REMEMBER.search(words) or _REMEMBER_JAPANESE.search(words)
    return (found[1] if found else words).strip().rstrip(".!。！")


# Chooses a tool call's arguments: JSON or `key=value` from the message, else from its schema.


Schema = Mapping[str, Any]

_VALUE = r"""("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,;)]+)"""
_FORMATS = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T12:00:00Z",
    "time": "12:00:00Z",
    "email": "somebody@example.org",
    "uri": "https://example.org/",
}
_DEEPEST = 6


def asked_arguments(schema: Schema, words: str, rest: str) -> dict[str, Any]:
    """Return the arguments from a message. `rest` is the text after the tool's name.

    JSON is passed on as it is, mistakes included.
    """
    given = _json_object(words)
    if given is not None:
        return given
    assigned = _assigned(schema, rest)
    return {**made_arguments(schema, rest or words), **assigned}


def made_arguments(schema: Schema, words: str) -> dict[str, Any]:
    """Make up the required arguments. A text argument gets these words."""
    return _object(schema, words, schema, _DEEPEST)


def _json_object(words: str) -> dict[str, Any] | None:
    for at, sign in enumerate(words):
        if sign == "{":
            with suppress(ValueError, RecursionError):
                found, _end = json.JSONDecoder().raw_decode(words, at)
                return dict(found)
    return None


def _assigned(schema: Schema, rest: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, about in _properties(schema).items():
        match = re.search(rf"(?<!\w){re.escape(name)}\s*=\s*{_VALUE}", rest)
        if match:
            found[name] = _read(match[1], _resolved(about, schema))
    return found


def _read(text: str, schema: Schema) -> Any:
    plain = text[1:-1] if text[:1] == "'" else text
    if text[:1] != '"' and schema.get("type") == "string":
        return plain
    with suppress(ValueError):
        return json.loads(plain)
    return plain


def _properties(schema: Schema) -> Mapping[str, Any]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _object(schema: Schema, words: str, root: Schema, depth: int) -> dict[str, Any]:
    properties = _properties(schema)
    wanted = [name for name in schema.get("required") or () if name in properties]
    return {name: _value(properties[name], words, root, depth - 1) for name in wanted}


def _value(about: Any, words: str, root: Schema, depth: int) -> Any:
    schema = _resolved(about, root)
    if "const" in schema:
        return schema["const"]
    if "default" in schema:
        return schema["default"]
    for listed in ("enum", "examples"):
        if schema.get(listed):
            return schema[listed][0]
    match schema.get("type"):
        case "integer" | "number":
            return _number(schema)
        case "boolean":
            return False
        case "null":
            return None
        case "array":
            item = schema.get("items")
            count = schema.get("minItems", 0) if depth > 0 else 0
            return [_value(item, words, root, depth - 1) for _ in range(count)]
        case "object":
            return _object(schema, words, root, depth) if depth > 0 else {}
        case _:
            return _FORMATS.get(str(schema.get("format")), words[: schema.get("maxLength")])


def _number(schema: Schema) -> Any:
    least = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
    return min(least, schema.get("maximum", least))


def _resolved(about: Any, root: Schema) -> Schema:
    """Follow references. If there are several types, take the first that is not null."""
    schema: Any = about
    for _ in range(_DEEPEST):
        if not isinstance(schema, dict):
            return {}
        if "$ref" in schema:
            schema = _at(str(schema["$ref"]), root)
        elif several := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
            schema = next((one for one in several if one != {"type": "null"}), {})
        elif isinstance(kinds := schema.get("type"), list):
            schema = {**schema, "type": next((one for one in kinds if one != "null"), "null")}
        else:
            return schema
    return {}


def _at(reference: str, root: Schema) -> Any:
    found: Any = root
    for step in reference.removeprefix("#/").split("/"):
        found = found.get(step) if isinstance(found, dict) else None
    return found


# Turns a request into what the demo model plays: tokens, thoughts, calls, pauses, errors.
#
# The same words at the same point of a conversation always get the same answer.


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
    is_draft = asked.system.startswith(DRAFTING)
    scene = None if is_draft else scene_of(asked)
    if scene is None:
        words = drafted_character(asked, rng) if is_draft else talk(asked, rng)
        yield from (Say(token) for token in tokens(words, rng))
        return
    gaps = _gaps(asked)
    for cue in take_of(scene, asked, rng).cues:
        yield from _beats(cue, asked, gaps, rng)


DRAFTING = "You draft characters "
"""The beginning of a request for a character (`/persona create` with an idea)."""
_NAMES = ("Hoshi", "Kumo", "Nagi", "Suzu", "Tomo")
_IDEA = re.compile(r"^Idea: (.{1,300})", re.MULTILINE)
_NAME = re.compile(r"^Name: (.{1,80})", re.MULTILINE)


def drafted_character(asked: DemoRequest, rng: Random) -> str:
    """Return a character with the idea copied verbatim: a script cannot make more of it."""
    idea, name = _IDEA.search(asked.prompt), _NAME.search(asked.prompt)
    wish = idea[1].strip().rstrip(".") if idea is not None else "somebody"
    draft = {
        "name": name[1].strip() if name is not None else rng.choice(_NAMES),
        "description": f"{{{{char}}}} is {wish}. {{{{char}}}} listens more than they talk.",
        "personality": "calm, curious, kind",
        "first_mes": "Oh, hello {{user}}. Sit down, there is time.",
        "mes_example": "<START>\n{{user}}: How are you?\n{{char}}: Better, now that you ask.",
    }
    return json.dumps(draft, ensure_ascii=False)


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
            yield ErrorEvent(cast(FailureKind, cue.about))
        case "refuse":
            yield Refuse(cast(FailureKind, cue.about))
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
