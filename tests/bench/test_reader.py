"""What a reader sees is measured, and its bounds hold for text as models write it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from bench.engines import text_engine
from bench.reader import MODES, Mode, ReaderView, Shown, documents, run, shown
from bench.report import reader_table
from bench.whole_bot.goals import goal_table

from bench import __main__ as command
from bench import reader

ANSWER = "\n\n".join(
    f"## Part {number}\nFoxes live in the woods of the north, and in towns too.\n- they eat mice\n"
    f"- they sleep by day\n\nNobody knows all about part {number}."
    for number in range(12)
)


@pytest.mark.parametrize("mode", MODES)
def test_no_bound_is_passed(mode: Mode) -> None:
    (view,) = [view for view in run([ANSWER]) if view.mode == mode]
    assert not view.flagged, reader_table([view])


def test_a_late_or_refused_one_is_flagged() -> None:
    good = ReaderView("1", 1, 0.3, 0.2, 0.2, 1.0, 10, 0, 100)
    assert not good.flagged
    assert replace(good, last_s=0.8).flagged
    assert replace(good, refused=2).flagged
    assert replace(good, removed=11).flagged
    assert replace(good, mode="live", first_s=0.3).flagged


def test_times_are_counted_from_the_models_end() -> None:
    seen = Shown(model_ended_at=5.0, readable=[(0.3, 5), (2.3, 9), (5.4, 12)])
    assert seen.first_seconds == 0.3
    assert seen.last_seconds == pytest.approx(0.4)
    assert seen.longest_silence_seconds == pytest.approx(3.1)


def test_every_run_is_the_same() -> None:
    assert shown(ANSWER, "2") == shown(ANSWER, "2")


def test_there_are_documents() -> None:
    assert len(documents()) == reader.DOCUMENTS


def test_it_is_a_part_of_the_bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "documents", lambda: [ANSWER])
    table, rows, goals = command.bench("reader", text_engine, {}, command.QUICK)
    assert [row["mode"] for row in rows] == list(MODES)
    assert len(table.splitlines()) == len(MODES) + 4
    assert json.loads(json.dumps(rows))
    assert [goal.is_missed for goal in goals] == [False] * 5, goal_table(goals)


def test_what_was_shown_and_removed_is_counted() -> None:
    assert reader.removed("a fo", "a fox") == 0
    assert reader.removed("a *fo*", "a *fox* ran") == 0
    assert reader.removed("a fox", "") == 4
    assert reader.removed("a fox ran", "a fox") == 3
    assert reader.removed("a fox ran", "a cat ran") == 3
