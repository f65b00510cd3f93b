"""What was found, as two tables (times, costs) and as JSON. What is over its limit is flagged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from bench.report import aligned_table
from bench.whole_bot.bot_figures import BotFigures
from bench.whole_bot.goals import Goal
from bench.whole_bot.numbered_answers import ideal_first_s

FIRST_P95_LIMIT_S = 1.5 * ideal_first_s() + 1.0
FIRST_P50_LIMIT = 1.1
"""Times the bare bot's."""
CPU_LIMIT = 1.5
"""Times the bare bot's."""
TRANSACTIONS_LIMIT = 6.0
IGNORED_LIMIT_MS = 0.2
_BARE = "bare"
_FLAG = "<<<"


def tables(found: Sequence[BotFigures]) -> str:
    asked = [one for one in found if one.turns]
    shown = [times_table(asked)] if asked else []
    return "\n".join([*shown, cost_table(found), *map(trouble_lines, filter(_has_trouble, found))])


def trouble_lines(one: BotFigures) -> str:
    """Which lines were wrong, and what the bot logged about it."""
    wrong = [f"{count} lines {kind}" for kind, count in asdict(one.faults).items() if count]
    logged = [f"  {count} × {kind}" for kind, count in one.troubles.kinds.items()]
    return "\n".join([f"{one.bot}, {one.mode}: {', '.join(wrong) or 'errors'}", *logged])


def _has_trouble(one: BotFigures) -> bool:
    return bool(one.faults) or one.troubles.errors > 0


def times_table(found: Sequence[BotFigures]) -> str:
    head = ["", "bot", "turns", "first p50 s", "p95 s", "CPU s", "done p50 s", "p95 s"]
    head += [
        "× ideal",
        "all s",
        "lag p99 ms",
        "waited %",
        "wrong lines",
        "no journal",
        "errors",
        "",
    ]
    title = (
        f"From the question to the first message and to the last (ideal: {ideal_first_s():.2f} s "
        f"for the first; CPU s: the bot's own until p95; {_FLAG}: p95 over "
        f"{FIRST_P95_LIMIT_S:.2f} s, wrong lines, no journal)"
    )
    return aligned_table(title, head, [_times_row(one) for one in found])


def cost_table(found: Sequence[BotFigures]) -> str:
    head = ["", "bot", "per", "CPU ms", "× bare", "messages", "requests", "statements"]
    head += ["transactions", "commits", "MB before", "peak", "CPU %: bot", "stage", "model", ""]
    title = (
        f"What a turn costs, or a message that is not for the bot ({_FLAG}: a turn over "
        f"{CPU_LIMIT:g} × bare or {TRANSACTIONS_LIMIT:g} transactions; "
        f"an ignored message over {IGNORED_LIMIT_MS:g} ms or with a statement)"
    )
    return aligned_table(title, head, [_cost_row(one, ratio(one, found)) for one in found])


def first_message_goals(found: Sequence[BotFigures]) -> list[Goal]:
    """Compare each first message with the bare bot's, in the same mode of the same run."""
    bare = {one.mode: one.times for one in found if one.bot == _BARE}
    goals = []
    for one in found:
        beside = bare.get(one.mode)
        if one.bot == _BARE or one.times is None or beside is None or not beside.first_p50_s:
            continue
        times_bare = (one.times.first_p50_s or float("inf")) / beside.first_p50_s
        what = f"{one.bot}, {one.mode}: first message, p50"
        goals.append(Goal(what, times_bare, FIRST_P50_LIMIT, "× bare"))
    return goals


def ratio(one: BotFigures, found: Sequence[BotFigures]) -> float | None:
    """To the bare bot's processor time in the same mode of the same run, if it did all its work."""
    there = [other for other in found if other.bot == _BARE and other.mode == one.mode]
    bare = [other for other in there if not other.faults]
    return one.cpu_ms / bare[0].cpu_ms if bare and bare[0].cpu_ms else None


def figures_json(one: BotFigures, found: Sequence[BotFigures]) -> dict[str, object]:
    derived = {
        "cpu_ms": one.cpu_ms,
        "cpu_ratio": ratio(one, found),
        "statements": one.statements,
        "transactions": one.transactions,
        "commits": one.commits,
    }
    return asdict(one) | derived


def is_late(one: BotFigures) -> bool:
    """Or something is missing that was asked for."""
    if one.times is None:
        return False
    first = one.times.first_p95_s
    late = first is None or first > FIRST_P95_LIMIT_S
    return late or bool(one.faults) or one.troubles.without_journal > 0


def is_costly(one: BotFigures, times_bare: float | None) -> bool:
    if one.bot == _BARE:
        return False
    if not one.turns:
        return one.cpu_ms > IGNORED_LIMIT_MS or one.statements > 0
    return (times_bare or 0.0) > CPU_LIMIT or (
        not one.chatter and one.transactions > TRANSACTIONS_LIMIT
    )


def _times_row(one: BotFigures) -> list[str]:
    assert one.times is not None
    times, faults = one.times, one.faults
    wrong = faults.lost + faults.doubled + faults.reordered + faults.foreign
    return [
        one.mode,
        one.bot,
        str(one.turns),
        *(
            _number(seconds)
            for seconds in (
                times.first_p50_s,
                times.first_p95_s,
                times.first_p95_cpu_s,
                times.done_p50_s,
                times.done_p95_s,
                times.stretch_p95,
                times.all_done_s,
            )
        ),
        f"{one.process.lag_p99_ms:.0f}",
        f"{_share(one.process.waited_s, one.process.seconds):.0f}",
        str(wrong),
        str(one.troubles.without_journal),
        str(one.troubles.errors),
        _FLAG if is_late(one) else "",
    ]


def _cost_row(one: BotFigures, times_bare: float | None) -> list[str]:
    is_turn = one.turns > 0
    return [
        one.mode,
        one.bot,
        "turn" if is_turn else "message",
        f"{one.cpu_ms:.1f}" if is_turn else f"{one.cpu_ms:.3f}",
        _number(times_bare),
        f"{one.messages_per_turn:.1f}",
        f"{one.requests_per_turn:.1f}",
        f"{one.statements:.1f}",
        f"{one.transactions:.1f}",
        f"{one.commits:.1f}",
        f"{one.process.start_mb:.0f}",
        f"{one.process.peak_mb:.0f}",
        *(
            f"{_share(report.cpu_s, report.seconds):.0f}"
            for report in (one.process, one.stage, one.model)
        ),
        _FLAG if is_costly(one, times_bare) else "",
    ]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _share(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0
