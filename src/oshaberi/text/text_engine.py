"""The text engine: feed it a stream in pieces, it returns finished messages (stages 05-07a).

Wiring only: intake, prefill, capture, boundaries, normalizers, composer. One engine, one stream.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from oshaberi.errors import EngineClosedError
from oshaberi.events import Boundary, Event, Message, SpeakerStop, Thought, Withheld
from oshaberi.text.decision_observer import Decision, Observer
from oshaberi.text.intake.captured_blocks import Capture, Captured, StrayClose
from oshaberi.text.intake.character_intake import CharacterIntake
from oshaberi.text.intake.prefill_echo import PrefillEcho
from oshaberi.text.messages.live_preview import PreviewParts, preview
from oshaberi.text.messages.message_composer import MessageComposer
from oshaberi.text.messages.message_packing import PackedPart
from oshaberi.text.normalize.names.own_labels import own_label
from oshaberi.text.normalize.normalizer_table import Normalizers, SpeakingState, cleaned_text
from oshaberi.text.normalize.segment_pieces import SegmentWork, TextPiece
from oshaberi.text.segments.open_markers import code_limit
from oshaberi.text.segments.overflow_cuts import CutWindow
from oshaberi.text.segments.segment_boundaries import SegmentBoundaries
from oshaberi.text.segments.visible_buffer import Segment
from oshaberi.text.text_config import TextConfig
from oshaberi.text.text_measure import has_visible

_BLOCK_MAY_END = re.compile(r">")
_SENTENCE_MAY_END = re.compile(r"[>.!?。．｡！？…]")
_LARGE = 4096
_SHARE = 16
_WHILE_PACKING = 64


@dataclass(frozen=True, slots=True)
class Carry:
    """What lasts from one stream of a turn to the next."""

    speaking: SpeakingState = field(default_factory=SpeakingState)
    messages: int = 0


class TextEngine:
    """`feed` text as it comes, then `finish`. `flush` and `discard` end the stream early."""

    def __init__(
        self,
        config: TextConfig | None = None,
        *,
        carried: Carry | None = None,
        observe: Callable[[Decision], None] | None = None,
    ) -> None:
        config = config or TextConfig()
        carried = carried or Carry()
        self._config = config
        observer = Observer(observe) if observe else None
        self._observer = observer
        self._intake = CharacterIntake()
        self._prefill = prefill_of(config)
        self._capture = Capture(code_limit(config.hold_limit), config.starts_in_thought)
        self._boundaries = SegmentBoundaries(config, observer, self._deliver)
        transform = observer.transform if observer else None
        self._normalizers = Normalizers(config, transform, carried.speaking)
        self._composer = MessageComposer(
            config, self._normalizers.faces, carried.messages, observer
        )
        self._begun = False  # a line was read, though nothing of it was left
        self._guarded = False
        self._closed = False
        self._pending: list[str] = []
        self._waiting = 0
        by_sentence = config.humanizer_degree == 3
        self._urgent = (_SENTENCE_MAY_END if by_sentence else _BLOCK_MAY_END).search
        self._reach = CutWindow.of(config.flush_buffer_size).limit
        self._at_least = 0
        self._at_most = self._reach

    def feed(self, text: str) -> list[Event]:
        """Take the next piece of the stream. Returns what it completed, in order."""
        if self._closed:
            raise EngineClosedError("this engine's stream has ended; make a new TextEngine")
        if not text:
            return []
        self._pending.append(text)
        self._waiting += len(text)
        # Reading in larger bites costs less and changes nothing: decisions go by position.
        newline = text.find("\n")
        if self._waiting < self._at_most:
            if newline >= 0 and text[newline:].isspace():
                self._at_most = self._at_least
                return []
            if self._waiting < self._at_least or (newline < 0 and self._urgent(text) is None):
                return []
        text = self._head(self._intake.feed(self._take_pending()))
        if self._capture.passes(text):
            self._boundaries.feed(text)
        else:
            self._read(self._capture.feed(text))
        self._set_patience()
        return self._composer.take()

    def finish(self) -> list[Event]:
        """The stream has ended: everything leaves. A second call returns nothing."""
        return self._close("final", trim=False)

    def flush(
        self,
        reason: Literal["tool_call", "stop"],
        *,
        trim_incomplete_clause: bool = False,
    ) -> list[Event]:
        """A tool call or a stop: everything leaves, and the engine is closed."""
        return self._close(reason, trim=trim_incomplete_clause)

    def discard(self) -> list[Event]:
        """A follow-up interrupt: what has not left is dropped and returned as `Withheld`."""
        if self._closed:
            return []
        self._drain()
        self._closed = True
        events = self._composer.take()
        text = self._composer.take_back() + self._boundaries.rest()
        if text.strip():
            start = self._composer.sealed
            span = (start, self._boundaries.end)
            events.append(Withheld(text.strip(), "follow_up", self._composer.next_segment(), span))
        return events

    def preview(self) -> list[Message]:
        """What could be shown now of the text that is not finished. Nothing changes here."""
        if self._closed:
            return []
        parts = PreviewParts(
            self._intake,
            self._prefill,
            self._capture,
            self._boundaries,
            self._normalizers,
            self._composer,
        )
        return preview(parts, "".join(self._pending), self._config, self._observer)

    @property
    def captures(self) -> bool:
        """A thought or a details block is open: what comes now is not visible."""
        return self._capture.captures

    def carry(self) -> Carry:
        """For the engine of the turn's next stream."""
        return Carry(self._normalizers.carry(), self._composer.count)

    # -- the way of the text --------------------------------------------------------------------

    def _take_pending(self) -> str:
        pending, self._pending, self._waiting = self._pending, [], 0
        return pending[0] if len(pending) == 1 else "".join(pending)

    def _head(self, text: str) -> str:
        return self._prefill.feed(text) if self._prefill else text

    def _drain(self) -> None:
        """The last of the stream, up to what is still open."""
        text = self._head(self._intake.feed(self._take_pending()) + self._intake.finish())
        if self._prefill:
            text += self._prefill.finish()
        self._read(self._capture.feed(text))
        self._read(self._capture.finish())

    def _close(self, reason: Boundary, trim: bool) -> list[Event]:
        if self._closed:
            return []
        self._drain()
        self._closed = True
        self._boundaries.close(reason, trim)
        self._composer.finish(reason, self._boundaries.end)
        return self._composer.take()

    def _set_patience(self) -> None:
        """How much may gather before it is read: nothing while a decision waits (L6), and a
        share of what is held where a lot is (L7)."""
        held = self._boundaries.unsent + self._capture.held
        self._at_least = _WHILE_PACKING if self._composer.packs else 0
        if held > _LARGE:
            self._at_least = held // _SHARE
        at_most = 1 if self._boundaries.waits_for_next else self._reach - held
        self._at_most = max(at_most, self._at_least, 1)

    def _read(self, captured: Iterable[Captured]) -> None:
        for found in captured:
            if isinstance(found, str):
                self._boundaries.feed(found)
            elif isinstance(found, StrayClose):
                self._take_back()
            else:
                self._composer.event(found)
                if self._observer:
                    self._observer.note("capture", type(found).__name__.lower(), found.text)

    def _take_back(self) -> None:
        """C3: nothing was sent yet, so what waits was a thought."""
        if self._composer.spoken:
            return
        text = self._composer.take_back() + self._boundaries.retract(self._composer.sealed)
        self._capture.forget()
        self._begun = False
        if text := text.strip():
            self._composer.event(Thought(text))
            if self._observer:
                self._observer.note("capture", "stray close", text)

    def _deliver(self, segment: Segment) -> None:
        if self._guarded:
            self._composer.note(segment.text, "speaker_guard", segment.end)
        elif segment.kind == "text":
            self._deliver_text(segment)
        elif segment.kind == "trimmed":
            self._composer.note(segment.text, "incomplete_clause", segment.end)
        else:
            self._deliver_block(segment)

    def _deliver_text(self, segment: Segment) -> None:
        composer = self._composer
        piece = TextPiece(segment.text, line_start=segment.line_start)
        work = SegmentWork(
            [piece], segment.ends_line, opens_response=not (composer.begun or self._begun)
        )
        self._normalizers.run(work)
        for text, reason in work.withheld:
            composer.note(text, reason, segment.end)
        gap = segment.gap
        for piece in work.pieces:
            text = piece.text.strip()
            composer.add(
                PackedPart(text, segment.boundary, segment.end, gap, piece.identity, piece.labelled)
            )
            gap = "\n"
        if not work.pieces:
            self._deliver_nothing(segment, is_noted=bool(work.withheld))
        if work.stop is not None:
            composer.event(SpeakerStop(work.stop))
            self._guarded = True

    def _deliver_nothing(self, segment: Segment, *, is_noted: bool) -> None:
        self._composer.skip(segment.gap + "\n")
        if has_visible(segment.text):
            self._begun = True
            if not is_noted:
                self._composer.note(segment.text, "break", segment.end)

    def _deliver_block(self, segment: Segment) -> None:
        identity = self._normalizers.block_identity(segment.ends_line)
        part = PackedPart(segment.text, segment.boundary, segment.end, segment.gap, identity)
        if segment.kind == "table":
            source, taken = self._normalizers.clean_table(segment.text)
            for text, reason in taken:
                self._composer.note(text, reason, segment.end)
            self._composer.add_table(source, part)
        else:
            part.is_code = True
            self._composer.add(part)


def prefill_of(config: TextConfig) -> PrefillEcho | None:
    """What watches for an echo of the prefill, if there is one."""
    if not config.output_prefill:
        return None
    echoes = (config.output_prefill, cleaned_text(config.output_prefill, config))
    label = own_label(config.persona).pattern if config.persona else None
    return PrefillEcho(
        config.output_prefill, echoes, config.prefill_visible, config.starts_in_thought, label
    )
