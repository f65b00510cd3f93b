"""A stage with somebody else's bot on it: an ordinary `commands.Bot` that calls `deliver`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import discord
from discord import app_commands
from discord.ext import commands

import oshaberi
from discord_stage import Settings, Stage, StageMessage
from discord_stage.scaled_loop import run_scaled
from discord_stage.testing import logged_in, staged
from oshaberi import Delivery

SPEED = 20.0


async def tokens(*items: Any) -> AsyncIterator[Any]:
    for item in items:
        await asyncio.sleep(0)
        yield item


class OrdinaryBot(commands.Bot):
    """Knows nothing of Oshaberi. `on_use` is what its command `ask` does."""

    def __init__(self, **options: Any) -> None:
        intents = options.pop("intents", discord.Intents.all())
        super().__init__("!", intents=intents, guild_ready_timeout=0.1, **options)
        self.on_use: Callable[[Any], Awaitable[None]]
        self.tree.add_command(_ask)
        self.add_command(_both)

    async def setup_hook(self) -> None:
        await self.tree.sync()


@app_commands.command(name="ask", description="Ask")
async def _ask(interaction: discord.Interaction[OrdinaryBot]) -> None:
    await interaction.client.on_use(interaction)


@commands.hybrid_command(name="both", description="Ask in both ways")
async def _both(ctx: commands.Context[OrdinaryBot]) -> None:
    await ctx.bot.on_use(ctx)


@dataclass
class CallHarness:
    """A stage and the bot."""

    stage: Stage
    bot: OrdinaryBot
    done: list[Delivery] = field(default_factory=list)

    def channel(self, name: str = "general") -> Any:
        found = self.bot.get_channel(self.stage.world.channel(name).id)
        assert found is not None, name
        return found

    async def asked(self, text: str = "hi", name: str = "general") -> discord.Message:
        """Return a message that somebody writes, as the bot gets it."""
        posted = self.stage.people.post(name, text, user="mika")
        there: discord.Message = await self.channel(name).fetch_message(posted.id)
        return there

    def messages(self, name: str = "general") -> list[StageMessage]:
        """Return what the bot and its webhooks wrote, what only one person sees included."""
        world = self.stage.world
        there = world.messages.get(world.channel(name).id, {}).values()
        return [m for m in there if m.author_id == world.bot.id or m.webhook_id is not None]

    def contents(self, name: str = "general") -> list[str]:
        return [message.content for message in self.messages(name)]

    async def used(
        self, do: Callable[[Any], Awaitable[Delivery]], command: str = "ask", **how: Any
    ) -> Delivery:
        """Let somebody use a command, which does this, and wait for its end."""
        done: asyncio.Future[Delivery] = asyncio.get_running_loop().create_future()

        async def use(target: Any) -> None:
            try:
                done.set_result(await do(target))
            except Exception as error:
                done.set_exception(error)

        self.bot.on_use = use
        self.stage.people.run(command, user="mika", **how)
        return await done


def play(
    scenario: Callable[[CallHarness], Awaitable[None]],
    *,
    world: Mapping[str, object] | None = None,
    settings: Settings | None = None,
    **options: Any,
) -> None:
    async def main() -> None:
        async with (
            staged(world, settings) as stage,
            logged_in(stage, OrdinaryBot(**options)) as bot,
        ):
            await scenario(CallHarness(stage, bot))

    run_scaled(main(), SPEED)


async def deliver(*items: Any, to: Any, **options: Any) -> Delivery:
    """Deliver items quickly, and check the books."""
    done = await oshaberi.deliver(tokens(*items), to=to, **({"degree": 1} | options))
    assert done.result is not None
    assert done.result.ledger.problems() == []
    return done
