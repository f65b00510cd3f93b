"""The search of a guild: what it finds, and that it sees what the bot sees."""

from __future__ import annotations

from typing import Any

import discord

from discord_stage import Fault, Stage
from stage_server.listening_client import ListeningClient, run_on_stage, world

PLACES = world(
    {"name": "general", "threads": ["side"]},
    {"name": "cellar", "nsfw": True},
    {"name": "staff", "overwrites": [{"role": "@everyone", "deny": ["view_channel"]}]},
)


async def found(bot: ListeningClient, stage: Stage, **asked: Any) -> Any:
    guild_id = stage.world.guild("Guild").id
    route = discord.http.Route("GET", "/guilds/{guild_id}/messages/search", guild_id=guild_id)
    return await bot.http.request(route, params=[*asked.items()])


def test_all_words_are_found_newest_first_where_the_bot_may_read() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        for place in ("general", "side", "cellar"):
            stage.people.post(place, f"The cake in {place} is green", user="ren")
        staff = stage.world.channel("staff")
        assert stage.world.permissions_of(stage.world.bot.id, staff) == 0
        stage.people.post("general", "no cake", user="mika")
        answer = await found(bot, stage, content="GREEN cake")
        texts = [one["content"] for (one,) in answer["messages"]]
        assert texts == ["The cake in side is green", "The cake in general is green"]
        assert answer["total_results"] == 2
        assert [one["name"] for one in answer["threads"]] == ["side"]
        answer = await found(bot, stage, content="cake", include_nsfw="true", limit=1, offset=1)
        assert [one["content"] for (one,) in answer["messages"]] == ["The cake in cellar is green"]
        assert answer["total_results"] == 4
        general = stage.world.channel("general").id
        mika = stage.world.user("mika").id
        for asked in ({"channel_id": general, "author_id": mika}, {"sort_order": "asc"}):
            answer = await found(bot, stage, content="cake", **asked)
        assert answer["messages"][0][0]["content"] == "The cake in general is green"

    run_on_stage(scenario, PLACES)


def test_an_index_that_is_not_ready_answers_202() -> None:
    async def scenario(stage: Stage, bot: ListeningClient) -> None:
        stage.fault(Fault(kind="code", code=110000, retry_after_s=2.0))
        answer = await found(bot, stage, content="x")
        assert (answer["code"], answer["retry_after"]) == (110000, 2)
        assert (await found(bot, stage, content="x"))["messages"] == []

    run_on_stage(scenario, PLACES)
