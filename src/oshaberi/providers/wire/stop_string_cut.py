"""Ends a text at the first stop string, for an API that takes none: `feed` text, `finish`.

The stop string that is complete first ends the text, as it does where a model's server watches for
it; of those that are complete at the same character, the longest. So it does not matter how the
text was cut into pieces. Stop strings come from a server's admins and the text from a model, so the
work is linear in both: this is the automaton of Aho and Corasick, one step for each character.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable

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
        """For each state how long the stop string is that is complete; 0 if none is."""
        for stop in stops:
            self._add(stop)
        self._shorter = [START] * len(self._next)
        """For each state that of the longest shorter end of the text that is a beginning too."""
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
        """Return the held-back text, which was no stop string."""
        stop, length = self._begun[self._state]
        self._state = START
        return stop[:length]

    def _released(self, text: str, at: int, kept: int, state: int) -> str:
        """Return what was held back and `text` up to `at`, without the last `kept` characters."""
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
