"""Accounts for every visible character: delivered with a message id, or withheld for a reason.

Each entry gets exactly one fate. `problems` says at the end of a stream what does not add up.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from oshaberi.events import Message, Span, Table, Withheld

DELIVERED = "delivered"
SUPPRESSED = "suppressed"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One stretch of visible text. `fate` is `delivered`, the reason why not, or still open."""

    text: str
    segment: int
    span: Span
    fate: str | None = None
    message_id: int | None = None
    expected: bool = True
    """Was to be sent. What the engine withheld never was."""


class Ledger:
    """Entries in the order of the text."""

    def __init__(self) -> None:
        self.entries: list[LedgerEntry] = []
        self._twice: list[int] = []
        self._parts: dict[int, list[str]] = {}
        self._split: dict[int, int] = {}

    def expect(self, event: Message | Table) -> int:
        """Enter text that is to be sent. The number stands for it from now on."""
        text = event.source if isinstance(event, Table) else event.text
        self.entries.append(LedgerEntry(text, event.segment, event.span))
        return len(self.entries) - 1

    def withhold(self, event: Withheld) -> None:
        """Enter text that the engine kept back."""
        entry = LedgerEntry(event.text, event.segment, event.span, event.reason, expected=False)
        self.entries.append(entry)

    def drop(self, event: Withheld) -> None:
        """Enter text that would have been sent, had the stream gone on."""
        self.entries.append(LedgerEntry(event.text, event.segment, event.span, event.reason))

    def split(self, number: int, parts: int) -> None:
        """The entry goes out in so many messages: delivered only if all of them are."""
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
        self.entries[number] = LedgerEntry(
            entry.text, entry.segment, entry.span, fate, message_id, entry.expected
        )

    def is_delivered(self, number: int) -> bool:
        return self.entries[number].fate == DELIVERED

    def settle_open(self, fate: str) -> None:
        """After a fault of ours: whatever has no fate yet gets this one."""
        for number, entry in enumerate(self.entries):
            if entry.fate is None:
                self.entries[number] = replace(entry, fate=fate)

    @property
    def expected(self) -> int:
        """How many texts were to be sent."""
        return sum(entry.expected for entry in self.entries)

    @property
    def undelivered(self) -> str:
        """What was to be sent and was not, in order."""
        lost = (
            e.text for e in self.entries if e.expected and e.fate not in (DELIVERED, SUPPRESSED)
        )
        return "\n".join(lost)

    def sums(self) -> dict[str, int]:
        """Characters by fate."""
        sums: Counter[str] = Counter()
        for entry in self.entries:
            sums[entry.fate or "open"] += len(entry.text)
        return dict(sums)

    def problems(self) -> list[str]:
        """What does not add up; empty when all is well."""
        open_ = [f"no fate: {e.text!r}" for e in self.entries if e.fate is None]
        twice = [f"two fates: {self.entries[n].text!r}" for n in self._twice]
        return [*open_, *twice, *self._disorder()]

    def _disorder(self) -> list[str]:
        """Segments tile the text: each begins where the one before it ended."""
        spans = {entry.segment: entry.span for entry in self.entries if entry.segment}
        wrong, end = [], 0
        for segment in sorted(spans):
            start, stop = spans[segment]
            if start != end:
                wrong.append(f"segment {segment} begins at {start}, not at {end}")
            end = stop
        return wrong
