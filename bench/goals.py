"""What the text engine, streams and readers are to reach, beside what was measured.

Times of the processor are ratios or come from one run, so compare them with nothing else. Figures
of the other build are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.reader import Mode, ReaderView
from bench.streams import WALL, Cost, Load
from bench.tokens import COMPILED, DEGREES, TokenCost
from bench.whole_bot.goals import Goal

FIRST_TEXT_S = 0.4
WORST_LAST_TEXT_S = 1.5
LIVE_SILENCE_S = 1.0
LIVE_REMOVED = 10
MARKDOWN_RATIO = 0.15
WORST_RATIO = 2.5
SHORT_LINE_US = 8.0
STREAM_TOKEN_US = 1.5 if COMPILED else 3.0
MOST_STREAMS = {1: 3500, 2: 3000}

_DEGREE = 2
_MARKDOWN = "markdown"
_SHORT_LINES = "a\\n"
_BUILD = "compiled" if COMPILED else "pure"


def token_goals(costs: Sequence[TokenCost], real: Sequence[str]) -> list[Goal]:
    """The goals of the engine. `real` names the texts that are no shapes."""
    goals = []
    for cost in costs:
        if COMPILED and cost.text == _MARKDOWN:
            what = f"engine, {_BUILD}, Markdown, degree {_DEGREE}"
            goals.append(Goal(what, cost.ratio(_DEGREE), MARKDOWN_RATIO, "× json.loads"))
        if not COMPILED and cost.text == _SHORT_LINES:
            dearest = max(cost.engine_us.values())
            what = f"engine, {_BUILD}, `{_SHORT_LINES}` repeated, per token"
            goals.append(Goal(what, dearest, SHORT_LINE_US, "µs"))
    shapes = [cost for cost in costs if cost.text not in real]
    if COMPILED and shapes:
        ratio, shape = max((max(map(cost.ratio, DEGREES)), cost.text) for cost in shapes)
        what = f"engine, {_BUILD}, worst shape (`{shape}`)"
        goals.append(Goal(what, ratio, WORST_RATIO, "× json.loads"))
    return goals


def stream_goals(costs: Sequence[Cost], loads: Sequence[Load]) -> list[Goal]:
    goals = [
        Goal(f"whole stream, {_BUILD}, per token, degree 2", cost.ours_us, STREAM_TOKEN_US, "µs")
        for cost in costs
        if cost.degree == _DEGREE
    ]
    if not COMPILED:
        return goals
    for degree, least in MOST_STREAMS.items():
        most = max(
            (
                load.streams
                for load in loads
                if load.degree == degree and load.highest and load.clock == WALL.name
            ),
            default=0,
        )
        what = f"streams per process, {_BUILD}, degree {degree}"
        goals.append(Goal(what, most, least, "", at_least=True))
    return goals


def reader_goals(views: Sequence[ReaderView]) -> list[Goal]:
    """Seconds are rounded as the goals are: to tenths."""
    by_mode: dict[Mode, ReaderView] = {view.mode: view for view in views}
    goals = [
        Goal(f"first text, degree {mode}, median", by_mode[mode].first_s, FIRST_TEXT_S, "s")
        for mode in ("1", "2")
    ]
    live = by_mode["live"]
    silence = round(live.silence_s, 1)
    return [
        *goals,
        Goal("last text, degree 1, worst", by_mode["1"].worst_last_s, WORST_LAST_TEXT_S, "s"),
        Goal("longest silence, live, median", silence, LIVE_SILENCE_S, "s"),
        Goal("shown and removed, live, all documents", live.removed, LIVE_REMOVED, "characters"),
    ]
