"""Real recorded streams: the adapters give what an independent decoding gives, however cut.

Reads recordings that are no part of the project; where they are not at hand it is skipped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from oshaberi.chunks import Chunk
from oshaberi.providers.base import Adapter
from tests.providers.adapter_runs import read
from tests.providers.independent_decoding import DecodedAnswer, decoded
from tests.providers.recorded_bodies import (
    RecordedBody,
    adapter_of_bytes,
    cut_at_random,
    recordings,
)

RECORDED = recordings()
MISSING = pytest.mark.skip(reason="no recordings here: OSHABERI_RECORDINGS names their folder")
SHAPES = ("whole", "bytes", "events", "random 1", "random 2", "random 3")


class Player:
    """One loop and one adapter per family for all recordings: making them takes longer."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self._runner = runner
        self._adapters: dict[str, Adapter] = {}

    def play(self, family: str, pieces: Sequence[bytes]) -> list[Chunk]:
        adapter: Any = self._adapters.setdefault(family, adapter_of_bytes(family))
        adapter.pieces = pieces
        return self._runner.run(read(adapter))


@pytest.fixture(scope="module")
def player() -> Iterator[Player]:
    with asyncio.Runner() as runner:
        yield Player(runner)


def heard(found: Sequence[Chunk]) -> DecodedAnswer:
    last = found[-1]
    return DecodedAnswer(
        "".join(chunk.content for chunk in found),
        "".join(part.text for chunk in found for part in chunk.thoughts),
        [(call.name, dict(call.args) if call.error is None else None) for call in last.calls],
        last.finish_reason,
        (last.usage.input_tokens, last.usage.output_tokens) if last.usage else None,
        None if last.error is None else last.error.message,
    )


def cut(body: bytes, shape: str) -> list[bytes]:
    match shape.split():
        case ["whole"]:
            return [body]
        case ["bytes"]:
            return [body[at : at + 1] for at in range(len(body))]
        case ["events"]:
            return [part + b"\n\n" for part in body.split(b"\n\n")]
        case [_, seed]:
            return cut_at_random(body, int(seed))
    raise AssertionError(shape)


@pytest.mark.parametrize("recorded", RECORDED or [pytest.param(None, marks=MISSING)], ids=str)
def test_an_independent_decoding_gives_the_same(recorded: RecordedBody, player: Player) -> None:
    body = recorded.path.read_bytes()
    expected = decoded(recorded.family, body)
    for shape in SHAPES:
        assert heard(player.play(recorded.family, cut(body, shape))) == expected, shape
