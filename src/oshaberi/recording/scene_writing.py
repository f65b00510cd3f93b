"""Saves streams as scenes: the document, the file, and `run --record DIR`."""

from __future__ import annotations

import json
import logging
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from oshaberi.chunks import Chunk, ProviderError
from oshaberi.delivery.config import StreamConfig
from oshaberi.recording.recording_redaction import SecretMasker
from oshaberi.recording.stream_recorder import HeardStream, StreamRecorder
from oshaberi.secret_redaction import redact, secrets_in
from oshaberi.stream.context import StreamContext
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.result import StreamResult
from oshaberi.text.atoms import CUSTOM_EMOJI
from oshaberi.text.config import TextConfig

# The document of a recorded stream; `parse_scene` reads it (spec 10).


_END = "end"
"""Marks the end. It is not an item of a scene: only the silence before it is written."""
_CONTEXT = ("persona", "known", "emojis", "output_prefill", "seed")


@dataclass(frozen=True, slots=True)
class SceneFrame:
    """Everything that a stream depends on besides the model's output."""

    name: str
    config: StreamConfig = field(default_factory=StreamConfig)
    reply_to: bool = False
    reemits: bool = False


def scene_of(
    heard: Sequence[HeardStream], frame: SceneFrame, masker: SecretMasker
) -> dict[str, Any]:
    """Return the scene document of a recorded stream. Default values are left out."""
    text = frame.config.text
    document: dict[str, Any] = {"name": frame.name}
    document["config"] = _changed_settings(text) | _changed_settings(frame.config)
    document |= {key: _plain(getattr(text, key)) for key in _CONTEXT}
    document["recent_bot_messages"] = _emoji_only(text)
    document["reply_to"] = frame.reply_to
    document["reemits"] = frame.reemits
    kept = {key: masker.value(value) for key, value in document.items() if value}
    return kept | {"chunks": list(_items(_mask_items(heard, masker), masker))}


def _changed_settings(settings: TextConfig | StreamConfig) -> dict[str, Any]:
    """Return the settings that differ from their defaults, by name."""
    declared = (f for f in fields(settings) if f.metadata or f.name == "starts_in_thought")
    values = ((f.name, getattr(settings, f.name), f.default) for f in declared)
    return {name: value for name, value, default in values if value != default}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value


def _emoji_only(text: TextConfig) -> list[str]:
    """Keep only the emoji of earlier messages: the rule against repeated emoji needs them."""
    lookback = text.emoji_unique_lookback
    recent = text.recent_bot_messages[-lookback:] if lookback else ()
    used = [" ".join(found[0] for found in CUSTOM_EMOJI.finditer(one)) for one in recent]
    return used if any(used) else []


def _mask_items(
    heard: Sequence[HeardStream], masker: SecretMasker
) -> list[tuple[int, dict[str, Any]]]:
    """Return each item with its time in milliseconds; all text is masked together."""
    items: list[tuple[int, dict[str, Any]]] = []
    now_ms = 0.0
    for one in heard:
        now_ms += one.silence_ms
        items += ((round(now_ms), item) for item in _items_of(one.chunk))
    for kind in ("text", "thought"):
        spoken = [item for _, item in items if item["type"] == kind]
        words = masker.pieces([item["content"] for item in spoken])
        for item, content in zip(spoken, words, strict=True):
            item["content"] = content
    return [(at_ms, item) for at_ms, item in items if item.get("content") != ""]


def _items(timed: Sequence[tuple[int, dict[str, Any]]], masker: SecretMasker) -> Iterator[Any]:
    """Yield the items with waits between them; plain text as a plain string."""
    now_ms = 0
    for at_ms, item in timed:
        if at_ms > now_ms:
            yield {"type": "wait", "ms": at_ms - now_ms}
            now_ms = at_ms
        if item["type"] == "text":
            yield item["content"]
        elif item["type"] != _END:
            yield masker.value(item)


