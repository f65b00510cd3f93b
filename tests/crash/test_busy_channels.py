"""Many running and waiting questions when the bot ends, short: `make crash` has a hundred each."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.crash.busy_channels import (
    WAITING,
    AskedQuestion,
    BusyChannelsResult,
    Ending,
    end_with_busy_channels,
)
from tests.crash.numbered_lines_model import expected
from tests.storage.database_servers import postgres_url

CHANNELS = 10
WHOLE = tuple(expected("question 1"))
RUNNING = AskedQuestion("question 1", "kill", is_waiting=False, told=WHOLE[:2], reports=1)
WAITED = AskedQuestion(
    f"question {WAITING}",
    "kill",
    is_waiting=True,
    told=tuple(expected(f"question {WAITING}")),
    reports=0,
)


@pytest.mark.slow
@pytest.mark.parametrize(("database", "ending"), [("sqlite", "term"), ("postgresql", "kill")])
def test_every_question_is_answered_or_told_once(
    tmp_path: Path, database: str, ending: Ending
) -> None:
    url = postgres_url() if database == "postgresql" else None
    ended = asyncio.run(end_with_busy_channels(tmp_path, url, CHANNELS, ending))
    assert ended.problems == []
    assert len(ended.questions) == 2 * CHANNELS
    whole = sum(one.is_whole for one in ended.questions)
    assert whole == (2 * CHANNELS if ending == "term" else CHANNELS)


# -- the harness itself ----------------------------------------------------------------------------


def test_what_is_right() -> None:
    for one in (RUNNING, WAITED, replace(RUNNING, ending="term", told=WHOLE)):
        assert one.problem is None
        assert one.is_over
    assert BusyChannelsResult((RUNNING, WAITED), 0, ()).problems == []
    assert str(BusyChannelsResult((RUNNING, WAITED), 0, ())).startswith(
        "2 of 2 answered or told, 1 of them"
    )


@pytest.mark.parametrize(
    ("one", "problem"),
    [
        (replace(RUNNING, reports=0), "2 lines, told 0 times"),
        (replace(RUNNING, reports=2), "2 lines, told 2 times"),
        (replace(RUNNING, told=(*WHOLE[:2], WHOLE[1])), "does not begin"),
        (replace(RUNNING, told=WHOLE + WHOLE), "does not begin"),
        (replace(RUNNING, halves=("question 1 li",)), "ends in mid-word"),
        (replace(RUNNING, ending="term"), "did not go on after 2 lines"),
        (replace(WAITED, told=()), "waited, and got 0 lines"),
    ],
)
def test_what_is_wrong(one: AskedQuestion, problem: str) -> None:
    assert problem in (one.problem or "")


def test_what_is_left_and_what_is_logged_are_problems_too() -> None:
    assert BusyChannelsResult((), 2, ("ERROR oh",)).problems == [
        "2 questions or answers are left in the database",
        "in the log: ERROR oh",
    ]
