"""Takes each segment from step 05 through the normalizers (06) to the composer (07a)."""

from __future__ import annotations

from oshaberi.events import SpeakerStop
from oshaberi.text.line_kinds import BREAK_TAG
from oshaberi.text.messages.message_composer import MessageComposer
from oshaberi.text.messages.part_joining import PackedPart
from oshaberi.text.normalize.normalizer_table import Normalizers
from oshaberi.text.normalize.segment_pieces import SegmentWork, TextPiece
from oshaberi.text.segments.visible_buffer import Segment, SegmentReceiver
from oshaberi.text.text_measure import has_visible


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
    """Tell whether a `<br>` stands before the text, though the line behind it may be withheld."""
    return piece.text.startswith("\n") or BREAK_TAG.match(segment.text) is not None
