"""The text engine: takes a stream in pieces and returns finished messages (steps 05-07a).

`TextSteps` runs the steps in order: intake, prefill, capture, splitter, normalizers, composer.
`TextEngine` decides when waiting text is read, and when the stream has ended.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from oshaberi.errors import EngineClosedError
from oshaberi.events import Boundary, Event, Message, SpeakerStop, Thought
from oshaberi.text.atoms import code_limit
from oshaberi.text.captured_blocks import Capture, Captured, StrayClose
from oshaberi.text.config import TextConfig
from oshaberi.text.copied_state import CopiedState
from oshaberi.text.decision_observer import Decision, DecisionListener
from oshaberi.text.intake import CharacterIntake, PrefillEcho
from oshaberi.text.line_kinds import BREAK_TAG
from oshaberi.text.measure import has_visible
from oshaberi.text.messages.composer import MessageComposer
from oshaberi.text.messages.live_preview import messages_to_show, showable
from oshaberi.text.messages.packing import PackedPart
from oshaberi.text.mypyc_attributes import mypyc_attr
from oshaberi.text.normalize.own_name import own_label
from oshaberi.text.normalize.pieces import SegmentWork, TextPiece
from oshaberi.text.normalize.table import Normalizers, SpeakingState, cleaned_text
from oshaberi.text.segments.buffer import Found, Segment, Trim
from oshaberi.text.segments.splitter import SegmentSplitter
from oshaberi.text.sentences.ends import TERMINATORS

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
        self._steps = TextSteps(config, carried or Carry(), observe)
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
        self._reach = self._steps.splitter.reach
        self._at_least = 0
        self._at_most = self._reach

    def feed(self, text: str) -> list[Event]:
        """Take the next piece of the stream. Return the events it completed, in order."""
        if not text and not self._closed:
            return []
        self._pending.append(text)
        self._waiting = waiting = self._waiting + len(text)
        # Reading in larger bites costs less and changes nothing: decisions go by position.
        if waiting < self._at_most and (
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

        `only_whole`: what may be incomplete is kept back (a sentence, a line of code, a table's
        row), even if it is all there is, because the model will write it again.
        """
        clause: Trim = "clause" if trim_incomplete_clause else "nothing"
        return self._close(reason, "unfinished" if only_whole else clause)

    def discard(self) -> list[Event]:
        """Drop the text that has not left, for a follow-up. It is returned as `Withheld`."""
        if self._closed:
            return []
        self._end()
        return self._steps.discard()

    def preview(self) -> list[Message]:
        """Return what can be shown now of the unfinished text. Changes nothing."""
        if self._closed:
            return []
        return self._steps.preview("".join(self._pending))

    def carry(self) -> Carry:
        """Return the state for the engine of the turn's next stream."""
        return self._steps.carry()

    # -- when waiting text is read ----------------------------------------------------------------

    def _can_wait(self, text: str) -> bool:
        """Return whether `text` ends no line, block or sentence, or may still do so."""
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
        events = self._steps.read(self._take_pending())
        self._set_patience()
        return events

    def _take_pending(self) -> str:
        pending, self._pending, self._waiting = self._pending, [], 0
        return pending[0] if len(pending) == 1 else "".join(pending)

    def _close(self, reason: Boundary, trim: Trim) -> list[Event]:
        if self._closed:
            return []
        self._end()
        return self._steps.close(reason, trim)

    def _end(self) -> None:
        """Read the last of the stream. From now on every `feed` raises."""
        self._steps.drain(self._take_pending())
        self._closed = True
        self._at_most = 0

    def _set_patience(self) -> None:
        """Set how much text may accumulate before it is read.

        None while a decision is pending (L6); a share of the held text if that is long (L7).
        """
        splitter, capture = self._steps.splitter, self._steps.capture
        undecided = capture.held
        held = splitter.unsent + undecided
        self.captures = capture.captures
        self._at_least = _WHILE_PACKING if self._steps.composer.packs else 0
        if held > _LARGE:
            self._at_least = held // _SHARE
        self._in_code = splitter.reads_code and not (undecided or self.captures)
        self._by_line = not (self._in_code or self._by_sentence)
        reach = self._longest if self._in_code else self._reach
        at_most = 1 if splitter.waits_for_next else max(reach - held, 1)
        self._at_most = max(at_most, self._at_least)


