"""Server-sent events, however the bytes are cut."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oshaberi.providers.wire.errors import StreamError
from oshaberi.providers.wire.sse_decoder import DONE, LONGEST_EVENT, SseDecoder, read_object

STREAM = (
    b": comment\n\n"
    b"event: x\r\nid: 1\r\nretry: 5\r\ndata: one\r\n\r\n"
    b"data:two\n"
    b"data:  three\n\n\n\n"
    b"data: {\"a\": \"\xe2\x80\xa8 \xc2\x85 \xf0\x9f\x91\x8b\"}\n\n"
    b"data\n\n"
    b"data: \n\n"
    b"data:\r\n\r\n"
    b"error: {\"code\": 503}\n\n"
    b"event: error\ndata: {\"message\": \"no\"}\n\n"
    b"event: error\ndata: {\"error\": \"no\"}\n\n"
    b"event: error\ndata: too much\n\n"
    b'{\n  "error": {\n    "code": 499\n  }\n}\n\n'
    b'{\n  "note": {}\n}\n\n'
    b"data: last"
)  # fmt: skip
EVENTS = [
    "one",
    "two\n three",
    '{"a": "\u2028 \x85 👋"}',
    '{"error": {"code": 503}}',
    '{"error": {"message": "no"}}',
    '{"error": "no"}',
    '{"error": "too much"}',
    '{\n  "error": {\n    "code": 499\n  }\n}',
    "last",
]


def _decoded(pieces: list[bytes]) -> list[str]:
    decoder = SseDecoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return [event.strip("\r") for event in [*events, *decoder.finish()]]


def test_whole() -> None:
    assert _decoded([STREAM]) == EVENTS


def test_byte_by_byte() -> None:
    assert _decoded([STREAM[at : at + 1] for at in range(len(STREAM))]) == EVENTS


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_any_cuts(cuts: list[int]) -> None:
    at = [0, *sorted(cuts), len(STREAM)]
    assert _decoded([STREAM[a:b] for a, b in pairwise(at)]) == EVENTS


LINES = st.sampled_from(
    [
        *("data: a", "data: ", "data: {}", "data:b", "event: data: y", "error: e"),
        *("event: x", "event: error", ": c", "id: 1", "", "", "\r", "d"),
        *('{"error": 1}', '{"error":', "1}", "{"),
    ]
)


@given(st.lists(st.lists(LINES, max_size=6), max_size=5))
def test_pieces_of_any_lines(pieces: list[list[str]]) -> None:
    """A piece that is a whole event takes a shorter way, which must lead to the same place."""
    start = b"data: start\n\n"
    cut = ["".join(f"{line}\n" for line in piece).encode() for piece in pieces]
    whole = b"".join(cut)
    bit_by_bit = [whole[at : at + 1] for at in range(len(whole))]
    assert _decoded([start, *cut]) == _decoded([start, *bit_by_bit])


@pytest.mark.parametrize("data", ['{"a": 1}', ' {"a": 1}', '{"a": 1} \r', '\n{"a": 1}\n'])
def test_objects(data: str) -> None:
    assert read_object(data) == {"a": 1}


@pytest.mark.parametrize("data", ['{"a": 1} x', '{"a"', "", " ", "{'a': 1}"])
def test_what_is_not_json(data: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        read_object(data)


@pytest.mark.parametrize("data", ["[1]", '"a"', "1", " null"])
def test_what_is_not_an_object(data: str) -> None:
    with pytest.raises(TypeError, match="not an object"):
        read_object(data)


def test_the_end_that_is_not_json() -> None:
    assert read_object("[DONE]") is DONE
    assert read_object(" [DONE]\r") is DONE


ANSWER = b'{\n  "choices": [\n    {"message": {"content": "Hi\\n"}}\n  ]\n}\n'


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize(
    ("body", "events"),
    [
        (ANSWER, [{"choices": [{"message": {"content": "Hi\n"}}]}]),
        (
            b'[{"candidates": [1]},\n{"candidates": [2]}]',
            [{"candidates": [1]}, {"candidates": [2]}],
        ),
        (b'{"output": "%b"}' % (b"x" * 20_000), [{"output": "x" * 20_000}]),
    ],
    ids=["an object", "a list", "a long one"],
)
def test_a_whole_answer_instead_of_a_stream(body: bytes, events: list[Any], size: int) -> None:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    assert [json.loads(event) for event in _decoded(pieces)] == events


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"detail": "Not Found"}', "Not Found"),
        (b'[{"error": {"message": "no such thing"}}]', "no such thing"),
        (b"[]", r"\[\]"),
        (b"7", "7"),
        (b"<html>\n<p>Hello</p>\n", "is the base URL right"),
        (b'{"error": "no such thing"}', "no such thing"),
        (b"\x00\xff\xfe garbage \n\n more", "not a stream"),
    ],
)
def test_what_is_no_stream_is_shown(body: bytes, said: str) -> None:
    decoder = SseDecoder()
    assert decoder.feed(body) == []
    with pytest.raises(StreamError, match=said):
        decoder.finish()


def test_a_line_has_an_end() -> None:
    decoder = SseDecoder()
    piece = b"x" * (LONGEST_EVENT // 4)
    for _ in range(4):
        assert decoder.feed(piece) == []
    with pytest.raises(StreamError, match="an endless line"):
        decoder.feed(b"x")


def test_an_error_without_data_does_not_fill_the_memory() -> None:
    decoder = SseDecoder()
    decoder.feed(b"data: start\n\n{\n")
    line = b'"x": 1,' * 1000 + b"\n"
    for _ in range(LONGEST_EVENT // len(line)):
        assert decoder.feed(line) == []
    with pytest.raises(StreamError, match="an endless line"):
        decoder.feed(line)


def test_bytes_that_are_not_utf8_do_not_end_the_stream() -> None:
    assert _decoded([b"data: a\xffb\n\n"]) == ["a\ufffdb"]
