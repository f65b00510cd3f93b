"""What a model sends: each chunk is noted, its thoughts are kept, its text feeds the engine.

`ModelOutput` returns what is to be delivered; it sends nothing. It runs once per token, so it makes
no task or timer and touches few objects: with a thousand streams, none of them is in the
processor's cache. It is compiled in a compiled build.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from oshaberi.chunks import AnswerFile, Chunk, ThoughtKind, ThoughtPart, Usage
from oshaberi.delivery.ledger import Deliverable
from oshaberi.events import (
    Attachment,
    Details,
    Event,
    Message,
    SpeakerStop,
    Table,
    Thought,
    Withheld,
)
from oshaberi.stream.context import StreamTextEngine
from oshaberi.text.silence import FirstWords, SilenceMarkerFilter

SLICE = 4096
"""The engine is fed at most this much at a time, so that a stop never waits for it (spec 04 O1)."""
HALF_CLAUSE, REPLACED = "incomplete_clause", "follow_up"
"""Why the engine withholds text that would have been sent if the stream had not been cut."""


class Reemission:
    """Cuts off text that a provider repeats at the start of a chunk (spec 05, re-emission).

    It depends on chunks, so it comes before the engine, and only if it is asked for.
    """

    def __init__(self, min_chars: int, tail_chars: int) -> None:
        self._min = min_chars
        self._most = tail_chars
        self._tail = ""

    def new_part(self, chunk: str) -> str:
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
    """Collects thoughts: joins neighbouring pieces of one kind until something else comes.

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


EndWay = Literal["finish", "tool_call", "stop", "trim", "only_whole", "discard"]


@dataclass(frozen=True, slots=True)
class CutText:
    """What the engine still held when its text was ended early."""

    events: list[Deliverable] = field(default_factory=list)
    cut: list[Withheld] = field(default_factory=list)
    """What would have been sent if the stream had not been cut."""
    only_buffer: bool = True
    """Whether that was only the engine's buffer, and not the rest of a large chunk too."""


