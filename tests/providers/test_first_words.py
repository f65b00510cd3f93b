"""One short question shows whether a model answers; it ends at the first words."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from discord_stage.model_servers import ModelServer, OpenAIWire
from discord_stage.model_servers.scripts import (
    Cut,
    Finish,
    NoAnswer,
    Refuse,
    Say,
    Stall,
    Step,
    Think,
)
from oshaberi.providers.first_words import NoAnswerError, TriedModel, first_words
from oshaberi.providers.registry import connect


def asked(*script: Step, limit_s: float = 30.0) -> TriedModel:
    async def main() -> TriedModel:
        async with ModelServer(OpenAIWire()) as server:
            server.play(*script)
            adapter = connect("openai", "m", api_key="k", base_url=server.url)
            try:
                return await first_words(adapter, limit_s=limit_s)
            finally:
                await adapter.aclose()

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ([Say("Hello, how are you? "), Stall()], "Hello, how are you?"),
        ([Say("Hi!")], "Hi!"),
        ([Say("<think>The user wants a greeting.</think>Hello!")], "Hello!"),
        ([Say("<think>Hm"), Say(", what?</think>"), Say("Hello!\nAnd"), Stall()], "Hello!"),
        ([Think("A greeting, then."), Say("Good day to you."), Stall()], "Good day to you."),
        ([Think("Hm " * 10), Finish("length")], ""),
    ],
)
def test_the_first_words_are_enough_and_thoughts_are_none(
    script: Sequence[Step], text: str
) -> None:
    assert asked(*script).text == text


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ([Finish("stop")], "the model sent an empty answer"),
        ([Say("  \n")], "the model sent an empty answer"),
        ([Think("Hm."), Finish("stop")], "the model sent an empty answer"),
        ([Say("<think>Hm.</think>")], "the model sent an empty answer"),
        ([Refuse("auth")], "give a valid key"),
        ([Say("Hel"), Cut()], "the answer was complete"),
    ],
)
def test_what_is_no_answer(script: Sequence[Step], told: str) -> None:
    with pytest.raises(NoAnswerError, match=told):
        asked(*script)


def test_it_waits_only_so_long() -> None:
    with pytest.raises(NoAnswerError, match=r"no answer within 0\.2 s; a local server may still"):
        asked(NoAnswer(), limit_s=0.2)
