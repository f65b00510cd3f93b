"""What a model sends: each chunk is noted, its thoughts are kept, its text feeds the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from oshaberi.chunks import Chunk, ThoughtKind, ThoughtPart, Usage
from oshaberi.delivery.deliverer import Deliverer
from oshaberi.delivery.ledger import Ledger
from oshaberi.events import Details, Event, Message, SpeakerStop, Table, Thought, Withheld
from oshaberi.stream.context import StreamTextEngine
from oshaberi.stream.time_limits import ThinkingLimit

# Cuts off text that a provider repeats at the start of a chunk (spec 05, re-emission).
#
# It depends on chunks, so it comes before the engine, and only if it is asked for.


class Reemission:
    """Remembers the end of the text so far."""

    def __init__(self, min_chars: int, tail_chars: int) -> None:
        self._min = min_chars
        self._most = tail_chars
        self._tail = ""

    def fresh(self, chunk: str) -> str:
        """Return the part of the chunk that is new."""
        rest = chunk[self._repeated(chunk) :]
        self._tail = (self._tail + rest)[-self._most :]
        return rest

    def _repeated(self, chunk: str) -> int:
        length = overlap(self._tail, chunk) if len(chunk) >= self._min else 0
        return length if length >= self._min else 0


def overlap(tail: str, chunk: str) -> int:
    """Return the length of the longest suffix of `tail` that `chunk` starts with. Linear time."""
    size = min(len(tail), len(chunk))
    if size == 0:
        return 0
    borders = _borders(chunk[:size])
    matched = 0
    for letter in tail[-size:]:
        if matched == size:
            matched = borders[matched - 1]
        while matched and chunk[matched] != letter:
            matched = borders[matched - 1]
        if chunk[matched] == letter:
            matched += 1
    return matched


def _borders(text: str) -> list[int]:
    """Return, for each prefix, the length of its longest proper suffix that is also a prefix."""
    borders = [0] * len(text)
    matched = 0
    for at in range(1, len(text)):
        while matched and text[matched] != text[at]:
            matched = borders[matched - 1]
        if text[matched] == text[at]:
            matched += 1
        borders[at] = matched
    return borders


# Collects the model's thoughts: pieces from chunks become segments, captured blocks are whole.


@dataclass(frozen=True, slots=True)
class ThoughtLog:
    """The model's thoughts in one stream. Never part of the reply or the memory (O6)."""

    parts: tuple[ThoughtPart, ...] = ()
    provider: str | None = None
    model: str | None = None
    duration_ms: int = 0
    first_reply_url: str | None = None

    @property
    def texts(self) -> list[str]:
        return [part.text for part in self.parts]

    def of_kind(self, kind: ThoughtKind) -> list[str]:
        return [part.text for part in self.parts if part.kind == kind]


class ThoughtCollector:
    """Joins neighbouring pieces of one kind until something else comes.

    A piece without text and signature separates the pieces before and after it.
    """

    def __init__(self) -> None:
        self._parts: list[ThoughtPart] = []
        self._pieces: list[ThoughtPart] = []

    def piece(self, part: ThoughtPart) -> None:
        divides = not part.text and part.signature is None
        if divides or (self._pieces and self._pieces[-1].kind != part.kind):
            self.interrupt()
        if not divides:
            self._pieces.append(part)

    def block(self, text: str) -> None:
        """Add a complete captured block."""
        self.interrupt()
        self._parts.append(ThoughtPart(text))

    def interrupt(self) -> None:
        """End the segment, because visible text came."""
        if not self._pieces:
            return
        text = "".join(piece.text for piece in self._pieces).strip()
        signatures = [p.signature for p in self._pieces if p.signature is not None]
        if text or signatures:
            signature = signatures[-1] if signatures else None
            self._parts.append(replace(self._pieces[0], text=text, signature=signature))
        self._pieces = []

    def parts(self) -> tuple[ThoughtPart, ...]:
        self.interrupt()
        return tuple(self._parts)


# Takes a stream's chunks one by one: notes what they say, feeds the text engine, queues messages.
#
# Runs once per token, so it makes no task, timer or coroutine and touches few objects: with a
# thousand streams, none of them is in the processor's cache. It is compiled in a compiled build.


SLICE = 4096
"""The engine is fed at most so much at a time, so that a stop never waits for it (spec 04 O1)."""


