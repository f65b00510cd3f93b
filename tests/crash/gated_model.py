"""A model on loopback that stops in mid-word until it is let go, and goes on where it ended."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from aiohttp import web

from oshaberi.bot.turns.context.dialogue import GO_ON
from tests.crash.numbered_lines_model import LINES, expected, serving

BEFORE_GATE = 2
"""Lines that are said before the gate; half of the next one comes with them."""


class GatedModel:
    """While the gate is closed every answer stands still after its first lines."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.asked = 0

    async def complete(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        lines = expected_lines(await request.json())
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        with suppress(ConnectionError):  # whoever asked is dead
            await self._tell(response, lines)
        return response

    async def _tell(self, response: web.StreamResponse, lines: list[str]) -> None:
        text, held = "\n".join(lines), 0
        if not self.gate.is_set():
            held = len("\n".join(lines[:BEFORE_GATE])) + len("\nquestion 1 li")
            await response.write(_event({"content": text[:held]}))
            await self.gate.wait()
        await response.write(_event({"content": text[held:]}))
        await response.write(_event({}, finish_reason="stop") + b"data: [DONE]\n\n")


def expected_lines(body: dict[str, Any]) -> list[str]:
    """The lines of the newest question; whoever goes on says what is missing of the last answer."""
    said = json.dumps(body.get("messages"))
    told = re.findall(r"(question \d+) line \d+", said)
    if json.dumps(GO_ON)[1:-1] in said:
        return expected(told[-1])[told.count(told[-1]) :] if told else []
    named = re.findall(r'Now answer what \w+ wrote: \\"@\w+ (question \d+)', said)
    asked = named or re.findall(r'@\w+ (question \d+)(?=\\n|")', said)
    return expected(asked[-1]) if asked else ["nobody asked"] * LINES


def _event(delta: dict[str, str], **more: str) -> bytes:
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta, **more}]})}\n\n".encode()


@asynccontextmanager
async def gated_model() -> AsyncIterator[tuple[GatedModel, str]]:
    """The model and its base URL."""
    model = GatedModel()
    async with serving(model.complete) as url:
        yield model, url
