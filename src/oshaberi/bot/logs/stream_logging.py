"""Follows every stream: gives its lines an id and, at DEBUG, logs each step from chunk to message.

Without DEBUG it only adds the id.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Literal

from oshaberi.bot.logs.log_lines import stream_id
from oshaberi.chunks import Chunk
from oshaberi.delivery.config import StreamConfig
from oshaberi.stream.context import StreamContext
from oshaberi.stream.observers import listen
from oshaberi.stream.provider_protocol import Provider, WrappedProvider
from oshaberi.stream.result import StreamResult
from oshaberi.terminal_output import counted
from oshaberi.text.decision_observer import Decision

log = logging.getLogger("oshaberi.stream")

LONGEST = 200


class StreamLogger:
    """A `StreamObserver` that logs. One object serves all streams of a process."""

    def __init__(self) -> None:
        self._undo: dict[str, Callable[[], None]] = {}
        self._around: dict[str, str] = {}
        """The id that lines had before a stream began, by the stream's own id."""

    def opened(self, provider: Provider, config: StreamConfig, context: StreamContext) -> Provider:
        key = context.response.key
        self._around[key] = stream_id.get()
        stream_id.set(key)
        degree = config.text.humanizer_degree
        log.debug("begins: %s %s, degree %d", provider.name, provider.model, degree)
        if not log.isEnabledFor(logging.DEBUG):
            return provider
        self._undo[key] = _follow(context)
        return _LoggedChunks(provider)

    def ended(self, context: StreamContext, result: StreamResult) -> None:
        undo = self._undo.pop(context.response.key, None)
        if undo is not None:
            undo()
        why = f" ({result.stop_reason})" if result.stop_reason else ""
        numbers = result.metrics
        log.debug(
            "ends: %s%s, %s from %s in %.1f s",
            *(result.status, why),
            *(counted(numbers.messages, "message"), counted(numbers.chunks, "chunk")),
            numbers.duration_ms / 1000,
        )
        stream_id.set(self._around.pop(context.response.key, ""))


def _follow(context: StreamContext) -> Callable[[], None]:
    """Log decisions and sent messages until the returned function is called."""
    before = context.progress
    logged = context.response.sent

    def progress(what: Literal["chunk", "sent"]) -> None:
        nonlocal logged
        if what == "sent":
            _tell_sent(context, logged)
            logged = context.response.sent
        if before is not None:
            before(what)

    context.progress = progress
    leave = listen(context, _tell_decision)

    def undo() -> None:
        leave()
        if context.progress is progress:
            context.progress = before

    return undo


def _tell_sent(context: StreamContext, logged: int) -> None:
    """Log the last message as sent, or as edited if the number of messages did not grow."""
    response = context.response
    sent = response.messages[-1]
    what = "sent" if response.sent > logged else "edited"
    log.debug("%s message %d: id %s by %s", what, response.sent, sent.id, sent.via)


def _tell_decision(decision: Decision) -> None:
    before, after = _short(decision.before), _short(decision.after)
    match decision.kind, decision.why:
        case "boundary", why:
            log.debug("flush at %d (%s): %s", decision.at, why, after)
        case "transform", "humanize":
            log.debug("humanised from %s to %s", before, after)
        case "transform", "emoji_repeats":
            log.debug("unique emoji: from %s to %s", before, after)
        case "orphan", "put in front":
            log.debug("orphan prepended: %s to %s", before, after)
        case "orphan", why:
            log.debug("orphan %s: %s", "released" if why == "released" else "held", after)
        case "transform", why:
            log.debug("%s: from %s to %s", why, before, after)
        case kind, why:
            log.debug("%s at %d (%s): %s %s", kind, decision.at, why, decision.what, before)


def _short(text: str) -> str:
    return repr(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")


class _LoggedChunks(WrappedProvider):
    """Wraps a provider and logs each chunk."""

    def __init__(self, provider: Provider) -> None:
        super().__init__(provider)
        self._count = 0

    def normalise(self, raw: Any) -> Chunk | None:
        chunk = self._provider.normalise(raw)
        if chunk is not None:
            self._count += 1
            _tell_chunk(self._count, chunk)
        return chunk


def _tell_chunk(number: int, chunk: Chunk) -> None:
    parts = [_short(chunk.content)] if chunk.content else []
    parts += [f"thought {_short(part.text)}" for part in chunk.thoughts]
    parts += [f"calls {call.name}" for call in chunk.calls]
    parts += [f"finish reason {chunk.finish_reason}"] if chunk.finish_reason else []
    parts += [f"{chunk.error.type}: {_short(chunk.error.message)}"] if chunk.error else []
    log.debug("chunk %d (%s): %s", number, chunk.type, "; ".join(parts))