def _items_of(chunk: Chunk | None) -> Iterator[dict[str, Any]]:
    if chunk is None:
        yield {"type": _END}
        return
    for part in chunk.thoughts:
        yield {"type": "thought", "content": part.text, "kind": part.kind}
    if chunk.content or chunk.links:
        yield {"type": "text", "content": chunk.content + chunk.links}
    for call in chunk.calls:
        yield {"type": "function_call", "name": call.name, "args": dict(call.args)}
    if chunk.type == "error":
        error = chunk.error or ProviderError("api_error")
        yield {"type": "error", "error": {"type": error.type, "message": redact(error.message)}}
    if chunk.type == "done" or (chunk.finish_reason and not chunk.calls):
        yield {"type": "done", "finish_reason": chunk.finish_reason}


# The file: named by time and channel, written atomically, for its owner only.


LONGEST_CHANNEL = 40
_NOT_IN_NAMES = re.compile(r"[^\w-]+")


def file_name(at: datetime, channel: str) -> str:
    """Return a name such as `20261115-213405-123-general.json`: sortable, valid on every system."""
    plain = _NOT_IN_NAMES.sub("-", channel).strip("-")[:LONGEST_CHANNEL] or "stream"
    return f"{at:%Y%m%d-%H%M%S}-{at.microsecond // 1000:03}-{plain}.json"


def free_path(folder: Path, name: str) -> Path:
    """Return a path in the folder that does not exist yet."""
    path, number = folder / name, 2
    while path.exists():
        path = folder / f"{name.removesuffix('.json')}-{number}.json"
        number += 1
    return path


def write_scene(path: Path, document: Mapping[str, Any]) -> None:
    """Write the scene atomically: a reader sees the old file or the new one."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(encode(document))
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def encode(document: Mapping[str, Any]) -> bytes:
    """Encode with one line per key and per chunk. Lone surrogates are written as ASCII escapes."""
    try:
        return _dump(document, ascii_only=False).encode()
    except UnicodeEncodeError:
        return _dump(document, ascii_only=True).encode()


def _dump(document: Mapping[str, Any], *, ascii_only: bool) -> str:
    def dump(value: Any) -> str:
        return json.dumps(value, ensure_ascii=ascii_only, default=str)

    lines = [f"  {dump(key)}: {dump(value)}" for key, value in document.items() if key != "chunks"]
    chunks = ",\n".join(f"    {dump(chunk)}" for chunk in document["chunks"])
    lines.append(f'  "chunks": [\n{chunks}\n  ]')
    return "{\n" + ",\n".join(lines) + "\n}\n"


# `run --record DIR`: saves every stream of the bot as a scene in a folder.


log = logging.getLogger(__name__)


def record_into(
    folder: Path,
    provider: Provider,
    *,
    channel: str,
    config: StreamConfig,
    reply_to: bool = False,
    secrets: Sequence[str] = (),
    now: Callable[[], datetime] = datetime.now,
) -> StreamRecorder:
    """Return a provider that also writes a scene at the end of each stream.

    If the disk is full, the recording is lost, but the conversation goes on.
    """
    masker = SecretMasker([*secrets, *secrets_in(os.environ)])

    def keep(heard: Sequence[HeardStream]) -> None:
        if all(one.chunk is None for one in heard):
            return
        at = now()
        frame = SceneFrame(f"{channel} {at:%Y-%m-%d %H:%M:%S}", config, reply_to, provider.reemits)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path = free_path(folder, file_name(at, channel))
            write_scene(path, scene_of(heard, frame, masker))
        except OSError as error:
            log.warning("a stream was not recorded: %s: %s", folder, error.strerror)

    return StreamRecorder(provider, keep)


class RecordingObserver:
    """Writes each stream as a scene into `folder`. The `secrets` are masked in it."""

    def __init__(self, folder: Path, secrets: Sequence[str] = ()) -> None:
        self._folder = folder
        self._secrets = secrets

    def opened(self, provider: Provider, config: StreamConfig, context: StreamContext) -> Provider:
        return record_into(
            self._folder,
            provider,
            channel=context.channel,
            config=config,
            reply_to=context.reply_to,
            secrets=self._secrets,
        )

    def ended(self, _context: StreamContext, _result: StreamResult) -> None:
        """Do nothing: the recorder has already written its file."""
