"""Many messages over many channels while requests fail at random: nothing lost, doubled, moved.

`python -m tests.faults.soak --messages 10000 --channels 50`. Rate limits are in force, in scaled
time.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from discord_stage import SEND, WEBHOOK, Fault, Settings, Stage
from discord_stage.scaled_loop import run_scaled
from oshaberi.chunks import Chunk, ProviderError
from oshaberi.delivery.response import ResponseState
from oshaberi.stream import StreamConfig, StreamContext, StreamResult, stream_to_sink
from oshaberi.text.config import Persona, TextConfig
from tests.discord_io.sink_harness import QUICK, SinkHarness, sink_harness
from tests.faults.fault_kinds import code, limited, status

HISTORY = "GET /channels/*/messages"
PER_RESPONSE = 19
"""Fewer than half of `max_flush_count`: from there on lines would share messages."""
SPEED = 4.0
TIME_SCALE = 8.0
PATIENCE_S = 100.0
"""Longer than the sender tries: then the line before was not sent at all."""
ALTER = Persona("Aki", is_alter=True)

TROUBLES = (
    status(500),
    status(500, after=True),
    status(503),
    status(503, after=True),
    Fault(kind="html", status=502),
    Fault(kind="reset"),
    Fault(kind="reset", after=True),
    Fault(kind="close"),
    Fault(kind="close", after=True),
    Fault(kind="hang", after=True),
    limited(0.2),
    code(20028, wait_s=0.2),
    Fault(kind="event_lost"),
)


class Dictation:
    """Says a line, and goes on when the one before it has been sent."""

    name = model = "dictation"
    reemits = False

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = lines
        self._ahead = asyncio.Semaphore(2)  # the engine holds a line until it sees the next

    def progress(self, what: Literal["chunk", "sent"]) -> None:
        if what == "sent":
            self._ahead.release()

    async def open(self, _request: Any) -> AsyncIterator[Chunk]:
        for line in self._lines:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ahead.acquire(), PATIENCE_S)
            yield Chunk("text", f"{line}\n")

    def normalise(self, raw: Any) -> Chunk | None:
        return raw if isinstance(raw, Chunk) else None

    def classify(self, error: Exception) -> ProviderError:
        return ProviderError("api_error", repr(error))


@dataclass(slots=True)
class Tally:
    """What became of the messages."""

    expected: int = 0
    arrived: int = 0
    lost: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    reordered: list[str] = field(default_factory=list)
    fates: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    struck: int = 0
    seconds: float = 0.0

    @property
    def clean(self) -> bool:
        return not (self.lost or self.told or self.doubled or self.reordered)

    def __str__(self) -> str:
        return (
            f"{self.expected} messages, {self.arrived} arrived; {len(self.lost)} lost, "
            f"{len(self.doubled)} doubled, {len(self.reordered)} reordered, "
            f"{len(self.told)} undelivered and told; {self.struck} faults in "
            f"{self.requests} requests; {self.seconds:.0f} s"
        )


def soak(
    messages: int, channels: int, chance: float = 0.05, seed: int = 0, speed: float = SPEED
) -> Tally:
    began = time.monotonic()
    tally = run_scaled(_soak(messages, channels, chance, seed), speed)
    tally.seconds = time.monotonic() - began
    return tally


async def _soak(messages: int, channels: int, chance: float, seed: int) -> Tally:
    names = [f"c{number}" for number in range(channels)]
    world = {"guilds": [{"name": "Stage", "members": ["mika"], "channels": names}]}
    settings = Settings(time_scale=TIME_SCALE, seed=seed)
    tally = Tally()
    async with sink_harness(world, settings) as harness:
        arm(harness.stage, chance)
        shares = [messages // channels + (n < messages % channels) for n in range(channels)]
        jobs = [_fill(harness, *job, tally) for job in zip(names, shares, strict=True)]
        await asyncio.gather(*jobs)
        await harness.stage.settled(timeout_s=600.0)
        for name, share in zip(names, shares, strict=True):
            _count(tally, harness, name, share)
        tally.requests = len(harness.stage.requests)
        tally.struck = sum(bool(record.faults) for record in harness.stage.requests)
    return tally


def arm(stage: Stage, chance: float) -> None:
    """Let so large a share of the requests of an answer fail, each in one way or another."""
    for route in (SEND, WEBHOOK, HISTORY):
        for trouble in TROUBLES:
            share = chance / len(TROUBLES)
            stage.fault(replace(trouble, route=route, chance=share, times=None))


async def _fill(harness: SinkHarness, name: str, share: int, tally: Tally) -> None:
    lines = _lines(name, share)
    for start in range(0, share, PER_RESPONSE):
        result = await _respond(harness, name, lines[start : start + PER_RESPONSE])
        tally.told += result.undelivered.splitlines()
        fates = Counter(str(entry.fate) for entry in result.ledger.entries)
        tally.fates += fates


async def _respond(harness: SinkHarness, name: str, lines: list[str]) -> StreamResult:
    """Every other channel hears an alter, through its webhook."""
    channel = harness.channel(name)
    persona = ALTER if int(name[1:]) % 2 else None
    config = StreamConfig(text=TextConfig(humanizer_degree=1, persona=persona), **QUICK)
    provider = Dictation(lines)
    context = StreamContext(channel=name, response=ResponseState(), progress=provider.progress)
    return await stream_to_sink(
        provider, None, config, context, harness.bot.client_state.sink(channel)
    )


def _lines(name: str, share: int) -> list[str]:
    return [f"{name} line {number}" for number in range(share)]


def _count(tally: Tally, harness: SinkHarness, name: str, share: int) -> None:
    expected = _lines(name, share)
    arrived = [line for text in harness.contents(name) for line in text.splitlines()]
    tally.expected += share
    tally.arrived += len(arrived)
    tally.doubled += [line for line, count in Counter(arrived).items() if count > 1]
    tally.lost += [line for line in expected if line not in {*arrived, *tally.told}]
    once = list(dict.fromkeys(arrived))
    order = [line for line in expected if line in set(once)]
    tally.reordered += [line for line, right in zip(once, order, strict=False) if line != right]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.soak")
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--channels", type=int, default=50)
    parser.add_argument("--chance", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    logging.disable()
    tally = soak(asked.messages, asked.channels, asked.chance, asked.seed)
    sys.stdout.write(f"{tally}\n")
    sys.stdout.write(f"fates: {dict(tally.fates)}\n")
    for word in ("lost", "told", "doubled", "reordered"):
        sys.stdout.write("".join(f"{word}: {line}\n" for line in getattr(tally, word)[:10]))
    return int(not tally.clean)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
