"""Tool calls of a model's server that cuts and repeats as it likes."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oshaberi.providers.wire.steps import CallPiece
from oshaberi.providers.wire.tool_calls import ToolCallAssembly
from tests.attacks.loop_watch import computing_at_most

PIECES = 20_000


@pytest.mark.parametrize("key", [0, None])
@pytest.mark.parametrize("inner", ["xx", '\\"', "{[", "  "])
def test_a_name_repeated_with_each_piece(key: int | None, inner: str) -> None:
    calls = ToolCallAssembly()
    calls.add(CallPiece(key, "look", '{"query": "'))
    with computing_at_most(1.0):  # 20 000 pieces, 10 µs each; it took 20 s and more
        for _ in range(PIECES):
            calls.add(CallPiece(key, "look", inner))
        calls.add(CallPiece(key, "look", '"}'))
        (call,) = calls.whole()
    assert call.args == {"query": json.loads(f'"{inner * PIECES}"')}


def test_blanks_after_an_object_that_is_not_valid() -> None:
    calls = ToolCallAssembly()
    calls.add(CallPiece(0, "look", '{"query": no, "more": "%s"}' % ("x" * 100_000)))
    with computing_at_most(1.0):
        for _ in range(PIECES):
            calls.add(CallPiece(0, "look", " "))
    assert len(calls.whole()) == 1


def test_many_calls_that_are_told_apart_by_their_ids() -> None:
    calls = ToolCallAssembly()
    with computing_at_most(1.0):
        for number in range(PIECES):
            calls.add(CallPiece(None, "look", "{}", f"id-{number}"))
    assert len(calls.whole()) == PIECES


@given(
    st.dictionaries(st.text('a"\\{}[]', max_size=4), st.text('a"\\{}[] ', max_size=30), min_size=1),
    st.lists(st.integers(0, 100)),
)
def test_a_call_ends_where_its_object_ends(arguments: dict[str, str], cuts: list[int]) -> None:
    """The next piece of the same name begins another call exactly when the first is complete."""
    text = json.dumps(arguments)
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    calls = ToolCallAssembly()
    for start, end in itertools.pairwise(edges):
        calls.add(CallPiece(0, "look", text[start:end]))
    calls.add(CallPiece(0, "look", "{}"))
    assert [call.args for call in calls.whole()] == [arguments, {}]
