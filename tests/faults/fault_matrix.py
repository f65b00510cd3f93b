"""The fault matrix: kind × way of sending × position. Every message once and in order, or told."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal
from unittest.mock import patch

from discord_stage import SEND, WEBHOOK, Fault, Settings
from discord_stage.scaled_loop import run_scaled
from oshaberi.delivery import deliverer
from oshaberi.delivery.ledger import DELIVERED
from oshaberi.stream import StreamResult
from oshaberi.text.config import Persona
from tests.discord_io.sink_harness import SinkHarness, sink_harness, words
from tests.faults.fault_kinds import KINDS, Kind

TEXTS = ("alpha", "bravo", "charlie", "delta", "echo")
POSITIONS = {"first": 1, "middle": 3, "last": 5}
SPEED = 100.0
NOT_STRUCK = "NOT STRUCK"
BROKEN = (NOT_STRUCK, "DOUBLED", "REORDERED", "LOST", "MISREPORTED")
ONCE = "once"
QUESTION = "hello"
ALTER = Persona("Aki", is_alter=True)


@dataclass(frozen=True, slots=True)
class Path:
    """One way of sending."""

    name: str
    via: Literal["bot", "webhook"]
    answers: bool = False
    tables: bool = False
    in_thread: bool = False

    @property
    def route(self) -> str:
        return SEND if self.via == "bot" else WEBHOOK

    @property
    def script(self) -> str:
        line = "| {} | b |\n|---|---|\n| 1 | 2 |\n\n" if self.tables else "{}\n"
        return "".join(line.format(text) for text in TEXTS)


PATHS = (
    Path("bot", "bot"),
    Path("reply", "bot", answers=True),
    Path("webhook", "webhook"),
    Path("file", "bot", tables=True),
    Path("thread webhook", "webhook", in_thread=True),
)


@dataclass(frozen=True, slots=True)
class Cell:
    kind: Kind
    path: Path
    position: str

    @property
    def place(self) -> str:
        return f"{self.path.name}-{self.position}".replace(" ", "-")


Results = dict[tuple[str, str, str], str]


def run_kind(kind: Kind) -> Results:
    """One row: all its cells at the same time, each in a channel of its own.

    Messages that wait are not joined: there would be fewer requests than places to strike.
    """
    with patch.object(deliverer, "BLOCKED_SECONDS", math.inf):
        return run_scaled(_row(kind), SPEED)


def run_matrix(kinds: Iterable[Kind] = KINDS) -> Results:
    return {key: cell for kind in kinds for key, cell in run_kind(kind).items()}


async def _row(kind: Kind) -> Results:
    cells = [Cell(kind, path, position) for path in PATHS for position in POSITIONS]
    async with sink_harness(_world(cells), Settings(rate_limits=False)) as harness:
        results = await asyncio.gather(*(_play(harness, cell) for cell in cells))
        # What the bot gave up waiting for may still take effect.
        await harness.stage.settled(timeout_s=60.0)
        verdicts = [_judge(harness, *result) for result in results]
    keys = [(kind.name, cell.path.name, cell.position) for cell in cells]
    return dict(zip(keys, verdicts, strict=True))


def _world(cells: Sequence[Cell]) -> dict[str, object]:
    channels = [
        {"name": f"over-{cell.place}", "threads": [cell.place]}
        if cell.path.in_thread
        else {"name": cell.place}
        for cell in cells
    ]
    return {"guilds": [{"name": "Stage", "members": ["mika"], "channels": channels}]}


async def _play(harness: SinkHarness, cell: Cell) -> tuple[Fault, int, StreamResult]:
    asked = await harness.asked(cell.place, QUESTION) if cell.path.answers else None
    place = harness.stage.world.channel(cell.place).id
    fault = cell.kind.at(cell.path.route, cell.place, POSITIONS[cell.position])
    harness.stage.fault(fault)
    persona = ALTER if cell.path.via == "webhook" else None
    text = {"persona": persona}
    result = await harness.play(cell.place, cell.path.script, answering=asked, text=text)
    return fault, place, result


def _judge(harness: SinkHarness, fault: Fault, place: int, result: StreamResult) -> str:
    if not harness.stage.state.faults.struck(fault):
        return NOT_STRUCK
    # Straight from the store: the channel itself may be gone by now.
    there = harness.stage.world.messages.get(place, {})
    return verdict(words(m for m in there.values() if m.content != QUESTION), result)


def verdict(lines: Sequence[str], result: StreamResult) -> str:
    """What became of the texts, in a word. Those that the model never got to say don't count."""
    arrived = [text for line in lines for text in TEXTS if text in line]
    entries = [
        (text, entry) for entry in result.ledger.entries for text in TEXTS if text in entry.text
    ]
    fates = {text: entry.fate for text, entry in entries}
    missing = [text for text in fates if text not in arrived]
    if max(Counter(arrived).values(), default=0) > 1:
        return "DOUBLED"
    if arrived != [text for text in TEXTS if text in arrived]:
        return "REORDERED"
    if any(fates[text] in (DELIVERED, None) or text not in result.undelivered for text in missing):
        return "LOST"
    if any(fates[text] not in (DELIVERED, "uncertain") for text in arrived):
        return "MISREPORTED"
    return next((str(fate) for fate in fates.values() if fate != DELIVERED), ONCE)


def as_table(results: Results) -> str:
    """In Markdown: a row per kind, a column per path; positions only where they differ."""
    head = ["fault", *(path.name for path in PATHS)]
    kinds = dict.fromkeys(key[0] for key in results)
    rows = [[kind, *(_cell(results, kind, path.name) for path in PATHS)] for kind in kinds]
    return "".join(_line(cells) for cells in (head, ["---"] * len(head), *rows))


def _cell(results: Results, kind: str, path: str) -> str:
    verdicts = [results[kind, path, position] for position in POSITIONS]
    return " / ".join(verdicts if len(set(verdicts)) > 1 else verdicts[:1])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"
