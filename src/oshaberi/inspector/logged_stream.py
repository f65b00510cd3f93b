"""One stream in the log: its chunks while it runs, its compressed scene afterwards."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from oshaberi.chunks import ProviderError
from oshaberi.delivery.response_state import LimitWait
from oshaberi.delivery.sink import Sent
from oshaberi.recording import HeardStream, SceneFrame, SecretMasker, scene_of
from oshaberi.stream.stream_context import StreamContext
from oshaberi.stream.stream_result import StreamResult

MOST_CHUNKS = 50_000
PREVIEW = 100
NOW = "follow_up"
"""The step that ends the scene of a running stream: it drops what has not been sent by now."""

Json = dict[str, Any]


@dataclass(slots=True)
class LoggedStream:
    """One logged stream. With tools a response has several: `first` is its first message."""

    id: str
    context: StreamContext | None
    frame: SceneFrame
    provider: str
    model: str
    began: datetime
    began_s: float
    heard: list[HeardStream] = field(default_factory=list, repr=False)
    channel: str = ""
    first: int = 0
    ended_s: float | None = None
    status: str = ""
    stop_reason: str | None = None
    said: str = ""
    characters: int = 0
    chunks: int = 0
    sent: tuple[int, ...] = ()
    notices: list[Sent] = field(default_factory=list, repr=False)
    """The notices of the whole response. A failure notice comes after the end of the stream."""
    waits: list[LimitWait] = field(default_factory=list, repr=False)
    turn: int = 0
    """The number of the response, which all its streams share: those of tools, other keys and other
    models."""
    error: str = ""
    packed: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        if self.context is not None:
            self.channel = self.context.channel
            self.first = len(self.context.response.messages)
            self.notices = self.context.response.notices
            self.waits = self.context.response.limit_waits

    @property
    def is_running(self) -> bool:
        return self.context is not None

    @property
    def size(self) -> int:
        return len(self.packed)

    @property
    def message_ids(self) -> tuple[int, ...]:
        if self.context is None:
            return self.sent
        messages = self.context.response.messages[self.first :]
        return tuple(one.id for one in messages if one.id is not None)

    @property
    def notice_ids(self) -> tuple[int, ...]:
        return tuple(one.id for one in self.notices if one.id is not None)

    def hear(self, heard: HeardStream) -> None:
        if not self.is_running or len(self.heard) >= MOST_CHUNKS:
            return
        self.heard.append(heard)
        content = heard.chunk.content if heard.chunk is not None else ""
        self.chunks += heard.chunk is not None
        self.characters += len(content)
        if len(self.said) < PREVIEW:
            self.said += content[:PREVIEW]

    def end(self, now_s: float, result: StreamResult | None, masker: SecretMasker) -> None:
        """End the stream: turn the recorded chunks into a scene, and release the turn."""
        self.ended_s = now_s
        if result is not None:
            self.status, self.stop_reason = result.status, result.stop_reason
            self.said = result.accumulated_text[:PREVIEW] or self.said
            self.error = masker.text(_told(result.data))
        document = self._heard_as_scene(masker, self._last_step())
        self.said = masker.text(self.said)
        self.packed = zlib.compress(json.dumps(document, default=str).encode())
        self.sent = self.message_ids
        self.heard, self.context = [], None

    def document(self, now_s: float, masker: SecretMasker) -> Json:
        if self.is_running:
            return self._heard_as_scene(masker, NOW, now_s)
        loaded: Json = json.loads(zlib.decompress(self.packed))
        return loaded

    def summary(self, now_s: float) -> Json:
        persona = self.frame.config.text.persona
        until_s = now_s if self.ended_s is None else self.ended_s
        return {
            "id": self.id,
            "channel": self.channel,
            "persona": persona.name if persona else "",
            "provider": self.provider,
            "model": self.model,
            "began": self.began.isoformat(),
            "running": self.is_running,
            "status": self.status,
            "stop_reason": self.stop_reason,
            "said": self.said[:PREVIEW],
            "characters": self.characters,
            "chunks": self.chunks,
            "degree": self.frame.config.text.humanizer_degree,
            "duration_ms": round((until_s - self.began_s) * 1000),
            "messages": [str(number) for number in self.message_ids],
            "notices": [str(number) for number in self.notice_ids],
            "turn": self.turn,
            "error": self.error,
        }

    def _last_step(self) -> str:
        """Return the step that makes the scene end as the stream did."""
        if self.status == "follow_up_interrupt":
            return "follow_up"
        by_request = self.stop_reason in ("user_request", "system_request")
        return "stop" if by_request else ""

    def _heard_as_scene(self, masker: SecretMasker, last: str, now_s: float | None = None) -> Json:
        heard = self.heard
        if last and heard and heard[-1].chunk is None:
            # The silence of a stream that was cut off ends when it was cut, not a second later.
            heard = heard[:-1]
        document = scene_of(heard, self.frame, masker)
        if last:
            until_s = now_s if now_s is not None else self.ended_s or self.began_s
            passed_ms = round(sum(one.silence_ms for one in heard))
            left_ms = round((until_s - self.began_s) * 1000) - passed_ms
            waits = [{"type": "wait", "ms": left_ms}] if left_ms > 0 else []
            document["chunks"] += [*waits, {"type": last}]
        return document


def _told(data: object) -> str:
    """Describe the error that ended a stream; empty if none did."""
    if isinstance(data, ProviderError):
        return f"{data.type.replace('_', ' ')}: {data.message}" if data.message else data.type
    return str(data) if isinstance(data, Exception) else ""
