"""How much of a conversation a provider reads from its cache: 20 turns with a server that caches.

The scripted server keeps the beginnings of what it was asked, as the APIs do: by itself, or up to
where a request is marked. The persona, the questions and the answers have the usual length, and
others talk in between. The bot is `oshaberi run` with its default settings.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.report import aligned_table
from bench.whole_bot.bench_stage import bench_world, channels, person_in
from bench.whole_bot.bot_runs import environment, oshaberi_on
from bench.whole_bot.child_processes import BenchProcess
from bench.whole_bot.goals import Goal
from discord_stage import Settings, Stage
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

TURNS = 20
LEAST_SHARE = 80.0
PERSONA = {
    "name": "Mochi",
    "prompt": "You are Mochi, a cat who runs a tea house in Kyoto. "
    + "You write short messages. " * 40,
}
QUESTION = (
    "And what would you drink on a rainy evening like this one, with nobody else in the house?"
)
ANSWER = "Hojicha, I think. It smells of autumn, and it does not keep you awake. " * 3
ASIDE = "by the way, did anyone see where I left the umbrella?"
_GROUP = "talk"


@dataclass(frozen=True, slots=True)
class CachingApi:
    """An API that caches. `needs_marks`: only what a request marks."""

    provider: str
    wire: Callable[[], WireFormat]
    needs_marks: bool = False


APIS = (
    CachingApi("openai-chat", OpenAIWire),
    CachingApi("openai-responses", OpenAIResponsesWire),
    CachingApi("google", GoogleWire),
    CachingApi("anthropic", AnthropicWire, needs_marks=True),
)


@dataclass(frozen=True, slots=True)
class CacheFigures:
    """The tokens of one conversation, as the server counted them."""

    api: str
    turns: int
    input_tokens: int
    cached_tokens: int
    last_input_tokens: int

    @property
    def share(self) -> float:
        """Return the share of the input that was read from the cache, in percent."""
        return 100 * self.cached_tokens / self.input_tokens


async def measure_caching(
    folder: Path, apis: Sequence[CachingApi] = APIS, turns: int = TURNS
) -> list[CacheFigures]:
    return [await _talked(api, folder / api.provider, turns) for api in apis]


async def _talked(api: CachingApi, folder: Path, turns: int) -> CacheFigures:
    folder.mkdir(parents=True)
    bot = oshaberi_on(api.provider, f"sqlite:///{folder / 'bot.db'}")
    (channel,) = channels(_GROUP, 1)
    world = bench_world({_GROUP: 1})
    async with (
        Stage(world, Settings(rate_limits=False)) as server,
        ModelServer(api.wire(), cache=PromptCache(api.needs_marks)) as model,
    ):
        environ = environment(bot, server, model.url, folder) | _chosen(api, model)
        environ["OSHABERI_DISCORD_API_URL"] = server.url
        async with BenchProcess.started(bot.module, folder, environ):
            for number in range(turns):
                await _turn(server, model, channel, number)
    counts = model.counts
    return CacheFigures(
        api.provider,
        turns,
        sum(one.input_tokens for one in counts),
        sum(one.cached_tokens for one in counts),
        counts[-1].input_tokens,
    )


def _chosen(api: CachingApi, model: ModelServer) -> dict[str, str]:
    link = {
        "provider": api.provider,
        "model": "any",
        "base_url": model.url,
        "api_keys": ["none"],
    }
    return {"OSHABERI_MODELS": json.dumps([link]), "OSHABERI_PERSONA": json.dumps(PERSONA)}


async def _turn(server: Stage, model: ModelServer, channel: str, number: int) -> None:
    """Ask, and wait for the answer. In every third turn somebody else talks first."""
    if number % 3 == 2:
        server.people.post(channel, f"{ASIDE} ({number})", user=person_in(channel))
    model.play(Say(f"{number}. {ANSWER}"))
    question = f"<@{server.world.bot.id}> {number}: {QUESTION}"
    server.people.post(channel, question, user=person_in(channel))
    await server.wait_for(lambda: _answers(server, channel) > number)
    await server.settled()


def _answers(server: Stage, channel: str) -> int:
    begun = [text.partition(".")[0] for text in server.world.contents(channel)]
    return len({one for one in begun if one.isdecimal()})


def cache_table(found: Sequence[CacheFigures]) -> str:
    rows = [
        [
            one.api,
            str(one.turns),
            f"{one.input_tokens:,}",
            f"{one.last_input_tokens:,}",
            f"{one.cached_tokens:,}",
            f"{one.share:.1f}",
        ]
        for one in found
    ]
    head = ["API", "turns", "input tokens", "of the last turn", "from the cache", "%"]
    return aligned_table("What a conversation reads from the provider's cache", head, rows)


def cache_goals(found: Sequence[CacheFigures]) -> list[Goal]:
    return [
        Goal(f"read from the cache, {one.api}", one.share, LEAST_SHARE, "%", at_least=True)
        for one in found
    ]
