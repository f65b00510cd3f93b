"""Walks V and the messages side by side and says where they part (L3), and where V was cut (L5).

Every difference must be one that the specification lists; anything else is a broken law.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

import emoji

from .allowed_differences import BREAK, NEXT_MESSAGE, Sides, could_close, skip
from .expected_atoms import utf16
from .visible_text import BLOCK_MARK, is_unseen_sign

_CLOSERS = ')）"」』”“»«》*~|'
_SHORTCODE = re.compile(r"<a?(?P<tag>:\w+:)>|:[\w+\-’.()&]+:")
_JOINS_BEFORE = re.compile(r"\s*(?:[.,!?;:。！？、，…\u2060-\u206f]|$)")
"""What may stand behind a `<br>` and go to the line before."""
_WORD = re.compile(r"\S+")
_MARKERS = re.compile(r"[*_~|)\]\"'”’»」』》）]*(?=[\n\x1e]|$)")
_PERIODS = (".", "。", "．", "｡")
_LINE_END = frozenset("\n" + NEXT_MESSAGE)
_PATIENCE = 20_000
_SHORT = 4


@dataclass(frozen=True, slots=True)
class Held:
    """A named withholding; `at` where the whole of a segment, known by its span, was withheld."""

    text: str
    at: int | None = None
    in_line: bool = False
    """It is all of one line or a part of it."""


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
class Aligner(Sides):
    """One comparison of a prose `source` with the `outputs` that came of it."""

    held: list[Held] = field(default_factory=list)
    best: tuple[int, str] = (-1, "")
    seen: set[_State] = field(default_factory=set)

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
            if state in self.seen:
                return None  # what is ahead of it was tried
            self.seen.add(state)
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
        i, j = skip(self.source, state.i), skip(self.out, state.j)
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
        """What was withheld, if long or a line, or a period that a message does not end with."""
        if state.held:
            start, end = self.source.rfind("\n", 0, i) + 1, self.source.find("\n", i)
            line = self.source[start : end if end >= 0 else len(self.source)].strip()
            if any(self.held[h].text == line for h in state.held):
                return True
            rest = Counter(self.source[i : end if end >= 0 else len(self.source)].strip())
            is_stray = len(line) > 1 and not any(char.isalnum() for char in line)
            if is_stray and rest <= Counter(self.held[h].text for h in state.held):
                return True  # it is withheld sign by sign
            long = (h for h in state.held if len(self.held[h].text) > _SHORT)
            if any(self._held_end(i, h) is not None for h in long):
                return True
        is_period = self.loosely and state.i == i and self.source[i : i + 1] in _PERIODS
        return is_period and NEXT_MESSAGE in self.out[state.j : j]

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
        if a in ":<" and (code := _SHORTCODE.match(self.source, i)):
            name = code["tag"] or code[0]
            picture = emoji.emojize(name, language="alias")
            if picture != name and self.out.startswith(picture, j):
                return len(code[0]), len(picture)
        return None

    def _separation(self, state: _State, i: int, j: int) -> str | None:
        """Words stay apart, and stay words."""
        if i == 0 or j == 0 or BLOCK_MARK in self.source[i - 1 : i + 1]:
            return None
        before, after = self.source[state.i : i], self.out[state.j : j]
        if state.apart:
            if after or self.follows_expression(i, j):
                return None
            return "words joined where something was taken out"
        if state.loose or bool(before) == bool(after):
            return None
        if before:
            return None if self.may_join(before, i, j) else "words joined"
        if BLOCK_MARK in self.source[max(0, state.i - 1) : i]:
            return None
        if NEXT_MESSAGE not in after:
            return "a space in the middle of a word"
        return None

    def _taken_out(self, state: _State, i: int) -> Iterator[_State]:
        tried: set[Held] = set()
        for h in state.held:
            known = self.held[h].at is not None or self.held[h] in tried
            tried.add(self.held[h])
            if not known and self._held_end(i, h) is not None:
                yield self._withheld(state, i, h)
        if i == len(self.source):
            return
        line_break = BREAK.match(self.source, i) if self.source[i] == "<" else None
        if is_unseen_sign(self.source[i]):
            yield from self._unseen(state, i)
        if line_break:
            end = line_break.end()
            joins = _JOINS_BEFORE.match(self.source, end) is not None
            yield _State(end, state.j, joins, not joins, state.held)
        if self.loosely and self.source[i] in ",;.。．｡":
            yield from self._punctuation_dropped(state, i)

    def _unseen(self, state: _State, i: int) -> Iterator[_State]:
        """What makes no event (B8)."""
        if self.is_unseen(i, state.j):
            yield _State(i + 1, state.j, True, False, state.held)
        elif end := self.unseen_run_end(i, state.j):
            yield _State(end, state.j, True, False, state.held)

    def _punctuation_dropped(self, state: _State, i: int) -> Iterator[_State]:
        around = self.source[i - 1 : i], self.source[i + 1 : i + 2]
        inside_word = all(c.isalnum() for c in around)
        if self.source[i] not in ",;":
            j = skip(self.out, state.j)
            rest = _MARKERS.match(self.out, j)
            ends_line = bool(rest) or not _LINE_END.isdisjoint(self.out[state.j : j])
            cut_behind = NEXT_MESSAGE in self.out[state.j : j] and self.out[j : j + 1] == around[1]
            if not ends_line or self.source[i] == around[0]:
                return
            if self.source[i] == around[1] and not cut_behind:
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
        """Where the withholding ends that begins at `i`, whatever white space and breaks it has."""
        held = self.held[h]
        if held.in_line:
            return i + len(held.text) if self.source.startswith(held.text, i) else None
        for k, char in enumerate("".join(held.text.split())):
            i = skip(self.source, i)
            while k and char != "<" and (line_break := BREAK.match(self.source, i)):
                i = skip(self.source, line_break.end())
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
        if nothing_left and could_close(self.lines[:i], self.out[j:end]):
            yield _State(state.i, end, state.loose, False, state.held)
