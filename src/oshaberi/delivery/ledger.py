"""Accounts for every visible character: delivered with a message id, or not, with the reason.

Each entry gets exactly one fate. `problems` says at the end of a stream what does not add up.
"""

from __future__ import annotations

from collections import Counter

from oshaberi.events import Message, Span, Table, Withheld

DELIVERED = "delivered"
SUPPRESSED = "suppressed"


class LedgerEntry:
    """A stretch of visible text. `fate` is `delivered`, the reason why not, or None if open."""

    __slots__ = ("end", "expected", "fate", "message_id", "segment", "start", "text")

    def __init__(
        self, text: str, segment: int, start: int, end: int, fate: str | None = None
    ) -> None:
        self.text = text
        self.segment = segment
        self.start = start
        self.end = end
        self.fate = fate
        self.message_id: int | None = None
        self.expected = True
        """Was to be sent. What the engine withheld never was."""

    @property
    def span(self) -> Span:
        """Where its segment is in the visible text. Two numbers are nothing for the collector."""
        return self.start, self.end


class Ledger:
    """Entries in the order of the text."""

    def __init__(self) -> None:
        self.entries: list[LedgerEntry] = []
        self._twice: list[int] = []
        self._parts: dict[int, list[str]] = {}
        self._split: dict[int, int] = {}

    def expect(self, event: Message | Table) -> int:
        """Enter text that is to be sent. Return the number of its entry."""
        text = event.source if isinstance(event, Table) else event.text
        start, end = event.span
        self.entries.append(LedgerEntry(text, event.segment, start, end))
        return len(self.entries) - 1

    def withhold(self, event: Withheld) -> None:
        """Enter text that the engine withheld."""
        self.drop(event)
        self.entries[-1].expected = False

    def drop(self, event: Withheld) -> None:
        """Enter text that would have been sent if the stream had not been ended."""
        start, end = event.span
        self.entries.append(LedgerEntry(event.text, event.segment, start, end, event.reason))

    def split(self, number: int, parts: int) -> None:
        """Note that an entry is sent in `parts` messages. It is delivered only if all are."""
        self._split[number] = parts
        self._parts[number] = []

    def settle(self, number: int, fate: str, message_id: int | None = None) -> None:
        fates = self._parts.get(number)
        if fates is not None:
            fates.append(fate)
            if len(fates) < self._split[number]:
                return
            fate = next((f for f in fates if f != DELIVERED), DELIVERED)
        entry = self.entries[number]
        if entry.fate is not None:
            self._twice.append(number)
        entry.fate, entry.message_id = fate, message_id

    def is_delivered(self, number: int) -> bool:
        return self.entries[number].fate == DELIVERED

    def settle_open(self, fate: str) -> None:
        """Give all open entries this fate, after an internal error."""
        for entry in self.entries:
            if entry.fate is None:
                entry.fate = fate

    @property
    def expected(self) -> int:
        """Return how many texts were to be sent."""
        return sum(entry.expected for entry in self.entries)

    @property
    def undelivered(self) -> str:
        """Return the text that was to be sent and was not, in order."""
        lost = (
            e.text for e in self.entries if e.expected and e.fate not in (DELIVERED, SUPPRESSED)
        )
        return "\n".join(lost)

    def sums(self) -> dict[str, int]:
        """Count the characters by fate."""
        sums: Counter[str] = Counter()
        for entry in self.entries:
            sums[entry.fate or "open"] += len(entry.text)
        return dict(sums)

    def problems(self) -> list[str]:
        """List the inconsistencies; empty if there are none."""
        open_ = [f"no fate: {e.text!r}" for e in self.entries if e.fate is None]
        twice = [f"two fates: {self.entries[n].text!r}" for n in self._twice]
        return [*open_, *twice, *self._disorder()]

    def _disorder(self) -> list[str]:
        """List segments that do not begin where the one before ended."""
        spans = {entry.segment: entry.span for entry in self.entries if entry.segment}
        wrong, end = [], 0
        for segment in sorted(spans):
            start, stop = spans[segment]
            if start != end:
                wrong.append(f"segment {segment} begins at {start}, not at {end}")
            end = stop
        return wrong
