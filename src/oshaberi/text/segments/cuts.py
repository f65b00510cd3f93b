"""Releases segments of prose: at a boundary, after a hold, when too long, or at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from oshaberi.events import Boundary
from oshaberi.text.atoms import code_limit, protected
from oshaberi.text.config import TextConfig
from oshaberi.text.copied_state import CopiedState
from oshaberi.text.line_kinds import BREAK_TAG
from oshaberi.text.markers.closed_pairs import begun_url, find_openers, find_spans
from oshaberi.text.markers.open_markers import CLOSERS, HeldBoundary, OpenMarkers
from oshaberi.text.measure import (
    extends,
    first_visible,
    fits,
    grapheme_edge,
    has_visible,
    unseen_end,
    utf16_len,
    whole_edge,
)
from oshaberi.text.segments.buffer import NEVER, Trim, VisibleBuffer
from oshaberi.text.sentences.ends import TERMINATORS, clause_end_at, sentence_end

# Spec 05, forced flush: finds the end of the last complete clause, so that half a clause is kept
# back.


Stretch = tuple[int, int]

_CLAUSE_MAY_END: Final = re.compile(f"[{re.escape(TERMINATORS)}]+|\n")


def clause_end(text: str, hold_limit: int) -> int:
    """Return where the last complete clause of `text` ends, outside its spans; 0 if none does.

    A clause is a line, or what `clause_end_at` says.
    """
    spans = _united(find_spans(text, hold_limit))
    blank = len(text) - len(text.lstrip())
    for found in reversed(list(_CLAUSE_MAY_END.finditer(text, blank))):
        at = found.start()
        end = at + 1 if text[at] == "\n" else clause_end_at(text, at)
        while spans and end <= spans[-1][0]:
            spans.pop()
        if end > blank and not (spans and end < spans[-1][1]):
            return end
    return 0


def _united(spans: list[tuple[int, int, bool]]) -> list[Stretch]:
    """Return the spans merged into disjoint stretches."""
    united: list[Stretch] = []
    for begin, end, _ in spans:
        if united and begin < united[-1][1]:
            united[-1] = (united[-1][0], max(united[-1][1], end))
        else:
            united.append((begin, end))
    return united


# Spec 05, forced flush: closes the markers that are still open on the last line.


_RUNS: Final = "*~|"


def openers_after_breaks(text: str, hold_limit: int) -> list[tuple[str, int]] | None:
    """Return the openers of the last line, with `<br>` counted as a line break.

    None if `text` has no `<br>`. While the text arrived, the tag was read as text, so markers were
    paired across it.
    """
    if BREAK_TAG.search(text) is None:
        return None
    made: list[str] = []
    at = 0
    for begin, end in [*protected(text, code_limit(hold_limit)), (len(text), len(text))]:
        made += (BREAK_TAG.sub(_as_newline, text[at:begin]), text[begin:end])
        at = end
    broken = "".join(made)
    line = broken.rfind("\n") + 1
    return [opener for opener in find_openers(broken, hold_limit) if opener[1] >= line]


def _as_newline(tag: re.Match[str]) -> str:
    """Return a line break as long as the tag, so that positions stay the same."""
    return "\n" + " " * (len(tag.group()) - 1)


def closing(text: str, openers: list[tuple[str, int]], longest: int) -> str:
    """Return what to append to `text`, which must not end in white space, to close `openers`.

    Openers are given with their positions. A stretch that does not fit into one message cannot
    be closed there.
    """
    suffix = ""
    for kind, at in reversed(openers):
        closer = CLOSERS.get(kind, "")
        if utf16_len(text[at:]) + len(suffix) + len(closer) > longest:
            break
        if closer and _has_inside(text, kind, at) and not _lengthens_run(text, suffix, closer):
            suffix += closer
    return suffix


def _has_inside(text: str, kind: str, at: int) -> bool:
    if kind == "](":
        return not text.endswith("](")
    return bool(text[at + len(kind) :].strip())


def _lengthens_run(text: str, suffix: str, closer: str) -> bool:
    """Return whether a closer would change the meaning of a run at the end.

    It does if the text ends with the same mark, or if the run gets longer than three.
    """
    mark = closer[0]
    if mark not in _RUNS:
        return False
    run = len(suffix) - len(suffix.rstrip(mark))
    return text.endswith(mark) or run + len(closer) > 3


# Spec 05 B5: chooses where to cut a segment that is too long and has no usable boundary.


_SPACE: Final = re.compile(r"\s")
_NEWLINE: Final = re.compile(r"\n")
_TERMINATOR: Final = re.compile(f"[{re.escape(TERMINATORS)}]+")
_LOOK_BACK: Final = 80


class CutWindow(NamedTuple):
    """Offsets from a segment's start: where it becomes too long, and how far around to look."""

    target: int
    before: int
    ahead: int

    @classmethod
    def of(cls, flush_size: int) -> CutWindow:
        """Return 200 after and 300 before; for a small buffer a fifth and a third of it."""
        return cls(flush_size, min(300, flush_size // 3), min(200, flush_size // 5))

    @property
    def limit(self) -> int:
        return self.target + self.ahead


def choose_cut(
    text: str, start: int, window: CutWindow, atoms: list[Stretch], spans: list[Stretch]
) -> int:
    """Return the cut for `text` from `start`; 0 if one atom or cluster reaches the target."""
    low, target = start + window.target - window.before, start + window.target
    limit = start + window.limit
    in_range, in_atom = _inside(atoms + spans, start, limit), _inside(atoms, start, limit)
    in_span = 0  # the best cut that splits a span, if every cut splits one
    for cut in _ranked(text, low, target, limit):
        splits_span = in_range[cut - start]
        if in_atom[cut - start] or (in_span and splits_span) or not _whole(text, cut):
            continue
        if not splits_span:
            return cut
        in_span = cut
    return in_span or _edge(text, start, target, atoms)


def _ranked(text: str, low: int, target: int, limit: int) -> Iterator[int]:
    """Yield all candidates, best first (B5).

    After a space or a sentence the next character must be known, since it may combine with the one
    before (L2).
    """
    newlines = [found.end() for found in _NEWLINE.finditer(text, low, limit)]
    yield from [at for at in newlines if at > target]
    ends = [at for at in _sentence_ends(text, low - _LOOK_BACK, limit) if low < at < limit]
    yield from [at for at in ends if at > target]
    yield from sorted([at for at in newlines + ends if at <= target], reverse=True)
    spaces = [found.end() for found in _SPACE.finditer(text, low, limit - 1)]
    yield from [at for at in reversed(spaces) if at <= target]
    yield from [at for at in spaces if at > target]


def _inside(ranges: list[Stretch], start: int, limit: int) -> bytearray:
    """Return, for each position from `start` to `limit`, whether a cut there splits a span."""
    mask = bytearray(limit - start + 1)
    for begin, end in ranges:
        first, last = max(begin + 1, start), min(end, limit + 1)
        if first < last:
            mask[first - start : last - start] = b"\1" * (last - first)
    return mask


def _whole(text: str, at: int) -> bool:
    """Return whether no grapheme cluster spans `at`."""
    return text[at - 1] == "\n" or not extends(text, at)


def _sentence_ends(text: str, start: int, limit: int) -> list[int]:
    """Return the sentence ends that are certain from the text before `limit` alone (L2)."""
    start = max(start, 0)
    known = text[start:limit]
    ends = []
    for run in _TERMINATOR.finditer(known):
        end = sentence_end(known, run.start(), final=False)
        if end > 0:
            ends.append(start + end)
    return ends


def hard_cut(text: str, start: int, limit: int, atoms: list[Stretch]) -> int:
    """Return the cut for a stretch that was kept whole up to `limit` and must be cut now."""
    inner = [(begin, end) for begin, end in atoms if begin > start]
    half = start + (limit - start) // 2
    space = _last_space(text, half, limit - 1, _inside(inner, half, limit))
    if space:
        return space
    edge = _before_atoms(limit - 1, inner)
    return edge if edge < limit - 1 else _before_atoms(grapheme_edge(text, start, edge), inner)


def _edge(text: str, start: int, target: int, atoms: list[Stretch]) -> int:
    """Return the nearest atom or grapheme edge before the target; 0 if that is the start."""
    cut = _before_atoms(target, atoms)
    if not has_visible(text[start:cut]):
        return 0
    if cut == target:
        edge = whole_edge(text, start, cut)
        cut = _before_atoms(edge, atoms)  # marks may have joined an atom's last character
        if cut == edge or not has_visible(text[start:cut]):
            return cut if cut == edge > start else 0
    low = max(start, cut - _LOOK_BACK)
    return _last_space(text, low, cut, _inside(atoms, low, cut)) or cut


def _last_space(text: str, low: int, high: int, inside: bytearray) -> int:
    """Return the end of the last white space in (low, high] that allows a cut; 0 if none."""
    for at in range(high, low + 1, -1):
        if text[at - 1].isspace() and not inside[at - low] and _whole(text, at):
            return at
    return 0


def _before_atoms(at: int, atoms: list[Stretch]) -> int:
    for begin, end in sorted(atoms, reverse=True):
        if begin < at < end:
            at = begin
    return at


# Releases segments of prose: at a boundary, after a hold, when too long, or at the end.
#
# Spec 05 B5, the semantic hold and the forced flush; where a boundary is, the reader says.


class SegmentRelease(CopiedState):
    """Cuts segments off the buffer where the open markers allow it."""

    def __init__(
        self,
        buffer: VisibleBuffer,
        open_markers: OpenMarkers,
        config: TextConfig,
    ) -> None:
        self._buffer = buffer
        self._open_markers = open_markers
        self._observer = buffer.observer
        self._longest = config.max_single_message_length
        self._window = CutWindow.of(config.flush_buffer_size)
        self._last_openers: list[tuple[str, int]] = []

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
        """Cut here, no matter what is open."""
        self._buffer.leave(boundary, suffix)
        if self._open_markers.spans:
            self._open_markers.passed(boundary.cut)

    def overflow(self, open_url: int) -> int:
        """Cut for overflow (B5). Return where.

        Returns 0 if the segment begins with a range that stays whole up to the length of a
        message. Invisible text before such a range takes no room from it, but is dropped (B8).
        """
        start, limit = self._buffer.start, self._buffer.limit
        atoms, spans = self._whole_ranges(open_url)
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

    def _whole_ranges(self, open_url: int) -> tuple[list[Stretch], list[Stretch]]:
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

    def settle(self) -> None:
        """Use the boundaries that waited for markers of earlier lines: the text ends here."""
        buffer = self._buffer
        self._last_openers = self._open_markers.force(buffer.line, len(buffer.text))
        self.use_free()

    def close(self, reason: Boundary, trim: Trim, has_shown: bool) -> None:
        """Force a flush, after `settle`. Markers open on the last line are closed."""
        buffer, end = self._buffer, len(self._buffer.text)
        body = buffer.text[buffer.start : end]
        kept = buffer.start + self._complete(body, trim, has_shown)
        lead = buffer.start + len(body) - len(body.lstrip())
        text = buffer.text[lead:kept].rstrip()
        within = openers_after_breaks(text, self._open_markers.limit)
        if within is None:
            within = [(kind, at - lead) for kind, at in self._last_openers if lead <= at < kept]
        suffix = closing(text, within, self._longest)
        if suffix and self._observer:
            self._observer.transform("auto_close", text, text + suffix)
        self.leave(HeldBoundary(kept, kept, reason), suffix)
        if removed := buffer.text[kept:end].strip():
            buffer.emit("trimmed", removed, reason, end, ends_line=True)
        self._open_markers.clear()

    def _complete(self, body: str, trim: Trim, has_shown: bool) -> int:
        """Return how much of `body` is complete.

        With `clause`, half a clause is kept if there is nothing else to show, or if it is the
        second half of one that an overflow has cut.
        """
        if trim == "nothing":
            return len(body)
        end = clause_end(body, self._open_markers.limit)
        follows_clause = has_shown and not self._buffer.is_mid_clause
        is_cut = end > 0 or trim == "unfinished" or follows_clause
        return end if is_cut else len(body)
