"""Your own bot with `oshaberi.deliver`: an ordinary discord.py bot, and four lines of Oshaberi.

pip install "oshaberi[discord]" openai
DISCORD_TOKEN=... OPENAI_API_KEY=... python examples/deliver.py
"""

from __future__ import annotations

import os
import sys
from typing import Any

import discord
from discord import app_commands
from discord.ext import commands
from openai import AsyncOpenAI

import oshaberi


class TeaBot(commands.Bot):
    """Answers mentions and /ask. The message `stop` ends what is being said in that channel."""

    def __init__(self, model: AsyncOpenAI, **options: Any) -> None:
        intents = discord.Intents.default()
        intents.message_content = True
        super().__init__(commands.when_mentioned, intents=intents, **options)
        self.model = model
        self.tree.add_command(ask)

    async def setup_hook(self) -> None:
        await self.tree.sync()

    def answer(self, question: str) -> Any:
        return self.model.chat.completions.create(
            model="gpt-5.2", messages=[{"role": "user", "content": question}], stream=True
        )

    async def on_message(self, message: discord.Message) -> None:
        if message.author.bot:
            return
        if message.content.lower() == "stop":
            oshaberi.stop(message.channel)
        elif self.user in message.mentions:
            await oshaberi.deliver(self.answer(message.clean_content), to=message)


@app_commands.command(description="Ask for your eyes only")
async def ask(interaction: discord.Interaction[TeaBot], question: str) -> None:
    stream = interaction.client.answer(question)
    await oshaberi.deliver(stream, to=interaction, ephemeral=True)


def main() -> None:
    missing = [name for name in ("DISCORD_TOKEN", "OPENAI_API_KEY") if not os.environ.get(name)]
    if missing:
        print(f"set {' and '.join(missing)} in the environment", file=sys.stderr)
        sys.exit(2)
    TeaBot(AsyncOpenAI()).run(os.environ["DISCORD_TOKEN"])


if __name__ == "__main__":
    main()
