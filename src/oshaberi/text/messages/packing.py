"""How much goes into one message, and what separates its parts (spec 07).

A message holds a part, a paragraph, as much as fits, or everything. So degree 0 collects a whole
answer (`aggregate_join` separates its parts), and a long answer becomes fewer messages.
"""

from __future__ import annotations

from typing import Final, Literal

from oshaberi.events import Boundary, Identity
from oshaberi.text.config import TextConfig
from oshaberi.text.copied_state import CopiedState
from oshaberi.text.line_kinds import block_kind
from oshaberi.text.measure import fits, utf16_len

_SAME_BLOCK: Final = frozenset({"list", "quote", "subtext"})


class PackedPart:
    """A piece of text that goes into a message."""

    __slots__ = (
        *("boundary", "end", "gap", "identity", "is_code", "joiner", "labelled", "lead"),
        "text",
    )

    def __init__(
        self,
        text: str,
        boundary: Boundary,
        end: int,
        gap: str,
        identity: Identity | None = None,
        labelled: bool = False,
    ) -> None:
        self.text = text
        self.boundary = boundary
        self.end = end
        self.gap = gap
        self.identity = identity
        self.labelled = labelled
        self.is_code = False
        self.lead = 0
        """How many characters at the front are punctuation that was joined to it (S1)."""
        self.joiner = ""
        """What goes between it and the part before it, in one message."""

    def __getnewargs__(self) -> tuple[str, Boundary, int, str]:
        """Return the arguments for a copy: mypyc's `__new__` requires those of `__init__`."""
        return self.text, self.boundary, self.end, self.gap


def joiner(last: PackedPart, part: PackedPart, *, blank_line: bool) -> str:
    """Return the text between two parts. With `blank_line`, paragraphs are set apart by one."""
    gap = part.gap
    newlines = 1 if gap == "\n" else gap.count("\n")
    if newlines == 0:
        if would_merge(last, part):
            return "\n"
        return " " if part.gap else ""
    if newlines == 1:
        if not blank_line or part.is_code or last.is_code:
            return "\n"
        kind = block_kind(part.text)
        if kind in _SAME_BLOCK and kind == block_kind(last.text):
            return "\n"
    return "\n\n"


def would_merge(last: PackedPart, part: PackedPart) -> bool:
    """Return whether their backticks would become one run: `<br>` may have stood between them."""
    if part.is_code and last.is_code:
        return "\n" not in part.gap
    return not part.gap and last.text.endswith("`") and part.text.startswith("`")


PackingPolicy = Literal["each", "paragraph", "fill", "all"]
"""How much text goes into one message (spec 07, degrees and budget)."""


class MessagePacking(CopiedState):
    """The parts of the next message, in order, which wait here for each other."""

    def __init__(self, config: TextConfig) -> None:
        self._degree = config.humanizer_degree
        most = config.max_flush_count
        self._each_below = (most - 1) // 2
        """This many messages of a response have one line each."""
        self._paragraph_below = (most * 3 - 1) // 4
        """This many have at most one paragraph."""
        self._whole_above = config.whole_above_chars
        self._longest = config.max_single_message_length
        self._blank_line = config.aggregate_join == "blank_line" and self._degree == 0
        self.parts: list[PackedPart] = []
        self._units = 0

    def policy(self, count: int, end: int) -> PackingPolicy:
        """Return the policy for the message after the first `count` of the response.

        `end` is where in V its next part ends. Beyond `whole_above_chars` messages are filled: the
        final length is not known yet, so messages that were sent stay as they are.
        """
        if self._degree == 0:
            return "all"
        if 0 < self._whole_above < end:
            return "fill"
        if count < self._each_below:
            return "each"
        return "paragraph" if count < self._paragraph_below else "fill"

    def is_whole(self, end: int) -> bool:
        """Return whether the answer is so long that it is no longer sent in small messages."""
        return 0 < self._whole_above < end

    @property
    def is_full(self) -> bool:
        """Return whether the parts fill a message, or more than one."""
        return self._units >= self._longest

    def add(self, part: PackedPart) -> None:
        if self.parts:
            part.joiner = joiner(self.parts[-1], part, blank_line=self._blank_line)
        self.parts.append(part)
        self._units += len(part.joiner) + utf16_len(part.text)

    def ends_before(self, part: PackedPart, policy: PackingPolicy) -> bool:
        """Return whether the message ends before `part`. There must be parts in it."""
        last = self.parts[-1]
        if last.identity is not part.identity and last.identity != part.identity:
            return True
        if policy == "all":
            return False
        between = 1 if would_merge(last, part) else len(part.gap)
        if not fits(part.text, self._longest - self._units - between):
            return True
        if policy == "fill":
            return False
        if part.is_code or last.is_code or part.gap.count("\n") > 1:
            return True
        return (block_kind(part.text) == "list") != (block_kind(last.text) == "list")

    def take(self) -> list[PackedPart]:
        parts, self.parts, self._units = self.parts, [], 0
        return parts

    def joined(self, boundary: Boundary | None = None) -> PackedPart:
        """Remove all waiting parts and return them as one."""
        parts = self.take()
        text = "".join(part.joiner + part.text for part in parts)
        first, last = parts[0], parts[-1]
        return PackedPart(
            text, boundary or last.boundary, last.end, "", first.identity, first.labelled
        )
