"""How many bytes one answer of a model may have: text, thoughts, arguments of calls, whole body.

Beyond a budget the answer ends with an error that names it (`text_budget`, …). The part before that
is delivered as usual.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from oshaberi.errors import Sentence

BudgetName = Literal["text_budget", "thought_budget", "argument_budget", "body_budget"]

MOST_TEXT_BYTES = 1_000_000
MOST_THOUGHT_BYTES = 4_000_000
MOST_ARGUMENT_BYTES = 1_000_000
MOST_BODY_BYTES = 64_000_000
"""The longest answers of today's models have 128 000 tokens, each in an event of 300 bytes."""
MOST_CALLS = 128


class BudgetExceededError(Exception):
    """An answer has more than its budget. `name` says which."""

    def __init__(self, name: BudgetName, most_bytes: int) -> None:
        super().__init__(budget_words(name, most_bytes))
        self.name = name
        self.most_bytes = most_bytes


def budget_words(name: BudgetName, most_bytes: int) -> Sentence:
    """Say which budget ended an answer."""
    match name:
        case "text_budget":
            return Sentence(
                "The answer was cut off: its text has more than {most:,} bytes.", most=most_bytes
            )
        case "thought_budget":
            return Sentence(
                "The answer was cut off: its thoughts have more than {most:,} bytes.",
                most=most_bytes,
            )
        case "argument_budget":
            return Sentence(
                "The answer was cut off: its tool calls have more than {most:,} bytes.",
                most=most_bytes,
            )
        case "body_budget":
            return Sentence(
                "The answer was cut off: the server sent more than {most:,} bytes.",
                most=most_bytes,
            )


@dataclass(frozen=True, slots=True)
class AnswerBudgets:
    """The budgets of one answer, in bytes. `arguments` is for all calls of the answer together."""

    text: int = MOST_TEXT_BYTES
    thoughts: int = MOST_THOUGHT_BYTES
    arguments: int = MOST_ARGUMENT_BYTES
    body: int = MOST_BODY_BYTES


DEFAULT_BUDGETS = AnswerBudgets()


class BudgetMeter:
    """Counts what one answer has used so far. Raises BudgetExceededError."""

    __slots__ = ("_arguments_left", "_budgets", "_signatures_left", "_thoughts_left", "text_left")

    def __init__(self, budgets: AnswerBudgets = DEFAULT_BUDGETS) -> None:
        self._budgets = budgets
        self.text_left = budgets.text
        self._thoughts_left = budgets.thoughts
        self._arguments_left = budgets.arguments
        self._signatures_left = budgets.thoughts

    @property
    def text_bytes(self) -> int:
        """Return how many bytes of visible text have come so far."""
        return self._budgets.text - self.text_left

    def fitting(self, text: str) -> str:
        """Count visible text. Return the part of it that the budget allows."""
        self.text_left -= byte_size(text)
        if self.text_left >= 0:
            return text
        room = byte_size(text) + self.text_left
        return text.encode("utf-8", "surrogatepass")[: max(room, 0)].decode("utf-8", "ignore")

    def text_exceeded(self) -> BudgetExceededError:
        return BudgetExceededError("text_budget", self._budgets.text)

    def add_thought(self, text: str) -> None:
        self._thoughts_left -= byte_size(text)
        if self._thoughts_left < 0:
            raise BudgetExceededError("thought_budget", self._budgets.thoughts)

    def add_signature(self, *values: Any) -> None:
        """Count blocks that are kept to be sent back: as many bytes as thoughts may have."""
        self._signatures_left -= sum(map(_rough_size, values))
        if self._signatures_left < 0:
            raise BudgetExceededError("thought_budget", self._budgets.thoughts)

    def add_arguments(self, *texts: str) -> None:
        self._arguments_left -= sum(map(byte_size, texts))
        if self._arguments_left < 0:
            raise BudgetExceededError("argument_budget", self._budgets.arguments)

    def check_calls(self, calls: int) -> None:
        if calls > MOST_CALLS:
            raise BudgetExceededError("argument_budget", self._budgets.arguments)


def byte_size(text: str) -> int:
    """Return how many bytes a text has in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _rough_size(value: Any) -> int:
    return byte_size(value) if isinstance(value, str) else len(repr(value))
