"""A model on loopback that answers every question in numbered lines, a little at a time."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress

from aiohttp import web

LINES = 12
SHORT = 2
PERSONA = "Mochi"
SPRITE = "happy"
ALTER = "Kuro"
PAUSE_S = 0.02
SLOW, STALLED = 800, 900
"""Questions from these numbers on: a line now and then, or three and no more."""
SLOW_PAUSE_S = 0.25
HANG_S = 30.0
"""How long the unreliable model is silent."""
FLOOD = 2000
"""Pieces of thought, sent as fast as the bot reads them."""
END = b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def asked(question: str, *, alter: bool = False, bot_id: int = 0) -> str:
    """How somebody asks it: the bot by a mention, the alter by its trigger word."""
    return f"{ALTER}, {question}" if alter else f"<@{bot_id}> {question}"


def answer(question: str, *, alter: bool = False) -> str:
    """The lines that a question gets; some of the bot's own under another face."""
    return "\n".join(
        f"{PERSONA} ({SPRITE}): {line}" if number % 4 == 2 and not alter else line
        for number, line in enumerate(expected(question))
    )


def expected(question: str) -> list[str]:
    """The messages they become. Two lines are the same: nobody may take one for the other."""
    return [
        f"{question} line {number // 6 if number % 6 == 5 else number}" for number in range(LINES)
    ]


def question_in(body: dict[str, object]) -> tuple[str, bool]:
    """The newest question in the request (`question 7`), and whether the alter is asked.

    What is quoted was asked before.
    """
    said = json.dumps(body.get("messages"))
    asked = rf"({ALTER},|@{PERSONA}) (question \d+)"
    named = re.findall(rf'Now answer what \w+ wrote: \\"{asked}', said)
    found = named or re.findall(rf'{asked}(?=\\n|")', said)
    who, question = found[-1] if found else ("", "question 0")
    return question, who == f"{ALTER},"


async def _complete(request: web.Request) -> web.StreamResponse:
    question, alter = question_in(await request.json())
    text = answer(question, alter=alter)
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    with suppress(ConnectionError):  # whoever asked is dead
        await _tell(response, text, int(question.split()[1]))
    return response


def _delta(**delta: str) -> bytes:
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta}]})}\n\n".encode()


async def _tell(response: web.StreamResponse, text: str, number: int) -> None:
    lines = 0
    for at in range(0, len(text), 5):
        await response.write(_delta(content=text[at : at + 5]))
        if "\n" in text[at : at + 5]:
            lines += 1
            await asyncio.sleep(_pause_s(number, lines))
    await response.write(END)


def _pause_s(number: int, lines: int) -> float:
    if number >= STALLED and lines == 3:
        return 3600.0
    return SLOW_PAUSE_S if number >= SLOW else PAUSE_S


async def _complete_at_once(request: web.Request) -> web.StreamResponse:
    question, _alter = question_in(await request.json())
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    text = "\n".join(expected(question)[:SHORT])
    delta = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]}
    with suppress(ConnectionError):
        await response.write(f"data: {json.dumps(delta)}\n\ndata: [DONE]\n\n".encode())
    return response


class UnreliableModel:
    """Answers in numbered lines, or fails in one of many ways."""

    TROUBLES = ("refusal", "no answer", "error event", "cut", "stall", "garbage", "flood")

    def __init__(self, chance: random.Random) -> None:
        self.failing = 0.0
        self.struck: Counter[str] = Counter()
        self._chance = chance

    async def complete(self, request: web.Request) -> web.StreamResponse:
        question, alter = question_in(await request.json())
        trouble = self._trouble()
        if trouble == "refusal":
            status = self._chance.choice((429, 500, 503))
            return web.json_response({"error": {"message": "not now"}}, status=status)
        if trouble == "no answer":
            await asyncio.sleep(HANG_S)
            return web.Response(status=504)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        with suppress(ConnectionError):  # whoever asked has given up
            await self._tell(request, response, answer(question, alter=alter), trouble)
        return response

    def _trouble(self) -> str:
        if self._chance.random() >= self.failing:
            return ""
        trouble = self._chance.choice(self.TROUBLES)
        self.struck[f"model: {trouble}"] += 1
        return trouble

    async def _tell(
        self, request: web.Request, response: web.StreamResponse, text: str, trouble: str
    ) -> None:
        at_once = trouble == "flood"
        if at_once:
            for number in range(FLOOD):
                await response.write(_delta(reasoning_content=f"thought {number} "))
        breaks_at = self._chance.randrange(len(text))
        size = 1 if at_once else 5
        for at in range(0, len(text), size):
            if at <= breaks_at < at + size and await self._broke(request, response, trouble):
                return
            piece = text[at : at + size]
            await response.write(_delta(content=piece))
            if "\n" in piece and not at_once:
                await asyncio.sleep(PAUSE_S)
        await response.write(END)

    async def _broke(
        self, request: web.Request, response: web.StreamResponse, trouble: str
    ) -> bool:
        """Do what the trouble says. Return whether the answer is over."""
        match trouble:
            case "cut":
                if request.transport is not None:
                    request.transport.abort()
            case "stall":
                await asyncio.sleep(HANG_S)
            case "error event":
                await response.write(b'data: {"error": {"message": "overloaded"}}\n\n')
            case "garbage":
                await response.write(b'data: {"choices": [{"delta": {"con\n\n')
                await response.write(b'data: {"choices": 7}\n\ndata: [null]\n\n')
                return False
            case _:
                return False
        return True


def lined_model() -> AbstractAsyncContextManager[str]:
    """Its base URL, for an OpenAI-compatible client."""
    return serving(_complete)


def instant_model() -> AbstractAsyncContextManager[str]:
    """The same, but it says the first lines only, all at once."""
    return serving(_complete_at_once)


@asynccontextmanager
async def serving(complete: Handler) -> AsyncIterator[str]:
    application = web.Application()
    application.router.add_post("/v1/chat/completions", complete)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()
