"""A scene, and how it is read from a file. Every error names the file, the key and the reason."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, cast, get_args

from oshaberi.checked_json import JsonNode, RefusedJsonError, parse_json_once
from oshaberi.chunks import Chunk, ErrorType, ProviderError, ThoughtKind, ThoughtPart, ToolCall
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.recording_sink import CallKind, ScriptedFault, Trouble
from oshaberi.errors import ConfigError, SceneError
from oshaberi.stream.provider_protocol import FollowUp, Silence, Step, Stop
from oshaberi.text.config import Known, KnownKind, Persona, Sprite, TextConfig

# A scene as a value.


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that one stream depends on, and what is expected of it."""

    name: str
    config: StreamConfig
    steps: tuple[Step, ...]
    faults: tuple[ScriptedFault, ...] = ()
    reply_to: bool = False
    reemits: bool = False
    expect: Mapping[str, Any] | None = None
    """Only what is given is compared. None means that the scene expects nothing."""

    @property
    def text(self) -> str:
        """Return all text that the model writes."""
        return "".join(step.content for step in self.steps if isinstance(step, Chunk))


# The JSON document.


LONGEST_WAIT_MS = 7 * 86_400_000
NOBODY = "0"

_CONTEXT = ("persona", "known", "emojis", "recent_bot_messages", "output_prefill", "seed")
_KEYS = ("name", "config", *_CONTEXT, "reply_to", "reemits", "chunks", "faults", "expect")
_TEXT = {f.name for f in fields(TextConfig)} - set(_CONTEXT)
_STREAM = {f.name for f in fields(StreamConfig)} - {"text"}
_REQUEST = {"llm_stop_strings", "speaker_guard_holdback_chars"}
"""Settings of the request. They are checked and then ignored: a scene has the answer already."""
_MESSAGE = ("id", "content", "via", "username", "avatar_url", "reply", "at_ms")
_COUNTS = ("embeds", "typing", "reply_notices")
_LISTS = ("thoughts", "details", "files")
_TEXTS = ("status", "stop_reason", "accumulated_text", "undelivered")

LARGEST_HOLDBACK = 256
LARGEST_SEED = 2**64 - 1
"""A turn's seed is the id of the message it answers."""

Fields = Mapping[str, JsonNode]


def parse_scene(document: object, source: str) -> Scene:
    """Parse a JSON document into a scene."""
    root = JsonNode(document, source)
    given = root.fields(_KEYS, required=("chunks",))
    expect = given.get("expect")
    return Scene(
        name=given["name"].text() if "name" in given else source,
        config=_config(root, given),
        steps=tuple(_step(item) for item in given["chunks"].items()),
        faults=tuple(_fault(item) for item in _list(given, "faults")),
        reply_to=_flag(given, "reply_to"),
        reemits=_flag(given, "reemits"),
        expect=None if expect is None else _expect(expect),
    )


def _list(given: Fields, key: str) -> list[JsonNode]:
    return given[key].items() if key in given else []


def _flag(given: Fields, key: str) -> bool:
    return given[key].flag() if key in given else False


def _optional(given: Fields, key: str) -> str | None:
    return given[key].optional_text() if key in given else None


# -- settings and context ------------------------------------------------------------------------


def _config(root: JsonNode, given: Fields) -> StreamConfig:
    settings = given["config"].fields(_TEXT | _STREAM | _REQUEST) if "config" in given else {}
    values = {key: node.value for key, node in settings.items()}
    _flag(settings, "starts_in_thought")
    try:
        _check_request(settings)
        text = TextConfig(**_within(values, _TEXT), **_context(given))
        return StreamConfig(text=text, **_within(values, _STREAM))
    except ConfigError as error:
        root.fail(f"config.{error}")


def _check_request(settings: Fields) -> None:
    if "llm_stop_strings" in settings:
        settings["llm_stop_strings"].texts()
    if "speaker_guard_holdback_chars" in settings:
        settings["speaker_guard_holdback_chars"].whole(0, LARGEST_HOLDBACK)


def _within(values: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key in names}


def _context(given: Fields) -> dict[str, Any]:
    readers: dict[str, Callable[[JsonNode], object]] = {
        "persona": _persona,
        "known": lambda node: tuple(_known(item) for item in node.items()),
        "emojis": JsonNode.texts,
        "recent_bot_messages": JsonNode.texts,
        "output_prefill": JsonNode.optional_text,
        "seed": lambda node: node.whole(0, LARGEST_SEED),
    }
    return {key: read(given[key]) for key, read in readers.items() if key in given}


def _persona(node: JsonNode) -> Persona | None:
    if node.value is None:
        return None
    allowed = ("name", "aliases", "is_alter", "avatar_url", "sprites")
    given = node.fields(allowed, required=("name",))
    return Persona(
        name=given["name"].text(),
        aliases=given["aliases"].texts() if "aliases" in given else (),
        is_alter=_flag(given, "is_alter"),
        avatar_url=_optional(given, "avatar_url"),
        sprites=tuple(_sprite(item) for item in _list(given, "sprites")),
    )


def _sprite(node: JsonNode) -> Sprite:
    given = node.fields(("name", "avatar_url", "is_identity"), required=("name",))
    url = _optional(given, "avatar_url")
    return Sprite(given["name"].text(), url, _flag(given, "is_identity"))


def _known(node: JsonNode) -> Known:
    allowed = ("name", "kind", "id", "aliases", "avatar_url", "takes_part")
    given = node.fields(allowed, required=("name",))
    kinds = get_args(KnownKind)
    return Known(
        name=given["name"].text(),
        kind=cast(KnownKind, given["kind"].one_of(kinds)) if "kind" in given else "user",
        id=_optional(given, "id"),
        aliases=given["aliases"].texts() if "aliases" in given else (),
        avatar_url=_optional(given, "avatar_url"),
        takes_part=_flag(given, "takes_part"),
    )


