# mypy: ignore-errors
"""A bot of hikari on a stage: `hikari_bot.py hikari URL TOKEN`."""

import sys

import hikari

import oshaberi

_package, url, token = sys.argv[1:]
bot = hikari.GatewayBot(
    token,
    banner=None,
    intents=hikari.Intents.ALL_UNPRIVILEGED | hikari.Intents.MESSAGE_CONTENT,
    rest_url=f"{url}/api/v10",
)


async def tokens(answer):
    for at in range(0, len(answer), 3):
        yield answer[at : at + 3]


async def broken():
    yield "one\n"
    raise LookupError("no model")


@bot.listen()
async def on_message(event: hikari.MessageCreateEvent) -> None:
    message = event.message
    if message.author.is_bot:
        return
    if message.content == "dm":
        await oshaberi.deliver(tokens("psst"), to=message.author, degree=1)
    elif message.content == "channel":
        channel = await message.fetch_channel()
        await oshaberi.deliver(tokens("three\nfour"), to=channel, degree=1)
    elif message.content == "fail":
        await oshaberi.deliver(broken(), to=event, degree=1, on_error=lambda _: "sorry")
    else:
        await oshaberi.deliver(tokens("one\ntwo"), to=event, degree=1)


@bot.listen()
async def on_interaction(event: hikari.InteractionCreateEvent) -> None:
    await oshaberi.deliver(tokens("five\nsix"), to=event, degree=1, ephemeral=True)


bot.run(check_for_updates=False)
