"""A small bot that does not use Oshaberi. test_my_bot.py tests it on the stage.

DISCORD_TOKEN=... python examples/my_bot.py
oshaberi stage exec examples/my_bot.py
"""

from __future__ import annotations

import os
import sys
from typing import Any

import discord
from discord import app_commands


class MyBot(discord.Client):
    """Answers "hello", and counts with /count."""

    def __init__(self, **options: Any) -> None:
        intents = discord.Intents.default()
        intents.message_content = True
        super().__init__(intents=intents, **options)
        self.tree = app_commands.CommandTree(self)
        self.tree.add_command(count)

    async def setup_hook(self) -> None:
        await self.tree.sync()

    async def on_message(self, message: discord.Message) -> None:
        if not message.author.bot and message.content.lower().startswith("hello"):
            await message.reply(f"hello {message.author.display_name}!")


@app_commands.command(description="Count to a number")
async def count(interaction: discord.Interaction[MyBot], to: int) -> None:
    await interaction.response.send_message(" ".join(map(str, range(1, to + 1))))


if __name__ == "__main__":
    if not os.environ.get("DISCORD_TOKEN"):
        print("set DISCORD_TOKEN, or: oshaberi stage exec examples/my_bot.py", file=sys.stderr)
        sys.exit(2)
    MyBot().run(os.environ["DISCORD_TOKEN"])
