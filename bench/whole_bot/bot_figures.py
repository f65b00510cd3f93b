"""What was measured of one bot in one mode, as values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.timing import percentile
from bench.whole_bot.load_modes import Played
from bench.whole_bot.numbered_answers import AnswerFaults, ideal_done_s, ideal_first_s
from bench.whole_bot.process_probe import ProcessReport

_ERROR = re.compile(r"\b(?:ERROR|CRITICAL)\b\s*(?P<said>.*)")
_NUMBER = re.compile(r"\[[0-9a-f]+\]|\d+")
_LONGEST_KIND = 150
_NO_JOURNAL = re.compile(r"the journal (failed|could not be begun)")


@dataclass(frozen=True, slots=True)
class TurnTimes:
    """From the question to the first message and to the last; None if none came."""

    first_p50_s: float | None
    first_p95_s: float | None
    ideal_first_s: float
    done_p50_s: float | None
    done_p95_s: float | None
    stretch_p95: float | None
    """How many times the ideal it took until all was said."""
    all_done_s: float | None
    first_p95_cpu_s: float | None = None
    """The bot's processor time until 95 % of the questions had a first message.

    What the first message would take on a processor of its own, whoever else uses this one.
    """


@dataclass(frozen=True, slots=True)
class LoggedTroubles:
    errors: int = 0
    without_journal: int = 0
    """Log lines about an answer that began, or went on, without a journal; it may have both."""
    kinds: Mapping[str, int] = field(default_factory=dict)
    """How often each error was logged; numbers in it are masked, so that like comes to like."""


@dataclass(frozen=True, slots=True)
class BotFigures:
    """One bot in one mode."""

    mode: str
    bot: str
    turns: int
    chatter: int
    messages: int
    times: TurnTimes | None
    faults: AnswerFaults
    troubles: LoggedTroubles
    requests: Mapping[str, int]
    process: ProcessReport
    stage: ProcessReport
    model: ProcessReport

    @property
    def cpu_ms(self) -> float:
        """Of the bot, per turn; without turns, per message."""
        return self.process.cpu_s * 1000 / self._events

    @property
    def statements(self) -> float:
        return self.process.statements.statements / self._events

    @property
    def transactions(self) -> float:
        return self.process.statements.transactions / self._events

    @property
    def commits(self) -> float:
        return self.process.statements.commits / self._events

    @property
    def messages_per_turn(self) -> float:
        return self.messages / self._events

    @property
    def requests_per_turn(self) -> float:
        return sum(self.requests.values()) / self._events

    @property
    def _events(self) -> int:
        return max(1, self.turns or self.chatter)


def in_short(one: BotFigures) -> str:
    """A line for whoever waits for the tables."""
    first = None if one.times is None else one.times.first_p95_s
    late = "" if first is None else f", first message p95 {first:.1f} s"
    return f"{one.bot}, {one.mode}: {one.process.seconds:.0f} s, CPU {one.cpu_ms:.2f} ms{late}"


def times_of(played: Played, cpu_before_s: float = 0.0) -> TurnTimes | None:
    asked = played.asked
    if not asked:
        return None
    firsts = [one.first_at - one.asked_at for one in asked if one.first_at is not None]
    done = [one for one in asked if one.done_at is not None]
    spans = [(one.done_at or 0.0) - one.asked_at for one in done]
    ratios = [span / ideal_done_s(one.lines) for span, one in zip(spans, done, strict=True)]
    began = min(one.asked_at for one in asked)
    return TurnTimes(
        first_p50_s=_share(firsts, 0.5),
        first_p95_s=_share(firsts, 0.95),
        ideal_first_s=ideal_first_s(),
        done_p50_s=_share(spans, 0.5),
        done_p95_s=_share(spans, 0.95),
        stretch_p95=_share(ratios, 0.95),
        all_done_s=max((one.done_at or 0.0) - began for one in done) if done else None,
        first_p95_cpu_s=_share(
            [one.first_cpu_s - cpu_before_s for one in asked if one.first_cpu_s is not None], 0.95
        ),
    )


def faults_of(played: Played) -> AnswerFaults:
    return sum((one.faults for one in played.asked), AnswerFaults())


def troubles_in(log: str) -> LoggedTroubles:
    said = [found["said"] for line in log.splitlines() if (found := _ERROR.search(line))]
    kinds = Counter(_NUMBER.sub("#", text)[:_LONGEST_KIND] for text in said)
    return LoggedTroubles(
        errors=len(said),
        without_journal=sum(bool(_NO_JOURNAL.search(text)) for text in said),
        kinds=dict(kinds.most_common()),
    )


def _share(values: list[float], share: float) -> float | None:
    return percentile(values, share) if values else None
