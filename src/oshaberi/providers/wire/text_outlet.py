"""Passes an answer's text on, up to a stop string or another speaker's label."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence

from oshaberi.providers.request.model_request import Request
from oshaberi.providers.request.parameters import RESERVED

# Ends a text at the first stop string, for an API that takes none: `feed` text, `finish`.
#
# The stop string that is complete first ends the text, as it does where a model's server watches
# for it; of those that are complete at the same character, the longest. So it does not matter how
# the text was cut into pieces. Stop strings come from a server's admins and the text from a
# model, so the work is linear in both: this is the automaton of Aho and Corasick, one step for
# each character.


START = 0
"""The state in which no stop string has begun."""


class StopStringCut:
    """Takes text and returns what may be shown. Holds back a possible stop string.

    A state stands for the longest end of the text that is the beginning of a stop string.
    """

    def __init__(self, stops: Iterable[str]) -> None:
        self.is_found = False
        self._next: list[dict[str, int]] = [{}]
        self._begun = [("", 0)]
        """For each state a stop string, and how much of it is at the end of the text."""
        self._complete = [0]
        """For each state, the length of the stop string that is complete; 0 if none is."""
        for stop in stops:
            self._add(stop)
        self._shorter = [START] * len(self._next)
        """For each state, the state of the longest shorter end of the text that begins a stop
        string, too."""
        self._link_shorter_ends()
        first = "".join(map(re.escape, self._next[START]))
        self._first = re.compile(f"[{first}]" if first else r"(?!)")
        self._state = START

    def feed(self, text: str) -> str:
        """Return the text that may be shown now; nothing after a stop string."""
        if self.is_found:
            return ""
        state, at = self._state, 0
        while at < len(text) and not self._complete[state]:
            if state == START:
                begun = self._first.search(text, at)
                if begun is None:
                    at = len(text)
                    break
                at = begun.start()
            state = self._after(state, text[at])
            at += 1
        self.is_found = self._complete[state] > 0
        return self._released(text, at, self._complete[state] or self._begun[state][1], state)

    def finish(self) -> str:
        """Return the held-back text, which was not a stop string."""
        stop, length = self._begun[self._state]
        self._state = START
        return stop[:length]

    def _released(self, text: str, at: int, kept: int, state: int) -> str:
        """Return the held-back text and `text` up to `at`, without the last `kept` characters."""
        stop, held = self._begun[self._state]
        self._state = START if self.is_found else state
        shown = held + at - kept
        return stop[:shown] if shown <= held else stop[:held] + text[: shown - held]

    def _after(self, state: int, char: str) -> int:
        while state != START and char not in self._next[state]:
            state = self._shorter[state]
        return self._next[state].get(char, START)

    def _add(self, stop: str) -> None:
        state = START
        for length, char in enumerate(stop, start=1):
            if char not in self._next[state]:
                self._next[state][char] = len(self._next)
                self._next.append({})
                self._begun.append((stop, length))
                self._complete.append(0)
            state = self._next[state][char]
        self._complete[state] = len(stop)

    def _link_shorter_ends(self) -> None:
        """Link each state to the next shorter one, the short ones first."""
        waiting = deque(self._next[START].values())
        while waiting:
            state = waiting.popleft()
            for char, longer in self._next[state].items():
                shorter = self._after(self._shorter[state], char)
                self._shorter[longer] = shorter
                # The longer one ends here itself; a shorter one may end here, too.
                self._complete[longer] = self._complete[longer] or self._complete[shorter]
                waiting.append(longer)


# Holds back the last characters of a stream, to catch another speaker's label in time.
#
# Spec 02, speaker hold-back. The text engine's guard comes later and knows more (spec 06 S7); the
# hold-back only ends the stream early, and only for known names.


_FENCE = re.compile(r"\n[ \t>]*(?:```|~~~)")
_BOLD = r"(?:\*{1,3}|__)?"
_SEAM = 40
"""How many characters of a line show whether it is a code fence."""


class SpeakerHoldback:
    """Takes text and returns what may be shown; `found` is the label that ended it."""

    def __init__(self, speakers: Sequence[str], chars: int) -> None:
        names = sorted({*map(str.strip, speakers), *RESERVED} - {""}, key=len, reverse=True)
        alternatives = "|".join(map(re.escape, names))
        label = rf"\n[ \t]*{_BOLD}({alternatives})[ \t]?{_BOLD}[ \t]?[:：]"
        # Neither `::` nor `://`: to know that takes a character or two more, unless this is the
        # end.
        self._label = re.compile(rf"{label}(?=[^:：/]|/[^/])", re.IGNORECASE)
        self._last_label = re.compile(rf"{label}(?=[^:：/]|/[^/]|/?\Z)", re.IGNORECASE)
        self.found: str | None = None
        self._chars = chars
        self._held = ""
        self._line = "\n"
        self._fences = 0

    def feed(self, text: str) -> str:
        """Return the text that may be shown now; nothing after a label was found."""
        held = self._held + text
        label = self._foreign(self._label, held)
        if label is not None:
            return self._cut(held, label)
        out = held[: -self._chars] if self._chars else held
        self._held = held[len(out) :]
        self._leave(out)
        return out

    def finish(self) -> str:
        """Return the held-back text at the end, up to a label."""
        tail, self._held = self._held, ""
        label = self._foreign(self._last_label, tail)
        return tail if label is None else self._cut(tail, label)

    def _cut(self, held: str, label: re.Match[str]) -> str:
        self.found = label[1]
        self._held = ""
        return held[: label.start()].rstrip()

    def _foreign(self, pattern: re.Pattern[str], held: str) -> re.Match[str] | None:
        if "\n" not in held:
            return None
        seen, at = self._line, 0
        fences = self._fences
        for found in pattern.finditer(held):
            fences += len(_FENCE.findall(seen + held[at : found.start()]))
            if fences % 2 == 0:
                return found
            seen, at = "", found.start()
        return None

    def _leave(self, out: str) -> None:
        """Count the code fences in returned text, and keep the start of the unfinished line."""
        if not out:
            return
        seen = self._line + out
        last = seen.rfind("\n")
        self._fences += len(_FENCE.findall(seen[:last]))
        self._line = seen[last : last + _SEAM]


# Passes an answer's text on, up to a stop string or another speaker's label.


SPEAKER_GUARD = "speaker_guard"
STOP = "stop"


class TextOutlet:
    """Takes text and returns what may be shown; `ended_by` is the finish reason once it ended."""

    def __init__(self, request: Request, stops: Sequence[str] = ()) -> None:
        self.ended_by: str | None = None
        self._cut = StopStringCut(stops) if stops else None
        self._holdback: SpeakerHoldback | None = None
        if request.speaker_guard:
            self._holdback = SpeakerHoldback(request.speakers, request.holdback_chars)
        self.is_plain = self._cut is None and self._holdback is None

    def feed(self, text: str) -> str:
        if self._cut is None:
            return self._guarded(text)
        out = self._guarded(self._cut.feed(text))
        if self._cut.is_found:
            out += self._released()
            self.ended_by = self.ended_by or STOP
        return out

    def finish(self) -> str:
        """Return the held-back text at the end of the stream."""
        if self.ended_by is not None:
            return ""
        held = self._cut.finish() if self._cut is not None else ""
        return self._guarded(held) + self._released()

    def _guarded(self, text: str) -> str:
        if self._holdback is None:
            return text
        if self._holdback.found is not None:
            return ""
        return self._noted(self._holdback, self._holdback.feed(text))

    def _released(self) -> str:
        if self._holdback is None or self._holdback.found is not None:
            return ""
        return self._noted(self._holdback, self._holdback.finish())

    def _noted(self, holdback: SpeakerHoldback, out: str) -> str:
        if holdback.found is not None:
            self.ended_by = SPEAKER_GUARD
        return out
