"""Describes one stream, from its tokens to its messages, as one JSON object.

Pure: the recorded stream runs once more, in virtual time, through the real pipeline. That needs its
own event loop: call it in a thread if a loop is running.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from oshaberi import Decision, Message, Table, Withheld
from oshaberi.chunks import Chunk
from oshaberi.delivery.queue.table_attachments import PackagedRenderer
from oshaberi.events import Span
from oshaberi.inspector.decision_words import CAPTURED, STATUS, STOPS
from oshaberi.inspector.engine_recorder import EngineRecorder, Entry
from oshaberi.inspector.hold_times import holds_in
from oshaberi.inspector.message_origins import MessageOrigins
from oshaberi.inspector.raw_stream_positions import VisibleTextOrigin, plain_pieces, source_of
from oshaberi.render.render_result import Picture
from oshaberi.scenes import Scene, parse_scene
from oshaberi.scenes.scene_playback import PlayedScene, perform
from oshaberi.stream.provider_protocol import Silence, Step, Stop

Json = dict[str, Any]


class _Renderer(PackagedRenderer):
    """Draws each table once, however often its stream is viewed."""

    def pictures(self, table: Table) -> list[Picture]:
        return list(_pictures(table))


@lru_cache(maxsize=64)
def _pictures(table: Table) -> tuple[Picture, ...]:
    return tuple(PackagedRenderer().pictures(table))


def trace(document: Mapping[str, Any]) -> Json:
    """Return the trace of the stream that a scene document describes (spec 10, 11)."""
    scene = parse_scene(dict(document), "the stream")
    observers: list[EngineRecorder] = []

    def observed(config: Any, carried: Any) -> EngineRecorder:
        loop = asyncio.get_running_loop()
        observers.append(EngineRecorder(config, carried, loop.time))
        return observers[-1]

    played = perform(scene, make_engine=observed, renderer=_Renderer())
    return _Trace(scene, played, observers[0]).as_json()


def replayed(document: Mapping[str, Any], degree: int) -> list[Json]:
    """Return the messages that the same stream becomes at another degree."""
    config = {**document.get("config", {}), "humanizer_degree": degree}
    messages: list[Json] = trace({**document, "config": config})["messages"]
    return messages


class _Trace:
    def __init__(self, scene: Scene, played: PlayedScene, observer: EngineRecorder) -> None:
        self._scene = scene
        self._played = played
        self._entries = [
            (e, _ms(at)) for e, at in zip(observer.entries, observer.times, strict=True)
        ]
        self._fed_at = [_ms(fed.at) for fed in observer.fed]
        self._pieces = plain_pieces([fed.text for fed in observer.fed])
        self._holds = holds_in(self._entries)
        self._source = self._find_source()

    def as_json(self) -> Json:
        posts = MessageOrigins(self._source.text, self._played, self._entries, self._holds)
        return {
            "name": self._scene.name,
            "degree": self._scene.config.text.humanizer_degree,
            "raw": self._source.raw,
            "text": self._source.text,
            "places": self._source.runs(),
            "tokens": list(self._tokens()),
            "steps": list(_steps(self._scene.steps)),
            "messages": posts.messages(),
            "lost": posts.lost(),
            "withheld": posts.withheld(),
            "holds": [asdict(hold) for hold in self._holds],
            "captured": self._captured(),
            "segments": list(_segments(self._entries, len(self._source.text))),
            "result": self._result(),
            "duration_ms": self._played.result.metrics.duration_ms,
        }

    def _find_source(self) -> VisibleTextOrigin:
        decisions = [entry for entry, _ in self._entries if isinstance(entry, Decision)]
        retracted = any(d.kind == "capture" and d.why == "stray close" for d in decisions)
        raw = "".join(self._pieces)
        return source_of(raw, self._scene.config.text, lambda _text: retracted)

    def _tokens(self) -> Iterator[Json]:
        end = 0
        for piece, at_ms in zip(self._pieces, self._fed_at, strict=True):
            start, end = end, end + len(piece)
            yield {"at_ms": at_ms, "span": [start, end]}

    def _captured(self) -> list[Json]:
        """Return the captured blocks in the order of the text, with place, time and reason."""
        decided = [
            (entry, at_ms)
            for entry, at_ms in self._entries
            if isinstance(entry, Decision) and entry.kind == "capture"
        ]
        spans = {one.text: one.span for one in self._source.taken}
        return [
            {
                "kind": entry.why,
                "text": entry.before,
                "why": CAPTURED.get(entry.why, entry.why),
                "at_ms": at_ms,
                "raw": spans.get(entry.before),
            }
            for entry, at_ms in decided
        ]

    def _result(self) -> Json:
        result = self._played.result
        because = f" {STOPS[result.stop_reason]}" if result.stop_reason else ""
        return result.as_record() | {
            "told": STATUS[result.status] + because,
            "sums": result.ledger.sums(),
        }


def _steps(steps: Sequence[Step]) -> Iterator[Json]:
    """Yield everything but text, with the time in the recording."""
    at_ms = 0
    for step in steps:
        if isinstance(step, Silence):
            at_ms += step.ms
        elif isinstance(step, Chunk):
            yield from ({**said, "at_ms": at_ms} for said in _said(step))
        else:
            yield {"kind": "stop" if isinstance(step, Stop) else "follow_up", "at_ms": at_ms}


def _said(chunk: Chunk) -> Iterator[Json]:
    for part in chunk.thoughts:
        yield {"kind": "thought", "text": part.text}
    for call in chunk.calls:
        yield {"kind": "call", "text": call.name, "args": dict(call.args)}
    if chunk.error is not None:
        yield {"kind": "error", "text": f"{chunk.error.type}: {chunk.error.message}"}
    if chunk.type == "done":
        yield {"kind": "done", "text": chunk.finish_reason or ""}


def _segments(entries: Sequence[tuple[Entry, int]], length: int) -> Iterator[Json]:
    """Yield the segments. Each character of V is in one; final white space is in the last."""
    kinds: dict[Span, str] = {}
    for entry, _ in entries:
        if isinstance(entry, Message | Table):
            kinds[entry.span] = "message"
        elif isinstance(entry, Withheld):
            kinds.setdefault(entry.span, "withheld")
    end = 0
    for span in sorted(kinds):
        yield {"span": span, "kind": kinds[span]}
        end = span[1]
    if end < length:
        yield {"span": (end, length), "kind": "blank"}


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