class ModelOutput:
    """What is known about the output of one stream's model.

    `on_chunk` is called for each chunk, `on_text` for each piece of text, `on_first_words` once.
    """

    def __init__(
        self,
        engine: StreamTextEngine,
        max_thinking_ms: int,
        *,
        dedup: Reemission | None = None,
        silence: SilenceMarkerFilter | None = None,
        on_text: Callable[[], None] | None = None,
        on_first_words: Callable[[], None] | None = None,
        on_chunk: Callable[[], None] | None = None,
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
        self.guarded = False
        """The speaker guard ended the text."""
        self.thinks_too_long = False
        self.silence = silence
        self._ready: list[Deliverable] = []
        self._files: list[AnswerFile] = []
        self._engine = engine
        self._is_open = True
        self._most_thinking_s = max_thinking_ms / 1000
        self._thinks_since: float | None = None
        self._dedup = dedup
        self._on_text = on_text
        self._on_first_words = on_first_words
        self._first_words = None if on_first_words is None else FirstWords()
        self._on_chunk = on_chunk
        self._has_thoughts = False
        self._large = ""
        self._fed = 0

    def take(self, chunk: Chunk, now: float) -> bool:
        """Take a chunk. Return whether the reader can simply go on to the next one.

        If not: it was not taken because of a stop, or its text is too large to be fed at once
        (`has_slices`), or it was the last, or something can be delivered (`take_ready`), or one of
        `guarded` and `thinks_too_long` became true.
        """
        if self.stopped:
            return False
        kind, text, calls, _, thoughts, finish_reason, usage, prefill, links, files = chunk
        self.last_chunk_at = now
        self.chunks += 1
        if self.first_token_at is None and (text or thoughts or calls):
            self.first_token_at = now
        if self._on_chunk is not None:
            self._on_chunk()
        if thoughts or files:
            self._take_beside_text(thoughts, files)
        if self._dedup is not None:
            text = self._dedup.new_part(text)
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
            if not text or ">" in text or text.isspace() or self._engine.captures:
                self._limit_thinking(text, now)
            else:
                self._thinks_since = None  # the usual case
        elif kind != "done":
            return False
        return not (self._ready or self.guarded or self.thinks_too_long)

    def _take_beside_text(
        self, thoughts: Iterable[ThoughtPart], files: Iterable[AnswerFile]
    ) -> None:
        for part in thoughts:
            self._has_thoughts = True
            self.thoughts.piece(part)
        self._files += files

    def feed(self, text: str) -> None:
        """Feed text to the engine. What it completes is ready to be taken."""
        if self._has_thoughts:
            self._has_thoughts = False
            self.thoughts.interrupt()
        self.characters += len(text)
        if self.silence is not None:
            text = self.silence.feed(text)
        if self._first_words is None:
            events = self._engine.feed(text)
        else:
            events = self._feed_engine(text) if text else ()
        if self._on_text is not None:
            self._on_text()
        if events:
            self._ready += self._sort(events)

    def take_ready(self) -> list[Deliverable]:
        """Return what can be delivered, once."""
        ready, self._ready = self._ready, []
        return ready

    @property
    def has_slices(self) -> bool:
        """Whether a part of a large chunk has not been fed."""
        return self._fed < len(self._large)

    def next_slice(self) -> str:
        """Return the next slice of a large chunk; empty when all was fed."""
        start = self._fed
        self._fed += SLICE
        return self._large[start : self._fed]

    def after_slices(self, now: float) -> None:
        """Apply the time limit to a large chunk that has been fed."""
        self._limit_thinking(self._large, now)

    def finish(self) -> list[Deliverable]:
        """End the text. Return what is left of it."""
        self._is_open = False
        return [*self._sort(self._end("finish")), *self._attachments()]

    def flush_for_call(self) -> list[Deliverable]:
        """End the text, because the model asks for a tool. Return what is left of it."""
        self._is_open = False
        return [*self._sort(self._end("tool_call")), *self._attachments()]

    def _attachments(self) -> list[Deliverable]:
        """Return the pictures and sounds of the answer, once. They come after its text."""
        files, self._files = self._files, []
        return [
            Attachment(f"[{one.name}]", "attachment", name=one.name, content=one.content)
            if one.content
            else Message(f"[{one.name}: it cannot be shown here]", "attachment")
            for one in files
        ]

    # -- the end before the model has ended: a stop, a follow-up, the end of the process ----------

    async def cut_for_stop(self, *, trim: bool = False) -> CutText:
        """End the text because of a stop; with `trim`, at a clause."""
        return await self._cut("trim" if trim else "stop", HALF_CLAUSE)

    async def cut_at_boundary(self) -> CutText:
        """End the text because the process ends, without what may be incomplete.

        The model writes that again when the answer is continued.
        """
        return await self._cut("only_whole", "")

    async def discard(self) -> CutText:
        """Drop the text, because the user wrote again. Thoughts stay."""
        return await self._cut("discard", REPLACED)

    async def _cut(self, way: EndWay, reason: str) -> CutText:
        """End the text, unless it has ended.

        The rest of a large chunk is fed first, in slices, since the provider is being closed and
        other streams run.
        """
        if not self._is_open:
            return CutText()
        self._is_open = False
        only_buffer = not self.has_slices
        events: list[Deliverable] = []
        while text := self.next_slice():
            shown = text if self.silence is None else self.silence.feed(text)
            if shown:
                events += self._sort(self._feed_engine(shown))
            await asyncio.sleep(0)
        cut: list[Withheld] = []
        rest: list[Event] = []
        for event in self._end("finish" if self.guarded and way != "discard" else way):
            if isinstance(event, Withheld) and event.reason == reason:
                cut.append(event)
            else:
                rest.append(event)
        return CutText(events + self._sort(rest), cut, only_buffer)

    def _end(self, way: EndWay) -> Sequence[Event]:
        """End the engine. Return its last events, with what the silence filter held back."""
        engine, silence = self._engine, self.silence
        is_cut = way not in ("finish", "tool_call")
        held = "" if silence is None else silence.end(cut=is_cut)
        first = self._feed_engine(held) if held else ()
        if way == "finish":
            last = engine.finish()
        elif way == "tool_call":
            last = engine.flush("tool_call")
        elif way == "discard":
            last = engine.discard()
        else:
            trim, only_whole = way == "trim", way == "only_whole"
            last = engine.flush("stop", trim_incomplete_clause=trim, only_whole=only_whole)
        return [*first, *last, *(() if silence is None else silence.last_events())]

    # -- each event and each piece ----------------------------------------------------------------

    def _feed_engine(self, text: str) -> Sequence[Event]:
        if self._first_words is None:
            return self._engine.feed(text)
        was_captured = self._engine.captures
        events = self._engine.feed(text)
        is_captured = self._engine.captures
        if self._first_words.came_in(text, was_captured=was_captured, is_captured=is_captured):
            self._first_words = None
            if self._on_first_words is not None:
                self._on_first_words()
        return events

    def _sort(self, events: Iterable[Event]) -> list[Deliverable]:
        """Keep thoughts and details. Return what is to be delivered, or to be accounted for."""
        deliverable: list[Deliverable] = []
        for event in events:
            if isinstance(event, (Message, Table, Withheld)):
                deliverable.append(event)
            elif isinstance(event, Thought):
                self.thoughts.block(event.text)
            elif isinstance(event, Details):
                self.details.append(event.text)
            elif isinstance(event, SpeakerStop):
                self.guarded = True
        return deliverable

    def _limit_thinking(self, text: str, now: float) -> None:
        """End a model that only thinks: `max_thinking_ms` without a visible character.

        Captured blocks, blank text and tags count as thinking. It is checked when a chunk comes: a
        model that sends nothing at all is left to the inactivity timer, and a tool call that
        arrives in pieces is not thinking.
        """
        if not self._engine.captures and text[text.rfind(">") + 1 :].strip():
            self._thinks_since = None
            return
        if self._thinks_since is None:
            self._thinks_since = now
        self.thinks_too_long = now - self._thinks_since >= self._most_thinking_s

    def restart_thinking(self) -> None:
        """Start the limit of thinking again, because the model had to wait."""
        self._thinks_since = None
