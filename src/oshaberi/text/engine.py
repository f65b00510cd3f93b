"""The text engine: takes a stream in pieces and returns finished messages (steps 05-07a)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

from oshaberi.errors import EngineClosedError
from oshaberi.events import Boundary, Event, Message, SpeakerStop, Thought
from oshaberi.text.atoms import code_limit
from oshaberi.text.captured_blocks import Capture, Captured, StrayClose
from oshaberi.text.config import TextConfig
from oshaberi.text.decision_observer import Decision, Observer
from oshaberi.text.intake import CharacterIntake, PrefillEcho
from oshaberi.text.line_kinds import BREAK_TAG
from oshaberi.text.measure import has_visible
from oshaberi.text.messages.composer import MessageComposer
from oshaberi.text.messages.live_preview import PreviewParts, preview
from oshaberi.text.messages.packing import PackedPart
from oshaberi.text.mypyc_attributes import mypyc_attr
from oshaberi.text.normalize.own_name import own_label
from oshaberi.text.normalize.pieces import SegmentWork, TextPiece
from oshaberi.text.normalize.table import Normalizers, SpeakingState, cleaned_text
from oshaberi.text.segments.buffer import Segment, SegmentReceiver, Trim
from oshaberi.text.segments.release import CutWindow
from oshaberi.text.segments.splitter import SegmentSplitter
from oshaberi.text.sentences.ends import TERMINATORS

# Takes each segment from step 05 through the normalizers (06) to the composer (07a).


class SegmentPipeline(SegmentReceiver):
    """Remembers whether something was read before, and whether the speaker guard has struck."""

    def __init__(self, normalizers: Normalizers, composer: MessageComposer) -> None:
        self._normalizers = normalizers
        self._composer = composer
        self._guarded = False
        self.begun = False
        """A line was read, though nothing of it was left."""

    @property
    def has_shown(self) -> bool:
        return self._composer.begun

    def deliver(self, segment: Segment) -> None:
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
            [piece], segment.ends_line, opens_response=not (composer.begun or self.begun)
        )
        self._normalizers.run(work)
        for text, reason in work.withheld:
            composer.note(text, reason, segment.end)
        gap, pieces = segment.gap, work.pieces
        if not segment.line_start and pieces and _begins_line(segment, pieces[0]):
            gap += "\n"  # a `<br>` breaks the line that the segment shares with the one before
        for piece in pieces:
            text = piece.text.strip()
            composer.add(
                PackedPart(text, segment.boundary, segment.end, gap, piece.identity, piece.labelled)
            )
            gap = "\n"
        if not pieces:
            self._deliver_nothing(segment, is_noted=bool(work.withheld))
        elif not segment.ends_line and pieces[-1].text.endswith("\n"):
            composer.skip("\n")
        if work.stop is not None:
            composer.event(SpeakerStop(work.stop))
            self._guarded = True

    def _deliver_nothing(self, segment: Segment, *, is_noted: bool) -> None:
        is_visible = has_visible(segment.text)
        if is_visible:
            self.begun = True
            if not is_noted:
                self._composer.note(segment.text, "break", segment.end)
        breaks_line = is_visible or segment.ends_line
        self._composer.skip(segment.gap + ("\n" if breaks_line else ""))

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


def _begins_line(segment: Segment, piece: TextPiece) -> bool:
    """Return whether a `<br>` stands before the text, though the line behind it may be withheld."""
    return piece.text.startswith("\n") or BREAK_TAG.match(segment.text) is not None


# The text engine: takes a stream in pieces and returns finished messages (steps 05-07a).
#
# Wiring only: intake, prefill, capture, splitter, normalizers, composer. One engine, one stream.


_SENTENCE_MAY_END: Final = re.compile(f"[\n>{TERMINATORS}]")
_LARGE: Final = 4096
_SHARE: Final = 16
_WHILE_PACKING: Final = 64


@dataclass(frozen=True, slots=True)
class Carry:
    """The state that lasts from one stream of a turn to the next."""

    speaking: SpeakingState = field(default_factory=SpeakingState)
    messages: int = 0


@mypyc_attr(allow_interpreted_subclasses=True)
class TextEngine:
    """Call `feed` with text as it comes, then `finish`. `flush` and `discard` end it early."""

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
        self._normalizers = Normalizers(config, observer, carried.speaking)
        self._composer = MessageComposer(
            config, self._normalizers.faces, carried.messages, observer
        )
        self._pipeline = SegmentPipeline(self._normalizers, self._composer)
        self._splitter = SegmentSplitter(config, observer, self._pipeline)
        self._closed = False
        self.captures = config.starts_in_thought
        """A thought or a details block is open, so that new text is not visible."""
        self._pending: list[str] = []
        self._waiting = 0
        self._by_sentence = config.humanizer_degree == 3
        self._by_line = not self._by_sentence
        """Only a line break or a `>` can end something now."""
        self._in_code = False
        self._longest = config.max_single_message_length
        self._reach = CutWindow.of(config.flush_buffer_size).limit
        self._at_least = 0
        self._at_most = self._reach

    def feed(self, text: str) -> list[Event]:
        """Take the next piece of the stream. Return the events it completed, in order."""
        if not text and not self._closed:
            return []
        self._pending.append(text)
        self._waiting += len(text)
        # Reading in larger bites costs less and changes nothing: decisions go by position.
        if self._waiting < self._at_most and (
            (self._by_line and "\n" not in text and ">" not in text) or self._can_wait(text)
        ):
            return []
        return self._read_pending()

    def finish(self) -> list[Event]:
        """End the stream and return everything left. A second call returns nothing."""
        return self._close("final", "nothing")

    def flush(
        self,
        reason: Literal["tool_call", "stop"],
        *,
        trim_incomplete_clause: bool = False,
        only_whole: bool = False,
    ) -> list[Event]:
        """Return everything left and close the engine, for a tool call or a stop.

        `only_whole`: what may be half is kept back (a sentence, a line of code, a table's row),
        even if it is all there is, because the model will write it again.
        """
        clause: Trim = "clause" if trim_incomplete_clause else "nothing"
        return self._close(reason, "unfinished" if only_whole else clause)

    def discard(self) -> list[Event]:
        """Drop the text that has not left, for a follow-up. It is returned as `Withheld`."""
        if self._closed:
            return []
        self._drain()
        self._closed = True
        self._at_most = 0
        self._composer.withdraw(self._splitter.rest(), self._splitter.end)
        return self._composer.take()

    def preview(self) -> list[Message]:
        """Return what can be shown now of the unfinished text. Changes nothing."""
        if self._closed:
            return []
        parts = PreviewParts(
            self._intake,
            self._prefill,
            self._capture,
            self._splitter,
            self._normalizers,
            self._composer,
        )
        return preview(parts, "".join(self._pending), self._config, self._observer)

    def carry(self) -> Carry:
        """Return the state for the engine of the turn's next stream."""
        return Carry(self._normalizers.carry(), self._composer.count)

    # -- the way of the text --------------------------------------------------------------------

    def _can_wait(self, text: str) -> bool:
        """Whether `text` ends no line, block or sentence, or what it ends says nothing yet."""
        if self._in_code:
            if "`" not in text:
                return True
        elif self._by_sentence and _SENTENCE_MAY_END.search(text) is None:
            return True
        newline = text.find("\n")
        if newline >= 0 and text[newline:].isspace():
            self._at_most = self._at_least
            return True
        return self._waiting < self._at_least

    def _read_pending(self) -> list[Event]:
        if self._closed:
            raise EngineClosedError("this engine's stream has ended; make a new TextEngine")
        text = self._head(self._intake.feed(self._take_pending()))
        if self._capture.passes(text):
            self._splitter.feed(text)
        else:
            self._read(self._capture.feed(text))
        self._set_patience()
        return self._composer.take()

    def _take_pending(self) -> str:
        pending, self._pending, self._waiting = self._pending, [], 0
        return pending[0] if len(pending) == 1 else "".join(pending)

    def _head(self, text: str) -> str:
        return self._prefill.feed(text) if self._prefill else text

    def _drain(self) -> None:
        """Read the last of the stream, up to what is still open."""
        text = self._head(self._intake.feed(self._take_pending()) + self._intake.finish())
        if self._prefill:
            text += self._prefill.finish()
        self._read(self._capture.feed(text))
        self._read(self._capture.finish())

    def _close(self, reason: Boundary, trim: Trim) -> list[Event]:
        if self._closed:
            return []
        self._drain()
        self._closed = True
        self._at_most = 0
        self._splitter.close(reason, trim)
        self._composer.finish(reason, self._splitter.end)
        return self._composer.take()

    def _set_patience(self) -> None:
        """Set how much text may gather before it is read.

        Nothing while a decision waits (L6); a share of the held text if that is long (L7).
        """
        held = self._splitter.unsent + self._capture.held
        self.captures = self._capture.captures
        self._at_least = _WHILE_PACKING if self._composer.packs else 0
        if held > _LARGE:
            self._at_least = held // _SHARE
        self._in_code = self._splitter.reads_code and self._capture.is_settled
        self._by_line = not (self._in_code or self._by_sentence)
        reach = self._longest if self._in_code else self._reach
        at_most = 1 if self._splitter.waits_for_next else reach - held
        self._at_most = max(at_most, self._at_least, 1)

    def _read(self, captured: Iterable[Captured]) -> None:
        for found in captured:
            if isinstance(found, str):
                self._splitter.feed(found)
            elif isinstance(found, StrayClose):
                self._take_back()
            else:
                self._composer.event(found)
                if self._observer:
                    self._observer.note("capture", type(found).__name__.lower(), found.text)

    def _take_back(self) -> None:
        """Turn waiting text into a thought, if nothing was sent yet (C3)."""
        if self._composer.spoken:
            return
        text = self._composer.take_back() + self._splitter.retract(self._composer.sealed)
        self._capture.forget()
        self._pipeline.begun = False
        if text := text.strip():
            self._composer.event(Thought(text))
            if self._observer:
                self._observer.note("capture", "stray close", text)


def prefill_of(config: TextConfig) -> PrefillEcho | None:
    """Return the object that looks for an echo of the prefill, or None without a prefill."""
    if not config.output_prefill:
        return None
    echoes = (config.output_prefill, cleaned_text(config.output_prefill, config))
    label = own_label(config.persona).pattern if config.persona else None
    return PrefillEcho(
        config.output_prefill, echoes, config.prefill_visible, config.starts_in_thought, label
    )
