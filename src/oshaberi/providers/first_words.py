"""Asks a model one short question, to see whether it answers. The panel and `doctor` use it.

It ends at the first words: nothing more is generated, and nobody waits longer than necessary.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from time import monotonic
from typing import Any

from oshaberi.chunks import Chunk, ErrorType, ProviderError
from oshaberi.errors import OshaberiError, Sentence
from oshaberi.events import Message, Thought
from oshaberi.providers.base import Adapter
from oshaberi.providers.request.model_request import Request, said
from oshaberi.text.config import TextConfig
from oshaberi.text.engine import TextEngine

QUESTION = "Say hello in one short sentence."
MOST_TOKENS = 2000
"""Enough for a model that thinks first. It is stopped at its first words."""
ENOUGH_WORDS = 3
MOST_SHOWN = 80
LIMIT_S = 60.0
"""A local server may have to load the model first."""

WHAT_TO_DO: dict[ErrorType, str] = {
    "auth": "give a valid key",
    "model_error": "correct the model's name: `oshaberi models` lists those that there are",
    "timeout": "see whether the server is busy",
    "balance_exhausted": "fill up the account at the provider",
    "affordability": "fill up the account at the provider",
    "rate_limit": "try again later",
    "provider_overloaded": "try again later",
}
"""For the others, the message itself says it."""


class NoAnswerError(OshaberiError):
    """The model did not answer. The message is one sentence that says what to do."""

    def __init__(self, problem: ProviderError) -> None:
        self.problem = problem
        self.advice = WHAT_TO_DO.get(problem.type, "")
        told = problem.message or problem.type.replace("_", " ")
        super().__init__(": ".join(filter(None, (told, self.advice))))


@dataclass(frozen=True, slots=True)
class TriedModel:
    """How an answer began. `text` is empty if the model has thought, but not answered yet."""

    text: str
    after_s: float


async def first_words(
    adapter: Adapter, request: Request | None = None, limit_s: float = LIMIT_S
) -> TriedModel:
    """Return how the answer begins, without thoughts. Raises NoAnswerError."""
    asked = request or Request((said("user", QUESTION, "current"),), max_output_tokens=MOST_TOKENS)
    began = monotonic()
    try:
        async with asyncio.timeout(limit_s):
            text = await _read(adapter, asked)
    except TimeoutError:
        words = Sentence(
            "no answer within {seconds:g} s; a local server may still be loading the model",
            seconds=limit_s,
        )
        raise NoAnswerError(ProviderError("timeout", words)) from None
    return TriedModel(text[:MOST_SHOWN], monotonic() - began)


async def _read(adapter: Adapter, request: Request) -> str:
    answer, is_cut_off = _VisibleBeginning(), False
    stream: Any = adapter.open(request)
    async with aclosing(stream):
        async for raw in stream:
            chunk: Chunk | None = adapter.normalise(raw)
            if chunk is None:
                continue
            if chunk.error is not None:
                raise NoAnswerError(chunk.error)
            is_cut_off = chunk.finish_reason == "length"
            answer.add(chunk)
            if answer.is_enough:
                return answer.text
    answer.finish()
    if not answer.text and not (is_cut_off and answer.has_thought):
        raise NoAnswerError(ProviderError("api_error", _EMPTY))
    return answer.text


class _VisibleBeginning:
    """The beginning of an answer, without the model's thoughts, in tags or not."""

    def __init__(self) -> None:
        self.text = ""
        self.has_thought = False
        self._plain = ""
        self._engine = TextEngine(TextConfig(humanizer_degree=1, flush_buffer_size=100))

    @property
    def is_enough(self) -> bool:
        return bool(self.text)

    def add(self, chunk: Chunk) -> None:
        self.has_thought = self.has_thought or bool(chunk.thoughts)
        self._take(self._engine.feed(chunk.content))
        if len(self._plain) <= MOST_SHOWN:
            self._plain += chunk.content
        if "<" not in self._plain and len(self._plain.split()) > ENOUGH_WORDS:
            self.text = self._plain.strip()  # no later tag can turn these words into thoughts

    def finish(self) -> None:
        self._take(self._engine.finish())

    def _take(self, events: Sequence[object]) -> None:
        self.has_thought = self.has_thought or any(isinstance(one, Thought) for one in events)
        lines = (one.text for one in events if isinstance(one, Message))
        self.text = " ".join(filter(None, (self.text, *lines)))


_EMPTY = Sentence("the model sent an empty answer: try another model, or see the log of its server")
