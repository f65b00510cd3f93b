"""A bot as its author would write it: it knows nothing of any stage."""

from __future__ import annotations

import os
from typing import Any

import discord
from discord import app_commands
from discord.ext import commands

intents = discord.Intents.default()
intents.message_content = True
intents.members = True
bot = commands.Bot(command_prefix="!", intents=intents, help_command=None)


class Counter(discord.ui.View):
    """Counts how often it was pressed."""

    def __init__(self) -> None:
        super().__init__(timeout=None)
        self.pressed = 0

    @discord.ui.button(label="Count", style=discord.ButtonStyle.primary)
    async def count(
        self, interaction: discord.Interaction[Any], _button: discord.ui.Button[Any]
    ) -> None:
        self.pressed += 1
        await interaction.response.edit_message(content=f"pressed {self.pressed}", view=self)


@bot.event
async def on_ready() -> None:
    await bot.tree.sync()
    for channel in bot.get_all_channels():
        if isinstance(channel, discord.TextChannel):
            await channel.send("ready")
            return


@bot.command()
async def add(ctx: commands.Context[Any], left: int, right: int) -> None:
    await ctx.reply(f"{left + right}")


@bot.command()
async def counter(ctx: commands.Context[Any]) -> None:
    await ctx.send("pressed 0", view=Counter())


@bot.command()
async def mask(ctx: commands.Context[Any], name: str) -> None:
    assert isinstance(ctx.channel, discord.TextChannel)
    webhook = await ctx.channel.create_webhook(name="mask")
    await webhook.send("it was never me", username=name, wait=True)


@bot.tree.command(description="Says something back")
@app_commands.describe(text="What to say")
async def echo(interaction: discord.Interaction[Any], text: str) -> None:
    await interaction.response.send_message(text, ephemeral=True)


if __name__ == "__main__":
    bot.run(os.environ["DISCORD_TOKEN"], log_handler=None)
