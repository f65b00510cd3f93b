"""Step 07a: makes messages of normalised text: one each, packed, or all in one (degree 0).

Punctuation with no text of its own (S1) waits for the text it belongs to: three or more signs, or
an ellipsis, go in front of the next text. Fewer are a stray fragment, which is withheld unless the
response turns out to have nothing else (L1).

Every unit that is sent is numbered, and accounts for everything in V since the one before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from oshaberi.events import Boundary, Event, Message, Table, Withheld
from oshaberi.text import markdown_tables
from oshaberi.text.config import TextConfig
from oshaberi.text.copied_state import CopiedState
from oshaberi.text.decision_observer import Observer
from oshaberi.text.line_kinds import begins_block
from oshaberi.text.measure import has_visible, utf16_len
from oshaberi.text.messages.chunker import SegmentChunker
from oshaberi.text.messages.packing import MessagePacking, PackedPart
from oshaberi.text.normalize.webhook_names import SpriteUsernames
from oshaberi.text.segments.buffer import short_gap

_MOST_NOTES: Final = 100
_PUNCTUATION: Final = frozenset(".,!?;:。！？、，…")
_ALONE: Final = re.compile(r"[.,!?;。！？、，…]+|[.,!?;:。！？、，…]{1,2}")
_MOST_PUNCTUATION: Final = 100
"""With more signs than this, an orphan or strays are long enough for a message of their own."""

Humanizer = Callable[[str, str], str]
"""Takes a text and a seed."""


class MessageComposer(CopiedState):
    """Takes parts in order; `take` returns the messages made."""

    def __init__(
        self,
        config: TextConfig,
        faces: SpriteUsernames,
        count: int = 0,
        observer: Observer | None = None,
    ) -> None:
        self._config = config
        self._chunker = SegmentChunker(config)
        self._faces = faces
        self._observer = observer
        self._out: list[Event] = []
        self._packing = MessagePacking(config)
        self._humanize = _humanizer() if config.humanizer_degree == 3 else None
        self._orphan: PackedPart | None = None
        """Punctuation that waits for the next text."""
        self._strays: list[PackedPart] = []
        """Fragments that are sent if nothing else is."""
        self._notes: list[tuple[str, str, int]] = []
        self._gap = ""
        self._segment = 0
        self.sealed = 0
        """Where in V the last unit ends."""
        self.count = count
        """Messages of the whole response so far."""
        self.emitted = False
        """A message or table of this stream has left."""

    @property
    def spoken(self) -> bool:
        """Return whether something cannot be taken back: it was sent, or packed with later text."""
        return self.emitted or (bool(self._packing.parts) and self._config.humanizer_degree > 0)

    @property
    def begun(self) -> bool:
        """Return whether something visible came before, sent or not."""
        return bool(self.count or self._packing.parts or self._orphan or self._strays)

    @property
    def packs(self) -> bool:
        """Return whether lines are being packed, so that nothing is urgent."""
        return self._packing.policy(self.count, self.sealed) != "each"

    def take(self) -> list[Event]:
        out, self._out = self._out, []
        return out

    def add(self, part: PackedPart) -> None:
        """Add normalised prose or code."""
        if _may_be_alone(part.text) and is_alone(bare := _in_one_line(part.text)):
            part.text = bare
            self._put_gap_before(part)
            self._hold(part)
            return
        if self._orphan is None:
            if self._gap:
                self._put_gap_before(part)
        elif self._put_orphan_before(part, self._orphan):
            self._gap = ""  # the orphan's own gap counts
        else:
            self._release()
            self._put_gap_before(part)
        self._place(part)

    def add_table(self, source: str, part: PackedPart) -> None:
        self._release()
        self._flush("attachment")
        header, rows, alignments = markdown_tables.parse(source)
        segment, span = self._seal(part.end)
        identity = self._faces.dress(part.identity)
        self._out.append(
            Table(source, header, rows, alignments, identity, segment, span, part.labelled)
        )
        self._count_message()
        self._emit_notes(segment, span)

    def event(self, event: Event) -> None:
        self._out.append(event)

    def note(self, text: str, reason: str, end: int) -> None:
        """Withhold text on purpose. It is reported with the unit it is part of."""
        self._notes.append((text, reason, end))
        if self._observer:
            self._observer.note("withhold", reason, before=text)

    def skip(self, gap: str) -> None:
        """Note a segment with no text left: only white space, or a paragraph break."""
        self._gap = short_gap(self._gap + gap)
        if len(self._notes) > _MOST_NOTES and not (self._packing.parts or self._orphan):
            self._emit_notes(*self._seal(self._notes[-1][2]))  # soon enough for L6

    def finish(self, boundary: Boundary, end: int) -> None:
        """Send everything that waits."""
        self._release()
        self._flush(boundary)
        if not self.emitted:
            self._send_strays(boundary)
        if self._notes:
            self._emit_notes(*self._seal(end))

    def take_back(self) -> str:
        """Remove what waits, and return it as text. It will not be sent."""
        parts = [*self._take_strays(), *self._packing.take()]
        if self._orphan:
            parts.append(self._orphan)
            self._orphan = None
        waiting, self._gap = self._gap, ""
        return "".join(part.gap + part.text for part in parts) + waiting

    def withdraw(self, rest: str, end: int) -> None:
        """Withhold what waits, and the text after it, because something else was asked."""
        text = (self.take_back() + rest).strip()
        if not text and not self._notes:
            return
        segment, span = self._seal(end)
        if text:
            self._out.append(Withheld(text, "follow_up", segment, span))
        self._emit_notes(segment, span)

    def _put_gap_before(self, part: PackedPart) -> None:
        if self._gap:
            part.gap, self._gap = self._gap + part.gap, ""

    # -- S1 -------------------------------------------------------------------------------------

    def _hold(self, part: PackedPart) -> None:
        """Hold punctuation back, appended to an orphan that is already waiting."""
        if _is_stray(part.text):
            self._stray(part)
            return
        if self._orphan is not None and self._orphan.identity != part.identity:
            self._release()
        orphan = self._orphan
        if orphan is None:
            orphan = self._orphan = part
        else:
            orphan.text += part.text
            orphan.end = part.end
        if self._observer:
            self._observer.note("orphan", "held for the next segment", after=orphan.text)
        if len(orphan.text) > 2:  # it will be sent, whatever follows
            self._note_strays()
        if len(orphan.text) > _MOST_PUNCTUATION:
            self._release()

    def _put_orphan_before(self, part: PackedPart, orphan: PackedPart) -> bool:
        """Put the orphan in front of `part`. Return False if it has to leave alone."""
        if part.is_code or orphan.identity != part.identity or begins_block(part.text):
            return False
        self._orphan = None
        part.text = orphan.text + part.text
        part.lead = len(orphan.text)
        part.gap = orphan.gap
        part.labelled = part.labelled or orphan.labelled
        if self._observer:
            self._observer.note("orphan", "put in front", before=orphan.text, after=part.text)
        return True

    def _stray(self, part: PackedPart) -> None:
        """Withhold a fragment, unless the response turns out to have nothing else (L1).

        The white space before it still parts what is around it.
        """
        if self.begun and not self._strays:
            self.note(part.text, "stray", part.end)
            self.skip(part.gap)
            return
        self._strays.append(part)
        if len(self._strays) > _MOST_PUNCTUATION and self._config.humanizer_degree > 0:
            self._release()
            if self._packing.parts:
                self._note_strays()
            else:
                self._send_strays(part.boundary)  # a response must not wait forever (L6)

    def _note_strays(self) -> None:
        for stray in self._take_strays():
            self.note(stray.text, "stray", stray.end)

    def _send_strays(self, boundary: Boundary) -> None:
        for part in self._take_strays():
            self._packing.add(part)
        self._flush(boundary)

    def _take_strays(self) -> list[PackedPart]:
        if not self._strays:
            return []
        strays, self._strays = sorted(self._strays, key=_end), []
        return strays

    def _release(self) -> None:
        orphan, self._orphan = self._orphan, None
        if orphan and len(orphan.text) < 3:
            self._stray(orphan)
        elif orphan:
            if self._observer:
                self._observer.note("orphan", "released", after=orphan.text)
            self._place(orphan)

    # -- how much goes into a message -----------------------------------------------------------

    def _place(self, part: PackedPart) -> None:
        packing = self._packing
        policy = packing.policy(self.count, part.end)
        alone = policy == "all" and part.identity is not None
        if policy == "each" or alone:
            self._flush(part.boundary)
            whole = part.is_code and not alone
            self._send(part, [part.text] if whole else self._messages(part, alone))
            return
        if packing.parts and packing.ends_before(part, policy):
            self._flush()
        packing.add(part)
        if packing.is_full and policy != "all":
            self._flush()  # nothing more fits, so there is nothing to wait for (L6)

    def _messages(self, part: PackedPart, alone: bool) -> list[str]:
        return self._chunker.fit(part.text) if alone else self._chunker.split(part.text, part.lead)

    def _flush(self, boundary: Boundary | None = None) -> None:
        if self._packing.parts:
            whole = self._packing.joined(boundary)
            self._send(whole, self._chunker.fit(whole.text))

    # -- leaving --------------------------------------------------------------------------------

    def _send(self, part: PackedPart, messages: list[str]) -> None:
        if not messages:
            return
        segment, span = self._seal(part.end)
        labelled = part.labelled
        humanize = self._humanize
        if humanize and self._packing.is_whole(part.end):
            humanize = None
        for text in messages:
            if len(text) < 3 and (self.emitted or len(messages) > 1) and is_alone(text):
                self.note(text, "stray", part.end)
                continue
            identity = self._faces.dress(part.identity)
            shown = self._humanized(text, humanize) if humanize else text
            self._out.append(Message(shown, part.boundary, identity, segment, span, labelled))
            self._count_message()
            labelled = False
        if self._observer and len(messages) > 1:
            self._observer.note("cut", self._why_cut(part), part.text, "\n".join(messages))
        self._emit_notes(segment, span)

    def _why_cut(self, part: PackedPart) -> str:
        if utf16_len(part.text) > self._config.max_single_message_length:
            return "longer than a message"
        return "one sentence each" if self._config.humanizer_degree == 3 else "one line each"

    def _count_message(self) -> None:
        self.count += 1
        self.emitted = True

    def _humanized(self, text: str, humanize: Humanizer) -> str:
        if text.startswith("```"):
            return text
        shown = humanize(text, f"{self._config.seed}:{self.count}")
        if self._observer and shown != text:
            self._observer.transform("humanize", text, shown)
        return shown

    def _seal(self, end: int) -> tuple[int, tuple[int, int]]:
        self._segment += 1
        span = (self.sealed, end)
        self.sealed = end
        return self._segment, span

    def _emit_notes(self, segment: int, span: tuple[int, int]) -> None:
        self._note_strays()
        notes, self._notes = self._notes, []
        for text, reason, end in notes:
            if end <= span[1]:
                self._out.append(Withheld(text, reason, segment, span))
            else:
                self._notes.append((text, reason, end))


def _end(part: PackedPart) -> int:
    return part.end


def _may_be_alone(text: str) -> bool:
    """Return whether `text` begins like punctuation, or with a line of nothing visible."""
    return text[0] in _PUNCTUATION or ("\n" in text and not has_visible(text[0]))


def is_alone(text: str) -> bool:
    """Return whether `text`, which is not empty, is nothing but punctuation."""
    if text[0] not in _PUNCTUATION or text[-1] not in _PUNCTUATION:
        return False
    return len(text) == 1 or _ALONE.fullmatch(text) is not None


def _is_stray(text: str) -> bool:
    """Return whether punctuation is too short for an expression of its own."""
    return len(text) < 3 and "…" not in text


def _in_one_line(text: str) -> str:
    """Remove line breaks, and lines with nothing visible: `<br>` may make them, too."""
    if "\n" not in text:
        return text
    return "".join(line.strip() for line in text.split("\n") if has_visible(line))


def _humanizer() -> Humanizer:
    """Return the humanizer of degree 3, which is loaded only when needed."""
    from oshaberi.text.messages.humanize import humanize_seeded

    return humanize_seeded
