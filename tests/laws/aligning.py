"""Walks V and the messages side by side and says where they part (L3), and where V was cut (L5).

Every difference must be one that the specification lists; anything else is a broken law.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from unicodedata import category

import emoji

from .atoms import utf16
from .visible import BLOCK_MARK

NEXT_MESSAGE = "\x1e"
"""Joins the messages into one string. Python counts it as whitespace."""

_CARRIED = re.compile(r"[.,!?;。！？、，]{1,16}(?=\s|$)")
_ORPHAN = frozenset(".,!?;。！？、，…")
_PUNCTUATION = re.compile(r"[.,!?;:。！？、，…]+(?=\s|$)")
_CLOSERS = ')）"」』”“»«》*~|'
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_SHORTCODE = re.compile(r":[\w+\-’.()&]+:")
_TOKEN_END = re.compile(r"<a?:\w+:\d+>[.,!?;:。！？、，…]*$")
_TOKEN_START = re.compile(r"<a?:\w+:\d+>")
_SENTENCE_END = re.compile(r"[。．｡！？!?.…][^\w\s]*$")
_WORD = re.compile(r"\S+")
_MARKERS = re.compile(r"[*_~|)\]\"'”’»」』》）]*(?=[\n\x1e]|$)")
_SPAN_STARTS = frozenset('([{（「『“„«»《*~|"`<\\')
_SPAN_ENDS = frozenset(')]}）」』”“»«》*~|"`>')
_LINE_END = frozenset("\n" + NEXT_MESSAGE)
_PATIENCE = 400


@dataclass(frozen=True, slots=True)
class Held:
    """A named withholding; `at` where the whole of a segment, known by its span, was withheld."""

    text: str
    at: int | None = None


@dataclass(frozen=True, slots=True)
class _Start:
    at: int
    glued: bool
    behind_full: bool


@dataclass(slots=True)
class Alignment:
    problem: str | None = None
    starts: list[int] = field(default_factory=list)
    """Where in V each message begins."""
    inner: list[int] = field(default_factory=list)
    """Those of them that fall between two characters with no whitespace between."""
    full: set[int] = field(default_factory=set)
    """Those of these behind a message that had no room left."""

    def begin(self, start: _Start | None) -> None:
        """Notes that a message begins, if one does."""
        if start:
            self.starts.append(start.at)
            self.inner += [start.at] if start.glued else []
            self.full |= {start.at} if start.glued and start.behind_full else set()

    def copy(self) -> Alignment:
        return Alignment(None, list(self.starts), list(self.inner), set(self.full))


@dataclass(frozen=True, slots=True)
class _State:
    i: int
    j: int
    loose: bool
    """Something was taken out here: whether there is a space does not matter."""
    apart: bool
    """Something was taken out between two words: there must be a space."""
    held: tuple[int, ...]
    start: _Start | None = None
    """The step to here began a message."""


@dataclass(slots=True)
class Aligner:
    """One comparison of a prose `source` with the `outputs` that came of it."""

    source: str
    outputs: list[str]
    held: list[Held]
    limit: int
    buffer: int
    loosely: bool = False
    """Degree 3: case may change, commas, semicolons and a final period may go."""
    out: str = ""
    best: tuple[int, str] = (-1, "")

    def align(self) -> Alignment:
        if not self.held and self.source.split() == " ".join(self.outputs).split():
            return Alignment(starts=self._starts_by_word())
        self.out = NEXT_MESSAGE.join(self.outputs)
        pending = [(_State(0, 0, True, False, tuple(range(len(self.held)))), Alignment())]
        for _ in range(_PATIENCE):
            if not pending:
                break
            done = self._walk(*pending.pop(), pending)
            if done:
                return done
        return Alignment(problem=self.best[1])

    def _starts_by_word(self) -> list[int]:
        words = [m.start() for m in _WORD.finditer(self.source)]
        counts = [len(out.split()) for out in self.outputs]
        firsts = accumulate(counts, initial=0)
        return [words[k] for k in firsts if k < len(words)]

    def _walk(
        self, state: _State, so_far: Alignment, pending: list[tuple[_State, Alignment]]
    ) -> Alignment | None:
        path = so_far
        while state.i >= 0:
            path.begin(state.start)
            options = list(self._options(self._along(state)))
            if not options:
                return None
            pending += [(other, path.copy()) for other in options[1:]]
            state = options[0]
        return path

    def _along(self, state: _State) -> _State:
        """Past the letters and digits that are plainly the same."""
        if state.loose or state.apart:
            return state
        i, j, source, out = state.i, state.j, self.source, self.out
        end = i + min(len(source) - i, len(out) - j)
        while i < end and source[i] == out[j] and source[i].isalnum():
            i, j = i + 1, j + 1
        return state if i == state.i else _State(i, j, False, False, state.held)

    def _options(self, state: _State) -> Iterator[_State]:
        """The ways on from here, the plainest first; a state with i = -1 is the end."""
        i, j = _skip(self.source, state.i), _skip(self.out, state.j)
        if i == len(self.source) and j == len(self.out):
            if state.held:
                return self._stuck(i, f"withheld but not in V: {self.held[state.held[0]].text!r}")
            yield _State(-1, -1, False, False, ())
            return
        forced = next((h for h in state.held if self.held[h].at == i), None)
        if forced is not None:
            yield self._withheld(state, i, forced)
            return
        ways = [self._matched(state, i, j), self._taken_out(state, i)]
        if self._looks_taken_out(state, i, j):
            ways.reverse()
        for way in ways:
            yield from way
        yield from self._put_in(state, i, j)

    def _looks_taken_out(self, state: _State, i: int, j: int) -> bool:
        """A whole line that was withheld, or a period that a message does not end with."""
        if state.held:
            end = self.source.find("\n", i)
            line = self.source[i : end if end >= 0 else len(self.source)].strip()
            if any(self.held[h].text == line for h in state.held):
                return True
        return self.loosely and state.i == i and NEXT_MESSAGE in self.out[state.j : j]

    def _stuck(self, i: int, why: str) -> None:
        if i > self.best[0]:
            self.best = (i, why)

    def _matched(self, state: _State, i: int, j: int) -> Iterator[_State]:
        if i == len(self.source) or j == len(self.out):
            rest = self.source[i:] or self.out[j:]
            self._stuck(i, f"{'lost' if self.source[i:] else 'added'} at the end: {rest[:60]!r}")
            return
        steps = self._same(i, j)
        if not steps:
            self._stuck(i, f"V has {self.source[i : i + 40]!r}, messages {self.out[j : j + 40]!r}")
            return
        wrong = self._separation(state, i, j)
        if wrong:
            self._stuck(
                i, f"{wrong}: V {self._around(i)!r}, messages {self.out[j - 20 : j + 20]!r}"
            )
            return
        start = self._start(state, i, j)
        yield _State(i + steps[0], j + steps[1], False, False, state.held, start)

    def _start(self, state: _State, i: int, j: int) -> _Start | None:
        if j and NEXT_MESSAGE not in self.out[state.j : j]:
            return None
        touched = state.loose or state.apart or BLOCK_MARK in self.source[max(0, i - 1) : i + 1]
        head = self.out.rfind(NEXT_MESSAGE, 0, state.j) + 1
        behind_full = utf16(self.out[head : state.j]) > self.limit - 12
        return _Start(i, bool(i) and state.i == i and not touched, behind_full)

    def _around(self, i: int) -> str:
        return self.source[max(0, i - 20) : i + 20]

    def _same(self, i: int, j: int) -> tuple[int, int] | None:
        a, b = self.source[i], self.out[j]
        if a == b:
            return 1, 1
        if self.loosely:
            folded = a.casefold()
            if folded == b.casefold():
                return 1, 1
            if len(folded) > 1 and self.out[j : j + len(folded)].casefold() == folded:
                return 1, len(folded)
        if a == ":":
            code = _SHORTCODE.match(self.source, i)
            picture = emoji.emojize(code[0], language="alias") if code else ""
            if code and picture != code[0] and self.out.startswith(picture, j):
                return len(code[0]), len(picture)
        return None

    def _separation(self, state: _State, i: int, j: int) -> str | None:
        """Words stay apart, and stay words."""
        if i == 0 or j == 0 or BLOCK_MARK in self.source[i - 1 : i + 1]:
            return None
        before, after = self.source[state.i : i], self.out[state.j : j]
        if state.apart:
            return None if after else "words joined where something was taken out"
        if state.loose or bool(before) == bool(after):
            return None
        if before:
            return None if self._may_join(before, i, j) else "words joined"
        if BLOCK_MARK in self.source[max(0, state.i - 1) : i]:
            return None
        if NEXT_MESSAGE not in after:
            return "a space in the middle of a word"
        return None

    def _may_join(self, before: str, i: int, j: int) -> bool:
        source, out = self.source, self.out
        if "\n" in before and _CARRIED.match(source, i):
            return True
        head = out[max(out.rfind(NEXT_MESSAGE, 0, j), out.rfind("\n", 0, j)) + 1 : j]
        if head and all(c in _ORPHAN for c in head) and (len(head) > 2 or "…" in head):
            return True
        if _TOKEN_START.match(source, i) and _TOKEN_END.search(source[: i - len(before)]):
            return True  # emoji that share a message
        word = source[i - len(before) - 1]
        fragment = _PUNCTUATION.match(source, i) or (head and _PUNCTUATION.fullmatch(head))
        end = out.find(NEXT_MESSAGE, j)
        message = head + out[j : end if end >= 0 else len(out)]
        near_cut = "\n" in before or word == ">" or utf16(message) > self.limit // 2
        return bool(fragment) and near_cut

    def may_cut(self, i: int, kept: list[tuple[int, int]], full: bool) -> bool:
        """A message may begin inside a word only at an emoji, span, sentence, or in a huge word.

        Whitespace inside an atom cannot be cut at, nor inside a span that a full message ends in.
        """
        inside = {k for a, b in kept for k in range(a, b)}
        start = i
        while start and (not self.source[start - 1].isspace() or start - 1 in inside):
            start -= 1
        end = i
        while end < len(self.source) and (not self.source[end].isspace() or end in inside):
            end += 1
        if full and not _SPAN_STARTS.isdisjoint(self.source[max(0, i - self.limit) : i]):
            return True
        if end - start >= min(self.buffer, self.limit) // 5:
            return True
        before = self.source[start:i]
        return bool(
            _TOKEN_END.search(before)
            or _TOKEN_START.match(self.source, i)
            or _SENTENCE_END.search(before)
            or self.source[i] in _SPAN_STARTS
            or (before and before[-1] in _SPAN_ENDS)
        )

    def _taken_out(self, state: _State, i: int) -> Iterator[_State]:
        for h in state.held:
            if self.held[h].at is None and self._held_end(i, h) is not None:
                yield self._withheld(state, i, h)
        if i == len(self.source):
            return
        line_break = _BREAK.match(self.source, i) if self.source[i] == "<" else None
        if category(self.source[i]) == "Cf" and not self._line_is_visible(i):
            yield _State(i + 1, state.j, True, False, state.held)  # B8: makes no event
        if line_break:
            end = line_break.end()
            between = all(c.isalnum() for c in (self.source[i - 1 : i], self.source[end : end + 1]))
            yield _State(end, state.j, not between, between, state.held)
        if self.loosely and self.source[i] in ",;.。．｡":
            yield from self._punctuation_dropped(state, i)

    def _line_is_visible(self, i: int) -> bool:
        """Of the line at `i`; at degree 3 what follows a sentence is a segment of its own."""
        start, end = self.source.rfind("\n", 0, i) + 1, self.source.find("\n", i)
        if self.loosely and _SENTENCE_END.search(self.source[start:i]):
            start = i
        line = self.source[start : end if end >= 0 else len(self.source)]
        return any(not c.isspace() and category(c) != "Cf" for c in line)

    def _punctuation_dropped(self, state: _State, i: int) -> Iterator[_State]:
        around = self.source[i - 1 : i], self.source[i + 1 : i + 2]
        inside_word = all(c.isalnum() for c in around)
        if self.source[i] not in ",;":
            j = _skip(self.out, state.j)
            rest = _MARKERS.match(self.out, j)
            ends_line = bool(rest) or not _LINE_END.isdisjoint(self.out[state.j : j])
            if not ends_line or self.source[i] in around:
                return
        elif all(c.isdigit() for c in around):
            return self._stuck(i, f"punctuation of a number dropped: {self._around(i)!r}")
        apart = state.apart or inside_word or i > state.i
        yield _State(i + 1, state.j, state.loose, apart, state.held)

    def _withheld(self, state: _State, i: int, h: int) -> _State:
        rest = tuple(k for k in state.held if k != h)
        end = self._held_end(i, h)
        return _State(i if end is None else end, state.j, True, False, rest)

    def _held_end(self, i: int, h: int) -> int | None:
        """Where the withholding ends that begins at `i`, whatever its whitespace."""
        for char in "".join(self.held[h].text.split()):
            i = _skip(self.source, i)
            if i == len(self.source) or self.source[i] != char:
                return None
            i += 1
        return i

    def _put_in(self, state: _State, i: int, j: int) -> Iterator[_State]:
        """Markers closed at the end: only after the last word, only what was open."""
        if j == len(self.out) or self.out[j] not in _CLOSERS:
            return
        if NEXT_MESSAGE in self.out[state.j : j]:
            return
        end = j
        while end < len(self.out) and self.out[end] in _CLOSERS:
            end += 1
        if end < len(self.out) and self.out[end] != NEXT_MESSAGE:
            return
        left = self.source[i:].strip()
        nothing_left = len(left) <= 120 and not any(c.isalnum() for c in left)
        if nothing_left and _could_close(self.source[:i], self.out[j:end]):
            yield _State(state.i, end, state.loose, False, state.held)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _could_close(source: str, closers: str) -> bool:
    """Whether the last lines of V hold an opener for each closer put behind them."""
    lines = [line for line in source.split("\n") if line.strip()][-2:]
    tail = "\n".join(lines)
    openers = {
        ")": "(", "）": "（", "」": "「", "』": "『", "”": "“„", "“": "„", "»": "«", "«": "»",
        "》": "《", '"': '"', "*": "*", "~": "~", "|": "|",
    }  # fmt: skip
    return all(closers.count(c) <= sum(tail.count(o) for o in openers[c]) for c in set(closers))
