"""Uses only the delivery, in your own bot: your client, your prompt, messages by Oshaberi.

pip install "oshaberi[discord,openai,tables]"
DISCORD_TOKEN=... OPENAI_API_KEY=... python examples/in_your_bot.py
"""

from __future__ import annotations

import os
import sys
from typing import Any

import discord

from oshaberi import TextConfig
from oshaberi.discord_io import ClientState, RequestTrace, emojis_of, known_people
from oshaberi.providers import Adapter, Request, connect, said
from oshaberi.stream import StopRegistry, StreamConfig, StreamContext, stream_to_sink

INTENTS = discord.Intents(guilds=True, guild_messages=True, message_content=True, emojis=True)


class TeaBot(discord.Client):
    """Answers when it is mentioned. The message `stop` ends the answer in that channel."""

    client_state: ClientState

    def __init__(self, model: Adapter, degree: int = 2, **options: Any) -> None:
        super().__init__(intents=INTENTS, http_trace=RequestTrace(), **options)
        self._model = model
        self._degree = degree
        self._stops = StopRegistry()

    async def setup_hook(self) -> None:
        self.client_state = ClientState(self)

    async def on_message(self, message: discord.Message) -> None:
        await self.client_state.on_message(message)
        if message.author.bot:
            return
        if message.content.lower() == "stop":
            self._stops.request_stop(str(message.channel.id), str(message.author.id))
        elif self.user in message.mentions:
            await self._answer(message)

    async def _answer(self, message: discord.Message) -> None:
        text = TextConfig(
            humanizer_degree=self._degree,
            emojis=emojis_of(message.guild),
            known=known_people([message.author]),
        )
        context = StreamContext(channel=str(message.channel.id), reply_to=True, stops=self._stops)
        request = Request(
            (
                said("system", "You run a tea house and write short messages."),
                said("user", message.clean_content),
            )
        )
        sink = self.client_state.sink(message.channel, answering=message)
        config = StreamConfig(text=text)
        result = await stream_to_sink(self._model, request, config, context, sink)
        print(result.status, result.metrics.messages, repr(result.undelivered))


def main() -> None:
    missing = [name for name in ("DISCORD_TOKEN", "OPENAI_API_KEY") if not os.environ.get(name)]
    if missing:
        print(f"set {' and '.join(missing)} in the environment", file=sys.stderr)
        sys.exit(2)
    model = connect("openai", "gpt-5.2", api_key=os.environ["OPENAI_API_KEY"])
    TeaBot(model).run(os.environ["DISCORD_TOKEN"])


if __name__ == "__main__":
    main()
