"""A conversation is mostly read from the provider's cache, and that is counted and priced."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from discord_stage.model_servers import (
    AnthropicWire,
    GoogleWire,
    ModelServer,
    OpenAIResponsesWire,
    OpenAIWire,
    PromptCache,
    WireFormat,
)
from discord_stage.model_servers.scripts import Say
from tests.bot.client_harness import ADMIN, OWNER
from tests.e2e.bot_harness import BotHarness, run_with_bot

TURNS = 20
LEAST_SHARE = 0.8
PERSONA = {"name": "Oshaberi", "prompt": "You love tea. " * 200}
SAID = "It rains in Kyoto, and the tea is warm. " * 8


@pytest.mark.parametrize(
    ("wire", "needs_marks"),
    [
        (OpenAIWire, False),
        (OpenAIResponsesWire, False),
        (GoogleWire, False),
        (AnthropicWire, True),
    ],
    ids=["openai", "openai-responses", "google", "anthropic"],
)
def test_most_of_a_conversation_is_read_from_the_cache(
    wire: Callable[[], WireFormat], needs_marks: bool
) -> None:
    async def scenario(here: BotHarness) -> None:
        model = here.model
        model.cache = PromptCache(needs_marks)
        await talk(here, model)
        read = sum(count.input_tokens for count in model.counts)
        cached = sum(count.cached_tokens for count in model.counts)
        assert cached / read >= LEAST_SHARE, model.counts
        told = await here.run("usage", {"whose": "server"}, user=OWNER)
        found = re.search(r"([\d,]+) tokens read \(([\d,]+) from caches\)", told)
        assert found is not None, told
        assert [int(one.replace(",", "")) for one in found.groups()] == [read, cached]

    run_with_bot(scenario, wires=[wire()], persona=PERSONA, history_messages=24)


async def talk(here: BotHarness, model: ModelServer) -> None:
    for number in range(TURNS):
        model.play(Say(f"{number}. {SAID}"))
        if number % 3 == 2:
            # Others talk, too: what they said stands before the question next time.
            here.post(f"by the way, {number}", user=ADMIN)
        here.ask(f"question {number}? {SAID}")
        await model.asked(number + 1)
        await here.idle()
