# mypy: ignore-errors
"""A bot of disnake, nextcord or py-cord on a stage: `fork_bot.py PACKAGE URL TOKEN`."""

import importlib
import sys

import oshaberi

package, url, token = sys.argv[1:]
library = importlib.import_module(package)
route = library.http.Route
route.BASE = route.API_BASE_URL = f"{url}/api/v10"

intents = library.Intents.default()
intents.message_content = True
client = library.Client(intents=intents)


async def tokens(answer):
    for at in range(0, len(answer), 3):
        yield answer[at : at + 3]


async def broken():
    yield "one\n"
    raise LookupError("no model")


@client.event
async def on_message(message):
    if message.author.bot:
        return
    if message.content == "dm":
        await oshaberi.deliver(tokens("psst"), to=message.author, degree=1)
    elif message.content == "channel":
        await oshaberi.deliver(tokens("three\nfour"), to=message.channel, degree=1)
    elif message.content == "fail":
        await oshaberi.deliver(broken(), to=message, degree=1, on_error=lambda _: "sorry")
    else:
        await oshaberi.deliver(tokens("one\ntwo"), to=message, degree=1)


async def answer(interaction):
    await oshaberi.deliver(tokens("five\nsix"), to=interaction, degree=1, ephemeral=True)


if package == "disnake":
    client.on_application_command = answer
else:
    client.on_interaction = answer

client.run(token)
