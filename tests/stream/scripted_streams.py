"""Plays a script through the whole pipeline in virtual time and looks at what it left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from oshaberi.chunks import Chunk
from oshaberi.delivery.attachments import DeliveryPlugIns, TableRenderer
from oshaberi.delivery.recording_sink import Record, RecordingSink, ScriptedFault
from oshaberi.delivery.response import ResponseState
from oshaberi.events import Table
from oshaberi.render.grid import Picture
from oshaberi.stream import (
    ScriptedProvider,
    Step,
    StopRegistry,
    StreamConfig,
    StreamContext,
    StreamResult,
    stream_to_sink,
)
from oshaberi.text.config import TextConfig
from oshaberi.virtual_time import run_virtual

CHANNEL = "channel"


class FakeRenderer:
    """Draws nothing, quickly."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    def pictures(self, table: Table) -> list[Picture]:
        if self._error is not None:
            raise self._error
        return [Picture(b"png", 10 * len(table.header), 20)]

    def alt_text(self, table: Table) -> str:
        return ", ".join(table.header)

    def as_code(self, table: Table, max_length: int) -> list[str]:
        rows = [" ".join(row) for row in (table.header, *table.rows)]
        return [f"```\n{row}\n```"[:max_length] for row in rows]


@dataclass
class Played:
    """What one stream did."""

    result: StreamResult
    sink: RecordingSink
    response: ResponseState
    progress: list[str]

    def of(self, kind: str) -> list[Record]:
        return [record for record in self.sink.records if record["kind"] == kind]

    @property
    def messages(self) -> list[str]:
        return self.sink.contents

    @property
    def times(self) -> list[int]:
        return [record["at_ms"] for record in self.of("message")]


def chunks(steps: Sequence[str | Step]) -> list[Step]:
    return [Chunk("text", step) if isinstance(step, str) else step for step in steps]


def play(
    *steps: str | Step,
    degree: int = 1,
    faults: Sequence[ScriptedFault] = (),
    text: dict[str, Any] | None = None,
    sink: Callable[[], RecordingSink] | None = None,
    provider: Callable[[StopRegistry], Any] | None = None,
    reply_to: bool = False,
    user: str | None = None,
    response: ResponseState | None = None,
    renderer: TableRenderer | None = None,
    plug_ins: DeliveryPlugIns | None = None,
    reemits: bool = False,
    **settings: Any,
) -> Played:
    """Run one stream. Whatever it does, it must leave no task and a ledger that adds up."""

    async def main() -> Played:
        stops = StopRegistry()
        there = sink() if sink else RecordingSink(faults)
        script = ScriptedProvider(chunks(steps), stops=stops, channel=CHANNEL, reemits=reemits)
        seen: list[str] = []
        context = StreamContext(
            channel=CHANNEL,
            reply_to=reply_to,
            user=user,
            stops=stops,
            response=response or ResponseState(key="k"),
            progress=seen.append,
            renderer=renderer or FakeRenderer(),
            plug_ins=plug_ins or DeliveryPlugIns(),
        )
        words = TextConfig(humanizer_degree=degree, **(text or {}))
        config = StreamConfig(text=words, **settings)
        speaker = provider(stops) if provider else script
        result = await stream_to_sink(speaker, None, config, context, there)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert result.ledger.problems() == []
        assert CHANNEL not in stops._channels
        assert provider or script.closed
        return Played(result, there, context.response, seen)

    return run_virtual(main())
