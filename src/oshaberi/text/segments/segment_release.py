"""Releases segments of prose: at a boundary, after a hold, when too long, or at the end.

Spec 05 B5, the semantic hold and the forced flush; where a boundary is, the reader says.
"""

from __future__ import annotations

from oshaberi.events import Boundary
from oshaberi.text.copied_state import CopiedState
from oshaberi.text.decision_observer import Observer
from oshaberi.text.line_kinds import BREAK_TAG
from oshaberi.text.markers.closed_pair_scan import begun_url
from oshaberi.text.markers.marker_closing import closing, openers_behind_breaks
from oshaberi.text.markers.open_markers import HeldBoundary, OpenMarkers
from oshaberi.text.segments.clause_trimming import clause_end
from oshaberi.text.segments.overflow_cuts import CutWindow, Stretch, choose_cut, hard_cut
from oshaberi.text.segments.visible_buffer import NEVER, VisibleBuffer
from oshaberi.text.text_config import TextConfig
from oshaberi.text.text_measure import extends, first_visible, fits, unseen_end


class SegmentRelease(CopiedState):
    """Cuts segments off the buffer, as far as the open markers allow."""

    def __init__(
        self,
        buffer: VisibleBuffer,
        open_markers: OpenMarkers,
        config: TextConfig,
        observer: Observer | None,
    ) -> None:
        self._buffer = buffer
        self._open_markers = open_markers
        self._observer = observer
        self._longest = config.max_single_message_length
        self._window = CutWindow.of(config.flush_buffer_size)

    def use(self, boundary: HeldBoundary) -> None:
        """Cut here, or hold the boundary while an earlier marker is open."""
        open_markers = self._open_markers
        if open_markers.stack or (boundary.reason == "period" and open_markers.has_links):
            open_markers.wait(boundary)
            if self._observer:
                marker = open_markers.stack[0][0] if open_markers.stack else "["
                self._observer.hold(self._buffer.at(boundary.at), marker)
        else:
            self.leave(boundary)

    def use_free(self) -> None:
        """Cut at the boundaries that are no longer held."""
        free = self._open_markers.free
        if not free:
            return
        self._open_markers.free = []
        for boundary in free:
            if boundary.cut > self._buffer.start:
                self.leave(boundary)

    def leave(self, boundary: HeldBoundary, suffix: str = "") -> None:
        """Cut here, whatever is open."""
        self._buffer.leave(boundary, suffix)
        if self._open_markers.spans:
            self._open_markers.passed(boundary.cut)

    def overflow(self, open_url: int) -> int:
        """Cut for overflow (B5). Return where.

        Returns 0 if the segment begins with a range that stays whole up to the length of a
        message. What nobody sees before such a range takes no room from it, but goes (B8).
        """
        start, limit = self._buffer.start, self._buffer.limit
        atoms, spans = self._taken(open_url)
        is_late = limit > start + self._window.limit
        cut = 0 if is_late else choose_cut(self._buffer.text, start, self._window, atoms, spans)
        cut = cut or unseen_end(self._buffer.text, start, limit)
        if cut == start:
            if not is_late:
                self._buffer.limit = start + max(self._longest, self._window.limit) + 1
                return 0
            cut = self._late_cut(start, limit, atoms)
        self.leave(HeldBoundary(cut, cut, "overflow"))
        self._open_markers.cut(cut)
        self.use_free()
        return cut

    def _late_cut(self, start: int, limit: int, atoms: list[Stretch]) -> int:
        """Return the end of the atom that begins the segment, else a hard cut."""
        text = self._buffer.text
        begin = first_visible(text, start, limit)
        ends = (end for at, end in atoms if at <= begin and end < NEVER)
        end = max(ends, default=0)
        if begin < end < limit:
            marked = end  # with the marks that join its last character
            while marked < limit and extends(text, marked):
                marked += 1
            if marked == limit or not fits(text[begin:marked], self._longest):
                marked = end if fits(text[begin:end], self._longest) else marked
            if marked < limit:
                return marked
        return hard_cut(text, begin, limit, atoms)

    def _taken(self, open_url: int) -> tuple[list[Stretch], list[Stretch]]:
        """Return the atoms, finished or not, and the other spans of the segment."""
        open_markers = self._open_markers
        text, start, limit = self._buffer.text, self._buffer.start, self._buffer.limit
        if open_url < 0:
            open_url = begun_url(text, limit)
        atoms = [(begin, end) for begin, end, atom in open_markers.spans if atom]
        atoms += [tag.span() for tag in BREAK_TAG.finditer(text, start, limit)]
        atoms += [(begin, NEVER) for begin in (open_url,) if begin >= 0]
        atoms += [(link, NEVER) for link in open_markers.links()]
        spans = [(begin, end) for begin, end, atom in open_markers.spans if not atom]
        spans += [(begin, NEVER) for _, begin in open_markers.stack[:1]]
        return atoms, spans

    def close(self, reason: Boundary, trim: bool) -> None:
        """Force a flush. Markers open on the last line are closed."""
        buffer, end = self._buffer, len(self._buffer.text)
        openers = self._open_markers.force(buffer.line, end)
        self.use_free()
        body = buffer.text[buffer.start : end]
        kept = buffer.start + (self._complete(body) if trim else len(body))
        lead = buffer.start + len(body) - len(body.lstrip())
        text = buffer.text[lead:kept].rstrip()
        within = openers_behind_breaks(text, self._open_markers.limit)
        if within is None:
            within = [(kind, at - lead) for kind, at in openers if lead <= at < kept]
        suffix = closing(text, within, self._longest)
        if suffix and self._observer:
            self._observer.transform("auto_close", text, text + suffix)
        self.leave(HeldBoundary(kept, kept, reason), suffix)
        if removed := buffer.text[kept:end].strip():
            buffer.emit("trimmed", removed, reason, end, ends_line=True)
        self._open_markers.clear()

    def _complete(self, body: str) -> int:
        """Return how much of `body` is complete.

        Half a clause is kept if it is all there is to show, or goes on behind an overflow.
        """
        end = clause_end(body, self._open_markers.limit)
        return end if end or self._buffer.follows_clause else len(body)