class TextSteps(CopiedState):
    """The steps of one stream, each with its state. A preview reads on with a copy of them all."""

    def __init__(
        self, config: TextConfig, carried: Carry, observe: Callable[[Decision], None] | None
    ) -> None:
        observer = DecisionListener(observe) if observe else None
        self._config = config
        self._observer = observer
        self._intake = CharacterIntake()
        self._prefill = prefill_of(config)
        self.capture = Capture(code_limit(config.hold_limit), config.starts_in_thought)
        self.splitter = SegmentSplitter(
            config, opens_response=not carried.messages, is_observed=observer is not None
        )
        self._normalizers = Normalizers(config, observer, carried.speaking)
        self.composer = MessageComposer(config, self._normalizers.faces, carried.messages, observer)
        self._guarded = False
        """The speaker guard has struck: nothing more is shown."""
        self._has_read = False
        """A line was read, though nothing of it was left."""

    def read(self, text: str) -> list[Event]:
        """Read on. Return the events that are complete."""
        text = self._head(self._intake.feed(text))
        if self.capture.passes(text):
            found = self.splitter.feed(text)
            if found:
                self._pass_on(found)
        else:
            self._read(self.capture.feed(text))
        return self.composer.take()

    def drain(self, text: str) -> None:
        """Read the last of the stream, up to what is still open."""
        text = self._head(self._intake.feed(text) + self._intake.finish())
        if self._prefill:
            text += self._prefill.finish()
        self._read(self.capture.feed(text))
        self._read(self.capture.finish())

    def close(self, reason: Boundary, trim: Trim) -> list[Event]:
        """Return everything left, without what `trim` keeps back."""
        splitter, composer = self.splitter, self.composer
        self._pass_on(splitter.settle(trim))
        self._pass_on(splitter.close(reason, trim, has_shown=composer.begun))
        composer.finish(reason, splitter.end)
        return composer.take()

    def discard(self) -> list[Event]:
        self.composer.withdraw(self.splitter.rest(), self.splitter.end)
        return self.composer.take()

    def carry(self) -> Carry:
        return Carry(self._normalizers.carry(), self.composer.count)

    def _head(self, text: str) -> str:
        return self._prefill.feed(text) if self._prefill else text

    def _read(self, captured: Iterable[Captured]) -> None:
        for found in captured:
            if isinstance(found, str):
                self._pass_on(self.splitter.feed(found))
            elif isinstance(found, StrayClose):
                self._take_back()
            else:
                self.composer.event(found)
                if self._observer:
                    self._observer.note("capture", type(found).__name__.lower(), found.text)

    def _take_back(self) -> None:
        """Turn waiting text into a thought, if nothing was sent yet (C3)."""
        if self.composer.spoken:
            return
        text = self.composer.take_back() + self.splitter.retract(self.composer.sealed)
        self.capture.forget()
        self._has_read = False
        if text := text.strip():
            self.composer.event(Thought(text))
            if self._observer:
                self._observer.note("capture", "stray close", text)

    # -- a segment on its way through the normalizers (06) to the composer (07a) ------------------

    def _pass_on(self, splitting: list[Found]) -> None:
        for found in splitting:
            if isinstance(found, Segment):
                self._deliver(found)
            elif self._observer:
                self._observer.report(found)

    def _deliver(self, segment: Segment) -> None:
        if self._guarded:
            self.composer.note(segment.text, "speaker_guard", segment.end)
        elif segment.kind == "text":
            self._deliver_text(segment)
        elif segment.kind == "trimmed":
            self.composer.note(segment.text, "incomplete_clause", segment.end)
        else:
            self._deliver_block(segment)

    def _deliver_text(self, segment: Segment) -> None:
        composer = self.composer
        if self._normalizers.leaves(segment.text):
            composer.add(PackedPart(segment.text, segment.boundary, segment.end, segment.gap))
            return
        piece = TextPiece(segment.text, line_start=segment.line_start)
        work = SegmentWork(
            [piece], segment.ends_line, opens_response=not (composer.begun or self._has_read)
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
            self._has_read = True
            if not is_noted:
                self.composer.note(segment.text, "break", segment.end)
        breaks_line = is_visible or segment.ends_line
        self.composer.skip(segment.gap + ("\n" if breaks_line else ""))

    def _deliver_block(self, segment: Segment) -> None:
        identity = self._normalizers.block_identity(segment.ends_line)
        part = PackedPart(segment.text, segment.boundary, segment.end, segment.gap, identity)
        if segment.kind == "table":
            source, removed = self._normalizers.clean_table(segment.text)
            for text, reason in removed:
                self.composer.note(text, reason, segment.end)
            self.composer.add_table(source, part)
        else:
            part.is_code = True
            self.composer.add(part)

    # -- live mode --------------------------------------------------------------------------------

    def preview(self, pending: str) -> list[Message]:
        """Return the messages that would come if the text ended with its last whole word."""
        if self.capture.captures:
            return []
        return deepcopy(self, self._unchanging()).end_with_whole_word(pending)

    def end_with_whole_word(self, pending: str) -> list[Message]:
        """Read and close, only on the copy that a preview makes."""
        for found in self.capture.feed(self._head(self._intake.feed(pending))):
            if isinstance(found, StrayClose):
                return []  # all of it was a thought
            if isinstance(found, str):
                self._pass_on(self.splitter.feed(found))
        splitter = self.splitter
        in_prose, in_word = splitter.reads_prose, splitter.ends_in_word
        if in_prose:
            before = splitter.end
            rest = splitter.retract(before)
            goes_on = len(rest) < before and not _breaks_line(rest)
            self._pass_on(splitter.feed(showable(rest, self._config, goes_on)))
        return messages_to_show(self.close("stop", "nothing"), in_prose, in_word)

    def _unchanging(self) -> dict[int, Any]:
        """Return the constant values that a copy shares. It has no observer."""
        config, persona = self._config, self._config.persona
        values = [config, persona, *config.known, *(persona.sprites if persona else ())]
        shared: dict[int, Any] = {id(one): one for one in (*values, *self._normalizers.unchanging)}
        if self._observer is not None:
            shared[id(self._observer)] = DecisionListener(_nobody)
        return shared


def _begins_line(segment: Segment, piece: TextPiece) -> bool:
    """Return whether a `<br>` comes before the text, though the line after it may be withheld."""
    return piece.text.startswith("\n") or BREAK_TAG.match(segment.text) is not None


def _breaks_line(text: str) -> bool:
    return "\n" in text[: len(text) - len(text.lstrip())]


def _nobody(_decision: Decision) -> None:
    pass


def prefill_of(config: TextConfig) -> PrefillEcho | None:
    """Return the object that looks for an echo of the prefill, or None without a prefill."""
    if not config.output_prefill:
        return None
    echoes = (config.output_prefill, cleaned_text(config.output_prefill, config))
    label = own_label(config.persona).pattern if config.persona else None
    return PrefillEcho(
        config.output_prefill, echoes, config.prefill_visible, config.starts_in_thought, label
    )
