"""Where a turn runs is told exactly, from the first moment to the last."""

from __future__ import annotations

from typing import Any

from oshaberi.bot.local_run.startup import RunningTurns


def test_pages_are_told_and_may_ask() -> None:
    told: list[tuple[str, dict[str, Any]]] = []
    answering = RunningTurns(lambda name, data: told.append((name, data)))
    read = answering.extension().read
    assert read is not None
    answering.note(20, True)
    answering.note(3, True)
    assert read({}) == ["3", "20"]
    answering.note(20, False)
    assert read({}) == ["3"]
    assert told == [
        ("ANSWERING", {"channel_id": "20", "active": True}),
        ("ANSWERING", {"channel_id": "3", "active": True}),
        ("ANSWERING", {"channel_id": "20", "active": False}),
    ]
