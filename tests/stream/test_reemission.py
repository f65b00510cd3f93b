"""Re-emitted beginnings are cut off; real repeats shorter than the minimum are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oshaberi.stream.model_output import Reemission, overlap

from .scripted_streams import play


def read(chunks: list[str], min_chars: int = 8, tail_chars: int = 4096) -> str:
    reemission = Reemission(min_chars, tail_chars)
    return "".join(reemission.new_part(chunk) for chunk in chunks)


@pytest.mark.parametrize(
    ("chunks", "text"),
    [
        (["Hello there", "Hello there"], "Hello there"),
        (["Hello there, you", "there, you fool"], "Hello there, you fool"),
        (["ha ha ", "ha ha "], "ha ha ha ha "),
        (["abcdefg", "abcdefg"], "abcdefgabcdefg"),
        (["abcdefgh", "abcdefgh"], "abcdefgh"),
        (["abcdefgh", "abcdefghabcdefgh"], "abcdefghabcdefgh"),
        (["one ", "two ", "three", "two three four"], "one two three four"),
        (["12345678", "x", "12345678"], "12345678x12345678"),
        (["", "something new"], "something new"),
    ],
)
def test_cases(chunks: list[str], text: str) -> None:
    assert read(chunks) == text


def test_it_looks_back_only_so_far() -> None:
    assert read(["abcdefgh" + "x" * 20, "abcdefgh" + "x" * 20], tail_chars=12) != "abcdefgh"
    assert read(["0123456789abcdef", "0123456789abcdef"], tail_chars=8) == "0123456789abcdef" * 2


@given(st.text("ab", max_size=30), st.text("ab", max_size=30))
def test_overlap_is_the_longest(tail: str, chunk: str) -> None:
    lengths = range(min(len(tail), len(chunk)), -1, -1)
    longest = next(n for n in lengths if tail[len(tail) - n :] == chunk[:n])
    assert overlap(tail, chunk) == longest


@pytest.mark.parametrize(
    ("reemits", "messages"), [(True, ["Hello there!"]), (False, ["Hello there there!"])]
)
def test_only_where_the_adapter_asks_for_it(reemits: bool, messages: list[str]) -> None:
    repeat = play("Hello there", " there!", reemits=reemits, stream_chunk_dedup_min_chars=6)
    assert repeat.messages == messages