class ModelOutput:
    """What is known about the output of one stream's model."""

    def __init__(
        self,
        engine: StreamTextEngine,
        deliverer: Deliverer,
        ledger: Ledger,
        thinking: ThinkingLimit,
        dedup: Reemission | None,
        on_chunk: Callable[[], None] | None,
    ) -> None:
        self.thoughts = ThoughtCollector()
        self.details: list[str] = []
        self.finish_reason: str | None = None
        self.usage: Usage | None = None
        self.continuation_prefill: str | None = None
        self.first_token_at: float | None = None
        """When the first words, thoughts or calls came."""
        self.last_chunk_at = 0.0
        self.chunks = 0
        self.characters = 0
        self.stopped = False
        """Nothing more is taken."""
        self.engine_open = True
        self.guarded = False
        """The speaker guard ended the text."""
        self.thinks_too_long = False
        self.is_ahead = False
        """The queue is full: wait for room before the next chunk."""
        self._engine = engine
        self._deliverer = deliverer
        self._ledger = ledger
        self._thinking = thinking
        self._dedup = dedup
        self._on_chunk = on_chunk
        self._shows_unfinished = deliverer.shows_unfinished
        self._has_thoughts = False
        self._only_thinks = False
        self._large = ""
        self._fed = 0

    def take(self, chunk: Chunk, now: float) -> bool:
        """Take a chunk. Return whether the reader can simply go on to the next one.

        If not: it was not taken because of a stop, or its text is too large to be fed at once
        (`has_slices`), or it was the last, or one of `guarded`, `thinks_too_long` and `is_ahead`
        became true.
        """
        if self.stopped:
            return False
        kind, text, calls, _, thoughts, finish_reason, usage, prefill, links = chunk
        self.last_chunk_at = now
        self.chunks += 1
        if self.first_token_at is None and (text or thoughts or calls):
            self.first_token_at = now
        if self._on_chunk is not None:
            self._on_chunk()
        if thoughts:
            self._has_thoughts = True
            for part in thoughts:
                self.thoughts.piece(part)
        if self._dedup is not None:
            text = self._dedup.fresh(text)
        if finish_reason or usage or prefill:
            self.finish_reason = finish_reason or self.finish_reason
            self.usage = usage or self.usage
            self.continuation_prefill = prefill or self.continuation_prefill
            text += links
        if len(text) > SLICE:
            self._large, self._fed = text, 0
            return False
        if text:
            self.feed(text)
        if kind == "text":
            self._limit_thinking(text, now)
        elif kind != "done":
            return False
        return not (self.guarded or self.thinks_too_long or self.is_ahead)

    def feed(self, text: str) -> None:
        """Feed text to the engine and queue the messages it completes."""
        if self._has_thoughts:
            self._has_thoughts = False
            self.thoughts.interrupt()
        self.characters += len(text)
        events = self._engine.feed(text)
        if self._shows_unfinished:
            self._deliverer.text_came()
        if events:
            self._queue(events)

    @property
    def has_slices(self) -> bool:
        """Return whether a part of a large chunk has not been fed."""
        return self._fed < len(self._large)

    def next_slice(self) -> str:
        """Return the next slice of a large chunk; empty when all was fed."""
        start = self._fed
        self._fed += SLICE
        return self._large[start : self._fed]

    def after_slices(self, now: float) -> None:
        """Apply the time limit to a large chunk that has been fed."""
        self._limit_thinking(self._large, now)

    def finish(self) -> None:
        """End the text."""
        self._end_with(self._engine.finish())

    def flush_for_call(self) -> None:
        """End the text, because the model asks for a tool."""
        self._end_with(self._engine.flush("tool_call"))

    def sorted(self, events: Iterable[Event]) -> list[Message | Table]:
        """Store each event, and return those to be sent."""
        messages: list[Message | Table] = []
        for event in events:
            if isinstance(event, (Message, Table)):
                messages.append(event)
            elif isinstance(event, Thought):
                self.thoughts.block(event.text)
            elif isinstance(event, Details):
                self.details.append(event.text)
            elif isinstance(event, Withheld):
                self._ledger.withhold(event)
            elif isinstance(event, SpeakerStop):
                self.guarded = True
        return messages

    def _limit_thinking(self, text: str, now: float) -> None:
        """Note whether a chunk's text can be seen: it is not captured, blank, or only a tag."""
        if not self._engine.captures and (
            text[-1:].isalnum() or text[text.rfind(">") + 1 :].strip()
        ):
            if self._only_thinks:
                self._only_thinks = False
                self._thinking.restart()
            return
        self._only_thinks = True
        self.thinks_too_long = self._thinking.passed(now)

    def _end_with(self, last: Iterable[Event]) -> None:
        self.engine_open = False
        self._queue(last)

    def _queue(self, events: Iterable[Event]) -> None:
        messages = self.sorted(events)
        if messages:
            self._deliverer.add(messages)
            self.is_ahead = self._deliverer.queue.full
