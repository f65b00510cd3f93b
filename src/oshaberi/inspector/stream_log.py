"""Keeps the newest streams of a running bot as scenes; running streams can be viewed, too.

It is a `StreamObserver`. The scenes are masked like every recording, and their size is limited.
"""

from __future__ import annotations

import itertools
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from oshaberi.delivery.stream_config import StreamConfig
from oshaberi.inspector.logged_stream import LoggedStream
from oshaberi.recording import HeardStream, SceneFrame, SecretMasker, StreamRecorder, secrets_in
from oshaberi.stream.provider_protocol import Provider
from oshaberi.stream.stream_context import StreamContext
from oshaberi.stream.stream_result import StreamResult

MOST_STREAMS = 200
MOST_BYTES = 16 * 1024 * 1024
TELL_S = 0.2
"""The pause between two reports to the listeners while a stream runs."""

Json = dict[str, Any]
Listener = Callable[[Json], None]


def _utc_now() -> datetime:
    return datetime.now(UTC)


class StreamLog:
    """Keeps the last `most` streams. `clock` is in seconds, for how long a stream has run."""

    def __init__(
        self,
        most: int = MOST_STREAMS,
        *,
        most_bytes: int = MOST_BYTES,
        masker: SecretMasker | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = _utc_now,
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

    # -- what the turns tell --------------------------------------------------------------------

    def opened(self, provider: Provider, config: StreamConfig, context: StreamContext) -> Provider:
        self._abandon(context)
        at = self._now()
        answers = context.reply_to and not context.response.replied
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

    # -- who looks ------------------------------------------------------------------------------

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
