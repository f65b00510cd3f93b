"""The crash test, short: `python -m tests.crash` is the long one."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.crash.crash_rounds import Plan, Played, Round, crash_rounds
from tests.crash.numbered_lines_model import LINES, expected
from tests.storage.database_servers import postgres_url

KILLS = 2
PLAN = Plan("question 1", alter=True, lines=3, moment_s=0.0)
WHOLE = tuple(expected("question 1"))


@pytest.mark.slow
@pytest.mark.parametrize(("database", "seed"), [("sqlite", 11), ("postgresql", 12)])
def test_after_a_crash_every_message_is_there_once_or_it_is_told(
    tmp_path: Path, database: str, seed: int
) -> None:
    url = postgres_url() if database == "postgresql" else None
    played = asyncio.run(crash_rounds(tmp_path, url, KILLS, seed))
    assert played.kills >= KILLS
    assert played.problems == []


# -- the harness itself ----------------------------------------------------------------------------


def test_what_is_right() -> None:
    assert Round(PLAN, WHOLE).problem is None
    assert Round(PLAN, WHOLE, notices=1).problem is None
    assert Round(PLAN, WHOLE[:3], reports=1).problem is None
    assert Round(PLAN, (), reports=1).problem is None
    assert Played((Round(PLAN, WHOLE),), 0, ()).problems == []


@pytest.mark.parametrize(
    ("told", "reports", "notices", "problem"),
    [
        ((*WHOLE[:3], WHOLE[2]), 1, 0, "does not begin"),
        ((*WHOLE[:3], *WHOLE[4:6]), 1, 0, "does not begin"),
        ((*WHOLE[:3], WHOLE[4], WHOLE[3]), 1, 0, "does not begin"),
        ((*WHOLE, WHOLE[-1]), 0, 0, "does not begin"),
        ((*WHOLE[:3], *WHOLE), 1, 0, "does not begin"),
        (WHOLE[:3], 0, 0, f"only 3 of {LINES} lines, and no word"),
        ((), 0, 0, "and no word"),
        (WHOLE[:3], 2, 0, "told 2 times"),
        (WHOLE, 0, 2, "2 reply notices"),
    ],
)
def test_what_is_wrong(told: tuple[str, ...], reports: int, notices: int, problem: str) -> None:
    assert problem in (Round(PLAN, told, reports, notices).problem or "")


def test_what_was_asked_while_nobody_was_there_is_answered_in_full() -> None:
    away = replace(PLAN, is_away=True)
    assert "nobody interrupted" in (Round(away, WHOLE[:3], 1).problem or "")


def test_what_is_left_and_what_is_logged_are_problems_too() -> None:
    assert Played((Round(PLAN, WHOLE),), 2, ("ERROR oh",)).problems == [
        "2 answers are left in the journal",
        "in the log: ERROR oh",
    ]
