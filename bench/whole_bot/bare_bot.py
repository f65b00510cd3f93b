"""`python -m bench.whole_bot.bare_bot`: the least that a bot can do, for comparison.

Answers each message that mentions it: asks the model through OpenAI's SDK, as a stream, and sends
every line as a message. No history, no settings, no database, no typing indicator.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os

import discord
from openai import AsyncOpenAI

from bench.whole_bot.process_probe import (
    MODEL_VARIABLE,
    TOKEN_VARIABLE,
    URL_VARIABLE,
    ProcessProbe,
    point_discord_at,
    tell,
)

# Nothing of Oshaberi is imported: what it costs would count as the bare bot's.
INTENTS = discord.Intents(
    guilds=True,
    guild_messages=True,
    dm_messages=True,
    message_content=True,
    emojis_and_stickers=True,
    guild_typing=True,
    dm_typing=True,
)


class BareBot(discord.AutoShardedClient):
    def __init__(self, model_url: str) -> None:
        super().__init__(intents=INTENTS, guild_ready_timeout=0.5)
        # By itself the SDK gives up a connection after 5 s: under load, answers would be lost.
        self._model = AsyncOpenAI(base_url=model_url, api_key="none", timeout=600.0)
        self._probe = ProcessProbe()

    async def on_ready(self) -> None:
        gc.collect()
        gc.freeze()
        self._probe.start()
        tell("READY")
        await self._probe.answer_on_stdin(lambda: None)
        await self.close()

    async def on_message(self, message: discord.Message) -> None:
        if message.author != self.user and self.user in message.mentions:
            await self._answer(message)

    async def _answer(self, message: discord.Message) -> None:
        stream = await self._model.chat.completions.create(
            model="tokens",
            messages=[{"role": "user", "content": message.clean_content}],
            stream=True,
        )
        text = ""
        async for chunk in stream:
            text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
            *lines, text = text.split("\n")
            for line in lines:
                await message.channel.send(line)
        if text:
            await message.channel.send(text)


async def main() -> None:
    discord.utils.setup_logging(level=logging.WARNING)
    async with BareBot(os.environ[MODEL_VARIABLE]) as bot:
        await bot.start(os.environ[TOKEN_VARIABLE])


if __name__ == "__main__":
    point_discord_at(os.environ[URL_VARIABLE])
    asyncio.run(main())
