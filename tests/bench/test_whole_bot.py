"""The bench of the whole bot runs, sees what is lost and what is too much, and leaves nothing."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.whole_bot import __main__ as command
from bench.whole_bot import bot_runs
from bench.whole_bot.bench_stage import AskedQuestion, bench_world
from bench.whole_bot.bot_figures import (
    BotFigures,
    LoggedTroubles,
    TurnTimes,
    faults_of,
    times_of,
    troubles_in,
)
from bench.whole_bot.bot_tables import cost_table, figures_json, ratio, tables, times_table
from bench.whole_bot.load_modes import AtOnce, Chatter, Day, LoadMode, Played
from bench.whole_bot.numbered_answers import (
    AnswerFaults,
    answer_lines,
    answer_tokens,
    faults_in,
    ideal_done_s,
    newest_question,
    question,
)
from bench.whole_bot.process_probe import ProcessProbe, ProcessReport
from bench.whole_bot.stack_summary import charged_to, package_of, summary
from bench.whole_bot.statement_counter import StatementCounter, StatementCounts
from click.testing import CliRunner
from sqlalchemy import create_engine, text

from discord_stage import World
from oshaberi.virtual_time import VirtualLoop, run_virtual

_MODES: list[LoadMode] = [AtOnce(2, lines=2), Chatter(messages=20, channels=2)]
_PROCESS = ProcessReport(4.0, 2.0, 0.4, 1.0, 20.0, 30.0, 80.0, 90.0, StatementCounts(40, 10, 8))
_TIMES = TurnTimes(0.5, 0.6, 0.38, 3.2, 3.3, 1.1, 3.3)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Process]:
    """Every process that the test starts."""
    processes: list[Process] = []
    start = asyncio.create_subprocess_exec

    async def noted(*arguments: Any, **options: Any) -> Process:
        processes.append(await start(*arguments, **options))
        return processes[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    return processes


@pytest.mark.slow
def test_two_questions_are_answered_and_measured(tmp_path: Path, started: list[Process]) -> None:
    ours = bot_runs.oshaberi_on("sqlite", f"sqlite:///{tmp_path / 'bot.db'}")

    async def main() -> list[BotFigures]:
        found = []
        for bot in (bot_runs.BARE, ours):
            found += await bot_runs.run_bot(bot, _MODES, tmp_path / bot.name, lambda _: None)
        return found

    bare, bare_chatter, asked, chatter = asyncio.run(main())
    assert [process.returncode for process in started] == [0, 0, 0, 0]
    for one in (bare, asked):
        assert (one.turns, one.faults, one.troubles.errors) == (2, AnswerFaults(), 0)
        assert one.times is not None
        assert one.times.first_p50_s is not None
        assert one.times.first_p50_s > 0.38  # no bot is faster than its model
        assert one.requests["POST messages"] == one.messages
    assert bare.messages == 4
    assert bare.statements == 0
    assert asked.statements > asked.transactions >= asked.commits > 0
    assert (bare_chatter.chatter, chatter.chatter) == (20, 20)
    assert 0 < chatter.cpu_ms < asked.cpu_ms
    assert chatter.process.peak_mb >= chatter.process.start_mb > 30
    assert len(times_table([bare, asked]).splitlines()) == 6
    assert figures_json(asked, [bare, asked])["cpu_ratio"] == ratio(asked, [bare, asked])


# -- what is asked and answered ----------------------------------------------------------------


def test_the_newest_question_is_answered() -> None:
    body = f'["{question(3, 2)}", "answer 3 line 0 …", "{question(12, 8)}"]'.encode()
    assert newest_question(body) == (12, 8)
    with pytest.raises(ValueError, match="no question"):
        newest_question(b"{}")


def test_tokens_make_the_lines() -> None:
    tokens = answer_tokens(7, 3)
    assert "".join(tokens).splitlines() == answer_lines(7, 3)
    assert len(tokens) / 50 == pytest.approx(ideal_done_s(3))


@pytest.mark.parametrize(
    ("said", "faults"),
    [
        ([0, 1, 2], AnswerFaults()),
        ([0, 2], AnswerFaults(lost=1)),
        ([0, 0, 1, 2], AnswerFaults(doubled=1)),
        ([0, 2, 1], AnswerFaults(reordered=1)),
        ([0, 1, 2, None], AnswerFaults(foreign=1)),
        ([], AnswerFaults(lost=3)),
    ],
)
def test_what_is_wrong_with_an_answer_is_counted(
    said: list[int | None], faults: AnswerFaults
) -> None:
    lines = answer_lines(5, 3)
    heard = ["an error" if at is None else lines[at] for at in said]
    assert faults_in(lines, heard) == faults


def test_joined_lines_are_lines() -> None:
    async def main() -> AskedQuestion:
        asked = AskedQuestion(4, 3, asked_at=1.0)
        first, *others = answer_lines(4, 3)
        asked.hear(first, 1.5)
        asked.hear("\n".join(others), 4.0)
        return asked

    asked = asyncio.run(main())
    assert (asked.messages, asked.faults) == (2, AnswerFaults())
    times = times_of(Played([asked]))
    assert times is not None
    assert (times.first_p50_s, times.all_done_s) == (0.5, 3.0)


def test_an_answer_that_never_came_is_lost() -> None:
    async def main() -> Played:
        return Played([AskedQuestion(4, 3, asked_at=1.0)])

    played = asyncio.run(main())
    assert faults_of(played) == AnswerFaults(lost=3)
    times = times_of(played)
    assert times is not None
    assert (times.first_p95_s, times.all_done_s) == (None, None)


def test_a_world_has_a_channel_for_everybody() -> None:
    world = World.described(bench_world({"a": 12, "b": 3}))
    assert len(world.guilds) == 3
    assert len(world.channels) == 15


# -- what is measured inside -------------------------------------------------------------------


def test_statements_and_transactions_are_counted() -> None:
    counter = StatementCounter(keep=True)
    engine = create_engine("sqlite://")
    counter.listen()
    try:
        with engine.connect() as connection:
            connection.execute(text("SELECT  1"))
            connection.rollback()
            connection.execute(text("CREATE TABLE t (x)"))
            connection.execute(text("INSERT INTO t VALUES (:x)"), [{"x": 1}, {"x": 2}])
            connection.commit()
    finally:
        counter.ignore()
        engine.dispose()
    assert counter.counts == StatementCounts(statements=3, transactions=2, commits=1)
    assert counter.texts[1] == "SELECT 1"
    assert counter.texts[-2:] == ["INSERT INTO t VALUES (?) -- 2 rows", "COMMIT"]


def test_a_held_up_loop_is_seen_for_as_long_as_it_was_held_up() -> None:
    async def main() -> ProcessReport:
        probe = ProcessProbe()
        probe.start()
        await asyncio.sleep(1.0)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loop._now += 1.0
        await asyncio.sleep(0.02)
        probe.stop()
        return probe.report()

    report = run_virtual(main())
    assert report.lag_max_ms == pytest.approx(1000, abs=20)
    assert 0 <= report.lag_p50_ms < 30  # half of the two seconds nothing was late
    assert report.lag_p99_ms > 950


def test_a_lost_journal_is_read_from_the_log() -> None:
    log = (
        "2026-01-01 INFO oshaberi: fine\n"
        "2026-01-01 ERROR oshaberi.delivery: the journal failed, this answer goes on without it\n"
        "2026-01-01 ERROR oshaberi.bot.turns: the journal could not be begun\n"
        "2026-01-01 ERROR oshaberi.bot: message 17 was lost\n"
        "2026-01-01 ERROR oshaberi.bot: message 23 was lost\n"
    )
    troubles = troubles_in(log)
    assert (troubles.errors, troubles.without_journal) == (4, 2)
    assert troubles.kinds["oshaberi.bot: message # was lost"] == 2
    figures = _figures("sqlite", troubles=troubles, faults=AnswerFaults(lost=2, doubled=1))
    shown = tables([figures]).splitlines()
    assert "sqlite, 25 at once: 2 lines lost, 1 lines doubled" in shown
    assert "  2 × oshaberi.bot: message # was lost" in shown


def test_time_is_charged_to_whoever_called_the_standard_library() -> None:
    send = "Client.send (discord/http.py:3)"
    loads = "loads (json/__init__.py:9)"
    run = "_run (asyncio/events.py:80)"
    command_line = "run (oshaberi/cli/commands/run.py:59)"
    assert package_of("feed (oshaberi/text/engine.py:12)") == "oshaberi.text"
    assert charged_to([command_line, run, send, loads]) == "discord"
    assert charged_to([command_line, run]) == "asyncio"
    waiting = "Thread.run (threading.py:1);_worker (concurrent/futures/thread.py:81)"
    rows = summary(f"{command_line};{run};{send};{loads} 3\n{command_line};{run} 1\n{waiting} 9\n")
    assert "4 samples" in rows
    assert [line.split() for line in rows.splitlines()[4:6]] == [
        ["discord", "75.0", "75.0"],
        ["asyncio", "25.0", "100.0"],
    ]


# -- limits ------------------------------------------------------------------------------------


def _figures(bot: str, **changes: object) -> BotFigures:
    figures = BotFigures(
        mode="25 at once",
        bot=bot,
        turns=4,
        chatter=0,
        messages=32,
        times=_TIMES,
        faults=AnswerFaults(),
        troubles=LoggedTroubles(),
        requests={"POST messages": 32},
        process=_PROCESS,
        stage=_PROCESS,
        model=_PROCESS,
    )
    return replace(figures, **changes)  # type: ignore[arg-type]


def _flags(table: str) -> list[bool]:
    return [line.endswith("<<<") for line in table.splitlines()[4:]]


def test_what_is_within_its_limits_has_no_flag() -> None:
    found = [_figures("bare"), _figures("sqlite")]
    assert not any(_flags(times_table(found)))
    assert not any(_flags(cost_table(found)))


def test_what_is_over_its_limit_is_flagged() -> None:
    late = _figures("sqlite", times=replace(_TIMES, first_p95_s=1.6))
    lost = _figures("sqlite", faults=AnswerFaults(lost=1))
    unjournalled = _figures("sqlite", troubles=LoggedTroubles(1, 1))
    assert _flags(times_table([late, lost, unjournalled])) == [True, True, True]
    dear = _figures("sqlite", process=replace(_PROCESS, cpu_s=3.1))
    busy = _figures("sqlite", process=replace(_PROCESS, statements=StatementCounts(40, 25, 8)))
    chatter = _figures("sqlite", turns=0, chatter=20_000, times=None)
    bare = _figures("bare")
    assert _flags(cost_table([bare, dear, busy, chatter])) == [False, True, True, True]


def test_who_lost_lines_is_no_measure() -> None:
    ours = _figures("sqlite")
    assert ratio(ours, [_figures("bare"), ours]) == 1
    assert ratio(ours, [_figures("bare", faults=AnswerFaults(lost=3)), ours]) is None
    assert ratio(ours, [ours]) is None


# -- the command -------------------------------------------------------------------------------


def test_modes_are_chosen() -> None:
    chosen = command.chosen_modes(("at-once", "day"), (25, 800), 4)
    assert chosen == [AtOnce(25, 4), AtOnce(800, 4), Day()]
    assert command.chosen_modes(("chatter",), (25,), 8) == [Chatter()]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--only", "night"], "'night' is not one of"), (["--at-once", "801"], "801 is not in")],
)
def test_a_wrong_argument_is_named(arguments: list[str], said: str) -> None:
    ran = CliRunner().invoke(command.main, arguments)
    assert ran.exit_code == 2
    assert said in ran.stderr


def test_the_modes_are_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "performance.md").read_text(encoding="utf-8")
    for name in (*command.MODES, *command.DATABASES):
        assert f"`{name}`" in page
