"""Keeps the newest streams of a running bot as scenes; running streams can be viewed, too."""

from __future__ import annotations

import itertools
import json
import os
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from oshaberi.chunks import ProviderError
from oshaberi.clocks import utc_now
from oshaberi.delivery.config import StreamConfig
from oshaberi.delivery.response import LimitWait
from oshaberi.delivery.sink import Sent
from oshaberi.recording import (
    HeardStream,
    SceneFrame,
    SecretMasker,
    StreamRecorder,
    scene_of,
    secrets_in,
)
from oshaberi.stream.context import StreamContext
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.result import StreamResult

# One stream in the log: its chunks while it runs, its compressed scene afterwards.


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
    """The number of the response. All its streams share it: those after tools, with other keys and
    with other models."""
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
            self.error = masker.text(_describe_error(result.data))
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
        """Return the step that makes the scene end the way the stream did."""
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


def _describe_error(data: object) -> str:
    """Describe the error that ended a stream; empty if there was none."""
    if isinstance(data, ProviderError):
        return f"{data.type.replace('_', ' ')}: {data.message}" if data.message else data.type
    return str(data) if isinstance(data, Exception) else ""


# Keeps the newest streams of a running bot as scenes; running streams can be viewed, too.
#
# It is a `StreamObserver`. The scenes are masked like every recording, and their size is limited.


MOST_STREAMS = 200
MOST_BYTES = 16 * 1024 * 1024
TELL_S = 0.2
"""The pause between two reports to the listeners while a stream runs."""

Listener = Callable[[Json], None]


class StreamLog:
    """Keeps the last `most` streams. `clock` measures in seconds how long a stream runs."""

    def __init__(
        self,
        most: int = MOST_STREAMS,
        *,
        most_bytes: int = MOST_BYTES,
        masker: SecretMasker | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._masker = masker or SecretMasker(secrets_in(os.environ))
        self._clock = clock
        self._now = now
        self._numbers = itertools.count(1)
        self._turns = itertools.count(1)
        self._kept: OrderedDict[str, LoggedStream] = OrderedDict()
        self._running: dict[int, LoggedStream] = {}
        self._listeners: list[Listener] = []
        self._told_at = -TELL_S

    # -- what the turns report ------------------------------------------------------------------

    def opened(self, provider: Provider, config: StreamConfig, context: StreamContext) -> Provider:
        self._abandon(context)
        at = self._now()
        answers = context.reply_to and not context.response.voice.replied
        name = f"{context.channel} {at:%Y-%m-%d %H:%M:%S}"
        kept = LoggedStream(
            id=str(next(self._numbers)),
            context=context,
            frame=SceneFrame(name, config, answers, provider.reemits),
            provider=provider.name,
            model=provider.model,
            began=at,
            began_s=self._clock(),
            turn=self._turn_of(context),
        )
        self._kept[kept.id] = self._running[id(context)] = kept
        self._forget()
        self._tell(kept)
        return StreamRecorder(provider, lambda _heard: None, lambda heard: self._hear(kept, heard))

    def _turn_of(self, context: StreamContext) -> int:
        """Return the number of the turn, recognised by the response's list of notices."""
        notices = context.response.notices
        known = (kept.turn for kept in reversed(self._kept.values()) if kept.notices is notices)
        found = next(known, None)
        return next(self._turns) if found is None else found

    def ended(self, context: StreamContext, result: StreamResult) -> None:
        kept = self._running.pop(id(context), None)
        if kept is not None:
            kept.end(self._clock(), result, self._masker)
            self._forget()
            self._tell(kept)

    def _abandon(self, context: StreamContext) -> None:
        """End a stream of the same turn that was cancelled without a result."""
        left = self._running.pop(id(context), None)
        if left is not None:
            left.end(self._clock(), None, self._masker)

    def _hear(self, kept: LoggedStream, heard: HeardStream) -> None:
        kept.hear(heard)
        if self._clock() - self._told_at >= TELL_S:
            self._tell(kept)

    # -- readers ------------------------------------------------------------------------------

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call the listener when a stream begins, continues or ends.

        Returns a function that ends this.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def streams(self) -> list[Json]:
        """Return the summaries of the kept streams, newest first."""
        return [kept.summary(self._clock()) for kept in reversed(self._kept.values())]

    def find(self, stream: str | None = None, message: int | None = None) -> LoggedStream | None:
        """Find a stream by its id, by the id of a message it sent, or else the newest."""
        if stream is not None:
            return self._kept.get(stream)
        newest_first = reversed(self._kept.values())
        if message is None:
            return next(newest_first, None)
        known = [(kept, {*kept.message_ids, *kept.notice_ids}) for kept in newest_first]
        return next((kept for kept, ids in known if message in ids), None)

    def scene(self, kept: LoggedStream) -> Json:
        """Return the scene of a stream. If it still runs, the scene ends at this moment."""
        return kept.document(self._clock(), self._masker)

    def summary(self, kept: LoggedStream) -> Json:
        return kept.summary(self._clock())

    @property
    def size_bytes(self) -> int:
        return sum(kept.size for kept in self._kept.values())

    def _forget(self) -> None:
        """Drop the oldest: first those that ended, then those still marked as running."""
        for kept in sorted(self._kept.values(), key=lambda one: one.is_running):
            if len(self._kept) <= self._most and self.size_bytes <= self._most_bytes:
                return
            del self._kept[kept.id]
            self._running.pop(id(kept.context), None)

    def _tell(self, kept: LoggedStream) -> None:
        self._told_at = self._clock()
        summary = kept.summary(self._told_at)
        for listener in tuple(self._listeners):
            listener(summary)
