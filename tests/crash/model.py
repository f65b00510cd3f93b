"""A model on loopback that answers every question in numbered lines, a little at a time."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from aiohttp import web

LINES = 12
PERSONA = "Mochi"
SPRITE = "happy"
PAUSE_S = 0.02


def answer(question: str) -> str:
    """The lines that a question gets; some of them under another face."""
    return "\n".join(
        f"{PERSONA} ({SPRITE}): {line}" if number % 4 == 2 else line
        for number, line in enumerate(expected(question))
    )


def expected(question: str) -> list[str]:
    """The messages they become. Two lines are the same: nobody may take one for the other."""
    return [
        f"{question} line {number // 6 if number % 6 == 5 else number}" for number in range(LINES)
    ]


def question_in(body: dict[str, object]) -> str:
    """The newest question in the request: `question 7`."""
    found = re.findall(r"question \d+", json.dumps(body.get("messages")))
    return found[-1] if found else "question 0"


async def _complete(request: web.Request) -> web.StreamResponse:
    text = answer(question_in(await request.json()))
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    with suppress(ConnectionError):  # whoever asked is dead
        await _tell(response, text)
    return response


async def _tell(response: web.StreamResponse, text: str) -> None:
    for at in range(0, len(text), 5):
        delta = {"choices": [{"index": 0, "delta": {"content": text[at : at + 5]}}]}
        await response.write(f"data: {json.dumps(delta)}\n\n".encode())
        if "\n" in text[at : at + 5]:
            await asyncio.sleep(PAUSE_S)
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    await response.write(f"data: {json.dumps(end)}\n\ndata: [DONE]\n\n".encode())


@asynccontextmanager
async def lined_model() -> AsyncIterator[str]:
    """Its base URL, for an OpenAI-compatible client."""
    application = web.Application()
    application.router.add_post("/v1/chat/completions", _complete)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()
