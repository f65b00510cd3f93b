"""Describes one stream, from its tokens to its messages, as one JSON object."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any, NamedTuple

from oshaberi import Decision, Message, Table, Withheld
from oshaberi.chunks import Chunk
from oshaberi.delivery.attachments import PackagedRenderer
from oshaberi.events import Span
from oshaberi.inspector.decisions import CAPTURED, STATUS, STOPS
from oshaberi.inspector.engine_recorder import EngineRecorder, Entry
from oshaberi.inspector.message_origins import MessageOrigins, holds_in
from oshaberi.render.grid import Picture
from oshaberi.scenes import Scene, parse_scene
from oshaberi.scenes.playback import PlayedScene, perform
from oshaberi.stream.provider_protocol import Silence, Step, Stop
from oshaberi.text.atoms import code_limit
from oshaberi.text.captured_blocks import Capture, Captured, StrayClose
from oshaberi.text.config import TextConfig
from oshaberi.text.engine import prefill_of
from oshaberi.text.intake import CharacterIntake

# Maps positions in the visible text (V) back to the raw stream.
#
# It runs the engine's own intake, prefill and capture again, and notes which characters pass.


NOWHERE = -1
"""The position of a character that is not in the raw stream: of a prefill, or a space at a seam."""

Place = tuple[int, int, int]


class TakenOut(NamedTuple):
    """A captured block, and its stretch of the raw text, tags included."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class VisibleTextOrigin:
    """`text` is V; `places[i]` is the position of its character `i` in `raw`."""

    raw: str
    text: str
    places: tuple[int, ...]
    taken: tuple[TakenOut, ...]

    def runs(self) -> list[Place]:
        """Return the places as runs (in V, in raw, length), for drawing."""
        runs: list[Place] = []
        for at, place in enumerate(self.places):
            if place == NOWHERE:
                continue
            if runs and runs[-1][0] + runs[-1][2] == at and runs[-1][1] + runs[-1][2] == place:
                runs[-1] = (*runs[-1][:2], runs[-1][2] + 1)
            else:
                runs.append((at, place, 1))
        return runs


def plain_pieces(pieces: Sequence[str]) -> list[str]:
    """Return the pieces with one kind of newline and whole characters, as the engine reads."""
    intake = CharacterIntake()
    plain = [intake.feed(piece) for piece in pieces]
    return [*plain[:-1], plain[-1] + intake.finish()] if plain else []


def source_of(raw: str, config: TextConfig, took_back: Callable[[str], bool]) -> VisibleTextOrigin:
    """Map V to `raw`. `took_back`: the engine took back visible text (spec 05 C3)."""
    head, places = _past_prefill(raw, config)
    capturing = _Capturing(config, head, took_back)
    capturing.run()
    taken = [TakenOut(one.text, _moved(one.span, places, len(raw))) for one in capturing.taken]
    back = tuple(NOWHERE if at == NOWHERE else places[at] for at in capturing.places)
    return VisibleTextOrigin(raw, "".join(capturing.shown), back, tuple(taken))


def _moved(span: Span, places: Sequence[int], end: int) -> Span:
    found = [place for place in places[span[0] : span[1]] if place != NOWHERE]
    return (found[0], found[-1] + 1) if found else (end, end)


def _past_prefill(raw: str, config: TextConfig) -> tuple[str, Sequence[int]]:
    """Remove the prefill's echo and insert the prefill. Return the text and its positions."""
    prefill = prefill_of(config)
    if prefill is None:
        return raw, range(len(raw))
    text = prefill.feed(raw) + prefill.finish()
    before = _shared(raw, text)
    most = min(len(raw), len(text)) - before
    after = min(_shared(raw[::-1], text[::-1]), most)
    inside = [NOWHERE] * (len(text) - before - after)
    return text, [*range(before), *inside, *range(len(raw) - after, len(raw))]


def _shared(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


class _Capturing:
    """Runs the capture character by character, to see which characters it lets pass."""

    def __init__(self, config: TextConfig, text: str, took_back: Callable[[str], bool]) -> None:
        self.shown: list[str] = []
        self.places: list[int] = []
        self.taken: list[TakenOut] = []
        self._text = text
        self._took_back = took_back
        self._read = 0
        self._capture = Capture(code_limit(config.hold_limit), config.starts_in_thought)

    def run(self) -> None:
        for fed, letter in enumerate(self._text, start=1):
            self._pass(self._capture.feed(letter), fed)
        self._pass(self._capture.finish(), len(self._text))

    def _pass(self, found: Iterator[Captured], fed: int) -> None:
        """Do one step. Blocks get their positions at its end, when its length is known."""
        shown = ""
        blocks: list[tuple[str, int]] = []
        for one in found:
            if isinstance(one, str):
                shown += one
            elif not isinstance(one, StrayClose):
                blocks.append((one.text, len(shown)))
            elif self._takes_back(shown):
                self._capture.forget()
                blocks.append((("".join(self.shown) + shown).strip(), 0))
                self.shown, self.places, shown = [], [], ""
        until = fed - self._capture.held
        places = self._aligned(shown, until)
        for text, at in blocks:
            end = next((place for place in places[at:] if place != NOWHERE), until)
            self.taken.append(TakenOut(text, (self._last_end(places[:at]), end)))
        self.shown.append(shown)
        self.places += places
        self._read = until

    def _aligned(self, shown: str, until: int) -> list[int]:
        stretch = self._text[self._read : until]
        if shown == stretch:
            return list(range(self._read, until))
        return [at if at == NOWHERE else self._read + at for at in _aligned(shown, stretch)]

    def _last_end(self, places: list[int]) -> int:
        known = (at + 1 for at in (*reversed(places), *reversed(self.places)) if at != NOWHERE)
        return max(next(known, 0), self.taken[-1].span[1] if self.taken else 0)

    def _takes_back(self, shown: str) -> bool:
        text = "".join(self.shown) + shown
        return not text.strip() or self._took_back(text)


def _aligned(shown: str, stretch: str) -> list[int]:
    """Return the position in the stretch of each character that passed."""
    places = [NOWHERE] * len(shown)
    for match in SequenceMatcher(None, stretch, shown, autojunk=False).get_matching_blocks():
        for nth in range(match.size):
            places[match.b + nth] = match.a + nth
    return places


# Describes one stream, from its tokens to its messages, as one JSON object.
#
# Pure: the recorded stream runs once more, in virtual time, through the real pipeline. That needs
# its own event loop: call it in a thread if a loop is running.


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
            yield from ({**said, "at_ms": at_ms} for said in _chunk_parts(step))
        else:
            yield {"kind": "stop" if isinstance(step, Stop) else "follow_up", "at_ms": at_ms}


def _chunk_parts(chunk: Chunk) -> Iterator[Json]:
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
