"""Makes a scene document of a recorded stream; `parse_scene` reads it (spec 10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from oshaberi.chunks import Chunk, ProviderError
from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.recording.recording_redaction import SecretMasker
from oshaberi.recording.stream_recorder import HeardStream
from oshaberi.secret_redaction import redact
from oshaberi.text.atoms import CUSTOM_EMOJI
from oshaberi.text.text_config import TextConfig

_END = "end"
"""Marks the end. It is no item of a scene: only the silence before it is written."""
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
    document["config"] = _changed(text) | _changed(frame.config)
    document |= {key: _plain(getattr(text, key)) for key in _CONTEXT}
    document["recent_bot_messages"] = _emoji_only(text)
    document["reply_to"] = frame.reply_to
    document["reemits"] = frame.reemits
    kept = {key: masker.value(value) for key, value in document.items() if value}
    return kept | {"chunks": list(_items(_masked(heard, masker), masker))}


def _changed(settings: TextConfig | StreamConfig) -> dict[str, Any]:
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


def _masked(heard: Sequence[HeardStream], masker: SecretMasker) -> list[tuple[int, dict[str, Any]]]:
    """Return each item with its time in milliseconds; all text is masked together."""
    items: list[tuple[int, dict[str, Any]]] = []
    now_ms = 0.0
    for one in heard:
        now_ms += one.silence_ms
        items += ((round(now_ms), item) for item in _said(one.chunk))
    for kind in ("text", "thought"):
        said = [item for _, item in items if item["type"] == kind]
        words = masker.pieces([item["content"] for item in said])
        for item, content in zip(said, words, strict=True):
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


def _said(chunk: Chunk | None) -> Iterator[dict[str, Any]]:
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
