"""What the bench asks, and the lines that the model answers: every line can be told from any other.

A question names its number and how many lines it wants, so the model server needs no state.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

TOKENS_PER_SECOND = 50.0
_WORDS = "the river runs past the old mill and a garden on its way to sea"
TOKENS_PER_LINE = 4 + len(_WORDS.split())
_QUESTION = re.compile(rb"question (\d+), (\d+) lines")


def question(number: int, lines: int) -> str:
    return f"question {number}, {lines} lines"


def newest_question(body: bytes) -> tuple[int, int]:
    """The number and the lines of the last question in a request, wherever it stands."""
    found = _QUESTION.findall(body)
    if not found:
        raise ValueError("the request holds no question of the bench")
    number, lines = found[-1]
    return int(number), int(lines)


def answer_lines(number: int, lines: int) -> list[str]:
    return [f"answer {number} line {at} {_WORDS}" for at in range(lines)]


def answer_tokens(number: int, lines: int) -> list[str]:
    """A word is a token, and a line's last token holds the line break."""
    tokens = []
    for line in answer_lines(number, lines):
        *words, last = line.split()
        tokens += [f"{word} " for word in words] + [f"{last}\n"]
    return tokens


def ideal_first_s() -> float:
    """When the model has written the first line."""
    return TOKENS_PER_LINE / TOKENS_PER_SECOND


def ideal_done_s(lines: int) -> float:
    return lines * TOKENS_PER_LINE / TOKENS_PER_SECOND


@dataclass(frozen=True, slots=True)
class AnswerFaults:
    """How many lines of an answer are wrong, by kind."""

    lost: int = 0
    doubled: int = 0
    reordered: int = 0
    foreign: int = 0
    """Lines that the model did not write: notices of an error."""

    def __add__(self, other: AnswerFaults) -> AnswerFaults:
        return AnswerFaults(
            self.lost + other.lost,
            self.doubled + other.doubled,
            self.reordered + other.reordered,
            self.foreign + other.foreign,
        )

    def __bool__(self) -> bool:
        return self != AnswerFaults()


def faults_in(expected: Sequence[str], said: Sequence[str]) -> AnswerFaults:
    places = {line: place for place, line in enumerate(expected)}
    known = [places[line] for line in said if line in places]
    seen = Counter(known)
    first_seen = list(dict.fromkeys(known))
    return AnswerFaults(
        lost=len(expected) - len(seen),
        doubled=len(known) - len(seen),
        reordered=sum(later < earlier for earlier, later in pairwise(first_seen)),
        foreign=len(said) - len(known),
    )
