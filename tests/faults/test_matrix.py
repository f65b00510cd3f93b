"""Every row of the matrix, and that the matrix would notice a sink that is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from oshaberi.delivery.sink import Post, Sent, WireState
from oshaberi.discord_io import DiscordSink
from tests.faults.fault_document import documented_table
from tests.faults.fault_kinds import KINDS, Kind
from tests.faults.fault_matrix import BROKEN, ONCE, PATHS, POSITIONS, as_table, run_kind


def kind_named(name: str) -> Kind:
    return next(kind for kind in KINDS if kind.name == name)


QUICK = frozenset({"503, after it", "connection reset, after it", "429, 2 s", "webhook revoked"})
"""The rows that `make test` plays: one of each group. The others are slow."""
ROWS = [pytest.param(kind, marks=[] if kind.name in QUICK else pytest.mark.slow) for kind in KINDS]


def test_the_quick_rows_exist() -> None:
    assert {kind.name for kind in KINDS} >= QUICK


@pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.name)
def test_once_and_in_order_or_told(kind: Kind) -> None:
    results = run_kind(kind)
    assert len(results) == len(PATHS) * len(POSITIONS)
    assert {cell: verdict for cell, verdict in results.items() if verdict in BROKEN} == {}
    if kind.passes:
        assert set(results.values()) == {ONCE}
    row = as_table(results).splitlines()[-1]
    assert row in documented_table(), "run `python -m tests.faults --write`"


def test_document_has_the_rows_and_columns_of_the_matrix() -> None:
    head, _rule, *rows = documented_table()
    assert [cell.strip() for cell in head.split("|")[1:-1]] == ["fault", *(p.name for p in PATHS)]
    assert [row.split("|")[1].strip() for row in rows] == [kind.name for kind in KINDS]


def test_notices_a_sink_that_looks_for_no_witness(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nobody(_sink: DiscordSink, _post: Post, _since: float) -> Sequence[Sent]:
        return []

    monkeypatch.setattr(DiscordSink, "find_arrivals", nobody)
    results = run_kind(kind_named("503, after it"))
    assert {path for (_, path, _), verdict in results.items() if verdict == "DOUBLED"} == {
        "webhook",
        "thread webhook",
    }


def test_notices_a_sink_that_changes_the_nonce(monkeypatch: pytest.MonkeyPatch) -> None:
    right = DiscordSink.send
    attempts: list[str] = []

    async def wrong(sink: DiscordSink, post: Post, wire: WireState) -> Sent:
        attempts.append(post.nonce)
        nonce = f"{post.nonce[:20]}.{len(attempts)}"
        return await right(sink, replace(post, nonce=nonce), wire)

    monkeypatch.setattr(DiscordSink, "send", wrong)
    results = run_kind(kind_named("connection reset, after it"))
    doubled = {path for (_, path, _), verdict in results.items() if verdict == "DOUBLED"}
    assert {"bot", "reply", "file"} <= doubled


def test_notices_a_sink_that_drops_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    right = DiscordSink.send

    async def wrong(sink: DiscordSink, post: Post, wire: WireState) -> Sent:
        if "delta" in post.content:
            return Sent(1)
        return await right(sink, post, wire)

    monkeypatch.setattr(DiscordSink, "send", wrong)
    verdicts: Any = run_kind(kind_named("event twice"))
    assert verdicts["event twice", "bot", "first"] == "LOST"
