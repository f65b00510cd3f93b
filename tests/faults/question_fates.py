"""What became of the questions of a long run: whole and once, or told; and the bot's memory."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from discord_stage import Stage
from discord_stage.world.records import StageMessage
from tests.crash.numbered_lines_model import expected

TOLD_BY = {"🈵", "⏳", "🔇", "⚠️"}
"""Reactions that say that a question is not answered."""
FLAT_SHARE, FLAT_MB = 1.05, 4.0
"""Memory counts as flat up to this: a share for what is kept, and the allocator's noise."""


def answered_in(message: StageMessage) -> list[int]:
    """Return the question of each line that is part of an answer."""
    numbers = re.findall(r"^question (\d+) ", message.content, re.MULTILINE)
    return [int(number) for number in numbers]


@dataclass(frozen=True, slots=True)
class Fate:
    """One question, and what its channel holds of its answer."""

    number: int
    lines: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        return list(self.lines) == expected(f"question {self.number}")

    @property
    def is_orderly(self) -> bool:
        """Whether it is the beginning of the answer: nothing twice, nothing left out."""
        whole = "\n".join(expected(f"question {self.number}"))
        return whole.startswith("\n".join(self.lines))


@dataclass(slots=True)
class Batch:
    """Up to three questions that were asked in a channel at once, and what came after them."""

    channel: str
    questions: dict[int, StageMessage]
    asked_at: float
    fates: list[Fate] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    def look(self, stage: Stage) -> None:
        first = min(one.id for one in self.questions.values())
        channel = stage.world.messages.get(stage.world.channel(self.channel).id, {})
        people = {user.id for user in stage.world.users.values() if not user.bot}
        later = [one for one in channel.values() if one.id > first and one.author_id not in people]
        said = [line for one in later for line in one.content.split("\n")]
        self.fates = [
            Fate(number, tuple(line for line in said if line.startswith(f"question {number} ")))
            for number in self.questions
        ]
        self.notices = [str(embed.get("title")) for one in later for embed in one.embeds]
        self.notices += [
            reaction.name
            for one in self.questions.values()
            for reaction in one.reactions
            if reaction.users and reaction.name in TOLD_BY
        ]

    @property
    def whole(self) -> int:
        return sum(fate.is_whole for fate in self.fates)

    @property
    def is_over(self) -> bool:
        return self.whole + len(self.notices) >= len(self.questions)

    def problems(self) -> list[str]:
        found = [
            f"{self.channel}, asked at {self.asked_at:.0f} s: not the beginning of an answer: "
            f"{fate.number} {list(fate.lines)}"
            for fate in self.fates
            if not fate.is_orderly
        ]
        if not self.is_over:
            short = {fate.number: len(fate.lines) for fate in self.fates if not fate.is_whole}
            found.append(
                f"{self.channel}, asked at {self.asked_at:.0f} s: not whole: {short} (lines by "
                f"question), told {self.notices}"
            )
        return found


@dataclass(frozen=True, slots=True)
class MemorySample:
    """The bot's memory, and the processor time that it has used."""

    at_s: float
    rss_mb: float
    cpu_s: float


@dataclass(slots=True)
class Soaked:
    """What became of the questions, and how much memory the bot used."""

    asked: int = 0
    whole: int = 0
    told: Counter[str] = field(default_factory=Counter)
    spare: int = 0
    """More notices than answers that are not whole."""
    faults: Counter[str] = field(default_factory=Counter)
    samples: list[MemorySample] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def close(self, batch: Batch) -> None:
        self.whole += batch.whole
        self.spare += max(0, batch.whole + len(batch.notices) - len(batch.questions))
        self.told.update(batch.notices)
        self.problems += batch.problems()

    def memory(self, seconds: float) -> tuple[float, float]:
        """Return the means of the second and the last quarter: minutes 5-10 and 15-20 of 20."""
        quarters = [
            [one.rss_mb for one in self.samples if begin < one.at_s / seconds <= begin + 0.25]
            for begin in (0.25, 0.75)
        ]
        before, after = (sum(one) / max(1, len(one)) for one in quarters)
        return before, after

    def is_flat(self, seconds: float) -> bool:
        before, after = self.memory(seconds)
        return after <= before * FLAT_SHARE + FLAT_MB