# -- chunks and faults ---------------------------------------------------------------------------


def _step(node: JsonNode) -> Step:
    if isinstance(node.value, str):
        return Chunk("text", node.value)
    if not isinstance(node.value, dict):
        node.fail("must be a text, or an object with a type")
    every = {"type", *(key for _, optional, _ in _STEPS.values() for key in optional)}
    every |= {key for required, _, _ in _STEPS.values() for key in required}
    kind = node.fields(every, required=("type",))["type"].one_of(tuple(_STEPS))
    required, optional, build = _STEPS[kind]
    return build(node.fields(("type", *required, *optional), required))


def _text_step(given: Fields) -> Step:
    return Chunk("text", given["content"].text())


def _thought_step(given: Fields) -> Step:
    kinds = get_args(ThoughtKind)
    kind = cast(ThoughtKind, given["kind"].one_of(kinds)) if "kind" in given else "raw"
    return Chunk("text", thoughts=(ThoughtPart(given["content"].text(), kind),))


def _call_step(given: Fields) -> Step:
    args = given["args"].value if "args" in given else {}
    if not isinstance(args, dict):
        given["args"].fail("must be an object")
    return Chunk("function_call", calls=(ToolCall(given["name"].text(), args),))


def _error_step(given: Fields) -> Step:
    error = given["error"].fields(("type", "message"), required=("type",))
    kind = cast(ErrorType, error["type"].one_of(get_args(ErrorType)))
    message = error["message"].text() if "message" in error else ""
    return Chunk("error", error=ProviderError(kind, message))


def _done_step(given: Fields) -> Step:
    return Chunk("done", finish_reason=_optional(given, "finish_reason"))


def _wait_step(given: Fields) -> Step:
    return Silence(given["ms"].whole(0, LONGEST_WAIT_MS))


def _by(given: Fields) -> str:
    return given["by"].text() if "by" in given else NOBODY


_STEPS: dict[str, tuple[tuple[str, ...], tuple[str, ...], Callable[[Fields], Step]]] = {
    "text": (("content",), (), _text_step),
    "thought": (("content",), ("kind",), _thought_step),
    "function_call": (("name",), ("args",), _call_step),
    "error": (("error",), (), _error_step),
    "done": ((), ("finish_reason",), _done_step),
    "wait": (("ms",), (), _wait_step),
    "stop": ((), ("by",), lambda given: Stop(_by(given))),
    "follow_up": ((), ("by",), lambda given: FollowUp(_by(given))),
}


def _fault(node: JsonNode) -> ScriptedFault:
    times = ("delay_ms", "rate_limit_ms", "retry_after_ms")
    given = node.fields(("on", "nth", "error", *times), required=("on", "nth"))
    if given.keys() <= {"on", "nth"}:
        node.fail("does nothing; give it an error or a delay_ms")
    waits = {key: given[key].whole(0, LONGEST_WAIT_MS) for key in times if key in given}
    return ScriptedFault(
        on=cast(CallKind, given["on"].one_of(get_args(CallKind))),
        nth=given["nth"].whole(1),
        error=_trouble(given["error"]) if "error" in given else None,
        **cast(dict[str, Any], waits),
    )


def _trouble(node: JsonNode) -> int | Trouble | None:
    if node.value is None:
        return None
    if isinstance(node.value, str):
        return cast(Trouble, node.one_of(get_args(Trouble)))
    return node.whole(0)


# -- what is expected ----------------------------------------------------------------------------


def _expect(node: JsonNode) -> dict[str, Any]:
    given = node.fields(("messages", *_COUNTS, *_LISTS, *_TEXTS))
    for key, value in given.items():
        if key == "messages":
            for message in value.items():
                _check_message(message)
        elif key in _COUNTS:
            value.whole()
        elif key in _LISTS:
            value.texts()
        else:
            value.optional_text()
    return {key: value.value for key, value in given.items()}


def _check_message(node: JsonNode) -> None:
    if not isinstance(node.value, str):
        node.fields(_MESSAGE)


# Files, folders and standard input.


STDIN = "-"


def find_scenes(paths: Iterable[str]) -> list[str]:
    """Return the scene files, sorted by name. Folders are searched with their sub-folders."""
    found: list[str] = []
    for path in paths:
        if path != STDIN and Path(path).is_dir():
            inside = sorted(str(file) for file in Path(path).rglob("*.json"))
            if not inside:
                raise SceneError(f"{path}: no scenes (*.json) in this folder")
            found += inside
        else:
            found.append(path)
    return found


def load_scene(path: str) -> Scene:
    """Load a scene from a file. `-` is standard input."""
    source = "standard input" if path == STDIN else path
    if path == STDIN and sys.stdin is None:
        raise SceneError("standard input is closed; give a file")
    return parse_scene(_document(_text(path, source), source), source)


def _text(path: str, source: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SceneError(f"{source}: is not UTF-8 text (byte {error.start})") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SceneError(f"{source}: cannot be read: {reason}") from None


def _document(text: str, source: str) -> object:
    try:
        return parse_json_once(text, is_own_file=True)
    except RefusedJsonError as refusal:
        raise SceneError(f"{source}: {refusal.reason}") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise SceneError(f"{source}: is not JSON: {error.msg} ({place})") from None
    except ValueError as error:
        raise SceneError(f"{source}: {error}") from None
